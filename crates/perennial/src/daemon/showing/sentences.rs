//! Core words as sentences for people: reasons, evidence, exits, the story of an agent.
//!
//! Text is made here from data and never read back. Every match is exhaustive: a new word of the
//! core is a sentence missing here, and does not compile.

use perennial_core::agent::Outlook;
use perennial_core::conversation::{Opening, Turn};
use perennial_core::event::{AgentEvent, ClaimEvent, Move, NodeEvent, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::hold::HeldFor;
use perennial_core::job::{JobEnd, JobEvent, Purpose};
use perennial_core::launch::Host;
use perennial_core::message::{Content, Held, MessageEvent, Sender, Why, Withdrawer};
use perennial_core::post::{Author, PostEvent};
use perennial_core::reason::{Evidence, Finding, Reason, Show, Witness};
use perennial_core::restart::Restart;
use perennial_core::session::{Pace, Phase};
use perennial_core::state::Cause;
use perennial_core::time::Time;

use crate::command_line::quoted;
use crate::daemon::time::rfc3339;

pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Starting => "its session is being started",
        Reason::Running => "its program runs",
        Reason::InTurn => "it is in a turn",
        Reason::BackgroundTasks => "its background tasks are still running",
        Reason::Idle => "it is idle",
        Reason::NeedsPermission => "it asks for a permission",
        Reason::NeedsAnswer => "it asked a question",
        Reason::RateLimited => "its vendor's rate limit holds it",
        Reason::ServiceFailed => "its vendor's service failed, and the turn was given up",
        Reason::FirstRunDialog => {
            "it has shown nothing for 20 s; it may be showing a first-run dialog: attach to see"
        }
        Reason::SilentAtStart => "it has shown nothing for 90 s; attach to see why",
        Reason::LimitReached => "it gave up its turn at the vendor's limit",
        Reason::StoppedInTurn => "it was stopped in the middle of a turn and waits for your word",
        Reason::DaemonStarted => "nothing has confirmed yet what it does",
        Reason::HolderUnreachable => "its holder does not answer",
        Reason::LeadSilent => "its lead has not reported it",
        Reason::Silent => "nothing was heard from it in a turn for too long; it is started again",
        Reason::RecordUnreadable => "a record of it can't be read; nothing is done for it",
        Reason::HomeCopied => {
            "this home is a copy: its session may still run in the original; wake starts another one here"
        }
        Reason::HandoffAsked => "it was asked to hand off",
        Reason::Retrying => "its session ended and should not have; a retry follows",
        Reason::BreakerOpen => "it was restarted too often; one more try follows later",
        Reason::Finished => "its session ended as it should",
        Reason::Stopped => "it was stopped",
        Reason::CrashedRestartOff => "its session ended and should not have; restarting is off",
        Reason::MachineRestarted => "the machine restarted",
        Reason::LeadEnded => "its lead's session ended",
        Reason::Unlisted => "its lead no longer lists it",
        Reason::TaskDone => "its task is done and its queue is empty",
        Reason::FrozenByOrder => "it was frozen on purpose",
        Reason::Completed => "its work is complete",
        Reason::Reaped => "it was reaped",
        Reason::Retired => "it was buried",
        Reason::GaveUp => "its role's limit of restarts was reached",
        Reason::NeverNamed => "it never got a name",
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

pub fn fact(evidence: &Evidence) -> String {
    let by = match evidence.witness {
        Witness::Agent(id) | Witness::Lead(id) => format!(" by {id}"),
        Witness::Operator => " by a person".to_owned(),
        Witness::Kernel | Witness::Holder | Witness::Harness | Witness::Daemon => String::new(),
    };
    match &evidence.fact {
        Finding::Asked(verb) => format!("{} was requested{by}", verb.word()),
        Finding::Executed(process) => format!("its program was executed as pid {}", process.pid),
        // Without the system's own words for those who may not see them.
        Finding::NotStarted(why) if why.is_empty() => "its program could not be started".to_owned(),
        Finding::NotStarted(why) => format!("its program could not be started: {why}"),
        Finding::Exited(end) => format!("its process ended: {}", exit(*end)),
        Finding::Shown(show) => shown(*show).to_owned(),
        Finding::TimeCame => "the time for it had come".to_owned(),
        Finding::BootChanged => "the machine has another boot id than before".to_owned(),
        Finding::HomeCopied => "this home is a copy of another one".to_owned(),
        Finding::Unreadable(why) if why.is_empty() => "a record can't be read".to_owned(),
        Finding::Unreadable(why) => format!("a record can't be read: {why}"),
    }
}

fn shown(show: Show) -> &'static str {
    match show {
        Show::SessionBegan => "its harness said that the session began",
        Show::TurnBegan => "its harness said that a turn began",
        Show::TurnEnded => "its harness said that the turn ended",
        Show::PermissionDialog => "its harness shows a permission dialog",
        Show::Question => "its harness shows a question",
        Show::RateLimit => "its harness met the vendor's rate limit",
        Show::ServiceError => "its harness met an error of the vendor's service",
        Show::BackgroundWork => "its harness said that background tasks are still running",
        Show::LimitReached => "its harness gave up at the vendor's limit",
        Show::NothingAtFirst => "its harness is running and has shown nothing so far",
        Show::NothingInTurn => "no byte, no file and no child at work in a turn",
    }
}

