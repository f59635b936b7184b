//! Events and agents as people read them, in traces and in the scripts' output.

use perennial_core::agent::Agent;
use perennial_core::checkpoint::CheckpointEvent;
use perennial_core::conversation::{Opening, Turn};
use perennial_core::event::{AgentEvent, ClaimEvent, Event, NodeEvent, What};
use perennial_core::session::Phase;
use perennial_core::snapshot::SnapshotEvent;
use perennial_core::time::Time;
use perennial_core::work::WorkEvent;

use crate::program::ExitWords;
use crate::span;

/// One event in one line.
pub fn event(event: &Event) -> String {
    match &event.what {
        What::Node(_, NodeEvent::DaemonStarted { epoch, boot, .. }) => {
            format!("daemon started, epoch {} on {}", epoch.0, boot.0)
        }
        What::Node(_, NodeEvent::DaemonStopped { epoch }) => {
            format!("daemon stopped, epoch {}", epoch.0)
        }
        What::Node(_, NodeEvent::RecordsLost { known, found }) => {
            format!("the journal reached {known}, and ends at {found}")
        }
        What::Node(_, NodeEvent::RecordingsPruned { agent, sessions, .. }) => {
            format!("recordings of {} sessions of [{}] pruned", sessions.len(), agent.0)
        }
        What::Node(_, NodeEvent::AgentCleaned { agent, conversations, .. }) => {
            format!("[{}] cleaned, with {} conversations", agent.0, conversations.len())
        }
        What::Node(_, NodeEvent::JournalRestored { since }) => {
            format!("the journal took nothing for {}", span::print(event.at.since(*since)))
        }
        What::Agent(id, what) => format!("[{}] {}", id.0, agent_event(what, event.at)),
        What::Message(id, what) => format!("{id} {what:?}"),
        What::Post(id, what) => format!("{id} {what:?}"),
        What::Job(id, what) => format!("{id} {what:?}"),
        What::Role(key, what) => format!("role {key} {what:?}"),
        What::Signal(id, what) => format!("{id} {what:?}"),
        What::Escalation(id, what) => format!("{id} {what:?}"),
        What::Task(id, what) => format!("{id} {what:?}"),
        What::Name(key, claim) => format!("name {key} {}", claim_event(claim)),
        What::Conversation(id, claim) => format!("conversation {id} {}", claim_event(claim)),
    }
}

fn claim_event(event: &ClaimEvent) -> String {
    match event {
        ClaimEvent::Taken { by } => format!("taken by [{}]", by.0),
        ClaimEvent::Left { by } => format!("left by [{}]", by.0),
    }
}

pub fn is_daemon_started(event: &Event) -> bool {
    matches!(event.what, What::Node(_, NodeEvent::DaemonStarted { .. }))
}

pub fn is_daemon_stopped(event: &Event) -> bool {
    matches!(event.what, What::Node(_, NodeEvent::DaemonStopped { .. }))
}

fn turn_words(turn: Turn) -> &'static str {
    match turn {
        Turn::Over => "idle",
        Turn::Open => "in the middle of a turn",
        Turn::Stopped => "stopped in a turn",
    }
}

fn opened(opening: &Opening) -> String {
    match opening {
        Opening::Bare => String::new(),
        Opening::Fresh(conversation) => format!(", anew as {conversation}"),
        Opening::Anew { conversation, turn, why } => {
            format!(", to go on {} as {conversation}, {}", turn_words(*turn), why.word())
        }
        Opening::Resume { conversation, turn } => {
            format!(", to resume {conversation} {}", turn_words(*turn))
        }
    }
}

