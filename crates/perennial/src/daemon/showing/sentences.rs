//! What people read of an agent: reasons, evidence, exits, what it waits for, what happens next.
//!
//! The only source of these texts; the history of an agent is in `sentences/history.rs`. Texts are
//! made from data, and nothing is decided by what a text says. Every match is exhaustive, so a new variant in the core does
//! not compile until it has a sentence here. `docs/messages.md` lists them all.

mod handoff;
pub mod history;
mod snapshots;
pub mod suspended;
mod texts;
pub mod work;

use perennial_core::agent::Outlook;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::hold::HeldFor;
use perennial_core::launch::HostKind;
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::restart::Restart;
use perennial_core::role::Span;
use perennial_core::session::Phase;
use perennial_core::time::Time;

pub use texts::{LOST, MAY_BE_READ, READER, UNREADABLE_ROW, WRITTEN, blocked, held, sender, waits};

use crate::kill_signal;

pub use history::sentence;

/// What the vendor's error was, where its agent CLI says so.
const ACCESS_REFUSED: &str =
    "gave up its turn: the vendor refused access; check its login, key or payment";
const TOO_LONG: &str = "gave up its turn: the conversation is too long for the model's window";

/// Why an agent is in its state, without the details of this one case.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Starting => "starting",
        Reason::Running => "running",
        Reason::InTurn => "in a turn",
        Reason::BackgroundTasks => "background tasks still running",
        Reason::Idle => "idle",
        Reason::NeedsPermission => "waiting for permission",
        Reason::NeedsAnswer => "waiting for an answer",
        Reason::RateLimited => "rate-limited by the vendor",
        Reason::ServiceFailed => "gave up its turn: the vendor's service failed",
        Reason::LimitReached => "gave up its turn: the vendor's usage limit was reached",
        Reason::FirstRunDialog => {
            "no sign of life for 20 s; it may be showing a first-run dialog; attach to see"
        }
        Reason::SilentAtStart => "no sign of life for 90 s; attach to see why",
        Reason::StoppedInTurn => "was stopped in the middle of a turn; waits for instructions",
        Reason::DaemonStarted => "not confirmed since the daemon started",
        Reason::HolderUnreachable => "its holder does not answer",
        Reason::LeadSilent => "its lead has not reported its state",
        Reason::Silent => "hung in a turn; restarting",
        Reason::HomeCopied => "this home is a copy; the session may still run in the original",
        Reason::RecordLost => "the journal lost records of it, so it is left alone",
        Reason::RecordUnreadable => "one of its records can't be read, so it is left alone",
        Reason::HandoffAsked => "asked to hand off",
        Reason::Retrying => "exited unexpectedly",
        Reason::BreakerOpen => "crashed too often",
        Reason::Finished => "finished",
        Reason::Stopped => "stopped",
        Reason::CrashedRestartOff => "exited unexpectedly; restarts are off",
        Reason::MachineRestarted => "the machine restarted",
        Reason::LeadEnded => "its lead's session ended",
        Reason::Unlisted => "its lead no longer lists it",
        Reason::TaskDone => "its task is done and its queue is empty",
        Reason::FrozenByOrder => "frozen by the operator",
        Reason::Completed => "completed its work",
        Reason::Reaped => "reaped",
        Reason::Retired => "buried",
        Reason::GaveUp => "reached its role's restart limit",
        Reason::NeverNamed => "was not given a name in time",
    }
}

/// Why an agent is in its state; where its session's end is the reason, with how it ended.
pub fn explained(why: Reason, evidence: &Evidence) -> String {
    with_end(why, &evidence.fact).unwrap_or_else(|| reason(why).to_owned())
}

/// A reason that tells how the session ended; nothing for one that has no end behind it.
fn with_end(why: Reason, fact: &Finding) -> Option<String> {
    match why {
        Reason::Finished | Reason::BreakerOpen => match fact {
            Finding::Exited(end) => Some(format!("{} ({})", reason(why), brief_exit(*end))),
            Finding::Asked(_)
            | Finding::AskedFresh(_)
            | Finding::Executed(_)
            | Finding::NotStarted(_)
            | Finding::Shown(_)
            | Finding::TimeCame
            | Finding::BootChanged
            | Finding::HomeCopied
            | Finding::SessionFound(_)
            | Finding::RecordsLost
            | Finding::TaskVerified(_)
            | Finding::TaskGiven(_)
            | Finding::Unreadable(_) => None,
        },
        Reason::ServiceFailed => failed_service(fact),
        Reason::Retrying => unexpected_end(fact),
        Reason::CrashedRestartOff => Some(unexpected_end(fact)? + RESTARTS_ARE_OFF),
        Reason::Starting
        | Reason::Running
        | Reason::InTurn
        | Reason::BackgroundTasks
        | Reason::Idle
        | Reason::NeedsPermission
        | Reason::NeedsAnswer
        | Reason::RateLimited
        | Reason::LimitReached
        | Reason::FirstRunDialog
        | Reason::SilentAtStart
        | Reason::StoppedInTurn
        | Reason::DaemonStarted
        | Reason::HolderUnreachable
        | Reason::LeadSilent
        | Reason::Silent
        | Reason::HomeCopied
        | Reason::RecordLost
        | Reason::RecordUnreadable
        | Reason::HandoffAsked
        | Reason::Stopped
        | Reason::MachineRestarted
        | Reason::LeadEnded
        | Reason::Unlisted
        | Reason::TaskDone
        | Reason::FrozenByOrder
        | Reason::Completed
        | Reason::Reaped
        | Reason::Retired
        | Reason::GaveUp
        | Reason::NeverNamed => None,
    }
}

