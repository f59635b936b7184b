//! What an audit by mutation found untested: fences, bounds and folds of keeping, snapshots and handoffs.

use std::sync::Arc;
use std::time::Duration;

use perennial_core::agent::{self, Agent};
use perennial_core::authority::Caller;
use perennial_core::checkpoint::{
    self, CheckpointCause, CheckpointDraft, CheckpointEvent, CheckpointTaken, Material,
};
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{Followed, Opening, Turn};
use perennial_core::effect::{Effect, SnapshotEffect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::Policy;
use perennial_core::handoff::{
    DEADLINE, DEADLINE_LEAST, DEADLINE_MOST, HandoffCause, HandoffEvent, HandoffOrder, TurnStands,
};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, SessionNumber, TaskId};
use perennial_core::keeping::{self, KeepOutcome, MOST_TOLD, MissCause, SessionPlace};
use perennial_core::launch::Launch;
use perennial_core::message::{self, Mailbox, Trace};
use perennial_core::name::NameKey;
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::rest;
use perennial_core::restart::Restart;
use perennial_core::role::{Cycle, CycleUnit, RoleTerms, Span};
use perennial_core::session::{Phase, Process};
use perennial_core::snapshot::{
    self, CommitId, RestoreEnded, RestoreOutcome, Restoring, SnapshotAsked, SnapshotCause,
    SnapshotEvent, SnapshotFiles, SnapshotMissed, SnapshotOrder, SnapshotReport, SnapshotTaken,
    SnapshotTerms,
};
use perennial_core::state::State;
use perennial_core::succession::{self, Afresh, Beginning};
use perennial_core::symptom::{self, Speaker, Symptom, Urgency};
use perennial_core::text::{Digest, Text, TextBody};
use perennial_core::time::Time;
use perennial_core::work::{Findings, Indicator, LastCall, WorkPhase, WorkState};

use crate::told::{Told, due, launch};

const BOB: AgentId = AgentId(1);
const OWN: Caller = Caller::Agent(BOB);
const DAY: Duration = Duration::from_secs(86_400);

/// A session in a git work tree.
fn in_git(harness: &str) -> Told {
    let mut told = Told::new();
    let (dir, project) = ("/web".to_owned(), "/web/.git".to_owned());
    let spawn = Spawn {
        id: BOB,
        name: "bob".parse().ok(),
        role: None,
        parent: None,
        launch: Launch { harness: harness.to_owned(), dir, project, ..launch() },
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    match harness {
        "claude" => told.begun(1, "talk", Followed::Started),
        _ => told.executed(1),
    }
    told
}

/// An agent CLI in a turn, without a work tree.
fn working() -> Told {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::OnCrash, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.pass(Duration::from_secs(5));
    told
}

fn files(commit: u8) -> SnapshotFiles {
    SnapshotFiles {
        store: "web.git".into(),
        work_tree: "/web".into(),
        commit: format!("{commit:040}"),
        base: Some("b".repeat(40)),
        files: 1,
        bytes: 1,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
    }
}

fn evidence(at: Time) -> Evidence {
    Evidence { witness: Witness::Daemon, fact: Finding::Asked(Verb::Snapshot), at }
}

fn taken(number: u32, why: SnapshotCause, files: SnapshotFiles, wish: Option<u32>) -> AgentEvent {
    let evidence = evidence(Time(1));
    let taken = SnapshotTaken { number, why, wish, files, evidence };
    AgentEvent::Snapshot(Box::new(SnapshotEvent::Taken(taken)))
}

fn missed(wish: u32, cause: MissCause) -> AgentEvent {
    let (why, told) = (SnapshotCause::PlannedEnd, String::new());
    AgentEvent::Snapshot(Box::new(SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told })))
}

fn fold(agent: &mut Agent, event: &AgentEvent, at: Time) {
    agent::evolve(agent, event, at);
}

fn effects(told: &Told) -> Vec<Effect> {
    told.fleet.plan(&Entity::Agent(BOB), told.now).effects
}

fn kept(told: &mut Told, wish: u32, outcome: KeepOutcome) -> Vec<Event> {
    let why = SnapshotCause::PlannedEnd;
    told.observe(&Observation::Kept { agent: BOB, wish, why, outcome, checkpoint: None })
}

fn draft(told: &Told, snapshot: Option<u32>) -> Box<CheckpointDraft> {
    let agent = told.agent(1);
    let session = Some(checkpoint::session(agent));
    let material = Material { session, snapshot, ..Material::default() };
    let content = checkpoint::compose(agent, &told.fleet, material, told.now);
    let text = Text { digest: Digest([7; 32]), bytes: 2, head: "{}".into() };
    let body = TextBody { text, body: Arc::from("{}") };
    Box::new(CheckpointDraft { after: checkpoint::number(agent), content, body, files: None })
}

fn composed(told: &mut Told, why: CheckpointCause) -> Vec<Event> {
    let draft = draft(told, None);
    told.observe(&Observation::Composed { agent: BOB, why, draft })
}

fn has_completed(events: &[Event]) -> bool {
    events.iter().any(|event| {
        let What::Agent(_, AgentEvent::Handoff(event)) = &event.what else { return false };
        matches!(**event, HandoffEvent::Completed { .. })
    })
}

/// KE3: word of another wish ends nothing, whatever it says.
#[test]
fn a_report_about_another_wish_ends_nothing() {
    let mut told = in_git("claude");
    told.ask(Command::Stop("bob".into())).unwrap();
    let wish = told.agent(1).keeping.clone().expect("a wish");
    let failed = KeepOutcome::Missed(MissCause::Failed, String::new());
    assert_eq!(kept(&mut told, wish.wish + 1, failed), []);
    assert_eq!(told.agent(1).keeping, Some(wish.clone()));
    let mut bob = told.agent(1).clone();
    fold(&mut bob, &missed(wish.wish + 1, MissCause::NoWorkTree), told.now);
    assert_eq!(
        (bob.keeping.clone(), bob.snapshot_record.has_work_tree),
        (Some(wish.clone()), None)
    );
    // Its own tells of its directory only, not of the one that the agent has since.
    bob.launch.dir = "/other".into();
    fold(&mut bob, &missed(wish.wish, MissCause::NoWorkTree), told.now);
    assert_eq!((bob.keeping.clone(), bob.snapshot_record.has_work_tree), (None, None));
    let long = KeepOutcome::Missed(MissCause::Failed, "x".repeat(MOST_TOLD * 3));
    let events = kept(&mut told, wish.wish, long);
    let is_bounded = events.iter().any(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => {
            matches!(&**event, SnapshotEvent::Missed(it) if it.told.len() == MOST_TOLD)
        }
        _ => false,
    });
    assert!(is_bounded, "{events:?}");
}

