//! The life of a signal: a typed machine message that is sent, and never changes.
//!
//! Pure. What a kind of signal has in it, who sends it and to whom, is one closed table (`kinds`). A signal
//! that somebody sends is told to its target as mail is, in the same batch; what Perennial itself
//! emits follows from the events of agents (`derived`), costs no event of its own and is told to nobody.
//! Nothing of a signal stays in memory.
//!
//! Invariants
//! - G1  A signal has one event; its id is used once.
//! - G2  Its source is who the caller was shown to be. An agent speaks for itself, or as the guardian of an agent
//!   below it; a person speaks as a guardian; nobody speaks as Perennial.
//! - G3  A payload has the fields of its kind, each of its type and within its bound, and no others. Whom it names as
//!   its identity is its source, or its target where a guardian sent it.
//! - G4  What a signal says gives nobody a right: it is quoted wherever it is told.

mod derived;
mod kinds;
mod payload;

use crate::agent::Agent;
use crate::authority::Caller;
use crate::command::Target;
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, MessageId, SignalId};
use crate::message::{self, Addressee, MailDraft, Mailbox, Sender};
use crate::name::Name;
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::text::TextBody;
use crate::time::Time;

pub use derived::{Beside, Derived, Emitted, derived, derived_id};
pub use kinds::{Field, FieldType, Kind, Need, Party, SignalKind};
pub use payload::{PAYLOAD_BYTES_MAX, Payload, PayloadFault, Value, checked};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalEvent {
    Sent {
        kind: SignalKind,
        by: Sender,
        /// The name that the sending agent had then.
        by_name: Option<Name>,
        to: Mailbox,
        /// The name that the target had then.
        to_name: Option<Name>,
        payload: Payload,
    },
}

/// A signal that somebody wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalDraft {
    pub id: SignalId,
    pub kind: SignalKind,
    /// Without one, the guardian of the sender.
    pub to: Option<SignalTarget>,
    pub payload: Payload,
    /// As its target is told.
    pub body: TextBody,
    pub excerpt: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalTarget {
    /// The parent of the sender, else the operator.
    Guardian,
    Operator,
    Agent(Target),
}

/// Somebody sends a signal.
pub fn send(
    fleet: &Fleet,
    caller: Caller,
    draft: &SignalDraft,
    now: Time,
) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Signal, None)?;
    let kind = draft.kind;
    let (by, own) = match caller {
        Caller::Person => (Sender::Person, None),
        Caller::Agent(id) => (Sender::Agent(id), fleet.agent(id)),
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            return Err(Refusal::SignalSource { kind });
        }
    };
    let target = match (kind.table().source, own) {
        // G2
        (Party::Spawn, _) | (Party::Runner, None) => return Err(Refusal::SignalSource { kind }),
        (Party::Runner, Some(own)) => guardian(fleet, own, kind, draft.to.as_ref())?,
        (Party::Guardian, own) => Some(ward(fleet, own, kind, draft.to.as_ref())?),
    };
    let fault = |fault| Refusal::SignalPayload { kind, fault: Box::new(fault) };
    checked(kind, &draft.payload).map_err(fault)?;
    let whose = match kind.table().source {
        Party::Spawn | Party::Runner => own,
        Party::Guardian => target,
    };
    names_itself(whose, &draft.payload).map_err(fault)?;
    let name = |agent: Option<&Agent>| agent.and_then(|agent| agent.name.clone());
    let sent = SignalEvent::Sent {
        kind,
        by,
        by_name: name(own),
        to: target.map_or(Mailbox::Operator, |agent| agent.id.into()),
        to_name: name(target),
        payload: draft.payload.clone(),
    };
    let letter = MailDraft {
        id: MessageId(draft.id.0),
        to: target.map_or(Addressee::Operator, |agent| Addressee::Agent(agent.id.to_string())),
        thread: None,
        subject: format!("signal {}", kind.word()),
        priority: kind.table().priority,
        body: draft.body.clone(),
        excerpt: draft.excerpt.clone(),
    };
    let mut decision = message::send_mail(fleet, caller, &letter, now)?;
    decision.about.insert(0, Entity::Signal(draft.id));
    decision.events.insert(0, Event { at: now, what: What::Signal(draft.id, sent) });
    decision.read.extend(own.map(|own| Entity::Agent(own.id)));
    Ok(decision)
}

