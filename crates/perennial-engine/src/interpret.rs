//! Which effects were given out in this run of the daemon.
//!
//! An executor answers every effect (its promise), so one that was given out is never given out
//! again; a new daemon starts with nothing given out, and plans everything anew.

use std::collections::BTreeMap;

use perennial_core::effect::{Effect, EffectKey, EffectKind};
use perennial_core::entity::Entity;
use perennial_core::id::AgentId;

/// For each entity, the newest fence of every kind that was given out.
#[derive(Debug, Default)]
pub struct Interpreter {
    given: BTreeMap<Entity, Vec<(EffectKind, u64)>>,
    /// What the holder of each agent's session was last told.
    told: BTreeMap<AgentId, Vec<Effect>>,
}

impl Interpreter {
    /// Nothing more is planned for this entity.
    pub fn forget(&mut self, entity: &Entity) {
        self.given.remove(entity);
    }

    /// Of what is planned for the holder of an agent's session, what was not planned before: the
    /// rest was told, and still holds.
    pub fn tell(&mut self, agent: AgentId, planned: Vec<Effect>) -> Vec<Effect> {
        if planned.is_empty() {
            self.untell(agent);
            return planned;
        }
        let told = self.told.entry(agent).or_default();
        if *told == planned {
            return Vec::new();
        }
        let is_new = |effect: &&Effect| !told.contains(effect);
        let new = planned.iter().filter(is_new).cloned().collect();
        *told = planned;
        new
    }

    /// The holder has connected anew: what it is to be told then counts as not told.
    pub fn told_anew(&mut self, agent: AgentId) {
        if let Some(told) = self.told.get_mut(&agent) {
            told.retain(|effect| !effect.is_told_anew());
        }
    }

    /// Nobody holds a session of this agent any more.
    pub fn untell(&mut self, agent: AgentId) {
        self.told.remove(&agent);
    }

    /// Whether this effect is new; it counts as given out from now on.
    pub fn admit(&mut self, effect: &Effect) -> bool {
        let EffectKey { entity, kind, fence } = effect.key();
        let given = self.given.entry(entity).or_default();
        match given.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, newest)) if *newest >= fence => false,
            Some((_, newest)) => {
                *newest = fence;
                true
            }
            None => {
                given.push((kind, fence));
                true
            }
        }
    }
}
