//! Lines into steps, one conversation at a time.
//!
//! Reads no file. Keeps which messages and calls were told, and no text.
//!
//! Invariants
//! - R1  A message, a call and a result are told once, also when the history is written anew or the
//!   file is read again from its beginning.
//! - R2  What a compression writes anew under other ids is not told again.
//! - R3  A line that can't be read is counted, and is no step.
//! - R4  Begun in the middle of a file, it tells nothing that an earlier line may have told.

use std::collections::{HashMap, HashSet};

use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::content::{self, ToolOutput};
use super::failure;
use super::line::{Line, ToolCall};
use super::usage::{self, Damaged};
use crate::transcript::field::{self, Name};
use crate::transcript::line_reader::{ContextUse, LineReader, Notes};
use crate::transcript::step::{
    Compaction, CompactionTrigger, Content, Excerpt, Step, StepId, Tokens,
};

/// What the client writes when a person stopped the turn.
const CANCELLED: &str = "Request cancelled.";

#[derive(Debug)]
pub struct Reader {
    messages: HashSet<StepId>,
    calls: HashSet<StepId>,
    results: HashSet<StepId>,
    /// Results of which it was told what a hook said behind them.
    remarks: HashSet<StepId>,
    usages: HashMap<StepId, Tokens>,
    conversation: Option<String>,
    /// The file's first line was read: what was told is known.
    is_from_start: bool,
    context: ContextUse,
    notes: Notes,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader {
            messages: HashSet::new(),
            calls: HashSet::new(),
            results: HashSet::new(),
            remarks: HashSet::new(),
            usages: HashMap::new(),
            conversation: None,
            is_from_start: false,
            context: ContextUse::Unknown,
            notes: Notes::default(),
        }
    }
}

/// Where a step stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    id: Option<StepId>,
    time: Option<Time>,
}

impl Place {
    fn step(self, content: Content) -> Step {
        let Place { id, time } = self;
        Step { id, parent: None, time, is_subagent: false, content }
    }
}

impl LineReader for Reader {
    fn restart(&mut self) {
        self.notes = Notes::default();
    }

    fn oversized(&mut self) {
        self.notes.lines += 1;
        self.notes.damaged += 1;
    }

    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) {
        self.notes.lines += 1;
        if self.tell(line, each).is_err() {
            self.notes.damaged += 1;
        }
    }

    fn notes(&self) -> Notes {
        self.notes
    }

    fn context(&self) -> ContextUse {
        self.context
    }
}

impl Reader {
    fn tell(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) -> Result<(), Damaged> {
        let line: Line<'_> = serde_json::from_slice(line).map_err(|_| Damaged)?;
        if let Some(set) = &line.set {
            self.conversation_is(set.session_id.as_ref(), each);
            return set.messages.as_ref().map_or(Ok(()), |messages| self.replace(messages, each));
        }
        if line.kind.is_some() {
            return self.message(&line, each);
        }
        self.conversation_is(line.session_id.as_ref(), each);
        self.is_from_start |= line.session_id.is_some();
        self.notes.unknown += u64::from(line.session_id.is_none() && line.rewind_to.is_none());
        Ok(())
    }

