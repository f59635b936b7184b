//! The form of snapshots and what folding makes of a journal belong together: a snapshot that an
//! earlier fold made must not be read by a program that folds otherwise.
//!
//! `golden/folds.txt` has a line for each form: its number, and a digest of the state that a fixed
//! journal, with an event of every kind, folds to.

use perennial_core::id::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::{Followed, Opening, Turn};
use perennial_core::event::{AgentEvent, Event, Move, NodeEvent, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::hold::{HeldFor, Hold};
use perennial_core::id::{AgentId, Epoch, MessageId, SessionNumber};
use perennial_core::message::MessageEvent;
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::restart::{History, Tally};
use perennial_core::session::{Pace, Process};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_core::work::WorkPhase;
use perennial_store::Version;
use perennial_store::load::snapshots;
use perennial_store::stored;
use sha2::{Digest, Sha256};

use crate::events::*;
use crate::golden_handoffs;

const SECOND: u64 = 1_000_000;

/// Events of one agent, a second apart.
struct Life {
    agent: AgentId,
    at: u64,
    events: Vec<Event>,
}

impl Life {
    fn of(agent: AgentId, name: &str) -> Life {
        Life { agent, at: SECOND, events: vec![hatched(agent, name)] }
    }

    fn then(mut self, event: AgentEvent) -> Life {
        self.at += SECOND;
        self.events.push(of_agent(self.agent, self.at, event));
        self
    }

    fn moved(self, cause: Cause, to: State, reason: Reason) -> Life {
        let shown = Finding::Shown(Show::TurnEnded);
        let evidence = Evidence { witness: Witness::Harness, fact: shown, at: Time(self.at) };
        let until = (to == State::Crashed).then_some(Time(self.at + 7 * SECOND));
        self.then(AgentEvent::Moved(Move { cause, to, reason, evidence, until }))
    }

    fn asked(self, verb: Verb, cause: Cause, to: State) -> Life {
        let evidence = asked(verb, self.at);
        let (reason, until) = (Reason::Stopped, None);
        self.then(AgentEvent::Moved(Move { cause, to, reason, evidence, until }))
    }

    fn started(self, number: u32, opening: Opening) -> Life {
        let (number, limit) = (SessionNumber(number), Duration::from_secs(90));
        let process = Process { pid: 42, start_ticks: 4242 };
        self.then(AgentEvent::SessionWanted { number, opening })
            .then(AgentEvent::SessionStarting { number, limit })
            .then(AgentEvent::SessionRunning { number, process })
    }

    fn ended(self, number: u32, exit: Exit, tally: Tally) -> Life {
        let (number, is_clean) = (SessionNumber(number), exit.is_clean());
        self.then(AgentEvent::SessionEnded { number, exit, is_clean, tally, asked: None })
    }
}

/// An agent CLI that works, is measured, is put off, crashes, and is stopped in a turn.
fn of_a_cli() -> Vec<Event> {
    let number = SessionNumber(1);
    let conversation = || "a".parse().expect("a good id");
    let sample = Sample { tokens: 80, window: 100, usable: 90, source: Source::StatusLine };
    let history = History { restarts: vec![Time(SECOND)], opened: 1, futile: 2 };
    let resumed = Opening::Resume { conversation: conversation(), turn: Turn::Open };
    let handoffs = golden_handoffs::examples().into_iter();
    let life = Life::of(ADA, "ada").started(1, Opening::Fresh(conversation()));
    let life = handoffs
        .fold(life, |life, (_, event)| life.then(event))
        .moved(Cause::DialogSeen, State::Waiting, Reason::FirstRunDialog)
        .then(AgentEvent::PutOff { until: Some(Time(SECOND)), unseen: Duration::from_secs(3) })
        .then(AgentEvent::ConversationFollowed {
            number,
            conversation: conversation(),
            how: Followed::Started,
        })
        .moved(Cause::TurnBegan, State::Working, Reason::InTurn)
        .then(AgentEvent::SessionProgressed { number })
        .then(AgentEvent::ClockPassed { number, threshold: Threshold::Half, sample })
        .then(AgentEvent::WindowBegan { number })
        .then(AgentEvent::ClockPassed { number, threshold: Threshold::ThreeQuarters, sample })
        .then(AgentEvent::ClockTold { number, threshold: Threshold::Half })
        .then(crate::golden::phase_found(number))
        .then(AgentEvent::PhaseReported { phase: WorkPhase::Testing })
        .moved(Cause::TurnEnded, State::Waiting, Reason::ServiceFailed)
        .moved(Cause::TurnEnded, State::Waiting, Reason::NeedsPermission)
        .ended(1, Exit::KillSignal(9), Tally::Becomes(history))
        .moved(Cause::EndedCrashed, State::Crashed, Reason::BreakerOpen)
        .moved(Cause::Retry, State::Waking, Reason::Starting)
        .started(2, resumed)
        .moved(Cause::Announced, State::Working, Reason::InTurn)
        .moved(Cause::TurnEnded, State::Waiting, Reason::RateLimited)
        .asked(Verb::Stop, Cause::Stop, State::Sleeping)
        .then(AgentEvent::SessionFound {
            number: SessionNumber(3),
            opening: Opening::Bare,
            process: Some(Process { pid: 7, start_ticks: 8 }),
        });
    life.events
}

/// A command that is held and renamed; its first session ended before ends told their tally.
fn of_a_command() -> Vec<Event> {
    let hold = Hold {
        held_for: HeldFor::Person,
        evidence: asked(Verb::Stop, SECOND),
        since: Time(SECOND),
    };
    let ending =
        |number| AgentEvent::SessionEnding { number: SessionNumber(number), pace: Pace::AtOnce };
    let unknown = Exit::Unknown(UnknownExit::HolderDied);
    let [(_, taken), _, _, _, _, (_, round), _, (_, left)] = crate::golden::role_examples();
    let [
        (_, snapshot),
        _,
        (_, kept),
        (_, wish),
        (_, unchanged),
        (_, missed),
        _,
        (_, dropped),
        (_, removed),
        (_, restore),
        (_, awaited),
        (_, restored),
        _,
        _,
    ] = crate::golden::snapshot_examples();
    let [(_, rest), (_, no_rest), (_, legacy), (_, burial)] = crate::golden::last_examples();
    let [_, (_, checkpoint)] = crate::golden::checkpoint_examples();
    let life = Life::of(BOB, "bob")
        .then(left)
        .then(taken)
        .then(round)
        .started(1, Opening::Bare)
        .moved(Cause::Announced, State::Working, Reason::Running)
        .then(AgentEvent::Renamed { name: "rob".parse().expect("a good name") })
        .then(crate::golden::settings_changed(asked(Verb::Set, SECOND)))
        .ended(1, unknown, Tally::ByFirstRule)
        .moved(Cause::EndedCrashed, State::Crashed, Reason::Retrying)
        .moved(Cause::Retry, State::Waking, Reason::Starting)
        .started(2, Opening::Bare)
        .then(AgentEvent::HoldLifted { evidence: asked(Verb::Wake, SECOND) })
        .then(AgentEvent::Held(hold))
        .then(AgentEvent::Rehomed { node: NodeId(9) })
        .then(AgentEvent::Summarised { summary: "so far".into() })
        .then(no_rest)
        .then(rest)
        .then(legacy)
        .then(snapshot)
        .then(kept)
        .then(unchanged)
        .then(missed)
        .then(restore)
        .then(restored)
        .then(awaited)
        .then(dropped)
        .then(removed)
        .then(wish)
        .then(checkpoint)
        .then(burial)
        .then(ending(2));
    life.events
}

/// The same of another text, up to where it is held.
fn of_a_text_that_waits(what: &What) -> Option<What> {
    let What::Message(id, event) = what else { return None };
    let is_later = event.is_last() || matches!(event, MessageEvent::Heard { .. });
    (!is_later).then(|| What::Message(MessageId(id.0 + 1), event.clone()))
}

fn journal() -> Vec<Event> {
    let stopped = NodeEvent::DaemonStopped { epoch: Epoch(1) };
    let restored = NodeEvent::JournalRestored { since: Time(1) };
    let lost = NodeEvent::RecordsLost { known: 9, found: 7 };
    let pruned = crate::golden::recordings_pruned();
    let cleaned = crate::golden::agent_cleaned();
    let node = |what| Event { at: Time(2), what: What::Node(NodeId::HOME, what) };
    let mut events =
        vec![started(1), node(restored), node(lost), node(pruned), node(stopped), started(2)];
    events.push(node(cleaned));
    events.extend(of_a_cli());
    events.extend(of_a_command());
    let others = crate::golden::others();
    let waits = others.iter().filter_map(|(_, what)| of_a_text_that_waits(what));
    let all = others.iter().map(|(_, what)| what.clone()).chain(waits);
    events.extend(all.map(|what| Event { at: Time(SECOND), what }));
    events
}

#[test]
fn the_fixed_journal_has_every_kind_of_event() {
    let told: BTreeSet<&str> =
        journal().iter().map(|event| stored::write(&event.what).kind).collect();
    assert_eq!(told, stored::kinds().map(|(kind, _)| kind).collect());
}

#[test]
fn whoever_changes_the_fold_counts_up_the_form_of_snapshots() {
    let mut fleet = Fleet::default();
    let mut versions: BTreeMap<_, Version> = BTreeMap::new();
    for event in &journal() {
        fleet.evolve(event);
        versions.entry(event.entity()).or_default().0 += 1;
    }
    let changed = versions.keys().cloned().collect();
    let snapshots = snapshots(&fleet, &versions, &changed);
    let (_, number) = snapshots[0].form.split_once('/').expect("the program's version, a number");
    let mut digest = Sha256::new();
    for snapshot in &snapshots {
        digest.update(snapshot.state.as_deref().unwrap_or_default());
        digest.update([u8::from(snapshot.is_over)]);
    }
    let hex = digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/folds.txt");
    let known = fs::read_to_string(path).unwrap();
    let line = known.lines().find_map(|line| line.strip_prefix(number)?.strip_prefix(' '));
    assert_eq!(
        line,
        Some(&*hex),
        "form {number}: the journal folds to something else; count up FORM in load.rs, add its line"
    );
}
