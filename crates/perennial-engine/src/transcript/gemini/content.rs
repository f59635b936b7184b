//! What a message holds: a text, or parts of several kinds; and texts of hooks among them.

use serde_json::value::RawValue;

use super::line::{Line, Part, Response};
use super::usage::Damaged;
use crate::harness::mail_texts;
use crate::transcript::field::{Prose, unescaped};
use crate::transcript::step::Excerpt;

/// How that begins what the client itself tells the model.
const CONTEXT: &str = "<session_context>";
/// Around what a hook said.
const HOOK: (&str, &str) = ("<hook_context>", "</hook_context>");
/// How that begins what the client says when the model repeats itself.
const LOOP: &str = "System: Potential loop detected";

/// What a person's side of the conversation says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub prompt: Option<String>,
    /// By hooks, beside the prompt.
    pub added: Vec<String>,
    /// What the client says of its own accord, to the person.
    pub warning: Option<String>,
    pub results: Vec<ToolOutput>,
}

/// What a tool answered.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub call: String,
    pub is_error: bool,
    pub text: String,
    /// By hooks, behind it.
    pub added: Vec<String>,
}

/// `None` for a message that is the client's own.
pub fn of_person(line: &Line<'_>) -> Result<Option<Said>, Damaged> {
    let parts = parts(line.content)?;
    let is_context = |part: &Part<'_>| part.text.as_ref().is_some_and(|text| begins(text, CONTEXT));
    if parts.iter().any(is_context) {
        return Ok(None);
    }
    let mut said = Said::default();
    let mut words: Vec<String> = Vec::new();
    for part in parts {
        if let Some(text) = part.text {
            let (rest, added) = without_hooks(&text.text());
            said.added.extend(added);
            words.extend(Some(rest).filter(|rest| !rest.trim().is_empty()));
        }
        said.results.extend(part.function_response.map(|response| {
            let call = response.id.map(|id| id.as_str().to_owned()).unwrap_or_default();
            output(call, response.response.as_ref())
        }));
    }
    // A turn that goes on with a hook's words still has the person's own beside them: they were said before.
    let goes_on = words.first().is_some_and(|first| mail_texts::is_told(first));
    let typed = match line.display_content.filter(|_| !goes_on) {
        Some(typed) => Some(texts(typed)?).filter(|typed| !typed.trim().is_empty()),
        None => None,
    };
    let words = typed.or_else(|| (!words.is_empty()).then(|| words.join("\n")));
    match words {
        Some(words) if words.starts_with(LOOP) => said.warning = Some(words),
        words => said.prompt = words,
    }
    Ok(Some(said))
}

/// Whether the client takes a conversation up again for the sake of this message of a person's: not for
/// commands, nor for what it said itself.
pub fn is_resumed_prompt(line: &Line<'_>) -> Result<bool, Damaged> {
    let parts = parts(line.content)?;
    let is_other = |part: &Part<'_>| part.text.is_none();
    let text: String = parts.iter().filter_map(|part| Some(part.text.as_ref()?.text())).collect();
    let text = text.trim();
    let is_ignored = ["/", "?", CONTEXT, HOOK.0].iter().any(|mark| text.starts_with(mark));
    Ok(!is_ignored && (!text.is_empty() || parts.iter().any(is_other)))
}

/// The text of a message of the model, or of the client.
pub fn text(line: &Line<'_>) -> Result<String, Damaged> {
    line.content.map_or(Ok(String::new()), texts)
}

/// What the calls of a message answered, as far as it is written there.
pub fn result(call: &str, raw: Option<&RawValue>) -> Option<ToolOutput> {
    let parts: Vec<Part<'_>> = serde_json::from_str(raw?.get()).ok()?;
    let response = parts.into_iter().find_map(|part| part.function_response)?;
    Some(output(call.to_owned(), response.response.as_ref()))
}

fn output(call: String, response: Option<&Response<'_>>) -> ToolOutput {
    let error = response.and_then(|response| response.error);
    let raw = error.or_else(|| response.and_then(|response| response.output));
    let (text, added) = without_hooks(&raw.map(any_text).unwrap_or_default());
    ToolOutput { call, is_error: error.is_some(), text, added }
}

