//! Rest: who rests when a task is verified, what keeps an agent from it, and what wakes one that hibernates.

use std::sync::Arc;
use std::time::Duration;

use perennial_core::agent::{Confirmation, Outlook};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, RoleWanted, Spawn};
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{Followed, Opening};
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::escalation::{EscalateTo, EscalationDraft, Severity};
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, EscalationId, MessageId, TaskId};
use perennial_core::launch::Launch;
use perennial_core::message::{Addressee, Content, Mailbox, MessageEvent, Priority, Trace, Words};
use perennial_core::name::NameKey;
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::reason::{Finding, Reason};
use perennial_core::rest::REST_AFTER;
use perennial_core::restart::Restart;
use perennial_core::role::{Cycle, CycleUnit, RoleTerms, Span};
use perennial_core::session::Phase;
use perennial_core::state::State;
use perennial_core::task::{
    Brief, Queue, QueueWanted, ROUNDS_MAX, Resolution, TaskCommand, TaskDraft, TaskEvent,
};
use perennial_core::text::{Digest, Fingerprint, Text, TextBody};

use crate::told::{Told, launch};

const ADA: u128 = 1;
const BOB: u128 = 2;

fn brief(to: Queue) -> Brief {
    Brief {
        title: "mend the fence".to_owned(),
        text: None,
        project: "/".to_owned(),
        steps: Vec::new(),
        dependencies: Vec::new(),
        parent: None,
        estimate: None,
        reference: None,
        scope: Vec::new(),
        check: None,
        rounds_max: ROUNDS_MAX,
        queue: to,
        reopens: None,
        had_by: Vec::new(),
    }
}

fn to(agent: u128) -> QueueWanted {
    QueueWanted::Agent(AgentId(agent).to_string())
}

fn add(id: u128, to: QueueWanted) -> Command {
    let brief = brief(Queue::Nobody);
    let draft = TaskDraft { id: TaskId(id), brief, body: None, to, finished: Vec::new() };
    Command::Task(Box::new(TaskCommand::Add(Box::new(draft))))
}

/// A person says that it is done: that verifies it.
fn done(task: u128) -> Command {
    let (task, reason, check) = (TaskId(task), "done".to_owned(), Resolution::None);
    Command::Task(Box::new(TaskCommand::Done { task, reason, check }))
}

fn stop(id: u128) -> Command {
    Command::Stop(AgentId(id).to_string())
}

fn wake(id: u128) -> Command {
    Command::Wake(AgentId(id).to_string())
}

fn roles() -> Policy {
    let terms = |span| RoleTerms { span, ..RoleTerms::default() };
    let operators = Cycle { after: None, unit: CycleUnit::Operator, interesting: Vec::new() };
    let keeper = terms(Span::Persistent);
    let roles = [
        (NameKey::of("worker"), terms(Span::Mortal)),
        (NameKey::of("keeper"), keeper.clone()),
        (NameKey::of("crew"), RoleTerms { cycle: Some(operators), ..keeper.clone() }),
        (
            NameKey::of("rounds"),
            RoleTerms {
                cycle: Some(Cycle {
                    after: Some(1),
                    unit: CycleUnit::Assignment,
                    interesting: Vec::new(),
                }),
                ..keeper.clone()
            },
        ),
        (NameKey::of("patrol"), RoleTerms { every: Some(Duration::from_secs(600)), ..keeper }),
    ];
    Policy { roles: roles.into(), ..Policy::default() }
}

impl Told {
    /// An agent CLI with this role, which is idle.
    fn born_idle(&mut self, id: u128, parent: Option<u128>, role: Option<&str>) {
        let wanted = |role: &str| RoleWanted {
            name: role.parse().expect("a name"),
            declared: None,
            sets_restart: false,
        };
        let spawn = Spawn {
            situations: Vec::new(),
            id: AgentId(id),
            name: Some(format!("a{id}").parse().expect("a name")),
            role: role.map(wanted),
            parent: parent.map(|id| AgentId(id).to_string()),
            launch: Launch { harness: "claude".into(), ..launch() },
            restart: Restart::OnCrash,
            conversation: None,
        };
        self.ask(Command::Spawn(Box::new(spawn))).expect("born");
        self.begin(id);
    }

    fn begin(&mut self, id: u128) {
        self.begun(id, &format!("c{id}"), Followed::Started);
    }

