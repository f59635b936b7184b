//! Lines into steps, one conversation at a time.
//!
//! Reads no file. Keeps the tree of lines, and no text.
//!
//! Invariants
//! - R1  A line is told once, by its id, also when the file is read again from its beginning.
//! - R2  A line that can't be read is counted. It is no step; only its place in the tree is kept,
//!   where that much of it is whole.

use serde_json::value::RawValue;

use super::content;
use super::failure;
use super::line::{self, CompactMetadata, Line, Message};
use super::tree::{Bearing, Tree};
use super::usage::{self, Counts, Damaged};
use crate::transcript::line_reader::{ContextUse, LineReader, Notes};
use crate::transcript::step::{Compaction, CompactionTrigger, Content, Step, StepId};

/// Kinds of lines that were seen; most of them hold no step.
const KINDS: &[&str] = &[
    "agent-name",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "assistant",
    "atis-latch",
    "attachment",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "progress",
    "queue-operation",
    "summary",
    "system",
    "tools-used",
    "user",
];

#[derive(Debug, Default)]
pub struct Reader {
    tree: Tree,
    conversation: Option<String>,
    notes: Notes,
}

impl LineReader for Reader {
    fn restart(&mut self) {
        self.tree.set_leaf(None);
        self.notes = Notes::default();
    }

    fn oversized(&mut self) {
        self.notes.lines += 1;
        self.notes.damaged += 1;
    }

    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) {
        self.notes.lines += 1;
        let line = match serde_json::from_slice::<Line<'_>>(line) {
            Ok(line) => line,
            // Kinds to come may have anything under the names that we know.
            Err(_) if line::kind(line).is_some_and(|kind| !is_known(kind.as_str())) => {
                self.notes.unknown += 1;
                return;
            }
            Err(_) => {
                self.notes.damaged += 1;
                return;
            }
        };
        let (contents, bearing) = match contents(&line) {
            Ok(told) => told,
            Err(Damaged) => {
                self.notes.damaged += 1;
                (Vec::new(), Bearing::None)
            }
        };
        let kind = line.kind.as_str();
        self.notes.unknown += u64::from(!is_known(kind));
        let id = line.uuid.as_ref().map(|uuid| StepId::of(uuid.as_str()));
        let parent = line.parent_uuid.as_ref().map(|uuid| StepId::of(uuid.as_str()));
        let is_subagent = line.is_sidechain.unwrap_or(false);
        let is_new = id.is_none_or(|id| self.tree.add(id, parent, bearing));
        // Progress is written beside the conversation; nothing goes on from its last line.
        if id.is_some() && !is_subagent && kind != "progress" {
            self.tree.set_leaf(id);
        }
        if !is_new {
            return;
        }
        let time = line::time(line.timestamp.as_ref());
        let change = self.conversation_change(&line);
        for content in change.into_iter().chain(contents) {
            each(Step { id, parent, time, is_subagent, content });
        }
    }

    fn notes(&self) -> Notes {
        self.notes
    }

    fn context(&self) -> ContextUse {
        let told = self.tree.branch().find_map(|(_, bearing)| match bearing {
            Bearing::None => None,
            Bearing::Measured(tokens) => Some(ContextUse::Measured { tokens }),
            Bearing::Compacted(tokens) => Some(ContextUse::Compacted { tokens }),
        });
        told.unwrap_or(ContextUse::Unknown)
    }
}

impl Reader {
    /// The steps that the next one builds on, the newest first; steps of branches that were left
    /// are not among them.
    pub fn branch(&self) -> impl Iterator<Item = StepId> {
        self.tree.branch().map(|(id, _)| id)
    }

    fn conversation_change(&mut self, line: &Line<'_>) -> Option<Content> {
        let id = line.session_id.as_ref()?.as_str();
        if self.conversation.as_deref() == Some(id) {
            return None;
        }
        let known = self.conversation.replace(id.to_owned());
        known.map(|_| Content::ConversationChanged { id: id.to_owned() })
    }
}

fn is_known(kind: &str) -> bool {
    KINDS.contains(&kind)
}

fn contents(line: &Line<'_>) -> Result<(Vec<Content>, Bearing), Damaged> {
    let plain = |contents| Ok((contents, Bearing::None));
    match line.kind.as_str() {
        "assistant" => assistant(line),
        "user" if line.is_meta == Some(true) || line.is_compact_summary == Some(true) => {
            plain(Vec::new())
        }
        "user" => plain(content::of_person(message(line)?.content)?),
        "attachment" => plain(content::of_attachment(line.attachment)?),
        "system" => system(line),
        _ => plain(Vec::new()),
    }
}

fn message<'a>(line: &Line<'a>) -> Result<Message<'a>, Damaged> {
    parse(line.message.ok_or(Damaged)?)
}

fn parse<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Damaged> {
    serde_json::from_str(raw.get()).map_err(|_| Damaged)
}

fn assistant(line: &Line<'_>) -> Result<(Vec<Content>, Bearing), Damaged> {
    let message = message(line)?;
    if line.is_api_error_message == Some(true) {
        return Ok((vec![failure::of_answer(line, message.content)?], Bearing::None));
    }
    let counts = message.usage.map(Counts::parse).transpose()?.unwrap_or_default();
    let request = line.request_id.as_ref();
    let usage = usage::usage(message.id.as_ref(), request, message.model.as_ref(), &counts)?;
    let Some(usage) = usage else {
        return Ok((Vec::new(), Bearing::None));
    };
    let bearing = Bearing::Measured(usage.tokens.context());
    let mut contents = content::of_model(message.content)?;
    contents.push(Content::Usage(usage));
    Ok((contents, bearing))
}

fn system(line: &Line<'_>) -> Result<(Vec<Content>, Bearing), Damaged> {
    match line.subtype.as_ref().map(line::Name::as_str) {
        Some("compact_boundary") => {
            let metadata = line.compact_metadata.map(parse::<CompactMetadata<'_>>).transpose()?;
            let trigger = metadata.as_ref().and_then(|metadata| metadata.trigger.as_ref());
            let compaction = Compaction {
                trigger: match trigger.map(line::Name::as_str) {
                    Some("auto") => CompactionTrigger::Automatic,
                    Some("manual") => CompactionTrigger::Manual,
                    Some(_) | None => CompactionTrigger::Unstated,
                },
                pre_tokens: metadata.as_ref().and_then(|metadata| metadata.pre_tokens),
                post_tokens: metadata.as_ref().and_then(|metadata| metadata.post_tokens),
            };
            let bearing = Bearing::Compacted(compaction.post_tokens);
            Ok((vec![Content::Compaction(compaction)], bearing))
        }
        Some("api_error") => Ok((vec![failure::of_attempt(line)], Bearing::None)),
        Some(_) | None => Ok((content::of_blocked(line).into_iter().collect(), Bearing::None)),
    }
}
