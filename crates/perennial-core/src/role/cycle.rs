//! When a role's terms have a holder's session give way to the next one: after a number of units of work, after certain
//! events, and at a share of the context window.
//!
//! A proxy for how full the window is, not a law: whoever declares a role sets its numbers. Where the terms say
//! nothing, or leave it to the operator, nobody is cycled.

use serde::{Deserialize, Serialize};

use super::RoleTerms;

/// The share of the usable window at which a holder is handed off, unless its role has another.
pub const HANDOFF_AT: u8 = 80;
/// The shares that a role may have: between the thresholds that agents are told about.
pub const HANDOFF_AT_LEAST: u8 = 75;
pub const HANDOFF_AT_MOST: u8 = 90;
/// A turn that uses as much of the usable window, in percent, is interesting in every role that cycles.
pub const LARGE_TURN_PERCENT: u64 = 20;

/// What is counted, and what ends a session early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// How many units of work a session does; none where the operator decides.
    pub after: Option<u32>,
    pub unit: CycleUnit,
    /// After any of these the session gives way at the next boundary.
    pub interesting: Vec<Interesting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CycleUnit {
    /// A task of the holder's was verified.
    Assignment,
    /// The holder was given a round.
    Round,
    /// Mail of an agent that the holder looks after was read.
    Interaction,
    /// An entry of the merge queue was processed.
    Merge,
    /// The operator decides.
    Operator,
}

impl CycleUnit {
    pub const ALL: [CycleUnit; 5] = [
        CycleUnit::Assignment,
        CycleUnit::Round,
        CycleUnit::Interaction,
        CycleUnit::Merge,
        CycleUnit::Operator,
    ];

    pub fn word(self) -> &'static str {
        match self {
            CycleUnit::Assignment => "assignment",
            CycleUnit::Round => "round",
            CycleUnit::Interaction => "interaction",
            CycleUnit::Merge => "merge",
            CycleUnit::Operator => "operator",
        }
    }
}

/// Events that cost a session as much of its window as a whole assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Interesting {
    /// Mail about the handoff of another agent was read.
    LifecycleRequest,
    /// The holder stopped, woke, restarted or handed off another agent.
    Remediation,
    /// The holder raised an escalation, or read one.
    Escalation,
    ComplexRebase,
    Conflict,
}

impl Interesting {
    pub const ALL: [Interesting; 5] = [
        Interesting::LifecycleRequest,
        Interesting::Remediation,
        Interesting::Escalation,
        Interesting::ComplexRebase,
        Interesting::Conflict,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Interesting::LifecycleRequest => "lifecycle-request",
            Interesting::Remediation => "remediation",
            Interesting::Escalation => "escalation",
            Interesting::ComplexRebase => "complex-rebase",
            Interesting::Conflict => "conflict",
        }
    }

    /// Whether anything tells of it yet: merges come later.
    pub fn is_told(self) -> bool {
        match self {
            Interesting::LifecycleRequest | Interesting::Remediation | Interesting::Escalation => {
                true
            }
            Interesting::ComplexRebase | Interesting::Conflict => false,
        }
    }
}

impl RoleTerms {
    /// The rule by which its holders are cycled without being asked, if there is one.
    pub fn cycled_by(&self) -> Option<&Cycle> {
        let cycle = self.cycle.as_ref().filter(|_| self.is_declared)?;
        match cycle.unit {
            CycleUnit::Assignment
            | CycleUnit::Round
            | CycleUnit::Interaction
            | CycleUnit::Merge => Some(cycle),
            CycleUnit::Operator => None,
        }
    }

    /// The share of the usable window at which its holders are handed off; none where the operator is told instead.
    pub fn hands_off_at(&self) -> Option<u64> {
        let declared = self.handoff_at.filter(|_| self.is_declared);
        let by_rule = self.cycled_by().map(|_| HANDOFF_AT);
        declared.or(by_rule).map(u64::from)
    }
}