    /// What waits for the agent is taken, and the turn that it began is over.
    fn reads_all(&mut self, id: u128) {
        let unread: Vec<MessageId> =
            self.fleet.messages().of(AgentId(id)).map(|message| message.id).collect();
        for message in unread {
            let entity = Entity::Message(message);
            self.observe(&Observation::Due { entity, timer: Timer::Offer });
            self.show(id, Sign::TurnBegan);
            let words = Words { fingerprint: Fingerprint([1; 32]), ids: vec![message] };
            let (agent, number) = (AgentId(id), self.number(id));
            let trace = Trace::Held { dated: None, words };
            self.observe(&Observation::Traced { agent, number, trace });
            self.show(id, Sign::Waits(Wait::Input));
        }
        assert_eq!(self.fleet.messages().of(AgentId(id)).count(), 0);
    }

    /// When the agent rests or is woken.
    fn rest_in(&self, id: u128) -> Option<Duration> {
        let plan = self.fleet.plan(&Entity::Agent(AgentId(id)), self.now);
        let timer = plan.timers.into_iter().find(|(timer, _)| *timer == Timer::Rest);
        timer.map(|(_, at)| Duration::from_micros(at.0.saturating_sub(self.now.0)))
    }

    fn rest_due(&mut self, id: u128) -> Vec<Event> {
        let entity = Entity::Agent(AgentId(id));
        self.observe(&Observation::Due { entity, timer: Timer::Rest })
    }

    /// It rests, if nothing is in the way.
    fn rests(&mut self, id: u128) -> Vec<Event> {
        self.pass(REST_AFTER + Duration::from_secs(1));
        self.rest_due(id)
    }

    fn standing(&self, id: u128) -> (State, Reason) {
        (self.agent(id).state, self.agent(id).reason)
    }

    fn ended(&mut self, id: u128) {
        let number = self.number(id);
        self.report(id, number, Report::Exited(Exit::Code(0)));
    }

    fn next_of(&self, id: u128) -> Outlook {
        self.fleet.outlook(self.agent(id), Confirmation::Confirmed)
    }
}

fn fleet() -> Told {
    let mut told = Told::new();
    told.fleet = std::mem::take::<Fleet>(&mut told.fleet).under(roles());
    told.born_idle(ADA, None, None);
    told
}

/// Ada's child of this role has a task that is verified, and is idle.
fn with_verified(role: Option<&str>) -> Told {
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), role);
    told.ask(add(10, to(BOB))).expect("added");
    told.reads_all(BOB);
    told.ask(done(10)).expect("verified");
    told
}

fn letters(events: &[Event]) -> Vec<(Mailbox, String)> {
    let letter = |event: &Event| match &event.what {
        What::Message(_, MessageEvent::Recorded { to, content: Content::Mail(mail), .. }) => {
            Some((to.clone(), mail.excerpt.clone()))
        }
        _ => None,
    };
    events.iter().filter_map(letter).collect()
}

/// Whoever asks why is told of the rest that comes next, and not of one that another task puts off.
#[test]
fn while_it_has_another_task_its_rest_is_not_what_comes_next() {
    let mut told = with_verified(Some("worker"));
    assert_eq!(told.next_of(BOB), Outlook::Rest(Span::Mortal));
    told.ask(add(11, to(BOB))).expect("added");
    assert_eq!(told.next_of(BOB), Outlook::Text);
    told.reads_all(BOB);
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(told.next_of(BOB), Outlook::TurnEnd);
}

/// RE1: nothing shows when a bare command is done, so that nothing is said of its rest either.
#[test]
fn a_bare_command_earns_no_rest_and_is_counted_nothing() {
    for role in ["worker", "keeper", "rounds"] {
        let mut told = fleet();
        told.spawn(BOB, Some("bare"), Restart::OnCrash);
        told.executed(BOB);
        let (target, role) = (AgentId(BOB).to_string(), role.parse().expect("a name"));
        told.ask(Command::Assume { target, role, declared: None }).expect("taken");
        told.ask(add(10, to(BOB))).expect("added");
        let events = told.ask(done(10)).expect("verified");
        let is_told = |event: &Event| {
            let event = event.of_agent().map(|(_, event)| event);
            matches!(event, Some(AgentEvent::Rest(_) | AgentEvent::Handoff(_)))
        };
        assert!(!events.iter().any(is_told), "{events:?}");
        assert_eq!(told.next_of(BOB), Outlook::Exit(Restart::OnCrash));
    }
}

