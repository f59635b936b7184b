//! The shared part of a split index: which of its entries are replaced or deleted.

use super::index::{IndexEntry, u32_at};
use super::object::ObjectId;

/// Of a bitmap: more entries than any index has.
const MOST_BITS: u64 = 1 << 27;

#[derive(Debug)]
pub struct Link {
    pub shared: ObjectId,
    deleted: Vec<u64>,
    replaced: Vec<u64>,
}

impl Link {
    /// The content of the extension. The inner `None` is an index that is not split after all.
    pub fn parse(bytes: &[u8]) -> Option<Option<Link>> {
        let shared = ObjectId::from_slice(bytes.get(..20)?)?;
        if shared.0 == [0; 20] {
            return Some(None);
        }
        if bytes.len() == 20 {
            return Some(Some(Link { shared, deleted: Vec::new(), replaced: Vec::new() }));
        }
        let (deleted, at) = positions(bytes, 20)?;
        let (replaced, _) = positions(bytes, at)?;
        Some(Some(Link { shared, deleted, replaced }))
    }
}

/// The set bits of an EWAH bitmap, in order, and where it ends.
fn positions(bytes: &[u8], at: usize) -> Option<(Vec<u64>, usize)> {
    let words = u32_at(bytes, at + 4)? as usize;
    let body = bytes.get(at + 8..)?.get(..words.checked_mul(8)?)?;
    let mut words_left =
        body.chunks_exact(8).map(|word| u64::from_be_bytes(word.try_into().unwrap_or_default()));
    let (mut set, mut bit) = (Vec::new(), 0_u64);
    while let Some(run) = words_left.next() {
        let length = (run >> 1 & 0xffff_ffff) * 64;
        if bit + length > MOST_BITS {
            return None;
        }
        if run & 1 == 1 {
            set.extend(bit..bit + length);
        }
        bit += length;
        for _ in 0..run >> 33 {
            let word = words_left.next()?;
            set.extend((0..64).filter(|at| word >> at & 1 == 1).map(|at| bit + at));
            bit += 64;
        }
    }
    // The position of the last run's word follows.
    Some((set, at + 8 + words * 8 + 4))
}

/// The entries of both parts. Those that replace come first among the index's own, without a name.
pub fn merge(
    mut shared: Vec<IndexEntry>,
    link: &Link,
    own: Vec<IndexEntry>,
) -> Option<Vec<IndexEntry>> {
    let mut own = own.into_iter();
    for at in &link.replaced {
        let old = shared.get_mut(usize::try_from(*at).ok()?)?;
        let mut new = own.next()?;
        if !new.path.is_empty() {
            return None;
        }
        new.path = std::mem::take(&mut old.path);
        *old = new;
    }
    let mut deleted = link.deleted.iter().copied().peekable();
    let mut at = 0;
    shared.retain(|_| {
        let goes = deleted.next_if_eq(&at).is_some();
        at += 1;
        !goes
    });
    shared.extend(own);
    Some(shared)
}
