//! What a holder needs next, from what is known of it: connect, start a shim, give an order, sweep,
//! conclude. Taking no hint of what changed, it is called after anything did.
//!
//! Invariants
//! - HS1  What never began is fenced by claiming its number before that is told.
//! - P4  A session whose shim died is concluded only after the sweep.

use std::os::fd::AsFd;

use perennial_core::exit::UnknownExit;
use perennial_core::id::SessionNumber;
use perennial_core::session::Process;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::super::cgroup::{self, Cgroup};
use super::super::connection::Connection;
use super::super::directory::HolderDirectory;
use super::super::monotonic::now;
use super::super::owner::Owner;
use super::super::protocol::{ClientHello, ExitRecord, Order, Role, Size, StartOrder};
use super::super::{ancestry, process, socket};
use super::holder::{Conclusion, Current, Holder, Link, RETRY_FIRST, RETRY_MAX, Shim, Work};
use super::run::{LINK, Run, SHIM};
use super::sweep::Traces;
use super::{Settings, jobs, spawn};

/// How long a shim may take for its hello.
const GREETING_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
/// Shims that go before they claim the session: more than a race can explain. A rule of the host's own:
/// to the core, a session that could not be started is one, however often that was tried.
const FAILURES_MAX: u8 = 5;
/// Between looks at a session whose shim can't be reached because its files are gone.
const RETRY_UNSEEN: std::time::Duration = std::time::Duration::from_secs(1);

impl Run {
    pub fn drive(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get(&owner) else { return };
        if holder.current.is_none() || self.sweep.is_sweeping(owner) {
            return;
        }
        let is_disowned = holder.current.as_ref().is_some_and(|current| current.is_disowned);
        match (&holder.link, &holder.shim) {
            (Link::Up(_), _) if is_disowned => self.go_on_without_shim(owner),
            (Link::Up(_), _) => self.give_orders(owner),
            // Its hello, its end or the next try comes.
            (Link::Greeting { .. }, _) | (Link::Down, Some(_)) => {}
            (Link::Down, None) => self.look(owner),
        }
    }

    /// Nothing is known of a shim: asks the kernel for one.
    fn look(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        match living_shim(holder) {
            Ok(Some(shim)) => {
                let slot = holder.slot;
                self.watch(&shim.handle, slot, SHIM);
                if let Some(holder) = self.holders.get_mut(&owner) {
                    holder.shim = Some(shim);
                }
                self.connect(owner);
            }
            Ok(None) => self.go_on_without_shim(owner),
            Err(error) => {
                tracing::error!(%owner, %error, "a holder directory can't be read");
                self.on_lost(owner, format!("its directory can't be read: {error}"));
            }
        }
    }

    /// No living shim has the session: what may be left of it is ended, then its end is told; or it has
    /// not begun.
    fn go_on_without_shim(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = &mut holder.current else { return };
        let number = current.number;
        match unseen_shim(&holder.directory, current) {
            // It can't be asked to end the session, and would be left behind.
            Some(shim) if current.end.is_some() => process::kill_exactly(shim),
            Some(shim) => {
                self.on_unseen(owner, number, shim);
                return;
            }
            None => {}
        }
        let is_claimed = holder.directory.is_claimed(number);
        if !current.is_swept && may_have_left_processes(&holder.directory, current, is_claimed) {
            let traces = traces(&self.settings, holder, number);
            self.sweep.add(owner, traces, now());
        } else if current.ending.is_some() || current.is_released {
            current.is_disowned = false;
            if current.is_released && holder.shim.is_none() {
                holder.current = None;
            }
        } else if is_claimed {
            current.is_disowned = false;
            let ending = conclusion(holder, number);
            if !holder.directory.is_of_another_boot(number) {
                holder.directory.remove_process(number);
            }
            self.finish(owner, ending);
        } else if current.work.is_some() && current.end.is_none() {
            self.spawn(owner);
        } else {
            let (was_executed, was_ended) = (current.program().is_some(), current.end.is_some());
            let why = UnknownExit::of_unclaimed(was_executed, was_ended);
            self.fence(owner, Conclusion::Unknown(why));
        }
    }