// covers: T-10
#[test]
fn a_persistent_holder_hibernates_and_its_parent_is_told() {
    let mut told = with_verified(Some("keeper"));
    assert_eq!(told.next_of(BOB), Outlook::Rest(Span::Persistent));
    assert!(told.rest_in(BOB).is_some_and(|left| left <= REST_AFTER && !left.is_zero()));
    assert!(told.rest_due(BOB).is_empty(), "not at once");
    let events = told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
    assert_eq!(told.agent(BOB).evidence.fact, Finding::TaskVerified(TaskId(10)));
    let phase = told.agent(BOB).session.as_ref().map(|session| session.phase);
    assert!(matches!(phase, Some(Phase::Ending(_))), "{phase:?}");
    let letters = letters(&events);
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].0, Mailbox::Agent(AgentId(ADA)));
    assert!(letters[0].1.contains("a2: it hibernates"), "{letters:?}");
    assert!(letters[0].1.contains("No task that it gave to others is open."), "{letters:?}");
    told.ended(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
    assert_eq!(told.next_of(BOB), Outlook::Task);
    assert_eq!(told.rest_in(BOB), None);
    assert!(told.agent(BOB).rest.is_none());
}

// covers: T-10
#[test]
fn a_mortal_holder_is_dead_completed_and_what_it_had_others_do_is_listed() {
    let mut told = with_verified(Some("worker"));
    let draft = add(11, to(ADA));
    told.ask_as(Caller::Agent(AgentId(BOB)), draft).expect_err("only those below it");
    told.ask_as(Caller::Agent(AgentId(BOB)), add(12, QueueWanted::Nobody)).expect("added");
    let events = told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Dead, Reason::Completed));
    let letters = letters(&events);
    assert!(
        letters[0].1.contains("now dead (completed).\nTasks that it gave to others"),
        "{letters:?}"
    );
    assert!(letters[0].1.contains(&TaskId(12).to_string()), "{letters:?}");
    told.ended(BOB);
    assert!(told.agent(BOB).is_over());
}

/// To hibernate is no cycle: whose cycles are the operator's rests, too.
#[test]
fn a_holder_that_only_the_operator_cycles_hibernates_all_the_same() {
    let mut told = with_verified(Some("crew"));
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
    told.ended(BOB);
    told.ask(add(11, to(BOB))).expect("added");
    told.rest_due(BOB);
    let opening = told.agent(BOB).session.as_ref().map(|session| session.opening.clone());
    assert!(matches!(opening, Some(Opening::Resume { .. })), "{opening:?}");
}

/// RE1: nobody loses a session by a role that nobody declared, or its rounds by a task.
#[test]
fn without_a_declared_role_or_a_task_or_between_rounds_an_agent_waits() {
    for role in [None, Some("made-up"), Some("patrol")] {
        let mut told = with_verified(role);
        told.rests(BOB);
        assert_eq!(told.standing(BOB), (State::Waiting, Reason::Idle), "{role:?}");
    }
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("worker"));
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Waiting, Reason::Idle));
}

/// RE2, RE3
#[test]
fn whoever_has_something_left_does_not_rest() {
    let stays = |what: &str, act: &dyn Fn(&mut Told)| {
        let mut told = with_verified(Some("keeper"));
        act(&mut told);
        assert_eq!(told.rest_in(BOB), None, "{what}");
        told.rests(BOB);
        assert_ne!(told.agent(BOB).state, State::Hibernating, "{what}");
    };
    stays("on a task", &|told| {
        told.ask(add(11, to(BOB))).expect("added");
        told.reads_all(BOB);
    });
    stays("in a turn", &|told| {
        told.ask(add(11, to(BOB))).expect("added");
        told.show(BOB, Sign::TurnBegan);
    });
    stays("in the background", &|told| {
        told.show(BOB, Sign::BackgroundWork);
    });
    stays("a dialog", &|told| {
        told.show(BOB, Sign::Waits(Wait::Permission));
    });
    stays("held", &|told| told.hold(BOB, HeldFor::Person));
    stays("to be buried", &|told| {
        let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: None };
        told.show(BOB, Sign::TurnBegan);
        told.ask_as(Caller::Agent(AgentId(BOB)), bury).expect("asked");
    });
    stays("blocked", &|told| {
        told.ask(add(11, to(BOB))).expect("added");
        told.reads_all(BOB);
        let on = perennial_core::task::BlockedOn::Work;
        let block = TaskCommand::Block { task: TaskId(11), on, reason: "x".to_owned() };
        told.ask(Command::Task(Box::new(block))).expect("blocked");
    });
    stays("told of an open loop", &|told| {
        let cid = 3;
        told.born_idle(cid, Some(BOB), None);
        told.ask(add(11, to(cid))).expect("added");
        let bury = Command::Bury { target: AgentId(cid).to_string(), summary: None };
        told.ask(bury).expect("buried");
        told.reads_all(BOB);
    });
}

