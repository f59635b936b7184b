//! The step, guard by guard: each case fails if that one guard is taken away.

use std::collections::BTreeMap;

use perennial_core::allowance::{Allowances, HOOKS, WORDS};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::Followed;
use perennial_core::effect::{Delivery, FocusEffect};
use perennial_core::event::{AgentEvent, Move, NodeEvent, What};
use perennial_core::exit::Exit;
use perennial_core::fact::{Keys, Listed, Origin, Seen};
use perennial_core::fleet::Policy;
use perennial_core::hearing::Focus;
use perennial_core::id::{BootId, JobId, MessageId, NodeId};
use perennial_core::job::{JobEnd, JobReport};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::message::{Held, MessageEvent, Outcome};
use perennial_core::observation::{Report, Stocktaking};
use perennial_core::reason::Reason;
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::state::{Cause, State};
use perennial_core::text::Fingerprint;
use perennial_core::work::WorkPhase;

use super::super::*;

const BOB: AgentId = AgentId(1);
const FIRST: SessionNumber = SessionNumber(1);

/// A supervisor whose appends are durable when the test says so.
struct Run {
    supervisor: Supervisor,
    now: Time,
    /// Appends that are not durable yet.
    queued: Vec<AppendId>,
}

impl Run {
    fn new() -> Run {
        let fleet =
            Fleet::default().under(Policy { notify: vec!["say".to_owned()], ..Policy::default() });
        let supervisor = Supervisor::new(fleet, BTreeMap::new(), Seq(0));
        let mut run = Run { supervisor, now: Time(1_000_000), queued: Vec::new() };
        let started = Observation::Started {
            boot: BootId("1".into()),
            version: "1".into(),
            is_copy: false,
            stocktaking: Stocktaking::default(),
        };
        run.recorded(Input::Observed(started));
        run
    }

    /// One whose agent CLI starts.
    fn starting() -> Run {
        let mut run = Run::new();
        run.ask(Command::Spawn(Box::new(Spawn {
            id: BOB,
            name: None,
            role: None,
            parent: None,
            launch: Launch {
                harness: "claude".into(),
                host: Host::Shim,
                argv: vec!["claude".into()],
                dir: "/".into(),
                env_names: Vec::new(),
                project: "/".into(),
                options: Options::default(),
            },
            restart: Restart::Never,
            conversation: None,
            situations: Vec::new(),
        })));
        run
    }

    /// One whose agent CLI waits for input.
    fn idle() -> Run {
        let mut run = Run::starting();
        run.reported(Report::Executed(Process { pid: 7, start_ticks: 7 }));
        let began = Fact::new(Origin::Hook, Seen::SessionBegan(Followed::Started));
        run.hears(began.within("c-1".parse().ok()));
        let drawn = Seen::StatusLine { model: None, sample: None };
        run.hears(Fact::new(Origin::StatusLine, drawn));
        run
    }

    /// One step; what it appends is queued.
    fn step(&mut self, input: Input) -> Vec<Output> {
        self.now = self.now + Duration::from_millis(1);
        let outputs = self.supervisor.step(input, self.now);
        for output in &outputs {
            if let Output::Append { append, .. } = output {
                self.queued.push(*append);
            }
        }
        outputs
    }

    /// Everything that is queued becomes durable, and what is appended by that.
    fn commit(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        while !self.queued.is_empty() {
            let append = self.queued.remove(0);
            outputs.extend(self.step(Input::Durable(append, Seq(0))));
        }
        outputs
    }

    /// A step, and its appends made durable.
    fn recorded(&mut self, input: Input) -> Vec<Output> {
        let mut outputs = self.step(input);
        outputs.extend(self.commit());
        outputs
    }

    fn ask(&mut self, command: Command) -> Vec<Output> {
        let request = Request { caller: Caller::Person, command };
        self.recorded(Input::Request { waiter: Waiter(1), request })
    }

    fn reported(&mut self, report: Report) -> Vec<Output> {
        let session = Observation::Session { agent: BOB, number: FIRST, report };
        self.recorded(Input::Observed(session))
    }

    fn hears(&mut self, fact: Fact) -> Vec<Output> {
        self.recorded(Input::Heard { agent: BOB, number: FIRST, fact })
    }

