//! An agent that buries itself, what it leaves behind, and the children that it may have.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::conversation::Followed;
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Excess, Fleet, ModePlace, OffspringLimits, Policy, Reach};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, PostId};
use perennial_core::launch::{Host, Launch, Options, TmuxPlace};
use perennial_core::legacy::LegacyKind;
use perennial_core::observation::{Sign, Wait};
use perennial_core::reason::{Reason, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::Phase;
use perennial_core::state::State;
use perennial_core::text::{Digest, Text, TextBody};

use crate::told::{Told, due, launch};

const BOB: AgentId = AgentId(1);
const OWN: Caller = Caller::Agent(BOB);

/// An agent CLI in a turn, in which it has asked to be buried.
fn asked() -> Told {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Always, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.pass(Duration::from_secs(5));
    let events = told.ask_as(OWN, bury()).unwrap();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(told.agent(1).summary.as_deref(), Some("done"));
    told
}

fn bury() -> Command {
    Command::Bury { target: BOB.to_string(), summary: Some("done".into()) }
}

/// Whether something is to be done about the agent now.
fn is_due(told: &Told) -> bool {
    let plan = told.fleet.plan(&Entity::Agent(BOB), told.now);
    plan.timers.contains(&(Timer::StateEnds, told.now))
}

/// BU1
#[test]
fn it_is_carried_out_when_the_turn_has_ended() {
    let mut told = asked();
    assert_eq!((told.agent(1).state, is_due(&told)), (State::Working, false));
    assert_eq!(told.observe(&due(BOB)), [], "not in the middle of the turn");
    for open in [Sign::Waits(Wait::Permission), Sign::TurnBegan, Sign::BackgroundWork] {
        told.show(1, open.clone());
        assert!(!is_due(&told), "{open:?}");
    }
    assert_eq!(told.ask_as(OWN, bury()).unwrap(), [], "once is enough");
    told.show(1, Sign::Waits(Wait::Input));
    // Also by a daemon that was started meanwhile.
    told.restart();
    assert!(is_due(&told));
    told.observe(&due(BOB));
    let bob = told.agent(1);
    assert_eq!((bob.state, bob.reason), (State::Dead, Reason::Retired));
    assert_eq!(bob.evidence.witness, Witness::Agent(BOB));
    told.ends(1, Exit::Code(0));
    assert_eq!(told.number(1).0, 1, "no session follows");
}

/// BU2
#[test]
fn it_is_buried_too_if_its_session_ends_first() {
    for exit in [Exit::KillSignal(9), Exit::Code(1), Exit::Code(0)] {
        let mut told = asked();
        told.ends(1, exit);
        assert_eq!((told.agent(1).state, told.number(1).0), (State::Dead, 1), "{exit:?}");
    }
    let mut told = asked();
    told.reboot();
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Dead, 1), "the machine's end");
}

#[test]
fn a_bare_command_is_buried_when_its_program_has_ended() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::Always);
    told.executed(1);
    told.ask_as(OWN, bury()).unwrap();
    assert!(!is_due(&told));
    told.pass(Duration::from_secs(9));
    told.ends(1, Exit::Code(0));
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Dead, 1));
}

