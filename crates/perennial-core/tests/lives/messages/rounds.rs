//! Rounds: when a role asks its holder for one, by which way it goes, and what ends it.

use perennial_core::command::RoleWanted;
use perennial_core::effect::Typing;
use perennial_core::fleet::Policy;
use perennial_core::message::{Priority, Words};
use perennial_core::name::NameKey;
use perennial_core::role::{Mandate, RoleTerms};

use super::*;

const EVERY: Duration = Duration::from_secs(1800);

/// A patrol that is idle, with a round every half an hour.
fn patrol() -> Told {
    let mut told = idle();
    let mandate = Mandate::Text("walk".to_owned());
    let terms = RoleTerms { every: Some(EVERY), mandate, ..RoleTerms::default() };
    let roles = [(NameKey::of("patrol"), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    told.ask(assume("patrol")).expect("taken");
    told
}

fn assume(role: &str) -> Command {
    let (target, role) = (AgentId(BOB).to_string(), role.parse().expect("a name"));
    Command::Assume { target, role, declared: None }
}

impl Told {
    /// How many seconds there are until the next round is due.
    fn round_in(&self) -> Option<u64> {
        let plan = self.fleet.plan(&Entity::Agent(AgentId(BOB)), self.now);
        let timer = plan.timers.into_iter().find(|(timer, _)| *timer == Timer::Round);
        timer.map(|(_, at)| (at.0.saturating_sub(self.now.0)).div_ceil(1_000_000))
    }

    /// The agent's time came, as often as its plan says so: never more than once for nothing.
    fn round_due(&mut self) -> String {
        let (entity, timer) = (Entity::Agent(AgentId(BOB)), Timer::Round);
        let mut all = Vec::new();
        while self.round_in() == Some(0) {
            let events = self.observe(&Observation::Due { entity: entity.clone(), timer });
            assert!(!events.is_empty(), "a timer that changes nothing would fire for ever");
            all.extend(events);
        }
        words(&all)
    }

    fn round(&self) -> Option<&message::Message> {
        self.fleet.messages().round(AgentId(BOB))
    }

    fn given(&self) -> u64 {
        self.agent(BOB).rounds.given
    }

    /// The round stands in the conversation.
    fn round_seen(&mut self) -> String {
        let id = self.round().expect("a round").id;
        let words = Words { fingerprint: Fingerprint([9; 32]), ids: vec![id] };
        self.trace(Trace::Held { dated: None, words })
    }

    /// The turn that a prompt began is over.
    fn one_turn(&mut self) {
        self.show(BOB, Sign::TurnBegan);
        self.show(BOB, Sign::Waits(Wait::Input));
    }
}

/// RD1, RD3: the next interval counts from when the last round was given.
#[test]
fn an_idle_holder_is_typed_one_round_an_interval() {
    let mut told = patrol();
    assert_eq!(told.round_in(), Some(1800));
    told.pass_seconds(1799);
    assert_eq!(told.round_due(), "", "not before its time");
    for number in 1..=3 {
        told.pass(EVERY);
        assert_eq!(told.round_due(), "recorded ours");
        assert_eq!(
            (told.given(), told.round_in()),
            (number - 1, None),
            "none while one is under way"
        );
        assert_eq!(told.offer(), "offered ours");
        assert_eq!(told.given(), number);
        let typed =
            told.fleet.plan(&Entity::Message(told.round().expect("it").id), told.now).effects;
        let [Effect::Deliver(delivery)] = &typed[..] else { panic!("{typed:?}") };
        let Typing::Round(round) = &delivery.typing else { panic!("{delivery:?}") };
        assert_eq!(
            (round.number, round.role.as_str(), round.every),
            (number, "patrol", Some(EVERY))
        );
        assert_eq!(round.mandate, Mandate::Text("walk".to_owned()));
        // However long it takes until the conversation shows it: RD1.
        told.pass(EVERY * 3);
        assert_eq!((told.round_due(), told.round_in()), (String::new(), None));
        assert_eq!(told.round_seen(), "seen ours");
        told.one_turn();
    }
}

/// A round that falls due in a turn waits for its end, whatever hooks tell meanwhile.
#[test]
fn a_round_never_goes_into_a_turn() {
    let mut told = patrol();
    told.show(BOB, Sign::TurnBegan);
    told.pass(EVERY);
    assert_eq!(told.round_due(), "recorded ours");
    let id = told.round().expect("a round").id;
    assert_eq!(message::why(&told.fleet, told.round().expect("it"), told.now), Why::TurnRuns);
    let hook = told.fleet.offer(AgentId(BOB), told.number(BOB), told.now);
    assert_eq!(words(&hook), "", "not with a hook of the turn");
    assert_eq!(told.offer(), "", "nor typed");
    // At its end it goes with the reply, and the interval counts from there.
    told.pass_seconds(600);
    let events = told.fleet.offer_at_turn_end(AgentId(BOB), told.number(BOB), told.now);
    told.fold(&events);
    assert_eq!((words(&events), told.given()), ("offered ours".to_owned(), 1));
    assert_eq!(told.trace(Trace::Mentioned { ids: vec![id] }), "seen ours");
    assert_eq!(told.round_in(), Some(1800));
}

/// Mail and rounds go by the same ways: none overtakes what is under way.
#[test]
fn mail_that_comes_later_waits_until_the_round_is_seen() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.mail(1, Priority::Normal);
    assert_eq!(told.offer(), "offered ours");
    assert_eq!(told.offer(), "");
    let round = told.fleet.messages().round(AgentId(BOB)).expect("under way").id;
    assert_eq!(told.why(1), Some(Why::Earlier(round)));
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(told.hook(), "", "the round may be queued");
    told.round_seen();
    assert_eq!(told.hook(), "offered 1");
    assert_eq!(told.fleet.messages().unread(&AgentId(BOB).into()), 1, "a round is no mail");
}

/// RD2, RD3: what falls due without a session is passed over, and what waits then is withdrawn.
#[test]
fn without_a_session_there_are_no_rounds_and_none_is_made_up() {
    let mut told = patrol();
    told.show(BOB, Sign::TurnBegan);
    told.pass(EVERY);
    told.round_due();
    told.ask(Command::Stop(AgentId(BOB).to_string())).expect("stopped");
    let ended = told.report(BOB, told.number(BOB), Report::Exited(Exit::Code(0)));
    assert_eq!(words(&ended), "withdrawn ours");
    assert_eq!((told.round_in(), told.given()), (None, 0), "nobody prods who sleeps");
    told.pass(EVERY * 10 + Duration::from_secs(600));
    assert_eq!((told.round_in(), told.round_due()), (None, String::new()));
    told.ask(Command::Wake(AgentId(BOB).to_string())).expect("woken");
    told.begun(BOB, "c-1", Followed::Resumed);
    assert_eq!(told.round_in(), Some(1200), "at the next whole interval");
    told.pass_seconds(1200);
    assert_eq!(told.round_due(), "recorded ours");
}

/// RD2
#[test]
fn a_held_frozen_or_buried_holder_and_a_bare_command_get_none() {
    let mut held = patrol();
    held.hold(BOB, HeldFor::Person);
    held.pass(EVERY * 2);
    assert_eq!((held.round_in(), held.round_due()), (None, String::new()));

    let mut frozen = patrol();
    crate::roles::freeze(&mut frozen, BOB);
    frozen.report(BOB, frozen.number(BOB), Report::Exited(Exit::Code(0)));
    frozen.pass(EVERY * 2);
    assert_eq!((frozen.round_in(), frozen.round_due()), (None, String::new()));

    let mut dead = patrol();
    dead.show(BOB, Sign::TurnBegan);
    dead.pass(EVERY);
    dead.round_due();
    let target = AgentId(BOB).to_string();
    let buried = dead.ask(Command::Bury { target, summary: None }).expect("buried");
    assert_eq!((words(&buried).as_str(), dead.round_in()), ("returned ours", None));

    let mut bare = patrol();
    let role =
        RoleWanted { name: "patrol".parse().expect("a name"), declared: None, sets_restart: true };
    bare.ask(crate::roles::spawn_as(2, role)).expect("born");
    bare.executed(2);
    let plan = bare.fleet.plan(&Entity::Agent(AgentId(2)), bare.now);
    assert!(plan.timers.iter().all(|(timer, _)| *timer != Timer::Round), "{plan:?}");
}

/// A round is of its role: leaving the role ends it, and another one counts anew.
#[test]
fn who_leaves_the_role_is_asked_for_no_more_rounds() {
    let mut told = patrol();
    told.show(BOB, Sign::TurnBegan);
    told.pass(EVERY);
    told.round_due();
    let events = told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    assert_eq!((words(&events).as_str(), told.round_in()), ("withdrawn ours", None));
    told.ask(assume("patrol")).expect("taken");
    assert_eq!((told.round_in(), told.given()), (Some(1800), 0));
    told.ask(assume("steward")).expect("taken");
    assert_eq!(told.round_in(), None, "that role has none");
}

/// A person takes the round that waits back: the next one comes an interval later, not at once.
#[test]
fn a_round_that_a_person_takes_back_is_not_recorded_again_at_once() {
    let mut told = patrol();
    told.show(BOB, Sign::TurnBegan);
    told.pass(EVERY);
    told.round_due();
    let id = told.round().expect("a round").id;
    told.ask(Command::Unsend { id }).expect("taken back");
    assert_eq!((told.round_in(), told.given(), told.round().is_none()), (Some(1800), 1, true));
}

/// RD3: a daemon that was away for many intervals brings one round; and a restart doubles none.
#[test]
fn a_restart_of_the_daemon_neither_doubles_a_round_nor_makes_up_for_many() {
    let mut told = patrol();
    told.pass(EVERY * 7);
    told.fleet = Fleet::restore(told.fleet.parts()).under(told.fleet.policy().clone());
    told.restart();
    assert_eq!(told.round_due(), "recorded ours");
    told.fleet = Fleet::restore(told.fleet.parts()).under(told.fleet.policy().clone());
    told.restart();
    assert_eq!((told.round_due(), told.round_in()), (String::new(), None), "it is under way");
    told.offer();
    told.fleet = Fleet::restore(told.fleet.parts()).under(told.fleet.policy().clone());
    told.restart();
    told.round_seen();
    assert_eq!((told.given(), told.round_in()), (1, Some(1800)));
}

/// A hook of the user's that blocks a round blocks that one only, and nobody has to take it back.
#[test]
fn a_blocked_round_is_withdrawn_and_the_next_one_comes() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.offer();
    let ids = vec![told.round().expect("a round").id];
    let words = Words { fingerprint: Fingerprint([9; 32]), ids };
    let blocked = Trace::Blocked { dated: None, words, because: "not now".to_owned() };
    assert_eq!(told.trace(blocked), "withdrawn ours");
    assert!(!told.fleet.needs_operator(told.agent(BOB), Confirmation::Confirmed));
    assert_eq!((told.given(), told.round_in()), (1, Some(1800)));
}

