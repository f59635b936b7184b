//! The readable mirror: files that people and agents can `cat` with the daemon down.
//!
//! `<mirror>/<project>/`: `identities/<role>-<name>.json` and `roster.jsonl` in the words of the seeds, `board.md`,
//! `tasks.jsonl`, `work/<name>.json` and `signals/`. One file of this module for each kind of page. Derived, written by rename,
//! at most once a second per file but for the first session of an agent, never a reason to fail. Nothing is read back but how far it reached.
//!
//! Invariants
//! - MI1  A reader sees a whole file, the old one or the new one.
//! - MI2  What was put of an agent before `settle` of it is written when that returns, also in a burst, unless the disk is
//!   slow: its own files, and the roster and the tasks of its project.
//! - MI3  The file `laid-out` names a record up to which everything is laid out. A daemon that was killed left the rest to
//!   the next one.

mod board;
mod directory;
mod identity;
mod place;
mod roster;
mod signals;
mod tasks;
mod work;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::checkpoint::Checkpoint;
use perennial_core::id::AgentId;
use perennial_core::task::Task;
use perennial_core::time::Time;
use perennial_core::work::Findings;

pub use board::{BoardPost, POSTS};
pub use place::{IN_PROJECT, SUBDIRECTORIES, directory_name, path_from, pointer};
pub use signals::SignalPage;
pub use work::{dead_work_file, living_work_file, work_file};
pub use writer::laid_out_up_to;
use writer::{AgentFile, Content, Order, Writer};

/// The start of an agent waits for its files at most this long.
const SETTLED_WITHIN: Duration = Duration::from_millis(200);

/// The way to the mirror's own thread.
#[derive(Debug)]
pub struct Mirror {
    sender: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// What is known of an agent beside its record.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    pub last_seen: Option<Time>,
    /// How full its context window is.
    pub context_percent: Option<u8>,
}

/// What was there before this daemon: the newest posts first, and agents that have left memory.
#[derive(Debug, Default)]
pub struct Earlier {
    pub posts: Vec<BoardPost>,
    pub ended: Vec<Agent>,
}

impl Mirror {
    /// Left-over temporary files of a daemon that was killed are cleaned first. `earlier` is called on the
    /// mirror's thread: it may read the store.
    pub fn start(
        root: &Path,
        earlier: impl FnOnce() -> Earlier + Send + 'static,
    ) -> io::Result<Mirror> {
        let (sender, inbox) = channel();
        let root = root.to_owned();
        let thread = std::thread::Builder::new().name("mirror".to_owned()).spawn(move || {
            Writer::new(root, earlier()).run(&inbox);
        })?;
        Ok(Mirror { sender: Some(sender), thread: Some(thread) })
    }

    /// Lays out an agent as it is now, with the task that it is on.
    pub fn put(&self, agent: &Agent, measured: Measured, task: Option<&Task>) {
        if let Some((path, page)) = identity::page(agent, measured.last_seen, task) {
            let content = Content::Identity(Box::new(page));
            self.order(Order::Identity(agent.id, file(agent, path, content)));
        }
        self.list(agent, measured);
    }

    /// Lays out where the work of an agent stands; `content` is that of its last checkpoint, and `found` what its newest
    /// session shows now.
    pub fn work(
        &self,
        agent: &Agent,
        task: Option<&Task>,
        content: Option<&Checkpoint>,
        found: Option<&Findings>,
    ) {
        if let Some((path, text)) = work::page(agent, task, content, found) {
            self.order(Order::Work(agent.id, file(agent, path, Content::Text(text))));
        }
    }

    /// Lists an agent in its project's roster, and changes nothing else.
    pub fn list(&self, agent: &Agent, measured: Measured) {
        self.order(Order::listed(agent, measured));
    }

    /// Lays out a task as it is now.
    pub fn task(&self, task: Arc<Task>) {
        self.order(Order::Task(task));
    }

    pub fn post(&self, post: BoardPost) {
        self.order(Order::Post(post));
    }

    /// Of a signal that somebody of this project sent, or that is about an agent of it.
    pub fn signal(&self, project: &str, signal: SignalPage) {
        self.order(Order::Signal(project.to_owned(), Box::new(signal)));
    }

    /// Everything up to this record was put.
    pub fn put_up_to(&self, record: u64) {
        self.order(Order::PutUpTo(record));
    }

    /// MI2
    pub fn settle(&self, agent: AgentId) {
        let (done, is_done) = channel();
        self.order(Order::Settle { agent, done });
        let _ = is_done.recv_timeout(SETTLED_WITHIN);
    }

    /// Writes what waits, now.
    pub fn flush(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn order(&self, order: Order) {
        if let Some(sender) = &self.sender {
            let _ = sender.send(order);
        }
    }
}

fn file(agent: &Agent, path: PathBuf, content: Content) -> AgentFile {
    AgentFile { project: agent.launch.project.clone(), path, content, is_last: is_over(agent) }
}

fn is_over(agent: &Agent) -> bool {
    agent.state.roster() == perennial_core::state::Roster::Cemetery
}
