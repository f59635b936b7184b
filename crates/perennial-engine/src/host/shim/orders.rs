//! What the daemon orders, and what it is told.
//!
//! Invariant
//! - W2  An order about another session than the newest changes nothing.

use std::time::Duration;

use perennial_core::id::SessionNumber;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::Signal;

use super::super::cgroup::Cgroup;
use super::super::directory::{HolderDirectory, ProcessFile};
use super::super::monotonic::now;
use super::super::process;
use super::super::protocol::{
    ExitRecord, Order, PaceRecord, Refused, SessionRecord, ShimReport, ShimSay, StartOrder,
};
use super::announcements::Announcements;
use super::greeting::IssuedTicket;
use super::job::Job;
use super::recorder::Recorder;
use super::session::{Session, Waits};
use super::spawn::{self, Marks, Stdio};
use super::terminal::Terminal;
use super::{ANSWER_WITHIN, Shim, TERMINAL};

impl Shim {
    pub(super) fn obey(&mut self, order: Order) {
        match order {
            Order::Start(order) => self.on_start(*order),
            Order::End { number, pace, interrupt_ms, term_ms, hang_up } => {
                let [interrupt, term] = [interrupt_ms, term_ms].map(Duration::from_millis);
                self.on_end(number, pace, Waits { interrupt, term, hangs_up: hang_up });
            }
            Order::Tell { number } => self.on_tell(number),
            Order::KillSignal { number, signal } => {
                // Only named kill signals: the rest belong to libc.
                if let (Some(session), Some(signal)) =
                    (self.session_numbered(number), Signal::from_named_raw(signal))
                {
                    session.signal_main(signal);
                }
            }
            Order::Send { number, request, bytes } => {
                let refused = self.send(number, &bytes).err();
                self.report(&ShimReport::Answer { request, refused });
            }
            Order::Resize { number, size } => {
                if let Some(terminal) =
                    self.session_numbered(number).and_then(|session| session.terminal.as_mut())
                {
                    terminal.resize(size);
                }
            }
            Order::Focus { number, focus } => {
                if let Some(session) = self.session_numbered(number) {
                    session.draft.focus(focus);
                    self.on_focus();
                }
            }
            Order::Deliver(order) => self.on_deliver(order),
            Order::Heard { number } => {
                if let Some(session) = self.session_numbered(number) {
                    session.heard();
                }
            }
            Order::Continue { number } => {
                let running = self.session_numbered(number).filter(|s| s.exit.is_none());
                if let Some(session) = running {
                    session.signal_foreground(Signal::CONT);
                }
            }
            Order::Ticket { number, request, token, mode, ttl_ms } => {
                let refused = match self.session_numbered(number) {
                    Some(_) => {
                        let until = now() + Duration::from_millis(ttl_ms);
                        self.add_ticket(IssuedTicket { token, mode, until });
                        None
                    }
                    None => Some(Refused::Stale),
                };
                self.report(&ShimReport::Answer { request, refused });
            }
            Order::Release { number } => {
                if let Some(session) = self.session_numbered(number) {
                    // The acknowledgement of its end; a session that runs is not let go.
                    if session.told_exit().is_some() {
                        session.is_recorded = true;
                        self.is_released = true;
                    }
                } else if self.session.is_none() && self.queued.is_none() {
                    self.is_released = true;
                }
            }
            Order::Unknown => {}
        }
    }

    fn on_end(&mut self, number: u32, pace: PaceRecord, waits: Waits) {
        if self.queued.as_ref().is_some_and(|queued| queued.number == number) {
            self.queued = None;
            let why = "asked to end before it began".to_owned();
            self.report_exit(number, ExitRecord::NotStarted(why));
            return;
        }
        match self.session_numbered(number) {
            Some(session) if session.told_exit().is_some() => self.tell_exit_again(),
            Some(session) => {
                session.end(pace, waits, now());
                // Over at once if it still waited for its viewer.
                self.tell_exit();
            }
            None => {}
        }
    }

