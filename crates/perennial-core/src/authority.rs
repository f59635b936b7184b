//! Who may do what: the model's table, for the verbs that exist.
//!
//! Who a caller *is* is shown by the shell (processes, not claims); this says what follows from it.
//! What is not granted here is refused. What a caller may read of an agent is ruled by `visibility`.

use crate::id::AgentId;
use crate::reason::{Verb, Witness};
use crate::refusal::Refusal;
use crate::visibility::{Private, sees};

/// Who calls, as the shell could prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The operator at their own terminal.
    Person,
    /// A process of this agent's session.
    Agent(AgentId),
    /// A process of a job, a command that Perennial runs itself.
    Job,
    /// Somebody of whom none of these could be shown.
    Viewer,
    /// A process that leads to more than one agent: whichever it claims to be, it is not to be trusted.
    Ambiguous,
}

/// How a calling agent stands to the agent that it calls about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Itself,
    /// Its parent, or any other ancestor of it.
    Parent,
    /// It holds the role that looks after the other's, and is nothing of the above.
    Overseer,
    Other,
    /// The verb is about no agent that exists yet, or about the fleet.
    NoTarget,
}

impl Standing {
    pub const ALL: [Standing; 5] = [
        Standing::Itself,
        Standing::Parent,
        Standing::Overseer,
        Standing::Other,
        Standing::NoTarget,
    ];
}

/// Whether a caller may use a verb on an agent that it stands to like this.
pub fn may(caller: Caller, verb: Verb, standing: Standing) -> bool {
    match caller {
        Caller::Person => match verb {
            // It is what a session says of its own work.
            Verb::Report => false,
            Verb::Look
            | Verb::Attach
            | Verb::Send
            | Verb::Logs
            | Verb::Spawn
            | Verb::Stop
            | Verb::Wake
            | Verb::Restart
            | Verb::Set
            | Verb::Rename
            | Verb::Bury
            | Verb::Prune
            | Verb::Post
            | Verb::Mail
            | Verb::Assume
            | Verb::Transfer
            | Verb::Drop
            | Verb::Up
            | Verb::Down
            | Verb::Clean
            | Verb::Signal
            | Verb::Escalate
            | Verb::Task
            | Verb::TaskWork
            | Verb::TaskAssign
            | Verb::TaskVerify
            | Verb::TaskDrop
            | Verb::Snapshot
            | Verb::Checkpoint
            | Verb::Handoff => true,
        },
        // A job does its own work and reports by its exit: it needs nothing from us.
        Caller::Job | Caller::Ambiguous => false,
        Caller::Viewer => viewer_may(verb),
        Caller::Agent(_) => agent_may(caller, verb, standing),
    }
}

fn viewer_may(verb: Verb) -> bool {
    match verb {
        Verb::Look => true,
        Verb::Attach
        | Verb::Send
        | Verb::Logs
        | Verb::Spawn
        | Verb::Stop
        | Verb::Wake
        | Verb::Restart
        | Verb::Set
        | Verb::Rename
        | Verb::Bury
        | Verb::Prune
        | Verb::Report
        | Verb::Post
        | Verb::Mail
        | Verb::Assume
        | Verb::Transfer
        | Verb::Drop
        | Verb::Up
        | Verb::Down
        | Verb::Clean
        | Verb::Signal
        | Verb::Escalate
        | Verb::Task
        | Verb::TaskWork
        | Verb::TaskAssign
        | Verb::TaskVerify
        | Verb::TaskDrop
        | Verb::Snapshot
        | Verb::Checkpoint
        | Verb::Handoff => false,
    }
}

fn agent_may(caller: Caller, verb: Verb, standing: Standing) -> bool {
    match verb {
        Verb::Look | Verb::Post | Verb::Mail | Verb::Signal | Verb::Escalate | Verb::Task => true,
        // Whoever types into a terminal can answer a permission dialog.
        Verb::Attach | Verb::Send => false,
        Verb::Logs => sees(caller, Private::Terminal, standing),
        // Children of its own, within what it may do itself: `offspring` has the bounds.
        Verb::Spawn => standing == Standing::NoTarget,
        Verb::Stop | Verb::Wake | Verb::Restart => match standing {
            Standing::Parent => true,
            Standing::Itself | Standing::Overseer | Standing::Other | Standing::NoTarget => false,
        },
        // Of its own role: any agent takes one, and its holder leaves it or hands it over. Its own
        // burial is carried out when its turn has ended.
        Verb::Report
        | Verb::Assume
        | Verb::Transfer
        | Verb::Drop
        | Verb::Bury
        | Verb::Checkpoint => standing == Standing::Itself,
        // A restore replaces files of whoever else works there.
        Verb::Set | Verb::Rename | Verb::Prune | Verb::Clean | Verb::Snapshot => false,
        // A daemon that an agent starts would end with the agent's session.
        Verb::Up | Verb::Down => false,
        // Who has the task, and who added it.
        Verb::TaskWork | Verb::TaskDrop => standing == Standing::Itself,
        Verb::TaskAssign => match standing {
            Standing::Itself | Standing::Parent => true,
            Standing::Overseer | Standing::Other | Standing::NoTarget => false,
        },
        // An overseer ends only what was asked for already: `handoff` HA7.
        Verb::Handoff => match standing {
            Standing::Itself | Standing::Parent | Standing::Overseer => true,
            Standing::Other | Standing::NoTarget => false,
        },
        // Nobody verifies their own work.
        Verb::TaskVerify => standing == Standing::Parent,
    }
}

