//! Where an agent's work stands, gathered for the one who makes a briefing of it: from the fleet first, then from files
//! and the store.
//!
//! The daemon, which starts sessions, and the verb `briefing`, which shows what the next one would be told, both come
//! through here. Decides nothing.

use perennial_core::agent::Agent;
use perennial_core::checkpoint::Checkpoint;
use perennial_core::conversation::{FirstPrompt, Opening, Turn};
use perennial_core::fleet::Fleet;
use perennial_core::id::SessionNumber;
use perennial_core::succession::{Afresh, Beginning, Form};
use perennial_core::text::Digest;
use perennial_core::work::{Findings, WorkPhase};
use perennial_engine::briefing::{self, By, HandoffNotes, Standing, Utterance};
use perennial_engine::harness::session_texts::CurrentTask;
use perennial_engine::transcript::recent;
use perennial_store::{Store, checkpoint};

use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::pages::Subject;
use crate::daemon::showing::{sentences, session_start, view};

/// What is known of an agent's work at a moment.
#[derive(Debug, Clone)]
pub struct KnownWork {
    name: String,
    session: u64,
    beginning: Beginning,
    turn: Turn,
    exit: Option<String>,
    has_thrashed: bool,
    phase: WorkPhase,
    task: Option<KnownTask>,
    first_prompt: Option<String>,
    summary: Option<String>,
    /// Subject and notes of the handoff of that session.
    notes: Option<(String, String)>,
    checkpoint: Option<Checkpoint>,
    findings: Option<Findings>,
    tail: Vec<Utterance>,
    unread_mail: Option<String>,
    /// Where the rest lies that is read for it.
    subject: Option<Subject>,
    content: Option<Digest>,
}

#[derive(Debug, Clone)]
struct KnownTask {
    id: String,
    title: String,
    open_step: Option<(usize, usize, String)>,
    given_back: Option<String>,
    last_note: Option<String>,
}

impl KnownWork {
    /// For the session that is about to begin, or that goes on in a new window.
    pub fn of(fleet: &Fleet, agent: &Agent, beginning: Beginning) -> KnownWork {
        let number = agent.session.as_ref().map_or(0, |session| u64::from(session.number.0));
        let last = agent.succession.last;
        // Where nobody recorded it, the one before.
        let before = last.map_or(number.saturating_sub(1), |last| u64::from(last.number.0));
        let (session, exit) = match beginning {
            Beginning::Compaction => (number, None),
            Beginning::Birth
            | Beginning::Crash
            | Beginning::Again
            | Beginning::Wake
            | Beginning::Stop
            | Beginning::Restart
            | Beginning::Reboot
            | Beginning::Handoff => (before, last.and_then(|last| last.exit)),
        };
        KnownWork {
            session,
            exit: exit.map(sentences::exit),
            ..KnownWork::at(fleet, agent, (beginning, agent.turn_left(beginning)))
        }
    }

    /// For the session that would follow the last one that ran.
    pub fn foretold(
        fleet: &Fleet,
        agent: &Agent,
        (beginning, turn): (Beginning, Turn),
    ) -> KnownWork {
        let known = KnownWork::at(fleet, agent, (beginning, turn));
        let last = agent.next_goes_on_from();
        let session = last.map_or(known.session, |last| u64::from(last.number.0));
        let exit = last.and_then(|last| last.exit);
        KnownWork { session, exit: exit.map(sentences::exit), ..known }
    }

    fn at(fleet: &Fleet, agent: &Agent, (beginning, turn): (Beginning, Turn)) -> KnownWork {
        let task = fleet.tasks().current(agent.id).map(|task| KnownTask {
            id: task.id.to_string(),
            title: task.brief.title.clone(),
            open_step: task
                .open_step()
                .map(|(at, step)| (at, task.brief.steps.len(), step.text.clone())),
            given_back: Some(task.reason.clone()).filter(|_| task.rounds > 0),
            last_note: task.last_note.as_deref().map(|(_, note)| note.head.clone()),
        });
        KnownWork {
            name: view::name(agent),
            session: agent.session.as_ref().map_or(0, |session| u64::from(session.number.0)),
            beginning,
            turn,
            exit: None,
            has_thrashed: agent.succession.afresh == Some(Afresh::Thrash),
            phase: agent.work.phase,
            task,
            first_prompt: agent.launch.options.prompt.clone(),
            summary: agent.summary.clone(),
            notes: agent
                .handoff_notes()
                .map(|(subject, notes)| (subject.to_owned(), notes.to_owned())),
            checkpoint: None,
            findings: None,
            tail: Vec::new(),
            unread_mail: session_start::unread_mail(fleet, agent),
            subject: Subject::of(agent),
            content: agent.checkpoint.as_ref().map(|head| head.text.digest),
        }
    }

