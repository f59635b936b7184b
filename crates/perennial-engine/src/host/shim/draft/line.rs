//! What keys make of the input line, and what the caret shows of it.

use std::time::Duration;

use super::super::super::delivery::{DoubtKey, Key};
use super::super::super::monotonic::Moment;
use super::super::super::protocol::Focus;
use super::super::modes::Caret;
use super::Draft;

/// Keys that were read so long ago have been drawn, if they change anything.
const DRAWN_WITHIN: Duration = Duration::from_secs(1);
/// A program that has drawn frames for so long since a key has read that key.
const DRAWN_FOR: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// By all that is known.
    Empty(EmptyBy),
    /// Characters that were typed one after the other, and the columns that they take at most; the
    /// caret is behind them.
    Plain { characters: u32, columns: u32 },
    /// Our own text. It is alone there if the line was seen to be empty before.
    Ours { is_alone: bool },
    /// Anything else.
    Edited,
}

impl Default for Line {
    fn default() -> Line {
        Line::Empty(EmptyBy::Shown)
    }
}

/// What shows that the line is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyBy {
    /// The caret was last seen where an empty line has it.
    Shown,
    /// All that there was is erased, or is known to be taken; the program has not drawn that yet.
    Erased,
    /// It was sent or taken back, if the program took the key for that.
    Claimed,
    /// The caret went elsewhere, and no key of a person's explains it.
    Strange,
}

/// D9: keys of a person's, since which nothing has shown that the program reads.
#[derive(Debug, Clone, Copy)]
pub struct Unread {
    /// Where the caret was then, and whether the hint of an empty line was shown.
    seen: (Option<u16>, Option<bool>),
    /// When the first frame was drawn since.
    framed_at: Option<Moment>,
    /// When they were first seen to be read.
    pub read_at: Option<Moment>,
}

impl Unread {
    pub fn is_read_long_ago(&self, now: Moment) -> bool {
        self.read_at.is_some_and(|at| now.saturating_sub(at) >= DRAWN_WITHIN)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    by: Key,
    escapes_left: u8,
    is_toggle: bool,
    is_interruptible: bool,
    /// The line when the doubt began.
    pub before: Line,
    /// Enter was typed since.
    pub is_entered: bool,
}

impl Draft {
    /// D7: a frame has ended, with the caret there.
    pub fn see(&mut self, caret: Option<Caret>, first_column: u16, now: Moment) {
        self.shows_caret = true;
        self.caret_column = caret.map(|caret| caret.column);
        // A busy program goes on to draw an empty line, with its hint, for a while after words were typed.
        let may_be_old = self.is_kept() && self.hint == Some(true);
        self.unread.take_if(|unread| {
            let framed_at = *unread.framed_at.get_or_insert(now);
            let is_drawn = now.saturating_sub(framed_at) >= DRAWN_FOR;
            unread.seen != (self.caret_column, self.hint)
                || is_drawn && (!may_be_old || unread.is_read_long_ago(now))
        });
        self.caret_row = caret.map(|caret| caret.rows_up);
        self.has_left_line |= self.caret_row != self.line_row;
        if self.doubt.is_some() {
            return;
        }
        let is_first = caret.is_some_and(|caret| caret.column == first_column);
        let is_at_start = is_first && self.hint != Some(false);
        self.is_at_start = is_at_start;
        if is_at_start && self.focus != Focus::Dialog {
            self.line_row = self.caret_row;
        }
        // D11, unless the frame may be from before a person's keys.
        if self.unread.is_none() && self.focus != Focus::Dialog {
            if is_at_start && self.hint == Some(true) && self.is_kept() {
                self.forget();
                self.has_left_text = false;
            } else if is_first && !is_at_start && self.line == Line::Empty(EmptyBy::Claimed) {
                self.line = Line::Edited;
            }
        }
        // A frame from before the keys, which shows the hint still, is no proof of what they made.
        let is_old = self.hint.is_some() && self.unread.is_some();
        if let Line::Empty(by) = &mut self.line {
            *by = match *by {
                EmptyBy::Claimed if is_old => EmptyBy::Claimed,
                _ if is_at_start => EmptyBy::Shown,
                EmptyBy::Shown | EmptyBy::Strange => EmptyBy::Strange,
                // It is where the words were that are gone.
                EmptyBy::Erased | EmptyBy::Claimed => *by,
            };
        }
    }

    pub(super) fn enter(&mut self) {
        let is_for_dialog = self.is_for_dialog();
        if let Some(doubt) = self.doubt.as_mut().filter(|_| !is_for_dialog) {
            doubt.is_entered = true;
        }
        if self.is_after_newline_sign || self.is_unread {
            // That is a new line of it.
            self.edit();
        } else if std::mem::take(&mut self.is_stashed) {
            // What was put aside is back.
            self.edit();
        } else if (self.is_abandoned || self.focus == Focus::Dialog) && self.is_kept() {
            // It may have answered the dialog.
            self.edit();
        } else {
            self.entered_left_at = self.has_left_text.then_some(self.now);
            self.set(Line::Empty(EmptyBy::Claimed));
        }
    }

    /// Ctrl-C takes all of the line back; in a turn it ends that, and the line stays.
    pub(super) fn interrupt(&mut self) {
        if let Some(doubt) = self.doubt.filter(|_| !self.is_for_dialog()) {
            if doubt.is_interruptible {
                self.resolve_doubt();
            }
            return;
        }
        match (self.focus, self.line) {
            (Focus::Line, _) | (_, Line::Empty(_)) => self.set(Line::Empty(EmptyBy::Claimed)),
            (Focus::Turn | Focus::Dialog, _) => self.edit(),
        }
        self.put_back_by = Some(self.now + self.put_back_within);
    }