#[test]
fn a_wish_is_missed_at_its_time_and_not_before() {
    let mut told = in_git("claude");
    told.ask(Command::Stop("bob".into())).unwrap();
    let bob = told.agent(1);
    let until = bob.keeping.as_ref().unwrap().until;
    assert!(keeping::due(bob, until).is_some());
    assert!(keeping::due(bob, Time(until.0 - 1)).is_none());
}

/// KE6
#[test]
fn nothing_is_wanted_or_kept_of_a_damaged_agent() {
    let mut told = in_git("claude");
    told.ask(Command::Stop("bob".into())).unwrap();
    let keeps = |told: &Told| effects(told).iter().any(|it| matches!(it, Effect::Keep(_)));
    assert!(keeps(&told));
    told.damage(1);
    assert!(!keeps(&told));
    assert_eq!(keeping::renewed(told.agent(1), told.now), None);
    let bob = Agent { keeping: None, ..told.agent(1).clone() };
    assert_eq!(keeping::want(&bob, SnapshotCause::PlannedEnd, told.now), None);
}

/// KE4
#[test]
fn a_bare_command_is_not_looked_at_and_its_crash_is_not_waited_for() {
    let looks = |told: &Told| {
        let looks = |it: &Effect| matches!(it, Effect::Snapshot(SnapshotEffect::Look { .. }));
        effects(told).iter().any(looks)
    };
    let told = in_git(perennial_core::launch::BARE_COMMAND);
    let bob = told.agent(1);
    for (why, is_wanted) in [
        (SnapshotCause::Crash, false),
        (SnapshotCause::Reboot, false),
        (SnapshotCause::PlannedEnd, true),
    ] {
        assert_eq!(keeping::want(bob, why, told.now).is_some(), is_wanted, "{why:?}");
    }
    assert!(!looks(&told));
    assert!(looks(&in_git("claude")));
}

/// HA3's “or missed”: what is said of the newest snapshot is true of the work.
#[test]
fn the_newest_snapshot_is_told_unless_a_later_one_was_missed() {
    let mut bob = in_git("claude").agent(1).clone();
    let now = Time(5_000_000);
    let unchanged = |wish| {
        let (why, number) = (SnapshotCause::PlannedEnd, 1);
        AgentEvent::Snapshot(Box::new(SnapshotEvent::Unchanged { wish, why, number }))
    };
    assert_eq!(keeping::newest(&bob), (None, None));
    let known = (Some(1), Some("b".repeat(40)));
    fold(&mut bob, &taken(1, SnapshotCause::Commit, files(1), None), now);
    assert_eq!(keeping::newest(&bob), known);
    fold(&mut bob, &missed(1, MissCause::Failed), now);
    assert_eq!(keeping::newest(&bob), (None, None));
    fold(&mut bob, &unchanged(2), now);
    assert_eq!(keeping::newest(&bob), known);
    fold(&mut bob, &missed(3, MissCause::Failed), now);
    fold(&mut bob, &taken(2, SnapshotCause::Commit, files(2), None), now);
    assert_eq!(keeping::newest(&bob).0, Some(2));
    // The same commit in the same store, and nothing else.
    let other_store = SnapshotFiles { store: "other.git".into(), ..files(2) };
    for (files, is_newest) in [(files(2), true), (files(3), false), (other_store, false)] {
        assert_eq!(keeping::is_newest(&bob, &files), is_newest);
        assert_eq!(keeping::number(&bob, &files), if is_newest { 2 } else { 3 });
    }
}

/// KE5
#[test]
fn a_snapshot_shows_a_work_tree_and_says_nothing_of_another_place() {
    let mut bob = working().agent(1).clone();
    assert!(!keeping::has_work_to_keep(&bob));
    fold(&mut bob, &taken(1, SnapshotCause::Asked, files(1), None), Time(5_000_000));
    assert!(keeping::has_work_to_keep(&bob));
    let (dir, project) = ("/plain".to_owned(), "/plain".to_owned());
    let has_work_tree = None;
    let place = SessionPlace { dir, project, has_work_tree };
    bob.snapshot_record.session_place = Some(Box::new(place));
    assert!(!keeping::has_work_to_keep(&bob));
}

fn order(what: SnapshotAsked) -> Command {
    Command::Snapshot(Box::new(SnapshotOrder { target: "bob".into(), what }))
}

fn restore(number: u32, present: u32) -> Command {
    let (work_tree, in_tree) = ("/web".to_owned(), vec![BOB]);
    order(SnapshotAsked::Restore { number, present, with_index: false, work_tree, in_tree })
}

/// An agent that sleeps, with snapshots 1 and 2.
fn with_snapshots() -> Told {
    let mut told = in_git(perennial_core::launch::BARE_COMMAND);
    told.ask(Command::Stop("bob".into())).unwrap();
    let wish = told.agent(1).keeping.as_ref().unwrap().wish;
    kept(&mut told, wish, KeepOutcome::Missed(MissCause::Failed, String::new()));
    told.report(1, told.number(1), Report::Exited(Exit::KillSignal(15)));
    for commit in [1, 2] {
        told.ask(order(SnapshotAsked::Taken(SnapshotCause::Asked, files(commit)))).unwrap();
    }
    told
}

fn restored(told: &mut Told, restore: u32, found: Option<SnapshotFiles>) -> Vec<Event> {
    let (found, outcome) = (found.map(Box::new), RestoreOutcome::default());
    let report = SnapshotReport::Restored { restore, found, outcome };
    told.observe(&Observation::Snapshots { agent: BOB, report })
}

