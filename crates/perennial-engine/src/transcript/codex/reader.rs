//! Lines into steps, one conversation at a time.
//!
//! Reads no file. Keeps a few names and figures, and no text.
//!
//! Invariants
//! - R1  A line is told once, by its number, also when the file is read again from its beginning.
//! - R2  A line that can't be read is counted, and is no step.
//! - R3  Lines of two conversations have two ids, though each conversation counts from 0, and wherever in a
//!   file a reader begins.
//! - R4  A prompt is told with the first line that has it. The program writes two, and may be killed between
//!   them: the first one is what the model is sent when the conversation is resumed.

use std::collections::VecDeque;

use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::failure;
use super::line::{
    Damaged, Event, Item, KINDS, Line, ResponseItem, TokenInfo, TurnContext, UsageRecord, parse,
    short, text, time,
};
use super::usage::usage;
use crate::transcript::field::unescaped;
use crate::transcript::line_reader::{ContextUse, LineReader, Notes};
use crate::transcript::step::{
    Compaction, CompactionTrigger, Content, Excerpt, ID_BYTES, Step, StepId,
};

/// Calls that failed and whose result has not come yet; of more the oldest are forgotten.
const FAILED_MAX: usize = 64;
/// Prompts whose second line has not come yet; likewise.
const PROMPTS_MAX: usize = 64;
/// What the vendor calls a search in the web.
const WEB_SEARCH: &str = "web_search";

#[derive(Debug, Default)]
pub struct Reader {
    notes: Notes,
    model: String,
    window: Option<u64>,
    context: Context,
    /// When the account's limits that are reached end.
    limits_end: Option<Time>,
    failed: VecDeque<String>,
    /// The turns of prompts that were told, until their second line comes.
    prompted: VecDeque<String>,
    /// The number of the first line that was not told.
    untold: u64,
    last: Option<StepId>,
}

#[derive(Debug, Clone, Copy, Default)]
enum Context {
    #[default]
    Unknown,
    Measured(u64),
    Compacted(Option<u64>),
}

impl LineReader for Reader {
    fn restart(&mut self) {
        let untold = self.untold;
        *self = Reader { untold, ..Reader::default() };
    }

    fn oversized(&mut self) {
        self.notes.lines += 1;
        self.notes.damaged += 1;
    }

    fn read(&mut self, line: &[u8], each: &mut dyn FnMut(Step)) {
        self.notes.lines += 1;
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            self.notes.damaged += 1;
            return;
        };
        if !KINDS.contains(&&*line.kind) {
            self.notes.unknown += 1;
            return;
        }
        let Ok(contents) = self.contents(&line) else {
            self.notes.damaged += 1;
            return;
        };
        // Old versions number no lines: they are told each time.
        let is_new = line.ordinal.is_none_or(|number| number >= self.untold);
        let id = line.ordinal.map(|number| step_id(number, &line));
        if is_new && !contents.is_empty() {
            let (parent, time) = (self.last, time(line.timestamp.as_deref()));
            for content in contents {
                each(Step { id, parent, time, is_subagent: false, content });
            }
            self.last = id.or(self.last);
        }
        if let Some(number) = line.ordinal.filter(|_| is_new) {
            self.untold = number.saturating_add(1);
        }
    }

    fn notes(&self) -> Notes {
        self.notes
    }

    fn context(&self) -> ContextUse {
        match self.context {
            Context::Unknown => ContextUse::Unknown,
            Context::Measured(tokens) => ContextUse::Measured { tokens },
            Context::Compacted(tokens) => ContextUse::Compacted { tokens },
        }
    }

    fn window(&self) -> Option<u64> {
        self.window
    }
}

