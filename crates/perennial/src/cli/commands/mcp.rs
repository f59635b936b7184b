//! `mcp` (hidden): the MCP server of a session, on standard input and output.
//!
//! Each line goes to the daemon and its answer comes back: who asks is shown by the process, never
//! said in a message.

use std::io::{self, BufRead, Write};

use perennial_api::{ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;

/// Serve an agent's own tools
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args, context: &Context) -> Ending {
    let path = client::path(&["mcp"], &[]);
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = match context.client.post_bytes(&path, &line) {
            Ok(answer) => answer.body,
            Err(error) => refusal(&line, &error.to_string()),
        };
        if !answer.is_empty() {
            output.write_all(&answer)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
    Ok(ExitCode::Done)
}

/// The daemon did not answer: the asker is told, and may ask again.
fn refusal(line: &[u8], why: &str) -> Vec<u8> {
    let asked: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    // A notification expects nothing.
    let Some(id) = asked.get("id") else { return Vec::new() };
    let error = serde_json::json!({ "code": -32000, "message": why });
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
}
