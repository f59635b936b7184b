//! The end of the journal, for those who follow it: records as they come, a bounded number at a time.
//!
//! Reads on a thread that may wait, never on the one that answers requests.

use std::sync::Arc;

use perennial_store::follow::Follower;
use perennial_store::journal::Seq;
use perennial_store::record::Record;
use tokio::sync::Notify;

use super::Shared;
use super::answer::ProblemResponse;

/// At most this many records are taken at once: all that is kept of the journal for one reader. Readers that do not read may
/// be many, and each keeps so much.
pub const BATCH: usize = 16;

pub struct JournalTail {
    surface: Shared,
    /// Away while it reads.
    follower: Option<Follower>,
    news: Arc<Notify>,
    after: Seq,
}

impl JournalTail {
    pub fn new(surface: &Shared, after: Seq) -> JournalTail {
        let mut follower = surface.journal.follow(after);
        let news = Arc::new(Notify::new());
        let bell = Arc::clone(&news);
        follower.on_news(Arc::new(move || bell.notify_one()));
        JournalTail { surface: Arc::clone(surface), follower: Some(follower), news, after }
    }

    /// The records that are there already; none: wait for `news`.
    pub async fn batch(&mut self) -> Result<Vec<Record>, ProblemResponse> {
        if self.surface.journal.head().0 <= self.after {
            return Ok(Vec::new());
        }
        let Some(mut follower) = self.follower.take() else { return Ok(Vec::new()) };
        let (follower, batch) = self
            .surface
            .read(move |_| {
                let mut batch = Vec::new();
                while batch.len() < BATCH
                    && let Some(record) = follower.try_next()?
                {
                    batch.push(record);
                }
                Ok((follower, batch))
            })
            .await?;
        self.after = follower.position();
        self.follower = Some(follower);
        Ok(batch)
    }

    /// Until more records may be there.
    pub async fn news(&self) {
        self.news.notified().await;
    }
}
