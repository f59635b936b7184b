//! What only a person may do on this machine without asking the daemon: change the configuration, install a
//! service, carry a home away.
//!
//! A convenience, not a wall: an agent of the same user can write the user's files anyway. It keeps an agent
//! that follows a hint from changing what belongs to the operator.

use perennial_api::answer::Health;
use perennial_api::client::{self, ClientError};
use perennial_core::authority::Caller;

use super::context::Context;
use super::failure::Failure;
use super::problems;
use crate::daemon::surface::identity;

/// Refuses unless a person calls, as far as the processes above and the daemon can tell.
pub fn required(what: &str, context: &Context) -> Result<(), Failure> {
    let is_person = identity::starter() == Caller::Person;
    let health = context.client.get(&client::path(&["health"], &[]));
    let you = health.and_then(|answer| answer.read::<Health>()).map(|health| health.identity.you);
    match you {
        _ if !is_person => Err(problems::house::for_persons(what).into()),
        Ok(you) if you != "person" => Err(problems::house::for_persons(what).into()),
        Ok(_) | Err(ClientError::NoDaemon(_)) => Ok(()),
        // Somebody listens there and can't say who calls: an agent may have hidden itself or the daemon.
        Err(unknown) => Err(unknown.into()),
    }
}
