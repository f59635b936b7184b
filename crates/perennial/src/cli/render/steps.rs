//! Steps of a conversation, drawn for a terminal: prompts, answers, tool calls and their results.
//!
//! Everything in a step is hostile text: it goes through `plain`, line by line.

use std::collections::HashMap;

use perennial_api::step::Step;
use serde_json::Value;

use super::paint::Ink;
use super::roster::Canvas;
use super::text::{self, plain};

/// At most this many lines of a result are shown, unless `--full` is given …
const RESULT_LINES: usize = 8;
/// … and this many columns of a line, or of the arguments of a call.
const LINE_COLUMNS: usize = 400;
/// Where the time stands; what is told begins behind it.
const TIME_COLUMNS: usize = 10;
/// A narrower screen than this is not wrapped for.
const NARROWEST: usize = 20;
/// Calls whose results did not come yet; what goes beyond is forgotten.
const CALLS: usize = 1000;

/// Tells one step after the other; remembers what the reader has before their eyes.
#[derive(Debug)]
pub struct Teller {
    is_full: bool,
    day: String,
    conversation: String,
    /// The tool of each call without a result.
    calls: HashMap<String, String>,
    /// The call that was told last.
    last_call: Option<String>,
}

/// How a kind of step looks.
struct Appearance {
    mark: &'static str,
    ink: Ink,
    /// Of the text itself.
    body: Ink,
}

impl Teller {
    pub fn new(is_full: bool) -> Teller {
        Teller {
            is_full,
            day: String::new(),
            conversation: String::new(),
            calls: HashMap::new(),
            last_call: None,
        }
    }

    /// The step as lines; nothing for one that says nothing to a person.
    pub fn tell(&mut self, step: &Step, canvas: &Canvas<'_>) -> String {
        let Some((look, body)) = self.body(step, canvas) else { return String::new() };
        let mut told = self.heading(step, canvas);
        if step.kind == "prompt" && !step.is_subagent {
            told.push('\n');
        }
        let time = step.at.as_deref().map(|at| canvas.clock.second(at)).unwrap_or_default();
        let time = format!("{time:<TIME_COLUMNS$}");
        let side = if step.is_subagent { "┆ " } else { "" };
        let indent = TIME_COLUMNS + text::width(side) + 2;
        let room = canvas.width.filter(|width| *width >= indent + NARROWEST).map(|w| w - indent);
        let paint = canvas.paint;
        for (position, line) in body.iter().flat_map(|line| wrapped(line, room)).enumerate() {
            let (time, mark) = match position {
                0 => (time.as_str(), look.mark),
                _ => ("", " "),
            };
            let gutter = format!("{time:<TIME_COLUMNS$}{side}");
            told.push_str(&paint.ink(Ink::Faint, &gutter));
            told.push_str(&paint.ink(look.ink, mark));
            told.push(' ');
            told.push_str(&paint.ink(look.body, &line));
            told.truncate(told.trim_end_matches(' ').len());
            told.push('\n');
        }
        told
    }

    /// A line before the first step of a day or of a conversation.
    fn heading(&mut self, step: &Step, canvas: &Canvas<'_>) -> String {
        let mut news = Vec::new();
        if let Some(day) = step.at.as_deref().map(|at| canvas.clock.day(at))
            && day != self.day
        {
            news.push(day.clone());
            self.day = day;
        }
        // Subagents of an earlier conversation may still be at work.
        if !step.is_subagent && step.conversation != self.conversation {
            news.push(format!("conversation {}", plain(&step.conversation)));
            self.conversation.clone_from(&step.conversation);
        }
        if news.is_empty() {
            return String::new();
        }
        canvas.paint.ink(Ink::Faint, &format!("── {} ──", news.join(" · "))) + "\n"
    }

