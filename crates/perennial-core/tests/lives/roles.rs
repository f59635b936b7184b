//! Roles: who holds one, when it is vacant, and who is told so.

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, RoleWanted, Spawn};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, Move, What};
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::id::{AgentId, PostId};
use perennial_core::launch::Launch;
use perennial_core::name::{Name, NameKey};
use perennial_core::post::PostEvent;
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::role::{self, Mandate, RoleEvent, RoleTerms, Vacancy};
use perennial_core::state::{Cause, Roster, State};

use crate::told::{Told, launch};

const MANDATE: &str = "mandates/architect.txt";

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn architect() -> RoleTerms {
    let mandate = Mandate::Path(MANDATE.to_owned());
    let restart = Some(Restart::Always);
    RoleTerms { mandate, is_single: true, restart, is_declared: true, ..RoleTerms::default() }
}

/// A fleet whose operator has declared the architect.
fn told() -> Told {
    let mut told = Told::new();
    let roles = [(NameKey::of("architect"), architect())].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    told
}

fn spawn(id: u128, role: Option<&str>) -> Command {
    let role = role.map(|role| RoleWanted { name: name(role), declared: None, sets_restart: true });
    spawned(id, role)
}

/// A bare command with a role.
pub fn spawn_as(id: u128, role: RoleWanted) -> Command {
    spawned(id, Some(role))
}

fn spawned(id: u128, role: Option<RoleWanted>) -> Command {
    Command::Spawn(Box::new(Spawn {
        id: AgentId(id),
        name: Some(name(&format!("a{id}"))),
        role,
        parent: None,
        launch: launch(),
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    }))
}

fn born(told: &mut Told, id: u128, role: Option<&str>) {
    told.ask(spawn(id, role)).expect("born");
    told.executed(id);
}

fn bury(told: &mut Told, id: u128) -> Vec<Event> {
    told.ask(Command::Bury { target: AgentId(id).to_string(), summary: None }).expect("buried")
}

fn assume(id: u128, role: &str) -> Command {
    Command::Assume { target: AgentId(id).to_string(), role: name(role), declared: None }
}

fn transfer(from: u128, to: u128) -> Command {
    transfer_into(from, to, None)
}

fn transfer_into(from: u128, to: u128, declared: Option<(Name, RoleTerms)>) -> Command {
    Command::Transfer { target: AgentId(from).to_string(), to: AgentId(to).to_string(), declared }
}

fn drop_role(id: u128) -> Command {
    Command::Drop(AgentId(id).to_string())
}

/// The vacancies that these events record, each of which is on the board as well.
fn announced(events: &[Event]) -> Vec<Vacancy> {
    let mut posts: Vec<Vacancy> = Vec::new();
    let mut vacancies = Vec::new();
    for event in events {
        match &event.what {
            What::Role(_, RoleEvent::Vacated(vacancy)) => vacancies.push((**vacancy).clone()),
            What::Post(_, PostEvent::VacancyAnnounced(vacancy)) => posts.push((**vacancy).clone()),
            What::Role(
                _,
                RoleEvent::Taken { .. } | RoleEvent::Left { .. } | RoleEvent::Dismissed,
            )
            | What::Post(_, PostEvent::Written { .. })
            | What::Node(..)
            | What::Agent(..)
            | What::Name(..)
            | What::Conversation(..)
            | What::Message(..)
            | What::Job(..)
            | What::Signal(..)
            | What::Escalation(..)
            | What::Task(..) => {}
        }
    }
    assert_eq!(posts, vacancies);
    vacancies
}

fn holders(fleet: &Fleet, role: &str) -> Vec<u128> {
    fleet.roles().holders(&NameKey::of(role)).map(|id| id.0).collect()
}

/// Freezes an agent; no verb does yet.
pub fn freeze(told: &mut Told, id: u128) {
    let fact = Finding::Asked(Verb::Stop);
    let moved = Move {
        cause: Cause::Frozen,
        to: State::Frozen,
        reason: Reason::FrozenByOrder,
        evidence: Evidence { witness: Witness::Operator, fact, at: told.now },
        until: None,
    };
    let what = What::Agent(AgentId(id), AgentEvent::Moved(moved));
    told.fold(&[Event { at: told.now, what }]);
}

