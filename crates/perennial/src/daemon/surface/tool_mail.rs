//! Mail as a model reads it by its own tools.
//!
//! Who sent a mail is told in the words of the hooks (`mail_texts::sender`): an agent's name alone never says it.

use perennial_api::mail::{Mail, SUBJECT_LIMIT};
use perennial_core::id::AgentId;
use perennial_core::message::Sender;
use perennial_engine::harness::mail_texts;
use serde_json::{Value, json};

use super::mcp::{LONGEST_SHOWN, OTHERS_WORDS};

/// What a sender reads of a mail that it sent.
pub fn mailed(mail: &Mail) -> Value {
    json!({ "sent": mail.id, "to": mail.to, "state": mail.state, "why": mail.why })
}

/// Mails as an agent reads them; of a long text the beginning.
pub fn read_mails(mails: &[Mail]) -> Value {
    let share = LONGEST_SHOWN / mails.len().max(1);
    let one = |mail: &Mail| {
        let text = mail.text.as_deref().unwrap_or_default();
        let shown = &text[..text.floor_char_boundary(share)];
        let mut value = json!({
            "id": mail.id,
            "from": sender(mail),
            "at": mail.at,
            "priority": mail.priority,
            "subject": mail_texts::harmless(&mail.subject, SUBJECT_LIMIT),
            "text": mail_texts::lines(shown),
        });
        if mail.role.is_some() || mail.returned_to.is_some() {
            value["to_role"] = mail.role.clone().into();
            value["returned_because_buried"] = mail.returned_to.clone().into();
        }
        if let Some(name) = &mail.forwarded_from {
            value["written_to"] = name.clone().into();
        }
        if mail.text.is_none() && mail.bytes > 0 {
            value["lost"] = "the text is lost or damaged; ask its sender".into();
        }
        if shown.len() < text.len() {
            value["cut"] = format!(
                "{} more bytes; `perennial mail read {}` prints all of it",
                text.len() - shown.len(),
                mail.id
            )
            .into();
        }
        value
    };
    let mails: Vec<Value> = mails.iter().map(one).collect();
    json!({ "note": OTHERS_WORDS, "mails": mails })
}

/// Who sent it. Only an agent's mail has an id of its sender.
fn sender(mail: &Mail) -> String {
    let id = mail.from_id.as_ref().map(|id| id.parse::<AgentId>());
    match (id, mail.from.as_str()) {
        (Some(Ok(id)), name) => mail_texts::sender(Sender::Agent(id), name.parse().ok().as_ref()),
        (Some(Err(_)), name) => format!("the agent {}", mail_texts::harmless(name, 64)),
        (None, "operator") => mail_texts::sender(Sender::Person, None),
        (None, _) => mail_texts::sender(Sender::Perennial, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_agent_passes_for_the_operator_or_for_perennial() {
        let id = AgentId(1).to_string();
        for (from, from_id, told) in [
            ("operator", None, "the operator, a person"),
            ("perennial", None, "Perennial"),
            ("operator", Some(id.clone()), "the agent operator"),
            ("Perennial", Some(id.clone()), "the agent Perennial"),
        ] {
            let mail = Mail { from: from.to_owned(), from_id, ..Mail::default() };
            assert_eq!(read_mails(&[mail])["mails"][0]["from"], told);
        }
        // A sender without a name is told by its id.
        let mail = Mail { from: id.clone(), from_id: Some(id.clone()), ..Mail::default() };
        assert_eq!(read_mails(&[mail])["mails"][0]["from"], format!("the agent {id}"));
    }
}