fn presents(events: &[Event]) -> Vec<(bool, u32)> {
    let of = |event: &Event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => match &**event {
            SnapshotEvent::Taken(it) => Some((true, it.number)),
            SnapshotEvent::RestoreEnded(it) => Some((false, it.present)),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// SR1, SR2
#[test]
fn restores_are_numbered_and_the_report_of_one_ends_no_other() {
    let mut told = with_snapshots();
    let request = Request { caller: Caller::Person, command: restore(1, 2) };
    let decision = told.fleet.decide(&request, told.now).unwrap();
    assert_eq!(
        decision.read,
        [Entity::Agent(BOB)],
        "a session that starts meanwhile is a conflict"
    );
    told.ask(restore(1, 2)).unwrap();
    for (tree, is_busy) in [("/web", true), ("/web/sub", true), ("/", true), ("/other", false)] {
        assert_eq!(told.fleet.restore_in(tree).is_some(), is_busy, "{tree}");
    }
    let number =
        |told: &Told| told.agent(1).snapshot_record.restoring.as_ref().map(|it| it.restore);
    assert_eq!(number(&told), Some(1));
    // What was there is the newest snapshot: no second one of it.
    assert_eq!(presents(&restored(&mut told, 1, Some(files(2)))), [(false, 2)]);
    told.ask(restore(1, 2)).unwrap();
    assert_eq!(number(&told), Some(2), "a number is never given twice");
    assert_eq!(restored(&mut told, 1, None), []);
    let mut bob = told.agent(1).clone();
    let (outcome, present) = (RestoreOutcome::default(), 2);
    let ended = RestoreEnded { restore: 1, number: 1, present, outcome };
    let ended = AgentEvent::Snapshot(Box::new(SnapshotEvent::RestoreEnded(ended)));
    fold(&mut bob, &ended, told.now);
    assert!(bob.snapshot_record.restoring.is_some());
    assert!(snapshot::given_up(&bob, "the home was copied").is_some());
    // What was there is new: it is kept, and told as what was there before.
    assert_eq!(presents(&restored(&mut told, 2, Some(files(9)))), [(true, 3), (false, 3)]);
    told.ask(restore(1, 3)).unwrap();
    told.damage(1);
    let restores = |it: &Effect| matches!(it, Effect::Snapshot(SnapshotEffect::Restore(_)));
    assert!(!effects(&told).iter().any(restores));
    assert_eq!(told.fleet.restore_in("/web"), None, "nobody waits for one that can't be read");
}

/// SD1
#[test]
fn the_newest_of_each_work_tree_and_what_is_in_use_are_never_dropped() {
    let mut told = with_snapshots();
    let snapshots = SnapshotTerms { automatic: Some(1), asked: None, for_time: None };
    let policy = Policy { snapshots, ..told.fleet.policy().clone() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    let in_tree = SnapshotFiles { work_tree: "/tree".into(), ..files(3) };
    let in_store = SnapshotFiles { store: "other.git".into(), ..files(4) };
    let mut bob = told.agent(1).clone();
    let mut last = None;
    let more = (5..=9).map(files);
    for (files, number) in [in_tree, in_store].into_iter().chain(more).zip(3..) {
        let event = taken(number, SnapshotCause::Commit, files, None);
        fold(&mut bob, &event, told.now);
        last = Some(event);
    }
    let last = last.unwrap();
    let dropped = |bob: &Agent| match snapshot::follow(&told.fleet, bob, &last) {
        Some(AgentEvent::Snapshot(event)) => match *event {
            SnapshotEvent::Dropped { numbers, .. } => numbers,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    assert_eq!(dropped(&bob), [5, 6, 7, 8], "3 and 4 are the newest of their places");
    bob.snapshot_record.restoring = Some(Box::new(Restoring {
        restore: 1,
        number: 5,
        present: 6,
        with_index: false,
        work_tree: "/web".into(),
    }));
    assert_eq!(dropped(&bob), [7, 8], "a restore uses 5 and 6");
    let text = Text { digest: Digest([7; 32]), bytes: 2, head: String::new() };
    let checkpoint = CheckpointTaken {
        number: 1,
        why: CheckpointCause::Commit,
        session: SessionNumber::FIRST,
        phase: WorkPhase::Planning,
        summary: String::new(),
        text,
        snapshot: Some(7),
        evidence: evidence(told.now),
    };
    let checkpoint = AgentEvent::Checkpoint(Box::new(CheckpointEvent::Taken(checkpoint)));
    fold(&mut bob, &checkpoint, told.now);
    assert_eq!(dropped(&bob), [8], "7 belongs to the last checkpoint");
}

#[test]
fn age_counts_to_the_day_and_only_what_was_dropped_is_removed() {
    let mut told = with_snapshots();
    let for_time = Some(DAY * 30);
    let terms = SnapshotTerms { automatic: None, asked: None, for_time };
    let mut bob = told.agent(1).clone();
    let at = told.now;
    for number in [3, 4] {
        let files = files(u8::try_from(number).unwrap());
        fold(&mut bob, &taken(number, SnapshotCause::Commit, files, None), at);
    }
    assert_eq!(snapshot::due_at(&bob, terms), Some(at + DAY * 31), "several at once");
    assert!(snapshot::due(&bob, terms, at + DAY * 30).is_some());
    assert!(snapshot::due(&bob, terms, Time((at + DAY * 30).0 - 1)).is_none());
    assert!(SnapshotCause::BeforeRestore.is_asked());
    assert!(CommitId::parse(&"0".repeat(40)).is_some());
    assert!(
        ["0".repeat(42), "0".repeat(38), "g".repeat(40)]
            .iter()
            .all(|it| CommitId::parse(it).is_none())
    );
    let report = SnapshotReport::Removed { numbers: vec![1, 7], bytes: 1 };
    assert_eq!(told.observe(&Observation::Snapshots { agent: BOB, report }), []);
    let (numbers, why) = (vec![1], snapshot::DropCause::Number);
    let what = AgentEvent::Snapshot(Box::new(SnapshotEvent::Dropped { numbers, why }));
    told.fold(&[Event { at, what: What::Agent(BOB, what) }]);
    assert_eq!(told.agent(1).snapshot_record.kept.drops, 1);
    let removes = |it: &Effect| matches!(it, Effect::Snapshot(SnapshotEffect::Remove(_)));
    assert!(effects(&told).iter().any(removes));
    told.damage(1);
    assert!(!effects(&told).iter().any(removes));
}

fn handoff(finish: bool) -> HandoffOrder {
    HandoffOrder {
        session: None,
        target: BOB.to_string(),
        subject: Some("half of the parser".into()),
        notes: Some("look at lexer.rs first".into()),
        deadline: None,
        finish,
    }
}

fn hand_off(told: &mut Told, order: HandoffOrder) -> Result<Vec<Event>, Refusal> {
    told.ask(Command::Handoff(Box::new(order)))
}

fn patrol() -> RoleTerms {
    let cycle = Cycle { after: Some(2), unit: CycleUnit::Round, interesting: Vec::new() };
    RoleTerms { is_declared: true, cycle: Some(cycle), ..RoleTerms::default() }
}

fn worker() -> RoleTerms {
    RoleTerms {
        span: Span::Mortal,
        overseer: Some("witness".into()),
        is_declared: true,
        cycle: Some(Cycle { after: Some(1), unit: CycleUnit::Assignment, interesting: Vec::new() }),
        ..RoleTerms::default()
    }
}

fn with_role(role: &str, terms: RoleTerms) -> Told {
    let mut told = working();
    let roles = [(NameKey::of(role), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    take(&mut told, BOB, role);
    told
}

fn take(told: &mut Told, agent: AgentId, role: &str) {
    let (target, role) = (agent.to_string(), role.parse().expect("a name"));
    told.ask(Command::Assume { target, role, declared: None }).expect("taken");
}

fn measured(percent: u64) -> Sign {
    let source = Source::StatusLine;
    let sample = Sample { tokens: percent * 10, window: 1000, usable: 1000, source };
    Sign::Measured { conversation: None, sample }
}

fn handoff_at(told: &Told) -> Option<Time> {
    let plan = told.fleet.plan(&Entity::Agent(BOB), told.now);
    plan.timers.into_iter().find(|(timer, _)| *timer == Timer::Handoff).map(|(_, at)| at)
}

fn is_ending(told: &Told) -> bool {
    told.agent(1).session.as_ref().is_some_and(|it| matches!(it.phase, Phase::Ending(_)))
}

fn read(told: &mut Told) {
    let id = told.fleet.messages().handoff(BOB).expect("it is asked").id;
    let number = told.number(1);
    let offers = message::for_hook(&told.fleet, BOB, number, told.now);
    let at = told.now;
    let events: Vec<Event> =
        offers.into_iter().map(|(id, it)| Event { at, what: What::Message(id, it) }).collect();
    told.fold(&events);
    let trace = Trace::Mentioned { ids: vec![id] };
    told.observe(&Observation::Traced { agent: BOB, number, trace });
}

/// HA1, HA3, HA4, HA5: a handoff is about one session alone.
#[test]
fn a_handoff_is_about_its_own_session() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    let with = |change: &dyn Fn(&mut Agent)| {
        let mut bob = told.agent(1).clone();
        change(&mut bob);
        bob
    };
    let last = |bob: &mut Agent| bob.handoff.last.clone().unwrap();
    let another = with(&|bob| {
        let it = last(bob);
        bob.handoff.last = Some(Box::new(perennial_core::handoff::Handoff {
            number: SessionNumber(9),
            hands_over: true,
            ..*it
        }));
    });
    assert!(another.handing_off().is_none());
    assert!(another.taken_over_by().is_none() && another.handoff_notes().is_none());
    let under_way = with(&|_| ());
    assert!(under_way.taken_over_by().is_none() && under_way.handoff_to_complete().is_none());
    assert!(under_way.handing_off().is_some());
    let dead = with(&|bob| {
        bob.handoff.last.as_mut().unwrap().hands_over = true;
        bob.state = State::Dead;
    });
    assert!(dead.handoff_to_complete().is_none());
    for (by, notes, told_of) in [
        (Witness::Operator, None, Some(("half of the parser", ""))),
        (Witness::Daemon, Some("n"), Some(("half of the parser", "n"))),
        (Witness::Daemon, None, None),
    ] {
        let bob = with(&|bob| {
            let last = bob.handoff.last.as_mut().unwrap();
            (last.by, last.notes) = (by, notes.map(str::to_owned));
        });
        assert_eq!(bob.handoff_notes(), told_of);
    }
}

#[test]
fn where_its_turn_stands_is_known_when_it_is_asked() {
    let bob = working().agent(1).clone();
    for (state, reason, turn, stands) in [
        (State::Working, Reason::BackgroundTasks, Turn::Open, TurnStands::Idle),
        (State::Working, bob.reason, Turn::Open, TurnStands::Runs),
        (State::Waiting, Reason::NeedsPermission, Turn::Open, TurnStands::Asks),
        (State::Waiting, Reason::RateLimited, Turn::Open, TurnStands::Runs),
        (State::Waiting, Reason::Idle, Turn::Over, TurnStands::Idle),
        (State::Unknown, bob.reason, Turn::Open, TurnStands::Runs),
        (State::Unknown, bob.reason, Turn::Over, TurnStands::Idle),
    ] {
        let bob = Agent { state, reason, turn, ..bob.clone() };
        assert_eq!(TurnStands::of(&bob), stands, "{state:?} {reason:?}");
    }
}

/// HA2
#[test]
fn an_answer_right_before_the_deadline_does_not_put_it_off() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    told.show(1, Sign::Waits(Wait::RateLimit(None)));
    assert_eq!(told.agent(1).handing_off().unwrap().stands, TurnStands::Runs);
    told.pass(DEADLINE - Duration::from_secs(2));
    let word = HandoffOrder { subject: Some("all of it".into()), notes: None, ..handoff(false) };
    told.ask_as(OWN, Command::Handoff(Box::new(word))).unwrap();
    let last = told.agent(1).handing_off().unwrap();
    assert_eq!(last.subject, "all of it");
    assert_eq!(last.notes.as_deref(), Some("look at lexer.rs first"), "kept");
    assert!(!is_ending(&told));
    told.pass(Duration::from_secs(2));
    told.observe(&due(BOB));
    assert!(is_ending(&told));
}

/// What was read long ago is no answer to a turn that ended just now.
#[test]
fn a_turn_that_has_just_ended_is_waited_for() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    read(&mut told);
    told.pass(Duration::from_secs(20));
    told.show(1, Sign::Waits(Wait::Input));
    assert!(!is_ending(&told));
    // A checkpoint that nobody asked for is not its word.
    composed(&mut told, CheckpointCause::Phase);
    assert_eq!(told.agent(1).handing_off().unwrap().answer, None);
}

#[test]
fn the_deadline_and_the_words_are_bounded() {
    for (wanted, is) in [(Duration::ZERO, DEADLINE_LEAST), (DEADLINE_MOST * 9, DEADLINE_MOST)] {
        let mut told = working();
        let subject = Some("é".repeat(200));
        hand_off(&mut told, HandoffOrder { deadline: Some(wanted), subject, ..handoff(false) })
            .unwrap();
        let last = told.agent(1).handing_off().unwrap();
        assert_eq!(last.deadline, last.asked_at + is);
        assert!(last.subject.len() <= 200, "{}", last.subject.len());
    }
}

#[test]
fn nobody_is_asked_who_is_held() {
    let mut told = with_role("patrol", patrol());
    told.show(1, measured(81));
    told.show(1, Sign::Waits(Wait::Input));
    assert!(handoff_at(&told).is_some());
    told.hold(1, HeldFor::Person);
    assert_eq!(handoff_at(&told), None);
    assert!(matches!(hand_off(&mut told, handoff(false)), Err(Refusal::Held { .. })));
}

/// HA3: a checkpoint from before it was asked is not that of its work.
#[test]
fn a_checkpoint_from_before_does_not_complete_it() {
    let mut told = working();
    composed(&mut told, CheckpointCause::Phase);
    hand_off(&mut told, handoff(false)).unwrap();
    hand_off(&mut told, handoff(true)).unwrap();
    let events = told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    assert!(!has_completed(&events), "{events:?}");
    assert_eq!(told.agent(1).checkpoint_due, Some(CheckpointCause::Handoff));
    // One of the successor neither.
    told.begun(1, "b", Followed::Started);
    let events = composed(&mut told, CheckpointCause::Phase);
    assert!(!has_completed(&events), "{events:?}");
}

/// HA9: by a window alone; and what is due is due once.
#[test]
fn what_is_due_is_told_once_and_the_first_cause_stands() {
    let mut told = with_role("patrol", patrol());
    told.show(1, Sign::LargeTurn { percent: 20 });
    assert!(told.agent(1).handoff.due.is_some());
    assert_eq!(told.show(1, Sign::LargeTurn { percent: 50 }), []);
    told.show(1, measured(81));
    let cause = |told: &Told| told.agent(1).handoff.due.as_ref().map(|due| due.cause);
    assert_eq!(cause(&told), Some(HandoffCause::Interesting));
    let mut told = with_role("patrol", patrol());
    told.show(1, measured(81));
    let again = told.show(1, measured(82));
    assert!(
        !again.iter().any(|it| matches!(it.what, What::Agent(_, AgentEvent::Handoff(_)))),
        "{again:?}"
    );
    told.show(1, Sign::WindowBegan);
    assert_eq!(cause(&told), None, "the clock's ends with its window");
    told.show(1, measured(81));
    hand_off(&mut told, handoff(false)).unwrap();
    assert_eq!(cause(&told), None, "it is asked");
    // A person's handoff is no churn.
    hand_off(&mut told, handoff(true)).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    told.begun(1, "b", Followed::Started);
    told.show(1, measured(81));
    assert_eq!(cause(&told), Some(HandoffCause::Clock));
}

/// Whose last task is done rests: only the count of its tasks waits for another one.
#[test]
fn a_rule_that_counts_tasks_waits_for_the_next_and_others_do_not() {
    let mut told = with_role("worker", worker());
    told.show(1, measured(81));
    told.pass(Duration::from_secs(9));
    told.show(1, Sign::Waits(Wait::Input));
    assert_eq!(handoff_at(&told), Some(told.agent(1).since));
    let mut told = with_role("worker", worker());
    let (number, cause, subject) = (told.number(1), HandoffCause::Units, String::new());
    let due = HandoffEvent::Due { number, cause, subject }.of_agent();
    told.fold(&[Event { at: told.now, what: What::Agent(BOB, due) }]);
    told.show(1, Sign::Waits(Wait::Input));
    assert_eq!(handoff_at(&told), None);
}

/// Who oversees is told by a rule and by the agent's own word, not by a person's.
#[test]
fn the_overseer_is_the_living_holder_and_is_told_by_rule() {
    let witness = AgentId(2);
    let watched = |terms: RoleTerms| {
        let mut told = with_role("worker", terms);
        told.spawn_cli_under(Restart::OnCrash, 2, true, None).unwrap();
        told.begun(2, "w", Followed::Started);
        take(&mut told, witness, "witness");
        told
    };
    let by_rule = |told: &mut Told| {
        told.show(1, measured(81));
        told.show(1, Sign::Waits(Wait::Input));
        told.observe(&Observation::Due { entity: Entity::Agent(BOB), timer: Timer::Handoff });
        told.agent(1).handing_off().expect("asked").overseer
    };
    assert_eq!(by_rule(&mut watched(worker())), Some(witness));
    assert_eq!(by_rule(&mut watched(RoleTerms { span: Span::Persistent, ..worker() })), None);
    let mut told = watched(worker());
    told.ask(Command::Stop(witness.to_string())).unwrap();
    told.report(2, told.number(2), Report::Exited(Exit::Code(0)));
    assert_eq!(by_rule(&mut told), None, "it sleeps");
    let mut told = watched(worker());
    hand_off(&mut told, handoff(false)).unwrap();
    assert_eq!(told.agent(1).handing_off().unwrap().overseer, None);
    let mut told = watched(worker());
    let subject = Some("a ” b\nc".to_owned());
    told.ask_as(OWN, Command::Handoff(Box::new(HandoffOrder { subject, ..handoff(false) })))
        .unwrap();
    let mail = told.fleet.messages().of(witness).find_map(message::Message::mail).unwrap();
    assert!(mail.excerpt.contains("“a ' b c”"), "{}", mail.excerpt);
    assert!(!told.fleet.oversees(Caller::Agent(witness), witness));
}

/// A session and a window begin with what is their own.
#[test]
fn what_is_counted_of_a_session_ends_with_it() {
    let compaction = Sign::Symptom { symptom: Symptom::Compaction, sample: None };
    let mut told = with_role("patrol", patrol());
    told.show(1, compaction.clone());
    assert!(told.agent(1).handoff.announced.is_some());
    told.show(1, Sign::LargeTurn { percent: 50 });
    told.report(1, told.number(1), Report::Exited(Exit::Code(1)));
    let bob = told.agent(1);
    assert!(matches!(bob.session.as_ref().unwrap().opening, Opening::Resume { .. }));
    assert_eq!((bob.handoff.compactions, bob.handoff.noticed), (0, None));
    assert!(bob.handoff.due.is_some(), "its conversation is the same");
    told.begun(1, "a", Followed::Resumed);
    hand_off(&mut told, handoff(false)).unwrap();
    hand_off(&mut told, handoff(true)).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(1)));
    let known = &told.agent(1).handoff;
    assert_eq!((known.announced, known.warned, known.units), (None, None, 0));
    // The most urgent one stands until the next window.
    let mut told = with_role("patrol", patrol());
    let full = Some(Sample { tokens: 76, window: 100, usable: 100, source: Source::Transcript });
    told.show(1, Sign::Symptom { symptom: Symptom::OwnWord, sample: full });
    told.show(1, compaction);
    assert_eq!(told.agent(1).handoff.warned, Some(Urgency::High));
    told.show(1, Sign::WindowBegan);
    assert_eq!(told.agent(1).handoff.warned, None);
}

/// Before a compaction the work is kept.
#[test]
fn a_compaction_that_is_announced_has_the_work_kept() {
    let mut told = in_git("claude");
    told.show(1, Sign::Symptom { symptom: Symptom::Compaction, sample: None });
    let wish = told.agent(1).keeping.clone().expect("a wish");
    assert_eq!(wish.why, SnapshotCause::Checkpoint);
    // A draft with another snapshot's number was overtaken.
    let draft = draft(&told, Some(7));
    let outcome = KeepOutcome::Taken(Box::new(files(1)));
    let (wish, why, checkpoint) = (wish.wish, wish.why, Some(draft));
    let events = told.observe(&Observation::Kept { agent: BOB, wish, why, outcome, checkpoint });
    assert_eq!(told.agent(1).checkpoint, None, "{events:?}");
    assert_eq!(told.agent(1).snapshots, 1);
}

#[test]
fn a_checkpoint_has_the_cause_that_the_agents_state_shows() {
    let bob = in_git("claude").agent(1).clone();
    let handing_off = Agent { state: State::HandingOff, ..bob.clone() };
    let finished = Agent { reason: Reason::Finished, ..bob.clone() };
    for (agent, why, cause) in [
        (&bob, SnapshotCause::PlannedEnd, CheckpointCause::PlannedEnd),
        (&handing_off, SnapshotCause::PlannedEnd, CheckpointCause::Handoff),
        (&bob, SnapshotCause::Crash, CheckpointCause::Crash),
        (&finished, SnapshotCause::Crash, CheckpointCause::Finished),
    ] {
        assert_eq!(checkpoint::cause(agent, why), Some(cause));
    }
}

/// RE1, HA6
#[test]
fn terms_bind_only_whoever_holds_a_declared_role() {
    let mut bob = working().agent(1).clone();
    bob.role_terms = worker();
    assert_eq!(rest::span(&bob), None, "it holds no role");
    assert_eq!(rest::earned(&bob, TaskId(1), "t"), None);
    let undeclared = RoleTerms { is_declared: false, handoff_at: Some(80), ..worker() };
    assert!(undeclared.cycled_by().is_none() && undeclared.hands_off_at().is_none());
}

/// SC3
#[test]
fn a_persons_wish_for_a_new_conversation_outlives_a_thrash_and_a_resume() {
    let mut bob = working().agent(1).clone();
    bob.succession.afresh = Some(Afresh::Asked);
    succession::thrashed(&mut bob);
    succession::recovered(&mut bob);
    assert_eq!(bob.succession.afresh, Some(Afresh::Asked));
    let (conversation, turn) = ("a".parse().unwrap(), Turn::Over);
    bob.session.as_mut().unwrap().opening = Opening::Resume { conversation, turn };
    succession::followed(&mut bob);
    assert_eq!(bob.succession.afresh, Some(Afresh::Asked));
}

/// HA4: also if the machine restarts while the session hands off.
#[test]
fn the_successor_after_a_reboot_begins_afresh() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    told.reboot();
    assert_eq!(told.agent(1).succession.afresh, Some(Afresh::Handoff));
    let bob = working().agent(1).clone();
    assert_eq!(bob.foretell(None, false).beginning, Beginning::Crash);
    let next = bob.foretell(Some(Beginning::Handoff), false);
    assert!(matches!(next.opening, Opening::Anew { why: Afresh::Handoff, .. }), "{next:?}");
    let next = Agent { turn: Turn::Open, ..bob }.foretell(Some(Beginning::Stop), false);
    assert!(matches!(next.opening, Opening::Resume { turn: Turn::Stopped, .. }), "{next:?}");
}

#[test]
fn whatever_is_quoted_is_nobodys_own_word() {
    for quoted in [
        "~~~\nI'm running out of context\n~~~",
        "| I'm running out of context |",
        "\tI'm running out of context",
        "It says «I'm running out of context».",
    ] {
        assert_eq!(symptom::in_words(quoted, Speaker::Agent), None, "{quoted}");
    }
    let compress = "the context is compressed";
    assert_eq!(symptom::in_words(compress, Speaker::Tool), Some(Symptom::Words));
    let none = Sample { tokens: 0, window: 0, usable: 0, source: Source::Transcript };
    assert!(!symptom::is_used_up(&none));
}

#[test]
fn evidence_of_the_same_moment_says_nothing_and_edits_are_remembered() {
    let mut work = WorkState::begun(Time(10));
    work.report(WorkPhase::Implementation, Time(20));
    assert!(work.has_edited);
    work.report(WorkPhase::Planning, Time(15));
    assert_eq!(work.weighed_until, Time(20));
    assert!(work.spans().windows(2).all(|two| two[0].left_at == Some(two[1].entered_at)));
    assert!(
        work.spans().iter().all(|span| span.left_at.is_none_or(|left| left >= span.entered_at))
    );
    let mut bob = working().agent(1).clone();
    bob.work = work;
    let found = |at| {
        let number = SessionNumber::FIRST;
        perennial_core::work::found(&bob, number, Indicator::TestsRun, Time(at), Time(99))
    };
    assert!(found(20).is_none() && found(21).is_some());
    use WorkPhase::{Completion, Implementation, Investigation, Planning};
    for (indicator, from, to) in [
        (Indicator::PlanTold, Completion, Some(Planning)),
        (Indicator::CompletionTold, Implementation, Some(Completion)),
        (Indicator::CompletionTold, Investigation, None),
        (Indicator::CompletionTold, Planning, None),
    ] {
        assert_eq!(indicator.leads_from(from, true), to, "{indicator:?} {from:?}");
    }
    let call = LastCall { tool: "Bash".into(), about: "ls".into(), is_open: true, at: Time(1) };
    let earlier = Findings {
        committed_at: Some(Time(1)),
        last_words: Some("ok".into()),
        last_call: Some(call),
        ..Findings::default()
    };
    assert_eq!(Findings::default().with_earlier(&earlier), earlier);
}

/// What is told of a handoff to the dead is told to nobody.
#[test]
fn the_notes_of_a_handoff_are_not_sent_to_the_dead() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    told.ask(Command::Bury { target: BOB.to_string(), summary: None }).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    assert_eq!(told.fleet.messages().within(&Mailbox::Agent(BOB)).count(), 0);
}

