//! Whether a session's program has been suspended from its terminal, as its modes tell.

use std::time::Duration;

use super::super::monotonic::Moment;
use super::session::Session;

/// After bracketed pastes were turned off: when to look whether the program was suspended.
const LOOKS_AFTER: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1)];

impl Session {
    /// A program that is suspended turns bracketed pastes off and gives the terminal back; it does the
    /// second a moment later.
    pub(super) fn on_paste_mode(&mut self, before: Option<bool>, now: Moment) {
        self.set_suspended(false);
        let is_off = self.modes.bracketed_paste() == Some(false);
        self.look_at = is_off.then(|| (now + LOOKS_AFTER[0], 1));
        if before == Some(false) {
            // A text may have been held for it while nobody was told, since a person was attached.
            self.told_line = None;
        }
    }

    pub(super) fn look_for_suspension(&mut self, now: Moment) {
        let Some((at, looks)) = self.look_at else { return };
        if at > now {
            return;
        }
        let is_canonical = self.terminal.as_ref().is_some_and(|terminal| terminal.is_canonical());
        self.set_suspended(is_canonical && self.exit.is_none());
        let next = LOOKS_AFTER.get(usize::from(looks)).filter(|_| !is_canonical);
        self.look_at = next.map(|after| (now + *after, looks + 1));
    }

    fn set_suspended(&mut self, is_suspended: bool) {
        self.is_suspended = is_suspended;
        self.draft.unread(is_suspended || !self.is_drawn);
    }
}
