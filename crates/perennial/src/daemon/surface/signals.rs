//! Signals: sent, listed, waited for. What a signal says is checked by the core; who sees it is the core's rule for
//! texts.
//!
//! What Perennial itself emitted has its details looked up here: an agent's name and parent as they are now, and the
//! last output of a session from its recording, if that is still kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::extract::State;
use perennial_api::query;
use perennial_api::signal::{SendSignal, Signal, SignalList};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, SessionNumber, SignalId};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::reason::Verb;
use perennial_core::signal::{Party, SignalDraft, SignalEvent, SignalKind, SignalTarget};
use perennial_core::time::Time;
use perennial_core::visibility::{Private, Sight};
use perennial_engine::harness::mail_texts;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::recording::last_output;
use perennial_store::journal::Seq;
use perennial_store::{
    RosterQuery, SignalOrigin, SignalPlace, SignalQuery, SignalRow, Store, text,
};
use serde_json::{Map, Value, json};

use super::answer::{Answer, ProblemResponse, json as answered};
use super::extract::{CallerIdentity, CallerParty, Query};
use super::journal_tail::JournalTail;
use super::{Shared, Surface};
use crate::daemon::showing::problems::signal as problems;
use crate::daemon::showing::{signal as showing, view};
use crate::daemon::time;
use perennial_engine::timestamp::parsed;

const LISTED: usize = 20;
const LISTED_MAX: usize = 500;
const READ_AT_ONCE: usize = 200;
/// One answer looks at so many signals; where they are not enough it says where it ended.
const LOOKED_AT_MAX: usize = 5000;
const WAIT_MAX: Duration = Duration::from_secs(30);

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    CallerParty(party): CallerParty,
    Query(asked): Query<query::Signals>,
) -> Answer {
    surface.authorise(caller, Verb::Signal, None).await?;
    let Some(wait) = asked.wait_s else {
        return answered(&surface.list_signals(caller, &asked).await?);
    };
    let filter = surface.filter(&asked).await?;
    let mut place = surface.place(&asked).await?;
    // It takes the place of a feed: waiting is as dear.
    let _place = surface.gate.feed(party)?;
    let mut ending = surface.ending.subscribe();
    let until = tokio::time::sleep(Duration::from_secs(wait).min(WAIT_MAX));
    tokio::pin!(until);
    loop {
        let head = surface.journal.head().0;
        let mut found = surface.signals(caller, &filter, place).await?;
        if !found.signals.is_empty() {
            return answered(&found);
        }
        found.position = found.position.max(head.0);
        place = SignalPlace::After(Seq(found.position));
        let tail = JournalTail::new(&surface, Seq(found.position));
        if surface.journal.head().0.0 > found.position {
            continue;
        }
        tokio::select! {
            () = tail.news() => {}
            () = &mut until => return answered(&found),
            _ = ending.wait_for(|ending| *ending) => return answered(&found),
        }
    }
}

/// Which signals are asked for.
struct Filter {
    kinds: Vec<SignalKind>,
    from: Option<Whom>,
    to: Option<Whom>,
    since: Option<Time>,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    Operator,
    Perennial,
    Agent(AgentId),
}

/// What is looked up of an agent.
#[derive(Clone, Default)]
struct Known {
    name: Option<String>,
    parent: Option<AgentId>,
    tmux_session: Option<String>,
}

type Agents = BTreeMap<AgentId, Known>;
type Outputs = BTreeMap<(AgentId, SessionNumber), String>;