/// BU2, BU3
#[test]
fn a_hold_keeps_it_and_whoever_gives_it_a_session_takes_the_wish_back() {
    let mut told = asked();
    told.hold(1, HeldFor::Person);
    told.show(1, Sign::Waits(Wait::Input));
    assert!(!is_due(&told), "BU3");
    assert_eq!(told.observe(&due(BOB)), []);
    // Its session ended meanwhile, and somebody wants it to go on.
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert!(told.agent(1).burial.is_some());
    told.ask(Command::Wake(BOB.to_string())).unwrap();
    assert_eq!((told.agent(1).state, told.agent(1).burial.clone()), (State::Waking, None));
    // One that lives is not woken: the wish stands. A restart takes it back.
    let mut told = asked();
    let refused = told.ask(Command::Wake(BOB.to_string()));
    assert_eq!(refused, Err(Refusal::Running { agent: BOB }));
    assert!(told.agent(1).burial.is_some());
    told.ask(Command::Restart(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert_eq!((told.agent(1).state, told.agent(1).burial.clone()), (State::Waking, None));
}

#[test]
fn one_that_is_stopped_first_is_buried_with_the_end_of_its_session() {
    let mut told = asked();
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    assert_eq!(told.agent(1).state, State::Sleeping);
    assert!(!is_due(&told), "BU1: its session has not ended");
    assert_eq!(told.observe(&due(BOB)), []);
    told.ends(1, Exit::Code(0));
    assert_eq!(told.agent(1).state, State::Dead);
}

/// BU1: a session that has not shown anything may be in a turn.
#[test]
fn one_that_has_not_begun_is_not_buried_before_its_session_shows_a_turns_end() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.executed(1);
    assert_eq!(told.agent(1).state, State::Hatching);
    told.ask_as(OWN, bury()).unwrap();
    assert!(!is_due(&told));
    assert_eq!(told.observe(&due(BOB)), []);
}

/// Somebody froze it: only an approval or a person's own burial ends that.
#[test]
fn one_that_is_frozen_meanwhile_stays_frozen() {
    let mut told = asked();
    crate::roles::freeze(&mut told, 1);
    told.ends(1, Exit::Code(0));
    told.observe(&due(BOB));
    assert_eq!((told.agent(1).state, is_due(&told)), (State::Frozen, false));
}

#[test]
fn the_dead_are_not_asked_again() {
    let mut told = asked();
    told.ask(bury()).unwrap();
    let refused = told.ask_as(OWN, bury());
    assert!(matches!(refused, Err(Refusal::WrongState { .. })), "{refused:?}");
}

/// BU2: a process of its last session asks while the next one waits in line after a reboot: that has no turn yet, and
/// does not start.
#[test]
fn a_session_that_only_waits_to_start_does_not_start_after_the_wish() {
    let in_line = || {
        let mut told = Told::new();
        told.spawn_cli_under(Restart::Always, 1, true, None).unwrap();
        told.begun(1, "a", Followed::Started);
        told.reboot();
        assert_eq!(told.agent(1).session.as_ref().map(|one| one.phase), Some(Phase::Wanted));
        told.ask_as(OWN, bury()).unwrap();
        told
    };
    let mut told = in_line();
    assert!(is_due(&told));
    told.observe(&due(BOB));
    assert_eq!((told.agent(1).state, told.agent(1).live_session()), (State::Dead, None));
    let mut stopped = in_line();
    stopped.ask(Command::Stop(BOB.to_string())).unwrap();
    assert_eq!((stopped.agent(1).state, stopped.agent(1).reason), (State::Dead, Reason::Retired));
    let mut restarted = in_line();
    restarted.ask(Command::Restart(BOB.to_string())).unwrap();
    assert_eq!((restarted.agent(1).state, is_due(&restarted)), (State::Waking, false));
}

#[test]
fn nobody_but_a_person_and_the_agent_itself_buries_it() {
    let mut told = asked();
    told.spawn(2, Some("eve"), Restart::Never);
    for caller in [Caller::Agent(AgentId(2)), Caller::Viewer, Caller::Job] {
        let refused = told.ask_as(caller, bury());
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{caller:?}: {refused:?}");
    }
    told.ask(bury()).unwrap();
    assert_eq!(told.agent(1).state, State::Dead, "a person's word counts at once");
}

fn text(words: &str) -> TextBody {
    let digest = Digest([words.len() as u8; 32]);
    let text = Text { digest, bytes: words.len() as u64, head: words.to_owned() };
    TextBody { text, body: words.into() }
}

/// LE1, LE2
#[test]
fn the_newest_legacy_of_a_kind_counts_and_one_for_the_board_is_posted() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    let leave = |kind, words: &str| Command::Leave { kind, body: text(words), post: PostId(7) };
    let posts = |events: &[Event]| {
        events.iter().filter(|event| matches!(event.what, What::Post(..))).count()
    };
    for (kind, words, posted) in
        [(LegacyKind::Blog, "a", 0), (LegacyKind::Board, "ab", 1), (LegacyKind::Blog, "abc", 0)]
    {
        let events = told.ask_as(OWN, leave(kind, words)).unwrap();
        assert_eq!(posts(&events), posted, "{kind:?}");
    }
    assert_eq!(told.ask_as(OWN, leave(LegacyKind::Board, "ab")).unwrap(), [], "the same again");
    let heads: Vec<&str> = told.agent(1).legacies.values().map(|left| &*left.text.head).collect();
    assert_eq!(heads, ["ab", "abc"]);
    for caller in [Caller::Person, Caller::Viewer, Caller::Job] {
        assert_eq!(told.ask_as(caller, leave(LegacyKind::Blog, "x")), Err(Refusal::NotASession));
    }
}