/// Whom an agent reports to: its parent, unless it names the operator or another ancestor. Nobody is the operator.
fn guardian<'a>(
    fleet: &'a Fleet,
    own: &Agent,
    kind: SignalKind,
    to: Option<&SignalTarget>,
) -> Result<Option<&'a Agent>, Refusal> {
    match to {
        None | Some(SignalTarget::Guardian) => Ok(parent(fleet, own.id)),
        Some(SignalTarget::Operator) => Ok(None),
        Some(SignalTarget::Agent(target)) => {
            let agent = fleet.find(target)?;
            match fleet.is_above(agent.id, own.id) {
                true => Ok(Some(agent)),
                false => Err(Refusal::SignalTarget { kind }),
            }
        }
    }
}

/// The nearest ancestor outside the cemetery.
pub fn parent(fleet: &Fleet, id: AgentId) -> Option<&Agent> {
    fleet.guardians(id).next()
}

/// The agent that a guardian speaks to: the operator to anyone, an agent to those below it.
fn ward<'a>(
    fleet: &'a Fleet,
    own: Option<&Agent>,
    kind: SignalKind,
    to: Option<&SignalTarget>,
) -> Result<&'a Agent, Refusal> {
    let Some(SignalTarget::Agent(target)) = to else {
        return Err(Refusal::SignalTarget { kind });
    };
    let agent = fleet.find(target)?;
    match own.is_none_or(|own| fleet.is_above(own.id, agent.id)) {
        true => Ok(agent),
        false => Err(Refusal::SignalSource { kind }),
    }
}