pub fn exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::KillSignal(signal) => match signal_name(signal) {
            Some(name) => format!("kill signal {signal} ({name})"),
            None => format!("kill signal {signal}"),
        },
        Exit::Unknown(UnknownExit::HolderDied) => "unknown, since its holder was killed".into(),
        Exit::Unknown(UnknownExit::MachineRestarted) => {
            "unknown, since the machine restarted".into()
        }
        Exit::Unknown(UnknownExit::NotStarted) => "it never ran".into(),
        Exit::Unknown(UnknownExit::HomeCopied) => "unknown, since the home was copied".into(),
    }
}

pub fn unknown_exit(why: UnknownExit) -> &'static str {
    match why {
        UnknownExit::HolderDied => "holder-died",
        UnknownExit::MachineRestarted => "machine-restarted",
        UnknownExit::NotStarted => "not-started",
        UnknownExit::HomeCopied => "home-copied",
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        _ => return None,
    })
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

pub fn host(host: Host) -> &'static str {
    match host {
        Host::Shim => "shim",
    }
}

/// An event as one sentence.
pub fn sentence(what: &What) -> String {
    match what {
        What::Agent(_, event) => agent_sentence(event),
        What::Message(_, event) => message_sentence(event),
        What::Post(id, event) => format!("{}: {id}", post_sentence(event)),
        What::Job(_, event) => job_sentence(event),
        What::Name(name, ClaimEvent::Taken { .. }) => format!("the name {name} is taken"),
        What::Name(name, ClaimEvent::Left { .. }) => format!("the name {name} is free"),
        What::Conversation(id, ClaimEvent::Taken { .. }) => format!("conversation {id} is taken"),
        What::Conversation(id, ClaimEvent::Left { .. }) => format!("conversation {id} is free"),
        What::Node(_, NodeEvent::DaemonStarted { epoch, version, .. }) => {
            format!("daemon {version} started (epoch {})", epoch.0)
        }
        What::Node(_, NodeEvent::DaemonStopped { epoch }) => {
            format!("daemon stopped in order (epoch {})", epoch.0)
        }
        What::Node(_, NodeEvent::JournalRestored { since }) => {
            format!("the journal can be written again; it could not be since {}", rfc3339(*since))
        }
    }
}

