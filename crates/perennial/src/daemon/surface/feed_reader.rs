//! A reader of events at the other end of a connection: the way of lines to it, and its end.
//!
//! Invariants
//! - FR1  At most one line waits here for a reader; the journal keeps the rest.
//! - FR2  A reader that takes nothing for `PATIENCE` is given up. It gets a last word, should it read again,
//!   that says from where to resume; nothing else is kept for it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use perennial_api::sse::DROPPED;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_stream::Stream;

use super::answer::ProblemResponse;
use super::gate::Place;
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::problems;

/// A reader has to take something within this time, if there is something.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The daemon's side of a reader; it holds the reader's place.
#[derive(Debug)]
pub struct FeedReader {
    sender: Sender<Line>,
    last_word: Arc<OnceLock<Line>>,
    /// The last event that was sent.
    after: Option<u64>,
    patience: Duration,
    _place: Place,
}

/// Why nothing more is sent to a reader.
#[derive(Debug)]
pub enum Over {
    /// It is gone, or was given up.
    Gone,
    Failed(ProblemResponse),
}

impl From<ProblemResponse> for Over {
    fn from(trouble: ProblemResponse) -> Over {
        Over::Failed(trouble)
    }
}

impl From<Closing> for Over {
    fn from(_: Closing) -> Over {
        Over::Gone
    }
}

/// Answers with whatever `feed` sends to the reader, which has to take it within `patience`.
pub fn answer<F>(place: Place, patience: Duration, feed: impl FnOnce(FeedReader) -> F) -> Response
where
    F: Future<Output = Result<(), Over>> + Send + 'static,
{
    // FR1: an event may be large, and readers that do not read may be many.
    let (sender, receiver) = channel(1);
    let last_word = Arc::new(OnceLock::new());
    let lines = Lines { receiver, last_word: Some(Arc::clone(&last_word)) };
    let feed = feed(FeedReader { sender, last_word, after: None, patience, _place: place });
    tokio::spawn(async move {
        match feed.await {
            Ok(()) | Err(Over::Gone) => {}
            Err(Over::Failed(ProblemResponse(problem))) => {
                tracing::error!(why = problem.detail, "the feed can't go on");
            }
        }
    });
    Sse::new(lines).keep_alive(KeepAlive::default()).into_response()
}

impl FeedReader {
    /// Sends something that has no place in the journal.
    pub async fn send(&mut self, kind: &str, data: &impl Serialize) -> Result<(), Over> {
        self.send_line(line(data).event(kind)).await
    }

    /// Sends an event with its place in the journal.
    pub async fn send_event(
        &mut self,
        kind: Option<&str>,
        seq: u64,
        data: &impl Serialize,
    ) -> Result<(), Over> {
        let line = line(data).id(seq.to_string());
        self.send_line(match kind {
            Some(kind) => line.event(kind),
            None => line,
        })
        .await?;
        self.after = Some(seq);
        Ok(())
    }

    /// FR2
    async fn send_line(&mut self, line: Line) -> Result<(), Over> {
        match tokio::time::timeout(self.patience, self.sender.send(line)).await {
            Ok(sent) => sent.map_err(|_| Over::Gone),
            Err(_) => {
                let problem = problems::reader_too_slow(self.after, self.patience);
                tracing::info!(after = self.after, "a reader of events was given up");
                let _set_once = self.last_word.set(self::line(&problem).event(DROPPED));
                Err(Over::Gone)
            }
        }
    }

    /// Until the reader is gone.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}

fn line(data: &impl Serialize) -> Line {
    // Wire types are plain: nothing that JSON can't say.
    Line::default().data(serde_json::to_string(data).unwrap_or_default())
}

/// Lines on their way out, and the last word after them.
struct Lines {
    receiver: Receiver<Line>,
    last_word: Option<Arc<OnceLock<Line>>>,
}

impl Stream for Lines {
    type Item = Result<Line, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context).map(|line| {
            let last = || self.last_word.take().and_then(|word| word.get().cloned());
            line.or_else(last).map(Ok)
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use perennial_core::admission::Party;
    use perennial_core::id::AgentId;
    use tokio_stream::StreamExt;

    use super::super::gate::Gate;
    use super::*;

    /// FR2
    #[tokio::test]
    async fn a_reader_that_does_not_read_is_told_so_when_it_reads_again() {
        let (gate, agent) = (Gate::new(20_000), Party::Agent(AgentId(1)));
        let place = gate.feed(agent).expect("a place");
        let (over, is_over) = tokio::sync::oneshot::channel();
        let answer = answer(place, Duration::from_millis(20), |mut reader| async move {
            let mut seq = 0;
            let ended = loop {
                seq += 1;
                if let Err(ended) = reader.send_event(None, seq, &seq).await {
                    break ended;
                }
            };
            drop(reader);
            let _told = over.send(());
            Err(ended)
        });
        // Nobody polls the answer's body: time passes, and the feed is given up.
        is_over.await.expect("it ended");
        let mut body = Body::into_data_stream(answer.into_body());
        let mut text = String::new();
        while let Some(part) = body.next().await {
            text.push_str(&String::from_utf8_lossy(&part.expect("a part")));
        }
        let (first, last) = text.split_once("\n\n").expect("two messages");
        assert!(first.contains("id: 1"), "{text}");
        assert!(last.contains("event: dropped"), "{text}");
        assert!(text.contains("too-slow") && text.contains("last-event-id: 1"), "{text}");
    }
}
