//! Presses Enter again where the program did nothing with the one behind our text.
//!
//! Only where the preset says so. Decides nothing about other texts, and tells nobody: the delivery is over.
//!
//! Invariants
//! - EA1  Enter is pressed again only while the line shows our text: the caret is still behind it, and what was
//!   drawn since shows the text. A dialog shows no caret there, and an empty line has it in the first column.
//!   Or the program made a new row of the Enter: the caret is in the first column, the hint of an empty line is
//!   not shown, and what was drawn since shows the text. The empty row behind it is white space.
//! - EA2  Never into a dialog, a doubt or a suspended program, never behind a person's keys, and never before the
//!   program has read the Enter before.
//! - EA3  At most `PRESSES_MAX` times, each after twice the wait before: a program that is still starting drops
//!   several in a row. After `LOOKS_MAX` looks nothing is waited for.

use std::time::Duration;

use super::super::monotonic::Moment;
use super::echo::Echo;
use super::session::Session;

const PRESSES_MAX: u8 = 5;
/// A program that is slow has not read the first one yet.
const LOOKS_MAX: u8 = 7;

/// An Enter behind our text that the program has not shown to have taken.
#[derive(Debug)]
pub struct Unconfirmed {
    /// Of what is drawn since.
    echo: Echo,
    /// The column behind the text; `None` if the frame that showed it was not at its end.
    caret: Option<u16>,
    /// When a person had typed last.
    typed_at: Option<Moment>,
    pub look_at: Moment,
    every: Duration,
    presses_left: u8,
    looks_left: u8,
}

impl Session {
    /// Enter was pressed; `echo` looks for the text in what is drawn from here on.
    pub(super) fn await_taken(&mut self, echo: Echo, now: Moment) {
        self.unconfirmed = None;
        let Some(rules) = &self.rules else { return };
        let is_told = rules.enter_again_ms > 0 && self.modes.tells_caret();
        let caret = self.modes.caret_column();
        if !is_told || caret == Some(rules.first_column) {
            return;
        }
        let every = Duration::from_millis(rules.enter_again_ms.into());
        self.unconfirmed = Some(Box::new(Unconfirmed {
            echo,
            caret,
            typed_at: self.typed_at,
            look_at: now + every,
            every,
            presses_left: PRESSES_MAX,
            looks_left: LOOKS_MAX,
        }));
    }

    /// Takes note of output behind that Enter.
    pub(super) fn see_behind_enter(&mut self, output: &[u8]) {
        if let Some(entered) = &mut self.unconfirmed {
            entered.echo.feed(output);
        }
    }

    /// Looks whether the Enter was taken, once it is time to.
    pub(super) fn press_enter_again(&mut self, now: Moment) {
        let Some(mut entered) = self.unconfirmed.take_if(|entered| entered.look_at <= now) else {
            return;
        };
        let is_over = !self.is_entered
            || self.delivery.is_some()
            || self.exit.is_some()
            || self.typed_at != entered.typed_at
            || entered.looks_left == 0
            || entered.presses_left == 0;
        if is_over {
            return;
        }
        if self.is_line_unchanged(&mut entered) && self.write(b"\r").is_ok() {
            entered.presses_left -= 1;
            entered.echo = entered.echo.anew();
        }
        entered.looks_left -= 1;
        entered.every *= 2;
        entered.look_at = now + entered.every;
        self.unconfirmed = Some(entered);
    }

    /// EA1, EA2.
    fn is_line_unchanged(&self, entered: &mut Unconfirmed) -> bool {
        let is_read = |terminal: &super::terminal::Terminal| {
            terminal.waiting() == 0 && terminal.unread() == 0
        };
        let is_shown = !entered.echo.has_printed() || entered.echo.feed(&[]);
        let first_column = self.rules.as_ref().map(|rules| rules.first_column);
        let is_behind = |now: u16| match entered.caret {
            Some(then) => now == then,
            None => Some(now) != first_column,
        };
        let is_behind_text = is_shown && self.modes.caret_column().is_some_and(is_behind);
        (is_behind_text || self.is_in_new_row(entered))
            && self.check_keys_reach_line().is_ok()
            && !self.is_stopped
            && self.withheld.is_empty()
            && self.terminal.as_ref().is_some_and(is_read)
    }

    /// The caret is below our text. Only a hint tells that from a line that was sent.
    fn is_in_new_row(&self, entered: &Unconfirmed) -> bool {
        let first_column = self.rules.as_ref().map(|rules| rules.first_column);
        self.hint.is_empty_line() == Some(false)
            && self.modes.caret_column() == first_column
            && entered.echo.shows_text()
    }
}
