//! The parts of events that everybody may see, and the words in them: core types to wire types.

use std::time::Duration;

use perennial_api::event as wire;
use perennial_core::context::{Sample, Threshold};
use perennial_core::conversation::{Opening, Turn};
use perennial_core::event::NodeEvent;
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::message::{Content, Held};
use perennial_core::post::Author;
use perennial_core::reason::{Evidence, Show, Witness};
use perennial_core::session::Process;
use perennial_core::settings::{NewParent, Settings, VariableChange};
use perennial_core::text::Text;
use perennial_core::visibility::Private;

use crate::daemon::showing::sentences;
use crate::daemon::time::rfc3339;

pub fn node(event: &NodeEvent) -> wire::What {
    match event {
        NodeEvent::DaemonStarted { epoch, boot, version } => {
            let (boot, version) = (boot.0.clone(), version.clone());
            wire::What::DaemonStarted { epoch: epoch.0, boot, version }
        }
        NodeEvent::DaemonStopped { epoch } => wire::What::DaemonStopped { epoch: epoch.0 },
        NodeEvent::JournalRestored { since } => {
            wire::What::JournalRestored { since: rfc3339(*since) }
        }
        NodeEvent::RecordsLost { known, found } => {
            wire::What::RecordsLost { known: *known, found: *found }
        }
        NodeEvent::RecordingsPruned { agent, sessions, bytes, by } => {
            wire::What::RecordingsPruned {
                agent: agent.to_string(),
                sessions: sessions.iter().map(|number| u64::from(number.0)).collect(),
                bytes: *bytes,
                by: witness(*by),
            }
        }
        NodeEvent::AgentCleaned { agent, harness, conversations, bytes, by } => {
            wire::What::AgentCleaned {
                agent: agent.to_string(),
                harness: harness.clone(),
                conversations: conversations.iter().map(ToString::to_string).collect(),
                bytes: *bytes,
                by: witness(*by),
            }
        }
    }
}

pub fn witness(witness: Witness) -> wire::Witness {
    let id = match witness {
        Witness::Lead(id) | Witness::Agent(id) => Some(id.to_string()),
        Witness::Kernel
        | Witness::Holder
        | Witness::Harness
        | Witness::Operator
        | Witness::Daemon => None,
    };
    wire::Witness { kind: sentences::witness(witness).to_owned(), id }
}

pub fn exit(exit: Exit) -> wire::Exit {
    match exit {
        Exit::Code(code) => wire::Exit::Code(code),
        Exit::KillSignal(signal) => wire::Exit::Signal(signal),
        Exit::Unknown(why) => wire::Exit::Unknown(sentences::unknown_exit(why).to_owned()),
    }
}

pub fn claimed(by: AgentId) -> wire::Claimed {
    wire::Claimed { by: by.to_string() }
}

pub fn process(process: Process) -> wire::Process {
    let Process { pid, start_ticks } = process;
    wire::Process { pid, start_ticks }
}

pub fn opening(opening: &Opening) -> wire::Opening {
    match opening {
        Opening::Bare => wire::Opening::Bare,
        Opening::Fresh(id) => wire::Opening::Fresh { conversation: id.to_string() },
        Opening::Resume { conversation, turn } => {
            let conversation = conversation.to_string();
            wire::Opening::Resume { conversation, turn: self::turn(*turn).to_owned() }
        }
        Opening::Anew { conversation, turn, why } => wire::Opening::Anew {
            conversation: conversation.to_string(),
            turn: self::turn(*turn).to_owned(),
            why: why.word().to_owned(),
        },
    }
}

fn turn(turn: Turn) -> &'static str {
    match turn {
        Turn::Over => "over",
        Turn::Open => "open",
        Turn::Stopped => "stopped",
    }
}