    fn on_tell(&mut self, number: u32) {
        let is_queued = self.queued.as_ref().is_some_and(|queued| queued.number == number);
        if self.session_numbered(number).is_some() {
            self.tell_session();
        } else if !is_queued {
            self.tell_other(SessionNumber(number));
        }
    }

    pub(super) fn session_numbered(&mut self, number: u32) -> Option<&mut Session> {
        self.session.as_mut().filter(|session| session.number.0 == number)
    }

    fn on_start(&mut self, order: StartOrder) {
        self.is_released = false;
        let Some(session) = &mut self.session else {
            self.start(&order);
            return;
        };
        if order.number == session.number.0 {
            self.tell_session();
        } else if order.number < session.number.0 {
            self.tell_other(SessionNumber(order.number));
        } else if session.told_exit().is_none() {
            let why = format!("session {} has not ended", session.number);
            self.report_exit(order.number, ExitRecord::NotStarted(why));
        } else {
            // Whoever orders the next session knows how this one ended.
            session.is_recorded = true;
            if session.is_gone {
                self.start(&order);
            } else {
                self.queued = Some(order);
            }
        }
    }

    /// Claims the number and runs the program; whatever comes of it is reported.
    pub(super) fn start(&mut self, order: &StartOrder) {
        let number = SessionNumber(order.number);
        match self.directory.claim(number) {
            Ok(true) => {}
            Ok(false) => {
                self.tell_other(number);
                return;
            }
            Err(error) => {
                let why = format!("can't create its directory: {error}");
                self.report_exit(order.number, ExitRecord::NotStarted(why));
                return;
            }
        }
        let dir = self.directory.session(number);
        let mut session =
            Session::new(number, Recorder::new(dir, order.record_limit), order.input.clone());
        session.hangs_up = order.hangs_up.unwrap_or(order.input.is_none());
        session.announcements = Announcements::new(order.announcements.clone());
        if let Some(terms) = order.viewer {
            let until = now() + Duration::from_millis(terms.wait_ms);
            session.awaits_viewer = Some(Box::new((order.clone(), until)));
            self.session = Some(session);
        } else {
            self.run_program(session, order);
            self.say_to_viewers(&ShimSay::Session { number: order.number });
        }
    }

    /// Runs the program that waits for its first viewer; whether there was one.
    pub(super) fn begin_awaited(&mut self) -> bool {
        let Some(order) = self.session.as_mut().and_then(|s| s.awaits_viewer.take()) else {
            return false;
        };
        if let Some(session) = self.session.take() {
            self.run_program(session, &order.0);
        }
        true
    }

    fn run_program(&mut self, mut session: Session, order: &StartOrder) {
        if let Err(why) = self.execute(&mut session, order) {
            session.fail(why);
        }
        self.session = Some(session);
        self.watch_output();
        self.tell_session();
        self.write_process();
        if let Some(session) = &mut self.session {
            session.recorder.begin();
        }
    }

    fn execute(&self, session: &mut Session, order: &StartOrder) -> Result<(), String> {
        match order.job {
            Some(terms) => {
                let job = Job::new(terms, now()).map_err(|error| format!("no pipe: {error}"))?;
                session.job = Some(job);
            }
            None => {
                // Whoever is attached stays so, and has the size.
                let size = self.attached_size().unwrap_or(order.size);
                let echoes = order.viewer.is_none_or(|terms| terms.echoes);
                let terminal = Terminal::open(size, echoes);
                session.terminal = Some(terminal.map_err(|error| format!("no terminal: {error}"))?);
            }
        }
        let stdio = match (&session.terminal, &session.job) {
            (Some(terminal), _) => terminal.slave().map(Stdio::Terminal),
            (None, Some(job)) => job.writer().map(Stdio::Output),
            (None, None) => None,
        };
        let stdio = stdio.ok_or("nothing to print to")?;
        // Without a cgroup, whatever the reason, the tree is ended by peeling.
        session.cgroup = order.cgroup.as_ref().and_then(|path| Cgroup::create(path.into()).ok());
        let holder = std::env::current_dir().map_err(|error| format!("no directory: {error}"))?;
        let session_dir = HolderDirectory::at(holder).session(session.number);
        let marks = Marks {
            owner: self.owner,
            number: session.number,
            home: self.home.as_deref(),
            session_dir: &session_dir,
        };
        let cgroup = session.cgroup.as_ref();
        let (pid, is_inside) = spawn::start(order, self.directory.path(), marks, stdio, cgroup)
            .map_err(|error| error.to_string())?;
        if let Some(cgroup) = session.cgroup.take_if(|_| !is_inside) {
            let _busy = cgroup.remove();
        }
        // Our child, not yet reaped: its record is there even if it has ended.
        session.process = process::stat(pid).map(|stat| stat.process);
        Ok(())
    }

