//! The session that a shim holds: its process tree from exec to the last process.
//!
//! Told what happened by the shim's loop; reports nothing itself.
//!
//! Invariants
//! - HS3  `is_gone` only after the kernel said that no child is left.
//! - S1  The exit is set once, from the wait status of the main process.
//! - J3  The end of a job is told only when no process of it is left.

use std::os::fd::OwnedFd;
use std::time::Duration;

use perennial_core::id::SessionNumber;
use perennial_core::session::Process;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::super::announcement::Announced;
use super::super::cgroup::Cgroup;
use super::super::delivery::{InputRules, LineReport};
use super::super::monotonic::Moment;
use super::super::process;
use super::super::protocol::{ExitRecord, PaceRecord, StartOrder};
use super::announcements::Announcements;
use super::delivered::Delivered;
use super::delivery::Delivery;
use super::draft::Draft;
use super::enter_again::Unconfirmed;
use super::hint::Hint;
use super::job::Job;
use super::modes::Modes;
use super::queries::Queries;
use super::recorder::Recorder;
use super::terminal::Terminal;
use super::withheld::Withheld;

/// Who handles an interrupt has this long before a hang-up.
const HANG_UP_AFTER: Duration = Duration::from_millis(100);
/// How soon a tree that does not vanish is killed again; a child's end is the usual prompt.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Session {
    pub number: SessionNumber,
    /// `None` if it never ran.
    pub process: Option<Process>,
    pub cgroup: Option<Cgroup>,
    pub terminal: Option<Terminal>,
    /// What a run of a job has instead of a terminal.
    pub job: Option<Job>,
    pub recorder: Recorder,
    pub queries: Queries,
    pub exit: Option<ExitRecord>,
    /// Not begun: what to run once somebody looks, and when it begins without.
    pub awaits_viewer: Option<Box<(StartOrder, Moment)>>,
    /// Set once it was asked to end; the end is then told when the whole tree is gone.
    pub ladder: Option<Ladder>,
    kill_again_at: Option<Moment>,
    /// No process of it is left.
    pub is_gone: bool,
    /// The daemon was told of the end, and by when it should have answered.
    pub answer_by: Option<Moment>,
    /// The end is on record: acknowledged, or in the exit file.
    pub is_recorded: bool,
    /// What its input line is like; nothing is known of a bare command's.
    pub rules: Option<InputRules>,
    /// Whoever ignores TERM is hung up on when the shim itself is told to end.
    pub hangs_up: bool,
    pub draft: Draft,
    /// When a person's terminal last sent anything.
    pub typed_at: Option<Moment>,
    /// A person's keys that wait for a delivery.
    pub withheld: Withheld,
    pub modes: Modes,
    pub hint: Hint,
    /// The program has drawn its input line once.
    pub is_drawn: bool,
    /// Keys were typed before that, none since, and whether they are in the line is not known.
    pub has_early_keys: bool,
    pub is_suspended: bool,
    /// The kernel says that a kill signal has stopped the main process.
    pub is_stopped: bool,
    /// The program turned something off: when to look whether it was suspended, and how often yet.
    pub look_at: Option<(Moment, u8)>,
    /// Enter was typed behind our text, and the program has not shown yet that it took it.
    pub is_entered: bool,
    /// That Enter, while it may be pressed again.
    pub unconfirmed: Option<Box<Unconfirmed>>,
    /// How many keys erase what was pasted and not taken.
    pub erase_keys: u32,
    /// A text was held because the caret was not where an empty line has it.
    pub awaits_caret: bool,
    /// Under way.
    pub delivery: Option<Box<Delivery>>,
    /// Those that were carried out.
    pub delivered: Delivered,
    /// What the present daemon was told of the line.
    pub told_line: Option<LineReport>,
    pub announcements: Announcements,
    /// What the present daemon was told that the program announces.
    pub told_announced: Option<Announced>,
}

/// How long a session that is asked to end has, and how it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// From the interrupt to TERM; none: it begins with TERM.
    pub interrupt: Duration,
    /// From TERM to KILL.
    pub term: Duration,
    /// Whoever ignores TERM is hung up on meanwhile.
    pub hangs_up: bool,
}

