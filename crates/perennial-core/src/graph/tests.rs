//! The fold of the entity graph: bounds, portions, roles, domains and summaries.

use super::*;
use crate::conversation::Opening;
use crate::id::NodeId;
use crate::launch::{Host, Options};
use crate::reason::{Evidence, Finding, Reason, Verb, Witness};
use crate::restart::{Restart, Tally};
use crate::role::RoleTerms;
use crate::state::Cause;

const FIRST: SessionNumber = SessionNumber(1);

fn evidence() -> Evidence {
    Evidence { witness: Witness::Operator, fact: Finding::Asked(Verb::Spawn), at: Time(1) }
}

fn born(role: Option<&str>) -> AgentEvent {
    let launch = Launch {
        harness: "claude".to_owned(),
        host: Host::Shim,
        argv: Vec::new(),
        dir: "/".to_owned(),
        env_names: Vec::new(),
        project: "/".to_owned(),
        options: Options { model: Some("opus-4-6".to_owned()), ..Options::default() },
    };
    AgentEvent::Hatched(Box::new(Birth {
        name: "bob".parse().ok(),
        role: role.map(str::to_owned),
        parent: None,
        node: NodeId::HOME,
        launch,
        restart: Restart::Never,
        evidence: evidence(),
        until: Time(9),
    }))
}

fn wanted(number: u32) -> AgentEvent {
    AgentEvent::SessionWanted { number: SessionNumber(number), opening: Opening::Bare }
}

fn ended(number: u32) -> AgentEvent {
    let (number, exit) = (SessionNumber(number), Exit::Code(0));
    AgentEvent::SessionEnded {
        number,
        exit,
        is_clean: true,
        tally: Tally::ByFirstRule,
        asked: None,
    }
}

fn taken(role: &str) -> AgentEvent {
    let terms = Box::new(RoleTerms::default());
    AgentEvent::RoleTaken { role: role.to_owned(), terms, from: None, evidence: evidence() }
}

fn moved(to: State) -> AgentEvent {
    let (cause, reason) = (Cause::Buried, Reason::Retired);
    AgentEvent::Moved(Move { cause, to, reason, evidence: evidence(), until: None })
}

fn said(summary: &str) -> AgentEvent {
    AgentEvent::Summarised { summary: summary.to_owned() }
}

fn life() -> Vec<AgentEvent> {
    vec![
        born(Some("Architect")),
        wanted(1),
        moved(State::Working),
        said("looked around"),
        taken("reviewer"),
        taken("architect"),
        ended(1),
        moved(State::Crashed),
        moved(State::Waking),
        wanted(2),
        AgentEvent::Renamed { name: "eve".parse().expect("a name") },
        moved(State::Working),
        said("drew the plan"),
        ended(2),
        moved(State::Dead),
    ]
}

fn folded(events: &[AgentEvent]) -> Portion {
    let mut portion = Portion::default();
    for (at, event) in events.iter().enumerate() {
        portion.evolve(event, Time(at as u64));
    }
    portion
}

#[test]
fn each_session_has_its_actor_roles_summary_and_bounds() {
    let Portion { identity, sessions } = folded(&life());
    let identity = identity.expect("it was born");
    assert_eq!((identity.role.as_ref(), identity.died_at), (None, Some(Time(14))));
    let [first, second] = &sessions[..] else { unreachable!("{sessions:?}") };
    let held = |entry: &SessionEntry| {
        let span = |it: &Method| (it.role.clone(), it.since.0, it.until.map(|at| at.0));
        entry.methods.iter().map(span).collect::<Vec<_>>()
    };
    let (architect, reviewer) = ("Architect".to_owned(), "reviewer".to_owned());
    assert_eq!(held(first), [(architect, 1, Some(6)), (reviewer, 4, Some(5))]);
    assert_eq!(held(second), [("architect".to_owned(), 9, Some(13))]);
    assert_eq!((first.state, second.state), (State::Crashed, State::Dead));
    assert_eq!(first.state_now(&identity), State::Dead, "a session before the newest is over");
    assert_eq!((first.since, first.until), (Time(1), Some(Time(6))));
    let told = [first, second].map(|entry| (entry.name.as_deref(), entry.summary.as_deref()));
    assert_eq!(told, [(Some("bob"), Some("looked around")), (Some("eve"), Some("drew the plan"))]);
    assert!(sessions.iter().all(|entry| entry.actor == "opus-4-6"));
}

