//! What the operator has set, as decisions use it. Folding never reads it: what follows from it is in the
//! events.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Fleet, OffspringLimits};
use crate::agent::Agent;
use crate::authority::Caller;
use crate::name::{Name, NameKey};
use crate::role::{self, DeclaredIn, RoleTerms, Vacant};
use crate::snapshot::SnapshotTerms;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The command that is run when an agent needs the operator; empty: none.
    pub notify: Vec<String>,
    /// For how long recordings of sessions that have ended are kept; without a limit: for ever.
    pub keep_recordings: Option<Duration>,
    /// Which snapshots of work trees are kept.
    pub snapshots: SnapshotTerms,
    /// The roles that the operator has declared …
    pub roles: BTreeMap<NameKey, RoleTerms>,
    /// … and those that are built in.
    pub built_in_roles: BTreeMap<NameKey, RoleTerms>,
    /// How long an escalation of high severity may stay unseen, if the operator has set that.
    pub escalate_after: Option<Duration>,
    /// After how long an open loop is raised for the first time, if the operator has set that.
    pub raise_loops_after: Option<Duration>,
    /// How long a session has to save its work before a handoff, if the operator has set that.
    pub handoff_deadline: Option<Duration>,
    /// How many children agents may have.
    pub offspring: OffspringLimits,
    /// How many sessions of a node may run at a time; without a limit: all.
    pub max_running: Option<usize>,
}

impl Policy {
    /// What a role is: as it is declared, where its precedence is highest, else the defaults.
    pub fn terms(&self, role: &Name, by_project: Option<&RoleTerms>) -> RoleTerms {
        self.resolved(&role.key(), by_project).unwrap_or_default()
    }

    fn resolved(&self, key: &NameKey, by_project: Option<&RoleTerms>) -> Option<RoleTerms> {
        let found = DeclaredIn::BY_PRECEDENCE.into_iter().find_map(|place| match place {
            DeclaredIn::Operator => self.roles.get(key),
            DeclaredIn::Project => by_project,
            DeclaredIn::BuiltIn => self.built_in_roles.get(key),
        });
        found.map(|terms| RoleTerms { is_declared: true, ..terms.clone() })
    }

    /// The terms by which `to` has the role that `agent` hands over. Who holds it already keeps theirs. What the
    /// operator, the receiver's project or Perennial declare comes before the giver's terms. Where those may be of another
    /// project's file, an agent hands over the mandate alone: rounds and restarts would spend the receiver's tokens.
    pub fn terms_handed_over(
        &self,
        caller: Caller,
        (agent, to): (&Agent, &Agent),
        by_project: Option<&(Name, RoleTerms)>,
    ) -> RoleTerms {
        let key = NameKey::of(agent.role.as_deref().unwrap_or_default());
        if role::held(to).as_ref() == Some(&key) {
            return to.role_terms.clone();
        }
        let by_project = by_project.filter(|(role, _)| role.key() == key).map(|(_, terms)| terms);
        if let Some(terms) = self.resolved(&key, by_project) {
            return terms;
        }
        let terms = agent.role_terms.clone();
        match caller == Caller::Person || agent.launch.project == to.launch.project {
            true => terms,
            false => {
                RoleTerms { every: None, restart: None, cycle: None, handoff_at: None, ..terms }
            }
        }
    }

    /// The roles that are declared for the whole fleet.
    pub fn declared(&self) -> impl Iterator<Item = &NameKey> {
        self.roles.keys().chain(self.built_in_roles.keys())
    }

    /// Whether a role is one of those.
    pub fn declares(&self, role: &NameKey) -> bool {
        self.roles.contains_key(role) || self.built_in_roles.contains_key(role)
    }
}

/// Whose word makes a vacant role one, in the order in which vacancies are told. What agents may have written, a project's
/// file included, crowds out nothing of the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhoseWord {
    Operator,
    /// The project at which the reader works.
    OwnProject,
    BuiltIn,
    OtherProject,
    MadeUp,
}

impl Fleet {
    /// Whose word makes a vacant role one, for this reader.
    pub fn whose_word(&self, vacant: &Vacant<'_>, reader: Option<&Agent>) -> WhoseWord {
        let (key, last) = (NameKey::of(&vacant.vacancy.role), vacant.vacancy.last.id);
        let project = |agent: &Agent| agent.launch.project.clone();
        let is_own = || {
            let last = self.agent(last).map(project);
            vacant.vacancy.is_declared && last.is_some() && last == reader.map(project)
        };
        if self.policy.roles.contains_key(&key) {
            WhoseWord::Operator
        } else if is_own() {
            WhoseWord::OwnProject
        } else if self.policy.built_in_roles.contains_key(&key) {
            WhoseWord::BuiltIn
        } else if vacant.is_declared {
            WhoseWord::OtherProject
        } else {
            WhoseWord::MadeUp
        }
    }

    /// The same fleet under this policy.
    pub fn under(self, policy: Policy) -> Fleet {
        Fleet { policy, ..self }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}
