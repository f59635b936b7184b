//! What an agent leaves behind on purpose: texts for those who come after it.
//!
//! Pure. A legacy is the agent's own word, so nobody else leaves one for it; everybody may read it. The
//! newest of a kind counts; earlier ones stay in the journal.
//!
//! Invariants
//! - LE1  An agent has at most one legacy of each kind.
//! - LE2  A legacy for the board is a post as well, in the same batch.

use serde::{Deserialize, Serialize};

use crate::authority::Caller;
use crate::entity::Entity;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::PostId;
use crate::post::{Author, PostEvent};
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::text::{Text, TextBody};
use crate::time::Time;

/// A text that an agent left, and when it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftText {
    pub text: Text,
    pub at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LegacyKind {
    /// What the others need to know now.
    Board,
    /// What a blog post about the work should say.
    Blog,
    /// What an account of the agent's own life should say.
    Autobiography,
}

impl LegacyKind {
    pub const ALL: [LegacyKind; 3] =
        [LegacyKind::Board, LegacyKind::Blog, LegacyKind::Autobiography];

    pub fn word(self) -> &'static str {
        match self {
            LegacyKind::Board => "board",
            LegacyKind::Blog => "blog",
            LegacyKind::Autobiography => "autobiography",
        }
    }

    pub fn of_word(word: &str) -> Option<LegacyKind> {
        LegacyKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// An agent leaves a text. `post` is the post that a text for the board becomes.
pub fn leave(
    fleet: &Fleet,
    caller: Caller,
    (kind, body): (LegacyKind, &TextBody),
    post: PostId,
    now: Time,
) -> Result<Decision, Refusal> {
    let own = caller.own_session()?;
    fleet.authorise(caller, Verb::Report, Some(own))?;
    let agent = fleet.find(&own.to_string())?;
    let about = vec![Entity::Agent(own)];
    if agent.legacies.get(&kind).is_some_and(|left| left.text == body.text) {
        return Ok(Decision { about, ..Decision::default() });
    }
    let text = body.text.clone();
    let left = AgentEvent::LegacyLeft { kind, text: text.clone() };
    let mut events = vec![Event { at: now, what: What::Agent(own, left) }];
    // LE2
    if kind == LegacyKind::Board {
        let by = Author::Agent { id: own, name: agent.name.clone() };
        let written = PostEvent::Written { by, title: Some("Legacy".to_owned()), text };
        events.push(Event { at: now, what: What::Post(post, written) });
    }
    Ok(Decision { about, events, texts: vec![body.clone()], read: Vec::new() })
}