fn message_sentence(event: &MessageEvent) -> String {
    match event {
        MessageEvent::Recorded { content, .. } => match content {
            // Without its words for those who may not read them.
            Content::Typed { text, .. } if text.head.is_empty() => "text recorded".to_owned(),
            Content::Typed { text, .. } => format!("text recorded: {}", text.head),
            Content::Notice { threshold, .. } => {
                format!("notice recorded: clock at {} %", threshold.percent())
            }
            Content::Reminder { calls, .. } => {
                format!("reminder recorded after {calls} tool calls")
            }
        },
        MessageEvent::Offered { session, attempt, .. } => {
            format!("offered to session {session} (attempt {attempt})")
        }
        MessageEvent::Entered { .. } => "typed, Enter pressed".to_owned(),
        MessageEvent::Held { why, .. } => format!("waiting: {}", held(*why)),
        MessageEvent::Heard { .. } => "accepted by the agent CLI".to_owned(),
        MessageEvent::Seen { session } => format!("seen by session {session}"),
        MessageEvent::Withdrawn { by: Withdrawer::Person } => "withdrawn by a person".to_owned(),
        MessageEvent::Withdrawn { by: Withdrawer::Outdated } => "withdrawn: out of date".to_owned(),
        MessageEvent::Returned => "returned: its agent was buried".to_owned(),
    }
}

fn post_sentence(event: &PostEvent) -> String {
    match event {
        PostEvent::Written { by, title, text } => {
            let by = match by {
                Author::Person => "a person".to_owned(),
                Author::Agent { name: Some(name), .. } => name.to_string(),
                Author::Agent { id, name: None } => id.to_string(),
            };
            format!("{by} posted \"{}\"", title.as_ref().unwrap_or(&text.head))
        }
    }
}

/// Why an attempt to deliver a text came to nothing.
pub fn held(why: Held) -> &'static str {
    match why {
        Held::Draft => {
            "somebody may have text in the input line; send it, or clear it with Ctrl-C, in \
             `perennial attach`"
        }
        Held::Doubt => {
            "its input line is not empty, or a menu is open in its terminal; clear it with Ctrl-C, or \
             close the menu with Esc, in `perennial attach`"
        }
        Held::Dialog => "a dialog is open",
        Held::Suspended => "the program is suspended",
        Held::NotDrawn => "its input line is not drawn yet",
        Held::NoEcho => "the text did not appear in its input line; Enter was not pressed",
        Held::Leftover => "an earlier text is left in its input line",
        Held::Busy => "another text is being typed",
        Held::Full => "its terminal takes no input",
        Held::OldHolder => "its holder is of an older version",
        Held::Damaged => "its text can't be read from the journal; take it back and send it again",
        Held::Unfit => "its agent CLI no longer takes such a text; take it back",
        Held::LongLine => {
            "a line is longer than the 4,095 bytes that its terminal takes; take it back"
        }
        Held::SessionEnded => "the session ended before it was seen",
        Held::NotTaken => "the conversation went on without it",
    }
}

/// Why a text goes nowhere.
pub const UNREADABLE: &str = "a record of it can't be read, so it may have been delivered already; \
    it will not be delivered. perennial unsend takes it back";

/// What is said of a row of the list of messages that says nothing.
pub const UNREADABLE_ROW: &str = "a row of the list of messages can't be read; perennial events shows \
    what was recorded";

/// Why a text goes nowhere that only the list of messages has.
pub const LOST: &str = "its records can't be read; it will not be delivered";

/// What is known of a text that was given to a session and not seen before its agent was buried.
pub const MAY_BE_READ: &str = "it was given to a session; the agent may have read it";

/// Why no more will be known of a text to a bare command.
pub const WRITTEN: &str = "typed into its terminal; a bare command can't show that it read it";

pub fn sender(from: Sender) -> &'static str {
    match from {
        Sender::Person => "person",
        Sender::Perennial => "perennial",
    }
}

/// What a message waits for, to an agent that is in its state for this reason.
pub fn waits(why: Why, agent: Reason) -> &'static str {
    match why {
        Why::Dialog if agent.is_before_first_sign() => {
            "the agent has shown nothing yet, and may be showing a dialog; see perennial attach"
        }
        Why::Unreadable => UNREADABLE,
        Why::NoSession => "the agent has no running session",
        Why::Starting => "the session is starting",
        Why::Dialog => "a dialog is open; answer it in perennial attach",
        Why::TurnRuns => "the turn has not ended",
        Why::AgentHeld => "the agent is held",
        Why::Earlier => "an earlier text goes first",
        Why::Hook => "the agent's next tool call or prompt",
        Why::After(why) => held(why),
        Why::Unheard => "typed, Enter pressed; the agent CLI has not accepted it yet",
        Why::Unseen => "typed and accepted; not in the conversation yet",
        Why::Due => "about to be typed",
    }
}

