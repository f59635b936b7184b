//! Types one text into a program's input line, once, where that line is proven free.
//!
//! Decides nothing about when to try: the daemon orders one try, and is told how it went. All that is
//! peculiar to a program is in its rules; a bare command has none and gets its text and Enter.
//!
//! Invariants
//! - L1  One delivery at a time; one message and attempt is typed at most once in a session, however
//!   often it is ordered and whatever was typed since; no attempt after a later one.
//! - L2  Nothing is typed into a draft, a doubt, a dialog, a suspended program or an undrawn line.
//! - L3  Enter is typed only behind a proven echo, and never later than `ENTER_WITHIN` after the paste, or
//!   what its length adds to that: at once, or after the pause that the program needs. What was drawn in the
//!   pause shows the text again. It is pressed again only as `enter_again` says.
//! - L4  A text that got no Enter, or whose Enter is not known to be taken, has none of ours appended:
//!   it is erased first, or the next is held.
//! - L5  Every order is answered; what was carried out is answered the same again.
//! - L6  Nothing is held and no timer runs while nothing is under way.
//! - L7  A line that a terminal in canonical mode would cut is not typed.

use std::time::Duration;

use super::super::announcement::Announced;
use super::super::delivery::{DeliverOrder, HeldRecord, InputRules, LineReport, Outcome};
use super::super::monotonic::{Moment, now};
use super::super::protocol::ShimReport;
use super::Shim;
use super::draft::EmptyBy;
use super::echo::{Echo, Sought};
use super::session::Session;

/// A key that a person has just typed is given this long to take effect: an Escape with our bytes right
/// behind it would be another key.
const QUIET_FOR: Duration = Duration::from_millis(200);
/// A frame that is being drawn may have the caret elsewhere for this long.
const SETTLE_WITHIN: Duration = Duration::from_millis(300);
/// How long the program may take to erase what an earlier delivery left.
const ERASE_WITHIN: Duration = Duration::from_secs(1);
/// Where no caret tells that the line is empty, the program is given this long to draw it so: what is
/// erased and typed again in one frame shows nothing.
const ERASE_UNSEEN_FOR: Duration = Duration::from_millis(300);
/// Later than this after the paste a dialog may have taken the place of the line.
const ENTER_WITHIN: Duration = Duration::from_secs(1);
/// A terminal in canonical mode keeps this many bytes of a line, and its end; what is longer is cut.
const CANONICAL_LINE_MAX: usize = 4095;
/// Erasing more rows than a line ever has does no harm, and takes long.
const ERASE_KEYS_MAX: u32 = 256;

/// A delivery that is under way.
#[derive(Debug)]
pub struct Delivery {
    order: DeliverOrder,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Until persons' keys have taken effect.
    Waiting { by: Moment },
    /// Until the caret shows an empty line.
    Settling { by: Moment },
    /// Until what an earlier delivery left is erased.
    Erasing { by: Moment },
    /// Until the echo is proven.
    Pasted { by: Moment, echo: Box<Echo> },
    /// Until the program takes an Enter for one; `echo` is that of what is drawn meanwhile.
    Pausing { enter_at: Moment, by: Moment, echo: Box<Echo> },
}

impl Delivery {
    /// The text is in the line, or on its way there, without an Enter.
    pub fn is_pasted(&self) -> bool {
        matches!(self.phase, Phase::Pasted { .. } | Phase::Pausing { .. })
    }

    /// Somebody waits: a paste that is not proven by then is given up.
    pub fn give_up_by(&mut self, time: Moment) {
        if let Phase::Pasted { by, .. } | Phase::Pausing { by, .. } = &mut self.phase {
            *by = time.min(*by);
        }
    }

    /// When the present phase ends at the latest, or is to be looked at.
    pub fn by(&self) -> Moment {
        match &self.phase {
            Phase::Waiting { by } | Phase::Settling { by } => *by,
            Phase::Erasing { by } | Phase::Pasted { by, .. } => *by,
            Phase::Pausing { enter_at, by, .. } if now() < *enter_at => *by.min(enter_at),
            Phase::Pausing { by, .. } => *by,
        }
    }
}