impl Surface {
    /// Sends a signal; how it was recorded.
    pub async fn send_signal(
        &self,
        caller: Caller,
        asked: SendSignal,
    ) -> Result<Signal, ProblemResponse> {
        self.authorise(caller, Verb::Signal, None).await?;
        let kind = showing::of_word(&asked.kind)?;
        let mut payload = showing::payload(asked.payload);
        for (name, given) in asked.fields {
            let value = showing::of_text(kind, &name, given);
            payload.insert(name, value);
        }
        let to = asked.to.map(|to| match to.as_str() {
            "guardian" | "parent" => SignalTarget::Guardian,
            "operator" => SignalTarget::Operator,
            _ => SignalTarget::Agent(to),
        });
        let words = showing::told(kind, &payload);
        let id = SignalId(uuid::Uuid::now_v7().as_u128());
        let (body, excerpt) = (text::body(&words), mail_texts::excerpt(&words));
        let draft = SignalDraft { id, kind, to, payload, body, excerpt };
        self.command(caller, Command::Signal(Box::new(draft))).await?;
        let place = self.read(move |journal| journal.signal_place(id)).await?;
        let place = SignalPlace::After(Seq(place.unwrap_or_default().0.saturating_sub(1)));
        let filter = Filter { kinds: vec![kind], from: None, to: None, since: None, limit: 1 };
        let sent = self.signals(Caller::Person, &filter, place).await?;
        let sent = sent.signals.into_iter().next();
        sent.ok_or_else(|| ProblemResponse(problems::no_such_signal(&id.to_string())))
    }

    /// The signals that are asked for and there already.
    pub async fn list_signals(
        &self,
        caller: Caller,
        asked: &query::Signals,
    ) -> Result<SignalList, ProblemResponse> {
        self.authorise(caller, Verb::Signal, None).await?;
        let (filter, place) = (self.filter(asked).await?, self.place(asked).await?);
        self.signals(caller, &filter, place).await
    }

    async fn filter(&self, asked: &query::Signals) -> Result<Filter, ProblemResponse> {
        let kinds = asked.kind.as_deref().unwrap_or_default().split(',').map(str::trim);
        let kinds = kinds.filter(|word| !word.is_empty()).map(showing::of_word);
        let since = asked
            .since
            .as_deref()
            .map(|text| parsed(text).ok_or_else(|| ProblemResponse(problems::bad_since(text))));
        Ok(Filter {
            kinds: kinds.collect::<Result<_, _>>()?,
            from: self.whom(asked.from.clone()).await?,
            to: self.whom(asked.to.clone()).await?,
            since: since.transpose()?,
            limit: asked.limit.unwrap_or(LISTED).clamp(1, LISTED_MAX),
        })
    }

    async fn whom(&self, word: Option<String>) -> Result<Option<Whom>, ProblemResponse> {
        match word.as_deref() {
            None => Ok(None),
            Some("operator") => Ok(Some(Whom::Operator)),
            Some("perennial") => Ok(Some(Whom::Perennial)),
            Some(_) => Ok(self.only(word).await?.map(Whom::Agent)),
        }
    }

    /// Where the search begins, and in which direction it goes.
    async fn place(&self, asked: &query::Signals) -> Result<SignalPlace, ProblemResponse> {
        let id = asked.after.as_ref().or(asked.before.as_ref());
        let seq = match id {
            Some(text) => {
                let unknown = || ProblemResponse(problems::no_such_signal(text));
                let id: SignalId = text.parse().map_err(|_| unknown())?;
                let place = self.read(move |journal| journal.signal_place(id)).await?;
                Some(place.ok_or_else(unknown)?)
            }
            None => None,
        };
        Ok(match (asked.after.is_some(), seq, asked.position, asked.wait_s) {
            (true, Some(seq), ..) => SignalPlace::After(seq),
            (_, _, Some(position), _) => SignalPlace::After(Seq(position)),
            (false, None, None, Some(_)) => SignalPlace::After(self.journal.head().0),
            (_, before, None, _) => SignalPlace::Before(before),
        })
    }

