//! Measures the goals of docs/benchmarks.md and prints one table. Started by `cargo xtask bench`.
//!
//! `bench [ROW...]`; `--program PATH` measures that program in the place of ours; `--before DIR
//! [--rounds N]` compares with the version that was built there.
//!
//! Figures never fail a run: machines differ. Whatever was started is stopped, by pid.

mod clock;
mod compare;
mod http;
mod peers;
mod processes;
mod rows;
mod samples;
mod table;
mod workshop;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use compare::Comparison;
use rows::MEASURES;
use table::Line;
use workshop::Workshop;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match &words[..] {
        // A benchmark's own caller, started by an agent's session.
        ["call", words @ ..] => rows::call(words),
        // What it runs in the place of an agent CLI.
        ["hooks", words @ ..] => rows::session(words),
        words => Options::read(words).and_then(|options| options.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// How often each version is measured, if nothing else is said.
const ROUNDS: usize = 2;

#[derive(Default)]
struct Options {
    program: Option<PathBuf>,
    before: Option<PathBuf>,
    rounds: Option<usize>,
    rows: Vec<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word {
                "--program" => options.program = Some(compare::directory(value()?)?),
                "--before" => options.before = Some(compare::directory(value()?)?),
                "--rounds" => options.rounds = Some(value()?.parse()?),
                row => options.rows.push(row.to_uppercase()),
            }
        }
        Ok(options)
    }

    fn run(self) -> Result<()> {
        let wanted: Vec<&str> = self.rows.iter().map(String::as_str).collect();
        let known: Vec<&str> = MEASURES.iter().flat_map(|(rows, _)| rows.iter().copied()).collect();
        if let Some(unknown) = wanted.iter().find(|row| !known.contains(row)) {
            anyhow::bail!("there is no row {unknown}; there are {}", known.join(", "));
        }
        match self.before {
            Some(before) => {
                println!("{}", machine());
                let rounds = self.rounds.unwrap_or(ROUNDS);
                println!("\n{}", Comparison { before, rounds }.run(&wanted)?);
                println!("load average at the end: {}", load());
                Ok(())
            }
            None => measured(&wanted, self.program),
        }
    }
}

fn measured(wanted: &[&str], program: Option<PathBuf>) -> Result<()> {
    peers::install_missing();
    let workshop = Workshop::open(program)?;
    let mut lines = Vec::new();
    println!("{}", machine());
    for (rows, measure) in MEASURES {
        let rows: Vec<&str> =
            rows.iter().copied().filter(|row| wanted.is_empty() || wanted.contains(row)).collect();
        if rows.is_empty() {
            continue;
        }
        eprintln!("measuring {} …", rows.join(", "));
        // One measure that can't be taken leaves the others.
        if let Err(error) = measure(&workshop, &rows, &mut lines) {
            eprintln!("{}: {error:#}", rows.join(", "));
        }
    }
    // By number: P2 before P14.
    lines.sort_by_key(|line: &Line| line.row[1..].parse().unwrap_or(0));
    println!("\n{}", table::drawn(&lines));
    println!("load average at the end: {}", load());
    Ok(())
}

/// What the figures were taken on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{} × {}, Linux {}, load average {}",
        processors,
        model.map_or("unknown processor", |(_, model)| model),
        read("/proc/sys/kernel/osrelease").trim(),
        load()
    )
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