/// G3
fn names_itself(whose: Option<&Agent>, payload: &Payload) -> Result<(), PayloadFault> {
    let (Some(agent), Some(Value::Text(named))) = (whose, payload.get("identity_name")) else {
        return Ok(());
    };
    let expected = agent.name.as_ref().map_or_else(|| agent.id.to_string(), ToString::to_string);
    let is_so = named.eq_ignore_ascii_case(&expected) || *named == agent.id.to_string();
    match is_so {
        true => Ok(()),
        false => Err(PayloadFault::OtherIdentity { expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Request};
    use crate::fleet::Restored;
    use crate::state::State;
    use crate::text::{Digest, Text};

    const LEAD: AgentId = AgentId(1);
    const KID: AgentId = AgentId(2);
    const OTHER: AgentId = AgentId(3);

    fn fleet() -> Fleet {
        let agent = |id, name: &str, parent| {
            let mut agent = Agent::unborn(id, Time(1));
            agent.name = name.parse().ok();
            (agent.parent, agent.hold, agent.state) = (parent, None, State::Working);
            agent
        };
        let agents = vec![
            agent(LEAD, "lead", None),
            agent(KID, "kid", Some(LEAD)),
            agent(OTHER, "other", None),
        ];
        Fleet::restore(Restored { agents, ..Restored::default() })
    }

    fn decide(
        caller: Caller,
        kind: SignalKind,
        to: Option<SignalTarget>,
        identity: &str,
    ) -> Result<Decision, Refusal> {
        let payload = kind.table().fields.iter().map(|field| {
            let value = match (field.name, field.holds) {
                ("identity_name", _) => Value::Text(identity.to_owned()),
                (_, FieldType::Text(_)) => Value::Text("x".to_owned()),
                (_, FieldType::Moment) => Value::Text("2026-02-26T10:00:00Z".to_owned()),
                (_, FieldType::Count(_)) => Value::Count(1),
                (_, FieldType::List(..)) => Value::List(Vec::new()),
                (_, FieldType::Choice(words)) => Value::Text(words[0].to_owned()),
            };
            (field.name.to_owned(), value)
        });
        let text = Text { digest: Digest([3; 32]), bytes: 5, head: "hello".into() };
        let draft = SignalDraft {
            id: SignalId(9),
            kind,
            to,
            payload: payload.collect(),
            body: TextBody { text, body: "hello".into() },
            excerpt: String::new(),
        };
        let command = Command::Signal(Box::new(draft));
        fleet().decide(&Request { caller, command }, Time(7))
    }

    fn agent(name: &str) -> Option<SignalTarget> {
        Some(SignalTarget::Agent(name.to_owned()))
    }

    #[test]
    fn every_kind_has_its_sources_and_targets() {
        let (kid, lead, other) = (Caller::Agent(KID), Caller::Agent(LEAD), Caller::Agent(OTHER));
        for kind in SignalKind::ALL {
            let source = Err(Refusal::SignalSource { kind });
            let target = Err(Refusal::SignalTarget { kind });
            let to = |decision: Result<Decision, Refusal>| {
                let first = decision?.events.swap_remove(0).what;
                let What::Signal(_, SignalEvent::Sent { to, .. }) = first else {
                    panic!("{first:?}");
                };
                Ok(to)
            };
            match kind.table().source {
                Party::Spawn => {
                    for caller in [Caller::Person, kid, lead] {
                        assert_eq!(to(decide(caller, kind, None, "kid")), source);
                    }
                }
                Party::Runner => {
                    assert_eq!(to(decide(kid, kind, None, "kid")), Ok(Mailbox::Agent(LEAD)));
                    assert_eq!(to(decide(lead, kind, None, "lead")), Ok(Mailbox::Operator));
                    assert_eq!(to(decide(kid, kind, agent("lead"), "kid")), Ok(LEAD.into()));
                    assert_eq!(to(decide(kid, kind, agent("other"), "kid")), target);
                    assert_eq!(to(decide(Caller::Person, kind, None, "kid")), source);
                }
                Party::Guardian => {
                    assert_eq!(to(decide(lead, kind, agent("kid"), "kid")), Ok(KID.into()));
                    assert_eq!(
                        to(decide(Caller::Person, kind, agent("kid"), "kid")),
                        Ok(KID.into())
                    );
                    assert_eq!(to(decide(other, kind, agent("kid"), "kid")), source);
                    assert_eq!(to(decide(kid, kind, agent("lead"), "lead")), source);
                    assert_eq!(to(decide(lead, kind, None, "kid")), target);
                }
            }
        }
    }

    /// G3
    #[test]
    fn nobody_signals_in_anothers_name() {
        let kind = SignalKind::AgentTerminated;
        let fault = Box::new(PayloadFault::OtherIdentity { expected: "kid".to_owned() });
        let refused = decide(Caller::Agent(KID), kind, None, "other");
        assert_eq!(refused, Err(Refusal::SignalPayload { kind, fault }));
    }

    #[test]
    fn its_target_is_told_as_by_mail_and_nothing_else_stays_in_memory() {
        let decision = decide(Caller::Agent(KID), SignalKind::NodeComplete, None, "kid");
        let decision = decision.expect("it is allowed");
        assert_eq!(decision.about[0], Entity::Signal(SignalId(9)));
        let mut after = fleet();
        decision.events.iter().for_each(|event| _ = after.evolve(event));
        let told = after.messages().of(LEAD).next().and_then(message::Message::mail);
        let told = told.map(|mail| (mail.subject.as_str(), mail.priority));
        assert_eq!(told, Some(("signal NODE_COMPLETE", message::Priority::Low)));
        assert!(!Entity::Signal(SignalId(9)).is_counted());
    }

    #[test]
    fn a_payload_is_checked_before_anything_is_recorded() {
        let kind = SignalKind::NodeComplete;
        let text = Text { digest: Digest([3; 32]), bytes: 5, head: "hello".into() };
        let draft = SignalDraft {
            id: SignalId(9),
            kind,
            to: None,
            payload: Payload::new(),
            body: TextBody { text, body: "hello".into() },
            excerpt: String::new(),
        };
        let command = Command::Signal(Box::new(draft));
        let refused = fleet().decide(&Request { caller: Caller::Agent(KID), command }, Time(7));
        let fault = Box::new(PayloadFault::Missing { field: "node_id" });
        assert_eq!(refused, Err(Refusal::SignalPayload { kind, fault }));
    }

    #[test]
    fn an_identity_may_be_an_id_and_a_dead_parent_is_nobodys_guardian() {
        let kind = SignalKind::AgentTerminated;
        assert!(decide(Caller::Agent(KID), kind, None, &KID.to_string()).is_ok());
        assert_eq!(parent(&fleet(), KID).map(|agent| agent.id), Some(LEAD));
        let mut agents: Vec<Agent> = fleet().agents().cloned().collect();
        agents.iter_mut().filter(|agent| agent.id == LEAD).for_each(|it| it.state = State::Dead);
        let fleet = Fleet::restore(Restored { agents, ..Restored::default() });
        assert_eq!(parent(&fleet, KID), None, "the operator");
    }
}