/// R1: the burial of the last holder, and nothing before it.
#[test]
fn the_burial_of_the_last_living_holder_announces_the_vacancy_with_its_mandate() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("Architect"));
    assert_eq!(holders(&told.fleet, "ARCHITECT"), [1, 2]);
    assert!(announced(&bury(&mut told, 1)).is_empty(), "another one lives");
    let vacancies = announced(&bury(&mut told, 2));
    let [Vacancy { role, last, mandate, frozen, .. }] = &vacancies[..] else {
        panic!("{vacancies:?}")
    };
    assert_eq!((role.as_str(), last.id), ("Architect", AgentId(2)));
    assert_eq!(last.name, Some(name("a2")));
    assert_eq!(*mandate, Mandate::Path(MANDATE.to_owned()));
    assert!(frozen.is_empty());
    assert_eq!(role::vacancies(&told.fleet, None).len(), 1);
    // Whoever takes it ends the vacancy.
    born(&mut told, 3, Some("architect"));
    assert_eq!(role::vacancies(&told.fleet, None).len(), 0);
    assert_eq!(told.agent(3).restart, Restart::Always, "as the role has it");
}

/// R1: sleeping and freezing vacate nothing; who is in the freezer is named.
#[test]
fn a_holder_in_the_freezer_vacates_nothing_and_is_named_when_the_last_living_one_goes() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("architect"));
    freeze(&mut told, 1);
    let stopped = told.ask(Command::Stop(AgentId(2).to_string())).expect("stopped");
    assert!(announced(&stopped).is_empty());
    assert_eq!(told.agent(2).state.roster(), Roster::Freezer);
    told.ask(Command::Wake(AgentId(2).to_string())).expect("woken");
    let vacancies = announced(&bury(&mut told, 2));
    assert_eq!(vacancies[0].frozen.iter().map(|one| one.id.0).collect::<Vec<_>>(), [1]);
    // R2: it was vacant already.
    assert!(announced(&bury(&mut told, 1)).is_empty());
    assert_eq!(role::vacancies(&told.fleet, None).len(), 1);
}

/// R2: one that came out of the freezer is a living holder again.
#[test]
fn a_holder_who_was_woken_leaves_a_vacancy_of_its_own() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("architect"));
    told.ask(Command::Stop(AgentId(1).to_string())).expect("stopped");
    assert_eq!(announced(&bury(&mut told, 2)).len(), 1);
    told.ends(1, perennial_core::exit::Exit::Code(0));
    told.ask(Command::Wake(AgentId(1).to_string())).expect("woken");
    assert_eq!(role::vacancies(&told.fleet, None).len(), 0, "a living agent holds it");
    assert_eq!(announced(&bury(&mut told, 1)).len(), 1);
}

#[test]
fn a_transfer_to_a_living_agent_leaves_no_vacancy_and_one_into_the_freezer_does() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, None);
    assert!(announced(&told.ask(transfer(1, 2)).expect("handed over")).is_empty());
    assert_eq!(holders(&told.fleet, "architect"), [2]);
    assert_eq!((&told.agent(1).role, &told.agent(2).role_terms), (&None, &architect()));
    assert!(announced(&bury(&mut told, 1)).is_empty(), "it is buried without the role");
    born(&mut told, 3, None);
    freeze(&mut told, 3);
    let vacancies = announced(&told.ask(transfer(2, 3)).expect("handed over"));
    assert_eq!(vacancies[0].frozen[0].id, AgentId(3));
    assert_eq!(vacancies[0].frozen.len(), 1);
    assert_eq!(told.agent(3).state, State::Frozen, "invariant 3");
    // R2: it is vacant as before, though somebody took it.
    assert!(announced(&bury(&mut told, 3)).is_empty());
}

