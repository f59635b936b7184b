//! Agents: list, show, why, and the verbs that change them.

use perennial_store::Store;
use std::collections::BTreeSet;

use axum::extract::{Path as Route, Query, State};
use axum::http::{HeaderValue, StatusCode};
use perennial_api::agent as wire;
use perennial_api::answer::{Buried, Chapter, Why};
use perennial_api::request;
use perennial_api::{Home, Problem};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::entity::Entity;
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::state::{Roster, State as AgentState};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::holders::Size;
use perennial_engine::host::{environment, recording};
use perennial_engine::supervisor::Rejection;
use perennial_store::journal::{ReadError, Version};
use perennial_store::record::Record;
use perennial_store::stored;
use serde::Deserialize;

use super::answer::{Answer, Trouble, json, json_with};
use super::ended::Found;
use super::extract::{Body, CallerIdentity};
use super::{Shared, Surface};
use crate::daemon::driving::awaited::Milestone;
use crate::daemon::driving::driver::{Closing, FleetView};
use crate::daemon::showing::problems;
use crate::daemon::showing::sentences;
use crate::daemon::showing::view::{self, Filter};
use crate::daemon::surface::checks;
use crate::daemon::time;

/// How many agents are dead, beside a list that may leave them out.
const DEAD: &str = "x-dead";
/// A story has at most so many chapters, the newest.
const CHAPTERS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Listing {
    /// The cemetery too.
    all: bool,
    roster: Option<String>,
    state: Option<String>,
    project: Option<String>,
    stale: Option<u64>,
}

pub async fn list(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Query(query): Query<Listing>,
) -> Answer {
    let filter = Filter {
        all: query.all,
        roster: query.roster.as_deref().map(roster).transpose()?,
        state: query.state.as_deref().map(agent_state).transpose()?,
        project: query.project,
        stale_seconds: query.stale,
    };
    let (over, asked) = (surface.over, filter.clone());
    let (mut agents, in_memory, dead) = surface
        .driver
        .look(move |view| {
            let fleet = view.supervisor.fleet();
            let dead = fleet.agents().filter(|agent| agent.state == AgentState::Dead).count();
            let in_memory: BTreeSet<AgentId> = match asked.has_dead() {
                true => fleet.agents().map(|agent| agent.id).collect(),
                false => BTreeSet::new(),
            };
            let dead = over + view.supervisor.retired() + dead as u64;
            (view::listing(view, &asked), in_memory, dead)
        })
        .await?;
    let home = surface.home.clone();
    agents = tokio::task::spawn_blocking(move || {
        agents.iter_mut().for_each(|agent| add_activity(&home, agent));
        agents
    })
    .await
    .map_err(|_| Closing)?;
    let mut answer = match filter.has_dead() {
        true => surface.listed(agents, in_memory, filter),
        false => json(&agents)?,
    };
    answer.headers_mut().insert(DEAD, HeaderValue::from(dead));
    Ok(answer)
}

fn roster(word: &str) -> Result<Roster, Trouble> {
    let all = [Roster::Living, Roster::Freezer, Roster::Cemetery];
    all.into_iter().find(|roster| roster.word() == word).ok_or_else(|| {
        Trouble(
            Problem::new(
                400,
                "bad-roster",
                format!("there is no roster '{}'", checks::sanitised(word)),
            )
            .next("use living, freezer or cemetery"),
        )
    })
}

fn agent_state(word: &str) -> Result<AgentState, Trouble> {
    AgentState::ALL.into_iter().find(|state| state.word() == word).ok_or_else(|| {
        let words: Vec<&str> = AgentState::ALL.into_iter().map(AgentState::word).collect();
        Trouble(
            Problem::new(
                400,
                "bad-state",
                format!("there is no state '{}'", checks::sanitised(word)),
            )
            .next(format!("use one of {}", words.join(", "))),
        )
    })
}

/// The last sign of work of a bare command is the last thing it printed.
pub fn add_activity(home: &Home, agent: &mut wire::Agent) {
    let Some(session) = &agent.session else { return };
    let Some((id, number)) = session.id.split_once('.') else { return };
    let (Ok(id), Ok(number)) = (id.parse::<AgentId>(), number.parse()) else { return };
    let dir = HolderDirectory::new(&home.holders(), id).session(SessionNumber(number));
    if let Some(at) = recording::last_written(&dir) {
        let at = time::rfc3339(at);
        if agent.last_activity.as_ref().is_none_or(|known| *known < at) {
            agent.last_activity = Some(at);
        }
    }
}

pub async fn show(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Route(target): Route<String>,
) -> Answer {
    json(&surface.find(target).await?)
}

/// An empty name is nobody's, and not another route.
pub async fn nobody(surface: State<Shared>, caller: CallerIdentity) -> Answer {
    show(surface, caller, Route(String::new())).await
}

