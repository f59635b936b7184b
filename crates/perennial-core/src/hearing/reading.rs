//! When a conversation's transcript counts as read to its end.
//!
//! Reading it is the shell's; what may be concluded from a look is said here.

use std::time::Duration;

/// An agent CLI speaks before it has written everything down: its transcript is read again after this, until
/// nothing has been added.
pub const READ_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A conversation that its session has left is read on for this long, as long as it grows.
pub const READ_LEFT_FOR: Duration = Duration::from_secs(10);

/// A compaction that was announced is looked for this long. A model takes its time for a summary, and not every agent CLI
/// tells when it is there.
pub const READ_COMPACTION_FOR: Duration = Duration::from_secs(300);

/// Whether a transcript to which nothing was added since the last look counts as read to its end. A live
/// session may not have begun its file yet; one that is gone writes nothing more.
pub fn is_settled(has_transcript: bool, is_session_alive: bool) -> bool {
    has_transcript || !is_session_alive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_live_session_without_a_transcript_may_still_write_what_was_not_read() {
        let cases = [(true, true), (true, false), (false, true), (false, false)];
        let settled = cases.map(|(has_transcript, is_alive)| is_settled(has_transcript, is_alive));
        assert_eq!(settled, [true, true, false, true]);
    }
}
