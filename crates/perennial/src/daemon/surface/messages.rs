//! Texts to agents: recorded here, told how far they have come; typing them is not done here.

use perennial_store::Store;
use std::time::Duration;

use axum::extract::State;
use perennial_api::answer;
use perennial_api::{query, request};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, MessageId};
use perennial_core::message::{self, MessageStep, Sender, Status, Why};
use perennial_core::reason::{Reason, Verb};
use perennial_core::refusal::Refusal;
use perennial_core::state;
use perennial_core::visibility::Private;
use perennial_engine::harness::typing;
use perennial_engine::supervisor::Rejection;
use perennial_store::journal::ReadError;
use perennial_store::text;
use perennial_store::{MessageRow, Version};
use tokio::time::timeout;

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query, Segment};
use super::{Shared, Surface, short_id};
use crate::daemon::driving::driver::{Closing, FleetView, chain};
use crate::daemon::showing::problems;
use crate::daemon::showing::{sentences, view};
use crate::daemon::time;

/// How many are listed unless the caller says otherwise, and at most.
const LISTED: usize = 20;
const LISTED_MAX: usize = 1000;
/// A caller that waits for a message asks again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

pub async fn show(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(id): Segment,
    Query(query::Message { wait, seconds }): Query<query::Message>,
) -> Answer {
    let id = surface.seen_message(caller, &id).await?;
    if wait {
        // One that is not over by then is told as it is.
        let longest = seconds.map_or(LONGEST_WAIT, Duration::from_secs).min(LONGEST_WAIT);
        let _late = timeout(longest, surface.driver.message_over(id)).await;
    }
    json(&surface.message(id).await?)
}

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(query::Sent { limit }): Query<query::Sent>,
) -> Answer {
    let agent = surface.may_see(caller, target, Private::Texts).await?;
    let limit = limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
    let listed = surface.read(move |journal| journal.messages(agent, limit)).await?;
    let mut messages = surface.shown(listed.rows).await?;
    messages.extend(std::iter::repeat_n(unreadable_row(), listed.unreadable));
    json(&messages)
}

/// In place of a row that says nothing.
fn unreadable_row() -> answer::Message {
    answer::Message {
        id: "?".to_owned(),
        state: "unreadable".to_owned(),
        is_final: true,
        why: Some(sentences::UNREADABLE_ROW.to_owned()),
        ..answer::Message::default()
    }
}

impl Surface {
    /// Records a text for an agent.
    pub async fn send(
        &self,
        caller: Caller,
        target: String,
        send: &request::Send,
    ) -> Result<answer::Message, ProblemResponse> {
        let named = Some(target.clone());
        let agent = self.authorise(caller, Verb::Send, named).await?.ok_or(Closing)?;
        let typed = self.typed(agent, &target, &send.text).await?;
        let id = MessageId(uuid::Uuid::now_v7().as_u128());
        let command = Command::Send {
            id,
            target: agent.to_string(),
            fingerprint: typing::fingerprint(&typed.text),
            body: text::body(&typed.text),
            after_turn: send.after_turn,
        };
        self.command(caller, command).await?;
        self.message(id).await
    }

    /// Takes a text back that waits.
    pub async fn withdraw(
        &self,
        caller: Caller,
        id: &str,
    ) -> Result<answer::Message, ProblemResponse> {
        let id = self.seen_message(caller, id).await?;
        let row = self.message_row(id).await?;
        let request = Request { caller, command: Command::Unsend { id } };
        let rejection = match self.driver.request(request).await? {
            Ok(_) => {
                let taken = MessageRow { step: MessageStep::Withdrawn, ..row };
                // Its row may not tell.
                return Ok(match self.message(id).await {
                    Ok(message) => message,
                    Err(_) => shown(&taken, Status::Withdrawn, Reason::Starting),
                });
            }
            // Memory knows it no longer: how it ended is in its row.
            Err(Rejection::Refused(Refusal::NoSuchMessage { .. })) => {
                let step = self.message_row(id).await?.step;
                Rejection::Refused(message::not_withdrawn(id, step))
            }
            Err(rejection) => rejection,
        };
        let look =
            move |view: &FleetView<'_>| problems::rejection(&rejection, view.supervisor.fleet());
        Err(ProblemResponse(self.driver.look(look).await?))
    }

    /// The text as the agent's harness takes it.
    async fn typed(
        &self,
        agent: AgentId,
        target: &str,
        text: &str,
    ) -> Result<typing::Typed, ProblemResponse> {
        let launch = self.driver.look(move |view| {
            // One that is not in memory is over: what is said of it comes with the refusal.
            let agent = view.supervisor.fleet().agent(agent)?;
            (!agent.launch.is_bare()).then(|| agent.launch.harness.clone())
        });
        let input = match launch.await? {
            None => None,
            Some(harness) => {
                let preset = self
                    .harnesses
                    .preset(&harness)
                    .map_err(|error| problems::preset_unusable(&chain(&error)))?;
                preset.input.clone()
            }
        };
        let typed = match &input {
            Some(input) => typing::clean(text, input),
            None => typing::bare(text),
        };
        typed.map_err(|why| ProblemResponse(problems::unsendable(&why, target)))
    }

