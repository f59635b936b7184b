//! The repository's own tool: `cargo xtask test` is what a person and the build machine run.
//!
//! One command, one file. Nothing here is part of the product, and nothing here needs more than
//! cargo to start.

mod bench;
mod ci;
mod docs;
mod explore;
mod failure;
mod guard;
mod leftovers;
mod ordinary_user;
mod program;
mod prove;
mod repository;
mod second_tries;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "\
cargo xtask COMMAND

  test [--quick]               everything that must hold; --quick: tidy and unit tests only
  test --ordinary-user         identity, host and delivery once more, by root as an ordinary user
  ci                           the same, by the script that the build machine runs
  tidy                         the rules of the repository
  docs [--check]               writes the generated documents, or checks that they are current
  explore --seeds N [--from SEED] [--threads N]
                               runs the simulation on N seeds
  guard [--update]             counts instructions and commits, and compares them with the baseline
  prove [ROW [--trials N] [--seed S]]
                               tries what a row claims N times; alone: lists the rows
  bench [--before DIR [--rounds N]] [ROW...]
                               measures the rows, beside their peers, and beside the version that was
                               built in DIR (its target/release)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

fn run(words: &[&str]) -> Result<(), Failure> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        ["test"] => test::full(),
        ["test", "--quick"] => test::quick(),
        ["test", "--ordinary-user"] => leftovers::none_of(ordinary_user::tests),
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["explore", options @ ..] => explore::run(options),
        ["guard"] => guard::check(),
        ["guard", "--update"] => guard::update(),
        ["prove", words @ ..] => prove::run(words),
        ["bench", rows @ ..] => bench::run(rows),
        other => Err(Failure::Usage(other.join(" "))),
    }
}
