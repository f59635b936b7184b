//! What the mirror is given: agents, tasks, posts and signals, after the commit that has them. Decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, PostId, TaskId};
use perennial_core::message::Sender;
use perennial_core::post::{Author, PostEvent};
use perennial_core::signal::{self, Beside, Derived, Party, SignalEvent, SignalKind};
use perennial_core::state::{Roster, State};
use perennial_core::task::{Task, TaskEvent};
use perennial_core::time::Time;
use perennial_engine::mirror::{BoardPost, Earlier, Measured, POSTS, SignalPage, work_file};
use perennial_engine::supervisor::Supervisor;
use perennial_store::checkpoint;
use perennial_store::load::recall;
use perennial_store::{RosterQuery, Store};

use super::driver::Driver;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::driving::presence::Presence;
use crate::daemon::showing::{signal as showing, view};

/// At most this many of the dead are listed after a start.
const DEAD: usize = 100;
/// At most this many records are read of those that a killed daemon did not lay out.
const MISSED: usize = 10_000;

/// What the mirror shows that has left memory. What can't be read is not shown.
pub fn earlier(journal: &Arc<dyn Store>) -> impl FnOnce() -> Earlier + Send + 'static {
    let journal = Arc::clone(journal);
    move || {
        let last = Entity::Post(PostId(u128::MAX));
        let posts = journal.streams_before(&last, POSTS).unwrap_or_default();
        let posts = posts.iter().filter_map(|record| post(&*journal, record.event.as_ref().ok()?));
        let query = RosterQuery::InState { state: State::Dead, before: None, limit: DEAD };
        let dead = journal.roster(query).unwrap_or_default();
        let ended = dead.iter().filter_map(|row| recall(&*journal, row.agent).ok().flatten());
        Earlier { posts: posts.collect(), ended: ended.collect() }
    }
}

fn post(journal: &dyn Store, event: &Event) -> Option<BoardPost> {
    let What::Post(id, what) = &event.what else { return None };
    let (by, title, text) = match what {
        PostEvent::Written { by, title, text } => {
            let by = match by {
                Author::Person => "operator".to_owned(),
                Author::Agent { name: Some(name), .. } => name.to_string(),
                Author::Agent { id, name: None } => id.to_string(),
            };
            (by, title.clone(), journal.text(text.digest).ok()?.unwrap_or_default())
        }
        PostEvent::VacancyAnnounced(vacancy) => {
            let title = format!("role {} is vacant", vacancy.role);
            ("perennial".to_owned(), Some(title), String::new())
        }
    };
    Some(BoardPost { id: id.to_string(), at: event.at, by, title, text })
}

pub fn measured(
    agent: &Agent,
    supervisor: &Supervisor,
    presence: &Presence,
    now: Time,
) -> Measured {
    let sample = supervisor.hearing(agent.id).and_then(|hearing| hearing.sample());
    Measured {
        last_seen: view::last_seen(agent, presence, now),
        context_percent: sample.and_then(|(sample, _)| u8::try_from(sample.usable_percent()).ok()),
    }
}

impl Driver {
    /// Lays out what a daemon that was killed had committed and not laid out. Where nobody knows what that is, or it is
    /// too much, every agent.
    pub fn mirror_what_was_missed(&mut self) {
        let now = self.now();
        let (fleet, journal) = (self.supervisor.fleet(), &self.world.journal);
        let before = self.world.projections.laid_out_before;
        let records = before.map_or_else(Vec::new, |before| {
            journal.read(before, MISSED).unwrap_or_else(|error| {
                tracing::warn!(%error, "what the mirror misses can't be read");
                Vec::new()
            })
        });
        let is_all = before.is_none() || records.len() == MISSED;
        let events = records.into_iter().filter_map(|record| record.event.ok());
        // The board's posts were read at its start.
        let events: Vec<Event> =
            events.filter(|event| !matches!(event.what, What::Post(..))).collect();
        let touched: Vec<AgentId> = match is_all {
            true => fleet.agents().map(|agent| agent.id).collect(),
            false => events.iter().filter_map(|event| Some(event.of_agent()?.0)).collect(),
        };
        self.mirror(&events, &touched, now);
        if is_all {
            fleet.agents().for_each(|agent| self.mirror_work(agent));
        }
    }