    fn body(&mut self, step: &Step, canvas: &Canvas<'_>) -> Option<(Appearance, Vec<String>)> {
        let look = |mark, ink, body| Appearance { mark, ink, body };
        let last_call = self.last_call.take();
        let until = step.until.as_deref().map(|until| canvas.clock.time(until));
        let text = step.text.as_deref().unwrap_or_default();
        Some(match step.kind.as_str() {
            "prompt" => (look("›", Ink::Attention, Ink::Strong), said(step)),
            "text" => (look("•", Ink::Good, Ink::Plain), said(step)),
            // What Perennial added to the conversation by a hook.
            "told" => {
                self.last_call = last_call;
                (look("‹", Ink::Faint, Ink::Faint), self.result(step, Some("told")))
            }
            "tool-call" => {
                self.remember(step);
                (look("▸", Ink::Busy, Ink::Plain), vec![self.call(step)])
            }
            "tool-result" => {
                let tool = step.call.as_ref().and_then(|call| self.calls.remove(call));
                let tool = tool.filter(|_| last_call != step.call);
                let failed = step.is_error == Some(true);
                let ink = if failed { Ink::Alarm } else { Ink::Faint };
                (look(if failed { "✗" } else { "·" }, ink, ink), self.result(step, tool.as_deref()))
            }
            "error" => {
                let retry = until.map(|at| format!(" (until {at})")).unwrap_or_default();
                let kind = plain(step.error.as_deref().unwrap_or("unclassified"));
                let line = with_text(format!("error, {kind}{retry}"), text);
                (look("!", Ink::Alarm, Ink::Alarm), vec![line])
            }
            "rate-limit" => {
                let end = until.map_or_else(String::new, |at| format!(" until {at}"));
                let line = with_text(format!("rate limit{end}"), text);
                (look("!", Ink::Attention, Ink::Attention), vec![line])
            }
            "prompt-blocked" => {
                let line = with_text("prompt blocked by a hook of the user's".to_owned(), text);
                (look("!", Ink::Attention, Ink::Attention), vec![line])
            }
            "compaction" => (look("~", Ink::Busy, Ink::Busy), vec![compaction(step)]),
            "interrupted" => {
                let line = "interrupted by the operator".to_owned();
                (look("■", Ink::Attention, Ink::Attention), vec![line])
            }
            "conversation" => {
                let line = format!("conversation {}", plain(text));
                (look("~", Ink::Busy, Ink::Busy), vec![line])
            }
            // Thinking, or a kind that only a newer daemon knows.
            _ => return None,
        })
    }

    fn remember(&mut self, step: &Step) {
        if let (Some(call), Some(tool)) = (&step.call, &step.tool) {
            if self.calls.len() >= CALLS {
                self.calls.clear();
            }
            self.calls.insert(call.clone(), tool.clone());
            self.last_call = Some(call.clone());
        }
    }

    fn call(&self, step: &Step) -> String {
        let arguments = match &step.arguments {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| match value {
                    Value::String(text) => format!("{}: {}", plain(name), plain(text)),
                    other => format!("{}: {}", plain(name), plain(&other.to_string())),
                });
                fields.collect::<Vec<_>>().join(", ")
            }
            Value::Null => String::new(),
            Value::String(text) => plain(text),
            other => plain(&other.to_string()),
        };
        let mut shown = self.clipped(&arguments);
        if step.cut_bytes > 0 {
            shown.push_str(&format!(" … {} more bytes", step.cut_bytes));
        }
        let tool = plain(step.tool.as_deref().unwrap_or("?"));
        format!("{tool}  {shown}").trim_end().to_owned()
    }

    fn result(&self, step: &Step, tool: Option<&str>) -> Vec<String> {
        let mut lines = said(&Step { cut_bytes: 0, ..step.clone() });
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        let shown = if self.is_full { lines.len() } else { RESULT_LINES };
        let hidden = lines.len().saturating_sub(shown);
        lines.truncate(shown);
        lines = lines.iter().map(|line| self.clipped(line)).collect();
        if lines.is_empty() {
            lines.push("(nothing)".to_owned());
        }
        if let Some(tool) = tool {
            lines[0] = format!("{}: {}", plain(tool), lines[0]);
        }
        match (hidden, step.cut_bytes) {
            (0, 0) => {}
            (hidden, 0) => lines.push(format!("… {hidden} more lines (--full)")),
            (0, cut) => lines.push(format!("… {cut} more bytes")),
            (hidden, cut) => {
                lines.push(format!("… {hidden} more lines (--full), then {cut} more bytes"));
            }
        }
        lines
    }

    fn clipped(&self, line: &str) -> String {
        if self.is_full { line.to_owned() } else { text::clip_end(line, LINE_COLUMNS) }
    }
}

/// A text line by line, harmless, with what was left out.
fn said(step: &Step) -> Vec<String> {
    let text = step.text.as_deref().unwrap_or_default();
    let line = |line: &str| plain(&line.trim_end_matches('\r').replace('\t', "    "));
    let mut lines: Vec<String> = text.trim_end().split('\n').map(line).collect();
    if step.cut_bytes > 0 {
        lines.push(format!("… {} more bytes", step.cut_bytes));
    }
    lines
}

