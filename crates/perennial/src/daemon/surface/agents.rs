//! Agents: list, show, why. Verbs that change them: `orders`.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::HeaderValue;
use perennial_api::Home;
use perennial_api::agent as wire;
use perennial_api::answer::{Chapter, Why};
use perennial_api::query;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::entity::Entity;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_core::state::Roster;
use perennial_core::visibility::{Private, Sight};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::recording;
use perennial_store::Store;
use perennial_store::journal::{ReadError, Seq, Version};
use perennial_store::record::Record;

use super::about;
use super::answer::{Answer, ProblemResponse, json};
use super::clean;
use super::ended::Resolved;
use super::extract::{CallerIdentity, Query, Segment};
use super::form::Form;
use super::namesakes::Namesakes;
use super::{Shared, Surface};
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::view::{self, Filter};
use crate::daemon::showing::{problems, wire_event, work};
use crate::daemon::time;

/// How many agents are in the cemetery, beside a list that may leave them out.
const DEAD: &str = "x-dead";
/// Present where the journal takes no events: what is listed is what was recorded last.
const READ_ONLY: &str = "x-read-only";
/// A story has at most this many chapters, the newest, unless more are asked for.
const CHAPTERS: usize = 200;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(query): Query<query::Agents>,
) -> Answer {
    let form = Form::of(query.vocabulary.as_deref())?;
    let (state, called) = form.state(query.state)?;
    let filter = Filter {
        all: query.all,
        roster: query.roster.as_deref().map(roster).transpose()?,
        state,
        project: query.project,
        situation: query.situation,
        stale_seconds: query.stale,
        role: query.role.map(|role| form.our_role(role)),
        called,
    };
    let (over, asked) = (surface.over, filter.clone());
    let (mut agents, in_memory, namesakes, dead, is_read_only) = surface
        .driver
        .look(move |view| {
            let fleet = view.supervisor.fleet();
            let is_dead = |agent: &&Agent| agent.state.roster() == Roster::Cemetery;
            let dead = fleet.agents().filter(is_dead).count();
            let (in_memory, namesakes) = match asked.has_dead() {
                true => (fleet.agents().map(|agent| agent.id).collect(), Namesakes::of(fleet)),
                false => (BTreeSet::new(), Namesakes::default()),
            };
            let dead = over + view.supervisor.retired() + dead as u64;
            let is_read_only = view.supervisor.read_only().is_some();
            (view::listing(view, &asked, caller), in_memory, namesakes, dead, is_read_only)
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
        true => surface.listed(caller, agents, (in_memory, namesakes), filter, form),
        false => form.list(&agents, &surface.home.mirror())?,
    };
    answer.headers_mut().insert(DEAD, HeaderValue::from(dead));
    if is_read_only {
        answer.headers_mut().insert(READ_ONLY, HeaderValue::from_static("true"));
    }
    Ok(answer)
}

fn roster(word: &str) -> Result<Roster, ProblemResponse> {
    let all = [Roster::Living, Roster::Freezer, Roster::Cemetery];
    let known = all.into_iter().find(|roster| roster.word() == word);
    known.ok_or_else(|| ProblemResponse(problems::bad_roster(word)))
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
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(query): Query<query::Agent>,
) -> Answer {
    let form = Form::of(query.vocabulary.as_deref())?;
    let mut agent = surface.find(caller, target).await?;
    if agent.roster == Roster::Cemetery.word() {
        surface.add_cleaned(&mut agent).await?;
    } else if agent.work.as_ref().is_some_and(|work| work.found.is_some()) {
        // Whoever is shown what was found may read the conversation.
        let id: AgentId = agent.id.parse().map_err(|_| gone())?;
        agent.handoff_quality = surface.handed_over(caller, Some(id)).await?.sessions.pop();
    }
    form.one(&agent, &surface.home.mirror())
}

pub async fn why(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(query): Query<query::Why>,
) -> Answer {
    let limit = query.limit.map_or(CHAPTERS, |limit| limit.clamp(1, query::WHY_LIMIT) as usize);
    let mut agent = surface.find(caller, target).await?;
    let id: AgentId = agent.id.parse().map_err(|_| gone())?;
    let sights = surface.sights(caller, [id].into()).await?;
    let sight = *sights.get(&id).ok_or_else(gone)?;
    let (mut story, earlier) =
        surface.read_as(caller, move |journal| story(journal, (id, sight), limit)).await?;
    surface.with_names(&mut agent, &mut story).await?;
    let (texts, withheld) = match sight.sees(Private::Texts) {
        true => (surface.waiting_texts(id).await?, Vec::new()),
        false => (Vec::new(), vec!["texts".to_owned()]),
    };
    json(&Why { agent, story, earlier, texts, withheld })
}

/// The newest chapters, the oldest of them first, and how many there are before them.
fn story(
    journal: &dyn Store,
    (id, sight): (AgentId, Sight),
    limit: usize,
) -> Result<(Vec<Chapter>, u64), ReadError> {
    let mut story = Vec::new();
    let mut before = Version::END;
    while story.len() < limit {
        let left = (limit - story.len()).min(CHAPTERS);
        let page = journal.read_stream_back(&Entity::Agent(id), before, left)?;
        let Some(first) = page.last() else { break };
        before = first.version;
        story.extend(page.iter().map(|record| chapter(record, sight)));
    }
    let earlier = before.0.saturating_sub(1);
    // What happened to its tasks since the first chapter that is told.
    let first = story.last().filter(|_| earlier > 0).map_or(0, |chapter| chapter.seq);
    let of_tasks = about::of_tasks(journal, id, Seq(first))?;
    story.extend(of_tasks.iter().map(|record| chapter(record, sight)));
    story.sort_by_key(|chapter| chapter.seq);
    Ok((story, earlier))
}

fn chapter(record: &Record, sight: Sight) -> Chapter {
    let event = wire_event::event(record, None, sight);
    Chapter {
        seq: event.seq,
        at: event.at,
        kind: event.what.kind().to_owned(),
        text: event.text,
        withheld: event.withheld,
    }
}

pub fn gone() -> ProblemResponse {
    ProblemResponse(problems::agent_gone())
}

impl Surface {
    /// One agent as this caller sees it now.
    pub async fn find(
        &self,
        caller: Caller,
        target: String,
    ) -> Result<wire::Agent, ProblemResponse> {
        let asked = target.clone();
        let look = |asked: String| {
            self.driver.look(move |view| {
                let agent = view.supervisor.fleet().holder_of(&asked)?;
                let sight = view.supervisor.fleet().sight(caller, Some(agent.id));
                let sees = sight.sees(Private::Transcript);
                let work = Some(work::phases(agent));
                Some((wire::Agent { work, ..view::agent(agent, view, caller) }, sees))
            })
        };
        let (mut agent, sees_steps) = match look(asked).await? {
            Some(found) => found,
            None => match self.resolve(target).await? {
                Resolved::InMemory(id) => look(id.to_string()).await?.ok_or_else(gone)?,
                Resolved::Ended(ended) => (self.ended(caller, ended.agent).await?, false),
            },
        };
        if let (true, Some(work), Ok(id)) = (sees_steps, &mut agent.work, agent.id.parse()) {
            let found = self.reader.findings(id);
            work.found = found.map(|(number, found)| work::findings(number, found));
        }
        add_activity(&self.home, &mut agent);
        if agent.roster != Roster::Cemetery.word() {
            return Ok(agent);
        }
        let mut namesakes = self.driver.look(|view| Namesakes::of(view.supervisor.fleet())).await?;
        self.read(move |journal| {
            namesakes.tell_apart(journal, &mut agent)?;
            Ok(agent)
        })
        .await
    }

    /// What was removed of an agent in the cemetery.
    async fn add_cleaned(&self, agent: &mut wire::Agent) -> Result<(), ProblemResponse> {
        let id: AgentId = agent.id.parse().map_err(|_| gone())?;
        // Nobody is cleaned before their death.
        let since = perennial_engine::timestamp::parsed(&agent.since).unwrap_or_default();
        let read = move |journal: &dyn Store| clean::cleanings(journal, Some(id), since);
        agent.cleaned = self.read(read).await?.remove(&id);
        Ok(())
    }

    /// Refuses what the caller may not do, for verbs that the core does not decide.
    pub async fn authorise(
        &self,
        caller: Caller,
        verb: Verb,
        target: Option<String>,
    ) -> Result<Option<AgentId>, ProblemResponse> {
        let may = move |fleet: &Fleet, id: Option<AgentId>| match fleet.authorise(caller, verb, id)
        {
            Ok(()) => Ok(id),
            Err(refusal) => Err(ProblemResponse(problems::refusal(&refusal, fleet))),
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
            Resolved::InMemory(id) => may(view.supervisor.fleet(), Some(id)),
            Resolved::Ended(ended) => {
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