/// All the text of a content.
fn texts(raw: &RawValue) -> Result<String, Damaged> {
    let texts = parts(Some(raw))?.into_iter().filter_map(|part| part.text);
    Ok(texts.map(|text| text.text().into_owned()).collect::<Vec<_>>().join("\n"))
}

fn parts<'a>(raw: Option<&'a RawValue>) -> Result<Vec<Part<'a>>, Damaged> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(Vec::new()) };
    if raw.starts_with('"') {
        let text: Prose<'a> = serde_json::from_str(raw).map_err(|_| Damaged)?;
        return Ok(vec![Part { text: Some(text), function_response: None }]);
    }
    serde_json::from_str(raw).map_err(|_| Damaged)
}

/// A text as it is meant, and anything else as it is written.
fn any_text(raw: &RawValue) -> String {
    let text = serde_json::from_str::<Prose<'_>>(raw.get());
    text.map_or_else(|_| raw.get().to_owned(), |text| text.text().into_owned())
}

fn begins(text: &Prose<'_>, with: &str) -> bool {
    text.text().trim_start().starts_with(with)
}

/// A text without what hooks said at its beginning or its end, and that. What stands in its middle was
/// printed by a program, which may print anything.
fn without_hooks(text: &str) -> (String, Vec<String>) {
    let (open, close) = HOOK;
    let (mut rest, mut before, mut behind) = (text.trim(), Vec::new(), Vec::new());
    while let Some((inner, after)) =
        rest.strip_prefix(open).and_then(|inner| inner.split_once(close))
    {
        before.push(unescaped(inner));
        rest = after.trim_start();
    }
    while let Some((ahead, inner)) =
        rest.strip_suffix(close).and_then(|ahead| ahead.rsplit_once(open))
    {
        behind.push(unescaped(inner));
        rest = ahead.trim_end();
    }
    before.extend(behind.into_iter().rev());
    (rest.to_owned(), before)
}

/// What a call was given, as it was written.
pub fn arguments(raw: Option<&RawValue>) -> Excerpt {
    Excerpt::of(raw.map_or("", RawValue::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_at_an_end_was_said_by_a_hook() {
        let table = [
            ("plain", "plain", &[][..]),
            ("<hook_context>a &lt;b&gt; &amp;lt;</hook_context>\n\ngo", "go", &["a <b> &lt;"]),
            ("out\n\n<hook_context>x</hook_context>", "out", &["x"]),
            ("<hook_context>x</hook_context>", "", &["x"]),
            ("a<hook_context>x</hook_context>b", "a<hook_context>x</hook_context>b", &[]),
            ("<hook_context>open", "<hook_context>open", &[]),
        ];
        for (text, rest, added) in table {
            let (found, hooks) = without_hooks(text);
            assert_eq!((found.as_str(), &hooks[..]), (rest, &added.map_owned()[..]), "{text}");
        }
    }

    /// As Gemini CLI 0.61.0 writes it when the hook at a turn's end denies it, and the turn had no tool call.
    #[test]
    fn a_turn_that_goes_on_with_mail_is_told_the_mail_and_not_its_prompt_again() {
        let said = |content: &str| {
            let display = r#"[{"text":"go on"}]"#;
            let line = format!(
                r#"{{"id":"a","type":"user","content":[{{"text":"{content}"}}],"displayContent":{display}}}"#
            );
            let line: Line<'_> = serde_json::from_str(&line).expect("a line");
            of_person(&line).expect("sound").and_then(|said| said.prompt)
        };
        let mail = "[Perennial mail] You have mail.\\n- msg_01 from bob";
        let told = "[Perennial mail] You have mail.\n- msg_01 from bob";
        assert_eq!(said(mail).as_deref(), Some(told));
        // What a file says that the person named is not ours.
        assert_eq!(said(&format!("go on\\n{mail}")).as_deref(), Some("go on"));
    }

    trait Owned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl Owned for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(|&text| text.to_owned()).collect()
        }
    }
}