impl Shim {
    pub(super) fn on_deliver(&mut self, order: DeliverOrder) {
        let running = |session: &&mut Session| session.exit.is_none() && session.terminal.is_some();
        let Some(session) = self.session_numbered(order.number).filter(running) else {
            self.report_delivery(order, Outcome::Held(HeldRecord::Stale));
            return;
        };
        if let Some(outcome) = session.delivered.outcome(&order.message, order.attempt) {
            self.report_delivery(order, outcome);
            return;
        }
        if let Some(Delivery { order: other, .. }) = session.delivery.as_deref() {
            // The same one is answered when it is over.
            if (&other.message, other.attempt) != (&order.message, order.attempt) {
                self.report_delivery(order, Outcome::Held(HeldRecord::Busy));
            }
            return;
        }
        let outcome = session.begin(order, now());
        self.conclude(outcome);
        self.watch_input();
    }

    /// Takes note of output that was just read.
    pub(super) fn scan_output(&mut self, count: usize) {
        if let Some(session) = &mut self.session {
            session.announcements.scan(&self.buffer[..count]);
        }
        let Some(session) = self.session.as_mut().filter(|session| session.rules.is_some()) else {
            return;
        };
        let output = &self.buffer[..count];
        let before = session.modes.bracketed_paste();
        if let Some(terminal) = &session.terminal {
            session.modes.set_rows(terminal.size().rows);
            session.hint.set_columns(terminal.size().cols);
        }
        session.modes.scan(output);
        session.hint.scan(output);
        if session.modes.bracketed_paste() != before {
            session.on_paste_mode(before, now());
        }
        session.look_at_caret();
        session.see_behind_enter(output);
        if session.delivery.is_some() {
            let outcome = session.advance(output, now());
            self.conclude(outcome);
            self.watch_input();
        }
    }

    /// The daemon has said what keys reach: a text that waits for its Enter gets none in a dialog.
    pub(super) fn on_focus(&mut self) {
        let is_pasted =
            |session: &Session| session.delivery.as_ref().is_some_and(|d| d.is_pasted());
        let in_dialog = |session: &&Session| session.draft.is_in_dialog() && is_pasted(session);
        let is_lost = self.session.as_ref().filter(in_dialog).is_some();
        self.conclude(is_lost.then_some(Outcome::Held(HeldRecord::Dialog)));
    }

    pub(super) fn on_line_time(&mut self, now: Moment) {
        let Some(session) = &mut self.session else { return };
        session.look_for_suspension(now);
        session.press_enter_again(now);
        let outcome = session.advance(&[], now);
        self.conclude(outcome);
    }

    /// The program has ended.
    pub(super) fn give_up_delivery(&mut self) {
        let is_under_way = self.session.as_ref().is_some_and(|session| session.delivery.is_some());
        self.conclude(is_under_way.then_some(Outcome::Held(HeldRecord::Stale)));
    }

    fn conclude(&mut self, outcome: Option<Outcome>) {
        let (Some(outcome), Some(session)) = (outcome, &mut self.session) else { return };
        let Some(delivery) = session.delivery.take() else { return };
        let DeliverOrder { message, attempt, .. } = &delivery.order;
        session.delivered.add(message, *attempt, outcome);
        session.concluded(outcome, now());
        self.report_delivery(delivery.order, outcome);
    }

    fn report_delivery(&mut self, order: DeliverOrder, outcome: Outcome) {
        let DeliverOrder { number, message, attempt, .. } = order;
        self.report(&ShimReport::Delivered { number, message, attempt, outcome });
    }

    /// Tells the daemon of the input line, if that has changed.
    pub(super) fn tell_line(&mut self) {
        let has_daemon = self.peers.iter().any(super::Peer::is_daemon);
        // Whoever is at the terminal sees that the program is suspended, and may want it so.
        let is_attached = self.attached_size().is_some();
        let Some(session) = self.session.as_mut().filter(|s| has_daemon && s.exit.is_none()) else {
            return;
        };
        let line = LineReport {
            draft: session.draft.is_kept(),
            doubt: session.draft.is_in_doubt(),
            suspended: session.is_suspended && !is_attached && !session.is_stopped,
            paused: session.is_suspended && is_attached,
            stopped: session.is_stopped,
        };
        if session.told_line != Some(line) {
            session.told_line = Some(line);
            let number = session.number.0;
            self.report(&ShimReport::Line { number, line });
        }
    }
}

