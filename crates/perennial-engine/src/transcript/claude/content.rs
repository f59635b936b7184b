//! What a message holds: a text, or blocks of several kinds.

use serde_json::value::RawValue;

use super::line::{Attachment, Block, Line, Name, PromptEnding, Prose};
use super::usage::Damaged;
use crate::transcript::step::{Content, Excerpt};

/// How the CLI writes down that a person stopped the turn; more may follow before the bracket.
const INTERRUPTED: &str = "[Request interrupted by user";
/// How the CLI writes down that a person used one of its commands.
const COMMAND: &str = "<command-";
/// What commands of the CLI itself printed, written as if a person had said it.
const COMMAND_OUTPUT: &str = "<local-command-";

pub fn of_person(raw: Option<&RawValue>) -> Result<Vec<Content>, Damaged> {
    let contents = each(raw, |block| match block.kind.as_str() {
        "text" => block.text.and_then(|text| said(&text)),
        "tool_result" => Some(Content::ToolResult {
            call: owned(block.tool_use_id),
            is_error: block.is_error.unwrap_or(false),
            text: Excerpt::of(&plain_text(block.content)),
        }),
        _ => None,
    });
    Ok(contents?.unwrap_or_else(|text| said(&text).into_iter().collect()))
}

pub fn of_model(raw: Option<&RawValue>) -> Result<Vec<Content>, Damaged> {
    let contents = each(raw, |block| match block.kind.as_str() {
        "text" => block.text.map(|text| Content::Text(text.excerpt())),
        "thinking" | "redacted_thinking" => Some(Content::Thinking),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(Content::ToolCall {
            call: owned(block.id),
            tool: owned(block.name),
            arguments: Excerpt::of(block.input.map_or("", RawValue::get)),
        }),
        _ => None,
    });
    Ok(contents?.unwrap_or_else(|text| vec![Content::Text(text.excerpt())]))
}

/// A prompt that was typed while the agent worked is written as an attachment; so is what a hook
/// said to the model.
pub fn of_attachment(raw: Option<&RawValue>) -> Result<Vec<Content>, Damaged> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let attachment: Attachment<'_> = serde_json::from_str(raw.get()).map_err(|_| Damaged)?;
    let is_prompt =
        attachment.kind.as_str() == "queued_command" && attachment.is_meta != Some(true);
    if attachment.kind.as_str() == "hook_additional_context" {
        return Ok(of_hook(attachment.content).into_iter().collect());
    }
    if is_prompt { of_person(attachment.prompt) } else { Ok(Vec::new()) }
}

/// One text or several; what is neither says nothing.
fn of_hook(raw: Option<&RawValue>) -> Option<Content> {
    let raw = raw?.get();
    let texts: Vec<Prose<'_>> = serde_json::from_str(raw)
        .or_else(|_| serde_json::from_str(raw).map(|text| vec![text]))
        .ok()?;
    let texts: Vec<_> = texts.iter().map(Prose::text).collect();
    Some(Content::Added(Excerpt::of(&texts.join("\n"))))
}

/// All the text in it; half a text where part of it can't be read.
pub fn plain_text(raw: Option<&RawValue>) -> String {
    let mut texts = Vec::new();
    let read = each(raw, |block| {
        texts.extend(block.text.map(|text| text.text().into_owned()));
        None
    });
    if let Ok(Err(text)) = read {
        return text.text().into_owned();
    }
    texts.join("\n")
}

/// A content that is one text, and no blocks.
type Whole<'a> = Prose<'a>;

fn each<'a>(
    raw: Option<&'a RawValue>,
    read: impl FnMut(Block<'a>) -> Option<Content>,
) -> Result<Result<Vec<Content>, Whole<'a>>, Damaged> {
    let Some(raw) = raw.map(RawValue::get) else {
        return Ok(Ok(Vec::new()));
    };
    if raw.starts_with('"') {
        return serde_json::from_str(raw).map(Err).map_err(|_| Damaged);
    }
    let blocks: Vec<Block<'_>> = serde_json::from_str(raw).map_err(|_| Damaged)?;
    Ok(Ok(blocks.into_iter().filter_map(read).collect()))
}

/// A prompt that a hook of the user's refused: the CLI tells it in one text, what the hook said before
/// the prompt. What does not look like that is passed over.
pub fn of_blocked(line: &Line<'_>) -> Option<Content> {
    const BEFORE_PROMPT: &str = "\n\nOriginal prompt: ";
    let PromptEnding { ending } = serde_json::from_str(line.prompt_submit_ending?.get()).ok()?;
    if ending.kind.as_str() != "blocked_by_hook" {
        return None;
    }
    let told: Prose<'_> = serde_json::from_str(line.content?.get()).ok()?;
    let (told, words) = (told.text(), ending.reason.as_ref().map(Prose::text).unwrap_or_default());
    // The hook may say anything, these words among it.
    let after = told.find(&*words).map_or(0, |start| start + words.len());
    let (_, prompt) = told.get(after..)?.split_once(BEFORE_PROMPT)?;
    Some(Content::PromptBlocked { prompt: Excerpt::of_prompt(prompt), words: Excerpt::of(&words) })
}

fn said(text: &Prose<'_>) -> Option<Content> {
    let text = text.text();
    if text.starts_with(INTERRUPTED) {
        return Some(Content::Interrupted);
    }
    if let Some(command) = command(&text) {
        return Some(Content::Prompt(Excerpt::of_prompt(&command)));
    }
    (!text.starts_with(COMMAND_OUTPUT)).then(|| Content::Prompt(Excerpt::of_prompt(&text)))
}

/// A command of the CLI itself, as it was typed; the CLI writes it down in tags.
fn command(text: &str) -> Option<String> {
    let between = |open: &str, close: &str| {
        let (_, after) = text.split_once(open)?;
        after.split_once(close).map(|(inner, _)| inner.trim())
    };
    if !text.starts_with(COMMAND) {
        return None;
    }
    let name = between("<command-name>", "</command-name>")?;
    let arguments = between("<command-args>", "</command-args>").unwrap_or_default();
    Some(format!("{name} {arguments}").trim_end().to_owned())
}

fn owned(name: Option<Name<'_>>) -> String {
    name.map(|name| name.as_str().to_owned()).unwrap_or_default()
}