    /// Lays out anew what the newest session of an agent shows of its work. No event tells of that: a daemon that was killed
    /// leaves it to the next one, which reads the conversation again.
    pub fn mirror_found(&self, agent: AgentId) {
        if let Some(agent) = self.supervisor.fleet().agent(agent) {
            self.mirror_work(agent);
        }
    }

    fn mirror_work(&self, agent: &Agent) {
        let Driver { supervisor, world, .. } = self;
        let task = supervisor.fleet().tasks().current(agent.id);
        let digest = agent.checkpoint.as_ref().map(|head| head.text.digest);
        // A content that can't be read is not shown.
        let read = |digest| checkpoint::content(&*world.journal, digest).ok().flatten();
        let newest = agent.session.as_ref().map(|session| session.number);
        let found = world.reader.findings(agent.id).filter(|(number, _)| Some(*number) == newest);
        let found = found.as_ref().map(|(_, found)| found);
        world.projections.mirror.work(agent, task, digest.and_then(read).as_ref(), found);
    }

    /// Lays out what was committed.
    pub fn mirror(&self, events: &[Event], touched: &[AgentId], now: Time) {
        let Driver { supervisor, presence, world, .. } = self;
        let (fleet, mirror) = (supervisor.fleet(), &world.projections.mirror);
        let tasks = || changed_tasks(events).filter_map(|id| fleet.tasks().get(id));
        // A task that an agent goes on with, or leaves, is part of its file.
        let workers = tasks().filter_map(|task| task.worker);
        let agents: BTreeSet<AgentId> = touched.iter().copied().chain(workers).collect();
        for agent in agents.into_iter().filter_map(|id| fleet.agent(id)) {
            let task = fleet.tasks().current(agent.id);
            mirror.put(agent, measured(agent, supervisor, presence, now), task);
        }
        let changed = work_changed(events, touched, tasks()).into_iter();
        changed.filter_map(|id| fleet.agent(id)).for_each(|agent| self.mirror_work(agent));
        let copies = changed_tasks(events).filter_map(|id| fleet.tasks().copy(id));
        copies.for_each(|task| mirror.task(task));
        // A batch has one moment.
        let moments = events.chunk_by(|one, other| one.at == other.at);
        for (event, moment) in moments.flat_map(|it| it.iter().map(move |event| (event, it))) {
            let beside = |agent| Beside::of(agent, moment.iter());
            if let Some(derived) = signal::derived(event, beside) {
                if let Some(agent) = fleet.agent(derived.agent) {
                    let page = emitted(fleet, agent, &derived, &world.harnesses, event.at);
                    mirror.signal(&agent.launch.project, page);
                }
            } else if let What::Signal(_, sent) = &event.what {
                let (project, page) = sent_page(fleet, sent, event.at);
                if let Some(project) = project {
                    mirror.signal(&project, page);
                }
            } else if let Some(post) = post(&*world.journal, event) {
                mirror.post(post);
            }
        }
    }
}

