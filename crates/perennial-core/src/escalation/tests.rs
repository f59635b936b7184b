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

fn due(fleet: &mut Fleet, at: Time) -> Vec<Event> {
    let due = Observation::Due { entity: Entity::Escalation(ID), timer: Timer::Unseen };
    let events = fleet.observe(&due, at);
    events.iter().for_each(|event| _ = fleet.evolve(event));
    events
}

fn ask(fleet: &mut Fleet, caller: Caller, command: Command, now: Time) -> Vec<Event> {
    let events = fleet.decide(&Request { caller, command }, now).expect("it is allowed").events;
    events.iter().for_each(|event| _ = fleet.evolve(event));
    events
}

fn role(name: &str) -> EscalateTo {
    EscalateTo::Role { role: name.parse().expect("a name"), is_declared: true }
}

/// The mails in these events, with their priority.
fn mails(events: &[Event]) -> Vec<(Mailbox, String, Priority)> {
    let mail = |event: &Event| {
        let What::Message(_, MessageEvent::Recorded { to, content, .. }) = &event.what else {
            return None;
        };
        let Content::Mail(mail) = content else { return None };
        Some((to.clone(), mail.subject.clone(), mail.priority))
    };
    events.iter().filter_map(mail).collect()
}

#[test]
fn the_time_that_it_may_stay_unseen_and_its_priority_follow_from_its_severity() {
    for (severity, seconds, priority) in [
        (Severity::Low, 128, Priority::Normal),
        (Severity::Medium, 32, Priority::Normal),
        (Severity::High, 8, Priority::High),
        (Severity::Critical, 2, Priority::Urgent),
    ] {
        let mut fleet = fleet();
        let draft = EscalationDraft { severity, ..draft(EscalateTo::Parent) };
        let command = Command::Escalate(Box::new(draft));
        let events = ask(&mut fleet, Caller::Agent(KID), command, Time(10));
        assert_eq!(mails(&events)[0].2, priority);
        let until = fleet.escalations().get(ID).and_then(|one| one.until);
        assert_eq!(until, Some(Time(10) + Duration::from_secs(seconds)), "{severity:?}");
    }
}

#[test]
fn each_mail_says_who_did_not_see_the_one_before() {
    let mut fleet = fleet();
    escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
    let mut at = Time(10);
    for (to, unseen) in [(Mailbox::Agent(BOSS), "lead"), (Mailbox::Operator, "boss")] {
        at = at + Duration::from_secs(8);
        let [(told, subject, _)] = &mails(&due(&mut fleet, at))[..] else { panic!("one mail") };
        assert_eq!(*told, to);
        assert_eq!(subject, &format!("escalation (high, not seen by {unseen}): it is stuck"));
    }
}

/// ES2, ES4: what happens to a mail that is not the newest changes no time and ends nothing, unless somebody saw it.
#[test]
fn only_the_newest_mail_is_taken_back_or_comes_back() {
    let mut fleet = fleet();
    escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
    due(&mut fleet, Time(10) + Duration::from_secs(8));
    let until = |fleet: &Fleet| fleet.escalations().get(ID).map(|one| one.until);
    let before = until(&fleet);
    let unsend = |step| Command::Unsend { id: mail_id(ID, step) };
    ask(&mut fleet, Caller::Person, unsend(0), Time(9_000_000));
    assert_eq!(until(&fleet), before, "the first one is not the newest");
    ask(&mut fleet, Caller::Person, unsend(1), Time(9_000_001));
    assert_eq!(until(&fleet), None, "taken back");
    // The first who was told is buried: the second keeps its time.
    let mut fleet = self::fleet();
    escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
    due(&mut fleet, Time(10) + Duration::from_secs(8));
    let bury = Command::Bury { target: "lead".to_owned(), summary: None };
    ask(&mut fleet, Caller::Person, bury, Time(9_000_000));
    assert_eq!(until(&fleet), before);
}

#[test]
fn the_dead_are_passed_over_from_the_first_step_on() {
    let mut fleet = fleet();
    let bury = Command::Bury { target: "lead".to_owned(), summary: None };
    ask(&mut fleet, Caller::Person, bury, Time(5));
    escalated(&mut fleet, Caller::Agent(KID), EscalateTo::Parent);
    assert_eq!(climbed(&mut fleet).join(" "), "boss operator");
}

/// A role that nobody holds keeps the mail for its next holder; who oversees it is told next.
#[test]
fn a_vacant_roles_overseer_is_told_next() {
    let terms = RoleTerms { overseer: Some("chief".to_owned()), ..RoleTerms::default() };
    let roles = [(NameKey::of("gate"), terms)].into();
    let escalate_after = Some(Duration::from_secs(8));
    let mut fleet = fleet().under(Policy { escalate_after, roles, ..Policy::default() });
    escalated(&mut fleet, Caller::Agent(KID), role("gate"));
    let first = fleet.escalations().get(ID).map(|one| one.steps[0].mailbox());
    assert_eq!(first, Some(Mailbox::Role(NameKey::of("gate"))));
    assert_eq!(climbed(&mut fleet).join(" "), "role:gate chief lead boss operator");
}