    fn watch_output(&self) {
        if let Some(output) = self.session.as_ref().and_then(Session::output) {
            let data = EventData::new_u64(TERMINAL);
            let _full = epoll::add(&self.epoll, output, data, EventFlags::IN);
        }
    }

    /// For a daemon that finds the directory later without this shim.
    fn write_process(&self) {
        let Some(session) = &self.session else { return };
        let Some(process) = session.process else { return };
        let cgroup = session.cgroup.as_ref().map(|cgroup| cgroup.path().display().to_string());
        let file = ProcessFile { process: process.into(), boot_id: self.boot_id.clone(), cgroup };
        // A full disk costs the reader its boot check, nothing else.
        let _unwritten = self.directory.write_process(session.number, &file);
    }

    fn send(&mut self, number: u32, bytes: &[u8]) -> Result<(), Refused> {
        let session = self.session_numbered(number).ok_or(Refused::Stale)?;
        if session.exit.is_some() {
            return Err(Refused::Stale);
        }
        if session.draft.is_in_dialog() {
            return Err(Refused::Dialog);
        }
        if session.draft.is_kept() {
            return Err(Refused::Draft);
        }
        let terminal = session.terminal.as_mut().ok_or(Refused::Stale)?;
        let is_taken = terminal.input(bytes);
        self.watch_input();
        if is_taken { Ok(()) } else { Err(Refused::Full) }
    }

    /// Reports what is known of the session: that it runs, or how it ended.
    fn tell_session(&mut self) {
        let Some(session) = &self.session else { return };
        if let Some(process) = session.process {
            let cgroup = session.cgroup.as_ref().and_then(Cgroup::id);
            let number = session.number.0;
            self.report(&ShimReport::Executed { number, process: process.into(), cgroup });
        }
        self.tell_exit_again();
    }

    /// Tells an end that may be told, once.
    pub(super) fn tell_exit(&mut self) {
        if self.session.as_ref().is_some_and(|session| session.answer_by.is_none()) {
            self.tell_exit_again();
        }
    }

    fn tell_exit_again(&mut self) {
        let Some(session) = &mut self.session else { return };
        let Some(exit) = session.told_exit().cloned() else { return };
        session.answer_by = Some(now() + ANSWER_WITHIN);
        let number = session.number.0;
        self.report_exit(number, exit);
    }

    /// What the disk knows of a session that is not ours: its end, or that somebody has it.
    fn tell_other(&mut self, number: SessionNumber) {
        match self.directory.read_exit(number) {
            Some(exit) => self.report_exit(number.0, exit),
            None => self.report(&ShimReport::NotMine { number: number.0 }),
        }
    }

    fn report_exit(&mut self, number: u32, exit: ExitRecord) {
        self.report(&ShimReport::Exited { number, exit });
    }

    pub(super) fn report(&mut self, report: &ShimReport) {
        if let Some(daemon) = self.peers.iter_mut().find(|peer| peer.is_daemon()) {
            daemon.say(report);
        }
    }

    pub(super) fn session_record(&self) -> Option<SessionRecord> {
        self.session.as_ref().map(|session| SessionRecord {
            number: session.number.0,
            process: session.process.map(Into::into),
            cgroup: session.cgroup.as_ref().and_then(Cgroup::id),
            exit: session.told_exit().cloned(),
        })
    }
}
