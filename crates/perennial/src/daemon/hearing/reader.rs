//! Reads the conversations of agent CLIs: facts, figures, and a copy of our own.
//!
//! One thread; looks when it is told to (a hook was called, somebody asks), a moment later again for
//! what is written late, and then now and then to measure how long nothing came. It decides nothing.
//! A transcript is found by the vendor's rule and the conversation's id: a path that a session names
//! is not believed.
//!
//! Invariants
//! - RDR1  What it keeps is of agents that are in memory; of each, of the conversations that are read now.

mod open;

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io::{self, Read as _, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perennial_core::checkpoint::Position;
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::ConversationId;
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::hearing::{self, Limits, READ_AGAIN_AFTER};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_core::work::{Findings, RuleBook};
use perennial_engine::harness::conversation;
use perennial_engine::host::monotonic::{self, Moment};
use perennial_engine::host::{process, traffic};
use perennial_engine::regular_file::{self, Links};
use perennial_engine::transcript::account::Figures;
use perennial_engine::transcript::tail::Buffer;

use crate::daemon::driving::driver::{DriverHandle, Incoming};
use crate::daemon::driving::harness::Harnesses;
use open::{InWindow, Open, TranscriptFile};

/// Look at this agent's conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub agent: AgentId,
    pub number: SessionNumber,
    pub process: Option<Process>,
    pub harness: String,
    pub conversation: ConversationId,
    /// Those that it had before, oldest first.
    pub earlier: Vec<ConversationId>,
    /// A turn runs, as far as was heard.
    pub is_in_turn: bool,
    /// When a compaction was announced that has not come about yet, as far as was heard.
    pub compaction_announced: Option<Time>,
    pub role: Option<String>,
    /// When the session began, by the clock that dates transcripts.
    pub began_at: Option<Time>,
}

/// What was seen of one session.
#[derive(Debug)]
pub struct Sighting {
    pub agent: AgentId,
    pub number: SessionNumber,
    /// In their order.
    pub facts: Vec<Fact>,
    /// What was used in all conversations of the agent.
    pub figures: Option<Figures>,
    /// Other files or another test run were found than before.
    pub has_found: bool,
}

#[derive(Debug)]
enum Order {
    Look(Look),
    /// The agent has left memory, or is cleaned. Whoever waits for it is told.
    Forget(AgentId, Option<Sender<()>>),
}

impl Order {
    /// Whether one of the two is enough.
    fn is_same(&self, other: &Order) -> bool {
        match (self, other) {
            (Order::Look(one), Order::Look(other)) => one == other,
            (Order::Look(_) | Order::Forget(..), Order::Look(_) | Order::Forget(..)) => false,
        }
    }
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Reader {
    orders: Sender<Order>,
    findings: FindingsByAgent,
    rules: RuleBook,
}

/// What was found of the work of each agent's newest session, as far as it was read.
#[derive(Debug, Clone, Default)]
struct FindingsByAgent(Arc<Mutex<HashMap<AgentId, FoundWork>>>);

/// What was found of one session, and how far its conversation was read then.
#[derive(Debug, Clone)]
pub struct FoundWork {
    pub number: SessionNumber,
    pub findings: Findings,
    pub position: Option<Position>,
}

impl FindingsByAgent {
    fn all(&self) -> MutexGuard<'_, HashMap<AgentId, FoundWork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    pub fn start(
        harnesses: Harnesses,
        limits: Limits,
        rules: RuleBook,
        driver: DriverHandle,
    ) -> io::Result<Reader> {
        let (sender, inbox) = channel();
        let mut transcripts = OpenTranscripts::new(harnesses, limits, rules.clone());
        let findings = transcripts.findings.clone();
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || transcripts.run(&inbox, &driver))?;
        Ok(Reader { orders: sender, findings, rules })
    }

    /// What work is recognised by.
    pub fn rules(&self) -> &RuleBook {
        &self.rules
    }

    /// What the steps of the agent's newest session that was read show of its work.
    pub fn findings(&self, agent: AgentId) -> Option<(SessionNumber, Findings)> {
        // A conversation in which nothing was found tells no more than one that nobody has read.
        let found = self.found(agent).filter(|found| found.findings != Findings::default());
        found.map(|found| (found.number, found.findings))
    }

    /// The same, with how far the conversation was read.
    pub fn found(&self, agent: AgentId) -> Option<FoundWork> {
        self.findings.all().get(&agent).cloned()
    }

    pub fn look(&self, look: Look) {
        // A thread that is gone reads nothing more; the daemon is ending.
        let _ = self.orders.send(Order::Look(look));
    }

    /// What is kept of the agent's conversations is let go.
    pub fn forget(&self, agent: AgentId) {
        let _ = self.orders.send(Order::Forget(agent, None));
    }

    /// The same, and tells when no copy of them is being written any more.
    pub fn let_go(&self, agent: AgentId) -> Receiver<()> {
        let (done, is_done) = channel();
        let _ = self.orders.send(Order::Forget(agent, Some(done)));
        is_done
    }
}

