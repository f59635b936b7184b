//! The shim: the small process that holds one agent's session, or one job, and outlives the daemon.
//!
//! `perennial shim DIRECTORY`: one thread, one epoll, no runtime. It is the parent of the session's
//! program, the subreaper of its tree, the owner of its terminal, recording and exit. It decides
//! nothing: the daemon orders, and without one the shim carries on with what was ordered.
//!
//! Invariants
//! - HS1, HS2, HS3 of the host.
//! - M1  Nothing here blocks on a peer or on the session; a disk may block it for one write.
//! - M2  An exit is acknowledged by the next order, or in the exit file before this process goes.
//! - M3  Without a daemon, a child and its directory, it ends.
//! - D1 to D5 of a person's draft, L1 to L6 of a delivery.

mod announcements;
mod delivered;
mod delivery;
mod draft;
pub mod early;
mod echo;
mod enter_again;
mod greeting;
mod hint;
mod job;
mod modes;
mod orders;
mod peer;
mod queries;
mod recorder;
mod session;
mod spawn;
mod suspension;
mod terminal;
mod viewers;
mod withheld;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::session::Process;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::{
    DumpableBehavior, WaitId, WaitIdOptions, WaitOptions, getpid, set_child_subreaper,
    set_dumpable_behavior, setsid, wait, waitid,
};

use super::connection::Connection;
use super::directory::{HolderDirectory, SOCKET};
use super::monotonic::{Moment, now, wait_until};
use super::owner::Owner;
use super::protocol::{ExitRecord, PaceRecord, ShimSay, StartOrder};
use super::{process, socket};
use greeting::IssuedTicket;
use peer::{Kind, Peer};
use session::{Session, Waits};

const SIGNALS: u64 = 0;
const LISTENER: u64 = 1;
const TERMINAL: u64 = 2;
/// Peers are numbered from here.
const FIRST_PEER: u64 = 3;

/// A pseudo-terminal hands out at most this much at a time.
const READ_BYTES: usize = 4096;
/// Reads in one turn, so that a flood does not keep orders waiting.
const READS_PER_TURN: usize = 16;
/// Without the daemon's answer in this time the exit is written to disk.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// A disk that is full is tried again.
const RECORD_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often a shim without a daemon looks whether it is still of use.
const LOOK_AROUND_AFTER: Duration = Duration::from_secs(10);
/// What SIGTERM to the shim itself means for its session.
const OWN_LADDER: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5));

/// Kill signals that the shim ignores and its children must not.
pub(super) const IGNORED: [i32; 2] = [libc::SIGHUP, libc::SIGPIPE];

