//! The core's refusals as problems that a person can act on.
//!
//! `next` never names a verb that destroys anything: agents follow error texts.

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
use crate::daemon::surface::checks::sanitised;

pub fn rejection(rejection: &Rejection, fleet: &Fleet) -> Problem {
    match rejection {
        Rejection::Refused(why) => refusal(why, fleet),
        Rejection::NotRecorded(why) => Problem::new(503, "not-recorded", "nothing was changed")
            .because(format!("the journal can't be written: {why}"))
            .next(
                "sessions go on; make room on the disk and try again; perennial doctor tells more",
            ),
    }
}

pub fn refusal(refusal: &Refusal, fleet: &Fleet) -> Problem {
    let name = |id: AgentId| fleet.agent(id).map_or_else(|| id.to_string(), view::name);
    match refusal {
        Refusal::NoSuchAgent { target } => {
            Problem::new(404, "no-such-agent", format!("there is no agent '{}'", sanitised(target)))
                .next("perennial ls --all shows everyone")
        }
        Refusal::NameTaken { name: taken, by } => {
            Problem::new(409, "name-taken", format!("the name '{taken}' is taken"))
                .because(format!("{} has it ({by})", name(*by)))
                .next(format!("choose another name, or look at that one: perennial show {taken}"))
        }
        Refusal::NotAllowed { caller, verb } => not_allowed(*caller, *verb),
        Refusal::NoSuchMessage { message } => {
            Problem::new(404, "no-such-message", format!("no message {message} is waiting"))
                .next("perennial sent NAME lists what was sent")
        }
        Refusal::MessageExists { message } => {
            Problem::new(409, "message-exists", format!("there is a message {message} already"))
                .next("send the text under another id")
        }
        Refusal::AlreadyOffered { message } => {
            Problem::new(409, "already-offered", format!("{message} can't be taken back"))
                .because("its session is being given it, or may have it in its input line")
                .next(match fleet.messages().get(*message) {
                    Some(message) => {
                        format!("perennial sent {} tells how far it comes", name(message.to))
                    }
                    None => "perennial sent NAME tells how far it comes".to_owned(),
                })
        }
        Refusal::WrongState { agent, verb, state } => {
            wrong_state(*agent, &name(*agent), *verb, *state)
        }
        Refusal::Running { agent } => {
            Problem::new(409, "running", format!("{} is awake already", name(*agent)))
                .because("an agent has one session at a time")
                .next(format!("perennial show {}", name(*agent)))
        }
        Refusal::NeedsApproval { agent } => {
            Problem::new(428, "needs-approval", format!("{} is frozen", name(*agent)))
                .because("only a person's approval wakes a frozen agent")
                .exiting(ExitCode::NeedsOperator)
        }
        Refusal::Held { agent, held_for } => held(&name(*agent), *held_for),
        Refusal::ConversationTaken { conversation, by } => {
            Problem::new(409, "conversation-taken", format!("{conversation} has a writer already"))
                .because(format!(
                    "{} goes on with it ({by}); a conversation has one writer",
                    name(*by)
                ))
                .next("fork it in the agent CLI, or use that agent")
        }
        Refusal::ParentGone { parent } => {
            Problem::new(409, "parent-gone", format!("{} can't be a parent", name(*parent)))
                .because("it is in the cemetery")
                .next("name a living parent, or none")
        }
    }
}

fn wrong_state(agent: AgentId, name: &str, verb: Verb, state: State) -> Problem {
    let title = format!("{} does not apply to {name}", verb.word());
    let next = match state {
        State::Dead | State::Expired => {
            // Its name may be another's by now.
            format!("the cemetery is kept for reading: perennial show {agent}")
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
        | State::Frozen => format!("perennial why {name} tells how it got there"),
    };
    Problem::new(409, "wrong-state", title).because(format!("it is {}", state.word())).next(next)
}

/// To whoever asks for a session that never was.
pub fn no_such_session(name: &str, number: u64, newest: u64) -> Problem {
    let kind = "no-such-session";
    Problem::new(404, kind, format!("{name} has no session {number}"))
        .because(match newest {
            0 => "it has had none yet".to_owned(),
            newest => format!("its newest is {newest}"),
        })
        .next(format!("perennial logs {name} shows the newest"))
}

const JOBS_MAY_NOTHING: &str =
    "a job is a command that Perennial runs itself; it has no rights at the daemon's socket";

/// To a job, whatever it asked for.
pub fn refused_to_job() -> Problem {
    Problem::new(403, "not-allowed", "nothing is allowed for a job").because(JOBS_MAY_NOTHING)
}

fn held(name: &str, held_for: HeldFor) -> Problem {
    Problem::new(428, "held", format!("{name} can't be woken"))
        .because(sentences::held_for(held_for))
        .next(format!("perennial why {name} tells more; a person can wake it"))
        .exiting(ExitCode::NeedsOperator)
}

fn not_allowed(caller: Caller, verb: Verb) -> Problem {
    let word = verb.word();
    let (who, why) = match (caller, verb) {
        (Caller::Agent(_), Verb::Attach | Verb::Send | Verb::Logs) => {
            ("an agent", "a raw terminal could answer a permission dialog; only a person may")
        }
        (Caller::Agent(_), Verb::Spawn) => {
            ("an agent", "an agent may not choose a command line; only a person may")
        }
        (Caller::Agent(_), Verb::Stop | Verb::Wake) => {
            ("an agent", "an agent may do that to its own team only")
        }
        (
            Caller::Agent(_),
            Verb::Look | Verb::Rename | Verb::Bury | Verb::Report | Verb::Post | Verb::Down,
        ) => ("an agent", "only a person may"),
        (Caller::Job, _) => ("a job", JOBS_MAY_NOTHING),
        (Caller::Viewer, _) => (
            "a viewer",
            "the daemon could not show that a person calls: the chain of parents up to pid 1 is \
             incomplete, or the user is another",
        ),
        (Caller::Person, _) => ("a person", "nobody may"),
    };
    Problem::new(403, "not-allowed", format!("{word} is not allowed for {who}"))
        .because(why)
        .next("ask a person; docs/security.md has the table of who may do what")
}
