//! `sent`: lists the texts sent to an agent and the state of each.

use perennial_api::answer::Message;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::number::within;
use crate::cli::render::roster::Canvas;
use crate::cli::render::table::{Cell, Clip, Column, ids, table_with_notes};
use crate::cli::render::text::{OPERATOR, plain};

/// List the texts sent to an agent, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial sent bob

STATE is one of
  waiting    not delivered yet; the line below says why
  offered    given to a session but not seen yet; the line below says how far
             it got. A text to a bare command stays in this state
  seen       the agent's conversation contains it
  withdrawn  by `perennial unsend`, or because it was no longer current
  returned   the agent was buried before it saw the text

`perennial unsend` withdraws a text that is still waiting.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT")]
    target: String,
    /// Show at most this many texts
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 1000>)]
    limit: u64,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let limit = args.limit.to_string();
    let path = client::path(&["agents", &args.target, "sent"], &[("limit", Some(&limit))]);
    let answer = context.client.get(&path)?;
    context.show(&answer, |messages: &Vec<Message>| {
        if messages.is_empty() {
            return "no texts sent\n".to_owned();
        }
        context.draw(|canvas| drawn(messages, canvas))
    })?;
    Ok(ExitCode::Done)
}

fn drawn(messages: &[Message], canvas: &Canvas<'_>) -> String {
    let column = |title, importance, clip, cell: &dyn Fn(&Message) -> String| Column {
        title,
        importance,
        narrowest: 14,
        clip,
        cells: messages.iter().map(|message| Cell::new(plain(&cell(message)))).collect(),
    };
    let session = |message: &Message| message.session.map(|n| n.to_string()).unwrap_or_default();
    let columns = vec![
        ids(messages.iter().map(|message| message.id.as_str())),
        column("STATE", 8, Clip::Never, &|message| message.state.clone()),
        column("SESSION", 2, Clip::Never, &session),
        column("FROM", 1, Clip::Never, &|message| sender(message)),
        column("TEXT", 9, Clip::End, &|message| message.head.clone()),
    ];
    let notes: Vec<_> = messages.iter().map(|message| message.why.clone()).collect();
    table_with_notes(columns, &notes, canvas)
}

fn sender(message: &Message) -> String {
    match message.from.as_str() {
        "person" => OPERATOR.to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::text;
    use crate::cli::render::time::LocalTime;

    #[test]
    fn a_list_fits_a_terminal_and_the_reason_is_whole() {
        let why = "its input line is not empty, or a menu is open in its terminal; it waits on";
        let message = Message {
            id: "msg_01k9zq5v2r7m3x8c4t6b0d1f2g".into(),
            from: "person".into(),
            head: "run the tests again ".repeat(4),
            state: "waiting".into(),
            why: Some(why.into()),
            session: Some(12),
            ..Message::default()
        };
        let (clock, paint) = (LocalTime::system(), Paint::OFF);
        let canvas = Canvas { clock: &clock, paint, width: Some(80), user: None };
        let shown = drawn(&[message.clone(), message.clone()], &canvas);
        assert!(shown.lines().all(|line| text::width(line) <= 80), "{shown}");
        assert_eq!(shown.matches(why).count(), 2, "{shown}");
        // Ids go first where there is no room for all, texts last.
        let canvas = Canvas { clock: &clock, paint, width: Some(40), user: None };
        let narrow = drawn(&[message], &canvas);
        assert!(narrow.contains("run the tests") && !narrow.contains("msg_"), "{narrow}");
    }
}