    fn keys(&mut self, keys: Keys) -> Vec<Output> {
        self.hears(Fact::new(Origin::Terminal, Seen::Keys(keys)))
    }

    fn send(&mut self, id: u128) -> Vec<Output> {
        let (id, target) = (MessageId(id), BOB.to_string());
        let body = perennial_store::text::body("one");
        let fingerprint = Fingerprint([1; 32]);
        self.ask(Command::Send { id, target, body, fingerprint, after_turn: false })
    }

    /// The clock passes a threshold: a notice waits for a hook.
    fn measured(&mut self) {
        let source = Source::StatusLine;
        let sample = Some(Sample { tokens: 60, window: 100, usable: 100, source });
        self.hears(Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample }));
        assert_eq!(self.supervisor.fleet().messages().iter().count(), 1);
    }

    /// Stopped, ended and buried; its last append is queued.
    fn bury(&mut self) {
        self.ask(Command::Stop(BOB.to_string()));
        self.reported(Report::Exited(Exit::Code(0)));
        let command = Command::Bury { target: BOB.to_string(), summary: Some("over".into()) };
        let request = Request { caller: Caller::Person, command };
        self.step(Input::Request { waiter: Waiter(2), request });
    }

    fn version(&self, entity: &Entity) -> Version {
        self.supervisor.versions()[entity]
    }

    /// Retires the agent at the version that memory has.
    fn retire(&mut self) -> Vec<AgentId> {
        let bob = Entity::Agent(BOB);
        let version = self.version(&bob);
        self.supervisor.retire(&[(bob, version)]).agents
    }
}

fn deliveries(outputs: &[Output]) -> Vec<(MessageId, u32)> {
    let delivery = |output: &Output| match output {
        Output::Carry(Effect::Deliver(Delivery { message, attempt, .. })) => {
            Some((*message, *attempt))
        }
        _ => None,
    };
    outputs.iter().filter_map(delivery).collect()
}

fn focuses(outputs: &[Output]) -> Vec<Focus> {
    let focus = |output: &Output| match output {
        Output::Carry(Effect::Focus(FocusEffect { focus, .. })) => Some(*focus),
        _ => None,
    };
    outputs.iter().filter_map(focus).collect()
}

fn jobs(outputs: &[Output]) -> Vec<JobId> {
    let job = |output: &Output| match output {
        Output::Carry(Effect::Job(effect)) => Some(effect.job),
        _ => None,
    };
    outputs.iter().filter_map(job).collect()
}

#[test]
fn a_text_that_waits_for_an_input_line_is_typed_when_nothing_is_in_it_any_more() {
    let mut run = Run::idle();
    run.keys(Keys::Draft);
    run.send(1);
    let outputs = run.recorded(Input::Tick);
    assert_eq!(deliveries(&outputs), [(MessageId(1), 1)]);
    let outcome = Outcome::Held(Held::Draft);
    let held = Observation::Delivered { message: MessageId(1), attempt: 1, outcome };
    run.recorded(Input::Observed(held));
    assert_eq!(deliveries(&run.recorded(Input::Tick)), [], "not before a minute has passed");
    assert_eq!(deliveries(&run.keys(Keys::Doubt)), [], "another obstacle");
    assert_eq!(deliveries(&run.keys(Keys::Clear)), [(MessageId(1), 2)]);
    // What only the holder saw is over when it tells of the line again.
    let outcome = Outcome::Held(Held::Suspended);
    let held = Observation::Delivered { message: MessageId(1), attempt: 2, outcome };
    run.recorded(Input::Observed(held));
    assert_eq!(deliveries(&run.recorded(Input::Tick)), []);
    assert_eq!(deliveries(&run.keys(Keys::Clear)), [(MessageId(1), 3)]);
}

