//! Checkpoints as they are recorded: numbers, who may, whose words, and nothing made from what is outdated.

use std::sync::Arc;
use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::checkpoint::{
    self, Checkpoint, CheckpointCause, CheckpointDraft, CheckpointEvent, CheckpointOrder,
    CheckpointTaken, Material, SaidDraft, SaidFault, SaidField,
};
use perennial_core::command::{Command, Spawn};
use perennial_core::conversation::Followed;
use perennial_core::effect::{CheckpointEffect, Effect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::keeping::{KeepOutcome, Keeping};
use perennial_core::launch::Launch;
use perennial_core::observation::{Observation, Report, Sign};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::snapshot::{SnapshotCause, SnapshotFiles};
use perennial_core::text::{Digest, Text, TextBody};
use perennial_core::time::Time;
use perennial_core::work::{Indicator, WorkPhase};

use crate::told::{Told, launch};

const BOB: Caller = Caller::Agent(AgentId(1));

fn files() -> SnapshotFiles {
    SnapshotFiles {
        store: "web.git".into(),
        work_tree: "/web".into(),
        commit: "0".repeat(40),
        base: None,
        files: 1,
        bytes: 1,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
    }
}

/// What the shell makes of an agent as it is now.
fn draft(told: &Told, said: &SaidDraft, with_snapshot: bool) -> CheckpointDraft {
    let agent = told.agent(1);
    let snapshot = with_snapshot.then_some(agent.snapshots + 1);
    let material = Material { said: said.clone(), snapshot, ..Material::default() };
    let content: Checkpoint = checkpoint::compose(agent, &Fleet::default(), material, Time(99));
    let text = Text { digest: Digest([7; 32]), bytes: 2, head: "{}".into() };
    let body = TextBody { text, body: Arc::from("{}") };
    let files = with_snapshot.then(|| (SnapshotCause::Checkpoint, files()));
    CheckpointDraft { after: checkpoint::number(agent), content, body, files }
}

fn order(said: SaidDraft, draft: CheckpointDraft) -> Command {
    Command::Checkpoint(Box::new(CheckpointOrder { target: "bob".into(), said, draft }))
}

fn taken(events: &[Event]) -> Option<CheckpointTaken> {
    events.iter().find_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Checkpoint(event)) => {
            let CheckpointEvent::Taken(taken) = &**event;
            Some(taken.clone())
        }
        _ => None,
    })
}

fn told() -> Told {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told
}

/// CK1, CK4
#[test]
fn numbers_have_no_gaps_and_its_snapshot_is_in_the_same_batch() {
    let mut told = told();
    for number in 1..=2 {
        let said = SaidDraft::default();
        let draft = draft(&told, &said, true);
        let events = told.ask(order(said, draft)).expect("allowed");
        let taken = taken(&events).expect("recorded");
        assert_eq!((taken.number, taken.snapshot), (number, Some(number)));
        assert_eq!(taken.why, CheckpointCause::AskedByOperator);
        assert_eq!(taken.text.head, "");
        assert_eq!(told.agent(1).snapshots, number);
    }
    told.restart();
    assert_eq!(checkpoint::number(told.agent(1)), 2);
}

/// CK2
#[test]
fn what_was_composed_from_an_older_checkpoint_is_refused() {
    let mut told = told();
    let said = SaidDraft::default();
    let (first, second) = (draft(&told, &said, true), draft(&told, &said, false));
    told.ask(order(said.clone(), first.clone())).expect("the first");
    let outdated = Err(Refusal::CheckpointOutdated { agent: AgentId(1) });
    assert_eq!(told.ask(order(said.clone(), second)), outdated);
    // Its words are the newest, its snapshot is not.
    let late = CheckpointDraft { after: 1, ..first };
    assert_eq!(told.ask(order(said, late)), outdated);
    assert_eq!(checkpoint::number(told.agent(1)), 1);
}

