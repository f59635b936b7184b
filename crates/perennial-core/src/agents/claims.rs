//! Which names and conversations an agent takes and leaves.
//!
//! Pure, and from the agent alone: whoever folds an event and whoever decides it come to the same claims.

use crate::agent::Agent;
use crate::conversation::ConversationId;
use crate::event::{ClaimEvent, What};
use crate::name::Name;
use crate::session::Session;
use crate::state::Roster;

/// Conversations that no other agent may write.
pub type Written<'a> = [Option<&'a ConversationId>; 2];

/// The agent's current conversation, and the one that its session was begun with. A buried agent's
/// last session writes until it has ended.
pub fn written_by(agent: &Agent) -> Written<'_> {
    if agent.is_over() {
        return [None; 2];
    }
    let current = agent.conversations.as_ref().map(|known| &known.current);
    let taken_up = agent.live_session().and_then(Session::taken_up);
    [current, taken_up.filter(|taken_up| current != Some(*taken_up))]
}

/// Those that were written and are no longer.
pub fn left<'a>(
    before: Written<'a>,
    after: Written<'_>,
) -> impl Iterator<Item = &'a ConversationId> {
    before.into_iter().flatten().filter(move |old| !after.contains(&Some(*old)))
}

/// The names and conversations that `agent` takes or leaves with an event that makes it `after`.
pub fn claims(before: Option<&Agent>, after: &Agent) -> Vec<What> {
    let by = after.id;
    let name = |agent: &Agent| match agent.state.roster() {
        Roster::Cemetery => None,
        Roster::Living | Roster::Freezer => agent.name.as_ref().map(Name::key),
    };
    let (old, new) = (before.and_then(name), name(after));
    let mut claims = Vec::new();
    if old != new {
        claims.extend(old.map(|key| What::Name(key, ClaimEvent::Left { by })));
        claims.extend(new.map(|key| What::Name(key, ClaimEvent::Taken { by })));
    }
    let (old, new) = (before.map(written_by).unwrap_or_default(), written_by(after));
    let what = |id: &ConversationId, event| What::Conversation(id.clone(), event);
    claims.extend(left(old, new).map(|id| what(id, ClaimEvent::Left { by })));
    claims.extend(left(new, old).map(|id| what(id, ClaimEvent::Taken { by })));
    claims
}