/// RE4
#[test]
fn a_persons_word_takes_the_rest_back() {
    let mut told = with_verified(Some("keeper"));
    let text = Text { digest: Digest([7; 32]), bytes: 2, head: "go".into() };
    let body = TextBody { text, body: Arc::from("go") };
    told.ask(Command::Send {
        id: MessageId(77),
        target: AgentId(BOB).to_string(),
        body,
        fingerprint: Fingerprint([1; 32]),
        after_turn: false,
    })
    .expect("sent");
    assert!(told.agent(BOB).rest.is_none());
    let mut told = with_verified(Some("keeper"));
    told.show(BOB, Sign::TurnBegan);
    assert!(told.agent(BOB).rest.is_none(), "somebody typed at its terminal");
    told.show(BOB, Sign::Waits(Wait::Input));
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Waiting, Reason::Idle));
}

/// RE5
// covers: T-10
#[test]
fn a_task_wakes_a_hibernating_agent_and_nothing_else_does() {
    let mut told = with_verified(Some("keeper"));
    told.rests(BOB);
    told.ended(BOB);
    told.all_due();
    assert!(told.rest_due(BOB).is_empty());
    assert_eq!(told.agent(BOB).state, State::Hibernating);
    told.ask(add(11, to(BOB))).expect("added");
    assert!(told.rest_in(BOB).is_some_and(|left| left.is_zero()));
    let events = told.rest_due(BOB);
    assert_eq!(told.standing(BOB), (State::Waking, Reason::Starting));
    assert_eq!(told.agent(BOB).evidence.fact, Finding::TaskGiven(TaskId(11)));
    let of_task = |event: &Event| matches!(&event.what, What::Task(task, TaskEvent::Continued { .. }) if task.0 == 11);
    assert!(!events.iter().any(of_task), "it does not run yet: {events:?}");
    // It goes on, and rests again by that task.
    told.begin(BOB);
    let sessions = &told.fleet.tasks().get(TaskId(11)).expect("open").sessions;
    assert_eq!((sessions.count, sessions.unplanned), (1, 0));
    assert_eq!(sessions.last[0].why(), "wake");
    told.reads_all(BOB);
    told.ask(done(11)).expect("verified");
    told.rests(BOB);
    assert_eq!(told.agent(BOB).state, State::Hibernating);
}

/// RE5: only the operator wakes what the operator stopped.
#[test]
fn a_hibernating_agent_that_was_stopped_sleeps_and_no_task_wakes_it() {
    let mut told = with_verified(Some("keeper"));
    told.rests(BOB);
    told.ended(BOB);
    told.ask(stop(BOB)).expect("stopped");
    assert_eq!(told.standing(BOB), (State::Sleeping, Reason::Stopped));
    told.ask(add(11, to(BOB))).expect("added");
    told.all_due();
    assert!(told.rest_due(BOB).is_empty());
    assert_eq!(told.standing(BOB), (State::Sleeping, Reason::Stopped));
    told.ask(wake(BOB)).expect("woken");
    assert_eq!(told.agent(BOB).state, State::Waking);
}

/// What is woken by a person without a task waits; it does not rest again at once.
#[test]
fn a_hibernating_agent_that_is_woken_waits() {
    let mut told = with_verified(Some("keeper"));
    told.rests(BOB);
    told.ended(BOB);
    told.ask(wake(BOB)).expect("woken");
    told.begin(BOB);
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Waiting, Reason::Idle));
}