/// T13: a round is typed alone, in its place among the mail.
#[test]
fn a_round_stands_in_no_list_and_is_not_counted_in_one() {
    let mut told = patrol();
    told.show(BOB, Sign::TurnBegan);
    told.mail(1, Priority::Normal);
    told.pass(EVERY);
    told.round_due();
    told.mail(2, Priority::Normal);
    told.show(BOB, Sign::Waits(Wait::Input));
    assert_eq!(told.offer(), "offered 1");
    let effects = told.fleet.plan(&Entity::Message(MessageId(1)), told.now).effects;
    let [Effect::Deliver(delivery)] = &effects[..] else { panic!("{effects:?}") };
    let Typing::Mails { mails, left } = &delivery.typing else { panic!("{delivery:?}") };
    assert_eq!((mails.len(), *left), (1, 1), "one mail waits, and a round that is none");
    let brings = |id| Words { fingerprint: Fingerprint([9; 32]), ids: vec![MessageId(id)] };
    told.trace(Trace::Held { dated: None, words: brings(1) });
    assert_eq!(told.offer(), "offered ours");
    told.round_seen();
    assert_eq!(told.offer(), "offered 2");
}

/// RD2
#[test]
fn who_asked_for_its_burial_or_was_told_to_end_is_asked_for_no_round() {
    let mut asked = patrol();
    asked.show(BOB, Sign::TurnBegan);
    let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: None };
    asked.ask_as(Caller::Agent(AgentId(BOB)), bury).expect("asked");
    asked.pass(EVERY);
    assert_eq!((asked.round_in(), asked.round_due()), (None, String::new()));
    let mut ends = patrol();
    ends.ask(Command::Stop(AgentId(BOB).to_string())).expect("stopped");
    ends.pass(EVERY);
    assert_eq!(ends.round_in(), None, "its session is not over yet");
}

