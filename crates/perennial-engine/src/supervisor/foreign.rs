//! What other nodes record, within the step (U8): folded, planned as far as it is this node's, and what was
//! decided without knowing it is decided again.

use std::collections::BTreeSet;

use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::observation::Observation;
use perennial_core::time::Time;
use perennial_store::journal::Seq;

use super::failing::Turn;
use super::offer::Hook;
use super::{AppendId, Output, Pending, PendingAnswer, Supervisor};

impl Supervisor {
    pub(super) fn foreign(&mut self, events: Vec<Event>, seq: Seq, now: Time) -> Vec<Output> {
        let mut touched = Vec::new();
        for event in &events {
            touched.extend(self.durable.evolve(event));
            let entity = event.entity();
            if entity.is_counted() {
                self.versions.entry(entity).or_default().0 += 1;
            }
        }
        self.folded = seq;
        touched.sort_unstable();
        touched.dedup();
        self.fold_below(&events);
        for entity in touched.iter().filter(|entity| !self.under_way.contains_key(*entity)) {
            self.durable.share(&self.newest, entity);
        }
        let mut outputs = self.plan_touched(&touched, now);
        outputs.push(Output::Committed { events, touched });
        outputs
    }

    /// Brings events into `newest` below what is under way. An append that rests on what they change will be
    /// refused, and with it all after it.
    fn fold_below(&mut self, events: &[Event]) {
        if self.pending.is_empty() {
            events.iter().for_each(|event| drop(self.newest.evolve(event)));
            return;
        }
        let changed: BTreeSet<Entity> = events.iter().map(Event::entity).collect();
        let first = self.pending.iter().position(|pending| pending.rests_on(&changed));
        let from = first.unwrap_or(self.pending.len());
        self.pending.iter_mut().skip(from).for_each(|pending| pending.is_doomed = true);
        self.rebuild();
    }

    /// Another node was first: this append and all after it are decided again, against what is so now.
    pub(super) fn decided_again(&mut self, append: AppendId, now: Time) -> Vec<Output> {
        let Some(position) = self.position(append) else { return Vec::new() };
        let mut refused = self.pending.split_off(position);
        for event in refused.iter().flat_map(|pending| &pending.events) {
            self.landed(&event.entity());
        }
        self.rebuild();
        let mut outputs = Vec::new();
        let reports = refused.iter_mut().map(|pending| &mut pending.reports);
        let is_first = |report: &mut Observation| Turn::of(report) != Turn::Other;
        let mut first: Vec<Observation> =
            reports.flat_map(|reports| reports.extract_if(.., is_first)).collect();
        first.sort_by_key(Turn::of);
        for report in first {
            outputs.extend(self.observed(report, now));
        }
        for pending in refused {
            for report in pending.reports {
                outputs.extend(self.observed(report, now));
            }
            for PendingAnswer { waiter, request, .. } in pending.asked {
                outputs.extend(self.request(waiter, request, now));
            }
            // Its texts wait for the next hook.
            let hook = pending.hook.map(Hook::without_texts);
            outputs.extend(hook.into_iter().flat_map(|hook| self.reply(hook, now)));
        }
        outputs
    }
}

impl Pending {
    fn rests_on(&self, changed: &BTreeSet<Entity>) -> bool {
        let own = self.events.iter().any(|event| changed.contains(&event.entity()));
        own || self.read.iter().any(|read| changed.contains(read))
    }
}
