//! Reads what sessions without a preset print, for what it shows of their work.
//!
//! One thread, asleep until a recording grows; then at most one look in a while at all that grew, and of each at most a bounded
//! part: of a flood the end. It decides nothing. Without inotify it says nothing.
//!
//! Invariant
//! - TR1  What it keeps is of the newest session of agents that are in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::work::PhaseRules;
use perennial_engine::host::recording::Recording;
use perennial_engine::watch::{Interest, Watch, Watched};
use perennial_engine::work::TerminalWork;

use super::reader::Sighting;
use crate::daemon::driving::driver::{DriverHandle, Incoming};

/// What is printed within this is one look.
const PACE: Duration = Duration::from_secs(2);
/// As much of a session as one look reads.
const READ_BYTES_MAX: u64 = 256 << 10;
const CHUNK_BYTES: usize = 16 << 10;

/// A session whose output is to be read.
#[derive(Debug)]
pub struct Printing {
    pub agent: AgentId,
    pub number: SessionNumber,
    /// The session's directory.
    pub dir: PathBuf,
    pub rules: Arc<PhaseRules>,
    /// It began just now: all of it is new.
    pub is_new: bool,
}

/// The way to the thread. Nothing where the kernel gives no watches.
#[derive(Debug, Clone, Default)]
pub struct TerminalReader(Option<Arc<Terminals>>);

#[derive(Debug)]
struct Terminals {
    watch: Watch,
    sessions: Mutex<BTreeMap<AgentId, Session>>,
    forgotten: Condvar,
}

#[derive(Debug)]
struct Session {
    watched: Watched,
    number: SessionNumber,
    dir: PathBuf,
    /// How far it was read.
    at: u64,
    work: TerminalWork,
}

impl TerminalReader {
    pub fn start(driver: DriverHandle) -> TerminalReader {
        let started = Watch::new().and_then(|watch| {
            let sessions = Mutex::default();
            let terminals = Arc::new(Terminals { watch, sessions, forgotten: Condvar::new() });
            let own = Arc::clone(&terminals);
            let thread = std::thread::Builder::new().name("terminals".to_owned());
            thread.spawn(move || own.run(&driver))?;
            Ok(terminals)
        });
        match started {
            Ok(terminals) => TerminalReader(Some(terminals)),
            Err(error) => {
                tracing::warn!(%error, "what sessions print can't be watched");
                TerminalReader::default()
            }
        }
    }

    /// Reads this session from now on, in place of the one before; returns what it has shown so far.
    pub fn watch(&self, printing: Printing) -> Option<Sighting> {
        let terminals = self.0.as_ref()?;
        let Printing { agent, number, dir, rules, is_new } = printing;
        let mut sessions = terminals.sessions();
        if sessions.get(&agent).is_some_and(|known| known.number == number) {
            return None;
        }
        // Before it is read: what is printed from here on is told.
        let watched = terminals.watch.add(&dir, Interest::Growth).ok()?;
        let at = match is_new {
            true => 0,
            // An earlier daemon may have heard it. What follows grows it.
            false => Recording::open(&dir).ok()?.end(),
        };
        let work = TerminalWork::new(rules);
        let mut session = Session { watched, number, dir, at, work };
        let sighting = if is_new { session.read(agent).unwrap_or_default() } else { None };
        if let Some(before) = sessions.insert(agent, session) {
            terminals.watch.remove(before.watched);
        }
        sighting
    }

    /// Nothing is read of this agent any more.
    pub fn forget(&self, agent: AgentId) {
        let Some(terminals) = &self.0 else { return };
        if let Some(session) = terminals.sessions().remove(&agent) {
            terminals.watch.remove(session.watched);
        }
        terminals.forgotten.notify_all();
    }
}

impl Terminals {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<AgentId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, driver: &DriverHandle) {
        loop {
            let mut changed = BTreeSet::new();
            let looked = self.watch.wait(None).and_then(|_| {
                self.watch.drain(|change| {
                    changed.insert(change.of);
                })
            });
            for sighting in self.read(&changed) {
                if driver.send(Incoming::Sighted(sighting)).is_err() {
                    return;
                }
            }
            match looked {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::error!(%error, "what sessions print is no longer watched");
                    return;
                }
                Ok(()) | Err(_) => {}
            }
            let sessions = self.sessions();
            let _waited = self.forgotten.wait_timeout(sessions, PACE);
        }
    }

    fn read(&self, changed: &BTreeSet<Watched>) -> Vec<Sighting> {
        let mut sessions = self.sessions();
        let grown = sessions.iter_mut().filter(|(_, it)| changed.contains(&it.watched));
        // A recording that can't be read shows nothing; the next growth is another try.
        grown.filter_map(|(agent, session)| session.read(*agent).ok().flatten()).collect()
    }
}

impl Session {
    /// What is new, as far as it is read.
    fn read(&mut self, agent: AgentId) -> io::Result<Option<Sighting>> {
        let recording = Recording::open(&self.dir)?;
        let first = recording.end().saturating_sub(READ_BYTES_MAX).max(recording.start());
        if first > self.at {
            self.work.skipped();
            self.at = first;
        }
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut facts = Vec::new();
        while let Some(count @ 1..) = recording.read_at(self.at, &mut buffer)? {
            self.at += count as u64;
            let shown = self.work.take(&buffer[..count]);
            let shown = shown.into_iter().map(Seen::Worked);
            let seen = shown.chain(self.work.symptom().map(Seen::Symptom));
            facts.extend(seen.map(|seen| Fact::new(Origin::Terminal, seen)));
        }
        let (number, figures) = (self.number, None);
        Ok((!facts.is_empty()).then_some(Sighting {
            agent,
            number,
            facts,
            figures,
            has_found: false,
        }))
    }
}