/// ES3, however roles oversee each other, and however long the ladder is.
#[test]
fn every_ladder_ends_and_nobody_is_told_twice() {
    let mut agents = vec![
        agent(BOSS, "boss", None, Some(("one", Some("two")))),
        agent(LEAD, "lead", None, Some(("two", Some("one")))),
    ];
    for id in 10..40 {
        let parent = (id > 10).then(|| AgentId(id - 1));
        agents.push(agent(AgentId(id), &format!("a{id}"), parent, None));
    }
    let policy = Policy { escalate_after: Some(Duration::from_secs(8)), ..Policy::default() };
    let mut fleet =
        Fleet::restore(Restored { agents, ..Restored::default() }).under(policy.clone());
    escalated(&mut fleet, Caller::Person, role("one"));
    assert_eq!(climbed(&mut fleet).join(" "), "boss lead operator");
    let mut fleet = Fleet::restore(fleet.parts()).under(policy);
    fleet.evolve(&Event {
        at: Time(20),
        what: What::Escalation(ID, EscalationEvent::Ended { how: EscalationEnd::Withdrawn }),
    });
    let id = EscalationId(ID.0 + 1000);
    let draft = EscalationDraft { id, ..draft(EscalateTo::Parent) };
    ask(&mut fleet, Caller::Agent(AgentId(39)), Command::Escalate(Box::new(draft)), Time(30));
    for hour in 1..40 {
        let entity = Entity::Escalation(id);
        let at = Time(30) + Duration::from_secs(3600 * hour);
        let events = fleet.observe(&Observation::Due { entity, timer: Timer::Unseen }, at);
        events.iter().for_each(|event| _ = fleet.evolve(event));
    }
    let steps = &fleet.escalations().get(id).expect("nobody saw it").steps;
    assert_eq!((steps.len(), steps.last()), (STEPS_MAX, Some(&Step::Operator)));
}

#[test]
fn a_full_mailbox_takes_no_more_of_what_an_agent_asks() {
    let mut fleet = fleet();
    let mut refused = None;
    for number in 0..200 {
        let id = EscalationId(ID.0 + 100 * (number + 1));
        let draft = EscalationDraft { id, ..draft(EscalateTo::Parent) };
        let command = Command::Escalate(Box::new(draft));
        match fleet.decide(&Request { caller: Caller::Agent(KID), command }, Time(10)) {
            Ok(decision) => decision.events.iter().for_each(|event| _ = fleet.evolve(event)),
            Err(refusal) => refused = Some(refusal),
        }
    }
    assert_eq!(refused, Some(Refusal::MailboxFull { mailbox: Mailbox::Agent(LEAD) }));
}

/// ES5
#[test]
fn the_dead_stay_in_memory_while_their_matter_climbs() {
    let mut fleet = fleet();
    let over = Agent { state: State::Dead, ..agent(KID, "kid", Some(LEAD), None) };
    escalated(&mut fleet, Caller::Agent(KID), role("reviewer"));
    let parts = fleet.parts();
    let others = parts.agents.into_iter().filter(|one| one.id != KID);
    let agents = others.chain([over]).collect();
    let mut fleet = Fleet::restore(Restored { agents, ..parts });
    assert!(!fleet.is_over(&Entity::Agent(KID)));
    let how = EscalationEnd::Withdrawn;
    let ended = What::Escalation(ID, EscalationEvent::Ended { how });
    let touched = fleet.evolve(&Event { at: Time(20), what: ended });
    assert!(touched.contains(&Entity::Agent(KID)), "{touched:?}");
    assert!(fleet.is_over(&Entity::Agent(KID)));
}

#[test]
fn nobody_escalates_from_the_cemetery() {
    let mut fleet = fleet();
    let bury = Command::Bury { target: "kid".to_owned(), summary: None };
    ask(&mut fleet, Caller::Person, bury, Time(5));
    let request = |id| {
        let command = Command::Escalate(Box::new(draft(EscalateTo::Operator)));
        Request { caller: Caller::Agent(id), command }
    };
    let (verb, state) = (Verb::Escalate, State::Dead);
    let refused = fleet.decide(&request(KID), Time(6));
    assert_eq!(refused, Err(Refusal::WrongState { agent: KID, verb, state }));
    assert!(fleet.decide(&request(AgentId(99)), Time(6)).is_err(), "nor who is not in memory");
}

/// ES2, ES4: the mail of every step is known as the escalation's, and goes to nobody but its recipient.
#[test]
fn every_step_is_known_by_its_mail() {
    let mut fleet = fleet();
    escalated(&mut fleet, Caller::Agent(KID), role("reviewer"));
    let steps = climbed(&mut fleet).len();
    assert_eq!(steps, 5);
    for step in 0..steps {
        let mail = mail_id(ID, step);
        assert_eq!(fleet.escalations().of_mail(mail).map(|one| one.id), Some(ID), "{step}");
        let mail = fleet.messages().get(mail).and_then(|message| message.mail());
        assert!(mail.is_some_and(|mail| mail.is_copy), "{step}");
    }
    assert_eq!(fleet.escalations().of_mail(mail_id(ID, steps)), None);
    // ES5: the operator was told, so nobody is looked up any more.
    assert!(!fleet.escalations().climbs_for(KID));
}

