//! What the mirror is given: agents, posts and signals, after the commit that has them. Decides nothing.

use std::sync::Arc;

use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, PostId};
use perennial_core::message::Sender;
use perennial_core::post::{Author, PostEvent};
use perennial_core::signal::{self, Derived, Party, SignalEvent, SignalKind};
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_engine::mirror::{BoardPost, Earlier, Measured, POSTS, SignalPage};
use perennial_engine::supervisor::Supervisor;
use perennial_store::load::recall;
use perennial_store::{RosterQuery, Store};
use serde_json::{Map, Value, json};

use super::driver::Driver;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::driving::presence::Presence;
use crate::daemon::showing::{signal as showing, view};
use crate::daemon::time::rfc3339;

/// So many of the dead are listed after a start.
const DEAD: usize = 100;

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
    /// Lays out what was committed.
    pub fn mirror(&self, events: &[Event], touched: &[AgentId], now: Time) {
        let Driver { supervisor, presence, world, .. } = self;
        let (fleet, mirror) = (supervisor.fleet(), &world.projections.mirror);
        for agent in touched.iter().filter_map(|id| fleet.agent(*id)) {
            mirror.put(agent, measured(agent, supervisor, presence, now));
        }
        let mut ended = None;
        for event in events {
            if let Some((id, AgentEvent::SessionEnded { number, .. })) = event.of_agent() {
                ended = Some((id, *number));
            }
            let of_same = event.of_agent().and_then(|(id, _)| ended.filter(|(of, _)| *of == id));
            if let Some(derived) = signal::derived(event, of_same.map(|(_, number)| number)) {
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
    let mut payload = Map::from_iter([("identity_name".to_owned(), Value::from(name.clone()))]);
    let mut put = |field: &str, value: Value| _ = payload.insert(field.to_owned(), value);
    let mut output_of = None;
    if derived.kind == SignalKind::AgentRegistered {
        put("node_id", Value::Null);
        put("tmux_session", json!(agent.launch.host.tmux().map(|place| place.session.clone())));
    } else if derived.kind == SignalKind::AgentCrashed {
        put("last_seen", rfc3339(at).into());
        put("last_output", Value::Null);
        let session = |number| harnesses.holder(agent.id).session(number);
        output_of = derived.session.map(session);
    } else {
        put("exit_reason", json!(derived.exit_reason));
    }
    SignalPage {
        at,
        kind: derived.kind.word(),
        source: table.source.word(),
        target: table.target.word(),
        from: match table.source {
            Party::Spawn => "perennial".to_owned(),
            Party::Runner | Party::Guardian => name,
        },
        to: signal::parent(fleet, agent.id).map_or_else(|| "operator".to_owned(), view::name),
        payload,
        output_of,
    }
}