    /// A shim has the session, and nothing in its directory leads to it: the session is not over, and can't
    /// be reached. It is looked at again, until it ends or the directory is back.
    fn on_unseen(&mut self, owner: Owner, number: SessionNumber, shim: Process) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        holder.retry_at = Some(now() + RETRY_UNSEEN);
        if !holder.is_told_lost {
            holder.is_told_lost = true;
            let why = format!(
                "its files in {} are gone, and its holder (pid {}) still runs",
                holder.directory.path().display(),
                shim.pid
            );
            self.tell_lost(owner, number, why);
        }
    }

    /// No process of this owner's sessions is left.
    pub fn on_swept(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        if let Some(current) = &mut holder.current {
            current.is_swept = true;
            if let Some(before) = current.number.previous() {
                holder.directory.remove_process(before);
            }
        }
        self.drive(owner);
    }

    /// Ends a session that never began; a shim that comes late finds its number taken.
    fn fence(&mut self, owner: Owner, ending: Conclusion) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = &mut holder.current else { return };
        match holder.directory.fence(current.number) {
            Ok(Some(_)) => {
                current.is_swept = true;
                self.finish(owner, ending);
            }
            // Somebody was faster: look again who it is.
            Ok(None) => self.look(owner),
            Err(error) => {
                tracing::error!(%owner, %error, "a session that never began can't be fenced");
                self.finish(owner, ending);
            }
        }
    }

    fn spawn(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let why = holder.last_refusal.clone().unwrap_or_else(|| "its holder went".to_owned());
        if holder.failures >= FAILURES_MAX {
            self.fence(owner, not_started(why));
            return;
        }
        holder.failures += 1;
        let work = holder.current.as_ref().and_then(|current| current.work.as_ref());
        // A pane whose shims go again and again is not asked once more.
        let pane = work.and_then(Work::pane).filter(|_| holder.failures == 1);
        let spawned = holder
            .directory
            .create()
            .and_then(|()| spawn::shim(&self.settings, holder.directory.path(), pane));
        let spawned = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                let why = format!("its holder can't be started: {error}");
                self.fence(owner, not_started(why));
                return;
            }
        };
        let slot = holder.slot;
        holder.shim = Some(Shim { handle: spawned.handle, process: spawned.process });
        // Before the order to start: what a session says in its first moment is its own.
        self.tell_began(owner, spawned.process);
        self.greet(owner, Connection::new(spawned.socket));
        // The order need not wait for the hello.
        self.give_orders(owner);
        if let Some(shim) = self.holders.get(&owner).and_then(|holder| holder.shim.as_ref()) {
            self.watch(&shim.handle, slot, SHIM);
        }
    }

    /// Connects to a shim that lives.
    pub fn connect(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        if holder.shim.is_none() {
            self.drive(owner);
            return;
        }
        match socket::connect_at(&holder.directory.socket()) {
            Ok(socket) => self.greet(owner, Connection::new(socket)),
            Err(error) => self.on_lost(owner, format!("it can't be reached: {error}")),
        }
    }

    fn greet(&mut self, owner: Owner, connection: Connection) {
        let Some(holder) = self.holders.get(&owner) else { return };
        self.watch(&connection, holder.slot, LINK);
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        holder.link = Link::Greeting { connection, by: now() + GREETING_WITHIN };
        if let Some(current) = &mut holder.current {
            current.is_start_sent = false;
            if let Some(end) = &mut current.end {
                end.is_sent = false;
            }
        }
        let hello = ClientHello::new(Role::Daemon { epoch: self.settings.epoch.0 });
        self.say(owner, &hello);
    }

    /// Sends what was ordered and not sent yet.
    pub fn give_orders(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = &mut holder.current else { return };
        let number = current.number;
        if current.is_released && current.ending.is_some() {
            holder.current = None;
            self.say(owner, &Order::Release { number: number.0 });
            return;
        }
        if current.ending.is_some() {
            return;
        }
        let is_startable = current.process.is_none() && current.end.is_none();
        if let Some(work) = current.work.as_ref().filter(|_| !current.is_start_sent && is_startable)
        {
            let mut order = start_order(&self.settings, owner, number, work);
            order.viewer = holder.directory.take_viewer();
            current.is_start_sent = true;
            self.say(owner, &Order::Start(Box::new(order)));
        }
        let ladder = self.settings.ladder;
        let Some(current) = self.holders.get_mut(&owner).and_then(|h| h.session(number)) else {
            return;
        };
        if let Some(end) = current.end.as_mut().filter(|end| !end.is_sent) {
            end.is_sent = true;
            let order = Order::End {
                number: number.0,
                pace: end.pace.into(),
                interrupt_ms: end.interrupt.as_millis() as u64,
                term_ms: ladder.term.as_millis() as u64,
                hang_up: end.hangs_up,
            };
            self.say(owner, &order);
        }
    }

    /// The session's end is known: the one report that closes it.
    pub fn finish(&mut self, owner: Owner, ending: Conclusion) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(current) = holder.current.as_mut().filter(|c| c.ending.is_none()) else { return };
        current.ending = Some(ending);
        current.work = None;
        current.handle = None;
        current.witness_by = None;
        current.end = None;
        let number = current.number;
        // Who lets a holder go knows the end.
        if !current.is_released {
            self.tell_ended(owner, number);
        }
        self.drive(owner);
    }

    /// The connection is of no use; the shim may live all the same and is tried again.
    pub fn on_lost(&mut self, owner: Owner, why: String) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let was_up = matches!(holder.link, Link::Up(_));
        holder.link = Link::Down;
        self.refuse_waiting(owner);
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        holder.retry_at = Some(now() + holder.retry_wait);
        holder.retry_wait = (holder.retry_wait * 2).min(RETRY_MAX);
        let Some(current) = &holder.current else { return };
        let number = current.number;
        // A shim that goes closes first and ends then: its end says more than the lost connection.
        // One that was just started and refused is followed by another.
        let is_told = was_up || holder.is_told_lost || holder.failures > 0;
        if !is_told && current.ending.is_none() {
            holder.is_told_lost = true;
            self.tell_lost(owner, number, why);
        }
    }

    /// The shim's pidfd says that it ended.
    pub fn on_shim(&mut self, owner: Owner) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let Some(shim) = holder.shim.take_if(|shim| process::is_over(&shim.handle)) else { return };
        // Ours if this daemon started it; else somebody else reaps it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let _not_ours = waitid(WaitId::PidFd(shim.handle.as_fd()), options);
        // What it said last is still there to be read: an exit, or why it refused.
        self.read_link(owner);
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        holder.link = Link::Down;
        holder.retry_at = None;
        holder.retry_wait = RETRY_FIRST;
        self.refuse_waiting(owner);
        let Some(current) = self.holders.get_mut(&owner).and_then(|h| h.current.as_mut()) else {
            return;
        };
        current.handle = None;
        current.is_start_sent = false;
        current.is_swept = false;
        self.drive(owner);
    }
}

