//! The daemon: owns the state of a home, and supervises. The only place with an async runtime.
//!
//! It decides nothing itself: it feeds the supervisor's step with inputs and carries out its outputs.

pub mod config;
mod driving;
mod hearing;
mod lock;
mod logging;
mod node;
pub mod showing;
pub mod surface;
mod time;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use perennial_api::home::SocketAddress;
use perennial_api::{ExitCode, Home};
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::hearing::{Hearings, Limits};
use perennial_core::id::{AgentId, Epoch};
use perennial_core::observation::Observation;
use perennial_engine::host::cgroup::Cgroup;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{
    self, Holders, HostReport, JobReport, Settings, cgroup, monotonic, process,
};
use perennial_engine::supervisor::Supervisor;
use perennial_store::{Latest, Loaded, SqliteJournal, Store, load};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use config::Config;
use driving::deliver::Deliveries;
use driving::driver::{self, DriverHandle, Incoming, Superseded, World};
use driving::harness::Harnesses;
use driving::presence::Presence;
use driving::projections::Projections;
use hearing::reader::Reader;
use hearing::session_list_watcher::SessionListWatcher;
use hearing::spending::Spending;
use lock::{Lock, LockError};
use surface::Surface;
use surface::identity::Registry;

/// Runs until it is told to end; `ready` is called when requests are answered.
pub fn run(home: &Home, ready: impl FnOnce()) -> anyhow::Result<ExitCode> {
    home.create().with_context(|| format!("can't use the home {}", home.state.display()))?;
    let _lock = match Lock::take(&home.lock()) {
        Ok(lock) => lock,
        Err(held @ LockError::Held { .. }) => return Ok(refuse(&held)),
        Err(error) => return Err(error).context("can't lock the home"),
    };
    logging::start(&home.daemon_log())?;
    // Agents of the same user must not read the daemon's memory or take its descriptors.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let (surface, thread) = start(home)?;
    let (driver, holders) = (surface.driver.clone(), surface.holders.clone());
    let journal = Arc::clone(&surface.journal);
    let served = serve(home, surface, ready);
    // In order: nothing new comes in, the end is recorded, then the holders are let go.
    let _ = driver.send(Incoming::Stop);
    let drove = thread.join();
    holders.stop();
    // Threads that read it may still be ending; its log is folded into its file all the same.
    journal.close();
    let _ = std::fs::remove_file(home.socket());
    tracing::info!("the daemon ended");
    served?;
    match drove {
        Ok(Ok(())) => Ok(ExitCode::Done),
        Ok(Err(superseded)) => Ok(refuse(&superseded)),
        Err(_) => anyhow::bail!(
            "the driver thread panicked; sessions keep running: run `perennial up` to start again"
        ),
    }
}

/// Of two daemons that start at once, the one without the lock reports it and exits.
fn refuse(why: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {why}\nnext: use that daemon; `perennial doctor` shows its state");
    ExitCode::Refused
}

/// The daemon's start is on record by then, unless the disk fails.
const START_RECORDED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

type DriverThread = JoinHandle<Result<(), Superseded>>;