const WITHIN: Reach = Reach {
    is_dir_within: true,
    has_arguments: false,
    own: Some(ModePlace { place: 1, last: 3 }),
    wanted: Some(ModePlace { place: 1, last: 3 }),
};

fn child(id: u128, parent: AgentId) -> Spawn {
    Spawn {
        id: AgentId(id),
        name: None,
        role: None,
        parent: Some(parent.to_string()),
        launch: Launch { harness: "claude".into(), ..launch() },
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    }
}

/// OF1
#[test]
fn a_child_has_nothing_that_its_parent_has_not() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.spawn_cli(2, true, None).unwrap();
    let trusting =
        Launch { options: Options { trust: true, ..Options::default() }, ..child(3, BOB).launch };
    let conversation = Some("mine".parse().unwrap());
    let place = TmuxPlace::of(&"kid".parse().unwrap(), "/tmp/own-server".into());
    let in_tmux = Launch { host: Host::Tmux(place), ..child(3, BOB).launch };
    let above = Some(ModePlace { place: 2, last: 3 });
    for (spawn, reach, excess) in [
        (Spawn { launch: launch(), ..child(3, BOB) }, WITHIN, Excess::Program),
        (child(3, BOB), Reach { has_arguments: true, ..WITHIN }, Excess::Program),
        (child(3, AgentId(2)), WITHIN, Excess::Parent),
        (Spawn { parent: None, ..child(3, BOB) }, WITHIN, Excess::Parent),
        (child(3, BOB), Reach { is_dir_within: false, ..WITHIN }, Excess::Directory),
        (child(3, BOB), Reach { wanted: above, ..WITHIN }, Excess::PermissionMode),
        (Spawn { launch: trusting, ..child(3, BOB) }, WITHIN, Excess::Trust),
        (Spawn { conversation, ..child(3, BOB) }, WITHIN, Excess::Conversation),
        (Spawn { launch: in_tmux, ..child(3, BOB) }, WITHIN, Excess::Host),
    ] {
        let refused = told.ask_as(OWN, Command::SpawnChild(Box::new(spawn), reach));
        assert_eq!(refused, Err(Refusal::AboveOwn { excess }));
    }
    let bare = Command::Spawn(Box::new(child(3, BOB)));
    assert!(matches!(told.ask_as(OWN, bare), Err(Refusal::NotAllowed { .. })));
    told.ask_as(OWN, Command::SpawnChild(Box::new(child(3, BOB)), WITHIN)).unwrap();
    let born = told.agent(3);
    assert_eq!((born.parent, born.evidence.witness), (Some(BOB), Witness::Agent(BOB)));
}

/// OF2
#[test]
fn children_and_generations_are_counted() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    let limits = OffspringLimits { children: 2, depth: 2 };
    let policy = Policy { offspring: limits, ..Policy::default() };
    told.fleet = std::mem::take::<Fleet>(&mut told.fleet).under(policy);
    let have = |told: &mut Told, id, parent: u128| {
        let spawn = Box::new(child(id, AgentId(parent)));
        let asked = Command::SpawnChild(spawn, WITHIN);
        told.ask_as(Caller::Agent(AgentId(parent)), asked).map(|events| events.len())
    };
    let refused = |excess| Err(Refusal::AboveOwn { excess });
    assert!(have(&mut told, 2, 1).is_ok() && have(&mut told, 3, 1).is_ok());
    assert_eq!(have(&mut told, 4, 1), refused(Excess::Children(2)));
    assert!(have(&mut told, 4, 2).is_ok());
    assert_eq!(have(&mut told, 5, 4), refused(Excess::Depth(2)));
    // One that sleeps may be woken: it makes no room for another.
    told.ask_as(OWN, Command::Stop(AgentId(3).to_string())).unwrap();
    assert_eq!(told.agent(3).state, State::Sleeping);
    assert_eq!(have(&mut told, 6, 1), refused(Excess::Children(2)));
    let gone = Command::Bury { target: AgentId(3).to_string(), summary: None };
    told.ask(gone).unwrap();
    assert!(have(&mut told, 6, 1).is_ok());
}
