//! What a request asked for and is not there, or can't be read or written now.

use perennial_api::Problem;
use perennial_api::agent as wire;
use perennial_api::problem::ENDING;
use perennial_core::conversation::ConversationId;
use perennial_core::id::{MessageId, PostId};
use perennial_core::message::MessageStep;
use perennial_core::reason::Witness;
use perennial_core::time::Time;
use perennial_engine::timestamp::rfc3339_seconds;

use crate::daemon::showing::sentences;
use crate::daemon::surface::checks::sanitised;
use crate::similar::did_you_mean;

/// `similar` are names of agents that may have been meant.
pub fn no_such_agent(target: &str, similar: &[&str]) -> Problem {
    Problem::new(404, "no-such-agent", format!("no agent '{}'", sanitised(target)))
        .because(did_you_mean(similar))
        .next("run `perennial ls --all` to list every agent")
}

/// The agent left memory while the request was under way.
pub fn agent_gone() -> Problem {
    Problem::new(409, "agent-ended", "the agent was buried while the request was under way")
        .next("try again; the answer will be about its record")
}

/// `target` is the agent as the caller named it; `newest` is 0 if it has had no session yet.
pub fn no_such_session(target: &str, number: u64, newest: u64) -> Problem {
    let target = sanitised(target);
    let (title, why, next) = match (number, newest) {
        (0, 0) => (
            format!("{target} has had no session yet"),
            String::new(),
            format!("`perennial why {target}` shows why it has none"),
        ),
        (number, 0) => (
            format!("{target} has no session {number}"),
            "it has had none yet".to_owned(),
            format!("`perennial why {target}` shows why it has none"),
        ),
        (number, newest) => (
            format!("{target} has no session {number}"),
            format!("its newest session is {newest}"),
            "leave --session out to get the newest".to_owned(),
        ),
    };
    Problem::new(404, "no-such-session", title).because(why).next(next)
}

/// `target` is the agent as the caller named it: its name may be another agent's by now. `can_wake`: the caller may
/// wake it.
pub fn no_running_session(target: &str, agent: &wire::Agent, can_wake: bool) -> Problem {
    let target = sanitised(target);
    let last = match agent.session {
        Some(_) => format!("`perennial logs {target}` shows the last one"),
        None => format!("`perennial why {target}` shows why it has none"),
    };
    Problem::new(409, "no-session", format!("{target} has no running session"))
        .because(format!("it is {}", agent.state))
        .next(match can_wake {
            true => format!("`perennial wake {target}` starts one; {last}"),
            false => last,
        })
}

pub fn no_such_message(id: &str) -> Problem {
    Problem::new(404, "no-such-message", format!("no text '{}'", sanitised(id)))
        .next("`perennial sent` with an agent's name lists the texts to it, with their ids")
}

pub fn not_waiting(message: MessageId) -> Problem {
    Problem::new(404, "no-such-message", format!("{message} is not waiting"))
        .next("`perennial sent` with an agent's name lists the texts to it, with their states")
}

/// `agent` is whom the text is for, if that is known.
pub fn already_offered(message: MessageId, agent: Option<&str>) -> Problem {
    Problem::new(409, "already-offered", format!("{message} can't be withdrawn"))
        .because("the text is being typed, or may already be in the input line")
        .next(match agent {
            Some(agent) => format!("`perennial sent {agent}` shows its progress"),
            None => "`perennial sent` with the agent's name shows its progress".to_owned(),
        })
}

/// Nothing more happens to it; `step` was recorded last.
pub fn message_over(message: MessageId, step: MessageStep) -> Problem {
    let correct = "send another text that corrects it";
    let (why, next) = match step {
        MessageStep::Withdrawn => ("it has already been withdrawn", ""),
        MessageStep::Returned => ("it was returned when its agent was buried", ""),
        MessageStep::Seen => ("the agent has seen it", correct),
        MessageStep::Recorded
        | MessageStep::Offered
        | MessageStep::Entered
        | MessageStep::Held
        | MessageStep::Heard => ("it has been typed into the terminal", correct),
    };
    Problem::new(409, "message-over", format!("{message} can't be withdrawn"))
        .because(why)
        .next(next)
}

pub fn message_lost(message: MessageId) -> Problem {
    Problem::new(409, "message-over", format!("{message} can't be withdrawn"))
        .because(sentences::LOST)
        .next("send it again if it is still needed")
}

pub fn no_such_post(id: &str) -> Problem {
    Problem::new(404, "no-such-post", format!("no post '{}'", sanitised(id)))
        .next("`perennial board ls` lists the newest posts with their ids")
}

pub fn post_unread(id: PostId) -> Problem {
    Problem::new(500, "post-unread", format!("the text of {id} can't be read"))
        .because("its record or its text is damaged")
        .next("run `perennial doctor` to check the journal")
}

/// The caller named an agent in the cemetery.
pub fn no_next_session(target: &str) -> Problem {
    let name = sanitised(target);
    Problem::new(409, "no-next-session", format!("{name} has no next session"))
        .because("it is dead")
        .next(format!("`perennial logs {name}` shows what its sessions did"))
}

