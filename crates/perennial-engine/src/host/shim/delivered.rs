//! What came of the deliveries of a session, so that none is carried out twice.
//!
//! A daemon that was killed leaves orders which the next one gives again, and others may have been
//! carried out since. Of each message the newest attempt is remembered.
//!
//! Invariants
//! - DD1  Memory is bounded: `KEPT_MAX` messages, the ones that were tried last.
//! - DD2  Of one message, only a later attempt than the newest known one is new.

use std::collections::VecDeque;

use super::super::delivery::Outcome;

/// Far more than can be under way for one agent: a text follows only when the one before was heard.
const KEPT_MAX: usize = 512;

#[derive(Debug, Default)]
pub struct Delivered {
    /// The one that was tried last is at the end.
    kept: VecDeque<Tried>,
}

#[derive(Debug)]
struct Tried {
    message: Box<str>,
    attempt: u32,
    outcome: Outcome,
}

impl Delivered {
    /// How this attempt went, or a later one of the same message; `None` if it is still to be made.
    pub fn outcome(&self, message: &str, attempt: u32) -> Option<Outcome> {
        let known = self.kept.iter().find(|tried| *tried.message == *message)?;
        (attempt <= known.attempt).then_some(known.outcome)
    }

    pub fn add(&mut self, message: &str, attempt: u32, outcome: Outcome) {
        self.kept.retain(|tried| *tried.message != *message);
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Tried { message: message.into(), attempt, outcome });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::delivery::HeldRecord;
    use super::*;

    #[test]
    fn an_attempt_is_new_once_whatever_came_after_it() {
        let mut delivered = Delivered::default();
        delivered.add("m1", 1, Outcome::Held(HeldRecord::Draft));
        delivered.add("m1", 2, Outcome::Entered);
        delivered.add("m2", 1, Outcome::Written);
        for (message, attempt, expected) in [
            ("m1", 1, Some(Outcome::Entered)),
            ("m1", 2, Some(Outcome::Entered)),
            ("m1", 3, None),
            ("m2", 1, Some(Outcome::Written)),
            ("m3", 1, None),
        ] {
            assert_eq!(delivered.outcome(message, attempt), expected, "{message} {attempt}");
        }
    }

    #[test]
    fn the_last_hundreds_are_remembered_and_no_more() {
        let mut delivered = Delivered::default();
        let name = |index: usize| format!("m{index}");
        for index in 0..2 * KEPT_MAX {
            delivered.add(&name(index), 1, Outcome::Entered);
            // Tried again and again, it is not forgotten.
            delivered.add("again", 1 + index as u32, Outcome::Entered);
        }
        assert_eq!(delivered.kept.len(), KEPT_MAX);
        assert_eq!(delivered.outcome(&name(0), 1), None);
        assert_eq!(delivered.outcome(&name(KEPT_MAX + 1), 1), Some(Outcome::Entered));
        assert_eq!(delivered.outcome("again", 1), Some(Outcome::Entered));
    }
}