const RESTARTS_ARE_OFF: &str = "; restarts are off";

/// How a call of the service failed, where that says more than that it did.
fn failed_service(fact: &Finding) -> Option<String> {
    match fact {
        Finding::Shown(Show::AccessRefused) => Some(ACCESS_REFUSED.to_owned()),
        Finding::Shown(Show::TooLong) => Some(TOO_LONG.to_owned()),
        Finding::Shown(_)
        | Finding::Asked(_)
        | Finding::AskedFresh(_)
        | Finding::Executed(_)
        | Finding::NotStarted(_)
        | Finding::Exited(_)
        | Finding::TimeCame
        | Finding::BootChanged
        | Finding::HomeCopied
        | Finding::SessionFound(_)
        | Finding::RecordsLost
        | Finding::TaskVerified(_)
        | Finding::TaskGiven(_)
        | Finding::Unreadable(_) => None,
    }
}

/// How a session ended that was not asked to.
fn unexpected_end(fact: &Finding) -> Option<String> {
    match fact {
        // Nothing went wrong: under `--restart always` the next session follows all the same.
        Finding::Exited(Exit::Code(0)) => Some("exited (exit 0)".to_owned()),
        Finding::Exited(Exit::Unknown(UnknownExit::NotStarted)) => Some("never started".to_owned()),
        Finding::Exited(Exit::Unknown(UnknownExit::MachineRestarted)) => {
            Some("ended when the machine restarted".to_owned())
        }
        Finding::Exited(Exit::Unknown(UnknownExit::HomeCopied)) => {
            Some("ended when the home was copied".to_owned())
        }
        Finding::Exited(
            end @ (Exit::Code(_) | Exit::KillSignal(_) | Exit::Unknown(UnknownExit::HolderDied)),
        ) => Some(format!("exited unexpectedly ({})", brief_exit(*end))),
        Finding::NotStarted(why) => Some(not_started("could not be started", why)),
        Finding::TimeCame => Some("did not start in time".to_owned()),
        Finding::Asked(_)
        | Finding::AskedFresh(_)
        | Finding::Executed(_)
        | Finding::Shown(_)
        | Finding::BootChanged
        | Finding::HomeCopied
        | Finding::SessionFound(_)
        | Finding::RecordsLost
        | Finding::TaskVerified(_)
        | Finding::TaskGiven(_)
        | Finding::Unreadable(_) => None,
    }
}

pub fn witness(witness: Witness) -> &'static str {
    match witness {
        Witness::Kernel => "kernel",
        Witness::Holder => "holder",
        Witness::Lead(_) => "lead",
        Witness::Harness => "harness",
        Witness::Agent(_) => "agent",
        Witness::Operator => "person",
        Witness::Daemon => "daemon",
    }
}

/// A start that failed; without the system's message for callers who may not see it.
fn not_started(what: &str, why: &str) -> String {
    if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") }
}

/// What was seen.
pub fn fact(evidence: &Evidence) -> String {
    match &evidence.fact {
        // Nobody else who is an agent may do that.
        Finding::Asked(Verb::Bury) if matches!(evidence.witness, Witness::Agent(_)) => {
            "buried by its own wish".to_owned()
        }
        Finding::Asked(verb) => asked(*verb, evidence.witness),
        Finding::AskedFresh(verb) => {
            format!("{}, with a new conversation", asked(*verb, evidence.witness))
        }
        Finding::Executed(process) => format!("its program started as pid {}", process.pid),
        Finding::NotStarted(why) => not_started("its program could not be started", why),
        Finding::Exited(end) => format!("its program ended: {}", exit(*end)),
        Finding::Shown(show) => shown(*show).to_owned(),
        Finding::TimeCame => "its time limit passed".to_owned(),
        Finding::BootChanged => "the machine's boot id has changed".to_owned(),
        Finding::HomeCopied => "this home is a copy of another one".to_owned(),
        Finding::SessionFound(number) => {
            format!("session {number} was found running, and the journal has no record of it")
        }
        Finding::RecordsLost => "the newest records of the journal are missing".to_owned(),
        Finding::TaskVerified(id) => format!("{id} is verified, and nothing else is left to do"),
        Finding::TaskGiven(id) => format!("it is on {id}"),
        Finding::Unreadable(why) if why.is_empty() => "a record can't be read".to_owned(),
        Finding::Unreadable(why) => format!("a record can't be read: {why}"),
    }
}