impl Session {
    fn begin(&mut self, order: DeliverOrder, now: Moment) -> Option<Outcome> {
        let text = order.text.clone();
        let phase = Phase::Waiting { by: self.typed_at.map_or(now, |at| at + QUIET_FOR) };
        self.delivery = Some(Box::new(Delivery { order, phase }));
        if self.rules.is_none() {
            return Some(self.write_bare(&text).map_or_else(Outcome::Held, |()| Outcome::Written));
        }
        self.advance(&[], now)
    }

    fn write_bare(&mut self, text: &str) -> Result<(), HeldRecord> {
        if self.is_stopped {
            return Err(HeldRecord::Suspended);
        }
        if self.draft.is_kept() {
            return Err(HeldRecord::Draft);
        }
        // L7: the kernel drops what is longer, and tells nobody.
        let is_canonical = self.terminal.as_ref().is_some_and(|terminal| terminal.is_canonical());
        let is_long = |line: &str| line.len() > CANONICAL_LINE_MAX;
        if is_canonical && text.split(['\n', '\r']).any(is_long) {
            return Err(HeldRecord::LongLine);
        }
        self.write(format!("{text}\r").as_bytes())
    }

    /// Goes on as far as the output allows; the outcome, once there is one.
    fn advance(&mut self, output: &[u8], now: Moment) -> Option<Outcome> {
        let mut delivery = self.delivery.take()?;
        let advanced = self.advance_phase(&mut delivery, output, now);
        self.delivery = Some(delivery);
        advanced.unwrap_or_else(|held| Some(Outcome::Held(held)))
    }

    /// D9.
    fn look_at_keys(&mut self) {
        if self.terminal.as_ref().is_some_and(|terminal| terminal.unread() == 0) {
            self.draft.read(now());
        }
    }

    fn advance_phase(
        &mut self,
        delivery: &mut Delivery,
        output: &[u8],
        now: Moment,
    ) -> Result<Option<Outcome>, HeldRecord> {
        let Some(rules) = self.rules.clone() else { return Ok(None) };
        let is_late = delivery.by() <= now;
        self.look_at_keys();
        match &mut delivery.phase {
            Phase::Waiting { .. } if !is_late => match self.check_free() {
                Err(HeldRecord::NotDrawn) | Ok(()) => Ok(None),
                Err(held) => Err(held),
            },
            Phase::Waiting { .. } => {
                delivery.phase = Phase::Settling { by: now + SETTLE_WITHIN };
                self.advance_phase(delivery, output, now)
            }
            Phase::Settling { .. } | Phase::Erasing { .. } => {
                match self.check_free() {
                    // It may be drawing itself just now.
                    Err(HeldRecord::NotDrawn) if !is_late => return Ok(None),
                    Err(held) => return Err(held),
                    Ok(()) => {}
                }
                let is_erasing = matches!(delivery.phase, Phase::Erasing { .. });
                let has_caret = self.modes.tells_caret();
                let is_empty = match has_caret {
                    true => self.is_caret_at_start(),
                    false => !self.draft.is_ours() || is_erasing && is_late,
                };
                if is_empty {
                    self.paste(delivery, &rules, now)?;
                } else if (self.draft.is_ours() || self.draft.is_put_back(is_late)) && !is_erasing {
                    // How long a prompt was that came with the start is not known.
                    let keys = if self.erase_keys == 0 { ERASE_KEYS_MAX } else { self.erase_keys };
                    let keys = rules.erase_row.repeat(keys as usize);
                    self.write(keys.as_bytes())?;
                    let within = if has_caret { ERASE_WITHIN } else { ERASE_UNSEEN_FOR };
                    delivery.phase = Phase::Erasing { by: now + within };
                } else if is_late {
                    return Err(match self.modes.caret_column() {
                        None => HeldRecord::NotDrawn,
                        Some(_) if self.draft.is_ours() => HeldRecord::Leftover,
                        Some(_) => HeldRecord::Doubt,
                    });
                }
                Ok(None)
            }
            Phase::Pasted { .. } | Phase::Pausing { .. } => {
                let after = Duration::from_millis(rules.enter_after_ms.into());
                self.advance_paste(&mut delivery.phase, after, output, now)
            }
        }
    }

