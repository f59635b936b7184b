//! One event as one sentence: the lines of `why` and `events`.
//!
//! Names only the agents that the event itself names.

use std::time::Duration;

use super::handoff;
use perennial_core::checkpoint::{CheckpointCause, CheckpointEvent};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::escalation::{EscalationCause, EscalationEnd, EscalationEvent};
use perennial_core::event::{AgentEvent, ClaimEvent, Move, NodeEvent, What};
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::job::{JobEnd, JobEvent, Purpose};
use perennial_core::message::{Content, MessageEvent, Sender, Withdrawer};
use perennial_core::name::Name;
use perennial_core::post::{Author, PostEvent};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::rest::RestEvent;
use perennial_core::role::RoleEvent;
use perennial_core::session::Pace;
use perennial_core::settings::{NewParent, Settings, VariableChange};
use perennial_core::signal::SignalEvent;
use perennial_core::situation::Situation;
use perennial_core::state::Cause;
use perennial_core::succession::Afresh;
use perennial_core::time::Time;
use perennial_core::work::WorkEvent;

use crate::daemon::showing::task;

use super::work::indicated;
use super::{exit, fact, held, held_for, reason, snapshots, with_end, witness};
use crate::command_line::quoted;
use crate::daemon::time::rfc3339;
use crate::kill_signal;
use crate::span;

/// An event as one sentence.
pub fn sentence(what: &What) -> String {
    match what {
        What::Agent(_, event) => agent_sentence(event),
        What::Message(_, event) => message_sentence(event),
        What::Post(id, event) => format!("{}: {id}", post_sentence(event)),
        What::Job(_, event) => job_sentence(event),
        What::Role(role, RoleEvent::Taken { by, .. }) => format!("role {role} taken by {by}"),
        What::Role(role, RoleEvent::Left { by }) => format!("role {role} left by {by}"),
        What::Role(role, RoleEvent::Dismissed) => {
            format!("vacancy of the role {role} dismissed by the operator")
        }
        What::Role(_, RoleEvent::Vacated(vacancy)) => {
            format!("role {} is vacant", vacancy.role)
        }
        What::Signal(id, SignalEvent::Sent { kind, by, by_name, to, to_name, .. }) => {
            let by = who(*by, by_name.as_ref());
            let to = to_name.as_ref().map_or_else(|| to.to_string(), ToString::to_string);
            format!("{by} sent the signal {} to {to}: {id}", kind.word())
        }
        What::Escalation(id, event) => format!("{}: {id}", escalation_sentence(event)),
        What::Task(id, event) => task::sentence(*id, event),
        What::Name(name, ClaimEvent::Taken { .. }) => format!("name {name} taken"),
        What::Name(name, ClaimEvent::Left { .. }) => format!("name {name} released"),
        What::Conversation(id, ClaimEvent::Taken { .. }) => format!("conversation {id} taken"),
        What::Conversation(id, ClaimEvent::Left { .. }) => format!("conversation {id} released"),
        What::Node(_, NodeEvent::DaemonStarted { epoch, version, .. }) => {
            format!("daemon {version} started (epoch {})", epoch.0)
        }
        What::Node(_, NodeEvent::DaemonStopped { epoch }) => {
            format!("daemon shut down cleanly (epoch {})", epoch.0)
        }
        What::Node(_, NodeEvent::JournalRestored { since }) => {
            format!("journal writable again, after failing since {}", rfc3339(*since))
        }
        What::Node(_, NodeEvent::RecordsLost { known, found }) => records_lost(*known, *found),
        What::Node(_, NodeEvent::RecordingsPruned { agent, sessions, bytes, by }) => {
            let what = match sessions.as_slice() {
                [one] => format!("recording of session {one} of {agent}"),
                many => format!("recordings of {} sessions of {agent}", many.len()),
            };
            let by = if *by == Witness::Operator { "operator" } else { witness(*by) };
            format!("{what} removed by the {by} ({bytes} bytes)")
        }
        What::Node(_, NodeEvent::AgentCleaned { agent, conversations, bytes, by, .. }) => {
            let by = if *by == Witness::Operator { "operator" } else { witness(*by) };
            let copies = match conversations.len() {
                0 => "no copy of a conversation removed".to_owned(),
                1 => format!("1 copy of a conversation removed ({bytes} bytes)"),
                many => format!("{many} copies of conversations removed ({bytes} bytes)"),
            };
            format!("{agent} cleaned by the {by}: {copies}")
        }
    }
}