    /// With the last checkpoint.
    pub fn with_checkpoint(mut self, journal: &dyn Store) -> KnownWork {
        match self.content.map(|digest| checkpoint::content(journal, digest)).transpose() {
            Ok(content) => self.checkpoint = content.flatten(),
            Err(error) => tracing::warn!(%error, "a checkpoint can't be read"),
        }
        self.beside_checkpoint()
    }

    /// What was found since the last checkpoint, beside what that has.
    fn beside_checkpoint(mut self) -> KnownWork {
        if let Some(last) = &self.checkpoint {
            self.findings = self.findings.map(|found| found.with_earlier(&last.found));
        }
        self
    }

    /// With the end of the conversation, which a session that has it, or a summary of it, need not be told. Reads a
    /// bounded part of one file.
    pub fn with_tail(mut self, harnesses: &Harnesses) -> KnownWork {
        let is_needed = self.beginning != Beginning::Compaction;
        let found = self.subject.as_ref().filter(|_| is_needed);
        if let Some((dialect, path)) = found.and_then(|subject| subject.newest(harnesses)) {
            match recent::recent(dialect, &path) {
                Ok(tail) => self.tail = tail,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a conversation's end can't be read");
                }
            }
        }
        self
    }

    /// With what was found of the session that it tells of, beside what its last checkpoint has. What was found of another
    /// says nothing here.
    pub fn with_findings(mut self, found: Option<(SessionNumber, Findings)>) -> KnownWork {
        let of_this = found.filter(|(number, _)| u64::from(number.0) == self.session);
        self.findings = of_this.map(|(_, found)| found);
        self.beside_checkpoint()
    }

    pub fn note(&self, closing: &str) -> String {
        briefing::note(&self.standing(), closing)
    }

    pub fn full(&self, by: By) -> String {
        briefing::full(&self.standing(), by)
    }

    /// The text that goes with the reply to a hook.
    pub fn by_hook(&self, form: Form) -> String {
        match form {
            Form::Note => self.note(""),
            Form::Full => self.full(By::Hook),
        }
    }

    fn standing(&self) -> Standing<'_> {
        Standing {
            agent: &self.name,
            session: self.session,
            beginning: self.beginning,
            turn: self.turn,
            exit: self.exit.as_deref(),
            has_thrashed: self.has_thrashed,
            phase: self.phase,
            task: self.task.as_ref().map(|task| CurrentTask {
                id: &task.id,
                title: &task.title,
                open_step: task.open_step.as_ref().map(|(at, of, step)| (*at, *of, step.as_str())),
                given_back: task.given_back.as_deref(),
                last_note: task.last_note.as_deref(),
            }),
            first_prompt: self.first_prompt.as_deref(),
            summary: self.summary.as_deref(),
            notes: self.notes.as_ref().map(|(subject, text)| HandoffNotes { subject, text }),
            checkpoint: self.checkpoint.as_ref(),
            findings: self.findings.as_ref(),
            tail: &self.tail,
            unread_mail: self.unread_mail.as_deref(),
        }
    }
}

/// What the next session of an agent would be told, and how.
#[derive(Debug, Clone)]
pub struct Foretold {
    pub work: KnownWork,
    pub beginning: Beginning,
    pub told: FirstPrompt,
    /// With the reply to a hook, where no prompt tells it.
    pub by_hook: Option<Form>,
    /// The prompt that it was launched with.
    pub launch_prompt: Option<String>,
    pub harness: String,
    /// Nobody reads what it would be told.
    pub is_bare: bool,
}

impl Foretold {
    /// By the core's own choice: as if the next session began now.
    pub fn of(fleet: &Fleet, agent: &Agent, (after, is_fresh): Wanted) -> Foretold {
        let next = agent.foretell(after, is_fresh);
        let beginning = next.beginning;
        let turn = match &next.opening {
            Opening::Resume { turn, .. } | Opening::Anew { turn, .. } => *turn,
            Opening::Bare | Opening::Fresh(_) => agent.turn,
        };
        Foretold {
            work: KnownWork::foretold(fleet, agent, (beginning, turn)),
            beginning,
            told: next.first_prompt,
            by_hook: next.by_hook,
            launch_prompt: agent.launch.options.prompt.clone(),
            harness: agent.launch.harness.clone(),
            is_bare: agent.launch.is_bare(),
        }
    }
}

/// After what the session is to begin, if not after what would begin it now; and whether with a new conversation.
pub type Wanted = (Option<Beginning>, bool);