/// R5
#[test]
fn a_transfer_carries_no_terms_over_that_others_declare() {
    let of = |text: &str| {
        let mandate = Mandate::Text(text.to_owned());
        RoleTerms { mandate, is_declared: true, ..RoleTerms::default() }
    };
    let assume_as = |id: u128, role: &str, terms: RoleTerms| Command::Assume {
        target: AgentId(id).to_string(),
        role: name(role),
        declared: Some(terms),
    };
    let mut told = Told::new();
    (1..=4).for_each(|id| born(&mut told, id, None));
    told.ask(assume_as(1, "scout", of("the giver's"))).expect("taken");
    told.ask(assume_as(2, "Scout", of("its own"))).expect("taken");
    // Who holds it already keeps theirs.
    let project = |role: &str| Some((name(role), of("the receiver's project")));
    told.ask(transfer_into(1, 2, project("scout"))).expect("handed over");
    assert_eq!(told.agent(2).role_terms, of("its own"));
    // Another one has what its project says; of another role, that says nothing.
    told.ask(transfer_into(2, 3, project("SCOUT"))).expect("handed over");
    assert_eq!(told.agent(3).role_terms, of("the receiver's project"));
    told.ask(transfer_into(3, 4, project("other"))).expect("handed over");
    assert_eq!(told.agent(4).role_terms, of("the receiver's project"), "the giver's");
    // The operator's word comes first.
    let roles = [(NameKey::of("scout"), of("the operator's"))].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    told.ask(transfer_into(4, 1, project("scout"))).expect("handed over");
    assert_eq!(told.agent(1).role_terms, of("the operator's"));
}

/// R5: a project's file may be an agent's own work.
#[test]
fn an_agent_sets_no_rounds_for_another_project_by_handing_over_its_role() {
    let born_in = |told: &mut Told, id: u128, project: &str| {
        let Command::Spawn(spawn) = spawn(id, None) else { unreachable!("a spawn") };
        let launch = Launch { project: project.to_owned(), ..launch() };
        told.ask(Command::Spawn(Box::new(Spawn { launch, ..*spawn }))).expect("born");
        told.executed(id);
    };
    let mandate = Mandate::Text("walk".to_owned());
    let terms = RoleTerms {
        mandate,
        every: Some(std::time::Duration::from_secs(60)),
        restart: Some(Restart::Always),
        is_declared: true,
        ..RoleTerms::default()
    };
    let bare = RoleTerms { every: None, restart: None, ..terms.clone() };
    for (caller, project, given) in [
        (Caller::Agent(AgentId(1)), "/theirs", &bare),
        (Caller::Agent(AgentId(1)), "/ours", &terms),
        (Caller::Person, "/theirs", &terms),
    ] {
        let mut told = Told::new();
        born_in(&mut told, 1, "/ours");
        born_in(&mut told, 2, project);
        let declared = Some(terms.clone());
        let target = AgentId(1).to_string();
        told.ask(Command::Assume { target, role: name("scout"), declared }).expect("taken");
        told.ask_as(caller, transfer(1, 2)).expect("handed over");
        assert_eq!(&told.agent(2).role_terms, given, "{caller:?} {project}");
    }
}

/// R4
#[test]
fn an_agent_takes_no_role_away_by_handing_over_its_own() {
    let mut told = told();
    born(&mut told, 1, Some("steward"));
    born(&mut told, 2, Some("architect"));
    born(&mut told, 3, None);
    let own = Caller::Agent(AgentId(1));
    let refused = Err(Refusal::HasRole { agent: AgentId(2) });
    assert_eq!(told.ask_as(own, transfer(1, 2)), refused);
    told.ask_as(own, transfer(1, 3)).expect("it has none");
    told.ask(transfer(3, 2)).expect("a person may");
}

#[test]
fn one_in_the_freezer_who_has_the_role_already_and_gets_it_is_named_once() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("architect"));
    freeze(&mut told, 2);
    let vacancies = announced(&told.ask(transfer(1, 2)).expect("handed over"));
    let frozen: Vec<AgentId> = vacancies[0].frozen.iter().map(|holder| holder.id).collect();
    assert_eq!(frozen, [AgentId(2)]);
}