/// How much of the journal is gone.
pub fn records_lost(known: u64, found: u64) -> String {
    match known.checked_sub(found) {
        Some(1) => format!("record {known} is missing from the journal"),
        Some(2..) => format!("records {} to {known} are missing from the journal", found + 1),
        Some(0) | None => {
            format!("record {known} of the journal is not the one that was written")
        }
    }
}

fn message_sentence(event: &MessageEvent) -> String {
    match event {
        MessageEvent::Recorded { content, .. } => match content {
            // Without its words for callers who may not read them.
            Content::Typed { text, .. } if text.head.is_empty() => "text recorded".to_owned(),
            Content::Typed { text, .. } => format!("text recorded: {}", text.head),
            Content::Notice { threshold, .. } => {
                format!("notice recorded: context at {} %", threshold.percent())
            }
            Content::Reminder { calls, .. } => {
                format!("reminder recorded after {calls} tool calls")
            }
            Content::Mail(mail) if mail.subject.is_empty() => "mail recorded".to_owned(),
            Content::Mail(mail) => format!("mail recorded: {}", mail.subject),
            Content::Handoff { number } => format!("request to hand session {number} off recorded"),
            Content::Round { role, number } => {
                format!("round {number} of the role {role} is due")
            }
        },
        MessageEvent::Offered { session, attempt, .. } => {
            format!("text offered to session {session} (attempt {attempt})")
        }
        MessageEvent::Entered { .. } => "text typed, Enter pressed".to_owned(),
        MessageEvent::Held { why, .. } => format!("text waiting: {}", held(*why)),
        MessageEvent::Blocked { words, .. } if words.is_empty() => {
            "text blocked by a hook of the user's".to_owned()
        }
        MessageEvent::Blocked { words, .. } => {
            format!("text blocked by a hook of the user's: {words}")
        }
        MessageEvent::Heard { .. } => "text accepted by the agent CLI".to_owned(),
        MessageEvent::Seen { session } => format!("text seen by session {session}"),
        MessageEvent::Withdrawn { by: Withdrawer::Person } => {
            "text withdrawn by the operator".to_owned()
        }
        MessageEvent::Withdrawn { by: Withdrawer::Outdated } => {
            "text withdrawn: no longer current".to_owned()
        }
        MessageEvent::Returned => "text returned: its agent was buried".to_owned(),
        MessageEvent::Forwarded { to } => format!("mail forwarded to {to}"),
        MessageEvent::Read { session: Some(session) } => format!("mail read by session {session}"),
        MessageEvent::Read { session: None } => "mail read".to_owned(),
    }
}

fn who(by: Sender, name: Option<&Name>) -> String {
    match (by, name) {
        (Sender::Person, _) => "the operator".to_owned(),
        (Sender::Perennial, _) => "Perennial".to_owned(),
        (Sender::Agent(_), Some(name)) => name.to_string(),
        (Sender::Agent(id), None) => id.to_string(),
    }
}

fn escalation_sentence(event: &EscalationEvent) -> String {
    match event {
        EscalationEvent::Opened { matter, step, .. } => {
            let (by, to) = (who(matter.by, matter.by_name.as_ref()), step.mailbox());
            let subject = match matter.subject.is_empty() {
                true => String::new(),
                false => format!(" \"{}\"", matter.subject),
            };
            let severity = matter.severity.word();
            match matter.cause {
                EscalationCause::Asked => format!("{by} escalated{subject} to {to} ({severity})"),
                cause => {
                    format!("escalated{subject} for {by} to {to} ({severity}, {})", cause.word())
                }
            }
        }
        EscalationEvent::Raised { step, .. } => {
            format!("escalation raised to {}, since nobody had seen it", step.mailbox())
        }
        EscalationEvent::Ended { how: EscalationEnd::Seen } => "escalation seen".to_owned(),
        EscalationEvent::Ended { how: EscalationEnd::Withdrawn } => {
            "escalation withdrawn by the operator".to_owned()
        }
    }
}

