//! Signals: sent, listed, waited for. What a signal says is checked by the core; who sees it is the core's rule for
//! texts.
//!
//! What Perennial itself emitted has its details looked up: the parties as they were then (`signal_parties`), and the last
//! output of a session from its recording, if that is still kept (`signal_details`).

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::State;
use perennial_api::query;
use perennial_api::signal::{SendSignal, Signal, SignalList};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, SignalId};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::name::Name;
use perennial_core::reason::Verb;
use perennial_core::signal::{
    Party, Payload, SignalDraft, SignalEvent, SignalKind, SignalTarget, Value as PayloadValue,
};
use perennial_core::time::Time;
use perennial_core::visibility::{Private, Sight};
use perennial_engine::harness::mail_texts;
use perennial_store::journal::Seq;
use perennial_store::{SignalOrigin, SignalPlace, SignalQuery, SignalRow, Store, text};

use super::answer::{Answer, ProblemResponse};
use super::extract::{CallerIdentity, CallerParty, Query};
use super::form::Form;
use super::journal_tail::JournalTail;
use super::signal_details::Details;
use super::signal_parties::Parties;
use super::{Shared, Surface};
use crate::daemon::showing::problems::signal as problems;
use crate::daemon::showing::signal as showing;
use crate::daemon::time;
use perennial_engine::timestamp::parsed;

const LISTED: usize = 20;
const LISTED_MAX: usize = 500;
const READ_AT_ONCE: usize = 200;
/// One answer looks at this many signals at most; where they are not enough it says where it ended.
const LOOKED_AT_MAX: usize = 5000;
const WAIT_MAX: Duration = Duration::from_secs(30);

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    CallerParty(party): CallerParty,
    Query(asked): Query<query::Signals>,
) -> Answer {
    surface.authorise(caller, Verb::Signal, None).await?;
    let form = Form::of(asked.vocabulary.as_deref())?;
    let Some(wait) = asked.wait_s else {
        return form.signals(&surface.list_signals(caller, &asked).await?);
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
            return form.signals(&found);
        }
        found.position = found.position.max(head.0);
        place = SignalPlace::After(Seq(found.position));
        let tail = JournalTail::new(&surface, Seq(found.position));
        if surface.journal.head().0.0 > found.position {
            continue;
        }
        tokio::select! {
            () = tail.news() => {}
            () = &mut until => return form.signals(&found),
            _ = ending.wait_for(|ending| *ending) => return form.signals(&found),
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
    /// Whoever it is, as this party.
    As(Party),
}

impl Surface {
    /// Sends a signal; how it was recorded.
    pub async fn send_signal(
        &self,
        caller: Caller,
        asked: SendSignal,
    ) -> Result<Signal, ProblemResponse> {
        self.authorise(caller, Verb::Signal, None).await?;
        let form = Form::of(asked.vocabulary.as_deref())?;
        let kind = showing::of_word(form.our_kind(&asked.kind))?;
        let mut payload = showing::payload(asked.payload);
        for (name, given) in asked.fields {
            let value = showing::of_text(kind, &name, given);
            payload.insert(name, value);
        }
        let to = asked.to.map(|to| target(to, form, &payload));
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
        let form = Form::of(asked.vocabulary.as_deref())?;
        let kinds = asked.kind.as_deref().unwrap_or_default().split(',').map(str::trim);
        let kinds = kinds.filter(|word| !word.is_empty());
        let kinds = kinds.map(|word| showing::of_word(form.our_kind(word)));
        let since = asked
            .since
            .as_deref()
            .map(|text| parsed(text).ok_or_else(|| ProblemResponse(problems::bad_since(text))));
        Ok(Filter {
            kinds: kinds.collect::<Result<_, _>>()?,
            from: self.whom(asked.from.clone(), form).await?,
            to: self.whom(asked.to.clone(), form).await?,
            since: since.transpose()?,
            limit: asked.limit.unwrap_or(LISTED).clamp(1, LISTED_MAX),
        })
    }

    async fn whom(
        &self,
        word: Option<String>,
        form: Form,
    ) -> Result<Option<Whom>, ProblemResponse> {
        if let Some(party) = word.as_deref().and_then(|word| form.party(word)) {
            return Ok(Some(Whom::As(party)));
        }
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
                let id = self.signal_id(text).await?;
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
            let (is_last, agents) = (rows.len() < READ_AT_ONCE, self.parties(&rows).await?);
            let ids = agents.ids().collect();
            let sights = self.sights(caller, ids).await?;
            // What is looked up reads recordings: only of those that are shown.
            let is_shown = |row: &&SignalRow| {
                let is_late = filter.since.is_none_or(|since| row.at >= since);
                is_late && passes(row, filter, &agents) && is_seen(caller, row, &agents, &sights)
            };
            let room = filter.limit - list.signals.len();
            let wanted: Vec<&SignalRow> = rows.iter().filter(is_shown).take(room).collect();
            let details = self.signal_details(&wanted).await?;
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
                list.signals.push(shown(row, &agents, &details));
            }
            if is_last {
                break;
            }
        }
        Ok(list)
    }
}

