//! Who is told next: the holder of a role, the holder of the role that oversees it, then the parent of the agent that
//! escalates and its ancestors, at last the operator.
//!
//! Pure. Who is in the cemetery, has been told already or raised the matter is passed over.

use super::{EscalateTo, Matter, Step};
use crate::agent::Agent;
use crate::fleet::Fleet;
use crate::id::AgentId;
use crate::message::{self, Sender};
use crate::name::NameKey;
use crate::refusal::Refusal;

/// The first step.
pub fn first(fleet: &Fleet, by: Sender, to: &EscalateTo) -> Result<Step, Refusal> {
    match to {
        EscalateTo::Operator => Ok(Step::Operator),
        EscalateTo::Parent => Ok(ancestor(fleet, by, &[]).unwrap_or(Step::Operator)),
        EscalateTo::Role { role, is_declared } => {
            let key = role.key();
            if !is_declared && !message::is_role(fleet, &key) {
                return Err(Refusal::NoSuchRole { role: role.clone() });
            }
            let holder = message::holder(fleet, &key, &[by.agent()]);
            // The only holder escalates: nobody else of the role could see it.
            match holder.is_none() && fleet.roles().holders(&key).next().is_some() {
                true => Ok(ancestor(fleet, by, &[]).unwrap_or(Step::Operator)),
                false => Ok(Step::Role { role: role.as_str().to_owned(), holder }),
            }
        }
    }
}

/// The step above those that were taken.
pub fn next(fleet: &Fleet, matter: &Matter, taken: &[Step]) -> Step {
    let overseer = match taken.last() {
        Some(Step::Role { role, holder }) => overseer(fleet, matter.by, role, *holder, taken),
        Some(Step::Agent(_) | Step::Operator) | None => None,
    };
    overseer.or_else(|| ancestor(fleet, matter.by, taken)).unwrap_or(Step::Operator)
}

/// The role that looks after the holders of this one, if somebody can be told.
fn overseer(
    fleet: &Fleet,
    by: Sender,
    role: &str,
    holder: Option<AgentId>,
    taken: &[Step],
) -> Option<Step> {
    let key = NameKey::of(role);
    let of_holder = holder.and_then(|id| fleet.agent(id));
    let of_holder = of_holder.filter(|agent| crate::role::held(agent).as_ref() == Some(&key));
    let declared = || {
        let policy = fleet.policy();
        let terms = policy.roles.get(&key).or_else(|| policy.built_in_roles.get(&key))?;
        terms.overseer.clone()
    };
    let above = match of_holder {
        Some(agent) => agent.role_terms.overseer.clone(),
        None => declared(),
    }?;
    let is_taken = |step: &Step| match step {
        Step::Role { role, .. } => NameKey::of(role) == NameKey::of(&above),
        Step::Agent(_) | Step::Operator => false,
    };
    if taken.iter().any(is_taken) {
        return None;
    }
    let told = taken.iter().map(|step| step.mailbox().agent());
    let but: Vec<Option<AgentId>> = told.chain([by.agent()]).collect();
    let holder = message::holder(fleet, &NameKey::of(&above), &but)?;
    Some(Step::Role { role: above, holder: Some(holder) })
}

/// The nearest ancestor of the agent that escalates who has not been told.
fn ancestor(fleet: &Fleet, by: Sender, taken: &[Step]) -> Option<Step> {
    let is_told = |agent: &Agent| taken.iter().any(|step| step.mailbox().agent() == Some(agent.id));
    let next = fleet.guardians(by.agent()?).find(|agent| !is_told(agent))?;
    Some(Step::Agent(next.id))
}
