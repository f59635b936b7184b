//! The properties of the journal: every event that is committed is held against the model, the
//! world's truth, and what people were told.
//!
//! The record is folded here anew, apart from any daemon.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use perennial_core::agent::Agent;
use perennial_core::agents::RESUMED_AT_ONCE;
use perennial_core::effect::Plan;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, Move, NodeEvent, What};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Reason;
use perennial_core::restart::{RESTARTS_IN_WINDOW, WINDOW};
use perennial_core::session::Phase;
use perennial_core::state::{self, Cause, Roster, State};
use perennial_core::time::Time;

use crate::signs::Talk;
use crate::world::World;

#[derive(Debug, Default)]
pub struct Ledger {
    /// The journal, folded.
    pub record: Fleet,
    appends: usize,
    last_at: Time,
    tracks: BTreeMap<AgentId, Track>,
    /// Wakes and restarts that people asked for, and those that the journal has.
    pub wakes_asked: u64,
    wakes_recorded: u64,
    pub talks: BTreeMap<AgentId, Talk>,
    /// After how many tool calls each session was last reminded.
    pub reminders: BTreeMap<(AgentId, SessionNumber), u64>,
    /// A sign was lost or overtaken: the record need not know all that the machine does.
    pub is_blurred: bool,
    /// An append failed: what was heard before, and meant nothing beside it, is not told again.
    pub is_forgetful: bool,
}

/// What is remembered of one agent, beside its state.
#[derive(Debug, Default)]
struct Track {
    retries: VecDeque<Time>,
    /// Its wanted session waited in line at the end of an append.
    in_line: bool,
    /// It started out of the line, and has not announced itself yet.
    admitted: bool,
    /// The boot on which its newest session was begun.
    boot: u32,
}

impl World {
    /// Takes in what was committed since the last time.
    pub fn record_commits(&mut self) {
        while let Some(append) = self.journal.committed().get(self.ledger.appends) {
            let events: Vec<Event> = append.events().cloned().collect();
            self.ledger.appends += 1;
            let before = if self.looks_closely() { self.plans() } else { Vec::new() };
            let mut touched = BTreeSet::new();
            for event in &events {
                self.check_event(event);
                touched.extend(self.ledger.record.evolve(event));
            }
            self.check_notified(&events);
            self.judge_append(&events);
            self.check_touched(&before, &touched);
            self.check_whole();
        }
    }

    fn plans(&self) -> Vec<(Entity, Plan)> {
        let record = &self.ledger.record;
        let plan = |entity: Entity| (entity.clone(), record.plan(&entity, self.now));
        record.entities().map(plan).collect()
    }

    /// Whom an append did not touch is planned as before: planning the touched = planning all.
    fn check_touched(&mut self, before: &[(Entity, Plan)], touched: &BTreeSet<Entity>) {
        let record = &self.ledger.record;
        let changed = before
            .iter()
            .find(|(id, plan)| !touched.contains(id) && record.plan(id, self.now) != *plan);
        if let Some((id, plan)) = changed {
            self.broken("planning the touched = planning all", || {
                format!("{id} was planned {plan:?} before, and was not touched")
            });
        }
    }

    fn check_event(&mut self, event: &Event) {
        if event.at < self.ledger.last_at {
            self.broken("time never decreases", || format!("{event:?}"));
        }
        self.ledger.last_at = event.at;
        self.check_rest_of(event);
        match &event.what {
            What::Node(_, NodeEvent::DaemonStarted { epoch, .. }) => {
                if *epoch <= self.ledger.record.epoch() {
                    self.broken("epochs only grow", || format!("{epoch:?} again"));
                }
            }
            What::Node(
                _,
                NodeEvent::DaemonStopped { .. }
                | NodeEvent::JournalRestored { .. }
                | NodeEvent::RecordsLost { .. }
                | NodeEvent::RecordingsPruned { .. }
                | NodeEvent::AgentCleaned { .. },
            ) => {}
            What::Agent(id, what) => self.check_agent_event(*id, what, event.at),
            What::Message(id, what) => self.check_text(*id, what, event.at),
            What::Job(id, what) => self.check_job(*id, what),
            What::Task(id, what) => self.check_task(*id, what),
            What::Name(..) | What::Conversation(..) | What::Post(..) | What::Role(..) => {}
            What::Signal(..) | What::Escalation(..) => {}
        }
    }