/// CK2, CK3
#[test]
fn only_the_agent_itself_speaks_for_it_and_within_bounds() {
    let mut told = told();
    told.spawn(2, Some("eve"), Restart::Never);
    told.executed(1);
    let said = SaidDraft {
        phase: Some(WorkPhase::Testing),
        summary: Some("half done".into()),
        ..SaidDraft::default()
    };
    let ready = draft(&told, &said, false);
    assert_eq!(told.ask(order(said.clone(), ready.clone())), Err(Refusal::NotASession));
    for caller in [Caller::Agent(AgentId(2)), Caller::Job, Caller::Viewer, Caller::Ambiguous] {
        let refused = told.ask_as(caller, order(said.clone(), ready.clone()));
        assert!(matches!(refused, Err(Refusal::NotAllowed { verb: Verb::Checkpoint, .. })));
    }
    let long = SaidDraft { summary: Some("x".repeat(2001)), ..SaidDraft::default() };
    let (field, bytes, most) = (SaidField::Summary, 2001, 2000);
    let fault = SaidFault::TooLong { field, bytes, most };
    let refused = told.ask_as(BOB, order(long, ready.clone()));
    assert_eq!(refused, Err(Refusal::Checkpoint { fault }));
    let events = told.ask_as(BOB, order(said, ready)).expect("its own");
    let taken = taken(&events).expect("recorded");
    assert_eq!(taken.why, CheckpointCause::AskedByAgent);
    assert_eq!((taken.phase, taken.summary.as_str()), (WorkPhase::Testing, "half done"));
    assert_eq!(told.agent(1).summary.as_deref(), Some("half done"));
}

#[test]
fn none_is_taken_of_the_dead() {
    let mut told = told();
    let ready = draft(&told, &SaidDraft::default(), false);
    told.ask(Command::Bury { target: "bob".into(), summary: None }).expect("buried");
    let refused = told.ask(order(SaidDraft::default(), ready));
    assert!(matches!(refused, Err(Refusal::WrongState { verb: Verb::Checkpoint, .. })));
}

/// An agent CLI that runs, in a git work tree or not.
fn cli(project: &str) -> Told {
    let mut told = Told::new();
    let (dir, harness) = ("/web".to_owned(), "claude".to_owned());
    let spawn = Spawn {
        id: AgentId(1),
        name: "bob".parse().ok(),
        role: None,
        parent: None,
        launch: Launch { harness, dir, project: project.to_owned(), ..launch() },
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).expect("spawned");
    told.begun(1, "talk", Followed::Started);
    told
}

/// What the shell makes of a wish: the snapshot has this number.
fn composed(told: &Told, snapshot: Option<u32>) -> CheckpointDraft {
    let agent = told.agent(1);
    let session = Some(checkpoint::session(agent));
    let material = Material { session, snapshot, ..Material::default() };
    let content = checkpoint::compose(agent, &Fleet::default(), material, told.now);
    CheckpointDraft { content, ..draft(told, &SaidDraft::default(), false) }
}

fn kept(told: &mut Told, draft: CheckpointDraft) -> Vec<Event> {
    kept_as(told, draft, files())
}

fn kept_as(told: &mut Told, draft: CheckpointDraft, files: SnapshotFiles) -> Vec<Event> {
    let keeping = told.agent(1).keeping.clone().expect("a wish stands");
    let outcome = KeepOutcome::Taken(Box::new(files));
    let (agent, checkpoint) = (AgentId(1), Some(Box::new(draft)));
    let Keeping { wish, why, .. } = keeping;
    told.observe(&Observation::Kept { agent, wish, why, outcome, checkpoint })
}

fn why(told: &Told) -> Option<SnapshotCause> {
    told.agent(1).keeping.as_ref().map(|keeping| keeping.why)
}

