//! A running understudy: its own thread, its own runtime, a port on loopback. Dropped = stopped.
//!
//! Never listens anywhere but on loopback: whoever reaches it can read every conversation.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::gates::Gates;
use crate::ids::Ids;
use crate::log::{Log, Record};
use crate::prompter::Prompter;
use crate::routes::{self, Stage};
use crate::script::Script;
use crate::turn::Turn;

/// How long a test waits for a client that starts on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub struct Understudy {
    address: SocketAddr,
    stage: Arc<Stage>,
    /// Taken when it stops.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error("{address} is not on loopback")]
    NotLoopback { address: SocketAddr },
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot start the server's thread")]
    Thread { source: std::io::Error },
}

/// What was waited for did not come in time; what did come is in the text.
#[derive(Debug, Error)]
#[error("nothing after {patience:?}; {seen}")]
pub struct Late {
    pub patience: Duration,
    pub seen: String,
}

impl Understudy {
    /// On a free port.
    pub fn start(script: Script) -> Result<Understudy, StartError> {
        Understudy::start_on((Ipv4Addr::LOCALHOST, 0).into(), script)
    }

    pub fn start_on(address: SocketAddr, script: Script) -> Result<Understudy, StartError> {
        if !address.ip().is_loopback() {
            return Err(StartError::NotLoopback { address });
        }
        let stage = Arc::new(Stage {
            prompter: Prompter::new(script),
            log: Arc::new(Log::default()),
            gates: Arc::new(Gates::default()),
            ids: Ids::new(),
        });
        let listen = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = oneshot::channel();
        let router = routes::router(stage.clone());
        let thread = |source| StartError::Thread { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(thread)?;
        let run = move || serve(runtime, listener, router, stopped);
        let name = "understudy".to_owned();
        let server = std::thread::Builder::new().name(name).spawn(run).map_err(thread)?;
        Ok(Understudy { address, stage, running: Some((stop, server)) })
    }

    /// The base address for a client, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base address of a client with a script of its own.
    pub fn url_of(&self, name: &str) -> String {
        format!("{}/s/{name}", self.url())
    }

    /// Gives a name a new script. The name is one in [`Understudy::url_of`], or a session's id.
    pub fn script(&self, name: &str, turns: impl Into<Vec<Turn>>) {
        self.stage.prompter.replace(Some(name), turns.into());
    }

    /// Gives everybody without a script of their own a new one.
    pub fn script_everybody(&self, turns: impl Into<Vec<Turn>>) {
        self.stage.prompter.replace(None, turns.into());
    }

    /// Lets one turn pass the gate, now or when it gets there.
    pub fn release(&self, gate: &str) {
        self.stage.gates.release(gate);
    }

    /// The gates at which something is held now, and how many turns.
    pub fn gates(&self) -> BTreeMap<String, usize> {
        self.stage.gates.held()
    }

    pub fn wait_until_held(&self, gate: &str) -> Result<(), Late> {
        if self.stage.gates.wait_until_held(gate, PATIENCE) {
            Ok(())
        } else {
            Err(self.late(PATIENCE))
        }
    }

    /// What the model saw so far, oldest first.
    pub fn requests(&self) -> Vec<Arc<Record>> {
        self.stage.log.since(0)
    }

    /// The oldest record that fits, now or within the patience.
    pub fn wait_for(
        &self,
        fits: impl FnMut(&Record) -> bool,
        patience: Duration,
    ) -> Result<Arc<Record>, Late> {
        self.stage.log.wait_for(fits, patience).ok_or_else(|| self.late(patience))
    }

    /// Serves until the process is ended from outside.
    pub fn serve_for_good(mut self) {
        if let Some((_stop, server)) = self.running.take() {
            // A panic of the server is printed by its own thread.
            let _ = server.join();
        }
    }

    fn late(&self, patience: Duration) -> Late {
        let kinds: Vec<_> = self.requests().iter().map(|record| record.request.kind).collect();
        Late { patience, seen: format!("requests: {kinds:?}, gates: {:?}", self.gates()) }
    }
}

impl Drop for Understudy {
    fn drop(&mut self) {
        if let Some((stop, server)) = self.running.take() {
            drop(stop);
            let _ = server.join();
        }
    }
}

fn serve(
    runtime: Runtime,
    listener: TcpListener,
    router: axum::Router,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            return;
        };
        tokio::select! {
            _ = axum::serve(listener, router) => {}
            _ = stopped => {}
        }
    });
    // Open connections end with their tasks.
    drop(runtime);
}
