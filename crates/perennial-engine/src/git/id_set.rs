//! Sets of object ids, where tens of thousands are asked for in a millisecond.
//!
//! Their bytes are mixed with a number that is drawn once for each process: whoever writes trees and lists could otherwise
//! choose ids that all fall into one place.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use super::object::ObjectId;

pub type IdSet = HashSet<ObjectId, MixedIds>;

/// An empty set with room for so many.
pub fn with_capacity(count: usize) -> IdSet {
    HashSet::with_capacity_and_hasher(count, MixedIds::default())
}

#[derive(Debug, Clone, Copy)]
pub struct MixedIds(u64);

impl Default for MixedIds {
    fn default() -> MixedIds {
        static SEED: OnceLock<u64> = OnceLock::new();
        MixedIds(*SEED.get_or_init(|| RandomState::new().hash_one(0_u8)))
    }
}

impl BuildHasher for MixedIds {
    type Hasher = Mixed;

    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

#[derive(Debug)]
pub struct Mixed(u64);

impl Mixed {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_begin_or_end_alike_do_not_fall_into_one_place() {
        let spread = MixedIds::default();
        for from in [0, 8, 12] {
            let place = |number: u64| {
                let mut id = [0; 20];
                id[from..from + 8].copy_from_slice(&number.to_be_bytes());
                spread.hash_one(ObjectId(id)) % 1024
            };
            let places: HashSet<u64> = (0..1024).map(place).collect();
            assert!(places.len() > 500, "{from}: {}", places.len());
        }
        let mut set = with_capacity(2);
        assert!(set.insert(ObjectId([1; 20])) && !set.insert(ObjectId([1; 20])));
        assert!(set.contains(&ObjectId([1; 20])) && !set.contains(&ObjectId([2; 20])));
    }
}