/// RD3: one that was passed over is given again, and counts once.
#[test]
fn a_round_that_is_offered_again_counts_from_when_it_was_first_given() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.offer();
    let given = told.agent(BOB).rounds;
    let id = told.round().expect("a round").id;
    let outcome = Outcome::Entered;
    told.observe(&Observation::Delivered { message: id, attempt: 1, outcome });
    told.pass_seconds(120);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held ours NotTaken");
    assert_eq!(told.offer(), "offered ours");
    assert_eq!(told.agent(BOB).rounds, given);
}

/// RD2: what a session had of a round goes to no other session.
#[test]
fn a_round_that_a_session_had_when_it_ended_is_withdrawn() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.offer();
    told.pass_seconds(5);
    told.report(BOB, told.number(BOB), Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(3);
    told.begun(BOB, "c-1", Followed::Resumed);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "withdrawn ours");
}

/// A round on its way when its role is left may be read: it says what it was, by no words of another role.
#[test]
fn a_round_on_its_way_is_told_without_the_mandate_of_another_role() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.offer();
    let id = told.round().expect("a round").id;
    let terms = RoleTerms { mandate: Mandate::Text("keep".to_owned()), ..RoleTerms::default() };
    let (target, role) = (AgentId(BOB).to_string(), "steward".parse().expect("a name"));
    let events = told.ask(Command::Assume { target, role, declared: Some(terms) }).expect("taken");
    assert_eq!(words(&events), "", "it may be typed already");
    let effects = told.fleet.plan(&Entity::Message(id), told.now).effects;
    let [Effect::Deliver(delivery)] = &effects[..] else { panic!("{effects:?}") };
    let Typing::Round(round) = &delivery.typing else { panic!("{delivery:?}") };
    assert_eq!((round.role.as_str(), &round.mandate), ("patrol", &Mandate::NotWritten));
    assert_eq!(round.every, None);
}

/// RD2
#[test]
fn a_round_of_a_role_that_was_left_is_not_asked_again() {
    let mut told = patrol();
    told.pass(EVERY);
    told.round_due();
    told.offer();
    let message = told.round().expect("a round").id;
    told.observe(&Observation::Delivered { message, attempt: 1, outcome: Outcome::Entered });
    told.ask(Command::Drop(AgentId(BOB).to_string())).expect("dropped");
    told.pass_seconds(120);
    let at = told.now;
    let (settled, again) = (told.trace(settled(at)), told.offer());
    assert_eq!((settled.as_str(), again.as_str()), ("withdrawn ours", ""));
}
