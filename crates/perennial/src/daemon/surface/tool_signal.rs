//! The tool `signal`: what agents send, list and escalate by it, and what they read of that.

use perennial_api::escalation::Escalate;
use perennial_api::query;
use perennial_api::signal::{SendSignal, Signal};
use perennial_api::tool::{self, SignalAction};
use perennial_core::authority::Caller;
use perennial_engine::harness::mail_texts;
use serde_json::{Value, json};

use super::Surface;
use super::answer::ProblemResponse;
use super::mcp::OTHERS_WORDS;
use super::orders::Order;
use crate::daemon::showing::{problems, signal as showing};

/// An agent gets this many of the newest at once: a model's context is dear.
const LISTED: usize = 10;

/// What the tool asks for.
pub enum SignalCall {
    Order(Order),
    List(query::Signals),
    Schema(Option<String>),
}

pub fn of_signal(asked: tool::Signal) -> Result<SignalCall, ProblemResponse> {
    let tool::Signal { action, kind, to, payload, severity, subject, text } = asked;
    let missing = |what| ProblemResponse(problems::argument_missing(what));
    Ok(match action {
        SignalAction::Send => {
            let kind = kind.ok_or_else(|| missing("kind"))?;
            let send = SendSignal { kind, to, payload, ..SendSignal::default() };
            SignalCall::Order(Order::Signal(send))
        }
        SignalAction::List => {
            let limit = Some(LISTED);
            SignalCall::List(query::Signals { kind, limit, ..query::Signals::default() })
        }
        SignalAction::Schema => SignalCall::Schema(kind),
        SignalAction::Escalate => SignalCall::Order(Order::Escalate(Escalate {
            to: to.unwrap_or_else(|| "parent".to_owned()),
            severity: severity.unwrap_or_default(),
            subject: subject.ok_or_else(|| missing("subject"))?,
            text: text.unwrap_or_default(),
        })),
    })
}

impl Surface {
    pub async fn listed_signals(
        &self,
        caller: Caller,
        asked: &query::Signals,
    ) -> Result<Value, ProblemResponse> {
        let listed = self.list_signals(caller, asked).await?;
        let signals: Vec<Value> = listed.signals.iter().map(listed_signal).collect();
        Ok(json!({ "note": OTHERS_WORDS, "signals": signals }))
    }
}

pub fn schema(kind: Option<&str>) -> Result<Value, ProblemResponse> {
    let shown = showing::schemas(kind)?;
    Ok(if kind.is_some() { json!({ "schema": shown }) } else { json!({ "kinds": shown }) })
}

fn listed_signal(signal: &Signal) -> Value {
    let payload = Value::Object(signal.payload.clone()).to_string();
    json!({
        "id": signal.id,
        "at": signal.at,
        "kind": signal.kind,
        "from": signal.from,
        "to": signal.to,
        "payload": mail_texts::harmless(&payload, 1000),
    })
}