/// Why a shim can't begin.
#[derive(Debug, thiserror::Error)]
enum BeginError {
    #[error("the directory's name is no id of an agent or a job")]
    Name,
    #[error("another shim holds this directory")]
    Held,
    #[error("its own process can't be read")]
    Self_,
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Runs as the shim of this holder directory; never returns.
pub fn main(dir: &Path) -> ! {
    let code = match Shim::begin(dir) {
        Ok(mut shim) => {
            shim.run();
            0
        }
        Err(error) => {
            greeting::refuse_inherited(&error.to_string());
            1
        }
    };
    // SAFETY: ends the process without running the destructors of a std that never started.
    unsafe { libc::_exit(code) }
}

#[derive(Debug)]
struct Shim {
    directory: HolderDirectory,
    owner: Owner,
    home: Option<OsString>,
    boot_id: String,
    me: Process,
    epoll: OwnedFd,
    signals: OwnedFd,
    listener: OwnedFd,
    peers: Vec<Peer>,
    next_peer: u64,
    /// The newest daemon that was obeyed.
    epoch: u64,
    session: Option<Session>,
    /// Ordered, and waiting for the old tree to go.
    queued: Option<StartOrder>,
    tickets: Vec<IssuedTicket>,
    /// The daemon needs this shim no more.
    is_released: bool,
    buffer: Vec<u8>,
    _lock: OwnedFd,
}

impl Shim {
    fn begin(dir: &Path) -> Result<Shim, BeginError> {
        let name = dir.file_name().and_then(|name| name.to_str());
        let owner = name.and_then(|name| name.parse().ok()).ok_or(BeginError::Name)?;
        // Whatever the daemon may have left open is not for sessions.
        // SAFETY: nothing in this process knows a descriptor beyond the standard three yet.
        unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
        // Fails in a process that leads its session already: then it is as it should be.
        let _leader = setsid();
        set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
        let signals = take_signals()?;
        // By its place in the tree and not by its name: a home may be moved, and another one put there.
        rustix::process::chdir(dir).map_err(io::Error::from)?;
        let directory = HolderDirectory::at(PathBuf::from("."));
        let lock = directory.lock()?.ok_or(BeginError::Held)?;
        let listener = {
            let dir = std::fs::File::open(directory.path())?;
            socket::listen_at(&dir, SOCKET)?
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let mut shim = Shim {
            owner,
            home: std::env::var_os("PERENNIAL_HOME"),
            boot_id: process::boot_id()?.0,
            me: process::this_process().ok_or(BeginError::Self_)?,
            directory,
            epoll,
            signals,
            listener,
            peers: Vec::new(),
            next_peer: FIRST_PEER,
            epoch: 0,
            session: None,
            queued: None,
            tickets: Vec::new(),
            is_released: false,
            buffer: vec![0; READ_BYTES],
            _lock: lock,
        };
        shim.watch_own(SIGNALS)?;
        shim.watch_own(LISTENER)?;
        if let Some(daemon) = inherited_socket() {
            shim.add_peer(daemon, true);
        }
        Ok(shim)
    }

    fn watch_own(&self, token: u64) -> io::Result<()> {
        let fd = if token == SIGNALS { &self.signals } else { &self.listener };
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), EventFlags::IN)?)
    }

    fn run(&mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(8);
        while !self.is_done() && !self.is_abandoned() {
            events.clear();
            let wait = wait_until(self.next_deadline(), now());
            let ready = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, ready, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
            for event in &events {
                let (token, flags) = (event.data.u64(), event.flags);
                match token {
                    SIGNALS => self.on_signals(),
                    LISTENER => self.on_connection(),
                    TERMINAL => self.on_terminal(flags),
                    peer => self.on_peer(peer, flags),
                }
            }
            self.tick(now());
        }
        self.leave();
    }

    fn next_deadline(&self) -> Option<Moment> {
        let peers = self.peers.iter().filter_map(Peer::deadline);
        let look = (!self.has_daemon()).then(|| now() + LOOK_AROUND_AFTER);
        self.session.iter().filter_map(Session::next_deadline).chain(peers).chain(look).min()
    }

    /// M3: no daemon, no child and no directory: nobody will ever ask, and there is nothing to hold or to tell.
    fn is_abandoned(&self) -> bool {
        let is_removed = || rustix::fs::stat(".").is_ok_and(|dir| dir.st_nlink == 0);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let is_childless = || matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD));
        !self.has_daemon() && is_removed() && is_childless()
    }

    /// Does what is due, and tidies up what this turn left.
    fn tick(&mut self, now: Moment) {
        if let Some(session) = &mut self.session {
            session.tick(now);
        }
        let is_alone = |(_, until): &(StartOrder, Moment)| *until <= now;
        if self.session.as_ref().and_then(|s| s.awaits_viewer.as_deref()).is_some_and(is_alone) {
            self.begin_awaited();
        }
        self.on_line_time(now);
        self.release_keys(now);
        for peer in &mut self.peers {
            peer.is_gone |= peer.deadline().is_some_and(|by| by <= now);
        }
        self.remove_peers();
        self.record_exit(now);
        self.tell_line();
        self.tell_announced();
    }

    /// M2: an end that nobody acknowledged in time, or that nobody is there to hear, goes to disk.
    fn record_exit(&mut self, now: Moment) {
        let has_daemon = self.has_daemon();
        let Some(session) = &mut self.session else { return };
        let Some(exit) = session.told_exit().filter(|_| !session.is_recorded) else { return };
        let late = session.answer_by.is_some_and(|by| by <= now);
        if has_daemon && !late {
            return;
        }
        match self.directory.write_exit(session.number, exit) {
            Ok(()) => session.is_recorded = true,
            // Its directory was removed, and nobody listens: there is no one left to record it for.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !has_daemon => {
                session.is_recorded = true;
            }
            Err(_) => session.answer_by = Some(now + RECORD_AGAIN_AFTER),
        }
    }

    fn has_daemon(&self) -> bool {
        self.peers.iter().any(|peer| match peer.kind {
            Kind::Daemon | Kind::Greeting { inherited: true, .. } => !peer.is_gone,
            Kind::Greeting { inherited: false, .. } | Kind::Viewer(_) => false,
        })
    }

    /// Nothing is left to hold: the session's end is on record, and no next one was ordered. A job has
    /// no next session that a daemon would want to begin in place.
    fn is_done(&self) -> bool {
        let is_over = self
            .session
            .as_ref()
            .is_none_or(|session| session.is_gone && session.exit.is_some() && session.is_recorded);
        is_over
            && self.queued.is_none()
            && (self.is_released || !self.has_daemon() || self.has_job())
    }

    fn has_job(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.job.is_some())
    }

    fn leave(&mut self) {
        self.directory.remove_socket();
        let exit = self.session.as_ref().and_then(|session| session.exit.clone());
        for index in 0..self.peers.len() {
            self.feed(index);
            if self.peers[index].viewer().is_some() {
                self.peers[index].say(&ShimSay::Ended { exit: exit.clone() });
            }
            linger(&self.peers[index].connection);
        }
    }

    fn on_signals(&mut self) {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let mut asked_to_end = false;
        while let Ok(count) = rustix::io::read(&self.signals, &mut info) {
            let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            asked_to_end |= count > 0 && number.cast_signed() != libc::SIGCHLD;
        }
        if asked_to_end {
            // Somebody shuts this machine or this user down: the session gets its chance.
            self.queued = None;
            if let Some(session) = &mut self.session {
                let (interrupt, term) = OWN_LADDER;
                let hangs_up = session.hangs_up;
                session.end(PaceRecord::Graceful, Waits { interrupt, term, hangs_up }, now());
            }
            self.tell_exit();
        }
        self.reap();
    }

    /// Waits for every child that ended: the main process, and orphans of its tree.
    fn reap(&mut self) {
        loop {
            let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
            let reaped = match wait(options) {
                Ok(Some((pid, status))) => (pid.as_raw_nonzero().get(), status),
                Ok(None) => {
                    self.kill_what_is_left();
                    return;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => {
                    self.on_tree_gone();
                    return;
                }
            };
            let Some(session) = &mut self.session else { continue };
            if session.is_main(reaped.0) {
                let exit = match (reaped.1.exit_status(), reaped.1.terminating_signal()) {
                    (Some(code), _) => ExitRecord::Code(code),
                    (None, Some(signal)) => ExitRecord::Signal(signal),
                    (None, None) => {
                        session.is_stopped = reaped.1.stopped();
                        continue;
                    }
                };
                session.exited(exit);
                self.give_up_delivery();
                self.tell_exit();
            }
        }
    }

    fn kill_what_is_left(&mut self) {
        if let Some(session) = &mut self.session {
            let was_killed = session.exit.is_some() && !session.is_gone;
            if was_killed {
                session.kill_tree(now());
            }
        }
    }

    /// HS3: no process of the session is left; its last output is read, and what was queued begins.
    fn on_tree_gone(&mut self) {
        let Some(session) = &mut self.session else { return };
        if session.exit.is_none() || session.is_gone {
            return;
        }
        session.gone();
        let number = session.number;
        self.drain_output();
        self.tell_exit();
        self.directory.remove_process(number);
        if let Some(order) = self.queued.take() {
            self.start(&order);
        }
    }
}

