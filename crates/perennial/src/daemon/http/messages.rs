//! Texts to agents: recorded here, told how far they have come; typing them is not done here.

use std::time::Duration;

use axum::extract::{Path as Route, Query, State};
use perennial_api::Problem;
use perennial_api::answer;
use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::{AgentId, MessageId};
use perennial_core::message::{self, Sender};
use perennial_core::reason::Verb;
use perennial_engine::harness::typing;
use perennial_store::text;
use perennial_store::{MessageRow, MessageStep};
use serde::Deserialize;
use tokio::time::timeout;

use super::answer::{Answer, Trouble, json};
use super::extract::{Body, Shown};
use super::{Shared, Surface};
use crate::daemon::driver::{Closing, Sight};
use crate::daemon::{time, view, words};

/// So many are listed unless the caller says otherwise, and at most.
const LISTED: usize = 20;
const LISTED_MAX: usize = 1000;
/// A caller that waits for a message asks again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

pub async fn send(
    State(surface): State<Shared>,
    Shown(caller): Shown,
    Route(target): Route<String>,
    Body(body): Body<request::Send>,
) -> Answer {
    let named = Some(target.clone());
    let agent = surface.authorise(caller, Verb::Send, named).await?.ok_or(Closing)?;
    let typed = surface.typed(agent, &target, &body.text).await?;
    let id = MessageId(uuid::Uuid::now_v7().as_u128());
    let command = Command::Send {
        id,
        target: agent.to_string(),
        fingerprint: typing::fingerprint(&typed.text),
        body: text::body(&typed.text),
        after_turn: body.after_turn,
    };
    surface.command(caller, command).await?;
    json(&surface.message(id).await?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wait {
    /// Answer when nothing more will happen to it, or after a while …
    wait: bool,
    /// … which is not longer than this.
    seconds: Option<u64>,
}

pub async fn show(
    State(surface): State<Shared>,
    Shown(caller): Shown,
    Route(id): Route<String>,
    Query(Wait { wait, seconds }): Query<Wait>,
) -> Answer {
    let id = message_id(&id)?;
    surface.seen_by(caller, id).await?;
    if wait {
        // One that is not over by then is told as it is.
        let longest = seconds.map_or(LONGEST_WAIT, Duration::from_secs).min(LONGEST_WAIT);
        let _late = timeout(longest, surface.desk.message_over(id)).await;
    }
    json(&surface.message(id).await?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Part {
    limit: Option<usize>,
}

pub async fn list(
    State(surface): State<Shared>,
    Shown(caller): Shown,
    Route(target): Route<String>,
    Query(Part { limit }): Query<Part>,
) -> Answer {
    let agent = surface.authorise(caller, Verb::Send, Some(target)).await?.ok_or(Closing)?;
    let limit = limit.unwrap_or(LISTED).clamp(1, LISTED_MAX);
    let journal = std::sync::Arc::clone(&surface.journal);
    let listed = tokio::task::spawn_blocking(move || journal.messages(agent, limit));
    let listed = listed.await.map_err(|_| Closing)?.map_err(|error| unread(&error))?;
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
        why: Some(words::UNREADABLE_ROW.to_owned()),
        ..answer::Message::default()
    }
}

pub async fn withdraw(
    State(surface): State<Shared>,
    Shown(caller): Shown,
    Route(id): Route<String>,
) -> Answer {
    let id = message_id(&id)?;
    surface.seen_by(caller, id).await?;
    // One that is over is told as it is, so that nobody wonders.
    let message = surface.message(id).await?;
    let is_held = message.why.as_deref() == Some(words::UNREADABLE);
    if message.is_final && !is_held {
        let mut problem = Problem::new(409, "message-over", format!("{id} can't be taken back"));
        if message.why.as_deref() == Some(words::LOST) {
            problem =
                problem.next("nothing more happens to it; send it again if it is still needed");
        }
        return Err(Trouble(
            problem.because(message.why.unwrap_or_else(|| format!("it was {}", message.state))),
        ));
    }
    surface.command(caller, Command::Unsend { id }).await?;
    let state = state(MessageStep::Withdrawn).to_owned();
    // Its row may not tell.
    let taken = answer::Message { state, is_final: true, why: None, ..message };
    json(&surface.message(id).await.unwrap_or(taken))
}

impl Surface {
    /// The text as the agent's harness takes it.
    async fn typed(
        &self,
        agent: AgentId,
        target: &str,
        text: &str,
    ) -> Result<typing::Typed, Trouble> {
        let launch = self.desk.look(move |sight| {
            // One that is not in memory is over: what is said of it comes with the refusal.
            let agent = sight.supervisor.fleet().agent(agent)?;
            (!agent.launch.is_bare()).then(|| agent.launch.harness.clone())
        });
        let input = match launch.await? {
            None => None,
            Some(harness) => {
                let preset = self.harnesses.preset(&harness).map_err(|error| {
                    Trouble(
                        Problem::new(409, "no-harness", "its harness has no preset")
                            .because(error.to_string()),
                    )
                })?;
                preset.input.clone()
            }
        };
        let typed = match &input {
            Some(input) => typing::clean(text, input),
            None => typing::bare(text),
        };
        typed.map_err(|why| {
            let kind = match &why {
                typing::Unsendable::TooLong(_) => "too-long",
                typing::Unsendable::Empty
                | typing::Unsendable::EndsProgram(_)
                | typing::Unsendable::Shell(_)
                | typing::Unsendable::Command(_) => "unsendable",
            };
            Trouble(
                Problem::new(400, kind, "the text can't be sent")
                    .because(why.to_string())
                    .next(format!("perennial attach {target} lets you type it yourself")),
            )
        })
    }

    /// How far a message has come; where its row says nothing, as far as memory knows.
    async fn message_row(&self, id: MessageId) -> Result<MessageRow, Trouble> {
        let journal = std::sync::Arc::clone(&self.journal);
        let row = tokio::task::spawn_blocking(move || journal.message(id));
        let row = row.await.map_err(|_| Closing)?;
        if let Ok(Some(row)) = row {
            return Ok(row);
        }
        let known = self
            .desk
            .look(move |sight| sight.supervisor.fleet().messages().get(id).map(MessageRow::of));
        match (known.await?, row) {
            (Some(known), _) => Ok(known),
            (None, Err(error)) => Err(unread(&error)),
            (None, Ok(_)) => Err(no_such_message(id)),
        }
    }

    /// Refuses a caller who may not see this message in the very words for one that does not exist:
    /// ids can't be probed.
    async fn seen_by(&self, caller: Caller, id: MessageId) -> Result<(), Trouble> {
        let row = self.message_row(id).await?;
        match self.authorise(caller, Verb::Send, Some(row.agent.to_string())).await {
            Ok(_) => Ok(()),
            Err(Trouble(problem)) if problem.status == 403 => Err(no_such_message(id)),
            Err(trouble) => Err(trouble),
        }
    }

    /// The texts of persons that wait, the oldest first.
    pub async fn waiting_texts(&self, agent: AgentId) -> Result<Vec<answer::Message>, Trouble> {
        let waiting = self.desk.look(move |sight| {
            let texts = sight.supervisor.fleet().messages().of(agent);
            let waiting = texts.filter(|text| view::is_waiting_text(text)).map(|text| text.id);
            waiting.take(LISTED_MAX).collect::<Vec<MessageId>>()
        });
        let mut rows = Vec::new();
        for id in waiting.await? {
            rows.push(self.message_row(id).await?);
        }
        self.shown(rows).await
    }

    /// The texts of persons that its burial gave back, the newest first.
    pub async fn returned_texts(&self, agent: AgentId) -> Result<Vec<answer::Message>, Trouble> {
        let journal = std::sync::Arc::clone(&self.journal);
        let rows = tokio::task::spawn_blocking(move || journal.messages(agent, LISTED_MAX));
        // The agent is buried: what can't be read of its texts does not change that.
        let mut rows = rows.await.map_err(|_| Closing)?.unwrap_or_default().rows;
        rows.retain(|row| row.step == MessageStep::Returned && row.sender == Sender::Person);
        self.shown(rows).await
    }

    async fn message(&self, id: MessageId) -> Result<answer::Message, Trouble> {
        let row = self.message_row(id).await?;
        self.shown(vec![row]).await?.pop().ok_or_else(|| Closing.into())
    }

    /// Messages as clients see them; of one that waits, what it waits for now.
    async fn shown(&self, mut rows: Vec<MessageRow>) -> Result<Vec<answer::Message>, Trouble> {
        // The journal may be ahead of memory for a moment.
        let head = self.journal.head().0;
        self.shown.clone().wait_for(|shown| *shown >= head).await.map_err(|_| Closing)?;
        let ids: Vec<MessageId> = rows.iter().map(|row| row.message).collect();
        let look = move |sight: &Sight<'_>| {
            let fleet = sight.supervisor.fleet();
            let why =
                |id: MessageId| Some(message::why(fleet, fleet.messages().get(id)?, sight.now));
            ids.into_iter().map(why).collect()
        };
        let waits: Vec<Option<message::Why>> = self.desk.look(look).await?;
        for (row, waits) in rows.iter_mut().zip(&waits) {
            // It may have come to its end since its row was read.
            if waits.is_none() && !row.step.is_final() {
                *row = self.message_row(row.message).await.unwrap_or_else(|_| row.clone());
            }
        }
        Ok(rows.iter().zip(waits).map(|(row, waits)| shown(row, waits)).collect())
    }
}

fn shown(row: &MessageRow, waits: Option<message::Why>) -> answer::Message {
    let is_waiting = matches!(row.step, MessageStep::Recorded | MessageStep::Held);
    let is_written = row.step == MessageStep::Entered && waits.is_none();
    // Whatever is not over is in memory, unless its first record could not be read.
    let is_damaged = !row.step.is_final() && !is_written && waits.is_none();
    // One that is held for damage waits for a person, whatever its row says.
    let is_held = waits == Some(message::Why::Unreadable);
    let why = match waits.filter(|_| is_waiting || is_held) {
        Some(why) => Some(words::waits(why).to_owned()),
        None if is_written => Some(words::WRITTEN.to_owned()),
        None if is_damaged => Some(words::LOST.to_owned()),
        None => None,
    };
    answer::Message {
        id: row.message.to_string(),
        from: words::sender(row.sender).to_owned(),
        head: row.head.clone(),
        state: state(if is_held { MessageStep::Held } else { row.step }).to_owned(),
        is_final: row.step.is_final() || is_held || is_written || is_damaged,
        why,
        session: row.session.map(|number| u64::from(number.0)),
        recorded_at: time::moment(row.recorded_at),
        changed_at: time::moment(row.changed_at),
    }
}

fn state(step: MessageStep) -> &'static str {
    match step {
        MessageStep::Recorded | MessageStep::Held => "waiting",
        MessageStep::Offered | MessageStep::Entered | MessageStep::Heard => "offered",
        MessageStep::Seen => "seen",
        MessageStep::Withdrawn => "withdrawn",
        MessageStep::Returned => "returned",
    }
}

fn message_id(id: &str) -> Result<MessageId, Trouble> {
    id.parse().map_err(|_| {
        Trouble(
            Problem::new(400, "no-message-id", "that is not the id of a message")
                .because("an id begins with msg_ and has 26 more characters")
                .next("perennial sent NAME lists ids"),
        )
    })
}

fn no_such_message(id: MessageId) -> Trouble {
    Trouble(
        Problem::new(404, "no-such-message", format!("there is no message {id}"))
            .next("perennial sent NAME lists what was sent"),
    )
}

fn unread(error: &dyn std::error::Error) -> Trouble {
    Trouble(
        Problem::new(500, "journal-unread", "the journal can't be read")
            .because(crate::daemon::driver::chain(error)),
    )
}
