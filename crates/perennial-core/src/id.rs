//! Identifiers: who (`AgentId`), which incarnation (`SessionNumber`), both together (`SessionId`),
//! which node, message, post, job, signal or escalation, and which run of the daemon (`Epoch`).
//!
//! Ids are made outside (the core has no randomness) and never reused. They begin with the time, so the end of one tells it
//! from others: people may type that end alone (`IdEnd`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Crockford's alphabet: no i, l, o, u, so that an id can be read aloud.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// The end of an id has at least this many digits; fewer might soon be the end of two.
const END_MIN: usize = 8;
/// The number of digits that are shown. Ids that follow from others may have the last eight in common with them.
const END_SHOWN: usize = 10;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct NotAnId;

/// A lasting id: a UUID v7, printed as its prefix and 26 base-32 digits.
macro_rules! lasting_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u128);

        impl $name {
            /// How many letters one has.
            pub const LENGTH: usize = $prefix.len() + LENGTH;

            /// The last digits of an id, with or without its prefix; nothing for a whole id.
            pub fn end_of(text: &str) -> Option<IdEnd> {
                IdEnd::of($prefix, text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(f, $prefix, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<$name, NotAnId> {
                parse($prefix, text).map($name)
            }
        }
    };
}

lasting_id!(
    /// An agent's lasting identity.
    AgentId,
    "agt_"
);
lasting_id!(
    /// A machine with a daemon, or rather one home on it.
    NodeId,
    "nod_"
);
lasting_id!(
    /// A unit of work.
    TaskId,
    "tsk_"
);
lasting_id!(
    /// A text to an agent.
    MessageId,
    "msg_"
);
lasting_id!(
    /// A post on the board.
    PostId,
    "pst_"
);
lasting_id!(
    /// A command that Perennial runs itself.
    JobId,
    "job_"
);
lasting_id!(
    /// A typed message of one machine to another.
    SignalId,
    "sig_"
);
lasting_id!(
    /// A matter that somebody has to look at.
    EscalationId,
    "esc_"
);

impl NodeId {
    /// Whose events were recorded before nodes had ids: the node whose home they lie in.
    pub const HOME: NodeId = NodeId(0);
}

impl Default for NodeId {
    fn default() -> NodeId {
        NodeId::HOME
    }
}

/// The last digits of an id, as somebody typed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdEnd {
    value: u128,
    bits: u32,
}

impl IdEnd {
    fn of(prefix: &str, text: &str) -> Option<IdEnd> {
        let digits = text.strip_prefix(prefix).unwrap_or(text);
        if !(END_MIN..LENGTH).contains(&digits.len()) {
            return None;
        }
        let digit = |byte: u8| DIGITS.iter().position(|d| *d == byte.to_ascii_lowercase());
        let add = |value: u128, byte| Some((value << 5) | digit(byte)? as u128);
        let value = digits.bytes().try_fold(0, add)?;
        Some(IdEnd { value, bits: 5 * digits.len() as u32 })
    }

    pub fn is_of(self, id: u128) -> bool {
        id & ((1 << self.bits) - 1) == self.value
    }

    /// The last five bytes, which every end has.
    pub fn last_bytes(self) -> [u8; 5] {
        let [.., a, b, c, d, e] = self.value.to_be_bytes();
        [a, b, c, d, e]
    }
}

/// The bits of an id that follows from another one and a moment, so that a replay agrees. Like an id that is made, it is a
/// UUID of version 7, which begins with the time; `place` tells several of one moment apart.
pub fn derived(from: u128, at: Time, place: u32) -> u128 {
    let spread = u128::from(at.0).wrapping_mul(0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d);
    let low = (from ^ u128::from(place) << 48 ^ spread) & ((1 << 76) - 1);
    let low = low & !(0x3 << 62) | (2 << 62);
    (u128::from(at.0 / 1000) << 80) | (7 << 76) | low
}

/// The ends by which ids that are shown together are told apart, each of the same length.
pub fn ends<'a>(ids: &[&'a str]) -> Vec<&'a str> {
    let end = |id: &'a str, length: usize| {
        let start = id.len().saturating_sub(length);
        // A whole id keeps its prefix; what is not an id is shown as it is.
        if length >= LENGTH || !id.is_char_boundary(start) { id } else { &id[start..] }
    };
    let is_clear = |length: &usize| {
        let mut ends: Vec<&str> = ids.iter().map(|id| end(id, *length)).collect();
        let mut whole = ids.to_vec();
        ends.sort_unstable();
        ends.dedup();
        whole.sort_unstable();
        whole.dedup();
        ends.len() == whole.len()
    };
    let length = (END_SHOWN..LENGTH).find(is_clear).unwrap_or(LENGTH);
    ids.iter().map(|id| end(id, length)).collect()
}

