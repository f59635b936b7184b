//! What an exploration came to, in numbers.

use std::fmt;
use std::ops::AddAssign;

/// What an exploration without a violation saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    pub seeds: u64,
    pub steps: u64,
    pub sessions: u64,
    pub daemons: u64,
    pub reboots: u64,
    /// Texts that persons sent, those that were seen, and those that a killed session had unwritten.
    pub texts: u64,
    pub seen: u64,
    pub told_twice: u64,
    pub jobs: u64,
    /// Mails that were recorded, those that were seen, and how often one was typed behind another of its list.
    pub mails: u64,
    pub mails_seen: u64,
    pub mails_listed: u64,
    /// How often an agent rested, and a task woke one.
    pub rests: u64,
    pub woken: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} seeds, {} steps, {} sessions, {} daemons, {} reboots, {} texts sent, {} seen, \
             {} told twice after a kill, {} jobs, {} mails, {} of them seen, \
             {} typed behind another, {} rests, {} woken by a task",
            self.seeds,
            self.steps,
            self.sessions,
            self.daemons,
            self.reboots,
            self.texts,
            self.seen,
            self.told_twice,
            self.jobs,
            self.mails,
            self.mails_seen,
            self.mails_listed,
            self.rests,
            self.woken
        )
    }
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Summary) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.sessions += other.sessions;
        self.daemons += other.daemons;
        self.reboots += other.reboots;
        self.texts += other.texts;
        self.seen += other.seen;
        self.told_twice += other.told_twice;
        self.jobs += other.jobs;
        self.mails += other.mails;
        self.mails_seen += other.mails_seen;
        self.mails_listed += other.mails_listed;
        self.rests += other.rests;
        self.woken += other.woken;
    }
}