    fn check_agent_event(&mut self, id: AgentId, event: &AgentEvent, at: Time) {
        let Some(agent) = self.ledger.record.agent(id).cloned() else {
            if !matches!(event, AgentEvent::Hatched(_)) {
                self.broken("an agent is born first", || format!("{} {event:?}", id.0));
            }
            return;
        };
        if !self.judge.has_gap(id) {
            self.check_sign(&agent, event);
        }
        match event {
            AgentEvent::Hatched(_) => {
                self.broken("an agent is born once", || format!("{}", id.0));
            }
            AgentEvent::Rehomed { .. } => {
                self.broken("no home is copied here", || format!("{}", id.0));
            }
            AgentEvent::Moved(moved) => self.check_move(&agent, moved, at),
            AgentEvent::SessionWanted { number, .. } => self.check_wanted(&agent, *number),
            AgentEvent::SessionStarting { number, .. } => {
                self.check_forward(&agent, *number, &[Phase::Wanted]);
                self.start_in_line(&agent);
            }
            AgentEvent::SessionRunning { number, .. } => {
                self.check_not_over(&agent, *number);
            }
            AgentEvent::SessionEnding { number, .. } => {
                self.check_not_over(&agent, *number);
                // What ends takes up no place: a person who restarts an agent does not wait for the line.
                self.track(id).admitted = false;
            }
            AgentEvent::SessionFound { number, .. } => self.check_found(id, *number),
            AgentEvent::SessionEnded { number, exit, .. } => {
                self.check_not_over(&agent, *number);
                self.check_exit(id, *number, *exit);
            }
            AgentEvent::Held(_)
            | AgentEvent::HoldLifted { .. }
            | AgentEvent::SessionProgressed { .. }
            | AgentEvent::ConversationFollowed { .. }
            | AgentEvent::WindowBegan { .. }
            | AgentEvent::ClockPassed { .. }
            | AgentEvent::ClockTold { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Work(_)
            | AgentEvent::Renamed { .. }
            | AgentEvent::RoleTaken { .. }
            | AgentEvent::RoleLeft { .. }
            | AgentEvent::Summarised { .. }
            | AgentEvent::LegacyLeft { .. }
            | AgentEvent::Snapshot(_)
            | AgentEvent::Handoff(_)
            | AgentEvent::Checkpoint(_)
            | AgentEvent::RoundPassed { .. }
            | AgentEvent::BurialAsked { .. }
            | AgentEvent::Rest(_)
            | AgentEvent::SettingsChanged { .. }
            | AgentEvent::PutOff { .. } => {}
        }
    }

    fn check_move(&mut self, agent: &Agent, moved: &Move, at: Time) {
        if !self.judge.has_gap(agent.id) {
            self.check_turn(agent, moved, at);
        }
        if state::next(agent.state, moved.cause) != Some(moved.to) {
            self.broken("G3: every move is legal", || {
                format!("{:?} by {:?} to {:?}", agent.state, moved.cause, moved.to)
            });
        }
        let stopped = agent.state == State::Sleeping && agent.reason == Reason::Stopped;
        if stopped && !matches!(moved.cause, Cause::Wake | Cause::Restarted | Cause::Buried) {
            self.broken("G4: stopped stays stopped", || format!("{moved:?}"));
        }
        if agent.state == State::Frozen && !matches!(moved.cause, Cause::Approved | Cause::Buried) {
            self.broken("3: frozen is left by approval only", || format!("{moved:?}"));
        }
        if matches!(moved.cause, Cause::Wake | Cause::Restarted) {
            self.ledger.wakes_recorded += 1;
            if self.ledger.wakes_recorded > self.ledger.wakes_asked {
                self.broken("G4: only people wake", || format!("{} woke", agent.id.0));
            }
            self.track(agent.id).retries.clear();
        }
        if moved.cause == Cause::Retry {
            let retries = &mut self.track(agent.id).retries;
            retries.push_back(at);
            retries.retain(|earlier| at.since(*earlier) < WINDOW);
            // Five, and one half open.
            let count = retries.len();
            if count > RESTARTS_IN_WINDOW + 1 {
                self.broken("no restart storm", || format!("{count} restarts in 10 min"));
            }
        }
        if moved.to != State::Waking {
            self.track(agent.id).admitted = false;
        }
    }

    fn track(&mut self, id: AgentId) -> &mut Track {
        self.ledger.tracks.entry(id).or_default()
    }

    fn check_wanted(&mut self, agent: &Agent, number: SessionNumber) {
        let next = match &agent.session {
            None => SessionNumber::FIRST,
            Some(last) => {
                if !last.is_over() {
                    self.broken("G1: one session at a time", || {
                        format!("{}.{number} wanted, {last:?}", agent.id.0)
                    });
                }
                last.number.next()
            }
        };
        if number != next {
            self.broken("session numbers count up", || format!("{}.{number}", agent.id.0));
        }
        // A number is wanted anew after a reboot took its session from the machine.
        let leftover = self.machine.sessions_of(agent.id).find(|(_, old)| old.is_alive());
        if let Some((old, _)) = leftover.filter(|_| !self.judge.has_gap(agent.id)) {
            self.broken("the last session is gone before the next is wanted", || {
                format!("{}.{old} lives while {number} is wanted", agent.id.0)
            });
        }
        let boot = self.machine.boot;
        self.track(agent.id).boot = boot;
    }

    /// Where every record can be read, the journal knows every session that a holder has.
    fn check_found(&mut self, id: AgentId, number: SessionNumber) {
        if self.judge.has_gap(id) {
            return;
        }
        self.broken("a session is found only where records were lost", || {
            format!("{}.{number}", id.0)
        });
    }

    fn check_not_over(&mut self, agent: &Agent, number: SessionNumber) {
        let current = agent.session.as_ref().filter(|session| session.number == number);
        if current.is_none_or(|session| session.is_over()) {
            self.broken("S2: phases only go forward", || {
                format!("{}.{number} after {:?}", agent.id.0, agent.session)
            });
        }
    }

    fn check_forward(&mut self, agent: &Agent, number: SessionNumber, from: &[Phase]) {
        self.check_not_over(agent, number);
        if agent.session.as_ref().is_some_and(|session| !from.contains(&session.phase)) {
            self.broken("S2: phases only go forward", || {
                format!("{}.{number} after {:?}", agent.id.0, agent.session)
            });
        }
    }

    /// F2: at most two at a time start out of the line.
    fn start_in_line(&mut self, agent: &Agent) {
        if !std::mem::take(&mut self.track(agent.id).in_line) {
            return;
        }
        self.track(agent.id).admitted = true;
        let admitted = self.ledger.tracks.values().filter(|track| track.admitted).count();
        if admitted > RESUMED_AT_ONCE {
            self.broken("F2: two at a time after a reboot", || format!("{admitted} at once"));
        }
    }

    /// An exit is recorded as it was, or as unknown where nobody could know it.
    fn check_exit(&mut self, id: AgentId, number: SessionNumber, exit: Exit) {
        let begun = self.track(id).boot;
        let boot = self.machine.boot;
        let session = self.machine.session(id, number).clone();
        let is_true = match exit {
            Exit::Code(_) | Exit::KillSignal(_) => session.ended == Some(exit),
            Exit::Unknown(UnknownExit::HolderDied) => {
                session.holder_died && session.exit_file.is_none()
            }
            Exit::Unknown(UnknownExit::NotStarted) => session.process.is_none(),
            Exit::Unknown(UnknownExit::MachineRestarted) => boot > begun,
            Exit::Unknown(UnknownExit::HomeCopied) => false,
        };
        // What can't be read may be that it began.
        if !is_true && !self.judge.has_gap(id) {
            self.broken("I4: exits are recorded as they were", || {
                format!("{}.{number}: {exit:?}, truth {session:?}", id.0)
            });
        }
        if session.is_alive() {
            self.broken("what is recorded as ended has ended", || format!("{}.{number}", id.0));
        }
    }

    /// After a whole append, states and sessions agree, and names are held once.
    fn check_whole(&mut self) {
        let mut names = BTreeSet::new();
        let mut found: Option<(&'static str, String)> = None;
        for agent in self.ledger.record.agents() {
            let living = agent.state.roster() != Roster::Cemetery;
            let key = agent.name.as_ref().map(|name| name.key());
            if living && key.is_some_and(|key| !names.insert(key)) {
                found = Some(("F1: a name is held once", format!("{:?}", agent.name)));
            }
            if !agrees(agent) && !self.judge.has_gap(agent.id) {
                found = Some(("state and session agree", crate::words::agent(agent, self.now)));
            }
            let track = self.ledger.tracks.entry(agent.id).or_default();
            let phase = agent.session.as_ref().map(|session| session.phase);
            track.in_line = phase == Some(Phase::Wanted);
            track.admitted &= phase != Some(Phase::Wanted);
        }
        if let Some((property, what)) = found {
            self.broken(property, || what);
        }
    }
}

/// Whether the state of an agent and the phase of its session can go together.
fn agrees(agent: &Agent) -> bool {
    let Some(session) = &agent.session else {
        return false;
    };
    let ending_or_over = matches!(session.phase, Phase::Ending(_) | Phase::Ended);
    match agent.state {
        // At the operator's limit it waits in line.
        State::Hatching => {
            matches!(session.phase, Phase::Wanted | Phase::Starting | Phase::Running)
        }
        State::Waking => !session.is_over(),
        // A hook may be faster than the word of the holder.
        State::Working | State::Waiting if !agent.launch.is_bare() => {
            matches!(session.phase, Phase::Starting | Phase::Running)
        }
        State::HandingOff => matches!(session.phase, Phase::Running | Phase::Ending(_)),
        State::Working | State::Waiting => session.phase == Phase::Running,
        State::Crashed => ending_or_over && agent.until.is_some(),
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            ending_or_over
        }
        // Nothing here makes it: an unreadable record would.
        State::Unknown => true,
    }
}