    pub(super) fn escape(&mut self, now: Moment) {
        if self.is_for_dialog() {
            return;
        }
        if self.doubt.is_some() {
            self.escape_doubt();
            return;
        }
        let is_second = match (self.escaped_at, self.double_escape_within) {
            (Some(at), Some(within)) => now.saturating_sub(at) < within,
            (Some(_) | None, _) => false,
        };
        match self.focus {
            Focus::Line if is_second => self.set(Line::Empty(EmptyBy::Claimed)),
            Focus::Line => self.escaped_at = Some(now),
            // The first one ends the turn: how many are left for the line is not known.
            Focus::Turn | Focus::Dialog => {}
        }
        // D7: from now on keys do not tell what is in the line.
        self.put_back_by = Some(now + self.put_back_within);
        match self.line {
            Line::Plain { .. } => self.line = Line::Edited,
            Line::Empty(_) if !self.shows_caret && self.focus != Focus::Line => {
                self.line = Line::Edited;
            }
            Line::Empty(EmptyBy::Erased) => self.line = Line::Empty(EmptyBy::Claimed),
            Line::Empty(_) | Line::Ours { .. } | Line::Edited => {}
        }
    }

    /// One step on the way back, if there is one.
    fn escape_doubt(&mut self) {
        let Some(doubt) = &mut self.doubt else { return };
        match doubt.escapes_left {
            0 => {}
            1 => self.resolve_doubt(),
            _ => doubt.escapes_left -= 1,
        }
    }

    /// Keys reach the line again, as it was; unless something may have been put into it.
    fn resolve_doubt(&mut self) {
        if let Some(Doubt { is_entered, before, .. }) = self.doubt.take() {
            self.set(match before {
                _ if is_entered => Line::Edited,
                Line::Empty(_) => Line::Empty(EmptyBy::Claimed),
                Line::Plain { .. } | Line::Ours { .. } | Line::Edited => before,
            });
        }
    }

    /// Whether this key opens something; then there is doubt, or no more.
    pub(super) fn opens(&mut self, key: Key) -> bool {
        let Some(rule) = self.keys.iter().find(|rule| rule.key == key).copied() else {
            return false;
        };
        let is_plain = self.is_pasted || self.is_unread || self.is_for_dialog();
        let has_words = match self.line {
            Line::Empty(EmptyBy::Shown | EmptyBy::Erased | EmptyBy::Claimed) => false,
            Line::Empty(EmptyBy::Strange) => true,
            Line::Plain { .. } | Line::Ours { .. } | Line::Edited => true,
        };
        if is_plain || rule.in_empty_line && has_words {
            return false;
        }
        match self.doubt {
            Some(doubt) if doubt.is_toggle && doubt.by == key => self.resolve_doubt(),
            Some(Doubt { before, .. }) => self.doubt = Some(Doubt::new(rule, before)),
            None => {
                self.moved_in_unknown();
                self.doubt = Some(Doubt::new(rule, self.line));
            }
        }
        true
    }

    pub(super) fn put_aside(&mut self) {
        self.is_stashed = !self.is_for_dialog();
        self.edit();
    }

    /// Whether a key finds an empty line, and does nothing there but what it prints.
    pub(super) fn is_known_empty(&self) -> bool {
        let is_put_back = self.put_back_by.is_some_and(|by| self.now < by);
        !is_put_back && matches!(self.line, Line::Empty(EmptyBy::Shown | EmptyBy::Erased))
    }

    /// Keys answer a dialog. One that is not drawn yet takes them, too.
    pub(super) fn is_for_dialog(&self) -> bool {
        let is_in_line = self.line_row.is_some() && self.caret_row == self.line_row;
        let is_back = is_in_line && (self.has_left_line || !self.is_at_start);
        self.focus == Focus::Dialog && !is_back
    }

    /// The caret was moved, or something erased, if there is anything.
    pub(super) fn moved(&mut self) {
        if matches!(self.line, Line::Empty(_)) {
            self.moved_in_unknown();
        } else {
            self.edit();
        }
    }

    /// D7.
    fn moved_in_unknown(&mut self) {
        if matches!(self.line, Line::Empty(_)) && !self.is_known_empty() {
            self.edit();
        }
    }

    pub(super) fn edit(&mut self) {
        self.set(Line::Edited);
    }

    pub(super) fn set(&mut self, line: Line) {
        self.is_after_newline_sign = false;
        self.escaped_at = None;
        if !self.is_for_dialog() {
            self.line = line;
            self.has_left_text &= self.is_kept();
            // An Enter or an erasing key adds no words, and is to be read like the keys before it.
            let before = self.unread.map(|unread| unread.seen);
            let seen = (self.caret_column, self.hint);
            let seen = before.or_else(|| self.is_kept().then_some(seen));
            self.unread = seen.map(|seen| Unread { seen, framed_at: None, read_at: None });
        }
    }
}

impl Doubt {
    fn new(rule: DoubtKey, before: Line) -> Doubt {
        let DoubtKey { key, escapes, is_toggle, is_interruptible, .. } = rule;
        let escapes_left = escapes;
        Doubt { by: key, escapes_left, is_toggle, is_interruptible, before, is_entered: false }
    }
}
