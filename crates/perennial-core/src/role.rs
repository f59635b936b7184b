//! The life of a role: a named mandate that outlives its holders.
//!
//! Pure. Who holds a role follows from the agents: at most one role each, none in the cemetery. The role's
//! own events say that it was taken, left or is vacant; what it was declared to be is resolved when an
//! agent takes it, and kept with that agent.
//!
//! Invariants
//! - R1  A vacancy is announced, by one event and one post in the same batch, exactly when a burial, a
//!   transfer or a drop leaves a role without a living holder. Holders in the freezer are named in it.
//!   Freezing and sleeping vacate nothing.
//! - R2  A role that is vacant is not announced again until a living agent has taken it, or a holder who
//!   came out of the freezer leaves it. A person may dismiss a vacancy: then nobody is told of it any more.
//! - R3  Every taking and leaving is an event of the role, so two decisions about one role that were made
//!   at once conflict, and one of them is made again.
//! - R4  An agent hands its role to nobody who has another one: the receiver would lose that without a word of
//!   its own.
//! - R5  A transfer gives the receiver the terms that the operator, its own project or Perennial declare. Where none of them
//!   does, it has the giver's; by an agent's word, of another project, without rounds, restart policy and what ends its sessions.
//! - R6  Only a person makes somebody a trusted holder: an agent that takes, hands over or gives a role to its child passes no
//!   trust on.

mod cycle;
mod declared_in;
mod terms;
mod verify;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::authority::Caller;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{self, AgentId, PostId};
use crate::name::{Name, NameKey};
use crate::post::PostEvent;
use crate::reason::{Evidence, Finding, Verb};
use crate::refusal::Refusal;
use crate::state::{Roster, State};
use crate::time::Time;

pub use cycle::{
    Cycle, CycleUnit, HANDOFF_AT, HANDOFF_AT_LEAST, HANDOFF_AT_MOST, Interesting,
    LARGE_TURN_PERCENT,
};
pub use declared_in::DeclaredIn;
pub use terms::{Mandate, RoleTerms, Span};
pub use verify::Verify;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleEvent {
    Taken {
        by: AgentId,
        /// It is of the living roster: a vacancy ends.
        is_living: bool,
    },
    Left {
        by: AgentId,
    },
    /// No living agent holds it any more.
    Vacated(Box<Vacancy>),
    /// A person does not want to hear of its vacancy any more.
    Dismissed,
}

/// A role without a living holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vacancy {
    /// As its last holder wrote it.
    pub role: String,
    pub last: Holder,
    pub mandate: Mandate,
    /// Those who still hold it and are in the freezer.
    pub frozen: Vec<Holder>,
    pub since: Time,
    /// Its last holder took a role that somebody had declared.
    pub is_declared: bool,
}

/// An agent with its name at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub id: AgentId,
    pub name: Option<Name>,
}

impl Holder {
    fn of(agent: &Agent) -> Holder {
        Holder { id: agent.id, name: agent.name.clone() }
    }
}

/// A role as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Role {
    /// The last vacancy that was announced, until a living agent takes the role.
    pub vacancy: Option<Vacancy>,
}

/// All roles that were ever taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    all: BTreeMap<NameKey, Role>,
    /// Follows from the agents.
    holders: BTreeMap<NameKey, BTreeSet<AgentId>>,
}