    /// L3.
    fn advance_paste(
        &mut self,
        phase: &mut Phase,
        after: Duration,
        output: &[u8],
        now: Moment,
    ) -> Result<Option<Outcome>, HeldRecord> {
        let is_pausing = matches!(phase, Phase::Pausing { .. });
        let (is_due, is_late, echo) = match phase {
            Phase::Waiting { .. } | Phase::Settling { .. } | Phase::Erasing { .. } => {
                return Ok(None);
            }
            Phase::Pasted { by, echo } => {
                let is_proven = echo.feed(output);
                (is_proven, *by <= now, echo)
            }
            Phase::Pausing { enter_at, by, echo } => {
                // What was drawn since may be something else.
                let is_shown = echo.feed(output) || !echo.has_printed();
                (is_shown && *enter_at <= now, *by <= now, echo)
            }
        };
        if is_late {
            self.draft.leave(echo.is_among_words());
            return Err(HeldRecord::NoEcho);
        }
        if !is_due {
            return Ok(None);
        }
        if after.is_zero() || is_pausing {
            let shown = echo.anew();
            let entered = self.enter()?;
            self.await_taken(shown, now);
            return Ok(Some(entered));
        }
        let (enter_at, echo) = (now + after, Box::new(echo.anew()));
        *phase = Phase::Pausing { enter_at, by: enter_at + SETTLE_WITHIN, echo };
        Ok(None)
    }

    fn enter(&mut self) -> Result<Outcome, HeldRecord> {
        self.check_keys_reach_line()?;
        self.write(b"\r")?;
        self.is_entered = true;
        self.draft.entered();
        Ok(Outcome::Entered)
    }

    fn paste(
        &mut self,
        delivery: &mut Delivery,
        rules: &InputRules,
        now: Moment,
    ) -> Result<(), HeldRecord> {
        let terminal = self.terminal.as_ref().ok_or(HeldRecord::Stale)?;
        let DeliverOrder { text, columns, .. } = &delivery.order;
        let room = rules.room(terminal.size());
        let placeholder = rules.placeholder.as_deref();
        let has_caret = self.modes.is_alternate();
        let sought = Sought::new(text, placeholder, columns, rules.first_column, room, has_caret)
            .after_ours(self.draft.is_ours());
        // An escape would end the paste early and type the rest as keys.
        let text = text.replace('\x1b', "");
        let rows = columns.iter().map(|width| width / u32::from(room.max(1)) + 1).sum::<u32>();
        if !self.draft.is_ours() {
            self.erase_keys = 0;
        }
        // L4: the program may not have read an earlier paste yet.
        let erase = rules.erase_row.repeat(self.erase_keys as usize);
        self.write(format!("{erase}{}\x1b[200~{text}\x1b[201~", rules.clear).as_bytes())?;
        // A row is erased, and the empty one joined to the one before.
        self.erase_keys = (self.erase_keys + rows.saturating_mul(2)).min(ERASE_KEYS_MAX);
        self.is_entered = false;
        self.draft.pasted();
        let by = now + rules.echo_within(ENTER_WITHIN, text.len());
        delivery.phase = Phase::Pasted { by, echo: Box::new(Echo::new(sought)) };
        Ok(())
    }

    /// Only in frames that end with the caret's place.
    fn is_caret_at_start(&self) -> bool {
        let first = self.rules.as_ref().map(|rules| rules.first_column);
        let is_at_first = self.modes.tells_caret() && self.modes.caret_column() == first;
        is_at_first && self.hint.is_empty_line() != Some(false)
    }

