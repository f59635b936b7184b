//! The vendor's own record of a dialogue, by the vendor's id; and how a session takes it up.
//!
//! The id changes under a session (cleared, forked): the agent's record follows, and keeps them all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::succession::Afresh;

/// A vendor's id of a conversation: letters, digits, `-`, `_` and `.`, so that it is never a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConversationId(String);

/// The text can't be a conversation's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a conversation")]
pub struct NotAConversation;

impl ConversationId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for the conversation that this session begins: a UUID (version 8), unlike any other
    /// session's. Some vendors name files after its first eight digits, so these differ, too.
    pub fn of(session: SessionId) -> ConversationId {
        let number = u128::from(session.number.0);
        // The agent's own id is a time in its upper half, and random in its lower one, which comes first
        // here; the number only has to be spread over it.
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let bits = (session.agent.0.rotate_left(64) ^ spread) & !(0xf << 76) & !(0x3 << 62)
            | (8 << 76)
            | (2 << 62);
        let hex = format!("{bits:032x}");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        ConversationId(parts.join("-"))
    }
}

impl FromStr for ConversationId {
    type Err = NotAConversation;

    fn from_str(text: &str) -> Result<ConversationId, NotAConversation> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let good = (1..=128).contains(&text.len())
            && text.bytes().all(allowed)
            && text.starts_with(|first: char| first.is_ascii_alphanumeric());
        if good { Ok(ConversationId(text.to_owned())) } else { Err(NotAConversation) }
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The conversations of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversations {
    /// The one that the next session takes up.
    pub current: ConversationId,
    /// Those before it, oldest first.
    pub earlier: Vec<ConversationId>,
}

impl Conversations {
    /// The current one, then the earlier ones, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &ConversationId> {
        std::iter::once(&self.current).chain(self.earlier.iter().rev())
    }

    /// The record after the current conversation became this one.
    pub fn follow(known: Option<Conversations>, id: &ConversationId) -> Conversations {
        let mut earlier = match known {
            Some(Conversations { current, mut earlier }) => {
                if current != *id {
                    earlier.push(current);
                }
                earlier
            }
            None => Vec::new(),
        };
        earlier.retain(|old| old != id);
        Conversations { current: id.clone(), earlier }
    }
}

/// Where a conversation lies that a session names: seen, not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// The agent has it, or had it.
    Own,
    /// Nobody has written anything of it: it is new.
    Nowhere,
    /// Where the vendor has the agent's own: of the same directory and configuration.
    AmongOwn,
    /// Somebody else's: of another directory.
    Elsewhere,
    /// The vendor has nothing of it, and we have a copy, which the next session would get.
    OnlyOurCopy,
}

impl Whereabouts {
    /// Whether the agent goes over to it with its session. A session is a hostile witness: what it names is
    /// shown by `logs` and resumed next time.
    pub fn is_followed(self) -> bool {
        match self {
            Whereabouts::Own | Whereabouts::Nowhere | Whereabouts::AmongOwn => true,
            Whereabouts::Elsewhere | Whereabouts::OnlyOurCopy => false,
        }
    }
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opening {
    /// A bare command: its argv as it stands.
    Bare,
    /// A new conversation, under this id where the harness lets one be chosen.
    Fresh(ConversationId),
    /// The conversation goes on, and so does an open turn: it is told to. Otherwise nothing is said,
    /// and no token spent.
    Resume { conversation: ConversationId, turn: Turn },
    /// A new conversation, in which the work of the earlier ones goes on: it is told where that stood.
    Anew { conversation: ConversationId, turn: Turn, why: Afresh },
}

/// What a session is told when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPrompt {
    /// Nothing: it waits for input, and no token is spent.
    Nothing,
    /// The prompt that the agent was launched with, if there is one.
    OfLaunch,
    /// To go on with the turn that was cut off, and in a few lines where that stood.
    GoOn,
    /// Where the work stood, all that is known of it.
    Briefing,
}

/// Where the turn of a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Turn {
    /// Nothing is left to do until the next prompt.
    Over,
    /// In the middle of a turn, an open dialog included: the next session goes on with it.
    Open,
    /// The operator stopped it in the middle of a turn: the next session waits for their word.
    Stopped,
}

/// What made a session's conversation the one that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Followed {
    Started,
    Resumed,
    Cleared,
    Compacted,
    Forked,
}

impl Followed {
    pub const ALL: [Followed; 5] = [
        Followed::Started,
        Followed::Resumed,
        Followed::Cleared,
        Followed::Compacted,
        Followed::Forked,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Followed::Started => "started",
            Followed::Resumed => "resumed",
            Followed::Cleared => "cleared",
            Followed::Compacted => "compacted",
            Followed::Forked => "forked",
        }
    }

    /// Whether a new context window begins with it.
    pub fn begins_a_window(self) -> bool {
        match self {
            Followed::Started | Followed::Cleared | Followed::Compacted => true,
            Followed::Resumed | Followed::Forked => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AgentId, SessionNumber};

    #[test]
    fn an_id_of_ours_is_a_uuid_and_unlike_the_others() {
        let of = |agent, number| {
            ConversationId::of(SessionId { agent: AgentId(agent), number: SessionNumber(number) })
        };
        let id = of(0x0193_2b1c_7e4a_7000_8000_0000_0000_0001, 1);
        let text = id.as_str();
        assert_eq!(text.len(), 36);
        assert_eq!(text.parse(), Ok(id.clone()));
        assert_eq!((&text[14..15], &text[19..20] >= "8" && &text[19..20] <= "b"), ("8", true));
        let mut all: Vec<_> = (1..500).flat_map(|n| [of(1 << 80, n), of(7 << 90, n)]).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 998);
    }

    /// Agents that are born in one minute have ids that begin alike.
    #[test]
    fn ids_of_neighbours_differ_in_their_first_digits() {
        let born = |random: u128| {
            let agent = AgentId((0x01a1_ec12_9cb8_u128 << 80) | (7 << 76) | (2 << 62) | random);
            ConversationId::of(SessionId { agent, number: SessionNumber::FIRST })
        };
        let (one, two) = (born(0x1234_5678_9abc_def0), born(0x0fed_cba9_8765_4321));
        assert_ne!(one.as_str()[..8], two.as_str()[..8], "{one} {two}");
    }

    #[test]
    fn an_id_is_never_a_path_or_a_flag() {
        for bad in ["", "../x", "a/b", "-rf", ".", "a b", "é", &"x".repeat(129)] {
            assert!(bad.parse::<ConversationId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_record_follows_and_keeps_them_all() {
        let id = |text: &str| text.parse::<ConversationId>().unwrap();
        let one = Conversations::follow(None, &id("a"));
        let two = Conversations::follow(Some(one), &id("b"));
        let back = Conversations::follow(Some(two), &id("a"));
        assert_eq!((back.current, back.earlier), (id("a"), vec![id("b")]));
    }
}