/// A text that was recorded by the fingerprint of its beginning is known by it.
#[test]
fn a_text_that_an_older_version_recorded_is_recognised() {
    let (whole, older) = (Fingerprint([2; 32]), Some(Fingerprint([1; 32])));
    for (older_text, text, is_it) in
        [(older, whole, true), (None, whole, false), (Some(whole), Fingerprint([1; 32]), true)]
    {
        let mut run = Run::idle();
        run.send(7);
        run.recorded(Input::Tick);
        run.recorded(Input::Observed(Observation::Delivered {
            message: MessageId(7),
            attempt: 1,
            outcome: Outcome::Entered,
        }));
        let seen = Seen::Prompt { text };
        run.hears(Fact { older_text, ..Fact::new(Origin::Transcript, seen) });
        assert_eq!(run.supervisor.fleet().messages().iter().count(), usize::from(!is_it));
    }
}

#[test]
fn a_hook_is_answered_with_texts_only_when_their_offer_is_durable() {
    let mut run = Run::idle();
    let offer = |waiter| Input::Offer {
        waiter: Waiter(waiter),
        agent: BOB,
        number: FIRST,
        at_turn_end: false,
    };
    assert_eq!(replies(&run.step(offer(3))), [&[][..]], "without a text at once");
    run.measured();
    let outputs = run.step(offer(4));
    assert_eq!((replies(&outputs).len(), run.queued.len()), (0, 1), "U2");
    let outputs = run.commit();
    let replies_now = replies(&outputs);
    assert!(matches!(replies_now[..], [[_, ..]]), "{outputs:?}");

    // What could not be recorded is not given.
    let mut run = Run::idle();
    run.measured();
    run.step(offer(5));
    let append = run.queued.remove(0);
    let outputs = run.step(Input::Failed(append, "the disk is full".into()));
    assert_eq!(replies(&outputs), [&[][..]]);
}

fn replies(outputs: &[Output]) -> Vec<&[MessageId]> {
    let mut replies = Vec::new();
    for output in outputs {
        if let Output::Reply { with: Reply::Texts(offered), .. } = output {
            replies.push(&offered[..]);
        }
    }
    replies
}

#[test]
fn a_program_that_was_suspended_is_continued_each_time() {
    let mut run = Run::idle();
    for _ in 0..2 {
        let outputs = run.hears(Fact::new(Origin::Kernel, Seen::Suspended));
        let continued = |output: &&Output| {
            matches!(output, Output::Carry(Effect::Continue { agent: BOB, number: FIRST }))
        };
        assert_eq!(outputs.iter().filter(continued).count(), 1);
        let outputs = run.hears(Fact::new(Origin::Kernel, Seen::Continued));
        assert_eq!(outputs.iter().filter(continued).count(), 0);
    }
}

#[test]
fn the_holder_is_told_once_what_keys_reach_whenever_that_changes() {
    let hook = |seen| Fact::new(Origin::Hook, seen);
    let mut run = Run::idle();
    let prompt = || hook(Seen::PromptSubmitted { text: Fingerprint([2; 32]) });
    assert_eq!(focuses(&run.hears(prompt())), [Focus::Turn]);
    assert_eq!(focuses(&run.hears(prompt())), [], "no news");
    let asked = run.step(Input::Heard {
        agent: BOB,
        number: FIRST,
        fact: hook(Seen::PermissionAsked { tool: None }),
    });
    assert_eq!(focuses(&asked), [], "U2");
    assert_eq!(focuses(&run.commit()), [Focus::Dialog]);
    assert_eq!(focuses(&run.hears(hook(Seen::ReplyEnded { background_tasks: 0 }))), [Focus::Line]);
    // A menu is no event: it is told when it is heard of.
    let listed = |listed, at| Fact::new(Origin::List, Seen::Listed(listed)).at(Some(at));
    let outputs = run.hears(listed(Listed::Menu, run.now));
    assert_eq!(focuses(&outputs), [Focus::Dialog]);
    assert_eq!(focuses(&run.hears(listed(Listed::Idle, run.now))), [Focus::Line]);
}

