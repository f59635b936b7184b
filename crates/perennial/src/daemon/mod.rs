//! The daemon: owns the state of a home, and supervises. The only place with an async runtime.
//!
//! It decides nothing itself: it feeds the supervisor's step with inputs and carries out its outputs.

mod claim;
mod descriptors;
mod driving;
mod footing;
mod hearing;
mod house;
mod housekeeper;
mod known_holders;
pub mod lock;
mod logging;
mod memory;
mod node;
pub mod showing;
mod snapshot_keeper;
mod stocktaking;
pub mod surface;
mod time;
mod unopened;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use perennial_api::answer::RunningConfig;
use perennial_api::{ExitCode, Home};
use perennial_core::fleet::Fleet;
use perennial_core::hearing::{Hearings, Limits};
use perennial_core::id::{AgentId, Epoch, NodeId, SessionNumber};
use perennial_core::observation::LostRecords;
use perennial_core::owner::Owner;
use perennial_core::time::Time;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{
    self, Holders, HostReport, JobReport, Settings, cgroup, monotonic, process,
};
use perennial_engine::supervisor::Supervisor;
use perennial_store::journal::Seq;
use perennial_store::{Latest, Loaded, SqliteJournal, Store, load};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use driving::deliver::Deliveries;
use driving::driver::{self, DriverHandle, Incoming, Superseded, World};
use driving::harness::Harnesses;
use driving::presence::Presence;
use driving::projections::Projections;
use footing::Footing;
use hearing::commit_watcher::CommitWatcher;
use hearing::reader::Reader;
use hearing::session_list_watcher::SessionListWatcher;
use hearing::spending::Spending;
use hearing::terminal_reader::TerminalReader;
use housekeeper::Housekeeper;
use lock::{Lock, LockError};
use showing::sentences::history;
use snapshot_keeper::SnapshotKeeper;
use surface::Surface;
use surface::gate::Gate;
use surface::identity::Registry;
use surface::listening::Listening;
pub use unopened::Unopened;

use crate::build_id;
use crate::config::{Config, KEYS};

/// How far a daemon has come with its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartStep {
    /// Requests are answered.
    Answering,
    /// The sessions that an earlier daemon left behind are adopted, or have had their time.
    Settled,
}