/// EG1, EG2: whatever is kept of a portion is the identity and its newest session.
#[test]
fn folded_in_portions_it_is_the_same() {
    let life = life();
    let whole = folded(&life);
    for cut in 0..life.len() {
        let mut kept: Vec<SessionEntry> = Vec::new();
        let mut portion = Portion::default();
        for (at, event) in life.iter().enumerate() {
            if at == cut {
                kept.append(&mut portion.sessions);
                let newest = portion.identity.as_ref().and_then(|identity| identity.newest);
                let is_newest = |entry: &SessionEntry| Some(entry.number) == newest;
                if let Some(place) = kept.iter().position(is_newest) {
                    portion.sessions.push(kept.remove(place));
                }
            }
            portion.evolve(event, Time(at as u64));
        }
        kept.append(&mut portion.sessions);
        assert_eq!(kept, whole.sessions, "{cut}");
        assert_eq!(portion.identity, whole.identity, "{cut}");
    }
}

/// EG3
#[test]
fn an_entry_has_a_bound() {
    let mut life = vec![born(None), wanted(1)];
    life.extend((0..500).map(|number| taken(&format!("role-{number}"))));
    life.extend((0..500).map(|_| taken("role-1")));
    let portion = folded(&life);
    assert_eq!(portion.sessions[0].methods.len(), NAMED_MAX);
    assert_eq!(portion.sessions[0].number, FIRST);
}

#[test]
fn an_agent_whose_birth_is_lost_has_no_place() {
    assert_eq!(folded(&life()[1..]), Portion::default());
}

fn set(situations: &[&str], parent: Option<NewParent<AgentId>>) -> AgentEvent {
    let situations = situations.iter().map(|it| it.parse().expect("a situation")).collect();
    let settings = Settings { situations: Some(situations), parent, ..Settings::default() };
    AgentEvent::SettingsChanged { settings: Box::new(settings), evidence: evidence() }
}

#[test]
fn a_session_keeps_what_was_worked_on_in_it_and_no_more() {
    let Portion { identity, sessions } = folded(&[
        born(None),
        set(&["auth"], Some(NewParent::Agent(AgentId(7)))),
        wanted(1),
        set(&["Auth", "site"], Some(NewParent::Nobody)),
        ended(1),
        set(&["later"], None),
        taken("keeper"),
        moved(State::Crashed),
        moved(State::Waking),
        wanted(2),
    ]);
    assert_eq!(sessions[0].domains, ["auth", "site"], "once each, and not what came after");
    assert!(sessions[0].methods.is_empty(), "taken after its end");
    assert_eq!(sessions[0].state, State::Crashed);
    assert_eq!((&sessions[1].domains[..], sessions[1].methods.len()), (&["later".into()][..], 1));
    assert_eq!(identity.and_then(|identity| identity.parent), None);
}

#[test]
fn a_role_is_left_when_it_is_left_and_when_its_holder_dies() {
    let left = AgentEvent::RoleLeft { to: None, evidence: evidence() };
    for end in [left, moved(State::Dead)] {
        let portion = folded(&[born(Some("architect")), wanted(1), end]);
        assert_eq!(portion.sessions[0].methods[0].until, Some(Time(2)));
        assert_eq!(portion.identity.and_then(|identity| identity.role), None);
    }
}

/// EG2, EG3: a number that is wanted anew is one entry; what an agent works on is bounded too.
#[test]
fn a_session_has_one_entry_of_bounded_size() {
    let mut life = vec![born(None), wanted(1), wanted(1)];
    life.extend((0..100).map(|number| set(&[&format!("s{number}")], None)));
    let portion = folded(&life);
    assert_eq!((portion.sessions.len(), portion.sessions[0].domains.len()), (1, NAMED_MAX));
    // A birth that is recorded again forgets no session.
    life.push(born(None));
    assert_eq!(folded(&life).identity.and_then(|identity| identity.newest), Some(FIRST));
}