/// L3: also in the moment in which a place is free and the first in line has not been asked yet.
#[test]
fn whoever_comes_anew_does_not_take_the_place_of_the_first_in_line() {
    let mut told = Told::new();
    let policy = Policy { max_running: Some(1), ..Policy::default() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    told.spawn(1, Some("bob"), Restart::Never);
    told.executed(1);
    told.spawn(2, Some("eve"), Restart::Never);
    assert_eq!(told.fleet.place_in_line(AgentId(2)), Some((1, 1)));
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    told.spawn(3, Some("kim"), Restart::Never);
    assert_eq!(told.fleet.place_in_line(AgentId(3)), Some((2, 2)));
    assert_eq!(told.starting(), [0; 0]);
    told.all_due();
    assert_eq!(told.starting(), [2]);
}

/// SR1: who waited for a restore is planned when it has ended.
#[test]
fn the_end_of_a_restore_plans_those_who_wait_in_its_tree() {
    let mut told = with_snapshots();
    told.ask(restore(1, 2)).unwrap();
    let spawn = Spawn {
        id: AgentId(2),
        name: "eve".parse().ok(),
        role: None,
        parent: None,
        launch: Launch { dir: "/web/sub".into(), project: "/web/.git".into(), ..launch() },
        restart: Restart::Never,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told.all_due();
    assert_eq!((told.starting(), told.fleet.held_back_by(AgentId(2))), (Vec::new(), Some(BOB)));
    let (found, outcome) = (None, RestoreOutcome::default());
    let report = SnapshotReport::Restored { restore: 1, found, outcome };
    let events = told.fleet.observe(&Observation::Snapshots { agent: BOB, report }, told.now);
    let mut after = told.fleet.clone();
    let touched: Vec<Entity> = events.iter().flat_map(|event| after.evolve(event)).collect();
    assert!(touched.contains(&Entity::Agent(AgentId(2))), "{touched:?}");
}

/// After a reboot 2 and 3 start; 4, 5 and 6 stand in the line before 7, where files may be restored.
fn three_before_another() -> Told {
    let mut told = with_snapshots();
    for (id, dir) in [(2, "/x"), (3, "/y"), (4, "/web"), (5, "/web"), (6, "/web"), (7, "/z")] {
        let spawn = Spawn {
            id: AgentId(id),
            name: format!("a{id}").parse().ok(),
            role: None,
            parent: None,
            launch: Launch { dir: dir.into(), project: format!("{dir}/.git"), ..launch() },
            restart: Restart::OnCrash,
            conversation: None,
            situations: Vec::new(),
        };
        told.ask(Command::Spawn(Box::new(spawn))).unwrap();
        told.executed(id);
    }
    told.reboot();
    told.all_due();
    assert_eq!(told.starting(), [2, 3]);
    told
}

/// SR1: those that a restore holds back stand in nobody's way; who is next in spite of them is planned at once.
#[test]
fn who_stands_behind_those_that_a_restore_holds_back_is_planned() {
    let is_planned = |told: &Told, events: &[Event]| {
        let mut after = told.fleet.clone();
        let touched: Vec<Entity> = events.iter().flat_map(|event| after.evolve(event)).collect();
        touched.contains(&Entity::Agent(AgentId(7)))
    };
    let runs = |told: &Told, id: u128| {
        let report = Report::Executed(Process { pid: 7, start_ticks: 7 });
        let (agent, number) = (AgentId(id), told.number(id));
        let report = Observation::Session { agent, number, report };
        told.fleet.observe(&report, told.now)
    };
    // A place becomes free while files are being restored …
    let mut told = three_before_another();
    told.ask(restore(1, 2)).unwrap();
    assert!(is_planned(&told, &runs(&told, 2)), "the next one that may start");
    // … or a restore begins while a place is free.
    let mut told = three_before_another();
    told.executed(2);
    let asked = Request { caller: Caller::Person, command: restore(1, 2) };
    let begun = told.fleet.decide(&asked, told.now).unwrap();
    assert!(is_planned(&told, &begun.events), "whoever is next instead");
    told.ask(restore(1, 2)).unwrap();
    told.all_due();
    assert_eq!(told.starting(), [3, 7]);
}

#[test]
fn a_session_is_told_after_what_it_begins() {
    let mut told = working();
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    told.ask(Command::Restart(BOB.to_string())).unwrap();
    assert_eq!(told.agent(1).succession.beginning, Beginning::Stop, "nothing was restarted");
    told.begun(1, "a", Followed::Resumed);
    told.pass(Duration::from_secs(60));
    told.report(1, told.number(1), Report::Exited(Exit::Code(1)));
    told.all_due();
    assert_eq!(told.agent(1).succession.beginning, Beginning::Crash, "it had begun");
    // A conversation that was there before the agent is no work of its own.
    let mut told = Told::new();
    told.spawn_cli(1, false, Some("old")).unwrap();
    told.begun(1, "old", Followed::Resumed);
    assert_eq!(told.agent(1).told_at_window(Some(Followed::Resumed)), None);
}

/// HA9, to the microsecond; and the operator is told why.
#[test]
fn churn_ends_when_its_time_is_over() {
    let mut told = with_role("patrol", patrol());
    told.show(1, measured(81));
    told.show(1, Sign::Waits(Wait::Input));
    told.observe(&Observation::Due { entity: Entity::Agent(BOB), timer: Timer::Handoff });
    hand_off(&mut told, handoff(true)).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    told.begun(1, "b", Followed::Started);
    let asked_at = told.agent(1).handoff.last.as_ref().unwrap().asked_at;
    let mut early = told.clone();
    early.show(1, measured(81));
    let mails = early.fleet.messages();
    let mail = mails.within(&Mailbox::Operator).find_map(message::Message::mail).unwrap();
    assert!(mail.excerpt.contains("too recent"), "{}", mail.excerpt);
    told.now = asked_at + perennial_core::handoff::CHURN_WITHIN;
    told.now = Time(told.now.0 - 1000);
    told.show(1, measured(81));
    assert!(told.agent(1).handoff.due.is_some());
}

/// HA8
#[test]
fn who_gave_up_and_asks_something_is_not_at_a_boundary() {
    let mut told = with_role("patrol", patrol());
    told.show(1, Sign::Symptom { symptom: Symptom::Thrash, sample: None });
    assert!(told.agent(1).handoff.due.is_some());
    told.show(1, Sign::Waits(Wait::Permission));
    assert_eq!(handoff_at(&told), None);
    told.show(1, Sign::Waits(Wait::Failure));
    assert!(handoff_at(&told).is_some());
}

/// HA3, CK6: a session that crashes while it hands off owes the checkpoint of its work, whoever runs since.
#[test]
fn a_crash_in_a_handoff_owes_a_checkpoint_of_that_session() {
    let mut told = working();
    composed(&mut told, CheckpointCause::Phase);
    hand_off(&mut told, handoff(false)).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(1)));
    assert_eq!(told.agent(1).checkpoint_due, Some(CheckpointCause::Handoff));
    told.begun(1, "b", Followed::Started);
    let mut plan = perennial_core::effect::Plan::default();
    checkpoint::plan(told.agent(1), &mut plan);
    let [Effect::Checkpoint(effect)] = &plan.effects[..] else { panic!("{plan:?}") };
    assert_eq!((effect.session, effect.why), (SessionNumber(1), CheckpointCause::Handoff));
}