impl Reader {
    fn contents(&mut self, line: &Line<'_>) -> Result<Vec<Content>, Damaged> {
        let payload = line.payload.ok_or(Damaged)?;
        match &*line.kind {
            "response_item" => {
                let metadata = line.metadata.as_ref();
                let is_summary = metadata.and_then(|it| it.compaction_output) == Some(true);
                self.response_item(&parse(payload)?, is_summary)
            }
            "event_msg" => self.event(&parse(payload)?),
            "token_usage_record" => {
                let record: UsageRecord<'_> = parse(payload)?;
                let usage = usage(&record, &self.model)?;
                self.context = Context::Measured(record.usage.in_window()?);
                Ok(vec![Content::Usage(usage)])
            }
            "turn_context" => {
                let context: TurnContext<'_> = parse(payload)?;
                self.model = short(context.model.as_ref()).unwrap_or_default();
                Ok(Vec::new())
            }
            "compacted" => {
                self.context = Context::Compacted(None);
                let trigger = CompactionTrigger::Unstated;
                let compaction = Compaction { trigger, pre_tokens: None, post_tokens: None };
                Ok(vec![Content::Compaction(compaction)])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn response_item(
        &mut self,
        item: &ResponseItem<'_>,
        is_summary: bool,
    ) -> Result<Vec<Content>, Damaged> {
        Ok(match &*item.kind {
            "message" if is_summary => Vec::new(),
            "message" => self.message(item)?.into_iter().collect(),
            "reasoning" => vec![Content::Thinking],
            "function_call" => vec![call(item, item.arguments.as_deref())?],
            "custom_tool_call" => {
                let input = serde_json::to_string(item.input.as_deref().unwrap_or_default());
                vec![call(item, input.ok().as_deref())?]
            }
            "web_search_call" => searched(item),
            "function_call_output" | "custom_tool_call_output" => {
                let call = short(item.call_id.as_ref()).ok_or(Damaged)?;
                let is_error = self.failed.contains(&call);
                self.failed.retain(|failed| *failed != call);
                vec![Content::ToolResult { call, is_error, text: Excerpt::of(&text(item.output)?) }]
            }
            _ => Vec::new(),
        })
    }

    fn event(&mut self, event: &Event<'_>) -> Result<Vec<Content>, Damaged> {
        match &*event.kind {
            "task_started" => {
                self.window = event.model_context_window.or(self.window);
                Ok(Vec::new())
            }
            "item_completed" => {
                self.item(&parse(event.item.ok_or(Damaged)?)?, event.turn_id.as_deref())
            }
            "token_count" => {
                self.counted(event)?;
                Ok(Vec::new())
            }
            "turn_aborted" if event.reason.as_deref() == Some("interrupted") => {
                Ok(vec![Content::Interrupted])
            }
            "task_complete" => match event.error.filter(|error| error.get() != "null") {
                Some(error) => Ok(vec![failure::of_turn(error, self.limits_end)?]),
                None => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// A message of the model, a person's words, or what a hook added. The program's own texts say nothing.
    fn message(&mut self, item: &ResponseItem<'_>) -> Result<Option<Content>, Damaged> {
        if item.role.as_deref() == Some("assistant") {
            return Ok(Some(Content::Text(Excerpt::of(&text(item.content)?))));
        }
        let Some(origin) = &item.origin else { return Ok(None) };
        let origins = origin.content_item_metadata.iter();
        let mut origins = origins.filter_map(|origin| origin.provenance.as_ref());
        if origins.clone().any(|origin| origin.hook == Some(true)) {
            return Ok(Some(Content::Added(Excerpt::of(&hook_words(&text(item.content)?)))));
        }
        // R4: without its turn's name the second line would not be known for one.
        let is_persons = origins.any(|origin| origin.kind.as_deref() == Some("user"));
        let turn = short(origin.turn_id.as_ref()).filter(|_| is_persons);
        let Some(turn) = turn.filter(|_| item.role.as_deref() == Some("user")) else {
            return Ok(None);
        };
        if self.prompted.len() == PROMPTS_MAX {
            self.prompted.pop_front();
        }
        self.prompted.push_back(turn);
        Ok(Some(Content::Prompt(Excerpt::of_prompt(&text(item.content)?))))
    }

    fn item(&mut self, item: &Item<'_>, turn: Option<&str>) -> Result<Vec<Content>, Damaged> {
        if item.kind == "UserMessage" {
            let told = self.prompted.iter().position(|told| Some(told.as_str()) == turn);
            if told.and_then(|told| self.prompted.remove(told)).is_some() {
                return Ok(Vec::new());
            }
            return Ok(vec![Content::Prompt(Excerpt::of_prompt(&text(item.content)?))]);
        }
        // What became of a call comes before its result.
        let has_failed = matches!(item.status.as_deref(), Some("failed" | "declined"));
        if let Some(call) = short(item.id.as_ref()).filter(|_| has_failed) {
            if self.failed.len() == FAILED_MAX {
                self.failed.pop_front();
            }
            self.failed.push_back(call);
        }
        Ok(Vec::new())
    }

    fn counted(&mut self, event: &Event<'_>) -> Result<(), Damaged> {
        if let Some(raw) = event.rate_limits {
            self.limits_end = failure::limits_end(raw)?;
        }
        let info = event.info.map(parse::<Option<TokenInfo>>).transpose()?.flatten();
        let Some(info) = info else { return Ok(()) };
        self.window = info.model_context_window.or(self.window);
        // Behind a compaction the CLI's own estimate stands here, with no input.
        if let (Context::Compacted(estimate), Some(last)) =
            (&mut self.context, info.last_token_usage)
        {
            let is_estimate = last.input_tokens == Some(0);
            *estimate = if is_estimate { Some(last.in_window()?) } else { *estimate };
        }
        Ok(())
    }
}

/// R3: a line's number, its time and the beginning of what it says, which has an id of its own in most lines.
fn step_id(number: u64, line: &Line<'_>) -> StepId {
    let payload = line.payload.map_or("", RawValue::get);
    let beginning = &payload[..payload.floor_char_boundary(ID_BYTES)];
    let written_at = line.timestamp.as_deref().unwrap_or_default();
    StepId::of(&format!("line {number} {written_at} {beginning}"))
}

/// What hooks said, without the tags that it stands in where a hook kept the turn going.
fn hook_words(text: &str) -> String {
    let inner = |text: &str| {
        let (_, text) = text.trim().strip_prefix("<hook_prompt")?.split_once('>')?;
        Some(unescaped(text.strip_suffix("</hook_prompt>")?))
    };
    inner(text).unwrap_or_else(|| text.to_owned())
}

fn call(item: &ResponseItem<'_>, arguments: Option<&str>) -> Result<Content, Damaged> {
    let call = short(item.call_id.as_ref()).ok_or(Damaged)?;
    let name = short(item.name.as_ref()).ok_or(Damaged)?;
    let tool = match short(item.namespace.as_ref()) {
        Some(namespace) => format!("{namespace}__{name}"),
        None => name,
    };
    Ok(Content::ToolCall { call, tool, arguments: Excerpt::of(arguments.unwrap_or_default()) })
}

/// The service searches by itself: the call is over when it is written.
fn searched(item: &ResponseItem<'_>) -> Vec<Content> {
    let Some(call) = short(item.id.as_ref()) else { return Vec::new() };
    let arguments = Excerpt::of(item.action.map_or("", RawValue::get));
    let tool = WEB_SEARCH.to_owned();
    let result =
        Content::ToolResult { call: call.clone(), is_error: false, text: Excerpt::default() };
    vec![Content::ToolCall { call, tool, arguments }, result]
}
