//! One world with much mail: `mail [AGENTS MAILS [SEED]]`, 200 agents and 10,000 mails unless told otherwise.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (agents, mails) = (numbers.first().copied(), numbers.get(1).copied());
    let seed = numbers.get(2).copied().unwrap_or(1);
    let began = Instant::now();
    let explored =
        perennial_sim::explore_mail(seed, agents.unwrap_or(200), mails.unwrap_or(10_000));
    println!("{} s", began.elapsed().as_secs());
    match explored {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("seed {}: {}: {}", violation.seed, violation.property, violation.what);
            ExitCode::FAILURE
        }
    }
}