/// CK4
// covers: S-16
#[test]
fn a_crash_a_planned_end_and_a_phase_have_theirs_with_the_snapshot_in_one_batch() {
    let mut told = cli("/web/.git");
    told.show(1, Sign::Worked { indicator: Indicator::FileEdited, at: told.now });
    assert_eq!(why(&told), Some(SnapshotCause::PhaseChange));
    let ready = composed(&told, Some(1));
    let events = kept(&mut told, ready);
    let first = taken(&events).expect("recorded");
    assert_eq!((first.why, first.phase), (CheckpointCause::Phase, WorkPhase::Implementation));
    assert_eq!((first.number, first.snapshot, events.len()), (1, Some(1), 2));
    let number = told.number(1);
    // Long enough that the next one is requested at once.
    told.pass(Duration::from_secs(2));
    told.report(1, number, Report::Exited(Exit::KillSignal(9)));
    assert_eq!(why(&told), Some(SnapshotCause::Crash));
    // Nothing has changed since: the same snapshot serves.
    let ready = composed(&told, Some(1));
    let crash = taken(&kept(&mut told, ready)).expect("recorded");
    assert_eq!((crash.why, crash.session), (CheckpointCause::Crash, number));
    assert_ne!(told.number(1), number, "the next session waited for it");
    assert_eq!(crash.snapshot, Some(1));
    told.begun(1, "talk", Followed::Resumed);
    told.ask(Command::Stop("bob".into())).expect("stopped");
    let ready = composed(&told, Some(1));
    let planned = taken(&kept(&mut told, ready)).expect("recorded");
    assert_eq!((planned.why, planned.number), (CheckpointCause::PlannedEnd, 3));
    assert_eq!(planned.session, told.number(1));
}

/// CK2
#[test]
fn one_that_others_have_overtaken_is_left_out_and_its_snapshot_is_not() {
    let mut told = cli("/web/.git");
    told.ask(Command::Stop("bob".into())).expect("stopped");
    let late = composed(&told, Some(1));
    let said = SaidDraft::default();
    let asked = draft(&told, &said, false);
    told.ask(order(said, asked)).expect("recorded");
    let events = kept(&mut told, late);
    assert_eq!((taken(&events), told.agent(1).snapshots), (None, 1));
    assert_eq!(told.agent(1).keeping, None);
}

#[test]
fn a_commit_wants_one_each_time_and_a_transcript_that_is_read_again_does_not() {
    let mut told = cli("/web/.git");
    for number in 1..=2 {
        let at = told.now;
        told.show(1, Sign::Worked { indicator: Indicator::CommitMade, at });
        assert_eq!(why(&told), Some(SnapshotCause::Commit));
        told.pass(Duration::from_secs(1));
        let ready = composed(&told, Some(number));
        let changed = SnapshotFiles { commit: format!("{number:040}"), ..files() };
        let commit = taken(&kept_as(&mut told, ready, changed)).expect("recorded");
        assert_eq!((commit.why, commit.number), (CheckpointCause::Commit, number));
        told.show(1, Sign::Worked { indicator: Indicator::CommitMade, at });
        assert_eq!(why(&told), None, "it is told again");
        told.pass(Duration::from_secs(1));
    }
}

/// Git tells of a commit that the agent's own steps don't show, in a script or by a merge. Nothing says that it is the agent's, so
/// its phase stays.
#[test]
fn a_commit_that_git_tells_of_has_one_while_the_agent_is_at_work() {
    let mut told = cli("/web/.git");
    told.show(1, Sign::Committed { at: told.now });
    assert_eq!(why(&told), None, "it waits for a prompt: somebody else has committed");
    told.show(1, Sign::TurnBegan);
    told.show(1, Sign::Committed { at: told.now });
    assert_eq!(why(&told), Some(SnapshotCause::Commit));
    assert_eq!(told.agent(1).work.phase, WorkPhase::Investigation);
    told.pass(Duration::from_secs(1));
    let ready = composed(&told, Some(1));
    let commit = taken(&kept(&mut told, ready)).expect("recorded");
    assert_eq!((commit.why, commit.number), (CheckpointCause::Commit, 1));
    // The same commit by a line that was read late: nothing has changed since, and it has one already.
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::Committed { at: told.now });
    let again = composed(&told, Some(1));
    assert_eq!(taken(&kept(&mut told, again)), None);
    // By the agent's own steps, it is the agent's: that is another phase.
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::Worked { indicator: Indicator::CommitMade, at: told.now });
    let ready = composed(&told, Some(1));
    let own = taken(&kept(&mut told, ready)).expect("recorded");
    assert_eq!((own.why, own.phase), (CheckpointCause::Commit, WorkPhase::Completion));
    // Of a session that is over, git's word says nothing.
    let number = told.number(1);
    told.pass(Duration::from_secs(1));
    told.report(1, number, Report::Exited(Exit::Code(0)));
    let before = why(&told);
    told.show(1, Sign::Committed { at: told.now });
    assert_eq!(why(&told), before);
}