#[test]
fn an_agent_leaves_memory_only_when_the_store_has_it_as_it_is() {
    let mut run = Run::idle();
    let bob = Entity::Agent(BOB);
    assert_eq!(run.retire(), [], "it lives");
    run.bury();
    assert_eq!(run.retire(), [], "its burial is not durable");
    let before = run.version(&bob);
    run.commit();
    assert_ne!(run.version(&bob), before);
    assert_eq!(run.supervisor.retire(&[(bob.clone(), before)]).agents, [], "U5: an older state");
    let later = Version(run.version(&bob).0 + 1);
    assert_eq!(run.supervisor.retire(&[(bob.clone(), later)]).agents, [], "U5: another state");
    assert_eq!(run.retire(), [BOB]);
    assert!(!run.supervisor.fleet().has(&bob) && run.supervisor.versions().get(&bob).is_none());
    let version = Version(before.0 + 1);
    assert_eq!(run.supervisor.retire(&[(bob, version)]).agents, [], "once");
}

#[test]
fn an_agent_stays_in_memory_while_something_is_under_way_for_it() {
    let mut run = Run::idle();
    run.bury();
    run.commit();
    let phase = WorkPhase::ALL.first().copied();
    let command = Command::Report { phase, summary: None };
    let request = Request { caller: Caller::Agent(BOB), command };
    run.step(Input::Request { waiter: Waiter(3), request });
    assert_eq!(run.queued.len(), 1, "its last word is under way");
    assert_eq!(run.retire(), [], "U5");
    run.commit();
    assert_eq!(run.retire(), [BOB]);
}

#[test]
fn an_agent_stays_in_memory_while_a_text_waits_for_it() {
    let mut run = Run::idle();
    run.send(1);
    // Buried by an event alone, as where the return of the text can't be read.
    let mut fleet = run.supervisor.fleet().clone();
    let evidence = fleet.agent(BOB).expect("it lives").evidence.clone();
    let moved = Move {
        cause: Cause::Buried,
        to: State::Dead,
        reason: Reason::Retired,
        evidence,
        until: None,
    };
    let ended = perennial_core::restart::Tally::ByFirstRule;
    let exit = Exit::Code(0);
    let at = run.now;
    for what in [
        What::Agent(BOB, AgentEvent::Moved(moved)),
        What::Agent(
            BOB,
            AgentEvent::SessionEnded {
                number: FIRST,
                exit,
                is_clean: true,
                tally: ended,
                asked: None,
            },
        ),
    ] {
        fleet.evolve(&Event { at, what });
    }
    let bob = Entity::Agent(BOB);
    let versions = [(bob.clone(), Version(9))].into();
    let mut supervisor = Supervisor::new(fleet.clone(), versions, Seq(0));
    assert_eq!(supervisor.retire(&[(bob.clone(), Version(9))]).agents, [], "U5");
    fleet.evolve(&Event { at, what: What::Message(MessageId(1), MessageEvent::Returned) });
    let versions = [(bob.clone(), Version(9))].into();
    let mut supervisor = Supervisor::new(fleet, versions, Seq(0));
    assert_eq!(supervisor.retire(&[(bob, Version(9))]).agents, [BOB]);
}

/// One that never got a name is in the cemetery too: it leaves memory, and can't be buried.
#[test]
fn an_agent_that_has_expired_leaves_memory_like_a_dead_one() {
    let run = Run::idle();
    let mut fleet = run.supervisor.fleet().clone();
    let evidence = fleet.agent(BOB).expect("it lives").evidence.clone();
    let (reason, until) = (Reason::NeverNamed, None);
    let moved = Move { cause: Cause::NeverNamed, to: State::Expired, reason, evidence, until };
    let (at, bob) = (run.now, Entity::Agent(BOB));
    fleet.evolve(&Event { at, what: What::Agent(BOB, AgentEvent::Moved(moved)) });
    assert!(!fleet.is_over(&bob), "its session has not ended");
    let ended = AgentEvent::SessionEnded {
        number: FIRST,
        exit: Exit::Code(0),
        is_clean: true,
        tally: perennial_core::restart::Tally::ByFirstRule,
        asked: Some(Reason::NeverNamed),
    };
    fleet.evolve(&Event { at, what: What::Agent(BOB, ended) });
    let (target, summary) = (BOB.to_string(), Some("done".to_owned()));
    let bury = Request { caller: Caller::Person, command: Command::Bury { target, summary } };
    assert!(matches!(fleet.decide(&bury, at), Err(Refusal::WrongState { .. })));
    let versions = [(bob.clone(), Version(9))].into();
    let mut supervisor = Supervisor::new(fleet, versions, Seq(0));
    assert_eq!(supervisor.retire(&[(bob, Version(9))]).agents, [BOB]);
}