fn post_sentence(event: &PostEvent) -> String {
    match event {
        PostEvent::Written { by, title, text } => {
            let by = match by {
                Author::Person => "the operator".to_owned(),
                Author::Agent { name: Some(name), .. } => name.to_string(),
                Author::Agent { id, name: None } => id.to_string(),
            };
            format!("{by} posted \"{}\"", title.as_ref().unwrap_or(&text.head))
        }
        PostEvent::VacancyAnnounced(vacancy) => {
            format!("Perennial announced that the role {} is vacant", vacancy.role)
        }
    }
}

fn job_sentence(event: &JobEvent) -> String {
    match event {
        JobEvent::Wanted { purpose: Purpose::Notify { name, reason: why, .. }, .. } => {
            format!("notification requested: {name}: {}", reason(*why))
        }
        JobEvent::Wanted { purpose: Purpose::Mail { name, .. }, .. } => {
            format!("notification requested: mail from {name}")
        }
        JobEvent::Wanted { purpose: Purpose::Check { task, check, .. }, .. } => match check {
            Some(check) => format!("check {check} of {task} requested"),
            None => format!("check of {task} requested"),
        },
        JobEvent::Running { process, .. } => {
            format!("job running as pid {}", process.pid)
        }
        JobEvent::Ended { end, .. } => match end {
            JobEnd::Code(0) => "job finished (exit 0)".to_owned(),
            JobEnd::Code(code) => format!("job failed (exit {code})"),
            JobEnd::KillSignal(signal) => {
                format!("job killed by {}", kill_signal::name(*signal))
            }
            JobEnd::Limit => "job ended at its time limit".to_owned(),
            JobEnd::NotStarted => "job could not be started".to_owned(),
            JobEnd::Unknown => "job ended; its exit is unknown".to_owned(),
            JobEnd::Outdated => "notification dropped: the agent no longer needs you".to_owned(),
        },
    }
}

fn agent_sentence(event: &AgentEvent) -> String {
    match event {
        // Without its command line for callers who may not see it.
        AgentEvent::Hatched(birth) if birth.launch.argv.is_empty() => "hatched".to_owned(),
        AgentEvent::Hatched(birth) => format!("hatched to run {}", quoted(&birth.launch.argv)),
        AgentEvent::Moved(moved) => move_sentence(moved),
        AgentEvent::Held(hold) => {
            format!("{} ({})", held_for(hold.held_for), fact(&hold.evidence))
        }
        AgentEvent::HoldLifted { evidence } => format!("hold lifted ({})", fact(evidence)),
        AgentEvent::SessionWanted { number, opening } => wanted(*number, opening),
        AgentEvent::SessionStarting { number, .. } => format!("session {number} starting"),
        AgentEvent::SessionRunning { number, process } => {
            format!("session {number} running as pid {}", process.pid)
        }
        AgentEvent::SessionEnding { number, pace: Pace::Graceful } => {
            format!("session {number} asked to exit")
        }
        AgentEvent::SessionEnding { number, pace: Pace::AtOnce } => {
            format!("session {number} being killed")
        }
        AgentEvent::SessionEnded { number, exit: end, .. } => {
            format!("session {number} ended: {}", exit(*end))
        }
        AgentEvent::SessionFound { number, .. } => format!("session {number} found running"),
        AgentEvent::SessionProgressed { number } => format!("session {number} made progress"),
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            followed(*number, conversation, *how)
        }
        AgentEvent::WindowBegan { .. } => "new context window".to_owned(),
        AgentEvent::ClockPassed { threshold, sample, .. } => format!(
            "context passed {} % of the usable window: {} of {} tokens",
            threshold.percent(),
            sample.tokens,
            sample.usable
        ),
        AgentEvent::ClockTold { threshold, .. } => {
            format!("told that its context passed {} %", threshold.percent())
        }
        AgentEvent::PhaseReported { phase } => format!("reported its phase: {}", phase.word()),
        AgentEvent::Work(event) => match &**event {
            WorkEvent::PhaseFound { phase, indicator, .. } => {
                format!("its phase is {}: {}", phase.word(), indicated(*indicator))
            }
        },
        AgentEvent::Renamed { name } => format!("renamed to {name}"),
        AgentEvent::Rehomed { node } => format!("now runs on node {node}"),
        AgentEvent::RoleTaken { role, from, .. } => took_role(role, *from),
        AgentEvent::RoleLeft { to, .. } => left_role(*to),
        AgentEvent::SettingsChanged { settings, evidence } => settings_changed(settings, evidence),
        AgentEvent::LegacyLeft { kind, text } => {
            format!("left a legacy ({}): {}", kind.word(), text.head)
        }
        AgentEvent::RoundPassed { round } => {
            format!("round {round} of its role given or taken back")
        }
        AgentEvent::BurialAsked { .. } => "asked to be buried at the end of its turn".to_owned(),
        AgentEvent::Rest(event) => rest(event),
        AgentEvent::Summarised { summary } => format!("summary: {summary}"),
        AgentEvent::Snapshot(event) => snapshots::sentence(event),
        AgentEvent::Handoff(event) => handoff::sentence(event),
        AgentEvent::Checkpoint(event) => checkpoint(event),
        AgentEvent::PutOff { until, unseen } => put_off(*until, *unseen),
    }
}