#[test]
fn what_the_agent_records_itself_is_not_recorded_again() {
    let mut told = cli("/web/.git");
    let phase = Some(WorkPhase::Testing);
    let said = SaidDraft { phase, ..SaidDraft::default() };
    let ready = draft(&told, &said, false);
    told.ask_as(BOB, order(said, ready)).expect("its own");
    assert_eq!(why(&told), None);
    told.ask_as(BOB, Command::Report { phase: Some(WorkPhase::Planning), summary: None })
        .expect("reported");
    assert_eq!(why(&told), Some(SnapshotCause::PhaseChange));
}

/// What is to be composed for an agent, from its state alone.
fn due(told: &Told) -> Option<CheckpointEffect> {
    let plan = told.fleet.plan(&Entity::Agent(AgentId(1)), told.now);
    plan.effects.into_iter().find_map(|effect| match effect {
        Effect::Checkpoint(effect) => Some(effect),
        Effect::Session(_)
        | Effect::Focus(_)
        | Effect::Continue { .. }
        | Effect::PromptHeard { .. }
        | Effect::Deliver(_)
        | Effect::Job(_)
        | Effect::Keep(_)
        | Effect::Snapshot(_)
        | Effect::RemoveSecrets { .. } => None,
    })
}

/// CK6: where there is no work tree nothing waits, and what is due stands until it was taken.
#[test]
fn without_a_work_tree_what_is_due_follows_from_the_state() {
    let mut told = cli("/web");
    let take = |told: &mut Told| {
        let CheckpointEffect { agent, after, session, why } = due(told).expect("due");
        let draft = Box::new(CheckpointDraft { after, ..composed(told, None) });
        let taken = taken(&told.observe(&Observation::Composed { agent, why, draft }));
        assert_eq!(due(told), None, "it was taken");
        (why, session, taken.map(|one| one.number))
    };
    told.show(1, Sign::Worked { indicator: Indicator::TestsRun, at: told.now });
    assert_eq!(why(&told), None);
    let number = told.number(1);
    assert_eq!(take(&mut told), (CheckpointCause::Phase, number, Some(1)));
    told.pass(Duration::from_secs(2));
    told.report(1, number, Report::Exited(Exit::KillSignal(9)));
    // It tells of the session that ended, though the next one is wanted.
    assert_ne!(told.number(1), number);
    // A phase that is found late says less than the end.
    told.ask_as(BOB, Command::Report { phase: Some(WorkPhase::Planning), summary: None })
        .expect("reported");
    assert_eq!(take(&mut told), (CheckpointCause::Crash, number, Some(2)));
    told.begun(1, "talk", Followed::Resumed);
    told.ask(Command::Stop("bob".into())).expect("stopped");
    let number = told.number(1);
    told.report(1, number, Report::Exited(Exit::Code(0)));
    // The daemon was killed in between: it is still due, once.
    assert_eq!(take(&mut told), (CheckpointCause::PlannedEnd, number, Some(3)));
    told.ask(Command::Bury { target: "bob".into(), summary: None }).expect("buried");
    assert_eq!(due(&told), None, "nothing is recorded of whoever is over");
    // A bare command has nothing that could be found.
    let mut bare = self::told();
    bare.executed(1);
    bare.ask(Command::Stop("bob".into())).expect("stopped");
    assert_eq!(due(&bare), None);
}

