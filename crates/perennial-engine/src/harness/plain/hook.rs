//! What one call of a hook says, as a fact, and how to answer it: a JSON object in, a text out.
//!
//! A hook is called in a moment of the program's choice and knows nothing of the one before: what
//! comes of a fact is for the core to say.

use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{CallName, Fact, Failure, Origin, Seen};
use serde::Deserialize;

use crate::harness::dialect::{Call, NotUnderstood, bounded};
use crate::harness::mail_texts::brought;
use crate::harness::typing::{fingerprint, older_fingerprint};
use crate::transcript::field::{self, Name, Prose};

/// What a program says about an event; each field only where its event has one.
#[derive(Debug, Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    conversation: Option<Name<'a>>,
    /// Of `began`: how the conversation was come to.
    #[serde(borrow)]
    how: Option<Name<'a>>,
    /// Of `prompt`.
    #[serde(borrow)]
    text: Option<Prose<'a>>,
    /// Of `result`: the call that has finished.
    #[serde(borrow)]
    call: Option<Name<'a>>,
    /// Of `permission`.
    #[serde(borrow)]
    tool: Option<Name<'a>>,
    /// Of `failed`: what went wrong, and when a limit ends.
    #[serde(borrow)]
    error: Option<Name<'a>>,
    #[serde(borrow)]
    until: Option<Name<'a>>,
}

/// Reads what a hook was given on its standard input.
pub fn hook(event: &str, input: &[u8]) -> Result<Call, NotUnderstood> {
    let said: Said<'_> =
        serde_json::from_slice(bounded(input)).map_err(|_| NotUnderstood::NotAnObject)?;
    let conversation: Option<ConversationId> =
        said.conversation.as_ref().and_then(|id| id.as_str().parse().ok());
    if event == "began" && conversation.is_none() {
        return Err(NotUnderstood::NoConversation);
    }
    let prompt = said.text.as_ref().filter(|_| event == "prompt").map(Prose::text);
    let fact = seen(event, &said).map(|seen| Fact {
        older_text: prompt.as_deref().and_then(older_fingerprint),
        mentions: prompt.as_deref().map(brought).unwrap_or_default(),
        may_go_on: event == "ended",
        conversation,
        is_answerable: is_read_in_turn(event),
        ..Fact::new(Origin::Hook, seen)
    });
    Ok(Call { fact, is_partial: false })
}

fn seen(event: &str, said: &Said<'_>) -> Option<Seen> {
    Some(match event {
        "began" => Seen::SessionBegan(followed(said.how.as_ref())),
        "prompt" => {
            let text = said.text.as_ref().map(Prose::text).unwrap_or_default();
            Seen::PromptSubmitted { text: fingerprint(&text) }
        }
        "tool" => Seen::ToolBegan,
        "result" => {
            let call = said.call.as_ref().map(|call| CallName(call.as_str().to_owned()));
            Seen::ToolsFinished { calls: call.into_iter().collect(), in_subagent: false }
        }
        "permission" => {
            let tool = said.tool.as_ref().map(|tool| tool.as_str().to_owned());
            Seen::PermissionAsked { tool }
        }
        "question" => Seen::QuestionAsked,
        "ended" => Seen::ReplyEnded { background_tasks: 0 },
        "failed" => Seen::CallFailed(failure(said)),
        "interrupted" => Seen::Interrupted,
        "compacting" => Seen::CompactionAnnounced { is_certain: true },
        "compacted" => Seen::Compacted,
        _ => return None,
    })
}

/// The reply is the text itself; the program puts it before its model. `None` where it is not asked to.
pub fn reply(event: &str, text: &str) -> Option<Vec<u8>> {
    // The program goes on with what is said to `ended`, as with a prompt.
    (is_read_in_turn(event) || event == "ended").then(|| text.as_bytes().to_vec())
}

fn is_read_in_turn(event: &str) -> bool {
    matches!(event, "prompt" | "result")
}

fn followed(how: Option<&Name<'_>>) -> Followed {
    let word = how.map_or("", Name::as_str);
    // What is not known must not begin a window.
    Followed::ALL.into_iter().find(|one| one.word() == word).unwrap_or(Followed::Resumed)
}

fn failure(said: &Said<'_>) -> Failure {
    match said.error.as_ref().map_or("", Name::as_str) {
        "rate-limit" => Failure::RateLimit { until: field::time(said.until.as_ref()) },
        "authentication" | "billing" => Failure::Refused,
        "overloaded" => Failure::Overloaded,
        "context-overflow" => Failure::TooLong,
        "thrashing" => Failure::Thrash,
        _ => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(event: &str, input: &str) -> Option<Fact> {
        hook(event, input.as_bytes()).expect("understood").fact
    }

    #[test]
    fn each_event_is_a_fact() {
        let call = CallName("c1".to_owned());
        let limit = Failure::RateLimit { until: Some(perennial_core::time::Time(1_000_000)) };
        let table = [
            (
                "began",
                r#"{"conversation":"a","how":"cleared"}"#,
                Seen::SessionBegan(Followed::Cleared),
            ),
            ("began", r#"{"conversation":"a","how":"x"}"#, Seen::SessionBegan(Followed::Resumed)),
            ("prompt", r#"{"text":"do it"}"#, Seen::PromptSubmitted { text: fingerprint("do it") }),
            ("tool", "{}", Seen::ToolBegan),
            (
                "result",
                r#"{"call":"c1"}"#,
                Seen::ToolsFinished { calls: vec![call], in_subagent: false },
            ),
            (
                "permission",
                r#"{"tool":"shell"}"#,
                Seen::PermissionAsked { tool: Some("shell".to_owned()) },
            ),
            ("question", "{}", Seen::QuestionAsked),
            ("ended", r#"{"more":[1,{}]}"#, Seen::ReplyEnded { background_tasks: 0 }),
            (
                "failed",
                r#"{"error":"rate-limit","until":"1970-01-01T00:00:01Z"}"#,
                Seen::CallFailed(limit),
            ),
            ("failed", "{}", Seen::CallFailed(Failure::Other)),
            ("interrupted", "{}", Seen::Interrupted),
            ("compacting", "{}", Seen::CompactionAnnounced { is_certain: true }),
            ("compacted", "{}", Seen::Compacted),
        ];
        for (event, input, seen) in table {
            assert_eq!(said(event, input).map(|fact| fact.seen), Some(seen), "{event} {input}");
        }
        assert_eq!(said("unheard", "{}"), None);
    }

    #[test]
    fn what_is_no_object_or_names_no_conversation_is_refused() {
        for input in ["", "7", "[]", "{", r#"{"text":7}"#] {
            assert_eq!(
                hook("prompt", input.as_bytes()),
                Err(NotUnderstood::NotAnObject),
                "{input}"
            );
        }
        for input in ["{}", r#"{"conversation":"../x"}"#] {
            assert_eq!(
                hook("began", input.as_bytes()),
                Err(NotUnderstood::NoConversation),
                "{input}"
            );
        }
    }

    #[test]
    fn prompts_and_results_are_answered_with_the_text_itself() {
        assert_eq!(reply("prompt", "you are ada").as_deref(), Some(&b"you are ada"[..]));
        assert_eq!(reply("ended", "x").as_deref(), Some(&b"x"[..]));
        assert_eq!(reply("began", "x"), None);
        assert!(said("result", "{}").expect("a fact").is_answerable);
        assert!(!said("ended", "{}").expect("a fact").is_answerable);
    }
}
