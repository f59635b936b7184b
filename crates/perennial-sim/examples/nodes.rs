//! Explores nodes that share a journal: `nodes SEEDS [FROM]`. What `cargo xtask prove nodes` runs.

use std::process::ExitCode;

use perennial_sim::explore_nodes;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let (seeds, from) = match numbers.as_deref() {
        Some([seeds]) => (*seeds, 0),
        Some([seeds, from]) => (*seeds, *from),
        Some(_) | None => {
            eprintln!("usage: nodes SEEDS [FROM]");
            return ExitCode::from(2);
        }
    };
    match explore_nodes(from..from.saturating_add(seeds), None) {
        Ok(summary) => {
            println!("{summary:?}\n0 violations");
            ExitCode::SUCCESS
        }
        Err(broken) => {
            println!("{broken}");
            ExitCode::FAILURE
        }
    }
}