struct OpenTranscripts {
    harnesses: Harnesses,
    limits: Limits,
    rules: RuleBook,
    findings: FindingsByAgent,
    /// Of agents that are in memory (RDR1).
    open: HashMap<AgentId, Open>,
    buffer: Buffer,
}

impl OpenTranscripts {
    fn new(harnesses: Harnesses, limits: Limits, rules: RuleBook) -> OpenTranscripts {
        let (open, buffer) = (HashMap::new(), Buffer::default());
        let findings = FindingsByAgent::default();
        OpenTranscripts { harnesses, limits, rules, findings, open, buffer }
    }

    fn run(&mut self, inbox: &Receiver<Order>, driver: &DriverHandle) {
        loop {
            let first = self.open.values().filter_map(|open| open.due).min();
            let next = match first {
                Some(due) => inbox.recv_timeout(due.saturating_sub(monotonic::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let seen: Vec<Sighting> = match next {
                Ok(first) => {
                    // What queued meanwhile is one look.
                    let mut orders = vec![first];
                    orders.extend(inbox.try_iter());
                    orders.dedup_by(|later, earlier| later.is_same(earlier));
                    orders.iter().filter_map(|order| self.obey(order)).collect()
                }
                Err(RecvTimeoutError::Timeout) => self.listen(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            for one in seen {
                if driver.send(Incoming::Sighted(one)).is_err() {
                    return;
                }
            }
        }
    }

    fn obey(&mut self, order: &Order) -> Option<Sighting> {
        match order {
            Order::Look(look) => self.look(look),
            Order::Forget(agent, waiting) => {
                self.open.remove(agent);
                self.findings.all().remove(agent);
                if let Some(waiting) = waiting {
                    // Whoever does not wait any more needs no answer.
                    let _ = waiting.send(());
                }
                None
            }
        }
    }

    /// Looks at those whose time has come.
    fn listen(&mut self) -> Vec<Sighting> {
        let now = monotonic::now();
        let is_due = |open: &&Open| open.due.is_some_and(|due| due <= now);
        let due: Vec<Look> =
            self.open.values().filter(is_due).map(|open| open.look.clone()).collect();
        due.iter().filter_map(|look| self.listen_to(look, now)).collect()
    }

    /// Reads what came late, and measures the silence where nothing did.
    fn listen_to(&mut self, look: &Look, now: Moment) -> Option<Sighting> {
        let before = self.open.get(&look.agent)?.lines();
        let mut sighting = self.read(look)?;
        let limits = self.limits;
        let open = self.open.get_mut(&look.agent)?;
        let has_grown = open.lines() != before;
        open.let_go_of_left(has_grown, now);
        if has_grown {
            (open.heard, open.due) = (now, Some(now + READ_AGAIN_AFTER));
            return Some(sighting);
        }
        let live = look.process.filter(|process| process::is_alive(*process));
        tidy(&self.harnesses, look);
        let polled = open.next_poll(&self.harnesses, now).filter(|_| live.is_some());
        if now < open.silent_look {
            // Nothing is to be said yet of what has not come.
            open.due = Some(polled.map_or(open.silent_look, |poll| poll.min(open.silent_look)));
            return Some(sighting);
        }
        if hearing::is_settled(open.path().is_some(), live.is_some()) {
            let settled = Fact::new(Origin::Transcript, Seen::Settled);
            sighting.facts.push(settled.within(Some(look.conversation.clone())));
        }
        let Some(process) = live else {
            open.due = None;
            return Some(sighting);
        };
        let lasted = now.saturating_sub(open.heard);
        open.silent_look = open.heard + limits.next_look(lasted);
        open.due = Some(polled.map_or(open.silent_look, |poll| poll.min(open.silent_look)));
        let seen = Seen::Silence { lasted, received: received(process) };
        sighting.facts.push(Fact::new(Origin::Kernel, seen));
        Some(sighting)
    }

    /// Somebody spoke: there is something to read now, or soon.
    fn look(&mut self, look: &Look) -> Option<Sighting> {
        let rules = &self.rules;
        let anew = || Open::new(look.clone(), rules);
        let open = self.open.entry(look.agent).or_insert_with(anew);
        open.heard = monotonic::now();
        open.follow(look.clone(), rules, open.heard);
        open.silent_look = open.heard;
        open.due = Some(open.heard + READ_AGAIN_AFTER);
        self.read(look)
    }

    fn read(&mut self, look: &Look) -> Option<Sighting> {
        let Look { agent, number, harness, .. } = look;
        let (harnesses, open) = (&self.harnesses, self.open.get_mut(agent)?);
        let find = |id: &ConversationId| {
            let ours = || Some(harnesses.copy(harness, id)).filter(|path| path.is_file());
            let is_earlier = *id != look.conversation;
            let vendor = harnesses.vendor(*agent, harness);
            let theirs = vendor.and_then(|(preset, home)| conversation::find(&preset, &home, id));
            let path = theirs.or_else(|| is_earlier.then(ours).flatten())?;
            Some(TranscriptFile { dialect: harnesses.preset(harness).ok()?.dialect, path })
        };
        let mut facts = Vec::from_iter(open.named(harnesses));
        facts.extend(open.update(&mut self.buffer, find));
        let measured = open.window().and_then(|window| measured(harnesses, look, window));
        facts.extend(measured);
        let current = open.path().map(|theirs| (&look.conversation, theirs));
        let mut whole = Vec::new();
        for (conversation, theirs) in current.into_iter().chain(open.left()) {
            let copied = copy(theirs, &harnesses.copy(harness, conversation))
                .and_then(|()| harnesses.remember_place(*agent, harness, conversation, theirs))
                .and_then(|()| match open.whole.contains(conversation) {
                    true => Ok(()),
                    false => harnesses.keep_parents(*agent, harness, conversation, copy),
                });
            match copied {
                Ok(()) => whole.push(conversation.clone()),
                Err(error) => tracing::warn!(%agent, %error, "a conversation can't be copied"),
            }
        }
        open.whole = whole;
        let figures = open.figures();
        let mut has_found = false;
        if open.has_worked() {
            let conversation = look.conversation.to_string();
            let (bytes, steps) = open.read_so_far();
            let position = Some(Position { conversation, bytes, steps });
            let findings = open.findings().clone();
            let found = FoundWork { number: *number, findings, position };
            let shown = (found.number, found.findings.edited.clone(), found.findings.tests.clone());
            let before = self.findings.all().insert(*agent, found);
            let before = before.map(|it| (it.number, it.findings.edited, it.findings.tests));
            has_found = before != Some(shown);
        }
        Some(Sighting { agent: *agent, number: *number, facts, figures, has_found })
    }
}

/// Takes what the start of the session left besides its conversation's file out of the vendor's sight.
fn tidy(harnesses: &Harnesses, look: &Look) {
    let Some((preset, home)) = harnesses.vendor(look.agent, &look.harness) else { return };
    let tidied = conversation::put_doubles_aside(&preset, &home, &look.conversation);
    if let Err(error) = tidied {
        tracing::warn!(agent = %look.agent, %error, "a second file of a conversation can't be put aside");
    }
}

/// The measure by the table of models, for a harness that tells no window.
fn measured(harnesses: &Harnesses, look: &Look, in_window: InWindow) -> Option<Fact> {
    let preset = harnesses.preset(&look.harness).ok()?;
    if preset.context.window_source == Source::StatusLine {
        return None;
    }
    let InWindow { tokens, model, source, window } = in_window;
    let listed = || preset.context.window(model.as_deref().unwrap_or_default());
    let window = window.unwrap_or_else(listed);
    let end = harnesses.compaction_window(look.agent, &preset);
    let usable = preset.context.usable(window, end);
    let sample = Sample { tokens, window, usable, source };
    let fact = Fact::new(Origin::Transcript, Seen::Measured { model, sample });
    Some(fact.within(Some(look.conversation.clone())))
}

/// How long ago the last byte was received on any open connection of the process.
fn received(process: Process) -> Option<Duration> {
    traffic::silent_for(process.pid).unwrap_or_else(|error| {
        tracing::warn!(%error, "connections can't be looked at; hung sessions can't be detected");
        None
    })
}

/// Brings our copy up to the vendor's file. A file that got shorter leaves the copy as it is.
fn copy(theirs: &Path, ours: &Path) -> io::Result<()> {
    if let Some(parent) = ours.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut from = regular_file::open(theirs, Links::Follow)?;
    let mut to = regular_file::open_to_append(ours)?;
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
    use perennial_api::Home;

    use super::*;

    /// RDR1
    #[test]
    fn an_agent_that_has_left_memory_leaves_nothing_here() {
        let dir = tempfile::tempdir().unwrap();
        let harnesses = Harnesses::new(Home::at(dir.path()), "/bin/true".into());
        let mut transcripts =
            OpenTranscripts::new(harnesses, Limits::default(), RuleBook::default());
        for agent in [1, 2].map(AgentId) {
            let _nothing_to_read = transcripts.obey(&Order::Look(Look {
                agent,
                number: SessionNumber::FIRST,
                process: None,
                harness: "claude".to_owned(),
                conversation: "a".parse().unwrap(),
                earlier: Vec::new(),
                is_in_turn: false,
                compaction_announced: None,
                role: None,
                began_at: None,
            }));
        }
        assert!(transcripts.obey(&Order::Forget(AgentId(1), None)).is_none());
        assert_eq!(transcripts.open.keys().collect::<Vec<_>>(), [&AgentId(2)]);
    }

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
