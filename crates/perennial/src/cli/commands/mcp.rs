//! `mcp` (hidden): the MCP server of a session, on standard input and output.
//!
//! A call goes to the daemon and its answer comes back: who asks is shown by the process, never said in a
//! message. What needs no daemon is answered here: an agent CLI asks once which tools there are, and a daemon that is
//! away at that moment would leave the session without tools for its whole life.
//!
//! Invariants
//! - MC1  `initialize`, `ping` and `tools/list` are answered whether or not a daemon runs.
//! - MC2  A call that no daemon has taken (none runs, or the one that does is ending) waits for a daemon, for
//!   `DAEMON_WITHIN` at the most. If none comes, the model is told that it can make the call again.
//! - MC3  A call that was sent and not answered may have been carried out. It is sent again only if its tool only
//!   reads; otherwise the model is told that the outcome is unknown.

use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

use perennial_api::tool::Tool;
use perennial_api::{Client, ClientError, ExitCode, Home, client, problem};
use perennial_engine::host::monotonic;
use perennial_engine::watch::{Interest, Watch};
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::mcp_messages::{self, INVALID_REQUEST, Rpc, failure, refused};

/// How long a call waits for a daemon that is being restarted. Agent CLIs wait a minute or longer for a tool.
const DAEMON_WITHIN: Duration = Duration::from_secs(10);
/// The same for the briefing: agent CLIs wait less for a server that starts.
const BRIEFING_WITHIN: Duration = Duration::from_secs(4);
/// A daemon's socket is there a moment before it listens.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
    let daemon = Daemon { home: &context.home, client: &context.client, path };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(line) = next_line(&mut input)? {
        let answer = match line {
            InputLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            InputLine::Whole(line) => answer(&daemon, args.briefing, &line),
            InputLine::TooLong => {
                Some(failure(&Value::Null, INVALID_REQUEST, "the message is too long").to_string())
            }
        };
        if let Some(answer) = answer {
            output.write_all(answer.as_bytes())?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
    Ok(ExitCode::Done)
}

/// What one message is answered with.
fn answer(daemon: &Daemon<'_>, has_briefing: bool, line: &[u8]) -> Option<String> {
    match mcp_messages::read(line) {
        Rpc::Answer(answer) => answer.map(|answer| answer.to_string()),
        Rpc::Initialize { id, result } => {
            let asked = has_briefing.then(|| daemon.ask(line, true, BRIEFING_WITHIN));
            let known = || mcp_messages::result(&id, &result).to_string();
            Some(asked.and_then(Result::ok).unwrap_or_else(known))
        }
        Rpc::Call { id, parameters } => {
            let tool = parameters["name"].as_str().and_then(Tool::of_name);
            let only_reads = tool.is_some_and(Tool::only_reads);
            let answer = daemon.ask(line, only_reads, DAEMON_WITHIN);
            Some(answer.unwrap_or_else(|error| refused(&id, &told(&error)).to_string()))
        }
    }
}

/// The daemon, which may be away for a moment.
struct Daemon<'a> {
    home: &'a Home,
    client: &'a Client,
    path: String,
}

impl Daemon<'_> {
    /// MC2, MC3.
    fn ask(
        &self,
        line: &[u8],
        only_reads: bool,
        patience: Duration,
    ) -> Result<String, ClientError> {
        // Before the first try: a socket that appears after it is not missed.
        let watch = self.watch();
        let until = monotonic::now() + patience;
        loop {
            let error = match self.client.post_bytes(&self.path, line) {
                Ok(answer) => return Ok(String::from_utf8_lossy(&answer.body).into_owned()),
                Err(error) => error,
            };
            let left = until.saturating_sub(monotonic::now());
            let (Ok(watch), false) = (&watch, left.is_zero()) else { return Err(error) };
            if !may_send_again(&error, only_reads) {
                return Err(error);
            }
            // A watch that fails says nothing: the next try is the one that counts.
            let _seen = watch.wait(Some(left.min(LOOK_AGAIN)));
            let _drained = watch.drain(|_| {});
        }
    }

    fn watch(&self) -> io::Result<Watch> {
        let watch = Watch::new()?;
        watch.add_nearest(&self.home.state, Interest::Names)?;
        Ok(watch)
    }
}

/// Whether no daemon has taken the call, or it does not matter (MC2, MC3).
fn may_send_again(error: &ClientError, only_reads: bool) -> bool {
    match error {
        ClientError::NoDaemon(_) => true,
        ClientError::Problem(problem) => problem.kind == problem::ENDING,
        ClientError::Broken(_) => only_reads,
        ClientError::Unreachable(_)
        | ClientError::Untrusted(_)
        | ClientError::NoAnswer(_)
        | ClientError::Stopped(_)
        | ClientError::Garbled(_)
        | ClientError::Unexpected(_)
        | ClientError::Unspeakable(_) => false,
    }
}

/// What the model reads of a call that was not answered.
fn told(error: &ClientError) -> String {
    match error {
        ClientError::NoDaemon(_) => "The Perennial daemon is not running, so nothing was done. You can make this \
            call again later, unchanged; your other work does not depend on it."
            .to_owned(),
        ClientError::Problem(problem) if problem.kind == problem::ENDING => {
            "The Perennial daemon is shutting down, so nothing was done. You can make this call again later, \
            unchanged; your other work does not depend on it."
                .to_owned()
        }
        ClientError::Broken(_) | ClientError::NoAnswer(_) | ClientError::Stopped(_) => format!(
            "Whether this call was carried out is unknown: {error}. Look at the result before you make the call \
            again (for example with the tool `myself`)."
        ),
        ClientError::Unreachable(_)
        | ClientError::Untrusted(_)
        | ClientError::Garbled(_)
        | ClientError::Unexpected(_)
        | ClientError::Unspeakable(_)
        | ClientError::Problem(_) => error.to_string(),
    }
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

#[cfg(test)]
mod tests {
    use perennial_api::Problem;

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

    #[test]
    fn a_call_is_sent_again_only_if_it_was_not_carried_out_or_reads() {
        let broken = || ClientError::Broken(io::ErrorKind::BrokenPipe.into());
        let none = || ClientError::NoDaemon(io::ErrorKind::NotFound.into());
        let ending = Problem::new(503, problem::ENDING, "the daemon is shutting down");
        let refused = Problem::new(409, "conflict", "no");
        let table = [
            (none(), true, true),
            (ClientError::Problem(Box::new(ending)), true, true),
            (broken(), false, true),
            (ClientError::NoAnswer(30), false, false),
            (ClientError::Problem(Box::new(refused)), false, false),
        ];
        for (error, order, reads) in table {
            let may = [false, true].map(|only_reads| may_send_again(&error, only_reads));
            assert_eq!(may, [order, reads], "{error:?}");
        }
        assert!(told(&broken()).contains("is unknown"));
        assert!(told(&none()).contains("nothing was done"));
    }
}