/// Runs until it is told to end; `tell` is called at each step of its start.
pub fn run(home: &Home, tell: impl Fn(StartStep)) -> anyhow::Result<ExitCode> {
    memory::configure_allocator();
    host::sight::check(&[home.holders(), home.jobs()])
        .context("a daemon can't run here: it would not see the sessions of this home")?;
    home.create().with_context(|| format!("can't use the home {}", home.state.display()))?;
    let locks = [home.lock(), home.earlier_lock()];
    let locks = match locks.iter().map(|path| Lock::take(path)).collect::<Result<Vec<_>, _>>() {
        Ok(locks) => Arc::new(locks),
        Err(held @ LockError::Held { .. }) => return Ok(refuse(&held)),
        Err(error) => return Err(error).context("can't lock the home"),
    };
    logging::start(&home.daemon_log())?;
    // Agents of the same user must not read the daemon's memory or take its descriptors.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let (surface, unadopted, thread) = start(home)?;
    let (driver, holders) = (surface.driver.clone(), surface.holders.clone());
    let journal = Arc::clone(&surface.journal);
    Footing {
        home: home.clone(),
        journal: Arc::clone(&journal),
        driver: driver.clone(),
        socket: Arc::clone(&surface.socket_changed),
        locks: Arc::clone(&locks),
        retaken: Vec::new(),
    }
    .watch();
    let served = serve(home, surface, unadopted, tell);
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

/// `up` waits this long at the most for sessions to be adopted.
const ADOPTED_WITHIN: std::time::Duration = std::time::Duration::from_secs(3);
/// The daemon's start is on record by then, unless the disk fails.
const START_RECORDED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// At most this many handlers read the journal, transcripts and recordings at once; others wait for their turn.
const READING_THREADS: usize = 16;

type DriverThread = JoinHandle<Result<(), Superseded>>;
type Unadopted = watch::Receiver<BTreeMap<AgentId, SessionNumber>>;

/// Loads what the journal knows, and starts everything but the surface's socket.
fn start(home: &Home) -> anyhow::Result<(Arc<Surface>, Unadopted, DriverThread)> {
    let (driver, inbox) = driver::channel_pair();
    let (journal, loaded, lost) = open(home)?;
    let missed = unheard_hooks(home);
    disown_copied(home, &loaded.fleet);
    let boot = process::boot_id().context("the machine's boot id can't be read")?;
    let epoch = loaded.fleet.next_epoch();
    let (config, running) = config(home);
    let harnesses = Harnesses::new(home.clone(), own_program()?);
    house::tidy_up(home, &loaded.fleet, &*journal);
    let living = host::living::holders(&home.holders());
    let registry = Arc::new(known_holders::register(home, &loaded.fleet, &living));
    let holders = start_holders(home, epoch, &config, Arc::clone(&registry), driver.clone())?;
    let ending = watch::Sender::new(false);
    let (is_shown, shown) = watch::channel(loaded.head);
    let mut clock = time::CoreClock::start(loaded.latest);
    let kept = kept(&*journal, &loaded.fleet);
    let (presence, unadopted) = presence(&kept, &loaded.fleet, clock.read().now);
    let spending = Spending::begin(&kept);
    let limits = Limits { silent_after: config.silent_after() };
    let hearings = Hearings::resume(&loaded.fleet, &hearing::spending::kept(&kept), limits);
    let house = start_house(home, &journal, loaded.fleet.node(), &config, &driver)?;
    let snapshots = start_snapshots(home)?;
    let reader = Reader::start(harnesses.clone(), limits, config.rule_book(), driver.clone())
        .context("the reader of conversations can't be started")?;
    let policy = config.policy(&home.config);
    let surface = Surface {
        driver: driver.clone(),
        journal,
        holders,
        registry,
        gate: Gate::new(descriptors::limit()),
        harnesses,
        reader,
        house,
        snapshots,
        home: home.clone(),
        boot: boot.0.clone(),
        config: running,
        roles: config.role,
        checks: config.checks,
        started: monotonic::now(),
        over: loaded.over,
        lost,
        socket_changed: Arc::default(),
        missed,
        setting: tokio::sync::Mutex::default(),
        shown,
        graph: Arc::default(),
        ending,
    };
    let world = world(&surface, &loaded, clock, is_shown)?;
    let started = stocktaking::at_start(living, (&*surface.journal, &loaded), lost, boot)?;
    let fleet = spending.told(loaded.fleet.under(policy));
    let supervisor = Supervisor::new(fleet, loaded.versions, loaded.head).hearing_on(hearings);
    let thread = driver::start(supervisor, presence, spending, world, driver, inbox, started)
        .context("the driver can't be started")?;
    tracing::info!(epoch = epoch.0, pid = std::process::id(), "the daemon started");
    Ok((Arc::new(surface), unadopted, thread))
}

/// What the driver works with: the same as the surface, and what is the driver's alone.
fn world(
    surface: &Surface,
    loaded: &Loaded,
    clock: time::CoreClock,
    shown: watch::Sender<Seq>,
) -> anyhow::Result<World> {
    let Surface { driver, journal, holders, harnesses, .. } = surface;
    Ok(World {
        journal: Arc::clone(journal),
        holders: holders.clone(),
        registry: Arc::clone(&surface.registry),
        harnesses: harnesses.clone(),
        reader: surface.reader.clone(),
        terminals: TerminalReader::start(driver.clone()),
        commits: CommitWatcher::start(driver.clone()),
        session_lists: SessionListWatcher::start(driver.clone()),
        projections: Projections::start(&surface.home, loaded, journal)
            .context("the mirror can't be started")?,
        deliveries: start_deliveries(journal, holders, harnesses, driver)?,
        house: surface.house.clone(),
        snapshots: surface.snapshots.clone(),
        clock,
        shown,
        ending: surface.ending.clone(),
    })
}

fn start_house(
    home: &Home,
    journal: &Arc<dyn Store>,
    node: NodeId,
    config: &Config,
    driver: &DriverHandle,
) -> anyhow::Result<Housekeeper> {
    let (journal, is_limited) = (Arc::clone(journal), config.keep_recordings().is_some());
    Housekeeper::start(home, (journal, node), is_limited, driver.clone())
        .context("the thread that removes recordings can't be started")
}

/// What was not heard before this daemon started; the log has it too.
fn unheard_hooks(home: &Home) -> Vec<String> {
    let missed = hearing::unheard_hooks::take(&home.hooks_missed());
    missed.iter().for_each(|told| tracing::warn!("{told}"));
    missed
}

fn own_program() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("the daemon can't find its own program")
}

fn start_snapshots(home: &Home) -> anyhow::Result<SnapshotKeeper> {
    SnapshotKeeper::start(home.snapshots())
        .context("the thread that takes snapshots can't be started")
}

fn start_deliveries(
    journal: &Arc<dyn Store>,
    holders: &Holders,
    harnesses: &Harnesses,
    driver: &DriverHandle,
) -> anyhow::Result<Deliveries> {
    Deliveries::start(Arc::clone(journal), holders.clone(), harnesses.clone(), driver.clone())
        .context("the executor of deliveries can't be started")
}