/// Loads what the journal knows, and starts everything but the surface's socket.
fn start(home: &Home) -> anyhow::Result<(Arc<Surface>, DriverThread)> {
    let (driver, inbox) = driver::channel_pair();
    let (journal, loaded) = open(home)?;
    let missed = hearing::unheard_hooks::take(&home.hooks_missed());
    for told in &missed {
        tracing::warn!("{told}");
    }
    let is_copy = loaded.fleet.is_copied();
    if is_copy {
        disown_copied(home);
    }
    let boot = process::boot_id().context("the machine's boot id can't be read")?;
    let epoch = loaded.fleet.next_epoch();
    let exe = std::env::current_exe().context("the daemon can't find its own program")?;
    let config = config(home);
    let harnesses = Harnesses::new(home.clone(), exe.clone());
    let registry = Arc::new(known_holders(home, &loaded.fleet));
    let holders = start_holders(home, exe, epoch, Arc::clone(&registry), driver.clone())?;
    let ending = watch::Sender::new(false);
    let (is_shown, shown) = watch::channel(loaded.head);
    let mut clock = time::CoreClock::start(loaded.latest);
    let kept = kept(&*journal, &loaded.fleet);
    let heard = kept.iter().filter_map(|sample| Some((sample.agent, sample.last_seen?)));
    let presence = Presence::begin(heard.collect(), clock.read().now);
    let spending = Spending::begin(&kept);
    let limits = Limits { silent_after: config.silent_after() };
    let hearings = Hearings::resume(&loaded.fleet, &hearing::spending::kept(&kept), limits);
    let world = World {
        journal: Arc::clone(&journal),
        holders: holders.clone(),
        registry: Arc::clone(&registry),
        harnesses: harnesses.clone(),
        reader: Reader::start(harnesses.clone(), limits, driver.clone())
            .context("the reader of conversations can't be started")?,
        session_lists: SessionListWatcher::start(driver.clone()),
        projections: Projections::start(home, &loaded).context("the mirror can't be started")?,
        deliveries: Deliveries::start(
            Arc::clone(&journal),
            holders.clone(),
            harnesses.clone(),
            driver.clone(),
        )
        .context("the executor of deliveries can't be started")?,
        clock,
        shown: is_shown,
        ending: ending.clone(),
    };
    let started = Observation::Started { boot: boot.clone(), version: version(), is_copy };
    let fleet = loaded.fleet.under(Policy { notify: config.notify });
    let supervisor = Supervisor::new(fleet, loaded.versions, loaded.head).hearing_on(hearings);
    let thread =
        driver::start(supervisor, presence, spending, world, driver.clone(), inbox, started)
            .context("the driver can't be started")?;
    tracing::info!(epoch = epoch.0, pid = std::process::id(), "the daemon started");
    let surface = Surface {
        driver,
        journal,
        holders,
        registry,
        harnesses,
        home: home.clone(),
        boot: boot.0,
        started: monotonic::now(),
        over: loaded.over,
        missed,
        shown,
        ending,
    };
    Ok((Arc::new(surface), thread))
}

fn config(home: &Home) -> Config {
    Config::load(&home.config).unwrap_or_else(|error| {
        tracing::warn!(%error, "config.toml can't be read: ignored until fixed");
        Config::default()
    })
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn serve(home: &Home, surface: Arc<Surface>, ready: impl FnOnce()) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime can't be started")?;
    runtime.block_on(async {
        let listener = listen(home).context("the daemon's socket can't be opened")?;
        let ending = surface.ending.clone();
        end_on_signals(&ending).context("kill signals can't be watched")?;
        // Whoever is told that the daemon is ready sees what it made of its start. A disk that fails delays
        // nobody for good.
        let mut shown = surface.shown.clone();
        let _failing = tokio::time::timeout(START_RECORDED_WITHIN, shown.changed()).await;
        ready();
        surface::serve(listener, surface::router(surface), ending.subscribe()).await;
        Ok(())
    })
}

/// The lock is ours, so a socket that is there is a dead daemon's.
fn listen(home: &Home) -> std::io::Result<UnixListener> {
    let path = home.socket();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let address = SocketAddress::of(&path)?;
    let listener = UnixListener::bind(address.path())?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn end_on_signals(ending: &watch::Sender<bool>) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        let ending = ending.clone();
        tokio::spawn(async move {
            signals.recv().await;
            ending.send_replace(true);
        });
    }
    // A terminal that goes away is no reason to end.
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move { while hangups.recv().await.is_some() {} });
    Ok(())
}

