//! Reads the conversations of agent CLIs: figures, what no hook tells, and a copy of our own.
//!
//! One thread; looks when it is told to (a hook was called, somebody asks), never by itself. A
//! transcript is found by the vendor's rule and the conversation's id: a path that a session names
//! is not believed.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use perennial_core::conversation::ConversationId;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Sign, Wait};
use perennial_engine::transcript::account::Figures;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, ErrorKind, Step};
use perennial_engine::transcript::tail::Buffer;

use super::driver::{Desk, Message};
use super::harness::Harnesses;

/// Look at this agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub harness: String,
    pub conversation: ConversationId,
}

/// What was read.
#[derive(Debug)]
pub struct Seen {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub signs: Vec<Sign>,
    pub figures: Figures,
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Reader(Sender<Look>);

impl Reader {
    pub fn start(harnesses: Harnesses, copies: PathBuf, desk: Desk) -> io::Result<Reader> {
        let (sender, inbox) = channel();
        std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            Shelves { harnesses, copies, open: HashMap::new(), buffer: Buffer::default() }
                .run(&inbox, &desk);
        })?;
        Ok(Reader(sender))
    }

    pub fn look(&self, look: Look) {
        // A thread that is gone reads nothing more; the daemon is ending.
        let _ = self.0.send(look);
    }
}

struct Shelves {
    harnesses: Harnesses,
    copies: PathBuf,
    open: HashMap<AgentId, (ConversationId, Conversation)>,
    buffer: Buffer,
}

impl Shelves {
    fn run(&mut self, inbox: &Receiver<Look>, desk: &Desk) {
        while let Ok(first) = inbox.recv() {
            // What queued meanwhile is one look.
            let mut looks = vec![first];
            looks.extend(inbox.try_iter());
            looks.dedup();
            for look in looks {
                if let Some(read) = self.read(&look)
                    && desk.send(Message::Read(read)).is_err()
                {
                    return;
                }
            }
        }
    }

    fn read(&mut self, look: &Look) -> Option<Seen> {
        let is_open = |(id, _): &(ConversationId, Conversation)| *id == look.conversation;
        if !self.open.get(&look.agent).is_some_and(is_open) {
            let path = self.harnesses.transcript(look.agent, &look.harness, &look.conversation)?;
            let conversation = Conversation::new(path, Prices::built_in());
            self.open.insert(look.agent, (look.conversation.clone(), conversation));
        }
        let (_, conversation) = self.open.get_mut(&look.agent)?;
        // What stood there before we looked was told by others, or in another session.
        let is_first = conversation.notes().lines == 0;
        let mut signs = Vec::new();
        let updated = conversation.update(&mut self.buffer, |step| {
            signs.extend(sign(step).filter(|_| !is_first));
        });
        if let Err(error) = updated {
            tracing::warn!(agent = %look.agent, %error, "a transcript can't be read");
            return None;
        }
        let path = conversation.path().to_owned();
        let figures = conversation.account().total();
        let ours = self.copies.join(&look.harness).join(format!("{}.jsonl", look.conversation));
        if let Err(error) = copy(&path, &ours) {
            tracing::warn!(agent = %look.agent, %error, "a conversation can't be copied");
        }
        Some(Seen { agent: look.agent, number: look.number, signs, figures })
    }
}

/// What a step says that no hook does.
fn sign(step: &Step) -> Option<Sign> {
    if step.sidechain {
        return None;
    }
    match &step.content {
        Content::RateLimit { until, .. } => Some(Sign::Waits(Wait::RateLimit(*until))),
        Content::Interrupted => Some(Sign::Waits(Wait::Input)),
        Content::Error { kind: ErrorKind::ContextOverflow, .. } => Some(Sign::Waits(Wait::Failure)),
        Content::Compaction(_) => Some(Sign::Compacted),
        Content::Prompt(_)
        | Content::Text(_)
        | Content::Thinking
        | Content::ToolCall { .. }
        | Content::ToolResult { .. }
        | Content::Usage(_)
        | Content::Error { .. }
        | Content::ConversationChanged { .. } => None,
    }
}

/// Brings our copy up to the vendor's file. A file that got shorter leaves the copy as it is.
fn copy(theirs: &Path, ours: &Path) -> io::Result<()> {
    if let Some(parent) = ours.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut from = File::open(theirs)?;
    let mut to = OpenOptions::new().append(true).create(true).mode(0o600).open(ours)?;
    let have = to.metadata()?.len();
    let length = from.metadata()?.len();
    if length > have {
        from.seek(SeekFrom::Start(have))?;
        io::copy(&mut from.take(length - have), &mut to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_grows_with_the_vendors_file_and_outlives_it() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, ours) = (dir.path().join("t.jsonl"), dir.path().join("copies/claude/t.jsonl"));
        for text in ["one\n", "one\ntwo\n", "gone"] {
            std::fs::write(&theirs, text).unwrap();
            copy(&theirs, &ours).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&ours).unwrap(), "one\ntwo\n");
        std::fs::remove_file(&theirs).unwrap();
        assert!(copy(&theirs, &ours).is_err());
        assert_eq!(std::fs::read_to_string(&ours).unwrap(), "one\ntwo\n");
    }
}