fn wanted(number: SessionNumber, opening: &Opening) -> String {
    match opening {
        Opening::Bare => format!("session {number} requested"),
        Opening::Fresh(id) => {
            format!("session {number} requested, with new conversation {id}")
        }
        Opening::Anew { conversation, why, .. } => {
            let why = afresh(*why);
            format!("session {number} requested, with new conversation {conversation}: {why}")
        }
        Opening::Resume { conversation, turn: Turn::Open } => {
            format!("session {number} requested, to continue the turn in {conversation}")
        }
        Opening::Resume { conversation, turn: Turn::Over | Turn::Stopped } => {
            format!("session {number} requested, to resume {conversation}")
        }
    }
}

/// Without its summary, which is not for everybody.
fn checkpoint(event: &CheckpointEvent) -> String {
    let CheckpointEvent::Taken(taken) = event;
    let why = match taken.why {
        CheckpointCause::AskedByAgent => "by the agent",
        CheckpointCause::AskedByOperator => "by the operator",
        CheckpointCause::Phase => "at a change of phase",
        CheckpointCause::Commit => "at a commit",
        CheckpointCause::PlannedEnd => "before its session ends",
        CheckpointCause::Crash => "at a crash",
        CheckpointCause::Finished => "after its session ended",
        CheckpointCause::Handoff => "for a handoff",
        CheckpointCause::BeforeCompaction => "before its conversation is compacted",
    };
    let snapshot = match taken.snapshot {
        Some(number) => format!(", with snapshot {number}"),
        None => String::new(),
    };
    let phase = taken.phase.word();
    format!("checkpoint {} taken {why}: phase {phase}{snapshot}", taken.number)
}

fn rest(event: &RestEvent) -> String {
    match event {
        RestEvent::Earned { task, .. } => {
            format!("{task} verified: it rests when nothing else is left to do")
        }
        RestEvent::TakenBack => "somebody has more for it: it does not rest".to_owned(),
    }
}

/// Why a session after the first one starts a conversation is told where it was requested.
fn followed(number: SessionNumber, conversation: &ConversationId, how: Followed) -> String {
    if how == Followed::Started && number > SessionNumber::FIRST {
        return format!("conversation {conversation} begun anew: the last one was not resumed");
    }
    format!("conversation is now {conversation} ({})", how.word())
}

fn put_off(until: Option<Time>, unseen: Duration) -> String {
    let suspended = format!("the machine was suspended for {}", span::brief(unseen.as_secs()));
    match until {
        Some(until) if unseen.is_zero() => format!("time limit moved to {}", rfc3339(until)),
        Some(until) => format!("{suspended}; time limit moved to {}", rfc3339(until)),
        None => suspended,
    }
}

fn took_role(role: &str, from: Option<AgentId>) -> String {
    match from {
        Some(from) => format!("took over the role {role} from {from}"),
        None => format!("took the role {role}"),
    }
}

