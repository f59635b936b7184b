//! The index of signals in memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use perennial_core::id::SignalId;
use perennial_core::time::Time;

use crate::journal::{Seq, Version};
use crate::record::Row;
use crate::signal_index::{Entry, SignalPlace, SignalQuery};

#[derive(Default)]
pub(super) struct Signals {
    all: BTreeMap<Seq, (SignalId, Entry)>,
}

impl Signals {
    /// The signal of a record, if it has one.
    pub fn extend(&mut self, entry: Option<Entry>, row: &Row) {
        let Some(entry) = entry else { return };
        let id = entry.id(Version(row.version), Time(row.at));
        self.all.insert(row.seq, (id, entry));
    }

    pub fn found(&self, query: &SignalQuery, limit: usize) -> Vec<(Seq, SignalId, Entry)> {
        type Indexed<'a> = (&'a Seq, &'a (SignalId, Entry));
        let is_asked = |(_, (_, entry)): &Indexed<'_>| {
            query.kinds.is_empty() || query.kinds.contains(&entry.kind)
        };
        let copied = |(seq, (id, entry)): Indexed<'_>| (*seq, *id, entry.clone());
        match query.place {
            SignalPlace::After(seq) => {
                let later = self.all.range((Bound::Excluded(seq), Bound::Unbounded));
                later.filter(is_asked).take(limit).map(copied).collect()
            }
            SignalPlace::Before(before) => {
                let end = before.map_or(Bound::Unbounded, Bound::Excluded);
                let earlier = self.all.range((Bound::Unbounded, end)).rev();
                earlier.filter(is_asked).take(limit).map(copied).collect()
            }
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = u128> {
        self.all.values().map(|(id, _)| id.0)
    }

    pub fn place(&self, id: SignalId) -> Option<Seq> {
        self.all.iter().find(|(_, (known, _))| *known == id).map(|(seq, _)| *seq)
    }
}