/// RE2: a role's queue feeds whoever has nothing else to do, awake or not.
#[test]
fn a_task_of_its_roles_queue_is_next_instead_of_rest() {
    let keeper =
        || QueueWanted::Role { role: "keeper".parse().expect("a name"), is_declared: true };
    let mut told = with_verified(Some("keeper"));
    told.ask(add(11, keeper())).expect("added");
    assert!(told.rest_in(BOB).is_some());
    told.rest_due(BOB);
    let current = told.fleet.tasks().current(AgentId(BOB)).map(|task| task.id);
    assert_eq!((current, told.agent(BOB).state), (Some(TaskId(11)), State::Waiting));
    let mut told = with_verified(Some("keeper"));
    told.rests(BOB);
    told.ended(BOB);
    told.ask(add(11, keeper())).expect("added");
    told.rest_due(BOB);
    told.rest_due(BOB);
    assert_eq!(told.agent(BOB).state, State::Waking);
}

/// A task that an agent had when its session crashed: the next one counts, as unplanned.
// covers: G-12
#[test]
fn the_sessions_of_a_task_are_counted_with_why_each_began() {
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("keeper"));
    told.ask(add(10, to(BOB))).expect("added");
    told.show(BOB, Sign::TurnBegan);
    told.pass(Duration::from_secs(5));
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::Code(1)));
    told.begun(BOB, "c2", Followed::Resumed);
    told.ask(Command::Restart(AgentId(BOB).to_string())).expect("restarted");
    told.ended(BOB);
    told.begun(BOB, "c2", Followed::Resumed);
    let sessions = &told.fleet.tasks().get(TaskId(10)).expect("open").sessions;
    let why: Vec<&str> = sessions.last.iter().map(|session| session.why()).collect();
    assert_eq!(why, ["taken", "crash", "restart"]);
    assert_eq!((sessions.count, sessions.unplanned), (3, 1));
}

/// What was wanted and never ran did nothing.
#[test]
fn a_session_that_never_ran_is_no_session_of_a_task() {
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("keeper"));
    told.ask(add(10, to(BOB))).expect("added");
    told.show(BOB, Sign::TurnBegan);
    told.pass(Duration::from_secs(5));
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::Code(1)));
    let never = told.number(BOB);
    told.report(BOB, never, Report::NotStarted("no such program".to_owned()));
    told.all_due();
    let count = |told: &Told| told.fleet.tasks().get(TaskId(10)).expect("open").sessions.count;
    assert!(never.0 > number.0, "another one was wanted");
    assert_eq!(count(&told), 1);
    // The next one that runs is the second.
    told.ask(Command::Restart(AgentId(BOB).to_string())).expect("restarted");
    told.begun(BOB, "c2", Followed::Resumed);
    assert_eq!(count(&told), 2);
}

/// RE6, and a daemon that was killed in between plans the same.
#[test]
fn rest_and_its_letter_are_one_batch() {
    let mut told = with_verified(Some("keeper"));
    told.fleet = Fleet::restore(told.fleet.parts()).under(told.fleet.policy().clone());
    let events = told.rests(BOB);
    let moved = |event: &&Event| matches!(&event.what, What::Agent(_, AgentEvent::Moved(_)));
    assert_eq!((events.iter().filter(moved).count(), letters(&events).len()), (1, 1));
}

/// A task is verified in the middle of a turn, by a check, a person or its role's word: the end of that turn is no end of
/// what it earned.
#[test]
fn what_is_earned_in_a_turn_holds_when_the_turn_ends() {
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("keeper"));
    told.ask(add(10, to(BOB))).expect("added");
    told.reads_all(BOB);
    told.show(BOB, Sign::TurnBegan);
    told.ask(done(10)).expect("verified");
    assert_eq!(told.rest_in(BOB), None, "RE3: nobody rests in a turn");
    told.pass(Duration::from_secs(60));
    told.show(BOB, Sign::Waits(Wait::Input));
    assert_eq!(told.rest_in(BOB), Some(REST_AFTER), "from the end of its turn");
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
    // Who has been idle for long rests as long after the verdict, and not before.
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("keeper"));
    told.ask(add(10, to(BOB))).expect("added");
    told.reads_all(BOB);
    told.pass(Duration::from_secs(600));
    told.ask(done(10)).expect("verified");
    assert_eq!(told.rest_in(BOB), Some(REST_AFTER));
    let at = told.now + REST_AFTER;
    let due = |at| perennial_core::rest::due(&told.fleet, AgentId(BOB), at).len();
    assert_eq!(due(perennial_core::time::Time(at.0 - 1)), 0);
    assert!(due(at) > 0, "at its very time");
}

