//! Golden files: one for each kind of event and each form of it that was ever written. Reading one
//! gives the event; writing the event in the newest form gives the file, byte for byte.
//!
//! A file is made by hand when a kind or a form is new, and never changed afterwards.

use perennial_core::id::NodeId;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::checkpoint::{CheckpointCause, CheckpointEvent, CheckpointTaken};
use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, ClaimEvent, Event, Move, NodeEvent, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::hold::{HeldFor, Hold};
use perennial_core::id::{BootId, Epoch, JobId, MessageId, PostId, SessionNumber, TaskId};
use perennial_core::job::{JobCommand, JobEnd, JobEvent, Purpose};
use perennial_core::keeping::MissCause;
use perennial_core::launch::{Host, Launch, Options, TmuxPlace};
use perennial_core::legacy::LegacyKind;
use perennial_core::message::{
    Channel, Content, DeliveryId, Held, Mail, MailKind, Mailbox, MessageEvent, Priority, Sender,
    Withdrawer,
};
use perennial_core::name::{Name, NameKey};
use perennial_core::post::{Author, PostEvent};
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::rest::RestEvent;
use perennial_core::restart::{History, Restart, Tally};
use perennial_core::role::{Holder, Mandate, RoleEvent, RoleTerms, Span, Vacancy, Verify};
use perennial_core::session::{Pace, Process};
use perennial_core::settings::{NewParent, Place, Settings, VariableChange};
use perennial_core::snapshot::{
    DropCause, RestoreBegun, RestoreEnded, RestoreOutcome, RestoreRun, SnapshotCause,
    SnapshotEvent, SnapshotFiles, SnapshotMissed, SnapshotTaken, SnapshotWanted,
};
use perennial_core::state::{Cause, State};
use perennial_core::succession::Afresh;
use perennial_core::text::{Fingerprint, Text};
use perennial_core::time::Time;
use perennial_core::work::{Indicator, WorkEvent, WorkPhase};
use perennial_store::{stored, text};

use crate::events::*;
use crate::golden_handoffs;
use crate::golden_signals;

const NUMBER: SessionNumber = SessionNumber(3);
const PROCESS: Process = Process { pid: 4242, start_ticks: 123_456_789 };

