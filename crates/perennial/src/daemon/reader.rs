//! Reads the conversations of agent CLIs: figures, what no hook tells, and a copy of our own.
//!
//! One thread; looks when it is told to (a hook was called, somebody asks), a moment later again for
//! what is written late, and once more when nothing came for so long that the model may never answer.
//! A transcript is found by the vendor's rule and the conversation's id: a path that a session names
//! is not believed.

mod open;

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use perennial_core::context::Source;
use perennial_core::conversation::ConversationId;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::Sign;
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_engine::host::moment::{self, Moment};
use perennial_engine::host::{process, traffic};
use perennial_engine::transcript::account::Figures;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::tail::Buffer;

use super::driver::{Desk, Message};
use super::harness::Harnesses;
use open::Open;

/// A harness speaks before it has written everything down: so much later it is looked at again.
const LATE: Duration = Duration::from_millis(500);

/// Look at this agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub process: Option<Process>,
    /// When its turn began: what is older says nothing of it.
    pub since: Time,
    pub harness: String,
    pub conversation: ConversationId,
}

/// What was seen of one session.
#[derive(Debug)]
pub struct Seen {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub signs: Vec<Sign>,
    pub read: Option<Read>,
    /// It was not heard for so long that a person may want to know, if it is in a turn.
    pub silence: Option<Duration>,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    pub figures: Figures,
    pub conversation: ConversationId,
    pub context: Option<InWindow>,
}

/// What a transcript tells of the window.
#[derive(Debug)]
pub struct InWindow {
    pub tokens: u64,
    /// Empty where it is not known.
    pub model: String,
    pub source: Source,
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Reader(Sender<Look>);

impl Reader {
    /// A model that says nothing for `silent_after` while it is awaited is told to hang.
    pub fn start(
        harnesses: Harnesses,
        copies: PathBuf,
        silent_after: Option<Duration>,
        desk: Desk,
    ) -> io::Result<Reader> {
        let (sender, inbox) = channel();
        let (open, buffer) = (HashMap::new(), Buffer::default());
        let mut shelves = Shelves { harnesses, copies, silent_after, open, buffer };
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || shelves.run(&inbox, &desk))?;
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
    silent_after: Option<Duration>,
    open: HashMap<AgentId, Open>,
    buffer: Buffer,
}

impl Shelves {
    fn run(&mut self, inbox: &Receiver<Look>, desk: &Desk) {
        loop {
            let first = self.open.values().filter_map(|open| open.due).min();
            let next = match first {
                Some(due) => inbox.recv_timeout(due.saturating_sub(moment::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let seen: Vec<Seen> = match next {
                Ok(first) => {
                    // What queued meanwhile is one look.
                    let mut looks = vec![first];
                    looks.extend(inbox.try_iter());
                    looks.dedup();
                    looks.iter().filter_map(|look| self.look(look)).collect()
                }
                Err(RecvTimeoutError::Timeout) => self.listen(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            for one in seen {
                if desk.send(Message::Read(one)).is_err() {
                    return;
                }
            }
        }
    }

    /// Looks at those whose time has come.
    fn listen(&mut self) -> Vec<Seen> {
        let now = moment::now();
        let is_due = |open: &&Open| open.due.is_some_and(|due| due <= now);
        let due: Vec<Look> =
            self.open.values().filter(is_due).map(|open| open.look.clone()).collect();
        due.iter().filter_map(|look| self.listen_to(look, now)).collect()
    }

    /// Reads what came late; where nothing did for too long, the session hangs.
    fn listen_to(&mut self, look: &Look, now: Moment) -> Option<Seen> {
        let before = self.open.get(&look.agent).map_or(0, Open::lines);
        let seen = self.read(look);
        let (limit, live) = (self.silent_after, look.process.filter(|process| is_alive(*process)));
        let open = self.open.get_mut(&look.agent)?;
        if open.lines() != before {
            (open.heard, open.due, open.is_warned) = (now, Some(now + LATE), false);
            return seen;
        }
        let Some(process) = live else {
            open.due = None;
            return seen;
        };
        let warned_at = open.heard + open.warned_after();
        if now >= warned_at && !open.is_warned {
            open.is_warned = true;
            let silence = Some(now.saturating_sub(open.heard));
            let (agent, number, signs) = (look.agent, look.number, Vec::new());
            return Some(Seen { agent, number, signs, read: None, silence });
        }
        let warned_at = Some(warned_at).filter(|_| !open.is_warned);
        let Some(limit) = limit else {
            open.due = warned_at;
            return seen;
        };
        if now < open.heard + limit {
            let judged_at = open.heard + limit;
            open.due = Some(warned_at.map_or(judged_at, |at| at.min(judged_at)));
            return seen;
        }
        open.due = Some(now + limit);
        // A tool may take as long as it likes.
        if open.calls.is_empty() && is_silent(process, limit) {
            let (agent, number) = (look.agent, look.number);
            let signs = vec![Sign::Hangs];
            return Some(Seen { agent, number, signs, read: None, silence: None });
        }
        seen
    }

    /// Somebody spoke: there is something to read now, or soon.
    fn look(&mut self, look: &Look) -> Option<Seen> {
        let open = self.open.entry(look.agent).or_insert_with(|| Open::new(look.clone()));
        if open.look.conversation != look.conversation {
            *open = Open::new(look.clone());
        }
        (open.heard, open.is_warned) = (moment::now(), false);
        open.due = Some(open.heard + LATE);
        open.look = look.clone();
        self.read(look)
    }

    fn read(&mut self, look: &Look) -> Option<Seen> {
        let open = self.open.get_mut(&look.agent)?;
        if open.conversation.is_none() {
            let path = self.harnesses.transcript(look.agent, &look.harness, &look.conversation)?;
            open.conversation = Some(Conversation::new(path, Prices::built_in()));
        }
        let (path, seen) = open.update(&mut self.buffer)?;
        let ours = self.copies.join(&look.harness).join(format!("{}.jsonl", look.conversation));
        if let Err(error) = copy(&path, &ours) {
            tracing::warn!(agent = %look.agent, %error, "a conversation can't be copied");
        }
        Some(seen)
    }
}

fn is_alive(process: Process) -> bool {
    process::stat(process.pid).is_some_and(|stat| stat.process == process)
}

/// A model that still thinks sends something now and then; without a connection nobody is awaited,
/// as between two tries.
fn is_silent(process: Process, limit: Duration) -> bool {
    match traffic::silent_for(process.pid) {
        Ok(silence) => silence.is_some_and(|silence| silence >= limit),
        Err(error) => {
            tracing::warn!(%error, "connections can't be looked at; nobody is said to hang");
            false
        }
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