pub async fn why(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Route(target): Route<String>,
) -> Answer {
    let agent = surface.find(target).await?;
    let id: AgentId = agent.id.parse().map_err(|_| gone())?;
    let story = surface.read(move |journal| story(journal, id)).await?;
    let texts = match caller {
        Caller::Person => surface.waiting_texts(id).await?,
        // What was said to an agent is for persons.
        Caller::Agent(_) | Caller::Job | Caller::Viewer => Vec::new(),
    };
    json(&Why { agent, story, texts })
}

/// The newest chapters, the oldest of them first.
fn story(journal: &dyn Store, id: AgentId) -> Result<Vec<Chapter>, ReadError> {
    let mut story = Vec::new();
    let mut before = Version::END;
    while story.len() < CHAPTERS {
        let left = CHAPTERS - story.len();
        let page = journal.read_stream_back(&Entity::Agent(id), before, left)?;
        let Some(first) = page.last() else { break };
        before = first.version;
        story.extend(page.iter().map(chapter));
    }
    story.reverse();
    Ok(story)
}

fn chapter(record: &Record) -> Chapter {
    let (kind, text) = match &record.event {
        Ok(event) => (stored::kind(&event.what), sentences::sentence(&event.what)),
        Err(unreadable) => ("unreadable", unreadable.to_string()),
    };
    Chapter { seq: record.seq.0, at: time::rfc3339(record.at), text, kind: kind.to_owned() }
}

pub async fn spawn(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Body(body): Body<request::Spawn>,
) -> Answer {
    surface.authorise(caller, Verb::Spawn, None).await?;
    let name = body.name.as_deref().map(checks::name).transpose()?;
    let role = body.role.as_deref().map(checks::role).transpose()?;
    let restart = checks::restart(body.restart.as_deref())?;
    let conversation = body.conversation.as_deref().map(checks::conversation).transpose()?;
    let launch = checks::launch(&body, &surface.harnesses)?;
    if let Some(id) = &conversation
        && !surface.harnesses.has_conversation(&launch.harness, &body.env, id)
    {
        return Err(Trouble(
            Problem::new(404, "no-such-conversation", format!("there is no conversation {id}"))
                .because(format!("{} has no transcript of it, and we have no copy", launch.harness))
                .next("its id is the name of its transcript file"),
        ));
    }
    let id = AgentId(uuid::Uuid::now_v7().as_u128());
    let holder = HolderDirectory::new(&surface.home.holders(), id);
    holder
        .create()
        .and_then(|()| environment::write(holder.path(), &body.env))
        .map_err(|error| environment_not_kept(&error))?;
    let spawn = Spawn { id, name, role, parent: body.parent, launch, restart, conversation };
    if let Err(trouble) = surface.command_agents(caller, Command::Spawn(Box::new(spawn))).await {
        // Nobody was born: nothing of it stays.
        let _ = std::fs::remove_dir_all(holder.path());
        return Err(trouble);
    }
    let answer = begun(&surface, id, StatusCode::CREATED).await;
    if let Some([rows, cols]) = body.size {
        surface.holders.resize(id, SessionNumber::FIRST, Size { rows, cols });
    }
    answer
}

fn environment_not_kept(error: &std::io::Error) -> Trouble {
    Trouble(
        Problem::new(503, "not-recorded", "nothing was changed")
            .because(format!("the agent's environment can't be kept: {error}"))
            .next("sessions go on; make room on the disk and try again"),
    )
}

/// The agent once its session runs; one that came to nothing is a problem.
async fn begun(surface: &Surface, id: AgentId, status: StatusCode) -> Answer {
    surface.driver.reached(id, Milestone::Begun).await?;
    let (agent, failed) = surface
        .driver
        .look(move |view| {
            let known = view.supervisor.fleet().agent(id)?;
            let exit = known.session.as_ref().and_then(|session| session.exit);
            let failed = exit == Some(Exit::Unknown(UnknownExit::NotStarted));
            Some((shown_now(view, known), failed))
        })
        .await?
        .ok_or_else(gone)?;
    if failed {
        return Err(Trouble(
            Problem::new(422, "not-started", format!("{} could not be started", agent.name))
                .because(agent.evidence.fact.clone())
                .next(format!("perennial why {} tells what happens next", agent.name)),
        ));
    }
    json_with(status, &agent)
}

pub async fn wake(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Route(target): Route<String>,
) -> Answer {
    let agents = surface.command_agents(caller, Command::Wake(target)).await?;
    begun(&surface, *agents.first().ok_or_else(gone)?, StatusCode::OK).await
}

pub async fn stop(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Route(target): Route<String>,
    Body(body): Body<request::Stop>,
) -> Answer {
    let agents = surface.command_agents(caller, Command::Stop(target)).await?;
    let id = *agents.first().ok_or_else(gone)?;
    if body.wait {
        surface.driver.reached(id, Milestone::Over).await?;
    }
    json(&surface.find(id.to_string()).await?)
}