/// An event of each kind, every field with a value of its own; several where a part has variants.
fn examples() -> Vec<(&'static str, AgentOrNode)> {
    use AgentOrNode::{Agent, Node};
    let tally = Tally::ByFirstRule;
    let ended_as = |exit, is_clean| {
        let tally = tally.clone();
        Agent(AgentEvent::SessionEnded { number: NUMBER, exit, is_clean, tally, asked: None })
    };
    let ended = |exit| ended_as(exit, false);
    let unknown = |why| ended(Exit::Unknown(why));
    let mut examples = vec![
        ("hatched", Agent(AgentEvent::Hatched(Box::new(birth())))),
        (
            "hatched-node",
            Agent(AgentEvent::Hatched(Box::new(Birth { node: NodeId(9), ..birth() }))),
        ),
        ("hatched-bare", Agent(AgentEvent::Hatched(Box::new(bare_birth())))),
        ("hatched-tmux", Agent(AgentEvent::Hatched(Box::new(tmux_birth())))),
        ("hatched-harness", Agent(AgentEvent::Hatched(Box::new(harness_birth())))),
        ("moved", movement(Witness::Kernel, Finding::Exited(Exit::KillSignal(9)), Some(Time(99)))),
        ("moved-holder", movement(Witness::Holder, Finding::Executed(PROCESS), None)),
        ("moved-lead", movement(Witness::Lead(BOB), Finding::TimeCame, None)),
        ("moved-harness", movement(Witness::Harness, Finding::NotStarted("ENOENT".into()), None)),
        ("moved-shown", movement(Witness::Harness, Finding::Shown(Show::Question), None)),
        ("moved-fresh", movement(Witness::Operator, Finding::AskedFresh(Verb::Wake), None)),
        ("moved-agent", movement(Witness::Agent(ADA), Finding::Asked(Verb::Stop), None)),
        ("moved-operator", movement(Witness::Operator, Finding::Unreadable("x".into()), None)),
        ("moved-daemon", movement(Witness::Daemon, Finding::BootChanged, None)),
        (
            "session-found",
            Agent(AgentEvent::SessionFound {
                number: NUMBER,
                opening: Opening::Bare,
                process: Some(PROCESS),
            }),
        ),
        ("session-running", Agent(AgentEvent::SessionRunning { number: NUMBER, process: PROCESS })),
        (
            "session-ending",
            Agent(AgentEvent::SessionEnding { number: NUMBER, pace: Pace::Graceful }),
        ),
        ("session-ended", ended(Exit::Code(-1))),
        ("session-ended-well", ended_as(Exit::Code(1), true)),
        ("session-ended-asked", Agent(ended_asked())),
        ("session-ended-signal", ended(Exit::KillSignal(15))),
        ("session-ended-unknown", unknown(UnknownExit::HolderDied)),
        ("renamed", Agent(AgentEvent::Renamed { name: "Bob-2".parse().unwrap() })),
        ("summarised", Agent(AgentEvent::Summarised { summary: "did \"it\"\n".into() })),
        (
            "daemon-started",
            Node(NodeEvent::DaemonStarted {
                epoch: Epoch(7),
                boot: BootId("4f6c2ab1".into()),
                version: "0.1.0".into(),
            }),
        ),
        ("daemon-stopped", Node(NodeEvent::DaemonStopped { epoch: Epoch(7) })),
        ("journal-restored", Node(NodeEvent::JournalRestored { since: Time(7) })),
        ("records-lost", Node(NodeEvent::RecordsLost { known: 9, found: 7 })),
        ("recordings-pruned", Node(recordings_pruned())),
        ("agent-cleaned", Node(agent_cleaned())),
    ];
    examples.extend(harness_examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(policy_examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(role_examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(snapshot_examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(golden_handoffs::examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(checkpoint_examples().map(|(name, event)| (name, Agent(event))));
    examples.extend(last_examples().map(|(name, event)| (name, Agent(event))));
    examples
}

fn ended_asked() -> AgentEvent {
    AgentEvent::SessionEnded {
        number: NUMBER,
        exit: Exit::KillSignal(2),
        is_clean: false,
        tally: Tally::ByFirstRule,
        asked: Some(Reason::Stopped),
    }
}

pub fn recordings_pruned() -> NodeEvent {
    let sessions = vec![SessionNumber(1), SessionNumber(3)];
    NodeEvent::RecordingsPruned { agent: ADA, sessions, bytes: 4096, by: Witness::Operator }
}

pub fn agent_cleaned() -> NodeEvent {
    let conversations = ["0b1c", "x-2.y"].map(|id| id.parse().expect("an id")).to_vec();
    let (harness, by) = ("claude".to_owned(), Witness::Operator);
    NodeEvent::AgentCleaned { agent: ADA, harness, conversations, bytes: 8192, by }
}

/// An agent takes a role and leaves it.
pub fn role_examples() -> [(&'static str, AgentEvent); 8] {
    let evidence = asked(Verb::Transfer, 12);
    let terms = RoleTerms {
        mandate: Mandate::Path("mandates/architect.txt".into()),
        span: Span::Mortal,
        overseer: Some("mayor".into()),
        restart: Some(Restart::Always),
        is_single: true,
        every: None,
        is_declared: true,
        verify: Verify::Word,
        cycle: None,
        handoff_at: None,
    };
    let trusted = RoleTerms { verify: Verify::Trust, ..terms.clone() };
    let patrol = RoleTerms { every: Some(Duration::from_secs(1800)), ..terms.clone() };
    let taken = |terms, from| AgentEvent::RoleTaken {
        role: "Architect".into(),
        terms: Box::new(terms),
        from,
        evidence: evidence.clone(),
    };
    let crew = RoleTerms { is_declared: true, ..RoleTerms::default() };
    [
        ("took-role", taken(terms, Some(BOB))),
        ("took-role-rounds", taken(patrol, None)),
        ("took-role-trusted", taken(trusted, None)),
        ("took-role-cycled", taken(golden_handoffs::cycled(), None)),
        ("took-role-as-it-is", taken(crew, None)),
        ("round-passed", AgentEvent::RoundPassed { round: 3 }),
        ("took-role-undeclared", taken(RoleTerms::default(), None)),
        ("left-role", AgentEvent::RoleLeft { to: Some(BOB), evidence: evidence.clone() }),
    ]
}

/// A snapshot with everything in it, the smallest one, and a restore.
pub fn snapshot_examples() -> [(&'static str, AgentEvent); 14] {
    let of = |event| AgentEvent::Snapshot(Box::new(event));
    let files = SnapshotFiles {
        store: "web-0123456789ab.git".into(),
        work_tree: "/home/me/web".into(),
        commit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904".into(),
        base: Some("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391".into()),
        files: 554,
        bytes: 35_000,
        nested: 1,
        left_out: 2,
        listed: vec![(".env".into(), "secret".into()), ("core".into(), "too_large".into())],
        torn: 1,
    };
    let least = SnapshotFiles {
        base: None,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
        ..files.clone()
    };
    let evidence = asked(Verb::Snapshot, 12);
    let taken = |number, why, wish, files| {
        let evidence = evidence.clone();
        of(SnapshotEvent::Taken(SnapshotTaken { number, why, wish, files, evidence }))
    };
    let wanted = SnapshotEvent::Wanted(SnapshotWanted {
        wish: 4,
        why: SnapshotCause::PlannedEnd,
        dir: "/home/me/web".into(),
        until: Time(2_000_012),
    });
    let why = SnapshotCause::Crash;
    let unchanged = SnapshotEvent::Unchanged { wish: 4, why, number: 2 };
    let missed = |wish, cause, told: &str| {
        of(SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told: told.into() }))
    };
    let begun = |run| {
        let (number, present, with_index, evidence) = (1, 2, true, evidence.clone());
        of(SnapshotEvent::RestoreBegun(RestoreBegun { number, present, with_index, run, evidence }))
    };
    let run = RestoreRun { restore: 1, work_tree: "/home/me/web".into() };
    let ended = |failed: Option<&str>, left: &[&str]| {
        let (failed, listed) = (failed.map(str::to_owned), left.iter().map(|it| (*it).into()));
        let (written, removed, indexes, left) = (3, 1, 1, left.len() as u64);
        let listed = listed.collect();
        let none = RestoreOutcome::default();
        let outcome = RestoreOutcome { written, removed, indexes, failed, left, listed, ..none };
        of(SnapshotEvent::RestoreEnded(RestoreEnded { restore: 1, number: 1, present: 2, outcome }))
    };
    let dropped = SnapshotEvent::Dropped { numbers: vec![1, 2], why: DropCause::Age };
    let removed = SnapshotEvent::Removed { numbers: vec![1, 2], bytes: 35_000 };
    [
        ("snapshot-taken", taken(2, SnapshotCause::BeforeRestore, None, files.clone())),
        ("snapshot-taken-least", taken(1, SnapshotCause::Asked, None, least)),
        ("snapshot-taken-wanted", taken(3, SnapshotCause::PlannedEnd, Some(4), files)),
        ("snapshot-wanted", of(wanted)),
        ("snapshot-unchanged", of(unchanged)),
        ("snapshot-missed", missed(5, MissCause::Failed, "/home/me/web/x: permission denied")),
        ("snapshot-missed-least", missed(6, MissCause::TookTooLong, "")),
        ("snapshots-dropped", of(dropped)),
        ("snapshots-removed", of(removed)),
        ("restore-begun", begun(None)),
        ("restore-begun-awaited", begun(Some(run))),
        ("restore-ended", ended(None, &[])),
        ("restore-ended-changed", of(restore_that_left_a_changed_file())),
        ("restore-ended-early", ended(Some("the disk is full"), &["a.txt"])),
    ]
}

fn restore_that_left_a_changed_file() -> SnapshotEvent {
    SnapshotEvent::RestoreEnded(RestoreEnded {
        restore: 2,
        number: 1,
        present: 3,
        outcome: RestoreOutcome {
            written: 3,
            changed: 1,
            changed_listed: vec!["b.txt".into()],
            ..RestoreOutcome::default()
        },
    })
}

/// A checkpoint with everything in it, and the smallest one.
pub fn checkpoint_examples() -> [(&'static str, AgentEvent); 2] {
    let least = CheckpointTaken {
        number: 1,
        why: CheckpointCause::Crash,
        session: NUMBER,
        phase: WorkPhase::Implementation,
        summary: "last edited “notes”".into(),
        text: Text { head: String::new(), ..text::body("{}").text },
        snapshot: None,
        evidence: asked(Verb::Checkpoint, 12),
    };
    let why = CheckpointCause::AskedByAgent;
    let whole = CheckpointTaken { number: 2, why, snapshot: Some(3), ..least.clone() };
    let of = |taken| AgentEvent::Checkpoint(Box::new(CheckpointEvent::Taken(taken)));
    [("checkpoint-taken-least", of(least)), ("checkpoint-taken", of(whole))]
}

/// An agent leaves a text, and wants to be buried.
pub fn last_examples() -> [(&'static str, AgentEvent); 4] {
    let text = text::body("what I learnt").text;
    let earned = RestEvent::Earned { task: TaskId(11), title: "say \"hi\"".to_owned() };
    [
        ("rest-earned", AgentEvent::Rest(Box::new(earned))),
        ("rest-taken-back", AgentEvent::Rest(Box::new(RestEvent::TakenBack))),
        ("legacy-left", AgentEvent::LegacyLeft { kind: LegacyKind::Blog, text }),
        ("burial-asked", AgentEvent::BurialAsked { evidence: asked(Verb::Bury, 12) }),
    ]
}

/// What happens to a role itself, and what is posted of it.
fn roles() -> Vec<(&'static str, What)> {
    let key = NameKey::of("Architect");
    let holder = |id, name: Option<&str>| Holder { id, name: name.map(|it| it.parse().unwrap()) };
    let vacancy = Vacancy {
        role: "Architect".into(),
        last: holder(ADA, Some("ada")),
        mandate: Mandate::Text("keep the design whole".into()),
        frozen: vec![holder(BOB, None)],
        since: Time(9),
        is_declared: true,
    };
    let role = |event| What::Role(key.clone(), event);
    vec![
        ("role-taken", role(RoleEvent::Taken { by: ADA, is_living: true })),
        ("role-left", role(RoleEvent::Left { by: ADA })),
        ("role-vacated", role(RoleEvent::Vacated(Box::new(vacancy.clone())))),
        ("role-dismissed", role(RoleEvent::Dismissed)),
        (
            "post-vacancy-announced",
            What::Post(PostId(9), PostEvent::VacancyAnnounced(Box::new(vacancy))),
        ),
    ]
}

/// What policy made of the moment, and holds.
fn policy_examples() -> [(&'static str, AgentEvent); 9] {
    let history = History { restarts: vec![Time(5), Time(8)], opened: 2, futile: 1 };
    let evidence = asked(Verb::Wake, 12);
    let (number, exit) = (NUMBER, Exit::Code(1));
    let hold = Hold { held_for: HeldFor::Person, evidence: evidence.clone(), since: Time(13) };
    let put_off = |until, unseen| AgentEvent::PutOff { until, unseen };
    [
        (
            "session-starting",
            AgentEvent::SessionStarting { number, limit: Duration::from_secs(90) },
        ),
        (
            "session-ended-history",
            AgentEvent::SessionEnded {
                number,
                exit,
                is_clean: false,
                tally: Tally::Becomes(history),
                asked: None,
            },
        ),
        ("put-off", put_off(Some(Time(u64::MAX)), Duration::ZERO)),
        ("put-off-unseen", put_off(None, Duration::from_micros(1_500_000))),
        ("rehomed", AgentEvent::Rehomed { node: NodeId(9) }),
        ("held", AgentEvent::Held(hold)),
        ("hold-lifted", AgentEvent::HoldLifted { evidence: evidence.clone() }),
        ("settings-changed", settings_changed(evidence.clone())),
        (
            "settings-changed-parent",
            AgentEvent::SettingsChanged {
                settings: Box::new(Settings {
                    parent: Some(NewParent::Nobody),
                    ..Settings::default()
                }),
                evidence,
            },
        ),
    ]
}

pub fn settings_changed(evidence: Evidence) -> AgentEvent {
    let settings = Settings {
        restart: Some(Restart::Never),
        place: Some(Place { dir: "/srv".into(), project: "/srv/.git".into() }),
        variables: Some(VariableChange {
            revision: 2,
            set: vec!["CI".into()],
            unset: vec!["LANG".into()],
        }),
        parent: Some(NewParent::Agent(BOB)),
        situations: None,
    };
    AgentEvent::SettingsChanged { settings: Box::new(settings), evidence }
}

/// What a harness brings into the journal.
fn harness_examples() -> [(&'static str, AgentEvent); 12] {
    let number = NUMBER;
    let wanted = |opening| AgentEvent::SessionWanted { number, opening };
    let sample =
        Sample { tokens: 125_251, window: 200_000, usable: 167_000, source: Source::StatusLine };
    let threshold = Threshold::ThreeQuarters;
    let followed = AgentEvent::ConversationFollowed {
        number,
        conversation: conversation(),
        how: Followed::Cleared,
    };
    [
        ("session-wanted", wanted(Opening::Bare)),
        ("session-wanted-fresh", wanted(Opening::Fresh(conversation()))),
        (
            "session-wanted-resume",
            wanted(Opening::Resume { conversation: conversation(), turn: Turn::Open }),
        ),
        (
            "session-wanted-stopped",
            wanted(Opening::Resume { conversation: conversation(), turn: Turn::Stopped }),
        ),
        (
            "session-wanted-anew",
            wanted(Opening::Anew {
                conversation: conversation(),
                turn: Turn::Open,
                why: Afresh::Asked,
            }),
        ),
        ("session-progressed", AgentEvent::SessionProgressed { number }),
        ("conversation-followed", followed),
        ("window-began", AgentEvent::WindowBegan { number }),
        ("clock-passed", AgentEvent::ClockPassed { number, threshold, sample }),
        ("clock-told", AgentEvent::ClockTold { number, threshold: Threshold::Half }),
        ("phase-reported", AgentEvent::PhaseReported { phase: WorkPhase::Testing }),
        ("phase-found", phase_found(number)),
    ]
}

pub fn phase_found(number: SessionNumber) -> AgentEvent {
    AgentEvent::Work(Box::new(WorkEvent::PhaseFound {
        number,
        phase: WorkPhase::Implementation,
        indicator: Indicator::FileEdited,
        seen_at: Time(20),
    }))
}

fn conversation() -> ConversationId {
    "0b5c0a1e-6d53-8c1f-9a77-2f4f1d6a0c3b".parse().unwrap()
}

enum AgentOrNode {
    Agent(AgentEvent),
    Node(NodeEvent),
}

fn movement(witness: Witness, fact: Finding, until: Option<Time>) -> AgentOrNode {
    let evidence = Evidence { witness, fact, at: Time(11) };
    let (cause, to, reason) = (Cause::EndedCrashed, State::Crashed, Reason::Retrying);
    AgentOrNode::Agent(AgentEvent::Moved(Move { cause, to, reason, evidence, until }))
}

fn birth() -> Birth {
    Birth {
        name: Some("ada".parse().unwrap()),
        role: Some("scribe".into()),
        parent: Some(BOB),
        node: NodeId::HOME,
        launch: Launch {
            harness: "command".into(),
            host: Host::Shim,
            argv: vec!["/bin/sh".into(), "-c".into(), "echo \u{e9}".into()],
            dir: "/work".into(),
            env_names: vec!["LANG".into(), "TERM".into()],
            project: "/work/.git".into(),
            options: Options::default(),
        },
        restart: Restart::Always,
        evidence: asked(Verb::Spawn, 10),
        until: Time(300_000_010),
    }
}

fn bare_birth() -> Birth {
    Birth { name: None, role: None, parent: None, restart: Restart::Never, ..birth() }
}

fn tmux_birth() -> Birth {
    let socket = "/tmp/tmux-1000/default".to_owned();
    let host = Host::Tmux(TmuxPlace::of(&"ada".parse().unwrap(), socket));
    let birth = birth();
    Birth { launch: Launch { host, ..birth.launch }, ..birth }
}

fn harness_birth() -> Birth {
    let options = Options {
        model: Some("opus".into()),
        prompt: Some("say \"hi\"\n".into()),
        permission_mode: Some("plan".into()),
        trust: true,
    };
    let mut birth = birth();
    birth.launch = Launch { harness: "claude".into(), options, ..birth.launch };
    birth
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// `{"kind":…,"v":…,"payload":…}` and a line's end.
fn line(what: &What) -> String {
    let stored::Encoded { kind, form, payload } = stored::write(what);
    format!("{{\"kind\":\"{kind}\",\"v\":{form},\"payload\":{payload}}}\n")
}

/// The kind, form and payload of a golden file.
fn parts(text: &str) -> (String, u64, String) {
    let (head, payload) = text.trim_end().split_once(",\"payload\":").expect("a payload");
    let head: serde_json::Value = serde_json::from_str(&format!("{head}}}")).expect("a head");
    let kind = head["kind"].as_str().expect("a kind").to_owned();
    let payload = payload.strip_suffix('}').expect("closed").to_owned();
    (kind, head["v"].as_u64().expect("a form"), payload)
}

fn whats() -> Vec<(&'static str, Entity, What)> {
    let what = |(name, example)| match example {
        AgentOrNode::Agent(event) => (name, What::Agent(ADA, event)),
        AgentOrNode::Node(event) => (name, What::Node(NodeId::HOME, event)),
    };
    let all = examples().into_iter().map(what).chain(others());
    all.map(|(name, what)| {
        let event = Event { at: Time(1), what };
        (name, event.entity(), event.what)
    })
    .collect()
}

/// Events of what is neither an agent nor the node.
pub fn others() -> Vec<(&'static str, What)> {
    let later = [golden_signals::examples(), crate::tasks::examples()].concat();
    [messages_jobs_and_claims(), mail(), posts(), roles(), later].concat()
}

fn wanted_by(node: NodeId) -> JobEvent {
    JobEvent::Wanted {
        node,
        purpose: Purpose::Notify {
            agent: ADA,
            name: "ada".to_owned(),
            reason: Reason::NeedsAnswer,
        },
        command: JobCommand {
            argv: vec!["notify-send".to_owned(), "-u".to_owned()],
            dir: "/".to_owned(),
            limit: Duration::from_secs(10),
        },
    }
}

fn messages_jobs_and_claims() -> Vec<(&'static str, What)> {
    let name = "ada".parse::<Name>().expect("a name").key();
    let conversation = "0f3c2a1e-1".parse().expect("an id");
    let message = |event| What::Message(MessageId(7), event);
    let sample = Sample { tokens: 9, window: 12, usable: 10, source: Source::StatusLine };
    let recorded =
        |content| message(MessageEvent::Recorded { to: ADA.into(), from: Sender::Person, content });
    let (session, attempt) = (SessionNumber(3), 2);
    let (with, behind) = (None, Duration::ZERO);
    let offered = |channel, behind| {
        message(MessageEvent::Offered { session, attempt, channel, with, behind })
    };
    let list = DeliveryId { message: MessageId(6), attempt: 5 };
    let (channel, with) = (Some(Channel::Typing), Some(list));
    let listed = message(MessageEvent::Offered { session, attempt, channel, with, behind });
    let job = |event| What::Job(JobId(8), event);
    let ended = |end| job(JobEvent::Ended { number: 1, end, output: "done\n".to_owned() });
    vec![
        (
            "message-recorded",
            recorded(Content::Typed {
                text: Box::new(text::body("go on").text),
                fingerprint: Fingerprint([7; 32]),
                after_turn: true,
            }),
        ),
        (
            "message-recorded-notice",
            recorded(Content::Notice { threshold: Threshold::NineTenths, sample }),
        ),
        ("message-recorded-reminder", recorded(Content::Reminder { calls: 40, sample: None })),
        ("message-recorded-round", recorded(Content::Round { role: "Patrol".into(), number: 3 })),
        ("message-recorded-handoff", recorded(Content::Handoff { number: NUMBER })),
        ("message-offered", offered(None, Duration::ZERO)),
        ("message-offered-behind", offered(None, Duration::from_secs(3600))),
        ("message-offered-list", listed),
        ("message-offered-mail", offered(Some(Channel::HookReply), Duration::ZERO)),
        ("message-entered", message(MessageEvent::Entered { attempt: 2, is_last: false })),
        (
            "message-held",
            message(MessageEvent::Held { attempt: 2, why: Held::NoEcho, until: Time(5) }),
        ),
        (
            "message-blocked",
            message(MessageEvent::Blocked { attempt: 2, words: "not in this project".to_owned() }),
        ),
        ("message-heard", message(MessageEvent::Heard { attempt: 2 })),
        ("message-seen", message(MessageEvent::Seen { session: SessionNumber(3) })),
        ("message-withdrawn", message(MessageEvent::Withdrawn { by: Withdrawer::Person })),
        ("message-returned", message(MessageEvent::Returned)),
        ("message-forwarded", message(MessageEvent::Forwarded { to: ADA.into() })),
        ("message-read", message(MessageEvent::Read { session: None })),
        ("job-wanted", job(wanted_by(NodeId::HOME))),
        ("job-wanted-node", job(wanted_by(NodeId(9)))),
        (
            "job-running",
            job(JobEvent::Running { number: 1, process: Process { pid: 4, start_ticks: 5 } }),
        ),
        ("job-ended", ended(JobEnd::Code(3))),
        ("job-ended-killed", ended(JobEnd::KillSignal(9))),
        ("job-ended-limit", ended(JobEnd::Limit)),
        ("job-ended-not-started", ended(JobEnd::NotStarted)),
        ("job-ended-unknown", ended(JobEnd::Unknown)),
        ("job-ended-outdated", ended(JobEnd::Outdated)),
        ("taken", What::Name(name, ClaimEvent::Taken { by: ADA })),
        ("left", What::Conversation(conversation, ClaimEvent::Left { by: ADA })),
    ]
}

fn mail() -> Vec<(&'static str, What)> {
    let letter = Mail {
        thread: MessageId(7),
        subject: "say \"hi\"".to_owned(),
        priority: Priority::High,
        text: text::body("line 1\nline 2").text,
        excerpt: "line 1\nline 2".to_owned(),
        sender_name: Some("ada".parse().expect("a name")),
        eldest_ancestor: None,
        role: Some("Architect".to_owned()),
        recipient: None,
        is_copy: false,
        kind: MailKind::Letter,
    };
    let kind = MailKind::Returned { to: "bob".to_owned() };
    let returned =
        Mail { kind, role: None, sender_name: None, excerpt: String::new(), ..letter.clone() };
    let recorded = |to, from, mail| {
        let content = Content::Mail(Box::new(mail));
        What::Message(MessageId(7), MessageEvent::Recorded { to, from, content })
    };
    let role = Mailbox::Role("Architect".parse::<Name>().expect("a name").key());
    let wrote = |note: &str| Purpose::Mail {
        agent: ADA,
        name: "ada".to_owned(),
        note: note.to_owned(),
        subject: "done".to_owned(),
    };
    let job = |purpose| {
        let JobEvent::Wanted { node, command, .. } = wanted_by(NodeId::HOME) else {
            unreachable!()
        };
        What::Job(JobId(8), JobEvent::Wanted { node, purpose, command })
    };
    let of_handoff = Mail { kind: MailKind::OfHandoff { agent: BOB }, ..returned.clone() };
    let of_child = Mail { eldest_ancestor: Some(ADA), role: None, ..letter.clone() };
    vec![
        (
            "message-recorded-mail-of-child",
            recorded(Mailbox::Operator, Sender::Agent(ADA), of_child),
        ),
        ("message-recorded-mail", recorded(role, Sender::Agent(ADA), letter)),
        ("message-recorded-mail-of-handoff", recorded(ADA.into(), Sender::Perennial, of_handoff)),
        ("message-recorded-mail-back", recorded(Mailbox::Operator, Sender::Perennial, returned)),
        ("job-wanted-mail", job(wrote(""))),
        ("job-wanted-mail-urgent", job(wrote("urgent"))),
    ]
}

fn posts() -> Vec<(&'static str, What)> {
    let post = |by, title: Option<&str>| {
        let (title, text) = (title.map(str::to_owned), text::body("line 1\nline 2").text);
        What::Post(PostId(9), PostEvent::Written { by, title, text })
    };
    let ada = Author::Agent { id: ADA, name: Some("ada".parse().expect("a name")) };
    vec![
        ("post-written", post(Author::Person, Some("say \"hi\""))),
        ("post-written-agent", post(ada, None)),
    ]
}

#[test]
fn golden_files_are_read_and_written_as_they_are() {
    for (name, stream, what) in whats() {
        let newest =
            stored::kinds().find(|(kind, _)| stored::write(&what).kind == *kind).unwrap().1;
        for form in 1..=newest {
            let path = directory().join(format!("{name}.v{form}.json"));
            // What an older form could not say has no file of it.
            if form < newest && !path.exists() {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_else(|error| {
                panic!("{}: {error}; it would be:\n{}", path.display(), line(&what))
            });
            let (kind, found, payload) = parts(&text);
            assert_eq!(found, u64::from(form), "{name}");
            let read = stored::read(&stream, &kind, found, payload.as_bytes());
            assert_eq!(read.as_ref(), Ok(&what), "{name}");
            if form == newest {
                assert_eq!(line(&what), text, "{name}");
            }
        }
    }
}

#[test]
fn every_form_has_a_golden_file_and_every_file_an_event() {
    let names: BTreeSet<String> = whats().iter().map(|(name, ..)| (*name).to_owned()).collect();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let entry = entry.unwrap();
        let file = entry.file_name().into_string().unwrap();
        let Some((name, _)) = file.rsplit_once(".v") else {
            assert!(file == "words.json" || file == "folds.txt", "{file}");
            continue;
        };
        assert!(names.contains(name), "{file} is the form of nothing");
        let (kind, form, _) = parts(&fs::read_to_string(entry.path()).unwrap());
        found.insert((kind, form));
    }
    let forms = |(kind, newest): (&str, u32)| {
        let kind = kind.to_owned();
        (1..=u64::from(newest)).map(move |form| (kind.clone(), form)).collect::<Vec<_>>()
    };
    assert_eq!(found, stored::kinds().flat_map(forms).collect());
}

/// Cut off anywhere, or with a byte changed: read as something or refused, without a panic.
#[test]
fn payloads_cut_off_or_changed_are_refused_or_read() {
    for (name, stream, what) in whats() {
        let stored::Encoded { kind, form, payload } = stored::write(&what);
        let form = u64::from(form);
        for end in 0..payload.len() {
            let cut = &payload.as_bytes()[..end];
            assert!(stored::read(&stream, kind, form, cut).is_err(), "{name} cut at {end}");
            let mut changed = payload.clone().into_bytes();
            changed[end] ^= 0x15;
            let _ = stored::read(&stream, kind, form, &changed);
        }
        let other = if stream == Entity::Node(NodeId::HOME) {
            Entity::Agent(ADA)
        } else {
            Entity::Node(NodeId::HOME)
        };
        assert!(stored::read(&other, kind, form, payload.as_bytes()).is_err(), "{name}");
        let event = Event { at: Time(1), what };
        assert_eq!(event.entity(), stream);
    }
}