/// The living shim of a holder: the kernel's word on the lock, twice, around the opening of its pidfd.
fn living_shim(holder: &Holder) -> std::io::Result<Option<Shim>> {
    let Some(pid) = holder.directory.shim_pid()? else { return Ok(None) };
    let Some(stat) = process::stat(pid) else { return Ok(None) };
    let Some(handle) = process::open(stat.process)? else { return Ok(None) };
    let is_same = holder.directory.shim_pid()? == Some(pid);
    Ok(is_same.then_some(Shim { handle, process: stat.process }))
}

/// How a session ended whose shim is gone and whose tree is gone.
fn conclusion(holder: &Holder, number: SessionNumber) -> Conclusion {
    match holder.directory.read_exit(number) {
        Some(exit) => Conclusion::Told(exit),
        None if holder.directory.is_of_another_boot(number) => {
            Conclusion::Unknown(UnknownExit::MachineRestarted)
        }
        None => Conclusion::Unknown(UnknownExit::HolderDied),
    }
}

/// The shim that has this session by the kernel's word, where its directory does not lead to it: the session's
/// program lives below a shim of this owner.
fn unseen_shim(directory: &HolderDirectory, current: &Current) -> Option<Process> {
    let is_open = current.ending.is_none() && !current.is_disowned;
    let program = current.program().filter(|_| is_open)?;
    let seen = process::stat(program.pid).filter(|seen| seen.process == program && !seen.zombie)?;
    let shim = process::stat(seen.parent)?.process;
    ancestry::is_shim_of(shim.pid, directory.path()).then_some(shim)
}

