//! What an append to the journal in memory is held against.

use std::ops::Bound;

use perennial_core::entity::Entity;
use perennial_core::id::NodeId;

use super::Kept;
use crate::journal::{AppendError, Seq, Version};
use crate::record::{Grounds, stream_key};

impl Grounds for Kept {
    type Error = AppendError;

    fn last_taken(&self, writer: NodeId) -> Option<u64> {
        self.last_taken.get(&writer).copied()
    }

    fn version(&self, stream: &Entity) -> Result<Version, AppendError> {
        Ok(self.versions.get(stream).copied().unwrap_or_default())
    }

    fn since(&self, stream: &Entity, seq: Seq) -> Result<u64, AppendError> {
        let key = stream_key(stream);
        let later = self.rows.range((Bound::Excluded(seq), Bound::Unbounded));
        Ok(later.filter(|(_, row)| row.stream == key).count() as u64)
    }
}