    /// What the caret shows of the line, where there is one.
    fn look_at_caret(&mut self) {
        let first_column = self.rules.as_ref().map(|rules| rules.first_column);
        let frame = self.modes.take_frame().filter(|_| self.modes.tells_caret());
        if let (Some(caret), Some(first_column)) = (frame, first_column) {
            self.draft.hint(self.hint.is_empty_line());
            self.draft.see(caret, first_column, now());
        }
        let is_at_start = self.is_caret_at_start();
        if self.is_entered && is_at_start {
            self.taken(EmptyBy::Shown);
        }
        if !self.is_drawn && self.modes.bracketed_paste() == Some(true) {
            self.is_drawn = is_at_start || !self.modes.tells_caret();
            if self.is_drawn {
                self.draft.unread(self.is_suspended);
            }
            if is_at_start {
                self.draft.forget();
            }
            self.has_early_keys = self.is_drawn && self.draft.is_kept();
        }
        let is_free = is_at_start && !self.draft.is_behind_keys(now());
        if is_free && std::mem::take(&mut self.awaits_caret) {
            self.told_line = None;
        }
    }

    /// A delivery is over: whoever waits for that goes on.
    fn concluded(&mut self, outcome: Outcome, now: Moment) {
        if !self.is_entered {
            self.draft.leave(false);
        }
        self.awaits_caret = matches!(
            outcome,
            Outcome::Held(HeldRecord::Doubt | HeldRecord::Leftover | HeldRecord::NotDrawn)
        );
        if self.withheld.is_empty() {
            return;
        }
        if self.draft.is_ours() && !self.is_entered {
            // L4: keys follow that are a person's.
            let erase = self.rules.as_ref().map(|rules| rules.erase_row.as_str());
            let keys = erase.unwrap_or_default().repeat(self.erase_keys as usize);
            if self.write(keys.as_bytes()).is_ok() {
                self.draft.emptied(EmptyBy::Erased);
            }
        }
        self.release(now);
    }

    /// The program took what was entered: nothing of ours is in the line.
    fn taken(&mut self, by: EmptyBy) {
        self.is_entered = false;
        self.draft.emptied(by);
    }

    /// The program has told that it took a prompt.
    pub fn heard(&mut self) {
        self.draft.heard();
        if self.is_entered {
            self.taken(EmptyBy::Erased);
        }
        if std::mem::take(&mut self.has_early_keys) {
            self.draft.forget();
        }
    }

    /// L2.
    fn check_free(&self) -> Result<(), HeldRecord> {
        self.check_keys_reach_line()?;
        if self.draft.is_kept() {
            return Err(HeldRecord::Draft);
        }
        if !self.withheld.is_empty() || self.draft.may_have_entered_ours(now()) {
            return Err(HeldRecord::Busy);
        }
        // D9: what they made of the line is not drawn yet.
        if self.draft.is_behind_keys(now()) {
            return Err(HeldRecord::NotDrawn);
        }
        match &self.terminal {
            Some(_) if self.is_stopped => Err(HeldRecord::Suspended),
            Some(terminal) if terminal.waiting() == 0 => Ok(()),
            Some(_) => Err(HeldRecord::Full),
            None => Err(HeldRecord::Stale),
        }
    }

    pub(super) fn check_keys_reach_line(&self) -> Result<(), HeldRecord> {
        let is_canonical = self.terminal.as_ref().is_some_and(|terminal| terminal.is_canonical());
        match self.modes.bracketed_paste() {
            None => Err(HeldRecord::NotDrawn),
            Some(_) if is_canonical => Err(HeldRecord::Suspended),
            Some(false) => Err(HeldRecord::Dialog),
            Some(true) if self.is_asked() => Err(HeldRecord::Dialog),
            Some(true) if self.draft.is_in_doubt() => Err(HeldRecord::Doubt),
            Some(true) => Ok(()),
        }
    }

    /// Keys would answer something, by the daemon's word or by the program's own.
    fn is_asked(&self) -> bool {
        self.draft.is_in_dialog() || self.announcements.latest().is_some_and(Announced::asks)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), HeldRecord> {
        let terminal = self.terminal.as_mut().ok_or(HeldRecord::Stale)?;
        if terminal.input(bytes) { Ok(()) } else { Err(HeldRecord::Full) }
    }
}