fn print(f: &mut fmt::Formatter<'_>, prefix: &str, mut rest: u128) -> fmt::Result {
    let mut text = [0u8; LENGTH];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(rest & 31) as usize];
        rest >>= 5;
    }
    f.write_str(prefix)?;
    text.iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
}

fn parse(prefix: &str, text: &str) -> Result<u128, NotAnId> {
    let digits = text.strip_prefix(prefix).ok_or(NotAnId)?;
    if digits.len() != LENGTH {
        return Err(NotAnId);
    }
    let mut value: u128 = 0;
    for (position, byte) in digits.bytes().enumerate() {
        let digit = DIGITS.iter().position(|d| *d == byte).ok_or(NotAnId)? as u128;
        // 26 digits carry 130 bits: the first one holds only the top three.
        if position == 0 && digit > 7 {
            return Err(NotAnId);
        }
        value = (value << 5) | digit;
    }
    Ok(value)
}

/// The number of a session within its agent, from 1; the fence that every effect carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionNumber(pub u32);

impl SessionNumber {
    pub const FIRST: SessionNumber = SessionNumber(1);

    pub fn next(self) -> SessionNumber {
        SessionNumber(self.0 + 1)
    }

    pub fn previous(self) -> Option<SessionNumber> {
        (self.0 > 1).then(|| SessionNumber(self.0 - 1))
    }
}

impl fmt::Display for SessionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One incarnation of one agent, printed `agt_….N`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId {
    pub agent: AgentId,
    pub number: SessionNumber,
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.agent, self.number)
    }
}

impl FromStr for SessionId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<SessionId, NotAnId> {
        let (agent, number) = text.rsplit_once('.').ok_or(NotAnId)?;
        let number = SessionNumber(number.parse().map_err(|_| NotAnId)?);
        Ok(SessionId { agent: agent.parse()?, number })
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which run of the daemon, counted from 1 in the journal; a holder obeys the newest only.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Epoch(pub u64);

impl Epoch {
    /// No daemon was ever started more often than this: whoever says so is no holder.
    pub const MAX_BELIEVED: Epoch = Epoch(1 << 48);
}

/// The machine's boot id: pids from another boot mean nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct BootId(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_print_and_parse_back() {
        for value in [0, 1, 31, 32, u128::MAX, 0x0193_2b1c_7e4a_7000_8000_0000_0000_0001] {
            let id = AgentId(value);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), 30);
        }
    }

    #[test]
    fn the_end_of_an_id_tells_it_from_others() {
        let id = TaskId(0x0193_2b1c_7e4a_7000_8000_1234_5678_9abc);
        let text = id.to_string();
        for length in END_MIN..LENGTH {
            let typed = &text[text.len() - length..];
            for typed in [typed.to_owned(), typed.to_uppercase(), format!("tsk_{typed}")] {
                let end = TaskId::end_of(&typed).expect("an end");
                assert!(end.is_of(id.0), "{typed}");
                assert!(!end.is_of(id.0 ^ 1), "{typed}");
                assert_eq!(end.last_bytes(), [0x34, 0x56, 0x78, 0x9a, 0xbc]);
            }
        }
        for text in ["", "tsk_", "1234567", "bob", "msg_34567890", "uuuuuuuu", text.as_str()] {
            assert_eq!(TaskId::end_of(text), None, "{text}");
        }
        let other = TaskId(id.0 ^ (1 << 52)).to_string();
        let [one, two] = ends(&[&text, &other])[..] else { panic!("two") };
        assert_eq!((one.len(), two.len()), (11, 11));
        assert_eq!(ends(&[&text, &text]), [&text[20..]; 2]);
        assert_eq!(ends(&["é".repeat(7).as_str()]).len(), 1);
    }

    #[test]
    fn session_ids_print_and_parse_back() {
        let id = SessionId { agent: AgentId(7), number: SessionNumber(12) };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", ".", "7.1", "agt_00000000000000000000000000.x", "agt_0.1"] {
            assert_eq!(text.parse::<SessionId>(), Err(NotAnId), "{text}");
        }
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in [
            "",
            "agt_",
            "agt_0",
            "ses_00000000000000000000000000",
            "agt_z0000000000000000000000000",
            "agt_0000000000000000000000000i",
            "agt_000000000000000000000000000",
        ] {
            assert_eq!(text.parse::<AgentId>(), Err(NotAnId), "{text}");
        }
    }
}