fn start_holders(
    home: &Home,
    exe: PathBuf,
    epoch: Epoch,
    registry: Arc<Registry>,
    driver: DriverHandle,
) -> anyhow::Result<Holders> {
    let settings = Settings {
        holders_dir: home.holders(),
        jobs_dir: home.jobs(),
        home: home.root.clone(),
        program: exe,
        epoch,
        ladder: host::Ladder::default(),
        record_limit_bytes: host::holders::RECORD_LIMIT_BYTES,
        nofile: raise_nofile(),
        cgroup: cgroup::available().ok(),
    };
    let sink = move |report| {
        // At once: a session or a job may call before the driver has its turn.
        match &report {
            HostReport::Began { agent, shim } => registry.add(*agent, *shim, None),
            HostReport::Job { job, report: JobReport::Held { shim, cgroup }, .. } => {
                registry.add_job(*job, *shim, *cgroup);
            }
            HostReport::Job { job, report: JobReport::Ended { .. }, .. } => {
                registry.forget_job(*job);
            }
            HostReport::Job { report: JobReport::Executed(_), .. }
            | HostReport::Session { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Disconnected { .. } => {}
        }
        let _ = driver.send(Incoming::Host(report));
    };
    Holders::start(settings, sink).context("the holders can't be reached")
}

/// The journal of this node, and what it tells.
fn open(home: &Home) -> anyhow::Result<(Arc<dyn Store>, Loaded)> {
    let journal: Arc<dyn Store> =
        Arc::new(SqliteJournal::open(&home.journal()).context("can't open the journal")?);
    // Not before: a home that this version can't open is left as it is.
    let node = node::id(&home.data).with_context(|| unstored(home))?;
    let read = |node| load(&*journal, node).context("can't read the journal");
    let mut loaded = read(node)?;
    if let Some(own) = loaded.fleet.goes_on_as(has_holders(home)) {
        tracing::warn!(node = %own, "the file of this node's id was lost or restored: made again");
        node::keep(&home.data, own).with_context(|| unstored(home))?;
        loaded = read(own)?;
    }
    for unreadable in &loaded.unreadable {
        tracing::error!(%unreadable, "a record can't be read");
    }
    Ok((journal, loaded))
}

/// Without its id the daemon would take the home for a copy the next time.
fn unstored(home: &Home) -> String {
    format!("can't keep the node's id in {}", home.data.join(node::FILE).display())
}

/// Whether a shim lives that holds one of this home's directories.
fn has_holders(home: &Home) -> bool {
    [home.holders(), home.jobs()].into_iter().any(|dir| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let is_held = |path| HolderDirectory::at(path).shim_pid().is_ok_and(|pid| pid.is_some());
        entries.map(|entry| entry.path()).any(is_held)
    })
}

/// What the holders of the original wrote about their processes is not for a copy.
fn disown_copied(home: &Home) {
    tracing::warn!("this home is a copy; sessions that ran in the original are left alone");
    for dir in [home.holders(), home.jobs()] {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.for_each(|entry| HolderDirectory::at(entry.path()).disown());
    }
}

/// Holders that live already, and cgroups of those that died: who calls from below or from within
/// them is known before they are connected, or swept.
fn known_holders(home: &Home, fleet: &Fleet) -> Registry {
    let registry = Registry::default();
    for agent in fleet.agents() {
        let Some(session) = agent.live_session() else { continue };
        let holder = HolderDirectory::new(&home.holders(), agent.id);
        if let Some(stat) = holder.shim_pid().ok().flatten().and_then(process::stat) {
            registry.add(agent.id, stat.process, None);
        }
        for number in [Some(session.number), session.number.previous()].into_iter().flatten() {
            let cgroup = holder.read_process(number).and_then(|file| file.cgroup);
            if let Some(id) = cgroup.and_then(|path| Cgroup::at(path.into()).id()) {
                registry.add_cgroup(agent.id, id);
            }
        }
    }
    known_jobs(home, fleet, &registry);
    registry
}

/// The same for jobs: every directory counts, whatever the journal says of it. One that an earlier
/// daemon had no time to remove is removed: its job is over, and no process of it may be left.
fn known_jobs(home: &Home, fleet: &Fleet, registry: &Registry) {
    let entries = std::fs::read_dir(home.jobs()).into_iter().flatten().flatten();
    let jobs = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for job in jobs {
        let holder = HolderDirectory::of_job(&home.jobs(), job);
        let shim = holder.shim_pid().ok().flatten().and_then(process::stat);
        if shim.is_none() && holder.unfinished().is_empty() && fleet.jobs().get(job).is_none() {
            let _stays = std::fs::remove_dir_all(holder.path());
            continue;
        }
        if let Some(stat) = shim {
            registry.add_job(job, stat.process, None);
        }
        for number in holder.unfinished() {
            let Some(file) = holder.read_process(number) else { continue };
            if let Some(id) = file.cgroup.and_then(|path| Cgroup::at(path.into()).id()) {
                registry.add_job_cgroup(job, id);
            }
            if shim.is_none() {
                registry.add_orphaned_job(job, file.process.into());
            }
        }
    }
}

/// The latest that an earlier run kept of each agent that is in memory.
fn kept(journal: &dyn Store, fleet: &Fleet) -> Vec<Latest> {
    let agents: Vec<AgentId> = fleet.agents().map(|agent| agent.id).collect();
    journal.latest(&agents).unwrap_or_else(|error| {
        tracing::warn!(error = driver::chain(&error), "samples can't be read");
        Vec::new()
    })
}

/// A daemon of a thousand sessions needs some thousand descriptors; sessions get the old limit.
fn raise_nofile() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let old = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: old.maximum, maximum: old.maximum };
    setrlimit(Resource::Nofile, raised).ok().and(old.current)
}
