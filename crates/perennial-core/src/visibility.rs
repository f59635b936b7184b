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

use std::collections::BTreeSet;
use std::convert::Infallible;

use crate::authority::{Caller, Standing};
use crate::fleet::Fleet;
use crate::id::AgentId;
use crate::message::{Mailbox, Sender};
use crate::reason::{Evidence, Finding};
use crate::refusal::Refusal;

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
        Caller::Job | Caller::Viewer | Caller::Ambiguous => false,
        Caller::Agent(_) => match (private, standing) {
            (
                Private::Launch | Private::Texts | Private::Transcript,
                Standing::Itself | Standing::Parent,
            ) => true,
            (
                Private::Launch | Private::Texts | Private::Transcript,
                Standing::Overseer | Standing::Other | Standing::NoTarget,
            )
            | (Private::Terminal | Private::Operator, _) => false,
        },
    }
}

/// Whether a caller who stands so to the owner of a mailbox reads what is in it. The mailboxes of roles and of the
/// operator are for persons.
pub fn sees_mailbox(caller: Caller, mailbox: &Mailbox, standing: Standing) -> bool {
    match mailbox {
        Mailbox::Agent(_) => sees(caller, Private::Texts, standing),
        Mailbox::Role(_) | Mailbox::Operator => sees(caller, Private::Operator, standing),
    }
}

/// Whether a caller reads one mail: whoever reads its mailbox, and the agent that sent it.
pub fn sees_mail(caller: Caller, from: Sender, mailbox: &Mailbox, standing: Standing) -> bool {
    let is_sender = match (caller, from) {
        (Caller::Agent(own), Sender::Agent(id)) => own == id,
        (Caller::Agent(_), Sender::Person | Sender::Perennial)
        | (Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous, _) => false,
    };
    is_sender || sees_mailbox(caller, mailbox, standing)
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

    /// Of a mailbox of this agent, or of one that is no agent's.
    pub fn sees_mailbox(self, mailbox: &Mailbox) -> bool {
        sees_mailbox(self.caller, mailbox, self.standing)
    }

    pub fn sees_mail(self, from: Sender, mailbox: &Mailbox) -> bool {
        sees_mail(self.caller, from, mailbox, self.standing)
    }

    /// Evidence without the words that are not for this caller. Whatever is told of evidence, a reason
    /// included, is made from this.
    pub fn evidence(self, evidence: &Evidence) -> Evidence {
        let is_told = match &evidence.fact {
            // What the system said may quote the command line.
            Finding::NotStarted(_) => self.sees(Private::Launch),
            Finding::Unreadable(_) => self.sees(Private::Operator),
            Finding::Asked(_)
            | Finding::AskedFresh(_)
            | Finding::Executed(_)
            | Finding::Exited(_)
            | Finding::Shown(_)
            | Finding::TimeCame
            | Finding::BootChanged
            | Finding::HomeCopied
            | Finding::SessionFound(_)
            | Finding::RecordsLost
            | Finding::TaskVerified(_)
            | Finding::TaskGiven(_) => true,
        };
        let mut evidence = evidence.clone();
        match &mut evidence.fact {
            Finding::NotStarted(why) | Finding::Unreadable(why) if !is_told => why.clear(),
            Finding::NotStarted(_)
            | Finding::Unreadable(_)
            | Finding::Asked(_)
            | Finding::AskedFresh(_)
            | Finding::Executed(_)
            | Finding::Exited(_)
            | Finding::Shown(_)
            | Finding::TimeCame
            | Finding::BootChanged
            | Finding::HomeCopied
            | Finding::SessionFound(_)
            | Finding::RecordsLost
            | Finding::TaskVerified(_)
            | Finding::TaskGiven(_) => {}
        }
        evidence
    }
}

/// How a caller stands to an agent, whose parents are told one by one: agents may have left memory.
pub fn standing<E>(
    caller: Caller,
    agent: AgentId,
    mut parent: impl FnMut(AgentId) -> Result<Option<AgentId>, E>,
) -> Result<Standing, E> {
    let Caller::Agent(own) = caller else { return Ok(Standing::Other) };
    if own == agent {
        return Ok(Standing::Itself);
    }
    let (mut below, mut passed) = (agent, BTreeSet::from([agent]));
    while let Some(above) = parent(below)? {
        if above == own {
            return Ok(Standing::Parent);
        }
        // A damaged record may lead back to where one was.
        if !passed.insert(above) {
            break;
        }
        below = above;
    }
    Ok(Standing::Other)
}

impl Fleet {
    /// How a caller stands to an agent.
    pub fn standing(&self, caller: Caller, target: Option<AgentId>) -> Standing {
        let parent = |id| Ok::<_, Infallible>(self.agent(id).and_then(|agent| agent.parent));
        match target {
            Some(id) => match standing(caller, id, parent).unwrap_or_else(|never| match never {}) {
                Standing::Other if self.oversees(caller, id) => Standing::Overseer,
                standing @ (Standing::Itself
                | Standing::Parent
                | Standing::Overseer
                | Standing::Other
                | Standing::NoTarget) => standing,
            },
            None => Standing::NoTarget,
        }
    }