    /// The signals that a caller may see.
    async fn signals(
        &self,
        caller: Caller,
        filter: &Filter,
        mut place: SignalPlace,
    ) -> Result<SignalList, ProblemResponse> {
        let mut list = SignalList::default();
        for _ in 0..LOOKED_AT_MAX / READ_AT_ONCE {
            let query = SignalQuery { kinds: filter.kinds.clone(), place };
            let read = move |journal: &dyn Store| journal.signals(&query, READ_AT_ONCE);
            let rows = self.read(read).await?;
            let (is_last, agents) = (rows.len() < READ_AT_ONCE, self.known(&rows).await?);
            let ids = agents.keys().copied().collect();
            let sights = self.sights(caller, ids).await?;
            let outputs = self.outputs(&rows).await?;
            for row in rows {
                place = match place {
                    SignalPlace::After(_) => SignalPlace::After(row.seq),
                    SignalPlace::Before(_) => SignalPlace::Before(Some(row.seq)),
                };
                if filter.since.is_some_and(|since| row.at < since) {
                    match place {
                        SignalPlace::After(_) => continue,
                        // All others are older still.
                        SignalPlace::Before(_) => return Ok(list),
                    }
                }
                if !passes(&row, filter, &agents) || !is_seen(caller, &row, &agents, &sights) {
                    list.position = row.seq.0;
                    continue;
                }
                if list.signals.len() == filter.limit {
                    list.has_more = true;
                    return Ok(list);
                }
                list.position = row.seq.0;
                list.signals.push(shown(row, &agents, &outputs));
            }
            if is_last {
                break;
            }
        }
        Ok(list)
    }

    /// What is known of the agents that signals name, and of their parents.
    async fn known(&self, rows: &[SignalRow]) -> Result<Agents, ProblemResponse> {
        let of_row = |row: &SignalRow| match &row.origin {
            SignalOrigin::Emitted { agent, .. } => vec![*agent],
            SignalOrigin::Sent(sent) => {
                let SignalEvent::Sent { by, to, .. } = &**sent;
                by.agent().into_iter().chain(to.agent()).collect()
            }
        };
        let named: BTreeSet<AgentId> = rows.iter().flat_map(of_row).collect();
        let asked = named.clone();
        let mut agents: Agents = self
            .driver
            .look(move |view| {
                let fleet = view.supervisor.fleet();
                let mut agents = Agents::new();
                for agent in asked.into_iter().filter_map(|id| fleet.agent(id)) {
                    let above = perennial_core::signal::parent(fleet, agent.id);
                    let known = |agent: &perennial_core::agent::Agent| Known {
                        name: Some(view::name(agent)),
                        parent: above.map(|above| above.id),
                        tmux_session: agent.launch.host.tmux().map(|place| place.session.clone()),
                    };
                    agents.insert(agent.id, known(agent));
                    if let Some(above) = above {
                        let name = Some(view::name(above));
                        agents.entry(above.id).or_insert(Known { name, ..Known::default() });
                    }
                }
                agents
            })
            .await?;
        let left: Vec<AgentId> = named.into_iter().filter(|id| !agents.contains_key(id)).collect();
        if !left.is_empty() {
            let rows = self.read(move |journal| journal.roster(RosterQuery::Of(&left))).await?;
            let known = |parent, name| Known { name, parent, ..Known::default() };
            agents.extend(rows.into_iter().map(|row| (row.agent, known(row.parent, row.name))));
        }
        Ok(agents)
    }

    /// The last output of each session that crashed, as far as it is kept.
    async fn outputs(&self, rows: &[SignalRow]) -> Result<Outputs, ProblemResponse> {
        let crashed = |row: &SignalRow| match row.origin {
            SignalOrigin::Emitted { agent, session: Some(number), .. } => {
                (row.kind == SignalKind::AgentCrashed).then_some((agent, number))
            }
            SignalOrigin::Emitted { session: None, .. } | SignalOrigin::Sent(_) => None,
        };
        let crashed: BTreeSet<_> = rows.iter().filter_map(crashed).collect();
        if crashed.is_empty() {
            return Ok(Outputs::new());
        }
        let holders = self.home.holders();
        let output = move |(agent, number): (AgentId, SessionNumber)| {
            let dir = HolderDirectory::new(&holders, agent).session(number);
            Some(((agent, number), last_output(&dir)?))
        };
        self.read(move |_| Ok(crashed.into_iter().filter_map(output).collect())).await
    }
}