/// What happens next, as a sentence; at this time, if it has one: "in 4m" may follow the sentence.
pub fn outlook(outlook: Outlook) -> (&'static str, Option<Time>) {
    match outlook {
        Outlook::Held(HeldFor::Damage) => {
            ("a record of it can't be read, so nothing starts it but you", None)
        }
        Outlook::Held(HeldFor::Verdict) => ("nothing starts it until a verdict is given", None),
        Outlook::Held(HeldFor::Person) => ("nothing starts it until a person wakes it", None),
        Outlook::InLine => ("its program starts when those before it have started", None),
        Outlook::AfterLastSession => ("its program starts when its last session has ended", None),
        Outlook::Start { crash_at: None } => ("its program starts", None),
        Outlook::Start { crash_at } => {
            ("its program starts; if it does not, that counts as a crash", crash_at)
        }
        Outlook::FirstSign { needs_person_at } => (
            "its program runs; if it still shows nothing, it is marked as needing you",
            needs_person_at,
        ),
        Outlook::Person => ("it is left as it is until it shows something or ends", None),
        Outlook::Exit(Restart::Never) => ("when its program ends, it sleeps", None),
        Outlook::Exit(Restart::OnCrash) => {
            ("when its program ends as it should, it sleeps; otherwise it is restarted", None)
        }
        Outlook::Exit(Restart::Always) => ("when its program ends, the next session starts", None),
        Outlook::Text => ("it goes on with the next text", None),
        Outlook::Answer => ("it goes on when it is answered in its terminal", None),
        Outlook::Vendor { at } => ("it goes on when its vendor's limit ends", at),
        Outlook::TurnGivenUp { vendor_ready_at: None } => {
            ("it does not go on by itself: send it a text", None)
        }
        Outlook::TurnGivenUp { vendor_ready_at } => (
            "it does not go on by itself: send it a text when its vendor's limit ends",
            vendor_ready_at,
        ),
        Outlook::Confirmation => ("its state is known again when its holder answers", None),
        Outlook::Hangs => ("its session is ended, and the next one starts", None),
        Outlook::Successor { at } => ("its successor starts, at the latest", at),
        Outlook::Retry { at } => ("it is tried again", at),
        Outlook::Wake => ("it sleeps until it is woken", None),
        Outlook::Approval => ("only a person's approval wakes it", None),
        Outlook::Final => ("this is final; its record is kept", None),
    }
}

fn job_sentence(event: &JobEvent) -> String {
    match event {
        JobEvent::Wanted { purpose: Purpose::Notify { name, reason: why, .. }, .. } => {
            format!("notifying you: {name}: {}", reason(*why))
        }
        JobEvent::Running { process, .. } => format!("running as process {}", process.pid),
        JobEvent::Ended { end, .. } => match end {
            JobEnd::Code(0) => "finished (exit 0)".to_owned(),
            JobEnd::Code(code) => format!("failed (exit {code})"),
            JobEnd::KillSignal(signal) => format!("killed by signal {signal}"),
            JobEnd::Limit => "took too long and was ended".to_owned(),
            JobEnd::NotStarted => "could not be started".to_owned(),
            JobEnd::Unknown => "ended; nobody saw how".to_owned(),
            JobEnd::Outdated => "not run: the agent no longer needs you for that".to_owned(),
        },
    }
}

