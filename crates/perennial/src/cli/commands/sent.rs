//! `sent`: the texts to an agent, and how far each has come.

use perennial_api::answer::Message;
use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::render::roster::Canvas;
use crate::cli::render::table::{Cell, Clip, Column, table};
use crate::cli::render::text::plain;

/// List the texts sent to an agent, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial sent bob

A text is waiting (and WHY says for what), offered to a session, or seen: the agent's conversation
holds it. perennial unsend ID takes one back that waits.")]
pub struct Args {
    /// Name, NAME~1 for an earlier one of that name, or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// At most this many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    let limit = args.limit.to_string();
    let path = client::path(&["agents", &args.target, "sent"], &[("limit", Some(&limit))]);
    let answer = context.client.get(&path)?;
    context.show(&answer, |messages: &Vec<Message>| {
        if messages.is_empty() {
            return "nothing was sent\n".to_owned();
        }
        context.draw(|canvas| drawn(messages, canvas))
    })?;
    Ok(ExitCode::Done)
}

fn drawn(messages: &[Message], canvas: &Canvas<'_>) -> String {
    let column = |title, importance, clip, cell: &dyn Fn(&Message) -> String| Column {
        title,
        importance,
        narrowest: 10,
        clip,
        cells: messages.iter().map(|message| Cell::new(plain(&cell(message)))).collect(),
    };
    let session = |message: &Message| message.session.map(|n| n.to_string()).unwrap_or_default();
    let columns = vec![
        column("ID", 9, Clip::Never, &|message| message.id.clone()),
        column("STATE", 8, Clip::Never, &|message| message.state.clone()),
        column("SESSION", 2, Clip::Never, &session),
        column("FROM", 1, Clip::Never, &|message| message.from.clone()),
        column("WHY", 5, Clip::End, &|message| message.why.clone().unwrap_or_default()),
        column("TEXT", 6, Clip::End, &|message| message.head.clone()),
    ];
    table(columns, canvas.width, canvas.paint)
}