/// Refuses what a caller may not do to an agent that it stands to like this.
pub fn authorise(caller: Caller, verb: Verb, standing: Standing) -> Result<(), Refusal> {
    match may(caller, verb, standing) {
        true => Ok(()),
        false => Err(Refusal::NotAllowed { caller, verb, standing }),
    }
}

impl Caller {
    /// The agent whose session calls: hooks, the status line and an agent's tools are for no one else.
    pub fn own_session(self) -> Result<AgentId, Refusal> {
        match self {
            Caller::Agent(id) => Ok(id),
            Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => {
                Err(Refusal::NotASession)
            }
        }
    }

    /// As whom a command is recorded. Holds and stops trust this, so nobody but a person is the operator, even if
    /// the table above granted the verb to others by mistake.
    pub fn witness(self, verb: Verb) -> Result<Witness, Refusal> {
        match self {
            Caller::Person => Ok(Witness::Operator),
            Caller::Agent(id) => Ok(Witness::Agent(id)),
            Caller::Job | Caller::Viewer | Caller::Ambiguous => {
                Err(Refusal::NotAllowed { caller: self, verb, standing: Standing::NoTarget })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let agent = Caller::Agent(AgentId(1));
        let allowed = |caller, standing| {
            [
                Verb::Look,
                Verb::Attach,
                Verb::Send,
                Verb::Logs,
                Verb::Spawn,
                Verb::Stop,
                Verb::Wake,
                Verb::Restart,
                Verb::Set,
                Verb::Rename,
                Verb::Bury,
                Verb::Prune,
                Verb::Report,
                Verb::Post,
                Verb::Mail,
                Verb::Assume,
                Verb::Transfer,
                Verb::Drop,
                Verb::Up,
                Verb::Down,
                Verb::Clean,
                Verb::Signal,
                Verb::Escalate,
                Verb::Task,
                Verb::TaskWork,
                Verb::TaskAssign,
                Verb::TaskVerify,
                Verb::TaskDrop,
                Verb::Snapshot,
                Verb::Checkpoint,
                Verb::Handoff,
            ]
            .into_iter()
            .filter(|verb| may(caller, *verb, standing))
            .map(Verb::word)
            .collect::<Vec<_>>()
            .join(" ")
        };
        assert_eq!(
            allowed(Caller::Person, Standing::Other),
            "look attach send logs spawn stop wake restart set rename bury prune post mail assume \
             transfer drop up down clean signal escalate task task-work task-assign task-verify task-drop \
             snapshot checkpoint handoff"
        );
        assert_eq!(
            allowed(agent, Standing::Parent),
            "look stop wake restart post mail signal escalate task task-assign task-verify handoff"
        );
        assert_eq!(
            allowed(agent, Standing::Itself),
            "look bury report post mail assume transfer drop signal escalate task task-work task-assign task-drop \
             checkpoint handoff"
        );
        assert_eq!(
            allowed(agent, Standing::Overseer),
            "look post mail signal escalate task handoff"
        );
        assert_eq!(allowed(agent, Standing::Other), "look post mail signal escalate task");
        assert_eq!(allowed(agent, Standing::NoTarget), "look spawn post mail signal escalate task");
        assert_eq!(allowed(Caller::Viewer, Standing::Other), "look");
        for standing in Standing::ALL {
            assert_eq!(allowed(Caller::Job, standing), "");
            assert_eq!(allowed(Caller::Ambiguous, standing), "");
        }
    }

    #[test]
    fn only_a_person_is_recorded_as_the_operator() {
        let agent = Caller::Agent(AgentId(1));
        assert_eq!(Caller::Person.witness(Verb::Wake), Ok(Witness::Operator));
        assert_eq!(agent.witness(Verb::Wake), Ok(Witness::Agent(AgentId(1))));
        for caller in [Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            let (verb, standing) = (Verb::Wake, Standing::NoTarget);
            let refused = Refusal::NotAllowed { caller, verb, standing };
            assert_eq!(caller.witness(Verb::Wake), Err(refused));
        }
    }
}