/// How far the asking to end has come.
#[derive(Debug, Clone, Copy)]
pub struct Ladder {
    next: StopStep,
    at: Moment,
    term_at: Moment,
    term: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopStep {
    HangUp,
    Term,
    Kill,
    Killed,
}

impl Session {
    pub fn new(number: SessionNumber, recorder: Recorder, rules: Option<InputRules>) -> Session {
        let modes = rules.as_ref().map(Modes::of).unwrap_or_default();
        let hint = rules.as_ref().map(Hint::of).unwrap_or_default();
        Session {
            number,
            process: None,
            cgroup: None,
            terminal: None,
            job: None,
            recorder,
            queries: Queries::default(),
            exit: None,
            awaits_viewer: None,
            ladder: None,
            kill_again_at: None,
            is_gone: false,
            answer_by: None,
            is_recorded: false,
            draft: rules.as_ref().map_or_else(Draft::bare, Draft::with),
            rules,
            hangs_up: false,
            typed_at: None,
            withheld: Withheld::default(),
            modes,
            hint,
            is_drawn: false,
            has_early_keys: false,
            is_suspended: false,
            is_stopped: false,
            look_at: None,
            is_entered: false,
            unconfirmed: None,
            erase_keys: 0,
            awaits_caret: false,
            delivery: None,
            delivered: Delivered::default(),
            told_line: None,
            announcements: Announcements::default(),
            told_announced: None,
        }
    }

    /// It never ran: over before it began.
    pub fn fail(&mut self, why: String) {
        self.exit = Some(ExitRecord::NotStarted(why));
        self.close_output();
        self.is_gone = true;
        self.remove_cgroup();
    }

    /// The main process ended.
    pub fn exited(&mut self, exit: ExitRecord) {
        let is_over_limit = self.job.as_ref().is_some_and(|job| job.is_over_limit);
        self.exit = Some(if is_over_limit { ExitRecord::Limit } else { exit });
    }

    /// The end, as soon as it may be told: at once, or when the tree is gone if it was asked for or is
    /// a job's.
    pub fn told_exit(&self) -> Option<&ExitRecord> {
        let is_at_once = self.ladder.is_none() && self.job.is_none();
        self.exit.as_ref().filter(|_| is_at_once || self.is_gone)
    }

    /// All that it printed has been read, or nothing of it ever will be.
    pub fn close_output(&mut self) {
        self.terminal = None;
        if let Some(job) = &mut self.job {
            job.close_writer();
            job.output = None;
        }
    }

    /// Where what it prints is read.
    pub fn output(&self) -> Option<&OwnedFd> {
        let pipe = self.job.as_ref().and_then(|job| job.output.as_ref());
        self.terminal.as_ref().map(|terminal| &terminal.master).or(pipe)
    }

    pub fn is_main(&self, pid: i32) -> bool {
        self.exit.is_none() && self.process.is_some_and(|process| process.pid == pid)
    }

    /// Asks it to end. Asking again only ever hurries.
    pub fn end(&mut self, pace: PaceRecord, waits: Waits, now: Moment) {
        if self.exit.is_some() {
            // Over already: its tree is being killed, and the end is told as it was.
            return;
        }
        if self.awaits_viewer.take().is_some() {
            self.fail("asked to end before it began".to_owned());
            return;
        }
        let Waits { interrupt, term, hangs_up } = waits;
        let term_at = now + interrupt;
        match (pace, self.ladder) {
            (PaceRecord::Graceful, Some(_)) => {}
            (PaceRecord::Graceful, None) => {
                let (next, at) = match hangs_up {
                    true => (StopStep::HangUp, term_at.min(now + HANG_UP_AFTER)),
                    false => (StopStep::Term, term_at),
                };
                self.ladder = Some(Ladder { next, at, term_at, term });
                match interrupt {
                    Duration::ZERO => self.tick(now),
                    _ => self.signal_foreground(Signal::INT),
                }
                self.continue_main();
            }
            (PaceRecord::AtOnce, _) => {
                self.ladder = Some(Ladder { next: StopStep::Kill, at: now, term_at, term });
                self.tick(now);
            }
        }
    }

    /// A program that a kill signal has stopped would not see that it is asked to end.
    fn continue_main(&self) {
        let main = self.main_pid().and_then(process::stat);
        if main.is_some_and(|stat| stat.stopped) {
            self.signal_foreground(Signal::CONT);
        }
    }

    /// What the end of a terminal is, for whoever on it ignores TERM, as interactive shells do: they end
    /// at that, and hand it on to their jobs.
    fn hang_up(&self) {
        let Some(main) = self.main_pid().filter(|_| self.exit.is_none()) else { return };
        for stat in process::pids().filter_map(process::stat) {
            let pid = stat.process.pid;
            if stat.kernel_session == main && process::ignores(pid, Signal::TERM) {
                process::signal_exactly(stat.process, &[Signal::HUP, Signal::CONT]);
            }
        }
    }