pub fn content(content: &Content) -> wire::Content {
    match content {
        // What the text is recognised by in a transcript is the daemon's own.
        Content::Typed { text: said, fingerprint: _, after_turn } => {
            wire::Content::Typed { text: text(said), after_turn: *after_turn }
        }
        Content::Notice { threshold: passed, sample: measured } => {
            wire::Content::Notice { threshold: threshold(*passed), sample: sample(measured) }
        }
        Content::Reminder { calls, sample: measured } => {
            wire::Content::Reminder { calls: *calls, sample: measured.as_ref().map(sample) }
        }
        Content::Mail(mail) => wire::Content::Mail {
            thread: mail.thread.to_string(),
            subject: mail.subject.clone(),
            priority: mail.priority.word().to_owned(),
            text: text(&mail.text),
        },
        Content::Handoff { number } => wire::Content::Handoff { number: number.0 },
        Content::Round { role, number } => {
            wire::Content::Round { role: role.clone(), number: *number }
        }
    }
}

pub fn text(text: &Text) -> wire::Text {
    let Text { digest, bytes, head } = text;
    wire::Text { bytes: *bytes, head: head.clone(), digest: digest.to_string() }
}

pub fn author(author: &Author) -> wire::Author {
    match author {
        Author::Person => wire::Author::Person,
        Author::Agent { id, name } => {
            wire::Author::Agent { id: id.to_string(), name: name.as_ref().map(ToString::to_string) }
        }
    }
}

pub fn sample(sample: &Sample) -> wire::Sample {
    let Sample { tokens, window, usable, source } = *sample;
    wire::Sample { tokens, window, usable, source: source.word().to_owned() }
}

pub fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

pub fn threshold(threshold: Threshold) -> String {
    let word = match threshold {
        Threshold::Half => "half",
        Threshold::ThreeQuarters => "three-quarters",
        Threshold::NineTenths => "nine-tenths",
    };
    word.to_owned()
}

pub fn show(show: Show) -> &'static str {
    match show {
        Show::SessionBegan => "session-began",
        Show::TurnBegan => "turn-began",
        Show::TurnEnded => "turn-ended",
        Show::PermissionDialog => "permission-dialog",
        Show::Question => "question",
        Show::RateLimit => "rate-limit",
        Show::ServiceError => "service-error",
        Show::AccessRefused => "access-refused",
        Show::TooLong => "too-long",
        Show::BackgroundWork => "background-work",
        Show::LimitReached => "limit-reached",
        Show::NothingAtFirst => "nothing-at-first",
        Show::NothingInTurn => "nothing-in-turn",
    }
}

pub fn held(held: Held) -> &'static str {
    match held {
        Held::Draft => "draft",
        Held::Doubt => "doubt",
        Held::Dialog => "dialog",
        Held::Suspended => "suspended",
        Held::NotDrawn => "not-drawn",
        Held::NoEcho => "no-echo",
        Held::Leftover => "leftover",
        Held::Busy => "busy",
        Held::Full => "full",
        Held::OldHolder => "old-holder",
        Held::Damaged => "damaged",
        Held::Unfit => "unfit",
        Held::LongLine => "long-line",
        Held::HomeCopied => "home-copied",
        Held::Blocked => "blocked",
        Held::SessionEnded => "session-ended",
        Held::NotTaken => "not-taken",
    }
}

impl super::Writer {
    pub(super) fn settings(
        &mut self,
        settings: &Settings<AgentId>,
        evidence: &Evidence,
    ) -> wire::What {
        let Settings { restart, place, variables, parent, situations } = settings.clone();
        let mut names = |member: &str, names: Vec<String>| {
            let is_any = !names.is_empty();
            is_any.then(|| self.private(Private::Launch, member, names)).flatten()
        };
        let (set, unset) = variables.map(|one| (one.set, one.unset)).unwrap_or_default();
        wire::What::SettingsChanged(wire::SettingsChanged {
            set_env: names("set_env", set),
            unset_env: names("unset_env", unset),
            evidence: self.evidence(evidence),
            restart: restart.map(|restart| sentences::restart(restart).to_owned()),
            dir: place.map(|place| place.dir),
            no_parent: parent == Some(NewParent::Nobody),
            parent: match parent {
                Some(NewParent::Agent(id)) => Some(id.to_string()),
                Some(NewParent::Nobody) | None => None,
            },
            situations: situations.map(|all| all.iter().map(ToString::to_string).collect()),
        })
    }
}

/// The names are not for everybody.
pub(super) fn without_names(change: &mut VariableChange) {
    change.set.clear();
    change.unset.clear();
}
