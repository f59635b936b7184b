//! How slow and how unkind one simulated world is: spans and odds, drawn once from its seed.
//!
//! Each seed has some faults and not others: a world with all of them hides what one alone shows.

use std::ops::Range;

use crate::random::Random;

/// Spans in microseconds, odds in thousandths.
#[derive(Debug, Clone)]
pub struct Faults {
    /// From thread to thread, through a socket.
    pub hop_micros: Range<u64>,
    pub commit_micros: Range<u64>,
    /// From the order for a holder to its first instruction.
    pub holder_micros: Range<u64>,
    pub exec_micros: Range<u64>,
    /// To end what is left of a session.
    pub tree_micros: Range<u64>,
    /// A report that takes up to `late_micros`.
    pub late_odds: u64,
    pub late_micros: Range<u64>,
    pub duplicate_odds: u64,
    /// The first hook of a session reaches nobody.
    pub began_lost_odds: u64,
    /// A hook about the turn reaches nobody, or is overtaken by later ones.
    pub hook_lost_odds: u64,
    pub overtaken_odds: u64,
    /// A text that is pasted does not appear, Enter is not heard, or the line about a prompt is written
    /// only after the turn.
    pub no_echo_odds: u64,
    pub enter_swallowed_odds: u64,
    pub late_line_odds: u64,
    /// A turn does nothing at all.
    pub hang_odds: u64,
    /// A commit that fails though there is space.
    pub io_error_odds: u64,
    /// The daemon dies after any one of its outputs.
    pub crash_odds: u64,
    /// A commit under way at a crash reached the disk.
    pub written_odds: u64,
    /// A new session's claim does not survive a reboot.
    pub claim_lost_odds: u64,
    /// The group carries only some of what is queued.
    pub small_group_odds: u64,
    /// No answer comes of a snapshot …
    pub snapshot_lost_odds: u64,
    /// … or it takes longer than anybody waits.
    pub snapshot_late_odds: u64,
}

impl Faults {
    /// A kind world with fixed spans: for scripts.
    pub fn none() -> Faults {
        Faults {
            hop_micros: 100..101,
            commit_micros: 500..501,
            holder_micros: 2_000..2_001,
            exec_micros: 1_000..1_001,
            tree_micros: 3_000..3_001,
            late_odds: 0,
            late_micros: 0..1,
            duplicate_odds: 0,
            began_lost_odds: 0,
            hook_lost_odds: 0,
            overtaken_odds: 0,
            no_echo_odds: 0,
            enter_swallowed_odds: 0,
            late_line_odds: 0,
            hang_odds: 0,
            io_error_odds: 0,
            crash_odds: 0,
            written_odds: 0,
            claim_lost_odds: 0,
            small_group_odds: 0,
            snapshot_lost_odds: 0,
            snapshot_late_odds: 0,
        }
    }

    pub fn drawn(random: &mut Random) -> Faults {
        let mut sometimes = |odds: u64| if random.per_mille(400) { odds } else { 0 };
        let mut faults = Faults {
            late_odds: sometimes(100),
            duplicate_odds: sometimes(200),
            began_lost_odds: sometimes(200),
            hook_lost_odds: sometimes(100),
            overtaken_odds: sometimes(100),
            no_echo_odds: sometimes(200),
            enter_swallowed_odds: sometimes(200),
            late_line_odds: sometimes(400),
            io_error_odds: sometimes(60),
            crash_odds: sometimes(15),
            claim_lost_odds: sometimes(500),
            small_group_odds: sometimes(300),
            snapshot_lost_odds: sometimes(200),
            snapshot_late_odds: sometimes(300),
            written_odds: 500,
            late_micros: 0..30_000_000,
            ..Faults::none()
        };
        faults.hop_micros = 10..random.within(20..5_000);
        faults.commit_micros = 100..random.within(200..200_000);
        // A slow disk: everything piles up behind it.
        if random.per_mille(100) {
            faults.commit_micros = 100_000..10_000_000;
        }
        faults.holder_micros = 500..random.within(1_000..3_000_000);
        faults.exec_micros = 100..random.within(200..500_000);
        faults.tree_micros = 100..random.within(200..500_000);
        faults
    }

    /// From now on nothing goes wrong; what is slow stays slow.
    pub fn cease(&mut self) {
        *self = Faults {
            hop_micros: self.hop_micros.clone(),
            commit_micros: 100..1_000,
            holder_micros: self.holder_micros.clone(),
            exec_micros: self.exec_micros.clone(),
            tree_micros: self.tree_micros.clone(),
            ..Faults::none()
        };
    }
}
