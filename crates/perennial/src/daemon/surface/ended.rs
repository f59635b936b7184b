//! Agents that have left memory: found in the store by name or id, shown as they ended, listed page by
//! page.
//!
//! Reads the store on threads of their own, never on the loop's.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use perennial_api::Problem;
use perennial_api::agent as wire;
use perennial_core::admission;
use perennial_core::agent::Agent;
use perennial_core::agents::name_and_back;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::name::NameKey;
use perennial_core::refusal::Refusal;
use perennial_core::state::Roster;
use perennial_core::task::Task;
use perennial_core::time::Time;
use perennial_store::Store;
use perennial_store::journal::ReadError;
use perennial_store::{RosterQuery, recall};
use tokio::sync::mpsc::{Sender, channel};

use super::Surface;
use super::agents::add_activity;
use super::answer::ProblemResponse;
use super::events::unread;
use super::form::Form;
use super::namesakes::Namesakes;
use super::sight;
use crate::daemon::driving::driver::chain;
use crate::daemon::showing::problems;
use crate::daemon::showing::view::{self, Filter};

/// Rows of the cemetery are read in parts of at most this many.
const PAGE: usize = 200;

/// Whom a target means.
pub enum Resolved {
    InMemory(AgentId),
    Ended(Box<Ended>),
}

/// One that has left memory.
pub struct Ended {
    pub agent: Agent,
    /// Those of its ancestors that have left too, the nearest first.
    ancestors: Vec<Agent>,
}

impl Ended {
    /// What can be asked about it, and of whom.
    pub fn around(self, fleet: &Fleet) -> Fleet {
        self.around_with(fleet, Vec::new())
    }

    /// The same, with the tasks that something is asked of too.
    fn around_with(mut self, fleet: &Fleet, tasks: Vec<Task>) -> Fleet {
        // Whose name another agent has by now is named by its id.
        let name = self.agent.name.as_ref();
        if name.is_some_and(|name| fleet.find(name.as_str()).is_ok()) {
            self.agent.name = None;
        }
        let agents: Vec<Agent> = std::iter::once(self.agent).chain(self.ancestors).collect();
        fleet.around_with(&agents, tasks)
    }
}

impl Surface {
    /// Whom a target means, of everybody who ever was.
    pub async fn resolve(&self, target: String) -> Result<Resolved, ProblemResponse> {
        let asked = target.clone();
        // Memory first: who leaves it meanwhile is in the store by then.
        let (holder, named) = self
            .driver
            .look(move |view| {
                let fleet = view.supervisor.fleet();
                let holder = fleet.holder_of(&asked).map(|agent| agent.id);
                let (name, _) = name_and_back(&asked).unwrap_or((NameKey::of(""), 0));
                let named = fleet.named(&name).map(|agent| (agent.named_at, agent.id));
                (holder, named.collect::<BTreeSet<_>>())
            })
            .await?;
        if let Some(id) = holder {
            return Ok(Resolved::InMemory(id));
        }
        let nobody = Refusal::NoSuchAgent { target: target.chars().take(100).collect() };
        match self.read(move |journal| search(journal, &target, named)).await? {
            Some(found) => Ok(found),
            None => {
                let refused = self
                    .driver
                    .look(move |view| problems::refusal(&nobody, view.supervisor.fleet()));
                Err(ProblemResponse(refused.await?))
            }
        }
    }

    /// Reads the store on a thread that may wait.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ProblemResponse> {
        let journal = self.journal.clone();
        tokio::task::spawn_blocking(move || read(&*journal))
            .await
            .map_err(|_| unread("it was interrupted"))?
            .map_err(|error| unread(&chain(&error)))
    }

    /// The same for a caller, who may have to wait for a turn.
    pub async fn read_as<T: Send + 'static>(
        &self,
        caller: Caller,
        read: impl FnOnce(&dyn Store) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ProblemResponse> {
        let turn = match admission::waits_for_turn(caller) {
            true => Arc::clone(&self.gate.reading_turns).acquire_owned().await.ok(),
            false => None,
        };
        // Kept by the read, also if whoever asked has gone.
        self.read(move |journal| {
            let _turn = turn;
            read(journal)
        })
        .await
    }

    /// An agent that has left memory, as it is shown.
    pub async fn ended(
        &self,
        caller: Caller,
        agent: Agent,
    ) -> Result<wire::Agent, ProblemResponse> {
        self.read(move |journal| ended(journal, caller, &agent)).await
    }

    /// Why a command about an agent that has left memory is refused.
    pub async fn refused(
        &self,
        mut request: Request,
        ended: Ended,
    ) -> Result<Problem, ProblemResponse> {
        let id = ended.agent.id.to_string();
        if let Some(target) = request.command.target_mut() {
            target.clone_from(&id);
        }
        let mut tasks = Vec::new();
        if let Command::Task(command) = &request.command
            && let Some(task) = command.moved()
        {
            tasks.push(self.known_task(task).await?);
        }
        let refused = self.driver.look(move |view| {
            let nobody = Refusal::NoSuchAgent { target: id };
            let fleet = ended.around_with(view.supervisor.fleet(), tasks);
            // One that is over takes no command: there is always a refusal.
            let refusal = fleet.decide(&request, view.now).err().unwrap_or(nobody);
            problems::refusal(&refusal, &fleet)
        });
        Ok(refused.await?)
    }

    /// The agents in memory, then the dead in the store, the youngest first; sent as they are read.
    pub fn listed(
        &self,
        caller: Caller,
        mut shown: Vec<wire::Agent>,
        (in_memory, mut namesakes): (BTreeSet<AgentId>, Namesakes),
        filter: Filter,
        form: Form,
    ) -> Response {
        let (sender, receiver) = channel(1);
        let (journal, home) = (self.journal.clone(), self.home.clone());
        tokio::task::spawn_blocking(move || {
            let mut list = List { sender, is_empty: true, form, mirror: home.mirror() };
            let mut told_apart = |agents: &mut Vec<wire::Agent>| {
                let mut agents = agents.iter_mut();
                let told = agents.try_for_each(|agent| namesakes.tell_apart(&*journal, agent));
                told.map_err(io::Error::other)
            };
            let told = told_apart(&mut shown).and_then(|()| list.all(&shown)).and_then(|()| {
                dead(&*journal, caller, (&in_memory, &filter), |mut page| {
                    page.iter_mut().for_each(|agent| add_activity(&home, agent));
                    told_apart(&mut page)?;
                    list.all(&page)
                })?;
                list.close()
            });
            if let Err(error) = told {
                // The client sees that its answer was cut off.
                let _ = list.sender.blocking_send(Err(error));
            }
        });
        let body = Body::from_stream(tokio_stream::wrappers::ReceiverStream::new(receiver));
        ([(CONTENT_TYPE, "application/json")], body).into_response()
    }
}