#[test]
fn a_job_leaves_memory_when_its_end_is_durable_and_in_the_store() {
    let mut run = Run::idle();
    let asked = Fact::new(Origin::Hook, Seen::PermissionAsked { tool: None });
    let outputs = run.hears(asked);
    let [id] = jobs(&outputs)[..] else { panic!("{outputs:?}") };
    let entity = Entity::Job(id);
    let retire = |run: &mut Run| {
        let version = run.version(&entity);
        run.supervisor.retire(&[(entity.clone(), version)]);
        !run.supervisor.fleet().has(&entity)
    };
    assert!(!retire(&mut run), "it runs");
    let report = JobReport::Ended { end: JobEnd::Code(0), output: String::new() };
    run.step(Input::Observed(Observation::Job { job: id, number: 1, report }));
    assert!(!retire(&mut run), "U5: its end is not durable");
    run.commit();
    assert!(retire(&mut run));
}

/// H15: the question is not recorded yet when the prompt is heard.
#[test]
fn a_prompt_ends_no_dialog_also_while_the_journal_fails() {
    for fails in [false, true] {
        let mut run = Run::idle();
        run.hears(Fact::new(Origin::Hook, Seen::PromptSubmitted { text: Fingerprint([1; 32]) }));
        let asked = Fact::new(Origin::Hook, Seen::PermissionAsked { tool: None });
        let queued = Fact::new(Origin::Hook, Seen::PromptSubmitted { text: Fingerprint([2; 32]) });
        if fails {
            run.step(Input::Heard { agent: BOB, number: FIRST, fact: asked });
            for append in std::mem::take(&mut run.queued) {
                run.step(Input::Failed(append, "disk full".into()));
            }
            run.step(Input::Heard { agent: BOB, number: FIRST, fact: queued });
            run.now = run.now + TELL_AGAIN_AFTER;
            run.recorded(Input::Tick);
        } else {
            run.hears(asked);
            run.hears(queued);
        }
        let agent = run.supervisor.fleet().agent(BOB).expect("it lives");
        assert_eq!(
            (agent.state, agent.reason),
            (State::Waiting, Reason::NeedsPermission),
            "{fails}"
        );
    }
}

/// U8: reports, requests and hooks alike.
#[test]
fn what_another_node_was_first_to_change_is_decided_again() {
    let expected = |outputs: &[Output]| match outputs {
        [Output::Append { batch, .. }] => {
            batch.entries.iter().map(|entry| entry.expected).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let mut run = Run::idle();
    let report = Report::Exited(Exit::KillSignal(9));
    let exited = Observation::Session { agent: BOB, number: FIRST, report };
    let first = expected(&run.step(Input::Observed(exited)));
    let refused = run.queued.remove(0);
    assert_eq!(expected(&run.step(Input::Conflict(refused))), first, "nothing of it is under way");
    run.commit();
    assert!(run.supervisor.fleet().agent(BOB).is_some_and(|bob| bob.live_session().is_none()));

    let mut run = Run::idle();
    let request = Request { caller: Caller::Person, command: Command::Stop(BOB.to_string()) };
    run.step(Input::Request { waiter: Waiter(7), request });
    let refused = run.queued.remove(0);
    run.step(Input::Conflict(refused));
    let is_answer =
        |output: &Output| matches!(output, Output::Answer { waiter: Waiter(7), answer: Ok(_) });
    assert!(run.commit().iter().any(is_answer), "whoever asked is answered");

    let mut run = Run::idle();
    run.hears(Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample: None }));
    let due = Observation::ReminderDue { agent: BOB, number: FIRST, calls: 20, sample: None };
    run.recorded(Input::Observed(due));
    let hook = || Input::Offer { waiter: Waiter(8), agent: BOB, number: FIRST, at_turn_end: false };
    // The first reply of a session is its briefing.
    while !matches!(&run.step(hook())[..], [Output::Append { .. }]) {}
    let refused = run.queued.remove(0);
    let outputs = run.step(Input::Conflict(refused));
    let [Output::Reply { waiter: Waiter(8), with: Reply::Texts(texts) }] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert!(texts.is_empty(), "they wait for the next hook");
}

