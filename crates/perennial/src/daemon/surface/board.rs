//! The board: post a text, list posts newest first, show one.
//!
//! Posts are read from the journal, a page at a time; none is kept. A text is read only through its
//! post.

use axum::extract::State;
use perennial_api::post::Post;
use perennial_api::query;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::PostId;
use perennial_core::post::{Author, PostEvent};
use perennial_core::text::Text;
use perennial_store::Store;
use perennial_store::journal::Version;
use perennial_store::record::Record;
use perennial_store::text;

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query, Segment};
use super::{Shared, Surface};
use crate::daemon::showing::{problems, role};
use crate::daemon::surface::checks;
use crate::daemon::time;

const PAGE: usize = 50;
const LARGEST_PAGE: usize = 500;

pub async fn list(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Query(wanted): Query<query::Board>,
) -> Answer {
    let limit = wanted.limit.unwrap_or(PAGE).min(LARGEST_PAGE);
    json(&surface.posts(wanted.before.as_deref(), limit).await?)
}

pub async fn show(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Segment(id): Segment,
) -> Answer {
    json(&surface.show_post(&id).await?)
}

impl Surface {
    /// Puts a text on the board; the post once it is durable.
    pub async fn post(
        &self,
        caller: Caller,
        title: Option<String>,
        text: &str,
    ) -> Result<Post, ProblemResponse> {
        let title = title.filter(|title| !title.is_empty());
        checks::post(title.as_deref(), text)?;
        let (id, body) = (PostId(uuid::Uuid::now_v7().as_u128()), text::body(text));
        self.command(caller, Command::Post { id, title, body }).await?;
        self.show_post(&id.to_string()).await
    }

    /// Up to `limit` posts that are older than `before`, newest first, without their texts.
    pub async fn posts(
        &self,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Post>, ProblemResponse> {
        let before = before.map_or(Ok(PostId(u128::MAX)), checks::post_id)?;
        let read = move |journal: &dyn Store| {
            let records = journal.streams_before(&Entity::Post(before), limit)?;
            let listed = |record| Post { text: None, ..listed(record).0 };
            Ok(records.iter().map(listed).collect())
        };
        self.read(read).await
    }

    /// One post with its text.
    pub async fn show_post(&self, id: &str) -> Result<Post, ProblemResponse> {
        let id = checks::post_id(id)?;
        let read = move |journal: &dyn Store| {
            let records = journal.read_stream(&Entity::Post(id), Version(0), 1)?;
            let Some(record) = records.first() else { return Ok(None) };
            let (mut post, text) = listed(record);
            if let Some(text) = text {
                post.text = journal.text(text.digest)?;
            }
            Ok(Some(post))
        };
        let post: Post =
            self.read(read).await?.ok_or_else(|| problems::no_such_post(&id.to_string()))?;
        if post.text.is_none() {
            return Err(ProblemResponse(problems::post_unread(id)));
        }
        Ok(post)
    }
}

/// The answer to a request for a post without an id.
pub fn no_such_post() -> ProblemResponse {
    ProblemResponse(problems::no_such_post(""))
}

/// A post, and its text as the event names it, unless the event is the text.
fn listed(record: &Record) -> (Post, Option<&Text>) {
    let mut post = Post {
        id: record.stream.as_ref().map(ToString::to_string).unwrap_or_default(),
        at: time::rfc3339(record.at),
        author: "unknown".to_owned(),
        ..Post::default()
    };
    match &record.event {
        Ok(Event { what: What::Post(_, PostEvent::Written { by, title, text }), .. }) => {
            match by {
                Author::Person => post.author = "person".to_owned(),
                Author::Agent { id, name } => {
                    post.author = "agent".to_owned();
                    post.agent = name.as_ref().map(ToString::to_string);
                    post.agent_id = Some(id.to_string());
                }
            }
            post.title.clone_from(title);
            post.head.clone_from(&text.head);
            post.bytes = text.bytes;
            (post, Some(text))
        }
        Ok(Event { what: What::Post(_, PostEvent::VacancyAnnounced(vacancy)), .. }) => {
            let (title, text) = role::announcement(vacancy);
            post.author = "perennial".to_owned();
            (post.head, post.bytes) = (text::body(&text).text.head, text.len() as u64);
            (post.title, post.text) = (Some(title), Some(text));
            (post, None)
        }
        // The stream of a post holds nothing else.
        Ok(_) => (post, None),
        Err(unreadable) => {
            // What is wrong with it may quote what it holds.
            post.head = format!("record {} can't be read", unreadable.seq);
            (post, None)
        }
    }
}
