//! The word by which a person finds an agent that may be dead.

use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;

/// An agent's name, or its id where it has none or another agent has that name by now.
pub fn agent_word(fleet: &Fleet, id: AgentId) -> String {
    let name = fleet.agent(id).and_then(|agent| agent.name.as_ref()).map(ToString::to_string);
    let is_its = |name: &String| fleet.find(name).is_ok_and(|found| found.id == id);
    name.filter(is_its).unwrap_or_else(|| id.to_string())
}