/// U4: in their order, also those that come while the journal takes nothing.
#[test]
fn reports_that_come_while_others_are_not_recorded_wait_behind_them() {
    let mut run = Run::idle();
    let report = Report::Exited(Exit::KillSignal(9));
    let exited = Observation::Session { agent: BOB, number: FIRST, report };
    run.step(Input::Observed(exited));
    let failed = run.queued.remove(0);
    run.step(Input::Failed(failed, "the disk is full".into()));
    let sign = perennial_core::observation::Sign::TurnBegan;
    let turn = Observation::Harness { agent: BOB, number: FIRST, sign };
    assert!(run.step(Input::Observed(turn)).is_empty());
    run.now = run.now + TELL_AGAIN_AFTER;
    run.recorded(Input::Tick);
    let bob = run.supervisor.fleet().agent(BOB).expect("it was born");
    assert!(bob.live_session().is_none() && bob.state != State::Working, "{:?}", bob.state);
}

/// U4: found by seed 123. Reports are told again as of now, by when the clock has jumped once more.
#[test]
fn a_jump_of_the_clock_goes_before_the_times_that_it_puts_off() {
    for refused in [|append| Input::Failed(append, "I/O error".into()), Input::Conflict] {
        let mut run = Run::starting();
        for by in [Duration::from_secs(200), Duration::from_secs(300)] {
            run.now = run.now + by;
            run.step(Input::Observed(Observation::ClockJumped { by }));
            run.step(Input::Tick);
        }
        let append = std::mem::take(&mut run.queued)[0];
        run.step(refused(append));
        run.now = run.now + TELL_AGAIN_AFTER;
        run.recorded(Input::Tick);
        run.recorded(Input::Tick);
        let bob = run.supervisor.fleet().agent(BOB).expect("it was born");
        assert_eq!(bob.state, State::Hatching, "its start has time left");
    }
}

/// U9
#[test]
fn hooks_above_the_allowance_wait_and_the_newest_is_heard_in_place_of_all() {
    for (hooks, state) in [(2000, State::Waiting), (2001, State::Working)] {
        let mut run = Run::idle();
        let before = run.version(&Entity::Agent(BOB)).0;
        let begun = run.now;
        for count in 0..hooks {
            let seen = match count % 2 {
                0 => Seen::PromptSubmitted { text: Fingerprint([9; 32]) },
                _ => Seen::ReplyEnded { background_tasks: 0 },
            };
            run.hears(Fact::new(Origin::Hook, seen));
        }
        let spent = run.now.since(begun).as_millis() / HOOKS.every.as_millis();
        let most = u64::from(HOOKS.burst) + u64::try_from(spent).expect("few");
        let recorded = run.version(&Entity::Agent(BOB)).0 - before;
        assert!(recorded > 100 && recorded <= 2 * most, "{recorded} of {most} hooks");
        while run.supervisor.next_due().is_some_and(|due| due <= run.now + HOOKS.every) {
            run.now = run.now + HOOKS.every;
            run.recorded(Input::Tick);
        }
        assert_eq!(run.supervisor.fleet().agent(BOB).map(|bob| bob.state), Some(state));
    }
}

/// U9: a status line is drawn every moment, and says nothing of what a hook said.
#[test]
fn a_status_line_takes_nothing_from_a_hook_that_waits() {
    let mut run = Run::idle();
    let ended = || Fact::new(Origin::Hook, Seen::ReplyEnded { background_tasks: 0 });
    let drawn = || Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample: None });
    let state = |run: &Run| run.supervisor.fleet().agent(BOB).map(|bob| bob.state);
    for _ in 0..HOOKS.burst {
        run.hears(ended());
        run.hears(Fact::new(Origin::Hook, Seen::PromptSubmitted { text: Fingerprint([9; 32]) }));
    }
    run.now = run.now + HOOKS.every;
    run.recorded(Input::Tick);
    run.hears(ended());
    assert_eq!(state(&run), Some(State::Working), "the end of the turn waits");
    run.hears(drawn());
    run.now = run.now + HOOKS.every;
    run.hears(drawn());
    run.recorded(Input::Tick);
    assert_eq!(state(&run), Some(State::Waiting));
}