/// HA2: a restart ended the handoff; a reboot later does not bring it back.
#[test]
fn a_handoff_that_was_ended_instead_hands_nothing_over() {
    let mut told = working();
    hand_off(&mut told, handoff(false)).unwrap();
    let request = told.fleet.messages().handoff(BOB).unwrap().clone();
    assert!(request.as_handoff(&told.fleet).is_some());
    let content = message::Content::Handoff { number: SessionNumber(9) };
    assert_eq!(message::Message { content, ..request }.as_handoff(&told.fleet), None);
    told.ask(Command::Restart(BOB.to_string())).unwrap();
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    told.begun(1, "a", Followed::Resumed);
    told.show(1, Sign::TurnBegan);
    told.reboot();
    assert!(!told.agent(1).handoff.last.as_ref().unwrap().hands_over);
}

#[test]
fn checkpoints_of_the_dead_the_damaged_and_the_finished() {
    let mut told = working();
    let moment = told.now;
    composed(&mut told, CheckpointCause::Phase);
    let at = told.agent(1).checkpoint.as_ref().unwrap().at;
    assert!(at > moment && checkpoint::is_stored_since(told.agent(1), at));
    assert!(!checkpoint::is_stored_since(told.agent(1), Time(at.0 + 1)));
    let mut bob = told.agent(1).clone();
    (bob.checkpoint_due, bob.reason) = (Some(CheckpointCause::Crash), Reason::Finished);
    let mut plan = perennial_core::effect::Plan::default();
    checkpoint::plan(&bob, &mut plan);
    let [Effect::Checkpoint(effect)] = &plan.effects[..] else { panic!("{plan:?}") };
    assert_eq!(effect.why, CheckpointCause::Finished);
    told.show(1, Sign::Symptom { symptom: Symptom::Compaction, sample: None });
    assert!(checkpoint::is_awaited(told.agent(1)));
    let mut damaged = told.clone();
    damaged.damage(1);
    assert!(!checkpoint::is_awaited(damaged.agent(1)));
    told.report(1, told.number(1), Report::Exited(Exit::Code(0)));
    let draft = draft(&told, None);
    let dead = Agent { state: State::Dead, session: None, ..told.agent(1).clone() };
    let dead = Agent { keeping: None, ..dead };
    assert!(dead.is_over());
    assert_eq!(checkpoint::composed(&dead, CheckpointCause::Phase, &draft, told.now), []);
}