fn not_started(why: String) -> Conclusion {
    Conclusion::Told(ExitRecord::NotStarted(why))
}

/// Whether a process of this session, or of the one before, may be alive without a shim. A shim removes
/// the process file when the tree is gone; between claim and file only the claim tells.
fn may_have_left_processes(
    directory: &HolderDirectory,
    current: &Current,
    is_claimed: bool,
) -> bool {
    let number = current.number;
    let is_open = is_claimed && !current.is_released && directory.read_exit(number).is_none();
    let before = number.previous().is_some_and(|before| directory.may_live(before));
    let lives = current.program().is_some_and(process::is_alive);
    is_open || before || lives || directory.may_live(number)
}

/// What a dead shim may have left, of this session and the one before: the cgroups where they said they
/// were and where they would be, and the main processes.
fn traces(settings: &Settings, holder: &Holder, number: SessionNumber) -> Traces {
    let mut paths: Vec<std::path::PathBuf> = Vec::new();
    // The journal knows its program, whatever became of the directory.
    let mut mains: Vec<Process> =
        holder.current.as_ref().and_then(Current::program).into_iter().collect();
    for number in [Some(number), number.previous()].into_iter().flatten() {
        paths.extend(cgroup_path(settings, holder.owner, number));
        if holder.directory.may_live(number)
            && let Some(file) = holder.directory.read_process(number)
        {
            mains.push(Process::from(file.process));
            let session = holder.owner.numbered(number);
            let named = |path: String| cgroup::named(&path, &settings.holders_dir, &session);
            paths.extend(file.cgroup.and_then(named));
        }
    }
    paths.dedup();
    let directory = holder.directory.path().to_owned();
    Traces { directory, cgroups: paths.into_iter().map(Cgroup::at).collect(), mains }
}

fn start_order(
    settings: &Settings,
    owner: Owner,
    number: SessionNumber,
    work: &Work,
) -> StartOrder {
    let (program, record_limit, job) = match work {
        Work::Session(program) => (program.clone(), settings.record_limit_bytes, None),
        Work::Job(spec) => {
            (jobs::program(spec), jobs::record_limit(spec), Some(jobs::terms(settings, spec)))
        }
    };
    let cgroup = cgroup_path(settings, owner, number);
    StartOrder {
        number: number.0,
        argv: program.argv,
        dir: program.dir,
        size: Size::default(),
        cgroup: cgroup.and_then(|path| Some(path.to_str()?.to_owned())),
        record_limit,
        nofile: settings.nofile,
        env: program.env_set,
        env_remove: program.env_remove,
        job,
        input: program.input,
        hangs_up: Some(program.is_bare),
        announcements: program.announcements,
        viewer: None,
    }
}

fn cgroup_path(
    settings: &Settings,
    owner: Owner,
    number: SessionNumber,
) -> Option<std::path::PathBuf> {
    let root = settings.cgroup.as_ref()?;
    Some(cgroup::path_for(root, &settings.holders_dir, &owner.numbered(number)))
}

/// The second witness: a handle on the session's process, if it still is that one.
pub fn witness(process: Process) -> Option<std::os::fd::OwnedFd> {
    process::open(process).ok().flatten()
}
