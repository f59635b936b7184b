//! A hold: what keeps an agent from being started, prompted or ended by itself.
//!
//! It stands beside the state, and nothing that is heard of the agent erases it.
//!
//! Invariants
//! - HO1  While a hold stands, no timer, report, sign, reboot or place in the line starts, retries or
//!   ends the agent's session.
//! - HO2  Only a person lifts a hold for a person or for damage; no agent does.
//! - HO3  `stop` and `bury` work whatever holds the agent.

use serde::{Deserialize, Serialize};

use crate::reason::{Evidence, Witness};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub held_for: HeldFor,
    pub evidence: Evidence,
    pub since: Time,
}

/// What a hold waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HeldFor {
    Verdict,
    Person,
    /// A record of the agent can't be read. Never an event: it is found again at each start.
    Damage,
}

impl HeldFor {
    /// Whether a `wake` or `restart` by this witness lifts the hold.
    pub fn is_lifted_by(self, witness: Witness) -> bool {
        match self {
            HeldFor::Verdict => false,
            HeldFor::Person | HeldFor::Damage => witness == Witness::Operator,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            HeldFor::Verdict => "verdict",
            HeldFor::Person => "person",
            HeldFor::Damage => "damage",
        }
    }
}