#[test]
fn an_overseer_is_somebody_else_and_what_is_not_listed_is_not_interesting() {
    let terms = RoleTerms { overseer: Some("worker".into()), ..worker() };
    let told = with_role("worker", terms);
    assert!(!told.fleet.oversees(OWN, BOB));
    let mut told = with_role("patrol", patrol());
    told.spawn_cli_under(Restart::OnCrash, 2, true, None).unwrap();
    let parent = Some(perennial_core::settings::NewParent::Agent(BOB.to_string()));
    let settings = perennial_core::settings::Settings { parent, ..Default::default() };
    let (target, then) = (AgentId(2).to_string(), perennial_core::command::Then::Nothing);
    let set = perennial_core::command::Set { target, settings, then };
    told.ask(Command::Set(Box::new(set))).unwrap();
    told.ask_as(OWN, Command::Stop(AgentId(2).to_string())).unwrap();
    assert_eq!(told.agent(1).handoff.due, None);
}

#[test]
fn rules_of_the_operator_have_words_of_two_letters_and_tools() {
    use perennial_core::work::{PhaseRules, RuleChanges};
    let changes = RuleChanges { edit_tools: vec!["sculpt".into()], ..RuleChanges::default() };
    assert_eq!(changes.mistake(), None);
    let rules = PhaseRules::default().with(&changes);
    assert_eq!(rules.edit_tools.last().map(String::as_str), Some("sculpt"));
    let short = RuleChanges { testing: vec!["x".into()], ..RuleChanges::default() };
    assert!(short.mistake().is_some());
}