    /// The history was written anew.
    fn replace(
        &mut self,
        messages: &[&RawValue],
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Damaged> {
        let parsed =
            messages.iter().map(|raw| serde_json::from_str(raw.get()).map_err(|_| Damaged));
        let messages: Vec<Line<'_>> = parsed.collect::<Result<_, _>>()?;
        let mut said = Vec::new();
        for message in &messages {
            let is_person = message.kind.as_ref().is_some_and(|kind| kind.as_str() == "user");
            if !is_person || content::of_person(message)?.is_some() {
                said.push(message);
            }
        }
        let is_new =
            |message: &Line<'_>| id(message).is_some_and(|id| !self.messages.contains(&id));
        let begins_anew = said.first().is_some_and(|first| is_new(first));
        if self.is_from_start && (self.messages.is_empty() || !begins_anew) {
            return said.into_iter().try_for_each(|message| self.message(message, each));
        }
        // R2: what was said before is a summary now, and the rest has other ids.
        let place = Place { id: None, time: said.iter().find_map(|message| time(message)) };
        self.messages.extend(said.iter().filter_map(|message| id(message)));
        if !self.is_from_start {
            return Ok(());
        }
        self.context = ContextUse::Compacted { tokens: None };
        let (trigger, pre_tokens, post_tokens) = (CompactionTrigger::Unstated, None, None);
        each(place.step(Content::Compaction(Compaction { trigger, pre_tokens, post_tokens })));
        Ok(())
    }

    fn message(&mut self, line: &Line<'_>, each: &mut dyn FnMut(Step)) -> Result<(), Damaged> {
        let place = Place { id: id(line), time: time(line) };
        let is_new = place.id.is_none_or(|id| !self.messages.contains(&id));
        match line.kind.as_ref().map_or("", Name::as_str) {
            "user" => self.person(line, place, is_new, each)?,
            "gemini" => self.model(line, place, is_new, each)?,
            "info" if is_new && content::text(line)? == CANCELLED => {
                each(place.step(Content::Interrupted));
            }
            "error" if is_new => each(place.step(failure::of(&content::text(line)?))),
            "info" | "warning" | "error" => {}
            _ => self.notes.unknown += 1,
        }
        self.messages.extend(place.id);
        Ok(())
    }

    fn person(
        &mut self,
        line: &Line<'_>,
        place: Place,
        is_new: bool,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Damaged> {
        let Some(said) = content::of_person(line)? else { return Ok(()) };
        // R4: the line of the calls has told them.
        let results = if self.is_from_start { said.results } else { Vec::new() };
        results.into_iter().for_each(|result| self.result(result, place, each));
        if !is_new {
            return Ok(());
        }
        let prompt = said.prompt.map(|text| Content::Prompt(Excerpt::of_prompt(&text)));
        let warning = said.warning.map(|text| failure::of(&text));
        let added = said.added.iter().map(|text| Content::Added(Excerpt::of(text)));
        prompt
            .into_iter()
            .chain(warning)
            .chain(added)
            .for_each(|content| each(place.step(content)));
        Ok(())
    }

    fn model(
        &mut self,
        line: &Line<'_>,
        place: Place,
        is_new: bool,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Damaged> {
        let (text, usage) = (content::text(line)?, usage::usage(line)?);
        // R4: the message stands in an earlier line, without its calls.
        let is_told = !self.is_from_start && line.tool_calls.is_some();
        if is_new && !is_told {
            let has_thought = line.thoughts.is_some_and(|raw| raw.get().starts_with("[{"));
            let thinking = has_thought.then_some(Content::Thinking);
            let text = (!text.is_empty()).then(|| Content::Text(Excerpt::of(&text)));
            thinking.into_iter().chain(text).for_each(|content| each(place.step(content)));
        }
        if let (Some(usage), Some(id), false) = (usage, place.id, is_told)
            && self.usages.insert(id, usage.tokens) != Some(usage.tokens)
        {
            self.context = ContextUse::Measured { tokens: usage.tokens.context() };
            each(place.step(Content::Usage(usage)));
        }
        let Some(raw) = line.tool_calls else { return Ok(()) };
        let calls: Vec<ToolCall<'_>> = serde_json::from_str(raw.get()).map_err(|_| Damaged)?;
        for call in &calls {
            self.call(call, place, each);
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCall<'_>, place: Place, each: &mut dyn FnMut(Step)) {
        let name = call.id.as_str();
        if self.calls.insert(StepId::of(name)) {
            each(place.step(Content::ToolCall {
                call: name.to_owned(),
                tool: call.name.as_str().to_owned(),
                arguments: content::arguments(call.args),
            }));
        }
        let Some(mut result) = content::result(name, call.result) else { return };
        let status = call.status.as_ref().map_or("", Name::as_str);
        result.is_error |= matches!(status, "error" | "cancelled");
        let time = field::time(call.timestamp.as_ref()).or(place.time);
        self.result(result, Place { time, ..place }, each);
    }

    fn result(&mut self, result: ToolOutput, place: Place, each: &mut dyn FnMut(Step)) {
        let ToolOutput { call, is_error, text, added } = result;
        let id = StepId::of(&call);
        if self.results.insert(id) {
            each(place.step(Content::ToolResult { call, is_error, text: Excerpt::of(&text) }));
        }
        if !added.is_empty() && self.remarks.insert(id) {
            added.iter().for_each(|text| each(place.step(Content::Added(Excerpt::of(text)))));
        }
    }

    fn conversation_is(&mut self, id: Option<&Name<'_>>, each: &mut dyn FnMut(Step)) {
        let Some(id) = id.map(Name::as_str) else { return };
        if self.conversation.as_deref() == Some(id) {
            return;
        }
        if self.conversation.replace(id.to_owned()).is_some() {
            let place = Place { id: None, time: None };
            each(place.step(Content::ConversationChanged { id: id.to_owned() }));
        }
    }
}

fn id(line: &Line<'_>) -> Option<StepId> {
    line.id.as_ref().map(|id| StepId::of(id.as_str()))
}

fn time(line: &Line<'_>) -> Option<Time> {
    field::time(line.timestamp.as_ref())
}