#[test]
fn dropping_and_taking_another_role_leave_the_first_one_vacant() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    assert_eq!(announced(&told.ask(assume(1, "steward")).expect("taken")).len(), 1);
    assert_eq!(announced(&told.ask(assume(1, "architect")).expect("taken")).len(), 1, "steward");
    assert_eq!(told.agent(1).role_terms, architect());
    assert!(told.ask(assume(1, "Architect")).expect("it is so").is_empty());
    assert_eq!(announced(&told.ask(drop_role(1)).expect("dropped")).len(), 1);
    assert_eq!(told.ask(drop_role(1)), Err(Refusal::NoRole { agent: AgentId(1) }));
    assert_eq!(told.ask(transfer(1, 1)), Err(Refusal::NoRole { agent: AgentId(1) }));
    let mandates: Vec<&Mandate> =
        role::vacancies(&told.fleet, None).iter().map(|it| &it.vacancy.mandate).collect();
    assert_eq!(mandates, [&Mandate::Path(MANDATE.to_owned()), &Mandate::NotWritten]);
}

#[test]
fn an_agent_changes_its_own_role_only_and_the_dead_have_none() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, None);
    let (own, other) = (Caller::Agent(AgentId(1)), Caller::Agent(AgentId(2)));
    for command in [assume(1, "steward"), drop_role(1), transfer(1, 2)] {
        let refused = told.ask_as(other, command);
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    }
    told.ask_as(own, transfer(1, 2)).expect("its own");
    told.ask_as(other, assume(2, "steward")).expect("its own");
    bury(&mut told, 2);
    for command in [assume(2, "architect"), drop_role(2)] {
        let refused = told.ask(command);
        assert!(matches!(refused, Err(Refusal::WrongState { .. })), "{refused:?}");
    }
    told.ask(assume(1, "steward")).expect("taken");
    assert!(matches!(told.ask(transfer(1, 2)), Err(Refusal::WrongState { .. })));
}

#[test]
fn a_second_holder_of_a_role_for_one_is_warned_about_and_not_refused() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    assert!(role::crowd(&told.fleet, told.agent(1)).is_empty());
    born(&mut told, 2, Some("architect"));
    let crowd: Vec<u128> =
        role::crowd(&told.fleet, told.agent(2)).iter().map(|agent| agent.id.0).collect();
    assert_eq!(crowd, [1]);
    for id in [3, 4] {
        born(&mut told, id, Some("librarian"));
        assert!(role::crowd(&told.fleet, told.agent(id)).is_empty(), "nobody declared it");
    }
}

#[test]
fn a_project_declares_a_role_that_the_operator_does_not() {
    let mut told = told();
    let declared = RoleTerms { overseer: Some("mayor".into()), ..RoleTerms::default() };
    let born = |told: &mut Told, id: u128, role: &str| {
        let Command::Spawn(mut spawn) = spawn(id, Some(role)) else { unreachable!() };
        if let Some(role) = &mut spawn.role {
            (role.declared, role.sets_restart) = (Some(declared.clone()), false);
        }
        told.ask(Command::Spawn(spawn)).expect("born");
    };
    born(&mut told, 1, "librarian");
    let terms = RoleTerms { is_declared: true, ..declared.clone() };
    assert_eq!(told.agent(1).role_terms, terms);
    assert_eq!(told.agent(1).restart, Restart::OnCrash, "its own");
    born(&mut told, 2, "architect");
    assert_eq!(told.agent(2).role_terms, architect(), "the operator's word");
}

/// Posts are listed in the order of their ids.
#[test]
fn announcements_are_in_the_order_of_time() {
    let mut told = told();
    let mut ids: Vec<PostId> = Vec::new();
    for id in 1..20 {
        born(&mut told, id, Some("architect"));
        told.pass(std::time::Duration::from_millis(2));
        ids.extend(bury(&mut told, id).iter().filter_map(|event| match &event.what {
            What::Post(id, _) => Some(*id),
            What::Role(..)
            | What::Node(..)
            | What::Agent(..)
            | What::Name(..)
            | What::Conversation(..)
            | What::Message(..)
            | What::Job(..)
            | What::Signal(..)
            | What::Escalation(..)
            | What::Task(..) => None,
        }));
    }
    assert!(ids.len() == 19 && ids.is_sorted(), "{ids:?}");
}