/// The configuration, and the same as health shows it.
fn config(home: &Home) -> (Config, RunningConfig) {
    let (config, mistake) = match Config::load(&home.config) {
        Ok(config) => (config, None),
        Err(mistake) => {
            tracing::warn!(%mistake, "config.toml can't be read: ignored until fixed");
            (Config::default(), Some(mistake.to_string()))
        }
    };
    let values = KEYS.iter().map(|key| (key.name.to_owned(), config.value(key))).collect();
    (config, RunningConfig { values, mistake })
}

fn version() -> String {
    build_id::VERSION.to_owned()
}

fn serve(
    home: &Home,
    surface: Arc<Surface>,
    mut unadopted: Unadopted,
    tell: impl Fn(StartStep),
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(READING_THREADS)
        .build()
        .context("the runtime can't be started")?;
    runtime.block_on(async {
        let listening = Listening::on(home).context("the daemon's socket can't be opened")?;
        // A driver that has ended hears nothing more.
        let _ = surface.driver.send(Incoming::Listening);
        let ending = surface.ending.clone();
        end_on_signals(&ending).context("kill signals can't be watched")?;
        // Whoever is told that the daemon is ready sees what it made of its start. A disk that fails delays
        // nobody for good.
        let mut shown = surface.shown.clone();
        let _failing = tokio::time::timeout(START_RECORDED_WITHIN, shown.changed()).await;
        tell(StartStep::Answering);
        let adopted = tokio::time::timeout(
            ADOPTED_WITHIN,
            unadopted.wait_for(|sessions| sessions.is_empty()),
        );
        let served = surface::serve(listening, surface, ending.subscribe());
        let mut served = std::pin::pin!(served);
        tokio::select! {
            () = &mut served => return Ok(()),
            _ = adopted => tell(StartStep::Settled),
        }
        // Its start took more than it goes on with.
        tokio::task::spawn_blocking(memory::give_back);
        served.await;
        Ok(())
    })
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
    epoch: Epoch,
    config: &Config,
    registry: Arc<Registry>,
    driver: DriverHandle,
) -> anyhow::Result<Holders> {
    let settings = Settings {
        holders_dir: home.holders(),
        jobs_dir: home.jobs(),
        home: home.root.clone(),
        // The very program that runs, also when its file was moved or replaced.
        program: PathBuf::from("/proc/self/exe"),
        epoch,
        ladder: host::Ladder::default(),
        record_limit_bytes: config.record_limit_bytes(),
        nofile: descriptors::raise_limit(),
        cgroup: cgroup::available().ok(),
    };
    if let Some(root) = &settings.cgroup {
        cgroup::remove_empty(root, &settings.holders_dir);
    }
    let sink = move |report| {
        // At once: a session or a job may call before the driver has its turn.
        match &report {
            HostReport::Began { agent, shim } => registry.add(Owner::Agent(*agent), *shim, None),
            HostReport::Job { job, report: JobReport::Held { shim, cgroup }, .. } => {
                registry.add(Owner::Job(*job), *shim, *cgroup);
            }
            HostReport::Job { job, report: JobReport::Ended { .. }, .. } => {
                registry.forget_job(*job);
            }
            HostReport::Job { report: JobReport::Executed(_), .. }
            | HostReport::Session { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Announced { .. }
            | HostReport::Outranked { .. }
            | HostReport::Disconnected { .. } => {}
        }
        let _ = driver.send(Incoming::Host(report));
    };
    Holders::start(settings, sink).context("the holders can't be reached")
}

/// The journal of this node, what it tells, and what it has lost.
fn open(home: &Home) -> anyhow::Result<(Arc<dyn Store>, Loaded, Option<LostRecords>)> {
    let journal = SqliteJournal::open(&home.journal());
    let journal = journal.map_err(|error| Unopened::told(home, error))?;
    let lost = journal.lost();
    if let Some(LostRecords { known, found }) = lost {
        tracing::error!("{}", history::records_lost(known, found));
    }
    let journal: Arc<dyn Store> = Arc::new(journal);
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
    Ok((journal, loaded, lost))
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
fn disown_copied(home: &Home, fleet: &Fleet) {
    if !fleet.is_copied() {
        return;
    }
    tracing::warn!("this home is a copy; sessions that ran in the original are left alone");
    for dir in [home.holders(), home.jobs()] {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.for_each(|entry| HolderDirectory::at(entry.path()).disown());
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

fn presence(kept: &[Latest], fleet: &Fleet, now: Time) -> (Presence, Unadopted) {
    let heard = kept.iter().filter_map(|sample| Some((sample.agent, sample.last_seen?)));
    let presence = Presence::begin(heard.collect(), now).adopting(fleet);
    let unadopted = presence.unadopted();
    (presence, unadopted)
}
