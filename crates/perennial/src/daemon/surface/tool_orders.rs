//! What agents order by their own tools, and what they read of it, where that needs more than a line.

use perennial_api::agent as wire;
use perennial_api::answer::Buried;
use perennial_api::request;
use perennial_api::tool::{self, RoleAction};
use perennial_core::id::AgentId;
use perennial_engine::harness::session_texts::{MANDATE_BYTES, quoted};
use serde_json::{Value, json};

use super::answer::ProblemResponse;
use super::orders::Order;
use crate::daemon::showing::problems;

/// What an agent wants done with its own role.
pub fn of_role(own: AgentId, asked: tool::Role) -> Result<Order, ProblemResponse> {
    let own = own.to_string();
    let missing = |what| ProblemResponse(problems::argument_missing(what));
    Ok(match asked.action {
        RoleAction::Assume => {
            let role = asked.role.ok_or_else(|| missing("role"))?;
            Order::Assume(own, request::Assume { role })
        }
        RoleAction::Transfer => {
            let to = asked.to.ok_or_else(|| missing("to"))?;
            Order::Transfer(own, request::Transfer { to })
        }
        RoleAction::Drop => Order::Drop(own),
    })
}

/// What an agent wants of its own session, or of another's, and what it is told when that is recorded.
pub fn of_handoff(own: AgentId, asked: tool::Handoff) -> (Order, &'static str) {
    let tool::Handoff { target, subject, notes, finish, session } = asked;
    let told = match (&target, finish) {
        (None, _) => {
            "this session ends with your turn, and your next one goes on: save what it needs with the tool `checkpoint` if \
             you have not, then end your turn now"
        }
        (Some(_), false) => "it was asked to save its work; its next session follows",
        (Some(_), true) => "its session ends now; its next one follows",
    };
    let target = target.unwrap_or_else(|| own.to_string());
    // Models fill in what they leave out with nothing.
    let [subject, notes] = [subject, notes].map(|it| it.filter(|text| !text.trim().is_empty()));
    let asked = request::Handoff { subject, notes, deadline_s: None, finish, session };
    (Order::Handoff(target, asked), told)
}

/// The child that an agent wants, like itself where nothing else is said.
pub fn of_child(own: wire::Agent, asked: tool::Spawn) -> request::Spawn {
    let tool::Spawn { name, prompt, harness, model, permission_mode, dir, role } = asked;
    request::Spawn {
        name: Some(name),
        prompt: Some(prompt),
        harness: Some(harness.unwrap_or(own.harness)),
        model,
        permission_mode,
        dir: dir.unwrap_or(own.dir),
        role,
        ..request::Spawn::default()
    }
}

/// What an agent reads that asked for its own burial: what it leaves open can still be settled.
pub fn buried_itself(buried: &Buried) -> Value {
    let mut told = json!({ "recorded": "you will be buried when your turn ends; end it now" });
    if let Some(vacancy) = &buried.vacancy {
        let mandate = vacancy.mandate.path.as_deref().or(vacancy.mandate.text.as_deref());
        told["vacancy"] = format!(
            "Nobody else living holds your role '{}' (mandate: {}): it will be vacant. To prevent that, \
             transfer it before your turn ends.",
            vacancy.role,
            quoted(mandate.unwrap_or("not yet written"), MANDATE_BYTES),
        )
        .into();
    }
    told
}