fn shown(row: SignalRow, agents: &Parties, details: &Details) -> Signal {
    let table = row.kind.table();
    let signal = Signal {
        id: row.id.to_string(),
        at: time::rfc3339(row.at),
        kind: row.kind.word().to_owned(),
        source: table.source.word().to_owned(),
        target: table.target.word().to_owned(),
        ..Signal::default()
    };
    match row.origin {
        SignalOrigin::Sent(sent) => shown_sent(*sent, row.at, agents, signal),
        SignalOrigin::Emitted { agent, session, says } => {
            let above = agents.guardian(agent, row.at);
            let name = agents.name(agent, row.at);
            let of_agent = (name.clone(), Some(agent.to_string()));
            let guardian = (
                above.map_or_else(|| "operator".to_owned(), |id| agents.name(id, row.at)),
                above.map(|id| id.to_string()),
            );
            let known = agents.get(agent);
            let output = session.and_then(|number| details.output_of(agent, number));
            let about = showing::About {
                name,
                task: details.task_of(agent, row.at),
                tmux_session: known.and_then(|known| known.tmux_session.as_deref()),
                work_file: known.and_then(|known| known.work_file.as_deref()),
                last_output: output.map(String::as_str),
            };
            let payload = showing::emitted((row.kind, row.at), &says, &about);
            let ((from, from_id), (to, to_id)) = match table.source {
                Party::Spawn => (("perennial".to_owned(), None), guardian),
                Party::Runner => (of_agent, guardian),
                Party::Guardian => (guardian, of_agent),
            };
            Signal { from, from_id, to, to_id, emitted: true, payload, ..signal }
        }
    }
}

/// What somebody sent, with the names that both had then.
fn shown_sent(sent: SignalEvent, at: Time, agents: &Parties, signal: Signal) -> Signal {
    let SignalEvent::Sent { by, by_name, to, to_name, payload, .. } = sent;
    let as_named = |name: Option<Name>, id: Option<AgentId>| {
        let name = name.map(|name| name.to_string());
        name.or_else(|| id.map(|id| agents.name(id, at))).unwrap_or_else(|| "operator".to_owned())
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

fn passes(row: &SignalRow, filter: &Filter, agents: &Parties) -> bool {
    let (from, to) = match &row.origin {
        SignalOrigin::Emitted { agent, .. } => {
            let above = agents.guardian(*agent, row.at);
            let guardian = above.map_or(Whom::Operator, Whom::Agent);
            match row.kind.table().source {
                Party::Spawn => (Whom::Perennial, guardian),
                Party::Runner => (Whom::Agent(*agent), guardian),
                Party::Guardian => (guardian, Whom::Agent(*agent)),
            }
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
    let table = row.kind.table();
    let is = |asked: Option<Whom>, whom, party| {
        asked.is_none_or(|asked| asked == whom || asked == Whom::As(party))
    };
    is(filter.from, from, table.source) && is(filter.to, to, table.target)
}

/// To whom a signal goes. A seed's runner is the agent that the payload names.
fn target(to: String, form: Form, payload: &Payload) -> SignalTarget {
    match (form.party(&to), to.as_str(), payload.get("identity_name")) {
        (Some(Party::Runner), _, Some(PayloadValue::Text(name))) => {
            SignalTarget::Agent(name.clone())
        }
        (Some(Party::Guardian), ..) | (None, "guardian" | "parent", _) => SignalTarget::Guardian,
        (None, "operator", _) => SignalTarget::Operator,
        (Some(Party::Runner | Party::Spawn) | None, ..) => SignalTarget::Agent(to),
    }
}

/// As texts are seen: by persons, by the agents that it names, and by those above them.
fn is_seen(
    caller: Caller,
    row: &SignalRow,
    agents: &Parties,
    sights: &BTreeMap<AgentId, Sight>,
) -> bool {
    let sees = |id: AgentId| sights.get(&id).is_some_and(|sight| sight.sees(Private::Texts));
    let is_person = match caller {
        Caller::Person => true,
        Caller::Agent(_) | Caller::Job | Caller::Viewer | Caller::Ambiguous => false,
    };
    let of_agents = match &row.origin {
        SignalOrigin::Emitted { agent, .. } => {
            sees(*agent) || agents.guardian(*agent, row.at).is_some_and(sees)
        }
        SignalOrigin::Sent(sent) => {
            let SignalEvent::Sent { by, to, .. } = &**sent;
            by.agent().is_some_and(sees) || matches!(to, Mailbox::Agent(id) if sees(*id))
        }
    };
    is_person || of_agents
}
