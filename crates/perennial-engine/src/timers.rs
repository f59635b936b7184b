//! When to look at which entity again, by name of the timer.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::time::Time;

#[derive(Debug, Default)]
pub struct Timers {
    order: BTreeSet<(Time, Entity, Timer)>,
    of: BTreeMap<Entity, Vec<(Timer, Time)>>,
}

impl Timers {
    /// These are all timers of the entity from now on.
    pub fn set(&mut self, entity: &Entity, timers: Vec<(Timer, Time)>) {
        let before = self.of.get(entity).map_or(&[][..], Vec::as_slice);
        if before == timers {
            return;
        }
        for (timer, at) in before {
            self.order.remove(&(*at, entity.clone(), *timer));
        }
        for (timer, at) in &timers {
            self.order.insert((*at, entity.clone(), *timer));
        }
        match timers.is_empty() {
            true => self.of.remove(entity),
            false => self.of.insert(entity.clone(), timers),
        };
    }

    /// One more timer of the entity, until all are set anew.
    pub fn add(&mut self, entity: &Entity, timer: Timer, at: Time) {
        let mut timers = self.of.get(entity).cloned().unwrap_or_default();
        timers.retain(|(known, _)| *known != timer);
        timers.push((timer, at));
        self.set(entity, timers);
    }

    pub fn first(&self) -> Option<Time> {
        self.order.first().map(|(at, ..)| *at)
    }

    /// Takes out every timer whose time has come.
    pub fn take_due(&mut self, now: Time) -> Vec<(Entity, Timer)> {
        let mut due = Vec::new();
        while let Some((at, ..)) = self.order.first()
            && *at <= now
            && let Some((_, entity, timer)) = self.order.pop_first()
        {
            if let Some(timers) = self.of.get_mut(&entity) {
                timers.retain(|(kept, _)| *kept != timer);
                if timers.is_empty() {
                    self.of.remove(&entity);
                }
            }
            due.push((entity, timer));
        }
        due
    }
}
