//! Every problem that the daemon answers with, as a person reads it: what, why, what to do next.
//!
//! The only place where the daemon makes problems: refusals of the core and of callers here, requests
//! that are malformed and things that are missing in files of their own. `docs/messages.md` lists
//! them all. `next` never names a verb that destroys anything: agents do what error texts suggest.

mod malformed;
mod missing;

use perennial_api::{ExitCode, Problem};
use perennial_core::authority::Caller;
use perennial_core::fleet::Fleet;
use perennial_core::hold::HeldFor;
use perennial_core::id::AgentId;
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::state::State;
use perennial_engine::supervisor::Rejection;

use crate::daemon::showing::sentences;
use crate::daemon::showing::view;

pub use malformed::*;
pub use missing::*;

pub fn rejection(rejection: &Rejection, fleet: &Fleet) -> Problem {
    match rejection {
        Rejection::Refused(why) => refusal(why, fleet),
        Rejection::NotRecorded(why) => not_recorded("the journal", &why.to_string()),
    }
}

pub fn refusal(refusal: &Refusal, fleet: &Fleet) -> Problem {
    let name = |id: AgentId| fleet.agent(id).map_or_else(|| id.to_string(), view::name);
    match refusal {
        Refusal::NoSuchAgent { target } => no_such_agent(target),
        Refusal::NameTaken { name: taken, by } => {
            Problem::new(409, "name-taken", format!("the name '{taken}' is taken"))
                .because(match name(*by) {
                    same if same == taken.as_str() => format!("agent {by} has it"),
                    other => format!("agent {by} is called {other}, and names ignore case"),
                })
                .next(format!("choose another name, or see `perennial show {taken}`"))
        }
        Refusal::NotAllowed { caller, verb } => not_allowed(*caller, *verb),
        Refusal::NoSuchMessage { message } => not_waiting(*message),
        Refusal::MessageExists { message } => {
            Problem::new(409, "message-exists", format!("message {message} already exists"))
                .next("send the text under another id")
        }
        Refusal::AlreadyOffered { message } => {
            let agent = fleet.messages().get(*message).map(|message| name(message.to));
            already_offered(*message, agent.as_deref())
        }
        Refusal::WrongState { agent, verb, state } => {
            wrong_state(*agent, &name(*agent), *verb, *state)
        }
        Refusal::Running { agent } => {
            let agent = name(*agent);
            Problem::new(409, "running", format!("{agent} is already awake"))
                .because("an agent has one session at a time")
                .next(format!("`perennial show {agent}` shows its session"))
        }
        Refusal::NeedsApproval { agent } => {
            Problem::new(428, "needs-approval", format!("{} is frozen", name(*agent)))
                .because("only the operator's approval wakes a frozen agent")
                .exiting(ExitCode::NeedsOperator)
        }
        Refusal::Held { agent, held_for } => held(&name(*agent), *held_for),
        Refusal::ConversationTaken { conversation, by } => {
            let title = format!("conversation {conversation} is taken");
            Problem::new(409, "conversation-taken", title)
                .because(format!(
                    "agent {} ({by}) writes to it, and a conversation has one writer",
                    name(*by)
                ))
                .next(format!("use {}, or fork the conversation in the agent CLI", name(*by)))
        }
        Refusal::ParentGone { parent } => {
            Problem::new(409, "parent-gone", format!("{} can't be a parent", name(*parent)))
                .because("it is in the cemetery")
                .next("name a living parent, or none")
        }
    }
}

fn wrong_state(agent: AgentId, name: &str, verb: Verb, state: State) -> Problem {
    let title = format!("{name} can't be {}", sentences::done(verb));
    let next = match state {
        State::Dead | State::Expired => {
            // The id: another agent may have its name by now.
            format!("`perennial show {agent}` shows its record")
        }
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen => format!("`perennial why {name}` shows how it got there"),
    };
    Problem::new(409, "wrong-state", title).because(format!("it is {}", state.word())).next(next)
}

const JOBS_HAVE_NO_RIGHTS: &str =
    "a job is a command that Perennial runs itself; it may not use the daemon's socket";

/// To a job, whatever it asked for.
pub fn refused_to_job() -> Problem {
    Problem::new(403, "not-allowed", "jobs are not allowed to do anything")
        .because(JOBS_HAVE_NO_RIGHTS)
}

/// To a caller whose process ended before it could be identified.
pub fn caller_gone() -> Problem {
    Problem::new(403, "nobody", "the caller can't be identified")
        .because("the calling process has already exited")
}

/// To a caller whose process the system does not name.
pub fn caller_unknown() -> Problem {
    Problem::new(403, "nobody", "the caller can't be identified")
        .because("the system does not say which process is at the other end of the connection")
}

/// To a caller that is not a process of a session, and uses what only a session may.
pub fn not_a_session() -> Problem {
    Problem::new(403, "not-a-session", "only an agent's own session may do this")
        .because("the calling process does not belong to a session")
}

fn held(name: &str, held_for: HeldFor) -> Problem {
    Problem::new(428, "held", format!("{name} can't be woken: it is held"))
        .because(sentences::held_for(held_for))
        .next(match held_for {
            HeldFor::Verdict => format!("`perennial why {name}` shows what the verdict is about"),
            HeldFor::Person | HeldFor::Damage => {
                format!("`perennial why {name}` shows the reason; the operator can wake it")
            }
        })
        .exiting(ExitCode::NeedsOperator)
}

fn not_allowed(caller: Caller, verb: Verb) -> Problem {
    let word = verb.word();
    let (who, why) = match (caller, verb) {
        (Caller::Agent(_), Verb::Attach | Verb::Send | Verb::Logs) => {
            ("an agent", "a terminal could answer permission dialogs, so only a person may use it")
        }
        (Caller::Agent(_), Verb::Spawn) => ("an agent", "only a person may choose a command line"),
        (Caller::Agent(_), Verb::Stop | Verb::Wake) => {
            ("an agent", "an agent may do this only to its own team")
        }
        (
            Caller::Agent(_),
            Verb::Look | Verb::Rename | Verb::Bury | Verb::Report | Verb::Post | Verb::Down,
        ) => ("an agent", "only a person may do this"),
        (Caller::Job, _) => ("a job", JOBS_HAVE_NO_RIGHTS),
        (Caller::Viewer, _) => (
            "a viewer",
            "the daemon can't confirm that a person is calling: the chain of parent processes up \
             to pid 1 is incomplete, or the user is a different one",
        ),
        (Caller::Person, _) => ("a person", "no caller may do this"),
    };
    Problem::new(403, "not-allowed", format!("{who} may not use `{word}`"))
        .because(why)
        .next("ask the operator; docs/security.md lists who may do what")
}
