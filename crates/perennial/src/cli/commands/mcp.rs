//! `mcp` (hidden): the MCP server of a session, on standard input and output.
//!
//! Each line goes to the daemon and its answer comes back: who asks is shown by the process, never
//! said in a message.

use std::io::{self, BufRead, Read, Write};

use perennial_api::{ExitCode, client};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;

/// A message is at most this long, its line's end included.
const LONGEST_LINE: u64 = 4 << 20;

/// Serve an agent's own tools
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Have the server's instructions hold the agent's briefing
    #[arg(long)]
    briefing: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let briefing = args.briefing.then_some("true");
    let path = client::path(&["mcp"], &[("briefing", briefing)]);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(line) = next_line(&mut input)? {
        let answer = match line {
            InputLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            InputLine::Whole(line) => match context.client.post_bytes(&path, &line) {
                Ok(answer) => answer.body,
                Err(error) => refusal(&line, &error.to_string()),
            },
            InputLine::TooLong => failure(&Value::Null, -32600, "the message is too long"),
        };
        if !answer.is_empty() {
            output.write_all(&answer)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
    Ok(ExitCode::Done)
}

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
enum InputLine {
    Whole(Vec<u8>),
    /// Read to its end, and not kept.
    TooLong,
}

fn next_line(input: &mut impl BufRead) -> io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
        drop(line);
        input.skip_until(b'\n')?;
        return Ok(Some(InputLine::TooLong));
    }
    Ok(Some(InputLine::Whole(line)))
}

/// The daemon did not answer: the asker is told, and may ask again.
fn refusal(line: &[u8], why: &str) -> Vec<u8> {
    let asked: Value = serde_json::from_slice(line).unwrap_or_default();
    // A notification expects nothing.
    let Some(id) = asked.get("id") else { return Vec::new() };
    failure(id, -32000, why)
}

fn failure(id: &Value, code: i32, why: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": why });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let long = LONGEST_LINE as usize;
        let fits = [vec![b'x'; long - 1], vec![b'\n']].concat();
        let input = [&fits, &vec![b'y'; 3 * long][..], b"\nnext\nlast"].concat();
        let mut input = &input[..];
        let mut next = || next_line(&mut input).expect("bytes");
        assert_eq!(next(), Some(InputLine::Whole(fits)));
        assert_eq!(next(), Some(InputLine::TooLong));
        assert_eq!(next(), Some(InputLine::Whole(b"next\n".to_vec())));
        assert_eq!(next(), Some(InputLine::Whole(b"last".to_vec())));
        assert_eq!(next(), None);
    }
}