impl Roles {
    /// These roles, held by these agents.
    pub fn restore<'a>(
        all: BTreeMap<NameKey, Role>,
        agents: impl Iterator<Item = &'a Agent>,
    ) -> Roles {
        let mut roles = Roles { all, holders: BTreeMap::new() };
        agents.for_each(|agent| roles.follow(agent.id, None, held(agent)));
        roles
    }

    pub fn get(&self, key: &NameKey) -> Option<&Role> {
        self.all.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&NameKey, &Role)> {
        self.all.iter()
    }

    /// The holders of a role outside the cemetery.
    pub fn holders(&self, key: &NameKey) -> impl Iterator<Item = AgentId> {
        self.holders.get(key).into_iter().flatten().copied()
    }

    /// Every role that has a holder or a record.
    pub fn keys(&self) -> BTreeSet<&NameKey> {
        self.all.keys().chain(self.holders.keys()).collect()
    }

    /// Folds one event.
    pub fn evolve(&mut self, key: &NameKey, event: &RoleEvent) {
        let role = self.all.entry(key.clone()).or_default();
        match event {
            RoleEvent::Taken { is_living: true, .. } => role.vacancy = None,
            RoleEvent::Taken { is_living: false, .. } | RoleEvent::Left { .. } => {}
            RoleEvent::Vacated(vacancy) => role.vacancy = Some((**vacancy).clone()),
            RoleEvent::Dismissed => role.vacancy = None,
        }
    }

    /// An agent held one role, and holds another one now.
    pub fn follow(&mut self, agent: AgentId, before: Option<NameKey>, after: Option<NameKey>) {
        if before == after {
            return;
        }
        if let Some(key) = before
            && let Some(holders) = self.holders.get_mut(&key)
        {
            holders.remove(&agent);
            if holders.is_empty() {
                self.holders.remove(&key);
            }
        }
        if let Some(key) = after {
            self.holders.entry(key).or_default().insert(agent);
        }
    }

    pub fn share(&mut self, newest: &Roles, key: &NameKey) {
        if let Some(role) = newest.all.get(key) {
            self.all.insert(key.clone(), role.clone());
        }
    }
}

/// The role that an agent holds; the dead hold none.
pub fn held(agent: &Agent) -> Option<NameKey> {
    match agent.state.roster() {
        Roster::Cemetery => None,
        Roster::Living | Roster::Freezer => agent.role.as_deref().map(NameKey::of),
    }
}

/// A role of which no living agent is a holder, with those in the freezer as they are now.
#[derive(Debug)]
pub struct Vacant<'f> {
    pub vacancy: &'f Vacancy,
    pub holders: Vec<&'f Agent>,
    pub is_declared: bool,
}

/// The roles of which no living agent is a holder, by whose word they are roles, as it counts for the reader; then by name.
pub fn vacancies<'f>(fleet: &'f Fleet, reader: Option<&Agent>) -> Vec<Vacant<'f>> {
    let keys = fleet.roles().iter().map(|(key, _)| key);
    let mut all: Vec<Vacant<'_>> = keys.filter_map(|key| vacant(fleet, key)).collect();
    // Stable: those of one kind stay in the order of their names.
    all.sort_by_key(|vacant| fleet.whose_word(vacant, reader));
    all
}

pub fn vacant<'f>(fleet: &'f Fleet, key: &NameKey) -> Option<Vacant<'f>> {
    let vacancy = fleet.roles().get(key)?.vacancy.as_ref()?;
    let holders: Vec<&Agent> =
        fleet.roles().holders(key).filter_map(|id| fleet.agent(id)).collect();
    let has_living = holders.iter().any(|agent| agent.state.roster() == Roster::Living);
    let is_declared = vacancy.is_declared || fleet.policy().declares(key);
    (!has_living).then_some(Vacant { vacancy, holders, is_declared })
}

/// A person dismisses the vacancy of a role: it is told no more. Mail that waits for the next holder stays.
pub fn dismiss(fleet: &Fleet, caller: Caller, role: &Name, now: Time) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Drop, None)?;
    let key = role.key();
    if vacant(fleet, &key).is_none() {
        return Err(Refusal::NotVacant { role: role.clone() });
    }
    let about = vec![Entity::Role(key.clone())];
    let events = vec![Event { at: now, what: What::Role(key, RoleEvent::Dismissed) }];
    Ok(Decision { about, events, ..Decision::default() })
}

/// The other holders of a role that is meant for one: whoever takes it is warned.
pub fn crowd<'f>(fleet: &'f Fleet, agent: &Agent) -> Vec<&'f Agent> {
    let Some(key) = held(agent).filter(|_| agent.role_terms.is_single) else { return Vec::new() };
    let others = fleet.roles().holders(&key).filter(|id| *id != agent.id);
    others.filter_map(|id| fleet.agent(id)).collect()
}