    /// How far a message has come; where its row says nothing, as far as memory knows.
    async fn message_row(&self, id: MessageId) -> Result<MessageRow, ProblemResponse> {
        let row = self.read(move |journal| journal.message(id)).await;
        if let Ok(Some(row)) = row {
            return Ok(row);
        }
        let known = self
            .driver
            .look(move |view| view.supervisor.fleet().messages().get(id).map(MessageRow::of));
        match (known.await?, row) {
            (Some(known), _) => Ok(known),
            (None, Err(trouble)) => Err(trouble),
            (None, Ok(_)) => Err(no_such_message(id)),
        }
    }

    /// The message that is meant. Refuses a caller who may not see it in the very words for one that does not exist:
    /// ids can't be probed.
    async fn seen_message(
        &self,
        caller: Caller,
        typed: &str,
    ) -> Result<MessageId, ProblemResponse> {
        let unknown = || ProblemResponse(problems::no_such_message(typed));
        let mut seen = Vec::new();
        for id in self.messages_meant(typed).await? {
            let mailbox = match self.message_row(id).await {
                Ok(row) => row.mailbox,
                Err(ProblemResponse(problem)) if problem.kind == "no-such-message" => continue,
                Err(trouble) => return Err(trouble),
            };
            if self.sight_of_mailbox(caller, &mailbox).await?.sees_mailbox(&mailbox) {
                seen.push(id);
            }
        }
        short_id::one(typed, seen)?.ok_or_else(unknown)
    }

    /// The texts of persons that wait, or were typed a while ago and are not seen, the oldest first.
    pub async fn waiting_texts(
        &self,
        agent: AgentId,
    ) -> Result<Vec<answer::Message>, ProblemResponse> {
        let waiting = self.driver.look(move |view| {
            let pending = view.supervisor.fleet().pending_texts(agent, view.now);
            pending.map(|text| text.id).take(LISTED_MAX).collect::<Vec<MessageId>>()
        });
        let mut rows = Vec::new();
        for id in waiting.await? {
            rows.push(self.message_row(id).await?);
        }
        self.shown(rows).await
    }

    /// The texts of persons that its burial gave back, the newest first. What became of mail is told apart.
    pub async fn returned_texts(
        &self,
        agent: AgentId,
    ) -> Result<Vec<answer::Message>, ProblemResponse> {
        let read = move |journal: &dyn Store| {
            // The agent is buried: what can't be read of its texts does not change that.
            let mut rows = journal.messages(agent, LISTED_MAX).unwrap_or_default().rows;
            let is_returned = |row: &MessageRow| {
                let is_text = row.mail.is_none() && row.sender == Sender::Person;
                is_text && row.step == MessageStep::Returned
            };
            rows.retain(is_returned);
            let given = |row: &MessageRow| was_given(journal, row.message).unwrap_or(true);
            let given: Vec<bool> = rows.iter().map(given).collect();
            Ok((rows, given))
        };
        let (rows, given) = self.read(read).await?;
        let mut returned = self.shown(rows).await?;
        for (message, _) in returned.iter_mut().zip(given).filter(|(_, is_given)| *is_given) {
            message.why = Some(sentences::MAY_BE_READ.to_owned());
        }
        Ok(returned)
    }

    async fn message(&self, id: MessageId) -> Result<answer::Message, ProblemResponse> {
        let row = self.message_row(id).await?;
        self.shown(vec![row]).await?.pop().ok_or_else(|| Closing.into())
    }

    /// Messages as clients see them; of one that waits, what it waits for now.
    pub(super) async fn shown(
        &self,
        mut rows: Vec<MessageRow>,
    ) -> Result<Vec<answer::Message>, ProblemResponse> {
        // The journal may be ahead of memory for a moment.
        let head = self.journal.head().0;
        self.shown.clone().wait_for(|shown| *shown >= head).await.map_err(|_| Closing)?;
        // … and a row may be older than memory: one that has come to its end since is read again.
        let (told, ended) = self.told(rows.clone()).await?;
        if ended.is_empty() {
            return Ok(told);
        }
        for row in rows.iter_mut().filter(|row| ended.contains(&row.message)) {
            *row = self.message_row(row.message).await.unwrap_or_else(|_| row.clone());
        }
        Ok(self.told(rows).await?.0)
    }

