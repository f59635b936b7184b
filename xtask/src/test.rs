//! `cargo xtask test`: everything that must hold, cheapest first.
//!
//! A step that fails does not hide the next one; the run fails at the end and names them.

use crate::failure::Failure;
use crate::{docs, guard, leftovers, ordinary_user, program, second_tries, tidy, tools};

type Step = (&'static str, fn() -> Result<(), Failure>);

/// What a change must pass before it lands.
pub fn full() -> Result<(), Failure> {
    tools::install_missing()?;
    steps(&[
        ("format", || program::run(&["cargo", "fmt", "--all", "--check"])),
        ("tidy", tidy::run),
        ("docs", docs::check),
        ("clippy", clippy),
        ("tests", || leftovers::none_of(|| tests(&["--workspace"]))),
        ("tests as an ordinary user", || leftovers::none_of(ordinary_user::tests)),
        // After the tests: what it counts is built by then.
        ("guard", guard::check),
    ])
}

/// What a person runs between two edits: no installs, no processes, no terminals.
pub fn quick() -> Result<(), Failure> {
    tools::require()?;
    steps(&[("tidy", tidy::run), ("tests", || tests(&["--workspace", "--lib", "--bins"]))])
}

fn steps(steps: &[Step]) -> Result<(), Failure> {
    let mut names = Vec::new();
    for (name, step) in steps {
        println!("== {name}");
        if let Err(failure) = step() {
            eprintln!("{failure}");
            names.push(*name);
        }
    }
    if names.is_empty() { Ok(()) } else { Err(Failure::Steps { names }) }
}

fn clippy() -> Result<(), Failure> {
    let strict = ["--", "-D", "warnings"];
    let clippy = |scope: &[&str]| program::run(&[&["cargo", "clippy"], scope, &strict].concat());
    clippy(&["--workspace", "--all-targets"])?;
    // Not among all targets, because no test run starts it.
    clippy(&["--package", "perennial", "--test", "prove"])
}

/// By nextest where it is installed: it runs each test in its own process, and in parallel.
fn tests(scope: &[&str]) -> Result<(), Failure> {
    let runner: &[&str] = if program::succeeds(&["cargo", "nextest", "--version"]) {
        &["cargo", "nextest", "run", "--no-fail-fast", "--profile", "reported"]
    } else {
        &["cargo", "test", "--no-fail-fast"]
    };
    second_tries::forget();
    program::run(&[runner, scope].concat())?;
    second_tries::judge()
}
