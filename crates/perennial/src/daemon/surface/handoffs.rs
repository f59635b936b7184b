//! `handoffs`: what the sessions of agents found out again, from their conversations; read on request, and kept nowhere.

use axum::extract;
use perennial_api::handoffs::{Handoff, Handoffs, RoleHandoffs};
use perennial_api::query;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::conversation::Opening;
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::reason::Verb;
use perennial_core::state::State;
use perennial_core::succession::Beginning;
use perennial_core::time::Time;
use perennial_core::visibility::Private;
use perennial_engine::work::Repetition;
use perennial_store::journal::{ReadError, Version};
use perennial_store::{RosterQuery, Store, recall};

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, Query};
use super::form::Form;
use super::{Shared, Surface, sight};
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::pages::{self, Subject};
use crate::daemon::showing::view;
use crate::daemon::time::rfc3339;

const EVENTS: usize = 1000;
/// So many of those that have left memory are read, the youngest.
const ENDED_MAX: usize = 200;

/// Whose conversations are to be read.
#[derive(Debug)]
struct Wanted {
    id: AgentId,
    name: String,
    role: Option<String>,
    subject: Subject,
    /// Its conversations have something to count.
    has_worked: bool,
}

/// A session as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Begun {
    number: u32,
    at: Time,
    after: Beginning,
    is_fresh: bool,
    /// The agent's role then.
    role: Option<String>,
    /// Its program was executed. One whose start failed, or that was withdrawn, took nothing over.
    has_run: bool,
}

pub async fn handoffs(
    extract::State(surface): extract::State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(asked): Query<query::Handoffs>,
) -> Answer {
    surface.authorise(caller, Verb::Look, None).await?;
    let form = Form::of(asked.vocabulary.as_deref())?;
    let only = match asked.agent {
        Some(target) => Some(surface.may_see(caller, target, Private::Transcript).await?),
        None => None,
    };
    form.handoffs(surface.handed_over(caller, only).await?)
}

impl Surface {
    /// Of one agent, or of all in memory and the youngest dead, as far as the caller may read their conversations.
    pub async fn handed_over(
        &self,
        caller: Caller,
        only: Option<AgentId>,
    ) -> Result<Handoffs, ProblemResponse> {
        let wanted = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let agents = fleet.agents().filter(|agent| only.is_none_or(|id| agent.id == id));
            let sees =
                |agent: &&Agent| fleet.sight(caller, Some(agent.id)).sees(Private::Transcript);
            let in_memory: Vec<AgentId> = fleet.agents().map(|agent| agent.id).collect();
            (agents.filter(sees).filter_map(wanted).collect::<Vec<_>>(), in_memory)
        });
        let ((mut wanted, in_memory), harnesses) = (wanted.await?, self.harnesses.clone());
        let rules = self.reader.rules().clone();
        self.read_as(caller, move |journal| {
            let (mut sessions, mut unread) = (Vec::new(), Vec::new());
            wanted.extend(ended(journal, caller, only, &in_memory)?);
            for one in &wanted {
                let repetition =
                    Repetition::new(rules.rules(one.role.as_deref(), one.subject.harness()));
                match of_agent(journal, &harnesses, one, repetition)? {
                    Some(counted) => sessions.extend(counted),
                    None => unread.push(one.name.clone()),
                }
            }
            Ok(Handoffs { roles: summed(&sessions), sessions, unread })
        })
        .await
    }
}

/// One that has had a second session.
fn wanted(agent: &Agent) -> Option<Wanted> {
    agent.session.as_ref().filter(|session| session.number.0 > 1)?;
    let (id, name, role) = (agent.id, view::name(agent), agent.role.clone());
    let has_worked = agent.succession.has_worked;
    Some(Wanted { id, name, role, subject: Subject::of(agent)?, has_worked })
}

/// Those that have left memory.
fn ended(
    journal: &dyn Store,
    caller: Caller,
    only: Option<AgentId>,
    in_memory: &[AgentId],
) -> Result<Vec<Wanted>, ReadError> {
    let ids = match only {
        Some(id) => vec![id],
        None => {
            let (state, before) = (State::Dead, None);
            let rows = journal.roster(RosterQuery::InState { state, before, limit: ENDED_MAX })?;
            rows.into_iter().map(|row| row.agent).collect()
        }
    };
    let mut found = Vec::new();
    for id in ids.into_iter().filter(|id| !in_memory.contains(id)) {
        if sight::of_ended(journal, caller, id)?.sees(Private::Transcript) {
            found.extend(recall(journal, id)?.as_ref().and_then(wanted));
        }
    }
    Ok(found)
}