fn left_role(to: Option<AgentId>) -> String {
    match to {
        Some(to) => format!("handed its role over to {to}"),
        None => "dropped its role".to_owned(),
    }
}

/// The new state, its reason and the evidence, without saying the same thing twice.
fn move_sentence(moved: &Move) -> String {
    let seen = &moved.evidence.fact;
    let told = match with_end(moved.reason, seen) {
        Some(told) => told,
        None if says_the_same(moved.reason, seen) => fact(&moved.evidence),
        None if moved.cause == Cause::Retry && *seen == Finding::TimeCame => {
            format!("{} (the wait before the retry is over)", reason(moved.reason))
        }
        None if moved.cause == Cause::HandoffAsked && *seen == Finding::TimeCame => {
            format!("{} (by a rule of its role)", reason(moved.reason))
        }
        None => format!("{} ({})", reason(moved.reason), fact(&moved.evidence)),
    };
    let is_retried = matches!(moved.cause, Cause::EndedCrashed | Cause::StartLimit);
    let wait = moved.until.filter(|_| is_retried).map(|until| until.since(moved.evidence.at));
    let wait = wait.map(|wait| span::ahead(wait.as_secs()));
    let is_clean = *seen == Finding::Exited(Exit::Code(0));
    let then = match wait {
        Some(wait) if moved.reason == Reason::BreakerOpen => format!("; next try {wait}"),
        Some(wait) if is_clean => format!("; restarting {wait}"),
        Some(wait) => format!("; retrying {wait}"),
        None => String::new(),
    };
    // What is called a crash may be an exit that only came too early for a restart at once.
    match names_its_state(moved.reason) || (is_clean && moved.reason == Reason::Retrying) {
        true => format!("{told}{then}"),
        false => format!("{}: {told}{then}", moved.to.word()),
    }
}

/// Whether the words for a reason begin with those for its state.
fn names_its_state(reason: Reason) -> bool {
    matches!(reason, Reason::NeedsPermission | Reason::NeedsAnswer | Reason::BreakerOpen)
}

/// Whether the evidence is the reason, told by whom.
fn says_the_same(reason: Reason, seen: &Finding) -> bool {
    matches!(
        (reason, seen),
        (Reason::Stopped, Finding::Asked(Verb::Stop))
            | (Reason::Retired, Finding::Asked(Verb::Bury))
    )
}

/// Why a conversation is not resumed.
fn afresh(why: Afresh) -> &'static str {
    match why {
        Afresh::Asked => "a fresh start was asked for",
        Afresh::Handoff => "the work is handed over",
        Afresh::Churn => "its sessions got nothing done",
        Afresh::Thrash => "its window was full again right after each compaction",
    }
}

fn settings_changed(settings: &Settings<AgentId>, evidence: &Evidence) -> String {
    // What it was given at its birth is no change.
    match evidence.fact == Finding::Asked(Verb::Spawn) {
        true => format!("spawned with settings: {}", changed(settings)),
        false => format!("settings {}: {}", fact(evidence), changed(settings)),
    }
}

/// Which settings are other ones now; names of variables only where they are for the caller.
fn changed(settings: &Settings<AgentId>) -> String {
    let Settings { restart, place, variables, parent, situations } = settings;
    let mut parts = Vec::new();
    parts.extend(restart.map(|restart| format!("restart {}", super::restart(restart))));
    parts.extend(place.as_ref().map(|place| format!("directory {}", place.dir)));
    if let Some(VariableChange { set, unset, .. }) = variables {
        parts.extend(set.iter().map(|name| format!("{name} set")));
        parts.extend(unset.iter().map(|name| format!("{name} removed")));
    }
    parts.extend(parent.as_ref().map(|parent| match parent {
        NewParent::Nobody => "no parent".to_owned(),
        NewParent::Agent(id) => format!("parent {id}"),
    }));
    parts.extend(situations.as_ref().map(|all| match &all[..] {
        [] => "no situation".to_owned(),
        all => {
            let words: Vec<&str> = all.iter().map(Situation::as_str).collect();
            format!("works on {}", words.join(", "))
        }
    }));
    parts.join(", ")
}
