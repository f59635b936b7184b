//! An escalation goes up its ladder, by its timer, until somebody sees it.

use super::*;
use crate::agent::Agent;
use crate::command::{Command, Request};
use crate::fleet::{Policy, Restored};
use crate::observation::Observation;
use crate::role::RoleTerms;
use crate::state::State;
use crate::text::Digest;

const BOSS: AgentId = AgentId(1);
const LEAD: AgentId = AgentId(2);
const KID: AgentId = AgentId(3);
const JUDGE: AgentId = AgentId(4);
const CHIEF: AgentId = AgentId(5);
const ID: EscalationId = EscalationId(900);

fn agent(
    id: AgentId,
    name: &str,
    parent: Option<AgentId>,
    role: Option<(&str, Option<&str>)>,
) -> Agent {
    let mut agent = Agent::unborn(id, Time(1));
    agent.name = name.parse().ok();
    agent.parent = parent;
    agent.hold = None;
    agent.state = State::Working;
    agent.role = role.map(|(role, _)| role.to_owned());
    let overseer = role.and_then(|(_, overseer)| overseer).map(ToOwned::to_owned);
    agent.role_terms = RoleTerms { overseer, ..RoleTerms::default() };
    agent
}

/// kid is below lead is below boss; judge is a reviewer, which chief oversees.
fn fleet() -> Fleet {
    let agents = vec![
        agent(BOSS, "boss", None, None),
        agent(LEAD, "lead", Some(BOSS), None),
        agent(KID, "kid", Some(LEAD), None),
        agent(JUDGE, "judge", None, Some(("reviewer", Some("chief")))),
        agent(CHIEF, "chief", None, Some(("chief", None))),
    ];
    let policy = Policy { escalate_after: Some(Duration::from_secs(8)), ..Policy::default() };
    Fleet::restore(Restored { agents, ..Restored::default() }).under(policy)
}

fn draft(to: EscalateTo) -> EscalationDraft {
    let text = Text { digest: Digest([3; 32]), bytes: 5, head: "hello".into() };
    let body = TextBody { text, body: "hello".into() };
    let (subject, excerpt) = ("it is stuck".to_owned(), "hello".to_owned());
    EscalationDraft { id: ID, to, severity: Severity::High, subject, body, excerpt }
}

fn escalated(fleet: &mut Fleet, caller: Caller, to: EscalateTo) {
    let command = Command::Escalate(Box::new(draft(to)));
    let decision = fleet.decide(&Request { caller, command }, Time(10)).expect("it is allowed");
    decision.events.iter().for_each(|event| _ = fleet.evolve(event));
}

/// All steps, raised each time that its time comes.
fn climbed(fleet: &mut Fleet) -> Vec<String> {
    for _ in 0..20 {
        let plan = fleet.plan(&Entity::Escalation(ID), Time(0));
        let Some((timer, at)) = plan.timers.first().copied() else { break };
        let due = Observation::Due { entity: Entity::Escalation(ID), timer };
        let early = fleet.observe(&due, Time(at.0 - 1));
        assert_eq!(early, [], "not before its time");
        let events = fleet.observe(&due, at);
        events.iter().for_each(|event| _ = fleet.evolve(event));
    }
    let one = fleet.escalations().get(ID).expect("nobody saw it");
    let name =
        |id: AgentId| fleet.agent(id).and_then(|it| it.name.clone()).map(|it| it.to_string());
    let word = |step: &Step| match step.mailbox() {
        Mailbox::Agent(id) => name(id).unwrap_or_default(),
        other @ (Mailbox::Role(_) | Mailbox::Operator) => other.to_string(),
    };
    one.steps.iter().map(word).collect()
}

// covers: G-08
#[test]
fn what_nobody_sees_is_raised_step_by_step_up_to_the_operator() {
    let role =
        |role: &str| EscalateTo::Role { role: role.parse().expect("a name"), is_declared: false };
    for (caller, to, expected) in [
        (Caller::Agent(KID), EscalateTo::Parent, "lead boss operator"),
        (Caller::Agent(KID), role("reviewer"), "judge chief lead boss operator"),
        (Caller::Agent(JUDGE), role("reviewer"), "operator"),
        (Caller::Agent(CHIEF), role("reviewer"), "judge operator"),
        (Caller::Agent(BOSS), EscalateTo::Parent, "operator"),
        (Caller::Agent(KID), EscalateTo::Operator, "operator"),
        (Caller::Person, role("reviewer"), "judge chief operator"),
    ] {
        let mut fleet = fleet();
        escalated(&mut fleet, caller, to.clone());
        assert_eq!(climbed(&mut fleet).join(" "), expected, "{caller:?} {to:?}");
        let mails = fleet.messages().iter().filter(|one| one.mail().is_some()).count();
        assert_eq!(mails, expected.split(' ').count(), "ES1");
    }
}

#[test]
fn nobody_escalates_to_a_role_that_there_is_not() {
    let role: Name = "ghost".parse().expect("a name");
    let to = EscalateTo::Role { role: role.clone(), is_declared: false };
    let command = Command::Escalate(Box::new(draft(to)));
    let refused = fleet().decide(&Request { caller: Caller::Person, command }, Time(10));
    assert_eq!(refused, Err(Refusal::NoSuchRole { role }));
}

/// ES2
#[test]
fn it_ends_once_when_any_of_its_mails_is_seen() {
    for seen in [0, 1] {
        let mut fleet = fleet();
        escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
        let due = Observation::Due { entity: Entity::Escalation(ID), timer: Timer::Unseen };
        for event in fleet.observe(&due, Time(10) + Duration::from_secs(8)) {
            fleet.evolve(&event);
        }
        let (mail, reader) = [(mail_id(ID, 0), LEAD), (mail_id(ID, 1), BOSS)][seen];
        let command = Command::ReadMail { ids: vec![mail] };
        let request = Request { caller: Caller::Agent(reader), command };
        let read = fleet.decide(&request, Time(20)).expect("its own mail");
        let ended = EscalationEvent::Ended { how: EscalationEnd::Seen };
        let ends = read.events.iter().filter(|one| one.what == What::Escalation(ID, ended.clone()));
        assert_eq!(ends.count(), 1);
        read.events.iter().for_each(|event| _ = fleet.evolve(event));
        assert_eq!(fleet.escalations().iter().count(), 0);
        assert_eq!(fleet.plan(&Entity::Escalation(ID), Time(0)), Plan::default());
    }
}

/// ES4
#[test]
fn a_step_that_is_buried_is_left_at_once() {
    let mut fleet = fleet();
    escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
    let command = Command::Bury { target: "lead".to_owned(), summary: None };
    let buried = fleet.decide(&Request { caller: Caller::Person, command }, Time(12));
    buried.expect("a person may").events.iter().for_each(|event| _ = fleet.evolve(event));
    let plan = fleet.plan(&Entity::Escalation(ID), Time(12));
    assert_eq!(plan.timers, [(Timer::Unseen, Time(12))]);
    assert_eq!(climbed(&mut fleet).join(" "), "lead boss operator");
}

#[test]
fn a_rule_escalates_without_anybody_asking() {
    let mut fleet = fleet();
    let draft = draft(EscalateTo::Parent);
    let events = automatic(&fleet, KID, EscalationCause::ScopeGrew, &draft, Time(10));
    events.iter().for_each(|event| _ = fleet.evolve(event));
    let one = fleet.escalations().get(ID).expect("it is open");
    assert_eq!(
        (one.matter.cause, &one.steps[..]),
        (EscalationCause::ScopeGrew, &[Step::Agent(LEAD)][..])
    );
}