/// The agents whose work, or whose file of it, is another after these events.
fn work_changed<'a>(
    events: &[Event],
    touched: &[AgentId],
    tasks: impl Iterator<Item = &'a Task>,
) -> BTreeSet<AgentId> {
    let changes = |event: &AgentEvent| match event {
        AgentEvent::Hatched(_)
        | AgentEvent::Checkpoint(_)
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::Summarised { .. }
        | AgentEvent::Renamed { .. }
        | AgentEvent::SettingsChanged { .. } => true,
        AgentEvent::Moved(moved) => moved.to.roster() == Roster::Cemetery,
        AgentEvent::Rehomed { .. }
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionEnded { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::ClockPassed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::Rest(_)
        | AgentEvent::Handoff(_)
        | AgentEvent::PutOff { .. } => false,
    };
    let of_agents = events.iter().filter_map(Event::of_agent);
    let changed = of_agents.filter(|(_, event)| changes(event)).map(|(id, _)| id);
    // Whoever had a task that was moved is no longer its worker.
    let has_moved =
        events.iter().any(|event| matches!(&event.what, What::Task(_, moved) if is_move(moved)));
    let before = touched.iter().copied().filter(|_| has_moved);
    changed.chain(before).chain(tasks.filter_map(|task| task.worker)).collect()
}

/// Whether a task may have another worker by it, or none.
fn is_move(event: &TaskEvent) -> bool {
    matches!(event, TaskEvent::Queued { .. } | TaskEvent::Reopened { .. } | TaskEvent::Taken { .. })
}

/// The tasks that events are about, each once.
fn changed_tasks(events: &[Event]) -> impl Iterator<Item = TaskId> {
    let of = |event: &Event| match &event.what {
        What::Task(id, _) => Some(*id),
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..) => None,
    };
    events.iter().filter_map(of).collect::<BTreeSet<TaskId>>().into_iter()
}

fn sent_page(fleet: &Fleet, sent: &SignalEvent, at: Time) -> (Option<String>, SignalPage) {
    let SignalEvent::Sent { kind, by, by_name, to, to_name, payload } = sent;
    let project = |id: Option<AgentId>| Some(fleet.agent(id?)?.launch.project.clone());
    let table = kind.table();
    let from = match (by, by_name) {
        (Sender::Person, _) => "operator".to_owned(),
        (Sender::Perennial, _) => "perennial".to_owned(),
        (Sender::Agent(_), Some(name)) => name.to_string(),
        (Sender::Agent(id), None) => id.to_string(),
    };
    let page = SignalPage {
        at,
        kind: kind.word(),
        source: table.source.word(),
        target: table.target.word(),
        from,
        to: to_name.as_ref().map_or_else(|| to.to_string(), ToString::to_string),
        payload: showing::json(payload),
        output_of: None,
    };
    // Of who is below: its own project.
    let whose = match table.source {
        Party::Spawn | Party::Runner => project(by.agent()).or_else(|| project(to.agent())),
        Party::Guardian => project(to.agent()),
    };
    (whose, page)
}

fn emitted(
    fleet: &Fleet,
    agent: &Agent,
    derived: &Derived,
    harnesses: &Harnesses,
    at: Time,
) -> SignalPage {
    let table = derived.kind.table();
    let name = view::name(agent);
    let (task, work_file) = (fleet.tasks().current(agent.id), work_file(agent));
    let about = showing::About {
        name: name.clone(),
        task: task.map(|task| task.id),
        tmux_session: agent.launch.host.tmux().map(|place| place.session.as_str()),
        work_file: work_file.as_deref(),
        // Read by the mirror's own thread.
        last_output: None,
    };
    let payload = showing::emitted((derived.kind, at), &derived.says, &about);
    let is_crash = derived.kind == SignalKind::AgentCrashed;
    let session = |number| harnesses.holder(agent.id).session(number);
    let output_of = derived.session.filter(|_| is_crash).map(session);
    let guardian =
        signal::parent(fleet, agent.id).map_or_else(|| "operator".to_owned(), view::name);
    let (from, to) = match table.source {
        Party::Spawn => ("perennial".to_owned(), guardian),
        Party::Runner => (name, guardian),
        Party::Guardian => (guardian, name),
    };
    SignalPage {
        at,
        kind: derived.kind.word(),
        source: table.source.word(),
        target: table.target.word(),
        from,
        to,
        payload,
        output_of,
    }
}