fn asked(verb: Verb, by: Witness) -> String {
    match by {
        Witness::Agent(id) | Witness::Lead(id) => format!("{} by agent {id}", done(verb)),
        Witness::Operator => format!("{} by the operator", done(verb)),
        Witness::Kernel | Witness::Holder | Witness::Harness | Witness::Daemon => {
            done(verb).to_owned()
        }
    }
}

/// What a verb does to an agent, as a participle.
pub fn done(verb: Verb) -> &'static str {
    match verb {
        Verb::Look => "viewed",
        Verb::Attach => "attached to",
        Verb::Send => "sent a text",
        Verb::Logs => "logs read",
        Verb::Spawn => "spawned",
        Verb::Stop => "stopped",
        Verb::Wake => "woken",
        Verb::Restart => "restarted",
        Verb::Set => "changed",
        Verb::Rename => "renamed",
        Verb::Bury => "buried",
        Verb::Prune => "pruned",
        Verb::Report => "reported",
        Verb::Post => "posted",
        Verb::Mail => "sent mail",
        Verb::Assume => "given a role",
        Verb::Transfer => "role handed over",
        Verb::Drop => "role dropped",
        Verb::Snapshot => "snapshot taken",
        Verb::Handoff => "handed off",
        Verb::Checkpoint => "checkpoint taken",
        Verb::Up => "daemon started",
        Verb::Down => "daemon shut down",
        Verb::Clean => "cleaned",
        Verb::Signal => "sent a signal",
        Verb::Escalate => "escalated",
        Verb::Task | Verb::TaskWork => "task changed",
        Verb::TaskAssign => "given a task",
        Verb::TaskVerify => "task verified",
        Verb::TaskDrop => "task dropped",
    }
}

fn shown(show: Show) -> &'static str {
    match show {
        Show::SessionBegan => "its agent CLI reported that the session began",
        Show::TurnBegan => "its agent CLI reported that a turn began",
        Show::TurnEnded => "its agent CLI reported that the turn ended",
        Show::PermissionDialog => "its agent CLI shows a permission dialog",
        Show::Question => "its agent CLI shows a question",
        Show::RateLimit => "its agent CLI hit the vendor's rate limit",
        Show::ServiceError => "its agent CLI got an error from the vendor's service",
        Show::AccessRefused => "the vendor refused its agent CLI access",
        Show::TooLong => "its agent CLI reported that the conversation is too long",
        Show::BackgroundWork => "its agent CLI reported that background tasks are still running",
        Show::LimitReached => "its agent CLI gave up at the vendor's usage limit",
        Show::NothingAtFirst => "its agent CLI is running but has given no sign of life yet",
        Show::NothingInTurn => {
            "during the turn there was no output, no file change and no busy child process"
        }
    }
}

/// How a session ended, as part of a sentence.
pub fn exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::KillSignal(signal) => format!("killed by {}", kill_signal::name(signal)),
        Exit::Unknown(UnknownExit::HolderDied) => "unknown, because its holder was killed".into(),
        Exit::Unknown(UnknownExit::MachineRestarted) => {
            "unknown, because the machine restarted".into()
        }
        Exit::Unknown(UnknownExit::HomeCopied) => "unknown, because the home was copied".into(),
        Exit::Unknown(UnknownExit::NotStarted) => "it never started".into(),
    }
}

/// How a session ended, in parentheses.
fn brief_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::KillSignal(signal) => kill_signal::name(signal),
        Exit::Unknown(UnknownExit::HolderDied) => "its holder was killed".into(),
        Exit::Unknown(UnknownExit::MachineRestarted) => "the machine restarted".into(),
        Exit::Unknown(UnknownExit::HomeCopied) => "the home was copied".into(),
        Exit::Unknown(UnknownExit::NotStarted) => "it never started".into(),
    }
}

pub fn unknown_exit(why: UnknownExit) -> &'static str {
    match why {
        UnknownExit::HolderDied => "holder-died",
        UnknownExit::MachineRestarted => "machine-restarted",
        UnknownExit::HomeCopied => "home-copied",
        UnknownExit::NotStarted => "not-started",
    }
}

pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Wanted => "wanted",
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Ending(_) => "ending",
        Phase::Ended => "ended",
    }
}

pub fn restart(restart: Restart) -> &'static str {
    match restart {
        Restart::Never => "never",
        Restart::OnCrash => "on-crash",
        Restart::Always => "always",
    }
}

