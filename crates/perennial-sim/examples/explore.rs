//! Explores as many worlds as wanted: `explore SEEDS [FROM]`. What `cargo xtask explore` runs.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).map_while(|word| word.parse().ok()).collect();
    let (seeds, from) = match numbers.as_slice() {
        [seeds] => (*seeds, 0),
        [seeds, from] => (*seeds, *from),
        _ => {
            eprintln!("usage: explore SEEDS [FROM]");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    match perennial_sim::explore(from..from.saturating_add(seeds)) {
        Ok(summary) => {
            let seconds = began.elapsed().as_secs_f64();
            println!("{summary}; {:.0} seeds/s", summary.seeds as f64 / seconds);
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{violation}");
            ExitCode::FAILURE
        }
    }
}