/// An agent takes a role, and leaves the one that it had. `declared`: what its project says of the role.
pub fn assume(
    fleet: &Fleet,
    caller: Caller,
    target: &str,
    (role, declared): (&Name, Option<&RoleTerms>),
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = asked(fleet, caller, Verb::Assume, target)?;
    let terms = given_by(caller, fleet.policy().terms(role, declared));
    if held(agent) == Some(role.key()) && agent.role_terms == terms {
        return Ok(Decision::of(agent.id, Vec::new(), now));
    }
    let evidence = evidence(caller, Verb::Assume, now)?;
    let taken = AgentEvent::RoleTaken {
        role: role.as_str().to_owned(),
        terms: Box::new(terms),
        from: None,
        evidence,
    };
    Ok(Decision::of(agent.id, vec![taken], now))
}

/// An agent leaves its role.
pub fn drop(fleet: &Fleet, caller: Caller, target: &str, now: Time) -> Result<Decision, Refusal> {
    let agent = asked(fleet, caller, Verb::Drop, target)?;
    if held(agent).is_none() {
        return Err(Refusal::NoRole { agent: agent.id });
    }
    let left = AgentEvent::RoleLeft { to: None, evidence: evidence(caller, Verb::Drop, now)? };
    Ok(Decision::of(agent.id, vec![left], now))
}

/// An agent hands its role over. The receiver has it by the terms of its own (R5).
pub fn transfer(
    fleet: &Fleet,
    caller: Caller,
    (target, to): (&str, &str),
    declared: Option<&(Name, RoleTerms)>,
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = asked(fleet, caller, Verb::Transfer, target)?;
    let Some(role) = agent.role.clone().filter(|_| held(agent).is_some()) else {
        return Err(Refusal::NoRole { agent: agent.id });
    };
    let to = fleet.find(to)?;
    outside_cemetery(to, Verb::Assume)?;
    if to.id == agent.id {
        return Ok(Decision::of(agent.id, Vec::new(), now));
    }
    // R4: only a person takes a role from somebody by giving them another one.
    if caller != Caller::Person && held(to).is_some_and(|other| Some(other) != held(agent)) {
        return Err(Refusal::HasRole { agent: to.id });
    }
    let evidence = evidence(caller, Verb::Transfer, now)?;
    let terms = fleet.policy().terms_handed_over(caller, (agent, to), declared);
    let terms = Box::new(given_by(caller, terms));
    let left = AgentEvent::RoleLeft { to: Some(to.id), evidence: evidence.clone() };
    let taken = AgentEvent::RoleTaken { role, terms, from: Some(agent.id), evidence };
    Ok(Decision {
        about: vec![Entity::Agent(agent.id), Entity::Agent(to.id)],
        events: vec![
            Event { at: now, what: What::Agent(agent.id, left) },
            Event { at: now, what: What::Agent(to.id, taken) },
        ],
        ..Decision::default()
    })
}

/// R6
pub fn given_by(caller: Caller, terms: RoleTerms) -> RoleTerms {
    match caller {
        Caller::Person => terms,
        Caller::Agent(_) | Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            RoleTerms { verify: Verify::Word, ..terms }
        }
    }
}

fn asked<'f>(
    fleet: &'f Fleet,
    caller: Caller,
    verb: Verb,
    target: &str,
) -> Result<&'f Agent, Refusal> {
    let agent = fleet.find(target)?;
    fleet.authorise(caller, verb, Some(agent.id))?;
    outside_cemetery(agent, verb)?;
    Ok(agent)
}

fn outside_cemetery(agent: &Agent, verb: Verb) -> Result<(), Refusal> {
    match agent.state {
        State::Dead | State::Expired => {
            Err(Refusal::WrongState { agent: agent.id, verb, state: agent.state })
        }
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed
        | State::Sleeping
        | State::Hibernating
        | State::Frozen => Ok(()),
    }
}