    /// A kill signal to the main process, which is our child until its exit is known.
    pub fn signal_main(&self, signal: Signal) {
        let pid = self.process.filter(|_| self.exit.is_none()).and_then(|p| Pid::from_raw(p.pid));
        if let Some(pid) = pid {
            let _gone = kill_process(pid, signal);
        }
    }

    /// To whom the interrupt key would go, else to the main process.
    pub fn signal_foreground(&self, signal: Signal) {
        let group = self.terminal.as_ref().and_then(Terminal::foreground);
        // A shell in the foreground may ignore it, and a job may have the terminal: both get it.
        match group.filter(|group| Some(group.as_raw_nonzero().get()) != self.main_pid()) {
            Some(group) => {
                let _gone = kill_process_group(group, signal);
                self.signal_main(signal);
            }
            None => match self.main_pid().and_then(Pid::from_raw) {
                Some(main) if self.exit.is_none() => {
                    let _gone = kill_process_group(main, signal);
                }
                Some(_) | None => {}
            },
        }
    }

    fn main_pid(&self) -> Option<i32> {
        self.process.map(|process| process.pid)
    }

    /// KILL to all that is left. Killed parents hand their children up to us; called again until
    /// the kernel says that there are none.
    pub fn kill_tree(&mut self, now: Moment) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        for pid in children() {
            // A direct child's pid is not reused before we reap it.
            let _gone = kill_process(pid, Signal::KILL);
        }
        self.kill_again_at = Some(now + KILL_AGAIN_AFTER);
    }

    /// The kernel says that no child is left.
    pub fn gone(&mut self) {
        self.is_gone = true;
        self.kill_again_at = None;
        self.remove_cgroup();
    }

    fn remove_cgroup(&mut self) {
        if let Some(cgroup) = self.cgroup.take() {
            let _busy = cgroup.remove();
        }
    }

    pub fn next_deadline(&self) -> Option<Moment> {
        let ladder = self.ladder.filter(|ladder| ladder.next != StopStep::Killed && !self.is_gone);
        let unrecorded = self.answer_by.filter(|_| !self.is_recorded);
        let ladder = ladder.map(|ladder| ladder.at);
        let delivery = self.delivery.as_ref().map(|delivery| delivery.by());
        let look = self.look_at.map(|(at, _)| at);
        let again = self.unconfirmed.as_ref().map(|entered| entered.look_at);
        let keys = self.withheld.next_at();
        let viewer = self.awaits_viewer.as_ref().map(|awaited| awaited.1);
        [
            ladder,
            viewer,
            self.limit_at(),
            self.kill_again_at,
            unrecorded,
            delivery,
            look,
            keys,
            again,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// When a job that runs, and that nobody has asked to end, is over its limit.
    fn limit_at(&self) -> Option<Moment> {
        let is_open = self.exit.is_none() && self.ladder.is_none();
        self.job.as_ref().filter(|_| is_open).map(|job| job.limit_at)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Moment) {
        if self.is_gone {
            return;
        }
        if self.limit_at().is_some_and(|at| at <= now)
            && let Some(job) = &mut self.job
        {
            job.is_over_limit = true;
            let term = job.term;
            self.ladder = Some(Ladder { next: StopStep::Term, at: now, term_at: now, term });
        }
        if let Some(ladder) = self.ladder.filter(|ladder| ladder.at <= now) {
            let (next, at) = match ladder.next {
                StopStep::HangUp => {
                    self.hang_up();
                    (StopStep::Term, ladder.term_at)
                }
                StopStep::Term => {
                    self.signal_foreground(Signal::TERM);
                    (StopStep::Kill, now + ladder.term)
                }
                StopStep::Kill => {
                    self.kill_tree(now);
                    (StopStep::Killed, ladder.at)
                }
                StopStep::Killed => (StopStep::Killed, ladder.at),
            };
            self.ladder = Some(Ladder { next, at, ..ladder });
        }
        if self.kill_again_at.is_some_and(|at| at <= now) {
            self.kill_tree(now);
        }
    }
}

/// Our direct children now. The list may be a little old; the caller asks again until none is left.
fn children() -> Vec<Pid> {
    let text = std::fs::read("/proc/thread-self/children").unwrap_or_default();
    text.split(|byte| *byte == b' ')
        .filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok().and_then(Pid::from_raw))
        .collect()
}
