//! A program in a prompt: `fix it UNDERSTUDY: [{"text":"Fixed."}]`.
//!
//! Invariants
//! - I1  Which turn comes next is read from the conversation itself: the model's messages since
//!   that prompt are counted. Any number of clients can share the server, and a client that was
//!   killed goes on where its conversation stands: a turn of which nothing was kept is said again.
//! - I2  Of several prompts with a program the newest counts; of several marks in one prompt the
//!   first, so that a program can hand a program to a subagent.
//! - I3  A program ends with a compaction, also if the client keeps its prompt, and is not
//!   inherited by a subagent: how far it came is no longer to be seen. What follows is a script's
//!   matter.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;

use crate::request::{Message, Part, Request, Role};
use crate::turn::Turn;

/// What a program in a prompt begins with. A JSON list of turns follows; then any text.
pub const MARK: &str = "UNDERSTUDY:";

#[derive(Debug)]
pub struct Program {
    pub turns: Vec<Turn>,
    /// How often the model has spoken since.
    pub spoken: u64,
    /// Tells this program from others of the same session.
    pub fingerprint: u64,
}

impl Program {
    /// The turn at a position, counted with repetitions.
    pub fn turn_at(&self, position: u64) -> Option<(usize, &Turn)> {
        let mut left = position;
        for (index, turn) in self.turns.iter().enumerate() {
            if left < turn.repeat.times() {
                return Some((index, turn));
            }
            left -= turn.repeat.times();
        }
        None
    }
}

/// The program that is running in this conversation, if one is.
pub fn find(request: &Request) -> Result<Option<Program>, serde_json::Error> {
    for (index, message) in request.messages.iter().enumerate().skip(request.inherited).rev() {
        if let Some(text) = marked(message) {
            let mut list = serde_json::Deserializer::from_str(text);
            let turns = Vec::<Turn>::deserialize(&mut list)?;
            // Of the turns, not of the text: clients add to a prompt when it is sent again.
            let mut fingerprint = DefaultHasher::new();
            format!("{turns:?}").hash(&mut fingerprint);
            let spoken = spoken(&request.messages[index + 1..]);
            return Ok(Some(Program { turns, spoken, fingerprint: fingerprint.finish() }));
        }
    }
    Ok(None)
}

fn marked(message: &Message) -> Option<&str> {
    if message.role != Role::User {
        return None;
    }
    message.parts.iter().find_map(|part| match part {
        Part::Text(text) => text.split_once(MARK).map(|(_, program)| program),
        Part::Thinking(_)
        | Part::Filler(_)
        | Part::Call { .. }
        | Part::Result { .. }
        | Part::Unread(_) => None,
    })
}

/// Messages of the model that follow each other are one turn that a client cut in pieces.
fn spoken(messages: &[Message]) -> u64 {
    let is_filler = |part: &Part| matches!(part, Part::Filler(_));
    let real = messages.iter().filter(|message| !message.parts.iter().all(is_filler));
    let roles = real.map(|message| message.role).filter(|role| *role != Role::System);
    let (count, _) = roles.fold((0, Role::User), |(count, before), role| {
        (count + u64::from(role == Role::Assistant && before != Role::Assistant), role)
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> Message {
        Message { role, parts: vec![Part::Text(text.into())] }
    }

    fn next(messages: Vec<Message>) -> Option<String> {
        let program = find(&Request { messages, ..Request::default() }).unwrap()?;
        program.turn_at(program.spoken)?.1.text.clone()
    }

    #[test]
    fn the_conversation_says_which_turn_is_next() {
        let prompt = said(
            Role::User,
            r#"do UNDERSTUDY: [{"text":"a"},{"text":"b","repeat":2},{"text":"c"}] please"#,
        );
        let mut conversation = vec![said(Role::User, "hello"), prompt];
        let mut seen = Vec::new();
        while let Some(text) = next(conversation.clone()) {
            // A message cut in two, and words of the client in between, are still one turn.
            conversation.push(said(Role::Assistant, "…"));
            conversation.push(said(Role::System, "note"));
            conversation.push(said(Role::Assistant, &text));
            // Nor is what a client says in the model's place when it was killed.
            conversation.push(said(Role::User, "go on"));
            let filler = Part::Filler("nothing".into());
            conversation.push(Message { role: Role::Assistant, parts: vec![filler] });
            conversation.push(said(Role::User, "go on, then"));
            seen.push(text);
        }
        assert_eq!(seen, ["a", "b", "b", "c"]);
    }

    #[test]
    fn the_newest_program_runs_and_of_one_prompt_the_outer_one() {
        let nested = serde_json::json!([{ "text": format!("{MARK} [{{\"text\":\"inner\"}}]") }]);
        let newer = said(Role::User, &format!("{MARK}{nested}"));
        let older = said(Role::User, &format!("{MARK} [{{\"text\":\"old\"}}]"));
        let text = next(vec![older, newer]).unwrap();
        assert!(text.starts_with(MARK), "{text}");
    }

    #[test]
    fn a_program_from_before_a_compaction_is_over() {
        let prompt = said(Role::User, &format!("{MARK} [{{\"text\":\"a\"}}]"));
        let messages = vec![prompt, said(Role::User, "the summary")];
        let request = Request { messages, inherited: 1, ..Request::default() };
        assert!(find(&request).unwrap().is_none());
    }

    #[test]
    fn a_misspelt_program_is_an_error_and_not_an_empty_one() {
        for program in [r#"[{"txet":"a"}]"#, "[", "{}", ""] {
            let prompt = said(Role::User, &format!("{MARK} {program}"));
            let request = Request { messages: vec![prompt], ..Request::default() };
            assert!(find(&request).is_err(), "{program}");
        }
    }
}
