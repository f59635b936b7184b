//! What a request asked for and is not there, or can't be read or written now.

use perennial_api::Problem;
use perennial_core::conversation::ConversationId;
use perennial_core::id::{MessageId, PostId};

use crate::daemon::surface::checks::sanitised;

pub fn no_such_agent(target: &str) -> Problem {
    Problem::new(404, "no-such-agent", format!("no agent '{}'", sanitised(target)))
        .next("run `perennial ls --all` to list every agent")
}

/// The agent left memory while the request was under way.
pub fn agent_gone() -> Problem {
    Problem::new(404, "no-such-agent", "the agent no longer exists")
        .next("run `perennial ls --all` to list every agent")
}

/// `newest` is 0 if the agent has had no session yet.
pub fn no_such_session(name: &str, number: u64, newest: u64) -> Problem {
    Problem::new(404, "no-such-session", format!("{name} has no session {number}"))
        .because(match newest {
            0 => "it has had none yet".to_owned(),
            newest => format!("its newest session is {newest}"),
        })
        .next(format!("`perennial logs {name}` shows the newest session"))
}

pub fn no_running_session(name: &str) -> Problem {
    Problem::new(409, "no-session", format!("{name} has no running session")).next(format!(
        "`perennial wake {name}` starts one; `perennial logs {name}` shows the last one"
    ))
}

pub fn no_such_message(id: &str) -> Problem {
    Problem::new(404, "no-such-message", format!("no message '{}'", sanitised(id)))
        .next("`perennial sent` lists the texts sent to an agent, with their ids")
}

pub fn not_waiting(message: MessageId) -> Problem {
    Problem::new(404, "no-such-message", format!("{message} is not waiting"))
        .next("`perennial sent` lists the texts sent to an agent, with their states")
}

/// `agent` is whom the text is for, if that is known.
pub fn already_offered(message: MessageId, agent: Option<&str>) -> Problem {
    Problem::new(409, "already-offered", format!("{message} can't be withdrawn"))
        .because("its session is being given it, or may have it in the input line")
        .next(match agent {
            Some(agent) => format!("`perennial sent {agent}` shows its progress"),
            None => "`perennial sent` shows its progress".to_owned(),
        })
}

/// `is_lost` if its records can't be read.
pub fn message_over(id: &str, why: &str, is_lost: bool) -> Problem {
    Problem::new(409, "message-over", format!("{id} can't be withdrawn")).because(why).next(
        if is_lost {
            "it will not be delivered; send it again if it is still needed"
        } else {
            "send another text that corrects it"
        },
    )
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

/// The caller named an agent that runs a bare command.
pub fn no_conversation(name: &str) -> Problem {
    Problem::new(409, "no-conversation", format!("{name} has no conversation"))
        .because("it runs a bare command, not an agent CLI")
        .next(format!("`perennial logs {name} --terminal` shows what it printed"))
}

pub fn no_such_conversation(id: &ConversationId, harness: &str) -> Problem {
    Problem::new(404, "no-such-conversation", format!("no conversation {id}"))
        .because(format!("neither {harness} nor Perennial has a transcript of it"))
        .next("the id is the name of the transcript file, without its extension")
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

pub fn recording_unread(why: &str) -> Problem {
    Problem::new(500, "recording-unread", "the recording can't be read").because(why)
}

pub fn journal_unread(why: &str) -> Problem {
    Problem::new(500, "journal-unread", "the journal can't be read")
        .because(why)
        .next("run `perennial doctor` to check the journal")
}

/// Nothing was changed because `what` could not be written.
pub fn not_recorded(what: &str, why: &str) -> Problem {
    Problem::new(503, "not-recorded", "nothing was changed")
        .because(format!("{what} can't be written: {why}"))
        .next("free some disk space and try again; running sessions are not affected")
}

pub fn answer_not_writable(why: &str) -> Problem {
    Problem::new(500, "not-writable", "the answer can't be written as JSON").because(why)
}

pub fn daemon_ending() -> Problem {
    Problem::new(503, "ending", "the daemon is shutting down")
        .because("it no longer answers requests; sessions are not affected")
        .next("run `perennial up` to start it again")
}