pub async fn stop_all(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
) -> Answer {
    let mut stopped = Vec::new();
    for id in surface.command_agents(caller, Command::StopAll).await? {
        surface.driver.reached(id, Milestone::Over).await?;
        stopped.push(surface.find(id.to_string()).await?);
    }
    json(&stopped)
}

pub async fn rename(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Route(target): Route<String>,
    Body(body): Body<request::Rename>,
) -> Answer {
    let name = checks::name(&body.name)?;
    let agents = surface.command_agents(caller, Command::Rename { target, name }).await?;
    json(&surface.find(agents.first().ok_or_else(gone)?.to_string()).await?)
}

pub async fn bury(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Route(target): Route<String>,
    Body(body): Body<request::Bury>,
) -> Answer {
    let summary = checks::summary(&body.summary)?;
    let agents = surface.command_agents(caller, Command::Bury { target, summary }).await?;
    let id = *agents.first().ok_or_else(gone)?;
    surface.driver.reached(id, Milestone::Over).await?;
    let agent = surface.find(id.to_string()).await?;
    let returned = match caller {
        Caller::Person => surface.returned_texts(id).await?,
        // What was said to an agent is for persons.
        Caller::Agent(_) | Caller::Job | Caller::Viewer => Vec::new(),
    };
    json(&Buried { agent, returned })
}

fn shown_now(view: &FleetView<'_>, agent: &perennial_core::agent::Agent) -> wire::Agent {
    view::agent(agent, view)
}

fn gone() -> Trouble {
    Trouble(
        Problem::new(404, "no-such-agent", "there is no such agent")
            .next("perennial ls --all shows everyone"),
    )
}

impl Surface {
    /// Has the core decide, and returns what it was about once that is durable.
    pub async fn command(&self, caller: Caller, command: Command) -> Result<Vec<Entity>, Trouble> {
        let request = Request { caller, command };
        match self.driver.request(request.clone()).await? {
            Ok(about) => Ok(about),
            Err(Rejection::Refused(Refusal::NoSuchAgent { target })) => {
                match self.resolve(target.clone()).await? {
                    Found::Ended(ended) => Err(Trouble(self.refused(request, *ended).await?)),
                    Found::InMemory(_) => Err(gone()),
                }
            }
            Err(rejection) => {
                let problem = self
                    .driver
                    .look(move |view| problems::rejection(&rejection, view.supervisor.fleet()));
                Err(Trouble(problem.await?))
            }
        }
    }

    /// The same, for a command that is about agents.
    async fn command_agents(
        &self,
        caller: Caller,
        command: Command,
    ) -> Result<Vec<AgentId>, Trouble> {
        let about = self.command(caller, command).await?;
        Ok(about.iter().filter_map(Entity::agent).collect())
    }

    /// One agent as it is shown now.
    pub async fn find(&self, target: String) -> Result<wire::Agent, Trouble> {
        let asked = target.clone();
        let look = |asked: String| {
            self.driver.look(move |view| {
                let agent = view.supervisor.fleet().holder_of(&asked)?;
                Some(shown_now(view, agent))
            })
        };
        let mut agent = match look(asked).await? {
            Some(agent) => agent,
            None => match self.resolve(target).await? {
                Found::InMemory(id) => look(id.to_string()).await?.ok_or_else(gone)?,
                Found::Ended(ended) => self.ended(ended.agent).await?,
            },
        };
        add_activity(&self.home, &mut agent);
        Ok(agent)
    }

    /// Refuses what the caller may not do, for verbs that the core does not decide.
    pub async fn authorise(
        &self,
        caller: Caller,
        verb: Verb,
        target: Option<String>,
    ) -> Result<Option<AgentId>, Trouble> {
        let may = move |fleet: &Fleet, id: Option<AgentId>| match fleet.authorise(caller, verb, id)
        {
            Ok(()) => Ok(id),
            Err(refusal) => Err(Trouble(problems::refusal(&refusal, fleet))),
        };
        let asked = target.clone();
        let checked = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            match asked.as_deref().map(|target| fleet.holder_of(target)) {
                None => Some(may(fleet, None)),
                Some(agent) => agent.map(|agent| may(fleet, Some(agent.id))),
            }
        });
        if let Some(checked) = checked.await? {
            return checked;
        }
        let found = self.resolve(target.unwrap_or_default()).await?;
        let checked = self.driver.look(move |view| match found {
            Found::InMemory(id) => may(view.supervisor.fleet(), Some(id)),
            Found::Ended(ended) => {
                let id = ended.agent.id;
                may(&ended.around(view.supervisor.fleet()), Some(id))
            }
        });
        checked.await?
    }

    /// Where a session's files are.
    pub fn session_dir(&self, agent: AgentId, number: SessionNumber) -> std::path::PathBuf {
        HolderDirectory::new(&self.home.holders(), agent).session(number)
    }
}