fn with_text(label: String, text: &str) -> String {
    match text.trim() {
        "" => label,
        text => format!("{label}: {}", text::clip_end(&plain(text), LINE_COLUMNS)),
    }
}

fn compaction(step: &Step) -> String {
    let mut line = "compacted".to_owned();
    if let Some(trigger) = &step.trigger {
        line.push_str(&format!(", {}", plain(trigger)));
    }
    match (step.tokens_before, step.tokens_after) {
        (Some(before), Some(after)) => line.push_str(&format!(": {before} → {after} tokens")),
        (Some(before), None) => line.push_str(&format!(": {before} tokens before")),
        (None, Some(after)) => line.push_str(&format!(": {after} tokens after")),
        (None, None) => {}
    }
    line
}

/// A line in pieces that fit, broken at spaces where there are some.
fn wrapped(line: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return vec![line.to_owned()] };
    let mut pieces = Vec::new();
    let mut rest = line;
    while text::width(rest) > room {
        let end = text::fitting(rest, room);
        // A break after a space, if the piece does not get too short by it.
        let cut = rest[..end].rfind(' ').map_or(end, |at| at + 1);
        let cut = if cut * 2 > end { cut } else { end };
        pieces.push(rest[..cut].trim_end().to_owned());
        rest = &rest[cut..];
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::time::fixed;

    fn steps() -> Vec<Step> {
        let long: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let all = json!([
            { "kind": "prompt", "text": "fix the test\nand say \u{1b}[31mwhy" },
            { "kind": "thinking" },
            { "kind": "text", "text": "I will look at the test first, and then at what it is about." },
            { "kind": "tool-call", "call": "c1", "tool": "Bash",
              "arguments": { "command": "cargo test\n--all", "timeout": 5 } },
            { "kind": "told", "text": "[Perennial mail] You have mail.\n- msg_1 from \u{1b}[2J bob\n| hello" },
            { "kind": "tool-result", "call": "c1", "is_error": false, "text": long, "cut_bytes": 77 },
            { "kind": "tool-call", "call": "c2", "tool": "Read", "arguments": "{\"file", "cut_bytes": 9 },
            { "kind": "tool-call", "call": "c3", "tool": "Write", "arguments": {} },
            { "kind": "tool-result", "call": "c2", "is_error": true, "text": "no\tsuch file\r\n" },
            { "kind": "tool-result", "call": "c3", "is_error": false, "text": "" },
            { "kind": "prompt", "text": "look", "is_subagent": true, "subagent": "agent-1" },
            { "kind": "text", "text": "nothing there", "is_subagent": true },
            { "kind": "error", "error": "overloaded", "text": "529 \u{202e}x",
              "until": "2026-11-15T12:01:00Z" },
            { "kind": "rate-limit", "text": "limit reached", "until": "2026-11-15T13:00:00Z" },
            { "kind": "rate-limit", "text": "" },
            { "kind": "compaction", "trigger": "automatic", "tokens_before": 950000, "tokens_after": 12000 },
            { "kind": "interrupted" },
            { "kind": "something new" },
            { "kind": "text", "conversation": "b", "at": "2026-11-16T00:00:01Z", "text": "new day" },
        ]);
        let mut steps: Vec<Step> = serde_json::from_value(all).expect("steps");
        for (second, step) in steps.iter_mut().enumerate() {
            step.at.get_or_insert(format!("2026-11-15T11:00:{second:02}Z"));
            if step.conversation.is_empty() {
                step.conversation = "a\u{7}".to_owned();
            }
        }
        steps
    }

    fn told(is_full: bool, width: Option<usize>, paint: Paint) -> String {
        let (clock, mut teller) = (fixed(), Teller::new(is_full));
        let canvas = Canvas { clock: &clock, paint, width, user: None };
        steps().iter().map(|step| teller.tell(step, &canvas)).collect()
    }

    #[test]
    fn a_conversation_for_people() {
        insta::assert_snapshot!(told(false, Some(60), Paint::OFF));
    }

    #[test]
    fn painted() {
        insta::assert_snapshot!(told(false, None, Paint::ON).replace('\x1b', "␛"));
    }

    #[test]
    fn it_fits_and_nothing_in_it_acts() {
        for width in 40..100 {
            let told = told(true, Some(width), Paint::OFF);
            assert!(told.contains("line 20") && !told.contains("--full"), "{told}");
            assert!(told.lines().all(|line| text::width(line) <= width), "{width}: {told}");
            assert!(!told.chars().any(|c| c != '\n' && text::is_acting(c)), "{told}");
        }
    }
}
