//! Which agent's session the command line runs in. The daemon finds out by itself; this only saves an agent
//! from writing its own name.

use super::failure::Failure;
use super::problems;

/// The id of the agent whose session this is, by its own word.
pub fn agent() -> Result<String, Failure> {
    let session = std::env::var("PERENNIAL_SESSION").ok();
    let agent = session.as_deref().and_then(|session| session.split_once('.')).map(|(id, _)| id);
    Ok(agent.ok_or_else(problems::agent_missing)?.to_owned())
}