/// Its sessions after the first; nothing if its conversations can't be read, for that is not the same as zero.
fn of_agent(
    journal: &dyn Store,
    harnesses: &Harnesses,
    wanted: &Wanted,
    mut repetition: Repetition,
) -> Result<Option<Vec<Handoff>>, ReadError> {
    let begun = begun(journal, wanted.id)?;
    let mut done = Vec::new();
    let mut next = begun.iter().peekable();
    // Sessions are told apart by the time of a step: one conversation may have several.
    let steps = pages::each_step(harnesses, &wanted.subject, |step| {
        while let Some(begins) = next.peek()
            && step.time.is_some_and(|at| at >= begins.at)
        {
            done.push(repetition.next_session());
            next.next();
        }
        repetition.take(step);
    });
    if steps.is_none_or(|steps| steps == 0 && wanted.has_worked) {
        return Ok(None);
    }
    done.push(repetition.next_session());
    // The first is what came before the first session: an adopted conversation, or nothing.
    let sessions = begun.iter().zip(done.into_iter().skip(1));
    // The first of them followed nobody.
    let told = sessions.skip(1).map(|(begun, did)| Handoff {
        agent: wanted.name.clone(),
        agent_id: wanted.id.to_string(),
        role: begun.role.clone(),
        session: begun.number,
        after: begun.after.word().to_owned(),
        is_fresh: begun.is_fresh,
        at: rfc3339(begun.at),
        files_read_again: did.files_again,
        commands_run_again: did.commands_again,
        steps: did.steps,
        tokens: did.tokens,
        has_changed: did.has_changed,
    });
    Ok(Some(told.collect()))
}

/// The sessions of an agent that ran, by folding its own records.
fn begun(journal: &dyn Store, id: AgentId) -> Result<Vec<Begun>, ReadError> {
    let (mut fleet, mut begun) = (Fleet::default(), Vec::<Begun>::new());
    let mut after = Version(0);
    loop {
        let records = journal.read_stream(&Entity::Agent(id), after, EVENTS)?;
        let Some(last) = records.last() else {
            begun.retain(|one: &Begun| one.has_run);
            return Ok(begun);
        };
        after = last.version;
        for event in records.iter().filter_map(|record| record.event.as_ref().ok()) {
            fleet.evolve(event);
            let Some(agent) = fleet.agent(id) else { continue };
            let runs = agent.session.as_ref().filter(|session| session.has_run());
            if let (Some(runs), Some(newest)) = (runs, begun.last_mut()) {
                newest.has_run |= runs.number.0 == newest.number;
            }
            let Some((_, AgentEvent::SessionStarting { number, .. })) = event.of_agent() else {
                continue;
            };
            let opening = agent.session.as_ref().map(|session| &session.opening);
            let is_fresh = !matches!(opening, Some(Opening::Resume { .. }));
            let (number, after, at) = (number.0, agent.succession.beginning, event.at);
            let role = agent.role.clone();
            begun.push(Begun { number, at, after, is_fresh, role, has_run: false });
        }
    }
}

/// By role, in the order of their names; those without one last.
fn summed(sessions: &[Handoff]) -> Vec<RoleHandoffs> {
    let mut roles: Vec<RoleHandoffs> = Vec::new();
    for one in sessions {
        let known = roles.iter().position(|sum| sum.role == one.role);
        let at = known.unwrap_or_else(|| {
            roles.push(RoleHandoffs { role: one.role.clone(), ..RoleHandoffs::default() });
            roles.len() - 1
        });
        let sum = &mut roles[at];
        sum.sessions += 1;
        sum.changed += u64::from(one.has_changed);
        sum.files_read_again += one.files_read_again;
        sum.commands_run_again += one.commands_run_again;
        sum.steps += one.steps;
        sum.tokens += one.tokens;
    }
    roles.sort_by(|one, other| {
        (one.role.is_none(), &one.role).cmp(&(other.role.is_none(), &other.role))
    });
    roles
}