    /// The same as memory has them, and which of them are no longer there.
    async fn told(
        &self,
        rows: Vec<MessageRow>,
    ) -> Result<(Vec<answer::Message>, Vec<MessageId>), ProblemResponse> {
        let look = move |view: &FleetView<'_>| {
            let fleet = view.supervisor.fleet();
            let is_gone = |row: &&MessageRow| {
                !row.step.is_final() && fleet.messages().get(row.message).is_none()
            };
            let ended = rows.iter().filter(is_gone).map(|row| row.message).collect();
            let told = |row: &MessageRow| {
                let status = message::status(fleet, row.message, row.step, view.now);
                let agent = row.mailbox.agent().and_then(|id| fleet.agent(id));
                let reason = agent.map_or(Reason::Starting, |agent| agent.reason);
                let mut told = shown(row, status, reason);
                let is_without = row.mail.is_some()
                    && matches!(status, Status::Waiting { why: Why::NoSession, .. });
                let asleep =
                    agent.filter(|agent| is_without && agent.state == state::State::Sleeping);
                if let (Some(agent), Some(why)) = (asleep, &mut told.why) {
                    why.push_str(&format!("; `perennial wake {}` starts one", view::name(agent)));
                }
                let blocked = fleet.messages().get(row.message).filter(|text| text.is_blocked());
                if let Some(words) = blocked.and_then(|text| text.hook_words.as_deref()) {
                    told.why = Some(sentences::blocked(words));
                }
                told
            };
            (rows.iter().map(told).collect(), ended)
        };
        Ok(self.driver.look(look).await?)
    }
}

/// Whether a text that was returned had been given to a session, which was not known to have read it.
fn was_given(journal: &dyn Store, id: MessageId) -> Result<bool, ReadError> {
    let newest = journal.read_stream_back(&Entity::Message(id), Version::END, 2)?;
    // What can't be read may have been that.
    Ok(newest.iter().any(|record| match &record.event {
        Ok(Event { what: What::Message(_, event), .. }) => event.is_given(),
        Ok(_) | Err(_) => true,
    }))
}

/// A message as clients see it; `agent` is the reason for its agent's state.
fn shown(row: &MessageRow, status: Status, agent: Reason) -> answer::Message {
    let (why, needs_you) = match status {
        Status::Waiting { why, needs_person } => (Some(sentences::waits(why, agent)), needs_person),
        Status::Offered { overdue } => (overdue.map(|why| sentences::waits(why, agent)), false),
        Status::Written => (Some(sentences::WRITTEN.to_owned()), false),
        Status::Lost { .. } => (Some(sentences::LOST.to_owned()), false),
        Status::Seen | Status::Withdrawn | Status::Returned => (None, false),
    };
    answer::Message {
        id: row.message.to_string(),
        from: sentences::sender(row.sender).to_owned(),
        head: row.head.clone(),
        state: state(status).to_owned(),
        is_final: status.is_final(),
        why,
        needs_you,
        session: row.session.map(|number| u64::from(number.0)),
        recorded_at: time::rfc3339(row.recorded_at),
        changed_at: time::rfc3339(row.changed_at),
    }
}

fn state(status: Status) -> &'static str {
    match status {
        Status::Waiting { .. }
        | Status::Lost { step: MessageStep::Recorded | MessageStep::Held } => "waiting",
        Status::Offered { .. } | Status::Written => "offered",
        Status::Lost { step: MessageStep::Offered | MessageStep::Entered | MessageStep::Heard } => {
            "offered"
        }
        Status::Seen | Status::Lost { step: MessageStep::Seen } => "seen",
        Status::Withdrawn | Status::Lost { step: MessageStep::Withdrawn } => "withdrawn",
        Status::Returned | Status::Lost { step: MessageStep::Returned } => "returned",
    }
}

fn no_such_message(id: MessageId) -> ProblemResponse {
    ProblemResponse(problems::no_such_message(&id.to_string()))
}

#[cfg(test)]
mod tests {
    use perennial_core::id::SessionNumber;
    use perennial_core::message::{Content, Held, MessageEvent};
    use perennial_core::time::Time;
    use perennial_store::MemoryJournal;
    use perennial_store::journal::{Batch, Expected, Journal};

    use super::*;

    #[test]
    fn a_text_that_was_returned_tells_whether_a_session_had_it() {
        let recorded = || MessageEvent::Recorded {
            to: AgentId(1).into(),
            from: Sender::Person,
            content: Content::Reminder { calls: 1, sample: None },
        };
        let offered = || MessageEvent::Offered {
            session: SessionNumber(1),
            attempt: 1,
            channel: None,
            with: None,
            behind: Duration::ZERO,
        };
        let entered = MessageEvent::Entered { attempt: 1, is_last: false };
        let heard = MessageEvent::Heard { attempt: 1 };
        let held = MessageEvent::Held { attempt: 1, why: Held::Draft, until: Time(1) };
        let lives = [
            (vec![recorded()], false),
            (vec![recorded(), offered()], true),
            (vec![recorded(), offered(), entered], true),
            (vec![recorded(), offered(), heard], true),
            (vec![recorded(), offered(), held], false),
        ];
        let id = MessageId(1);
        for (mut life, expected) in lives {
            life.push(MessageEvent::Returned);
            let journal = MemoryJournal::new();
            let event = |event| Event { at: Time(1), what: What::Message(id, event) };
            let events: Vec<Event> = life.iter().cloned().map(event).collect();
            journal.append(
                Batch::of(events, |_| Expected::Anything),
                Box::new(|done| assert!(done.is_ok())),
            );
            let given = was_given(&journal, id).expect("the journal is read");
            assert_eq!(given, expected, "{life:?}");
        }
    }
}
