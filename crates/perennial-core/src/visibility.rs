//! Who may see what: one rule for every read.
//!
//! An agent's state, sessions, reasons and its place in the fleet are for everybody who may look. What it
//! was started with, what was said to it and what it said are not: they are for persons, for the agent
//! itself, and for those above it. A raw terminal is for persons only, since it shows how to answer a
//! dialog; so is what Perennial runs for the operator.
//!
//! Invariants
//! - V1  A person sees everything; a job and a viewer see nothing of what is listed here.
//! - V2  No agent sees anything of this of an agent that is neither itself nor below it.

use crate::authority::{Caller, Standing};
use crate::fleet::Fleet;
use crate::id::AgentId;

/// What is not for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Private {
    /// First prompt, command line, names of variables, and what the system said of them.
    Launch,
    /// Texts to the agent, and the ids by which they can be asked for.
    Texts,
    /// The conversation, step by step.
    Transcript,
    /// The bytes of its terminal.
    Terminal,
    /// The operator's own commands and their output, and what a damaged record holds.
    Operator,
}

impl Private {
    pub const ALL: [Private; 5] = [
        Private::Launch,
        Private::Texts,
        Private::Transcript,
        Private::Terminal,
        Private::Operator,
    ];
}

/// Whether a caller who stands so to an agent sees this of it.
pub fn sees(caller: Caller, private: Private, standing: Standing) -> bool {
    match caller {
        Caller::Person => true,
        Caller::Job | Caller::Viewer => false,
        Caller::Agent(_) => match (private, standing) {
            (
                Private::Launch | Private::Texts | Private::Transcript,
                Standing::Itself | Standing::Lead,
            ) => true,
            (
                Private::Launch | Private::Texts | Private::Transcript,
                Standing::Other | Standing::NoTarget,
            )
            | (Private::Terminal | Private::Operator, _) => false,
        },
    }
}

/// What a caller may see of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    caller: Caller,
    standing: Standing,
}

impl Sight {
    pub fn new(caller: Caller, standing: Standing) -> Sight {
        Sight { caller, standing }
    }

    pub fn sees(self, private: Private) -> bool {
        sees(self.caller, private, self.standing)
    }
}

impl Fleet {
    /// How a caller stands to an agent.
    pub fn standing(&self, caller: Caller, target: Option<AgentId>) -> Standing {
        match (caller, target) {
            (Caller::Agent(own), Some(id)) if own == id => Standing::Itself,
            (Caller::Agent(own), Some(id)) if self.leads(own, id) => Standing::Lead,
            (_, Some(_)) => Standing::Other,
            (_, None) => Standing::NoTarget,
        }
    }

    /// What a caller may see of an agent.
    pub fn sight(&self, caller: Caller, target: Option<AgentId>) -> Sight {
        Sight::new(caller, self.standing(caller, target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let seen = |caller, standing| {
            let seen = Private::ALL.into_iter().filter(|one| sees(caller, *one, standing));
            seen.map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ")
        };
        let agent = Caller::Agent(AgentId(1));
        for standing in [Standing::Itself, Standing::Lead, Standing::Other, Standing::NoTarget] {
            let all = "Launch Texts Transcript Terminal Operator";
            assert_eq!(seen(Caller::Person, standing), all);
            assert_eq!(seen(Caller::Viewer, standing), "");
            assert_eq!(seen(Caller::Job, standing), "");
        }
        assert_eq!(seen(agent, Standing::Itself), "Launch Texts Transcript");
        assert_eq!(seen(agent, Standing::Lead), "Launch Texts Transcript");
        assert_eq!(seen(agent, Standing::Other), "");
        assert_eq!(seen(agent, Standing::NoTarget), "");
    }
}