/// Who oversees a role is asked of its present holder, and nobody is told by two names.
#[test]
fn the_role_above_is_the_present_holders_and_new_to_the_matter() {
    let held = |judge: (&str, Option<&str>), chief: Option<&str>| {
        let agents = vec![
            agent(LEAD, "lead", None, None),
            agent(KID, "kid", Some(LEAD), None),
            agent(JUDGE, "judge", None, Some(judge)),
            agent(CHIEF, "chief", None, Some(("chief", chief))),
            agent(BOSS, "second", None, Some(("reviewer", None))),
        ];
        Fleet::restore(Restored { agents, ..Restored::default() })
    };
    let matter =
        matter(&fleet(), Sender::Agent(KID), EscalationCause::Asked, &draft(EscalateTo::Parent));
    let step = |role: &str, holder| Step::Role { role: role.to_owned(), holder: Some(holder) };
    let by_judge = step("reviewer", JUDGE);
    let overseen = held(("reviewer", Some("chief")), Some("reviewer"));
    let next = |fleet: &Fleet, taken: &[Step]| ladder::next(fleet, &matter, taken);
    assert_eq!(next(&overseen, std::slice::from_ref(&by_judge)), step("chief", CHIEF));
    // The judge has another role by now: what oversees that one is not asked.
    let moved = held(("scribe", Some("chief")), None);
    assert_eq!(next(&moved, std::slice::from_ref(&by_judge)), Step::Agent(LEAD));
    // Reviewers were told already, though there is another one.
    let told = [by_judge.clone(), step("chief", CHIEF)];
    assert_eq!(next(&overseen, &told), Step::Agent(LEAD));
    // The chief was told as what it was before.
    assert_eq!(next(&overseen, &[step("elder", CHIEF), by_judge]), Step::Agent(LEAD));
}

/// ES3: who oversees a role is overseen, too; a role that only a declaration knows has its overseer by that.
#[test]
fn overseers_are_climbed_one_after_the_other() {
    const BOARD: AgentId = AgentId(6);
    let known = fleet();
    let mut agents: Vec<Agent> = known.agents().cloned().collect();
    for agent in agents.iter_mut().filter(|agent| agent.id == CHIEF) {
        agent.role_terms.overseer = Some("board".to_owned());
    }
    agents.push(agent(BOARD, "board", None, Some(("board", None))));
    let overseen = RoleTerms { overseer: Some("chief".to_owned()), ..RoleTerms::default() };
    let built_in_roles = [(NameKey::of("cook"), overseen)].into();
    let policy = Policy { built_in_roles, ..known.policy().clone() };
    let role = |role: &str, is_declared| {
        let role = role.parse().expect("a name");
        EscalateTo::Role { role, is_declared }
    };
    for (to, expected) in [
        (role("reviewer", false), "judge chief board lead boss operator"),
        (role("cook", false), "role:cook chief board lead boss operator"),
        (role("ghost", true), "role:ghost lead boss operator"),
    ] {
        let agents = agents.clone();
        let restored = Fleet::restore(Restored { agents, ..Restored::default() });
        let mut fleet = restored.under(policy.clone());
        escalated(&mut fleet, Caller::Agent(KID), to.clone());
        let role = fleet.messages().iter().find_map(|it| it.mail()?.role.clone());
        assert!(role.is_some(), "its mail is to the role");
        assert_eq!(climbed(&mut fleet).join(" "), expected, "{to:?}");
    }
}

/// ES5: of those who raised nothing, or whose matter is with the operator, nobody has to stay. The text is recorded with it.
#[test]
fn whoever_raised_a_matter_climbs_and_nobody_else_does() {
    let mut fleet = fleet();
    let command = Command::Escalate(Box::new(draft(EscalateTo::Parent)));
    let request = Request { caller: Caller::Agent(KID), command };
    let decision = fleet.decide(&request, Time(10)).expect("it is allowed");
    assert_eq!(decision.about, [Entity::Escalation(ID)]);
    assert_eq!(decision.texts, [draft(EscalateTo::Parent).body]);
    decision.events.iter().for_each(|event| _ = fleet.evolve(event));
    let climbs = |fleet: &Fleet, agent| fleet.escalations().climbs_for(agent);
    assert_eq!(
        (climbs(&fleet, KID), climbs(&fleet, LEAD), climbs(&fleet, JUDGE)),
        (true, false, false)
    );
    climbed(&mut fleet);
    assert!(!climbs(&fleet, KID), "the operator was told");
    // Nobody of whom it could not be shown escalates.
    for caller in [Caller::Job, Caller::Viewer, Caller::Ambiguous] {
        let command = Command::Escalate(Box::new(draft(EscalateTo::Operator)));
        let refused = fleet.decide(&Request { caller, command }, Time(10));
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    }
}