fn search(
    journal: &dyn Store,
    target: &str,
    mut named: BTreeSet<(Time, AgentId)>,
) -> Result<Option<Resolved>, ReadError> {
    let in_memory: Vec<AgentId> = named.iter().map(|(_, id)| *id).collect();
    let id = match target.parse::<AgentId>() {
        Ok(id) => Some(id),
        Err(_) => {
            let Some((name, back)) = name_and_back(target) else { return Ok(None) };
            let limit = back.saturating_add(1 + in_memory.len()).min(i32::MAX as usize);
            for row in journal.roster(RosterQuery::Buried { name: &name, limit })? {
                if !in_memory.contains(&row.agent) {
                    named.insert((row.named_at, row.agent));
                }
            }
            named.iter().rev().nth(back).map(|(_, id)| *id)
        }
    };
    match id {
        Some(id) if in_memory.contains(&id) => Ok(Some(Resolved::InMemory(id))),
        Some(id) => {
            let Some(agent) = recall(journal, id)? else { return Ok(None) };
            let ancestors = dead_ancestors(journal, &agent)?;
            Ok(Some(Resolved::Ended(Box::new(Ended { agent, ancestors }))))
        }
        None => Ok(None),
    }
}

/// The ancestors of an agent up to the first that is not in the cemetery.
fn dead_ancestors(journal: &dyn Store, agent: &Agent) -> Result<Vec<Agent>, ReadError> {
    let (mut ancestors, mut above) = (Vec::new(), agent.parent);
    // A damaged record may lead back to where one was.
    while let Some(id) = above
        && !ancestors.iter().any(|lead: &Agent| lead.id == id)
    {
        let row = journal.roster(RosterQuery::Of(&[id]))?.into_iter().next();
        let is_dead = row.is_some_and(|row| row.state.roster() == Roster::Cemetery);
        let lead = if is_dead { recall(journal, id)? } else { None };
        above = lead.as_ref().and_then(|lead| lead.parent);
        ancestors.extend(lead);
    }
    Ok(ancestors)
}

fn ended(journal: &dyn Store, caller: Caller, agent: &Agent) -> Result<wire::Agent, ReadError> {
    let parents = journal.roster(RosterQuery::Of(agent.parent.as_slice()))?;
    let parent = parents.into_iter().find_map(|row| row.name);
    let sight = sight::of_ended(journal, caller, agent.id)?;
    Ok(view::ended(agent, parent, &journal.latest(&[agent.id])?, sight))
}

/// Hands out those in the cemetery that are not in memory, page by page.
fn dead(
    journal: &dyn Store,
    caller: Caller,
    (in_memory, filter): (&BTreeSet<AgentId>, &Filter),
    mut page: impl FnMut(Vec<wire::Agent>) -> io::Result<()>,
) -> io::Result<()> {
    let failed = |error: ReadError| io::Error::other(error);
    let mut states = filter.dead_states().into_iter();
    let Some(mut state) = states.next() else { return Ok(()) };
    let mut before = None;
    loop {
        let query = RosterQuery::InState { state, before, limit: PAGE };
        let rows = journal.roster(query).map_err(failed)?;
        let Some(last) = rows.last() else {
            let Some(next) = states.next() else { return Ok(()) };
            (state, before) = (next, None);
            continue;
        };
        before = Some(last.agent);
        let mut shown = Vec::new();
        for row in rows.iter().filter(|row| !in_memory.contains(&row.agent)) {
            let agent = recall(journal, row.agent).map_err(failed)?;
            if let Some(agent) = agent.filter(|agent| filter.passes_dead(agent)) {
                shown.push(ended(journal, caller, &agent).map_err(failed)?);
            }
        }
        page(shown)?;
    }
}

/// A JSON list on its way to a client.
struct List {
    sender: Sender<io::Result<Vec<u8>>>,
    is_empty: bool,
    form: Form,
    /// The root of the mirror.
    mirror: PathBuf,
}

impl List {
    fn all(&mut self, agents: &[wire::Agent]) -> io::Result<()> {
        let mut text = Vec::new();
        for agent in agents {
            text.push(if self.is_empty { b'[' } else { b',' });
            self.is_empty = false;
            self.form.write(&mut text, agent, &self.mirror)?;
        }
        self.send(text)
    }

    fn close(&mut self) -> io::Result<()> {
        let end = if self.is_empty { "[]" } else { "]" };
        self.send(end.into())
    }

    fn send(&self, text: Vec<u8>) -> io::Result<()> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        if text.is_empty() { Ok(()) } else { self.sender.blocking_send(Ok(text)).map_err(gone) }
    }
}