fn shown(row: SignalRow, agents: &Agents, outputs: &Outputs) -> Signal {
    let table = row.kind.table();
    let named = |id: AgentId| {
        let name = agents.get(&id).and_then(|known| known.name.clone());
        name.unwrap_or_else(|| id.to_string())
    };
    let signal = Signal {
        id: row.id.to_string(),
        at: time::rfc3339(row.at),
        kind: row.kind.word().to_owned(),
        source: table.source.word().to_owned(),
        target: table.target.word().to_owned(),
        ..Signal::default()
    };
    match row.origin {
        SignalOrigin::Sent(sent) => {
            let SignalEvent::Sent { by, by_name, to, to_name, payload, .. } = *sent;
            let as_named = |name: Option<perennial_core::name::Name>, id: Option<AgentId>| {
                let name = name.map(|name| name.to_string());
                name.or_else(|| id.map(named)).unwrap_or_else(|| "operator".to_owned())
            };
            Signal {
                from: match by {
                    Sender::Perennial => "perennial".to_owned(),
                    Sender::Agent(_) | Sender::Person => as_named(by_name, by.agent()),
                },
                from_id: by.agent().map(|id| id.to_string()),
                to: as_named(to_name, to.agent()),
                to_id: to.agent().map(|id| id.to_string()),
                payload: showing::json(&payload),
                ..signal
            }
        }
        SignalOrigin::Emitted { agent, session, exit_reason } => {
            let known = agents.get(&agent).cloned().unwrap_or_default();
            let is_spawn = table.source == Party::Spawn;
            let mut payload = Map::from_iter([("identity_name".to_owned(), named(agent).into())]);
            let mut put = |name: &str, value: Value| _ = payload.insert(name.to_owned(), value);
            if row.kind == SignalKind::AgentRegistered {
                // The task that it was on then is in the mirrored file: its present one is another.
                put("node_id", Value::Null);
                put("tmux_session", json!(known.tmux_session));
            } else if row.kind == SignalKind::AgentCrashed {
                let output = session.and_then(|number| outputs.get(&(agent, number)));
                put("last_seen", time::rfc3339(row.at).into());
                put("last_output", json!(output));
            } else {
                put("exit_reason", json!(exit_reason));
            }
            Signal {
                from: if is_spawn { "perennial".to_owned() } else { named(agent) },
                from_id: (!is_spawn).then(|| agent.to_string()),
                to: known.parent.map_or_else(|| "operator".to_owned(), named),
                to_id: known.parent.map(|id| id.to_string()),
                emitted: true,
                payload,
                ..signal
            }
        }
    }
}

fn passes(row: &SignalRow, filter: &Filter, agents: &Agents) -> bool {
    let (from, to) = match &row.origin {
        SignalOrigin::Emitted { agent, .. } => {
            let from = match row.kind.table().source {
                Party::Spawn => Whom::Perennial,
                Party::Runner | Party::Guardian => Whom::Agent(*agent),
            };
            let parent = agents.get(agent).and_then(|known| known.parent);
            (from, parent.map_or(Whom::Operator, Whom::Agent))
        }
        SignalOrigin::Sent(sent) => {
            let SignalEvent::Sent { by, to, .. } = &**sent;
            let from = match by {
                Sender::Agent(id) => Whom::Agent(*id),
                Sender::Person => Whom::Operator,
                Sender::Perennial => Whom::Perennial,
            };
            (from, to.agent().map_or(Whom::Operator, Whom::Agent))
        }
    };
    filter.from.is_none_or(|one| one == from) && filter.to.is_none_or(|one| one == to)
}

/// As texts are seen: by persons, by the agents that it names, and by those above them.
fn is_seen(
    caller: Caller,
    row: &SignalRow,
    agents: &Agents,
    sights: &BTreeMap<AgentId, Sight>,
) -> bool {
    let sees = |id: AgentId| sights.get(&id).is_some_and(|sight| sight.sees(Private::Texts));
    let is_person = match caller {
        Caller::Person => true,
        Caller::Agent(_) | Caller::Job | Caller::Viewer | Caller::Ambiguous => false,
    };
    let of_agents = match &row.origin {
        SignalOrigin::Emitted { agent, .. } => {
            sees(*agent) || agents.get(agent).and_then(|known| known.parent).is_some_and(sees)
        }
        SignalOrigin::Sent(sent) => {
            let SignalEvent::Sent { by, to, .. } = &**sent;
            by.agent().is_some_and(sees) || matches!(to, Mailbox::Agent(id) if sees(*id))
        }
    };
    is_person || of_agents
}