/// Blocks what the loop reads from the returned descriptor, and puts every other kill signal in order.
fn take_signals() -> io::Result<OwnedFd> {
    // SAFETY: plain system calls on a set that lives here; one thread.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGQUIT] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// The daemon's end of a socket pair on descriptor 0, replaced there by /dev/null.
fn inherited_socket() -> Option<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    rustix::net::sockopt::socket_type(stdin).ok()?;
    let socket = rustix::io::fcntl_dupfd_cloexec(stdin, 3).ok()?;
    let null = std::fs::File::open("/dev/null").ok()?;
    // SAFETY: descriptor 0 belongs to this process alone and is put to no other use.
    unsafe { libc::dup2(null.as_raw_fd(), 0) };
    Some(socket)
}

/// Gives the socket a moment to take what is still unsent; a hung peer costs half a second at most.
fn linger(connection: &Connection) {
    if connection.unsent().is_empty() {
        return;
    }
    let timeout = Some(Duration::from_millis(500));
    let send_timeout = rustix::net::sockopt::Timeout::Send;
    let is_set = rustix::net::sockopt::set_socket_timeout(connection, send_timeout, timeout);
    if is_set.is_ok() && rustix::io::ioctl_fionbio(connection, false).is_ok() {
        let flags = rustix::net::SendFlags::NOSIGNAL;
        let _lost = rustix::net::send(connection, connection.unsent(), flags);
    }
}
