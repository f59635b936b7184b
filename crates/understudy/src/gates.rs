//! Gates: a turn is held at one until somebody releases it.
//!
//! Invariants
//! - G1  One release lets one turn pass, now or later: it cannot come too early.
//! - G2  A turn whose client is gone is no longer held, and takes no release with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

#[derive(Debug, Default)]
pub struct Gates {
    gates: Mutex<BTreeMap<String, Gate>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Gate {
    held: usize,
    releases: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Gate { held: 0, releases: Arc::new(Semaphore::new(0)) }
    }
}

/// A turn that stands at a gate; dropped when it passes, or when its client goes away.
struct Held {
    gates: Arc<Gates>,
    name: String,
}

impl Gates {
    pub async fn pass(self: Arc<Self>, name: String) {
        let releases = {
            let mut gates = self.lock();
            let gate = gates.entry(name.clone()).or_default();
            gate.held += 1;
            gate.releases.clone()
        };
        self.changed.notify_all();
        let held = Held { gates: self, name };
        // Never closed, so that the only outcome is a release.
        if let Ok(release) = releases.acquire().await {
            release.forget();
        }
        drop(held);
    }

    pub fn release(&self, name: &str) {
        self.lock().entry(name.into()).or_default().releases.add_permits(1);
    }

    /// The gates at which something is held now, and how many turns.
    pub fn held(&self) -> BTreeMap<String, usize> {
        let gates = self.lock();
        let held = gates.iter().filter(|(_, gate)| gate.held > 0);
        held.map(|(name, gate)| (name.clone(), gate.held)).collect()
    }

    /// False if nothing was held there in that time.
    pub fn wait_until_held(&self, name: &str, patience: Duration) -> bool {
        let nothing =
            |gates: &mut BTreeMap<String, Gate>| gates.get(name).is_none_or(|gate| gate.held == 0);
        let waited = self.changed.wait_timeout_while(self.lock(), patience, nothing);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(gate) = self.gates.lock().get_mut(&self.name) {
            gate.held -= 1;
        }
        self.gates.changed.notify_all();
    }
}
