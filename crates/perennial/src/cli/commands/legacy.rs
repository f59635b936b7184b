//! `legacy`: what agents leave for those who come after them.

use perennial_api::answer::Legacy;
use perennial_api::{ExitCode, client, request};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;
use crate::cli::render::roster::Canvas;
use crate::cli::render::text::{plain, quoted_lines};
use crate::cli::text_source::TextSource;

/// Read what an agent left for those who come after it
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples: perennial legacy bob
          perennial legacy write --kind blog 'what a post about the parser should say: …'

An agent is asked for its legacies when three quarters of its context window are used: a post on the board \
for those who go on, a brief for a blog post about the work, and a brief for its autobiography. They are kept \
for good, with the record of the agent.")]
pub struct Args {
    /// The agent's name or id; bob~1 is the previous agent called bob
    #[arg(value_name = "AGENT", required = true)]
    target: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Write(WriteArgs),
}

/// In an agent's session: leave a text for those who come after it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial legacy write --kind board 'the parser is done; the lexer is not'
          perennial legacy write --kind autobiography --file my-life.txt

A text is at most 64 KiB. A later one of the same kind replaces the earlier one.")]
pub struct WriteArgs {
    /// board is posted on the board, too
    #[arg(long, value_parser = ["board", "blog", "autobiography"])]
    kind: String,
    #[command(flatten)]
    source: TextSource,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match (args.verb, args.target) {
        (Some(Verb::Write(WriteArgs { kind, source })), _) => {
            let body = request::Legacy { kind, text: source.read()? };
            let answer = context.client.post(&client::path(&["legacy"], &[]), &body)?;
            context.show(&answer, |left: &Vec<Legacy>| {
                let kinds: Vec<String> = left.iter().map(|one| plain(&one.kind)).collect();
                format!("kept; you have left: {}\n", kinds.join(", "))
            })?;
        }
        (None, Some(target)) => {
            let answer = context.client.get(&client::path(&["agents", &target, "legacy"], &[]))?;
            context.show(&answer, |left: &Vec<Legacy>| {
                context.draw(|canvas| shown(&target, left, canvas))
            })?;
        }
        (None, None) => return Err(problems::agent_missing().into()),
    }
    Ok(ExitCode::Done)
}

/// Each text under its kind. They are an agent's words: everything is escaped, and each line is quoted.
fn shown(target: &str, left: &[Legacy], canvas: &Canvas<'_>) -> String {
    if left.is_empty() {
        return format!("{} has left no legacies\n", plain(target));
    }
    let text = |one: &Legacy| match &one.text {
        Some(text) => quoted_lines(text),
        None => "(the text can't be read)\n".to_owned(),
    };
    let all = left.iter().map(|one| {
        let at = (canvas.clock.time(&one.at), canvas.clock.ago(&one.at));
        let about = format!(
            "left by {} ({}), {} ({} ago)",
            plain(&one.agent),
            plain(&one.agent_id),
            at.0,
            at.1
        );
        format!("{}, {about}\n\n{}", plain(&one.kind), text(one))
    });
    all.collect::<Vec<_>>().join("\n")
}
