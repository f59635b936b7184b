//! What an agent leaves behind, and its wish to be buried, as they are stored.

use perennial_core::event::AgentEvent;
use perennial_core::legacy::LegacyKind;
use perennial_core::reason::Evidence;
use perennial_core::text::Text;
use serde::{Deserialize, Serialize};

use super::Encoded;
use super::part::{StoredEvidence, StoredText};
use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredLegacy {
    kind: Worded<LegacyKind>,
    text: StoredText,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredBurial {
    evidence: StoredEvidence,
}

impl StoredLegacy {
    pub fn of(kind: LegacyKind, text: &Text) -> StoredLegacy {
        StoredLegacy { kind: Worded(kind), text: text.into() }
    }

    pub fn encoded(&self) -> Encoded {
        super::encoded("legacy-left", self)
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        Ok(AgentEvent::LegacyLeft { kind: self.kind.0, text: self.text.try_into()? })
    }
}

impl StoredBurial {
    pub fn of(evidence: &Evidence) -> StoredBurial {
        StoredBurial { evidence: evidence.into() }
    }

    pub fn encoded(&self) -> Encoded {
        super::encoded("burial-asked", self)
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        Ok(AgentEvent::BurialAsked { evidence: self.evidence.try_into()? })
    }
}
