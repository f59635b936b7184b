//! A person's keys that come between a paste and its Enter: they wait, so that neither is glued to the
//! other.
//!
//! The person saw an empty line when they typed. If the Enter is typed, theirs follow it; if not, our
//! text is erased first.
//!
//! Invariants
//! - K1  No key is lost, and none overtakes another.
//! - K2  Keys wait for `WAIT_MAX` and a few pauses at the longest.
//! - K3  Each piece is typed by itself: an Escape with another key right behind it would be one key.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::monotonic::{Moment, now};
use super::Shim;
use super::session::Session;

/// A paste that has not been seen by then is given up for a person's keys.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// What is typed sooner behind an Enter may be taken as a part of the same text.
const BEHIND_ENTER: Duration = Duration::from_millis(150);
const APART: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct Withheld {
    pieces: VecDeque<Vec<u8>>,
    /// When the next one is typed; `None` while the delivery is under way.
    at: Option<Moment>,
}

impl Withheld {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    pub fn next_at(&self) -> Option<Moment> {
        self.at
    }
}

impl Shim {
    /// Types the next of the keys that had to wait, when it is time.
    pub(super) fn release_keys(&mut self, now: Moment) {
        let Some(session) = &mut self.session else { return };
        if session.withheld.at.is_none_or(|at| at > now) {
            return;
        }
        let piece = session.withheld.pieces.pop_front();
        session.withheld.at = (!session.withheld.is_empty()).then(|| now + APART);
        if let Some(piece) = piece {
            self.type_keys(&piece);
        }
    }

    /// Types a person's keys, and takes note of what they make of the line.
    pub(super) fn type_keys(&mut self, bytes: &[u8]) {
        let has_daemon = self.peers.iter().any(super::Peer::is_daemon);
        let Some(session) = self.session.as_mut().filter(|session| session.exit.is_none()) else {
            return;
        };
        if !has_daemon {
            session.draft.abandon();
        }
        session.type_keys(bytes, now());
        self.watch_input();
    }
}

impl Session {
    /// Whether these keys have to wait; then they are kept.
    pub fn withhold(&mut self, bytes: &[u8], now: Moment) -> bool {
        let delivery = self.delivery.as_mut().filter(|delivery| delivery.is_pasted());
        let is_between = delivery.is_some();
        if !is_between && self.withheld.is_empty() {
            return false;
        }
        if let Some(delivery) = delivery {
            delivery.give_up_by(now + WAIT_MAX);
        }
        self.withheld.pieces.push_back(bytes.to_owned());
        true
    }

    /// The delivery is over that keys waited for.
    pub fn release(&mut self, now: Moment) {
        if !self.withheld.is_empty() {
            self.withheld.at.get_or_insert(now + BEHIND_ENTER);
        }
    }

    fn type_keys(&mut self, bytes: &[u8], now: Moment) {
        if let Some(terminal) = &mut self.terminal {
            let room = self.rules.as_ref().map_or(0, |rules| rules.room(terminal.size()));
            self.draft.room(room);
            terminal.typed(bytes);
        }
        self.has_early_keys &= !self.is_drawn;
        self.draft.typed(bytes, now);
        self.typed_at = Some(now);
    }
}