    /// Refuses a caller who may not see this of an agent: for reads of which nothing else is public.
    pub fn may_see(
        &self,
        caller: Caller,
        private: Private,
        target: AgentId,
    ) -> Result<(), Refusal> {
        match self.sight(caller, Some(target)).sees(private) {
            true => Ok(()),
            false => Err(Refusal::NotVisible { caller, private }),
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
    use crate::reason::{Verb, Witness};
    use crate::time::Time;

    #[test]
    fn evidence_is_told_without_words_that_are_not_for_the_caller() {
        let evidence = |fact| Evidence { witness: Witness::Holder, fact, at: Time(1) };
        let of = |why: &str| {
            [Finding::NotStarted(why.to_owned()), Finding::Unreadable(why.to_owned())].map(evidence)
        };
        let [failed, damaged] = of("secret");
        let [plain_failed, plain_damaged] = of("");
        let person = Sight::new(Caller::Person, Standing::Other);
        assert_eq!(person.evidence(&failed), failed);
        assert_eq!(person.evidence(&damaged), damaged);
        // What a damaged record holds is for persons only.
        let parent = Sight::new(Caller::Agent(AgentId(1)), Standing::Parent);
        assert_eq!(parent.evidence(&failed), failed);
        assert_eq!(parent.evidence(&damaged), plain_damaged);
        let viewer = Sight::new(Caller::Viewer, Standing::Other);
        assert_eq!(viewer.evidence(&failed), plain_failed);
        assert_eq!(viewer.evidence(&damaged), plain_damaged);
        let asked = evidence(Finding::Asked(Verb::Stop));
        assert_eq!(viewer.evidence(&asked), asked);
    }

    #[test]
    fn whoever_is_above_an_agent_is_its_ancestor_however_long_the_line() {
        // Each has the next one as its parent; the last has itself.
        let parent = |id: AgentId| Ok::<_, Infallible>(Some(AgentId((id.0 + 1).min(1000))));
        let of = |caller, agent| standing(caller, agent, parent).expect("nothing fails");
        let agent = |id| Caller::Agent(AgentId(id));
        assert_eq!(of(agent(1), AgentId(1)), Standing::Itself);
        assert_eq!(of(agent(999), AgentId(1)), Standing::Parent);
        assert_eq!(of(agent(1), AgentId(2)), Standing::Other);
        assert_eq!(of(Caller::Person, AgentId(2)), Standing::Other);
    }

    /// V1, V2
    #[test]
    fn mail_is_for_its_recipient_its_sender_those_above_and_persons() {
        use crate::name::NameKey;
        let (own, other) = (AgentId(1), AgentId(2));
        let (role, operator) = (Mailbox::Role(NameKey::of("x")), Mailbox::Operator);
        let agent = Caller::Agent(own);
        for mailbox in [Mailbox::Agent(other), role, operator] {
            for standing in Standing::ALL {
                assert!(sees_mailbox(Caller::Person, &mailbox, standing));
                let is_above = matches!(standing, Standing::Itself | Standing::Parent);
                let is_agents = mailbox.agent().is_some();
                assert_eq!(sees_mailbox(agent, &mailbox, standing), is_above && is_agents);
                assert!(sees_mail(agent, Sender::Agent(own), &mailbox, standing));
                for from in [Sender::Agent(other), Sender::Person, Sender::Perennial] {
                    let sees = sees_mail(agent, from, &mailbox, standing);
                    assert_eq!(sees, is_above && is_agents, "{from:?} {mailbox} {standing:?}");
                }
                for nobody in [Caller::Viewer, Caller::Job, Caller::Ambiguous] {
                    assert!(!sees_mail(nobody, Sender::Person, &mailbox, standing));
                }
            }
        }
    }

    #[test]
    fn the_table() {
        let seen = |caller, standing| {
            let seen = Private::ALL.into_iter().filter(|one| sees(caller, *one, standing));
            seen.map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" ")
        };
        let agent = Caller::Agent(AgentId(1));
        for standing in Standing::ALL {
            let all = "Launch Texts Transcript Terminal Operator";
            assert_eq!(seen(Caller::Person, standing), all);
            assert_eq!(seen(Caller::Viewer, standing), "");
            assert_eq!(seen(Caller::Job, standing), "");
            assert_eq!(seen(Caller::Ambiguous, standing), "");
        }
        assert_eq!(seen(agent, Standing::Itself), "Launch Texts Transcript");
        assert_eq!(seen(agent, Standing::Parent), "Launch Texts Transcript");
        assert_eq!(seen(agent, Standing::Other), "");
        assert_eq!(seen(agent, Standing::NoTarget), "");
    }
}
