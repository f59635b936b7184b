//! `understudy --port 0 --script FILE`: the server as a program. Its first line is its address.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use understudy::{Script, Understudy};

/// A scripted model server on loopback. Point an agent CLI at it: ANTHROPIC_BASE_URL=<address>,
/// GOOGLE_GEMINI_BASE_URL=<address>, or base_url = "<address>/v1" in a model provider of Codex.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// 0: any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Only loopback is accepted
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// A JSON file with the turns; without one, prompts carry theirs or get a fixed answer
    #[arg(long)]
    script: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { port, address, script } = Arguments::parse();
    let script = script.map(|path| Script::read(&path)).transpose()?.unwrap_or_default();
    let server = Understudy::start_on((address, port).into(), script)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    server.serve_for_good();
    Ok(())
}