fn reports(run: &mut Run, summary: &str) -> bool {
    let command = Command::Report { phase: None, summary: Some(summary.to_owned()) };
    let request = Request { caller: Caller::Agent(BOB), command };
    let outputs = run.recorded(Input::Request { waiter: Waiter(9), request });
    outputs.iter().any(|output| matches!(output, Output::Answer { answer: Ok(_), .. }))
}

/// What has nothing recorded costs nothing, and everything else is paid for.
#[test]
fn an_agent_pays_for_what_is_recorded_and_only_for_that() {
    let mut run = Run::idle();
    for _ in 0..WORDS.burst * 3 {
        assert!(reports(&mut run, "the same"));
    }
    let others = (0..WORDS.burst * 3).filter(|count| reports(&mut run, &count.to_string()));
    assert_eq!(others.count(), WORDS.burst as usize - 1);
    // A hook that says what is so already changes nothing.
    let ended = || Fact::new(Origin::Hook, Seen::ReplyEnded { background_tasks: 0 });
    run.hears(ended());
    (0..HOOKS.burst * 3).for_each(|_| drop(run.hears(ended())));
    run.hears(Fact::new(Origin::Hook, Seen::PromptSubmitted { text: Fingerprint([9; 32]) }));
    assert_eq!(run.supervisor.fleet().agent(BOB).map(|bob| bob.state), Some(State::Working));
    assert_eq!(run.supervisor.allowances.next_due(), None);
}

#[test]
fn of_an_agent_that_is_over_no_allowance_is_kept() {
    let mut run = Run::idle();
    assert!(reports(&mut run, "half done"));
    assert_ne!(run.supervisor.allowances, Allowances::default());
    run.bury();
    run.commit();
    assert_eq!(run.supervisor.allowances, Allowances::default());
}

/// U7: it is read-only since the first word of it, whatever is said after.
#[test]
fn a_journal_that_takes_nothing_makes_it_read_only_before_anybody_asks() {
    let mut run = Run::new();
    assert_eq!(run.supervisor.read_only(), None);
    run.step(Input::Unwritable("it was moved".into()));
    let since = run.now;
    run.step(Input::Unwritable("it was removed".into()));
    assert_eq!(run.supervisor.read_only(), Some("it was removed"));
    let due = run.supervisor.next_due().expect("it is tried again");
    run.now = due;
    let outputs = run.recorded(Input::Tick);
    let tells = |output: &Output| match output {
        Output::Append { batch, .. } => {
            let restored = NodeEvent::JournalRestored { since };
            batch.entries[0].events[0].what == What::Node(NodeId::HOME, restored)
        }
        _ => false,
    };
    assert!(outputs.iter().any(tells), "{outputs:?}");
    assert_eq!(run.supervisor.read_only(), None);
}

/// U8: also what a decision only read may be changed by another node first.
#[test]
fn what_rests_on_an_agent_that_another_node_changed_is_not_kept() {
    let mut run = Run::idle();
    let bob = run.supervisor.fleet().agent(BOB).expect("it lives");
    let (launch, at) = (bob.launch.clone(), run.now);
    let spawn = Spawn {
        id: AgentId(2),
        name: None,
        role: None,
        parent: Some(BOB.to_string()),
        launch,
        restart: Restart::Never,
        conversation: None,
        situations: Vec::new(),
    };
    let request = Request { caller: Caller::Person, command: Command::Spawn(Box::new(spawn)) };
    run.step(Input::Request { waiter: Waiter(3), request });
    assert!(run.supervisor.newest.agent(AgentId(2)).is_some());
    let summarised = AgentEvent::Summarised { summary: "elsewhere".into() };
    let events = vec![Event { at, what: What::Agent(BOB, summarised) }];
    run.step(Input::Foreign { events, seq: Seq(9) });
    assert!(run.supervisor.pending.iter().all(|pending| pending.is_doomed));
    assert!(run.supervisor.newest.agent(AgentId(2)).is_none());
}
