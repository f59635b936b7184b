//! The simulated machine: which processes live, what is in the holders' directories, which boot.
//!
//! Holds the truth that the journal is measured against; decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perennial_core::conversation::ConversationId;
use perennial_core::exit::Exit;
use perennial_core::fact::Fact;
use perennial_core::hearing::Kept;
use perennial_core::id::{AgentId, BootId, Epoch, JobId, MessageId, SessionNumber};
use perennial_core::message::{DeliveryId, Outcome};
use perennial_core::session::{Pace, Process};
use perennial_core::time::Time;

use crate::cli::{Cli, Prepared, Window};
use crate::daemon::Life;
use crate::facts::Shown;
use crate::jobs::JobRun;
use crate::program::Program;
use crate::shim::Order;

#[derive(Debug, Default)]
pub struct Machine {
    pub boot: u32,
    /// How far the wall clock is behind the time of this world.
    pub behind: Duration,
    pub shims: BTreeMap<AgentId, Shim>,
    pub sessions: BTreeMap<(AgentId, SessionNumber), Session>,
    pub programs: BTreeMap<AgentId, Program>,
    pub jobs: BTreeMap<(JobId, u32), JobRun>,
    /// What lies on the disk of the vendor's conversations.
    pub conversations: BTreeMap<ConversationId, Window>,
    pub conversation_count: u64,
    /// What their transcripts hold.
    pub transcripts: BTreeMap<ConversationId, Vec<Fact>>,
    /// What daemons kept of the sessions that they heard.
    pub kept: BTreeMap<AgentId, Kept>,
    /// Facts that no daemon heard, in their order.
    pub missed: Vec<Shown>,
    /// The daemon that has read those, and the files, at its start.
    pub looked_by: Option<Life>,
    next_pid: i32,
    next_shim: u64,
}

/// What is true of one session, and what its directory holds.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its directory exists: the number is taken.
    pub claimed: bool,
    /// Claimed by a daemon so that nobody starts it any more.
    pub void: bool,
    pub program: Option<Program>,
    pub prepared: Option<Prepared>,
    pub cli: Option<Cli>,
    pub process: Option<Process>,
    /// Its program could not be executed.
    pub failed: bool,
    /// How its main process ended.
    pub ended: Option<Exit>,
    /// Its children live on after it.
    pub leftovers: bool,
    /// The durable exit file.
    pub exit_file: Option<Exit>,
    pub holder_died: bool,
    /// It was on the machine when that went down.
    pub rebooted: bool,
    /// What its holder types now, and how the last attempt went.
    pub typing: Option<DeliveryId>,
    pub delivered: Option<(DeliveryId, Outcome)>,
    /// Which daemon was answered about which attempt.
    pub answered: BTreeSet<(Life, MessageId, u32)>,
}

/// A holder that lives.
#[derive(Debug, Clone)]
pub struct Shim {
    pub id: u64,
    pub epoch: Epoch,
    /// The daemon that it talks to.
    pub life: Option<Life>,
    pub hung: bool,
    /// When the last of what it was told arrives.
    pub told_until: Time,
    /// What came while it hung.
    pub inbox: Vec<(Life, Epoch, Order)>,
    pub number: Option<SessionNumber>,
    pub asked: Option<Pace>,
    /// Its tree is gone, and so is its main process.
    pub over: bool,
    /// The end was acknowledged: nobody needs the exit file.
    pub acknowledged: bool,
    pub queued: Option<SessionNumber>,
    pub releasing: bool,
}

impl Session {
    pub fn is_alive(&self) -> bool {
        self.process.is_some() && self.ended.is_none() && !self.rebooted
    }

    /// KILL to every process of it.
    pub fn end_processes(&mut self) {
        if self.is_alive() {
            self.ended = Some(Exit::KillSignal(9));
        }
        self.leftovers = false;
    }

    /// Any process of it lives.
    pub fn has_processes(&self) -> bool {
        self.is_alive() || self.leftovers
    }
}

impl Machine {
    pub fn boot_id(&self) -> BootId {
        BootId(format!("boot-{}", self.boot))
    }

    pub fn new_process(&mut self) -> Process {
        self.next_pid += 1;
        Process { pid: 1000 + self.next_pid, start_ticks: 1 }
    }

    pub fn new_shim(&mut self, epoch: Epoch, life: Life) -> Shim {
        self.next_shim += 1;
        Shim {
            id: self.next_shim,
            epoch,
            life: Some(life),
            hung: false,
            told_until: Time::default(),
            inbox: Vec::new(),
            number: None,
            asked: None,
            over: true,
            acknowledged: true,
            queued: None,
            releasing: false,
        }
    }

    pub fn session(&mut self, agent: AgentId, number: SessionNumber) -> &mut Session {
        self.sessions.entry((agent, number)).or_default()
    }

    /// The agent's sessions, oldest first.
    pub fn sessions_of(&self, agent: AgentId) -> impl Iterator<Item = (SessionNumber, &Session)> {
        let range = (agent, SessionNumber(0))..=(agent, SessionNumber(u32::MAX));
        self.sessions.range(range).map(|((_, number), session)| (*number, session))
    }

    /// The session of this agent whose main process lives.
    pub fn alive(&self, agent: AgentId) -> Option<SessionNumber> {
        self.sessions_of(agent).find(|(_, session)| session.is_alive()).map(|(number, _)| number)
    }

    /// Power gone and back: no process is left, and what was not durable may be gone.
    pub fn reboot(&mut self, mut claim_is_lost: impl FnMut() -> bool) {
        self.boot += 1;
        self.shims.clear();
        for run in self.jobs.values_mut().filter(|run| run.ended.is_none()) {
            run.process = None;
        }
        for session in self.sessions.values_mut() {
            session.rebooted = true;
            session.leftovers = false;
            if session.exit_file.is_none() && claim_is_lost() {
                session.claimed = false;
            }
        }
    }
}