/// The caller named an agent that runs a bare command.
pub fn no_conversation(target: &str) -> Problem {
    let name = sanitised(target);
    Problem::new(409, "no-conversation", format!("{name} has no conversation"))
        .because("it runs a bare command, not an agent CLI")
        .next(format!("`perennial logs {name} --terminal` shows what it printed"))
}

/// `other` is another harness that has it.
pub fn no_such_conversation(id: &ConversationId, harness: &str, other: Option<&str>) -> Problem {
    let problem = Problem::new(404, "no-such-conversation", format!("no conversation {id}"));
    match other {
        Some(other) => problem
            .because(format!("{harness} has no transcript of it; {other} has one"))
            .next(format!("add `--harness {other}`")),
        None => {
            problem.because(format!("neither {harness} nor Perennial has a transcript of it")).next(
                "the id is part of the name of its transcript file; `--harness` says whose it is",
            )
        }
    }
}

/// Two writers would tear the conversation apart.
pub fn conversation_open(id: &ConversationId, pid: i32) -> Problem {
    Problem::new(409, "conversation-taken", format!("conversation {id} is open in another program"))
        .because(format!("process {pid} has it open, and a conversation has one writer at a time"))
        .next("end that program, then try again; or continue in a copy: `perennial adopt … --fork`")
}

/// The vendor's own server has it, for terminals that may be closed already.
pub fn conversation_served(id: &ConversationId, harness: &str, pid: i32) -> Problem {
    let what = format!("conversation {id} is open in {harness}'s background server");
    Problem::new(409, "conversation-taken", what)
        .because(format!(
            "process {pid} is the server that every plain {harness} shares; it may keep conversations open after \
             their terminals are closed, and a conversation has one writer at a time"
        ))
        .next(format!(
            "continue in a copy: `perennial adopt … --fork`; or try again when {harness} no longer runs that server"
        ))
}

pub fn not_forked(id: &ConversationId, why: &str) -> Problem {
    Problem::new(422, "not-forked", format!("conversation {id} can't be copied"))
        .because(why)
        .next("without --fork, the agent continues the conversation itself")
}

pub fn fork_of_nothing() -> Problem {
    Problem::new(400, "bad-conversation", "a fork needs a conversation")
        .because("nothing was named that could be copied")
        .next("name the conversation: --conversation and its id")
}

pub fn not_started(name: &str, why: &str) -> Problem {
    Problem::new(422, "not-started", format!("{name} could not be started"))
        .because(why)
        .next(format!("`perennial why {name}` shows what happens next"))
}

pub fn preset_unusable(why: &str) -> Problem {
    Problem::new(409, "no-harness", "the preset of this agent's harness can't be used")
        .because(why)
        .next("run `perennial doctor` to see what is wrong with it")
}

/// `target` is the agent as the caller named it.
pub fn terminal_unreachable(target: &str, why: &str) -> Problem {
    let target = sanitised(target);
    Problem::new(409, "no-ticket", format!("can't reach the terminal of {target}"))
        .because(why)
        .next(format!("`perennial why {target}` shows whether its holder answers"))
}

/// `at` is when it was removed.
pub fn recording_removed(agent: &str, session: u64, by: Witness, at: Time) -> Problem {
    let agent = sanitised(agent);
    let title = format!("the recording of session {session} of {agent} was removed");
    let at = rfc3339_seconds(at);
    let why = match by {
        Witness::Operator => format!("the operator removed it on {at}, by `prune` or `clean`"),
        Witness::Kernel
        | Witness::Holder
        | Witness::Lead(_)
        | Witness::Harness
        | Witness::Agent(_)
        | Witness::Daemon => {
            format!("it was removed on {at}: it was older than `keep_recordings_days` allows")
        }
    };
    Problem::new(410, "recording-removed", title)
        .because(why)
        .next(format!("`perennial why {agent}` shows what is known of its sessions"))
}

pub fn recording_unread(why: &str) -> Problem {
    Problem::new(500, "recording-unread", "the recording can't be read")
        .because(why)
        .next("run `perennial doctor` to check the home directory")
}

pub fn journal_unread(why: &str) -> Problem {
    Problem::new(500, "journal-unread", "the journal can't be read")
        .because(why)
        .next("run `perennial doctor` to check the journal")
}

/// Nothing was changed because `what` could not be written.
pub fn not_recorded(what: &str, why: &str) -> Problem {
    Problem::new(503, "not-recorded", "the change can't be recorded, so nothing was changed")
        .because(format!("{what} can't be written: {why}"))
        .next(
            "free disk space, or put back what was moved, and try again; running sessions are not affected",
        )
}

pub fn answer_not_writable(why: &str) -> Problem {
    Problem::new(500, "not-writable", "the answer can't be written as JSON")
        .because(why)
        .next("this is a bug: please report it with the daemon's log")
}

pub fn daemon_ending() -> Problem {
    Problem::new(503, ENDING, "the daemon is shutting down")
        .because("it no longer answers requests; sessions are not affected")
        .next("try again in a moment; if no daemon is running then, the operator can start one")
}