pub fn host(host: HostKind) -> &'static str {
    match host {
        HostKind::Shim => "shim",
        HostKind::Tmux => "tmux",
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// A sentence.
    pub text: &'static str,
    /// Where it has a time: the same sentence with it, `{left}` in place of the span, and the time.
    pub timed: Option<(&'static str, Time)>,
}

impl Next {
    fn plain(text: &'static str) -> Next {
        Next { text, timed: None }
    }

    fn at(at: Option<Time>, text: &'static str, timed: &'static str) -> Next {
        Next { text, timed: at.map(|at| (timed, at)) }
    }
}

pub fn outlook(outlook: Outlook) -> Next {
    let plain = Next::plain;
    match outlook {
        Outlook::Held(HeldFor::Damage) => {
            plain("nothing, until the operator wakes it: one of its records can't be read")
        }
        Outlook::Held(HeldFor::Verdict) => plain("nothing, until the operator decides"),
        Outlook::Held(HeldFor::Person) => plain("nothing, until the operator wakes it"),
        Outlook::InLine => plain("it starts after the sessions ahead of it in line"),
        Outlook::AfterLastSession => plain("it starts when its last session has ended"),
        Outlook::Start { crash_at: None } => plain("its program starts"),
        Outlook::Start { crash_at } => Next::at(
            crash_at,
            "its program is starting; if it has not started in time, that counts as a crash",
            "its program is starting; if it has not started within {left}, that counts as a crash",
        ),
        Outlook::FirstSign { needs_person_at } => Next::at(
            needs_person_at,
            "if it gives no sign of life, it is marked as needing you",
            "if it gives no sign of life within {left}, it is marked as needing you",
        ),
        Outlook::Person => plain("nothing, until it gives a sign of life or ends"),
        Outlook::TurnEnd => plain("it waits for input when the turn ends"),
        Outlook::Exit(Restart::Never) => plain("it sleeps when its program ends"),
        Outlook::Exit(Restart::OnCrash) => {
            plain("it sleeps when its program finishes, and is restarted if it crashes")
        }
        Outlook::Exit(Restart::Always) => plain("it is restarted when its program ends"),
        Outlook::Text => plain("it continues with the next text that it is sent"),
        Outlook::Answer => plain("it continues when the dialog in its terminal is answered"),
        Outlook::Vendor { at } => Next::at(
            at,
            "it continues when the vendor's limit is lifted",
            "it continues in {left}, when the vendor's limit is lifted",
        ),
        Outlook::TurnGivenUp { vendor_ready_at } => Next::at(
            vendor_ready_at,
            "nothing, until it is sent a text",
            "nothing, until it is sent a text; the vendor's limit is lifted in {left}",
        ),
        Outlook::Confirmation => plain("its state is known again when its holder answers"),
        Outlook::Hangs => plain("its session is ended, and the next one starts"),
        Outlook::Successor { at } => {
            Next::at(at, "the next session starts", "the next session starts within {left}")
        }
        Outlook::Retry { at } => Next::at(at, "it is restarted", "it is restarted in {left}"),
        Outlook::Burial => plain("it is buried, as it asked, when its turn or its session ends"),
        Outlook::Rest(Span::Mortal) => plain(
            "a task of it is verified: when nothing else is left for it to do, it is buried as completed",
        ),
        Outlook::Rest(Span::Persistent) => {
            plain("a task of it is verified: when nothing else is left for it to do, it hibernates")
        }
        Outlook::Wake => plain("it sleeps until it is woken"),
        Outlook::Task => plain("it hibernates until a task lies on its queue, or it is woken"),
        Outlook::Approval => plain("only the operator's approval wakes it"),
        Outlook::Final => plain("this is final; its record is kept"),
    }
}

/// Why a session waits to start, and what happens next: its place in line, beside how many run and may run.
pub fn in_line((place, of): (usize, usize), running: u64, most: Option<usize>) -> (String, String) {
    let line = format!("waits in line, place {place} of {of}");
    match most {
        Some(most) => {
            let next = "it starts when a session has ended and those ahead of it have started";
            let run = if running == 1 { "session runs" } else { "sessions run" };
            (format!("{line}: {running} {run}, max_running is {most}"), next.to_owned())
        }
        None => (line, outlook(Outlook::InLine).text.to_owned()),
    }
}

/// Why a session waits for a restore, and what happens next.
pub fn held_back() -> (String, String) {
    let why = "waits: files are being restored in its work tree";
    (why.to_owned(), "it starts when the restore has ended".to_owned())
}

pub fn held_for(held_for: HeldFor) -> &'static str {
    match held_for {
        HeldFor::Verdict => "held until the operator decides",
        HeldFor::Person => "held for the operator",
        HeldFor::Damage => "held because one of its records can't be read",
    }
}

#[cfg(test)]
mod tests;