/// What is restored is what was folded.
#[test]
fn holders_and_vacancies_survive_a_restore() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("steward"));
    bury(&mut told, 1);
    let restored = Fleet::restore(told.fleet.parts()).under(told.fleet.policy().clone());
    assert_eq!(restored.roles(), told.fleet.roles());
    assert_eq!(holders(&restored, "steward"), [2]);
    assert_eq!(role::vacancies(&restored, None).len(), 1);
}

fn vacant(fleet: &Fleet) -> Vec<String> {
    role::vacancies(fleet, None).iter().map(|it| it.vacancy.role.clone()).collect()
}

/// A project's file, which an agent may have written, hides no vacancy of the operator's.
#[test]
fn vacancies_are_told_by_whose_word_they_are() {
    let mut told = told();
    let built_in_roles = [(NameKey::of("crew"), RoleTerms::default())].into();
    let policy = Policy { built_in_roles, ..told.fleet.policy().clone() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    let declared = || Some(RoleTerms { is_declared: true, ..RoleTerms::default() });
    for (id, (role, declared, project)) in (1..).zip([
        ("aaa", declared(), "/theirs"),
        ("aab", None, "/ours"),
        ("crew", None, "/theirs"),
        ("architect", None, "/theirs"),
        ("zzz", declared(), "/ours"),
    ]) {
        let wanted = RoleWanted { name: name(role), declared, sets_restart: false };
        let Command::Spawn(spawn) = spawn_as(id, wanted) else { unreachable!() };
        let launch = Launch { project: project.to_owned(), ..spawn.launch.clone() };
        told.ask(Command::Spawn(Box::new(Spawn { launch, ..*spawn }))).expect("born");
        told.executed(id);
        bury(&mut told, id);
    }
    let reader = Agent {
        launch: Launch { project: "/ours".to_owned(), ..launch() },
        ..told.agent(2).clone()
    };
    let vacant = role::vacancies(&told.fleet, Some(&reader));
    let vacant: Vec<&str> = vacant.iter().map(|it| it.vacancy.role.as_str()).collect();
    assert_eq!(vacant, ["architect", "zzz", "crew", "aaa", "aab"]);
}

/// Names that agents made up crowd out no role that somebody declared, and a person dismisses them.
#[test]
fn declared_roles_come_first_among_the_vacant_and_a_person_dismisses_a_vacancy() {
    let mut told = told();
    for (id, role) in (1..).zip(["aaa", "architect", "zzz", "steward"]) {
        born(&mut told, id, Some(role));
    }
    let declared = Some(RoleTerms { overseer: Some("mayor".into()), ..RoleTerms::default() });
    let target = AgentId(4).to_string();
    told.ask(Command::Assume { target, role: name("librarian"), declared }).expect("taken");
    (1..=4).for_each(|id| _ = bury(&mut told, id));
    assert_eq!(vacant(&told.fleet), ["architect", "librarian", "aaa", "steward", "zzz"]);

    let dismiss = |role: &str| Command::DismissVacancy { role: name(role) };
    born(&mut told, 9, None);
    for caller in [Caller::Agent(AgentId(9)), Caller::Viewer, Caller::Job] {
        let refused = told.ask_as(caller, dismiss("aaa"));
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{caller:?}: {refused:?}");
    }
    told.ask(dismiss("AAA")).expect("dismissed");
    assert_eq!(vacant(&told.fleet), ["architect", "librarian", "steward", "zzz"]);
    for role in ["aaa", "never-held"] {
        assert_eq!(told.ask(dismiss(role)), Err(Refusal::NotVacant { role: name(role) }));
    }
    let restored = Fleet::restore(told.fleet.parts());
    assert!(!vacant(&restored).contains(&"aaa".to_owned()), "dismissed for good");
    // Whoever holds it and leaves it again leaves a vacancy that is news.
    told.ask(assume(9, "aaa")).expect("taken");
    assert_eq!(announced(&told.ask(drop_role(9)).expect("dropped")).len(), 1);
    assert!(vacant(&told.fleet).contains(&"aaa".to_owned()));
}

/// The operator's word comes before a project's, and that before what is built in.
#[test]
fn the_operators_declaration_counts_before_a_projects() {
    let of = |mandate: &str| RoleTerms {
        mandate: Mandate::Text(mandate.into()),
        ..RoleTerms::default()
    };
    let built_in = ["architect", "patrol", "crew"].map(|role| (NameKey::of(role), of("built in")));
    let policy = Policy {
        roles: [(NameKey::of("architect"), of("operator"))].into(),
        built_in_roles: built_in.into(),
        ..Policy::default()
    };
    let project = of("project");
    for (role, by_project, mandate) in [
        ("Architect", Some(&project), "operator"),
        ("patrol", Some(&project), "project"),
        ("crew", None, "built in"),
    ] {
        let terms = policy.terms(&name(role), by_project);
        assert_eq!((terms.mandate, terms.is_declared), (of(mandate).mandate, true), "{role}");
    }
    assert_eq!(policy.terms(&name("made-up"), None), RoleTerms::default());
}

/// R1: a role whose only holder is in the freezer is not vacant until that one leaves it; then it is news.
#[test]
fn the_burial_of_the_only_holder_in_the_freezer_is_a_vacancy() {
    for is_frozen in [true, false] {
        let mut told = told();
        born(&mut told, 1, Some("architect"));
        match is_frozen {
            true => freeze(&mut told, 1),
            false => _ = told.ask(Command::Stop(AgentId(1).to_string())).expect("stopped"),
        }
        assert_eq!(vacant(&told.fleet), [""; 0]);
        assert_eq!(announced(&bury(&mut told, 1)).len(), 1, "frozen: {is_frozen}");
    }
}

/// R4 is about another role: a holder may leave its role to one who has it already, and to itself it hands nothing.
#[test]
fn an_agent_hands_its_role_to_another_holder_of_it() {
    let mut told = told();
    born(&mut told, 1, Some("steward"));
    born(&mut told, 2, Some("Steward"));
    let own = Caller::Agent(AgentId(1));
    assert_eq!(told.ask_as(own, transfer(1, 1)), Ok(Vec::new()));
    let events = told.ask_as(own, transfer(1, 2)).expect("handed over");
    assert!(announced(&events).is_empty());
    assert_eq!(holders(&told.fleet, "steward"), [2]);
}

/// Whoever has the role takes it again by the terms of now.
#[test]
fn a_role_that_is_assumed_again_has_the_new_terms() {
    let mut told = told();
    born(&mut told, 1, Some("librarian"));
    let terms = RoleTerms { mandate: Mandate::Text("read".into()), ..RoleTerms::default() };
    let (target, role) = (AgentId(1).to_string(), name("librarian"));
    let again = Command::Assume { target, role, declared: Some(terms.clone()) };
    assert!(announced(&told.ask(again).expect("taken")).is_empty());
    assert_eq!(told.agent(1).role_terms, RoleTerms { is_declared: true, ..terms });
}

/// What the operator declares now counts as declared, whatever it was when its holder took it.
#[test]
fn a_vacancy_of_a_role_that_is_declared_since_comes_first() {
    let mut told = told();
    born(&mut told, 1, Some("aaa"));
    born(&mut told, 2, Some("zzz"));
    (1..=2).for_each(|id| _ = bury(&mut told, id));
    assert_eq!(vacant(&told.fleet), ["aaa", "zzz"]);
    let roles = [(NameKey::of("zzz"), architect())].into();
    told.fleet = told.fleet.clone().under(Policy { roles, ..Policy::default() });
    assert_eq!(vacant(&told.fleet), ["zzz", "aaa"]);
}

/// That there is no vacancy rests on the other holders: another node may put them to sleep first.
#[test]
fn a_burial_rests_on_the_other_holders_and_a_birth_on_the_parent() {
    let mut told = told();
    born(&mut told, 1, Some("architect"));
    born(&mut told, 2, Some("architect"));
    let rests_on = |command| {
        let request = Request { caller: Caller::Person, command };
        told.fleet.decide(&request, told.now).expect("decided").read
    };
    let bury = Command::Bury { target: AgentId(1).to_string(), summary: None };
    assert!(rests_on(bury).contains(&Entity::Agent(AgentId(2))));
    let Command::Spawn(mut child) = spawn(3, None) else { unreachable!() };
    child.parent = Some(AgentId(1).to_string());
    assert!(rests_on(Command::Spawn(child)).contains(&Entity::Agent(AgentId(1))));
}
