//! What stands in the way of a text that would be typed into the session's input line.

use super::{Hearing, turn};
use crate::agent::Agent;
use crate::fact::{Fact, Keys, PausedBy, Seen};

/// Why the input line is not free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It has not been drawn yet: what is typed now stays there unsent.
    NotDrawn,
    /// Keys would answer a dialog.
    Dialog,
    /// A person opened a menu.
    Menu,
    /// A person has typed something and not sent it.
    Draft,
    /// A person's keys may have opened a menu or a mode.
    Doubt,
    Suspended,
}

impl Obstacle {
    /// Whether a person's words may stand in the line, or their hands be on it. In one that was never seen drawn there are none: keys
    /// from before that are a draft.
    pub(crate) fn may_be_a_persons(self) -> bool {
        match self {
            Obstacle::NotDrawn => false,
            Obstacle::Dialog
            | Obstacle::Menu
            | Obstacle::Draft
            | Obstacle::Doubt
            | Obstacle::Suspended => true,
        }
    }
}

/// Why a suspended program does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suspension {
    /// Nobody is at its terminal: it is to be continued.
    Forgotten,
    /// Whoever suspended it may want it so.
    Wanted(PausedBy),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// The session has begun, and nothing has shown yet that its input line is drawn.
    pub(super) is_awaited: bool,
    pub(super) is_in_menu: bool,
    pub(super) suspension: Option<Suspension>,
    pub(super) keys: Keys,
}

impl Hearing {
    /// Whether its program is suspended, and why.
    pub fn suspension(&self) -> Option<Suspension> {
        self.line.suspension
    }

    /// What stands in the way of typing, as far as it was heard.
    pub fn obstacle(&self, agent: &Agent) -> Option<Obstacle> {
        let line = &self.line;
        if line.suspension.is_some() {
            Some(Obstacle::Suspended)
        } else if line.is_awaited {
            Some(Obstacle::NotDrawn)
        } else if agent.reason.is_dialog() {
            Some(Obstacle::Dialog)
        } else if line.is_in_menu {
            Some(Obstacle::Menu)
        } else {
            match line.keys {
                Keys::Clear => None,
                Keys::Draft => Some(Obstacle::Draft),
                Keys::Doubt => Some(Obstacle::Doubt),
            }
        }
    }
}

/// Whether a fact freed the line, given what stood in the way before it and what does now: a text that
/// waits for that may be typed.
pub fn frees_line(before: Option<Obstacle>, fact: &Fact, now: Option<Obstacle>) -> bool {
    // The holder may have held a text for what only its terminal shows.
    let is_told_clear = fact.seen == Seen::Keys(Keys::Clear);
    (before.is_some() || is_told_clear) && now.is_none()
}

/// What keys reach in a session's terminal, for its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The input line.
    Line,
    /// The input line, while a turn runs.
    Turn,
    /// A dialog or a menu: Enter would answer it.
    Dialog,
}

/// What keys reach now, as far as it was heard.
pub fn focus(agent: &Agent, hearing: Option<&Hearing>) -> Focus {
    let is_in_menu = hearing.is_some_and(|hearing| hearing.line.is_in_menu);
    if agent.reason.is_dialog() || turn::asks(agent) || is_in_menu {
        Focus::Dialog
    } else if turn::works(agent) {
        Focus::Turn
    } else {
        Focus::Line
    }
}
