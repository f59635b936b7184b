//! Which effects were given out in this run of the daemon.
//!
//! An executor answers every effect (its promise), so one that was given out is never given out
//! again; a new daemon starts with nothing given out, and plans everything anew.

use std::collections::BTreeMap;

use perennial_core::effect::{Effect, EffectKey, EffectKind};
use perennial_core::entity::Entity;

/// For each entity, the newest fence of every kind that was given out.
#[derive(Debug, Default)]
pub struct Interpreter {
    given: BTreeMap<Entity, Vec<(EffectKind, u64)>>,
}

impl Interpreter {
    /// Nothing more is planned for this entity.
    pub fn forget(&mut self, entity: &Entity) {
        self.given.remove(entity);
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