pub fn agent_event(event: &AgentEvent, at: Time) -> String {
    match event {
        AgentEvent::Hatched(birth) => {
            let name = birth.name.as_ref().map_or("(nameless)", |name| name.as_str());
            format!("hatched as {name}, restart {:?}", birth.restart)
        }
        AgentEvent::Rehomed { node } => format!("rehomed to {node}"),
        AgentEvent::Moved(moved) => {
            let until = moved.until.map_or_else(String::new, |until| {
                format!(", for {}", span::print(until.since(at)))
            });
            let (to, reason) = (moved.to.word(), moved.reason.word());
            format!("{to} ({reason}) by {}{until}", moved.cause.word())
        }
        AgentEvent::Held(hold) => format!("held for {}", hold.held_for.word()),
        AgentEvent::HoldLifted { .. } => "hold lifted".into(),
        AgentEvent::SessionWanted { number, opening } => {
            format!("session {number} wanted{}", opened(opening))
        }
        AgentEvent::SessionStarting { number, .. } => format!("session {number} starting"),
        AgentEvent::SessionRunning { number, .. } => format!("session {number} running"),
        AgentEvent::SessionEnding { number, pace } => format!("session {number} ending, {pace:?}"),
        AgentEvent::SessionEnded { number, exit, .. } => {
            format!("session {number} ended, {}", ExitWords(*exit))
        }
        AgentEvent::SessionFound { number, .. } => format!("session {number} found"),
        AgentEvent::SessionProgressed { number } => format!("session {number} progressed"),
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            format!("session {number} is in {conversation}, {}", how.word())
        }
        AgentEvent::WindowBegan { number } => format!("session {number} has a new window"),
        AgentEvent::ClockPassed { number, threshold, .. } => {
            format!("session {number} passed {} %", threshold.percent())
        }
        AgentEvent::ClockTold { number, threshold } => {
            format!("session {number} was told of {} %", threshold.percent())
        }
        AgentEvent::PhaseReported { phase } => format!("reports {}", phase.word()),
        AgentEvent::Work(event) => match &**event {
            WorkEvent::PhaseFound { phase, indicator, .. } => {
                format!("is in {} ({})", phase.word(), indicator.word())
            }
        },
        AgentEvent::Renamed { name } => format!("renamed {name}"),
        AgentEvent::RoleTaken { role, .. } => format!("takes the role {role}"),
        AgentEvent::RoleLeft { .. } => "leaves its role".to_owned(),
        AgentEvent::SettingsChanged { settings, .. } => format!("set {settings:?}"),
        AgentEvent::LegacyLeft { kind, .. } => format!("leaves a {}", kind.word()),
        AgentEvent::Snapshot(event) => snapshot(event).to_owned(),
        AgentEvent::Handoff(event) => format!("handoff: {event:?}"),
        AgentEvent::Checkpoint(event) => match &**event {
            CheckpointEvent::Taken(taken) => {
                format!("has checkpoint {} taken: {}", taken.number, taken.why.word())
            }
        },
        AgentEvent::RoundPassed { round } => format!("passed round {round}"),
        AgentEvent::BurialAsked { .. } => "asks to be buried".to_owned(),
        AgentEvent::Rest(event) => format!("{event:?}"),
        AgentEvent::Summarised { summary } => format!("summary: {summary}"),
        AgentEvent::PutOff { until, unseen } => match until {
            Some(until) => format!("put off for {}", span::print(until.since(at))),
            None => format!("did not live for {}", span::print(*unseen)),
        },
    }
}

/// One agent in one line.
pub fn agent(agent: &Agent, now: Time) -> String {
    let name = agent.name.as_ref().map_or("(nameless)", |name| name.as_str());
    let session = agent.session.as_ref().map_or_else(String::new, |session| {
        let phase = match session.phase {
            Phase::Wanted => "wanted".to_owned(),
            Phase::Starting => "starting".to_owned(),
            Phase::Running => "running".to_owned(),
            Phase::Ending(pace) => format!("ending {pace:?}"),
            Phase::Ended => "ended".to_owned(),
        };
        let exit = session.exit.map_or_else(String::new, |exit| format!(" ({})", ExitWords(exit)));
        format!("  session {} {phase}{exit}", session.number)
    });
    let until = agent.until.map_or_else(String::new, |until| {
        if until < now {
            "  overdue".into()
        } else {
            format!("  {} left", span::print(until.since(now)))
        }
    });
    let (state, reason) = (agent.state.word(), agent.reason.word());
    format!("{name:<8} {state:<10} {reason:<20}{session}{until}")
}

fn snapshot(event: &SnapshotEvent) -> &'static str {
    match event {
        SnapshotEvent::Wanted(_) => "wants a snapshot",
        SnapshotEvent::Taken(_) => "has a snapshot taken",
        SnapshotEvent::Unchanged { .. } => "needs no snapshot",
        SnapshotEvent::Missed(_) => "misses a snapshot",
        SnapshotEvent::Dropped { .. } => "has snapshots dropped",
        SnapshotEvent::Removed { .. } => "has snapshots removed",
        SnapshotEvent::RestoreBegun(_) => "has a snapshot restored",
        SnapshotEvent::RestoreEnded(_) => "has had a snapshot restored",
    }
}