/// A snapshot that was missed does not take its checkpoint with it.
#[test]
fn a_snapshot_that_comes_to_nothing_leaves_its_checkpoint_due() {
    let mut told = cli("/web/.git");
    told.show(1, Sign::Worked { indicator: Indicator::TestsRun, at: told.now });
    assert_eq!((why(&told), due(&told)), (Some(SnapshotCause::PhaseChange), None));
    told.pass(perennial_core::keeping::KEEP_WAITS_IN_LINE);
    let entity = Entity::Agent(AgentId(1));
    told.observe(&Observation::Due { entity, timer: Timer::Keep });
    assert_eq!(due(&told).map(|it| it.why), Some(CheckpointCause::Phase));
}

/// S-04: the task that it is on, with its open step, is in the checkpoint and in how to go on.
#[test]
fn a_checkpoint_names_the_task_and_its_open_step() {
    use crate::tasks::{brief, draft as task, to};
    use perennial_core::task::{Brief, Step};
    let mut told = cli("/");
    let step = |text: &str, is_done| Step { text: text.to_owned(), is_done };
    let composed = |told: &Told| {
        checkpoint::compose(told.agent(1), &told.fleet, Material::default(), told.now)
    };
    assert_eq!(composed(&told).task, None);
    let steps = vec![step("lexer", true), step("grammar", false)];
    told.ask(task(10, Brief { steps, ..brief("port the parser") }, to(1))).expect("given");
    let content = composed(&told);
    let mark = content.task.as_ref().expect("it is on one");
    assert_eq!(mark.open_step, Some((2, 2, "grammar".to_owned())));
    let told_of = "Task “port the parser”, open step 2 of 2: “grammar”.";
    assert!(content.resumption.contains(told_of), "{}", content.resumption);
    assert_eq!(checkpoint::summary_line(&content), "on the task “port the parser”");
    told.ask(crate::tasks::drop_task(10)).expect("dropped");
    told.ask(task(11, brief("next"), to(1))).expect("given");
    let content = composed(&told);
    assert!(content.resumption.ends_with(" Task “next”."), "{}", content.resumption);
}

/// CK6: what never ran did nothing, and what is told already is not due again.
#[test]
fn only_what_ran_and_what_changed_makes_a_checkpoint_due() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).expect("born");
    let number = told.number(1);
    told.report(1, number, Report::NotStarted("no such file".into()));
    assert_eq!(told.agent(1).checkpoint_due, None);
    // A phase that the last checkpoint has is no news; another one is.
    let mut told = cli("/");
    let report = |told: &mut Told, phase| {
        let report = Command::Report { phase: Some(phase), summary: None };
        told.ask_as(BOB, report).expect("its own word");
        told.agent(1).checkpoint_due
    };
    let said = SaidDraft { phase: Some(WorkPhase::Planning), ..SaidDraft::default() };
    let ready = draft(&told, &said, false);
    told.ask_as(BOB, order(said, ready)).expect("taken");
    told.show(1, Sign::Worked { indicator: Indicator::PlanTold, at: told.now });
    assert_eq!(told.agent(1).checkpoint_due, None, "it is told already");
    assert_eq!(report(&mut told, WorkPhase::Testing), Some(CheckpointCause::Phase));
}

/// The text of a checkpoint is recorded with it, and it is its agent's.
#[test]
fn a_checkpoint_is_decided_with_its_text() {
    let told = told();
    let said = SaidDraft::default();
    let ready = draft(&told, &said, false);
    let request = perennial_core::command::Request {
        caller: Caller::Person,
        command: order(said, ready.clone()),
    };
    let decision = told.fleet.decide(&request, told.now).expect("allowed");
    assert_eq!(decision.texts, [ready.body]);
    assert_eq!(decision.about, [Entity::Agent(AgentId(1))]);
}
