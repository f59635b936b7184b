//! Where a role is declared, whose declaration counts, and what may be declared there.

/// Where a role is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeclaredIn {
    Operator,
    Project,
    BuiltIn,
}

impl DeclaredIn {
    /// The only place that says whose declaration counts: the first of these that has the role, as a whole. A
    /// project's file is data that anybody may have written; it never overrides the operator's word.
    pub const BY_PRECEDENCE: [DeclaredIn; 3] =
        [DeclaredIn::Operator, DeclaredIn::Project, DeclaredIn::BuiltIn];

    /// The shortest time between two rounds that may be declared there. A round spends tokens, and a project's file may be
    /// an agent's own work.
    pub fn every_least_s(self) -> u64 {
        match self {
            DeclaredIn::Operator | DeclaredIn::BuiltIn => 1,
            DeclaredIn::Project => 60,
        }
    }

    /// The fewest units of work after which a session gives way, where one unit is a round or a mail: each next
    /// session spends tokens before it does anything.
    pub fn cycle_least(self) -> u32 {
        match self {
            DeclaredIn::Operator | DeclaredIn::BuiltIn => 1,
            DeclaredIn::Project => 5,
        }
    }

    /// Whether it may be declared there that a holder's own word verifies its tasks.
    pub fn may_trust(self) -> bool {
        match self {
            DeclaredIn::Operator | DeclaredIn::BuiltIn => true,
            DeclaredIn::Project => false,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            DeclaredIn::Operator => "config",
            DeclaredIn::Project => "project",
            DeclaredIn::BuiltIn => "built-in",
        }
    }
}