fn agent_sentence(event: &AgentEvent) -> String {
    match event {
        // Without its command line for those who may not see it.
        AgentEvent::Hatched(birth) if birth.launch.argv.is_empty() => "born".to_owned(),
        AgentEvent::Hatched(birth) => format!("born to run {}", quoted(&birth.launch.argv)),
        AgentEvent::Moved(moved) => move_sentence(moved),
        AgentEvent::Rehomed { node } => format!("its sessions run on {node} from now on"),
        AgentEvent::Held(hold) => {
            format!("{} ({})", held_for(hold.held_for), fact(&hold.evidence))
        }
        AgentEvent::HoldLifted { evidence } => format!("hold lifted ({})", fact(evidence)),
        AgentEvent::SessionWanted { number, opening } => match opening {
            Opening::Bare => format!("session {number} is wanted"),
            Opening::Fresh(id) => {
                format!("session {number} is wanted, with a new conversation {id}")
            }
            Opening::Resume { conversation, turn: Turn::Open } => {
                format!("session {number} is wanted, to go on with the turn in {conversation}")
            }
            Opening::Resume { conversation, turn: Turn::Over | Turn::Stopped } => {
                format!("session {number} is wanted, to take up {conversation}")
            }
        },
        AgentEvent::SessionStarting { number, .. } => {
            format!("session {number} is ordered to start")
        }
        AgentEvent::SessionRunning { number, process } => {
            format!("session {number} runs as pid {}", process.pid)
        }
        AgentEvent::SessionEnding { number, pace: Pace::Graceful } => {
            format!("session {number} was asked to end")
        }
        AgentEvent::SessionEnding { number, pace: Pace::AtOnce } => {
            format!("session {number} is killed")
        }
        AgentEvent::SessionEnded { number, exit: end, .. } => {
            format!("session {number} ended: {}", exit(*end))
        }
        AgentEvent::SessionProgressed { number } => format!("session {number} got something done"),
        AgentEvent::ConversationFollowed { conversation, how, .. } => {
            format!("its conversation is {conversation} ({})", how.word())
        }
        AgentEvent::WindowBegan { .. } => "a new context window began".to_owned(),
        AgentEvent::ClockPassed { threshold, sample, .. } => format!(
            "its context passed {} % of the usable window: {} of {} tokens",
            threshold.percent(),
            sample.tokens,
            sample.usable
        ),
        AgentEvent::ClockTold { threshold, .. } => {
            format!("it was told that {} % have passed", threshold.percent())
        }
        AgentEvent::PhaseReported { phase } => format!("it says its work is in {}", phase.word()),
        AgentEvent::Renamed { name } => format!("renamed to {name}"),
        AgentEvent::Summarised { summary } => format!("summary: {summary}"),
        AgentEvent::PutOff { until: Some(until), .. } => {
            format!("its time was put off until {}", rfc3339(*until))
        }
        AgentEvent::PutOff { until: None, unseen } => {
            format!("the machine was suspended for {} s", unseen.as_secs())
        }
    }
}

pub fn held_for(held_for: HeldFor) -> &'static str {
    match held_for {
        HeldFor::Verdict => "held until a verdict is given",
        HeldFor::Person => "held by a person",
        HeldFor::Damage => "held because a record of it can't be read",
    }
}

fn move_sentence(moved: &Move) -> String {
    let until = match (moved.cause, moved.until) {
        (Cause::EndedCrashed | Cause::StartLimit, Some(until)) => {
            match until.since(moved.evidence.at).as_millis() {
                0 => "; next try at once".to_owned(),
                wait if wait < 60_000 => {
                    format!("; next try in {}.{} s", wait / 1000, wait / 100 % 10)
                }
                wait => format!("; next try in {} min", wait / 60_000),
            }
        }
        _ => String::new(),
    };
    let evidence = fact(&moved.evidence);
    format!("{}: {} ({evidence}){until}", moved.to.word(), reason(moved.reason))
}

#[cfg(test)]
mod tests {
    use perennial_core::agent::{DIALOG_AFTER, START_LIMIT};

    use super::*;

    #[test]
    fn silence_is_told_with_the_limits_that_hold() {
        for (silent, limit) in
            [(Reason::FirstRunDialog, DIALOG_AFTER), (Reason::SilentAtStart, START_LIMIT)]
        {
            let told = reason(silent);
            assert!(told.contains(&format!("nothing for {} s", limit.as_secs())), "{told}");
        }
    }
}