/// RE3: mail that nobody has given it yet is work.
#[test]
fn nobody_rests_who_has_mail() {
    let mut told = with_verified(Some("keeper"));
    assert!(told.rest_in(BOB).is_some());
    told.born_idle(3, Some(BOB), None);
    let text = Text { digest: Digest([7; 32]), bytes: 4, head: "help".into() };
    let draft = EscalationDraft {
        id: EscalationId(900),
        to: EscalateTo::Parent,
        severity: Severity::High,
        subject: "help".to_owned(),
        excerpt: "help".to_owned(),
        body: TextBody { text, body: Arc::from("help") },
    };
    told.ask_as(Caller::Agent(AgentId(3)), Command::Escalate(Box::new(draft))).expect("asked");
    assert!(told.agent(BOB).rest.is_some(), "what it earned stands");
    assert_eq!(told.rest_in(BOB), None);
    told.rests(BOB);
    assert_eq!(told.agent(BOB).state, State::Waiting);
    told.reads_all(BOB);
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
}

/// RE1: no rounds at all are rounds that are never asked for.
#[test]
fn a_role_whose_rounds_are_turned_off_rests() {
    let mut policy = roles();
    let terms = policy.roles.get_mut(&NameKey::of("patrol")).expect("a role");
    terms.every = Some(Duration::ZERO);
    let mut told = fleet();
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    told.born_idle(BOB, Some(ADA), Some("patrol"));
    told.ask(add(10, to(BOB))).expect("added");
    told.reads_all(BOB);
    told.ask(done(10)).expect("verified");
    told.rests(BOB);
    assert_eq!(told.standing(BOB), (State::Hibernating, Reason::TaskDone));
}

/// RE4: a person's prompt, and nothing else that comes in writing; and nothing is taken back that was not earned.
#[test]
fn only_a_persons_prompt_takes_the_rest_back() {
    let send = |told: &mut Told, id: u128| {
        let text = Text { digest: Digest([7; 32]), bytes: 2, head: "go".into() };
        let command = Command::Send {
            id: MessageId(id),
            target: AgentId(BOB).to_string(),
            body: TextBody { text, body: Arc::from("go") },
            fingerprint: Fingerprint([1; 32]),
            after_turn: false,
        };
        let events = told.ask(command).expect("sent");
        let is_rest = |event: &&Event| match event.of_agent() {
            Some((_, event)) => matches!(event, AgentEvent::Rest(_)),
            None => false,
        };
        events.iter().filter(is_rest).count()
    };
    let mut told = with_verified(Some("keeper"));
    assert_eq!((send(&mut told, 77), send(&mut told, 78)), (1, 0));
    let mut told = with_verified(Some("keeper"));
    let bob = Addressee::Agent(AgentId(BOB).to_string());
    told.mail_to(Caller::Person, 79, Priority::Normal, bob).expect("sent");
    assert_eq!(told.fleet.messages().of(AgentId(BOB)).count(), 1);
    assert!(told.agent(BOB).rest.is_some(), "mail is read, and then it rests");
}

/// RE4: only the beginning of a turn is a prompt, and only where no turn was.
#[test]
fn what_its_harness_shows_besides_takes_nothing_back() {
    let sample = Sample { tokens: 10, window: 100, usable: 100, source: Source::Transcript };
    for sign in [Sign::Progressed, Sign::Measured { conversation: None, sample }, Sign::StillIdle] {
        let mut told = with_verified(Some("keeper"));
        told.show(BOB, sign.clone());
        assert!(told.agent(BOB).rest.is_some(), "{sign:?}");
    }
    let mut told = fleet();
    told.born_idle(BOB, Some(ADA), Some("keeper"));
    told.ask(add(10, to(BOB))).expect("added");
    told.reads_all(BOB);
    told.show(BOB, Sign::TurnBegan);
    told.ask(done(10)).expect("verified");
    told.show(BOB, Sign::TurnBegan);
    assert!(told.agent(BOB).rest.is_some(), "the turn in which it was earned is told of again");
}

/// Who asked to be buried when its turn ends does not rest before.
#[test]
fn whoever_is_to_be_buried_does_not_rest() {
    let mut told = with_verified(Some("keeper"));
    assert!(told.rest_in(BOB).is_some());
    let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: None };
    told.ask_as(Caller::Agent(AgentId(BOB)), bury).expect("asked");
    assert_eq!(told.rest_in(BOB), None);
}