fn evidence(caller: Caller, verb: Verb, at: Time) -> Result<Evidence, Refusal> {
    Ok(Evidence { witness: caller.witness(verb)?, fact: Finding::Asked(verb), at })
}

/// What follows for roles from an event that makes an agent `after`; `later` is the rest of its batch.
pub fn moved(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    at: Time,
    later: &[Event],
) -> Vec<What> {
    let (old, new) = (before.and_then(held), held(after));
    if old == new {
        return Vec::new();
    }
    let by = after.id;
    let mut follows = Vec::new();
    if let (Some(key), Some(before)) = (old, before) {
        follows.push(What::Role(key.clone(), RoleEvent::Left { by }));
        if let Some(vacancy) = vacated(fleet, &key, before, at, later) {
            let announced = PostEvent::VacancyAnnounced(Box::new(vacancy.clone()));
            follows.push(What::Role(key, RoleEvent::Vacated(Box::new(vacancy))));
            follows.push(What::Post(announcement(by, at), announced));
        }
    }
    let is_living = after.state.roster() == Roster::Living;
    follows.extend(new.map(|key| What::Role(key, RoleEvent::Taken { by, is_living })));
    follows
}

/// R1, R2: the vacancy that `last` leaves behind, if it leaves one that is news.
fn vacated(
    fleet: &Fleet,
    key: &NameKey,
    last: &Agent,
    at: Time,
    later: &[Event],
) -> Option<Vacancy> {
    let others = fleet.roles().holders(key).filter(|id| *id != last.id);
    let mut frozen: Vec<&Agent> = others.filter_map(|id| fleet.agent(id)).collect();
    // It may be one of them.
    let successor = successor(fleet, key, later);
    frozen.extend(successor.filter(|it| frozen.iter().all(|other| other.id != it.id)));
    let is_known = fleet.roles().get(key).is_some_and(|role| role.vacancy.is_some());
    let is_old = is_known && last.state.roster() == Roster::Freezer;
    if is_old || frozen.iter().any(|agent| agent.state.roster() == Roster::Living) {
        return None;
    }
    Some(Vacancy {
        role: last.role.clone().unwrap_or_default(),
        last: Holder::of(last),
        mandate: last.role_terms.mandate.clone(),
        frozen: frozen.into_iter().map(Holder::of).collect(),
        since: at,
        is_declared: last.role_terms.is_declared,
    })
}

/// The vacancy that the burial of this agent would leave, as things are now.
pub fn to_be_vacant(fleet: &Fleet, agent: &Agent) -> Option<Vacancy> {
    vacated(fleet, &held(agent)?, agent, agent.since, &[])
}

/// Whether a role is vacant rests on its other holders: another node may have put one of them to sleep.
pub fn rested_on(fleet: &Fleet, events: &[Event]) -> Vec<Entity> {
    let of_event = |event: &Event| match &event.what {
        What::Role(key, RoleEvent::Left { by }) => {
            let others = fleet.roles().holders(key).filter(|id| id != by);
            others.map(Entity::Agent).collect()
        }
        What::Role(_, RoleEvent::Taken { .. } | RoleEvent::Vacated(_) | RoleEvent::Dismissed)
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => Vec::new(),
    };
    events.iter().flat_map(of_event).collect()
}

/// Who takes the role later in the batch.
fn successor<'f>(fleet: &'f Fleet, key: &NameKey, later: &[Event]) -> Option<&'f Agent> {
    later.iter().find_map(|event| match event.of_agent() {
        Some((id, AgentEvent::RoleTaken { role, .. })) if NameKey::of(role) == *key => {
            fleet.agent(id)
        }
        Some(_) | None => None,
    })
}

/// The post that announces what this agent left then. Posts are sorted by their ids.
fn announcement(agent: AgentId, at: Time) -> PostId {
    PostId(id::derived(agent.0, at, 0))
}
