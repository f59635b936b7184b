//! `board`: texts for everyone, posted by persons and agents.

use perennial_api::post::Post;
use perennial_api::{ClientError, ExitCode, client, request};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::within;
use crate::cli::problems;
use crate::cli::render::board;
use crate::cli::render::text::plain;
use crate::cli::text_source::TextSource;

/// Read and write the board that you and all agents share
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial board ls
          perennial board post -s 'release on Friday' 'merge by Thursday'
          perennial board show pst_01kf3v6mbnefyr5j9mmct2xk8e")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Post(PostArgs),
    Ls(LsArgs),
    Show(ShowArgs),
}

/// Post a text that every agent can read; posts are never edited or removed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial board post 'the build is green again'
          perennial board post -s 'release on Friday' --file NOTES
          git log -3 | perennial board post -s 'what landed today' -

A title is one line of at most 200 bytes; a text is at most 64 KiB.")]
pub struct PostArgs {
    /// A one-line title
    #[arg(short = 's', long, value_name = "TITLE", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    source: TextSource,
}

/// List posts, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial board ls
          perennial board ls -n 100 --json
          perennial board ls --before pst_01kf3v6mbnefyr5j9mmct2xk8e")]
pub struct LsArgs {
    /// Show at most this many posts
    #[arg(short = 'n', long = "limit", value_name = "COUNT", default_value_t = 20)]
    #[arg(allow_negative_numbers = true, value_parser = within::<1, 10_000>)]
    count: u64,
    /// Show only posts older than this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

/// Show one post with its text
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial board show pst_01kf3v6mbnefyr5j9mmct2xk8e")]
pub struct ShowArgs {
    /// The post's id, from `perennial board ls`
    id: String,
}

/// The daemon answers with no more than this at once.
const PAGE: u64 = 500;

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Post(args) => post(args, context),
        Verb::Ls(args) => ls(args, context),
        Verb::Show(args) => show(&args, context),
    }
}

fn post(args: PostArgs, context: &Context) -> VerbResult {
    // The daemon takes an empty title of a program for none; a person who wrote one meant something.
    if args.title.as_ref().is_some_and(String::is_empty) {
        return Err(problems::blank_title().into());
    }
    let text = args.source.read()?;
    let body = request::Post { title: args.title, text };
    let answer = context.client.post(&client::path(&["board"], &[]), &body)?;
    context.show(&answer, |post: &Post| format!("posted {}\n", plain(&post.id)))?;
    Ok(ExitCode::Done)
}

fn ls(args: LsArgs, context: &Context) -> VerbResult {
    let mut posts: Vec<Box<RawValue>> = Vec::new();
    let is_later_page = args.before.is_some();
    let mut before = args.before;
    let mut is_end = false;
    while !is_end && (posts.len() as u64) < args.count {
        let limit = PAGE.min(args.count - posts.len() as u64);
        let query = [("before", before.clone()), ("limit", Some(limit.to_string()))];
        let query = query.each_ref().map(|(name, value)| (*name, value.as_deref()));
        let page: Vec<Box<RawValue>> =
            context.client.get(&client::path(&["board"], &query))?.read()?;
        is_end = (page.len() as u64) < limit;
        before = page.last().map(|post| place(post)).transpose()?.or(before);
        posts.extend(page);
    }
    if context.json {
        context.print_json(&serde_json::to_vec(&posts).map_err(ClientError::Unexpected)?)?;
        return Ok(ExitCode::Done);
    }
    let posts: Vec<Post> = posts
        .iter()
        .map(|post| serde_json::from_str(post.get()))
        .collect::<Result<_, _>>()
        .map_err(ClientError::Unexpected)?;
    context.print(&context.draw(|canvas| board::list(&posts, is_end, is_later_page, canvas)))?;
    Ok(ExitCode::Done)
}

/// All that is needed to ask for the page behind a post.
#[derive(Debug, Deserialize)]
struct PostId {
    id: String,
}

fn place(post: &RawValue) -> Result<String, Failure> {
    let place: PostId = serde_json::from_str(post.get()).map_err(ClientError::Unexpected)?;
    Ok(place.id)
}

fn show(args: &ShowArgs, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["board", &args.id], &[]))?;
    context.show(&answer, |post: &Post| context.draw(|canvas| board::show(post, canvas)))?;
    Ok(ExitCode::Done)
}
