//! `cargo xtask guard`: what a step, a hook and a transcript line cost, counted and not timed.
//!
//! Instructions are counted by valgrind, so that a loaded machine counts the same; commits, records
//! and bytes by the journal. The program that is counted is the engine's example `guard`, in the
//! tests' own profile: nothing is built twice.
//!
//! Invariants
//! - G1  A figure more than a tenth above its baseline fails; the baseline changes by `--update` only.
//! - G2  What could not be counted is told, never passed off as counted.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::{program, repository};

const BASELINE: &str = "xtask/guard.json";
/// How far above its baseline a figure may be, in percent.
const TOLERANCE_PERCENT: u64 = 10;
/// What valgrind counts: the example's subject, and the name of its figure.
const SUBJECTS: [(&str, &str); 3] = [
    ("crash", "instructions of 100 crash reports"),
    ("hook", "instructions of 100 hooks"),
    ("line", "instructions of 100 transcript lines"),
];

/// Figures by name. Those of other compilers and processors can't be compared.
type Figures = BTreeMap<String, u64>;

/// Compares with the baseline.
pub fn check() -> Result<(), Failure> {
    let figures = counted()?;
    let text = repository::read(BASELINE)?;
    let baseline: BTreeMap<String, Figures> = serde_json::from_str(&text)
        .map_err(|source| Failure::Answer { program: BASELINE, source })?;
    let machine = machine()?;
    let Some(baseline) = baseline.get(&machine) else {
        println!("not compared: {BASELINE} has no figures for {machine}");
        return Ok(());
    };
    let mut above = 0;
    for (name, was) in baseline {
        let Some(is) = figures.get(name) else { continue };
        let verdict = if is * 100 > was * (100 + TOLERANCE_PERCENT) {
            above += 1;
            "TOO MUCH"
        } else if is * 100 < was * (100 - TOLERANCE_PERCENT) {
            "less: run `cargo xtask guard --update`"
        } else {
            "as before"
        };
        println!("{name}: {is}, was {was}: {verdict}");
    }
    if above == 0 { Ok(()) } else { Err(Failure::Costlier { figures: above }) }
}

/// Writes what is counted now as the baseline.
pub fn update() -> Result<(), Failure> {
    let figures = BTreeMap::from([(machine()?, counted()?)]);
    let text = serde_json::to_string_pretty(&figures)
        .map_err(|source| Failure::Answer { program: BASELINE, source })?;
    repository::write(BASELINE, &format!("{text}\n"))
}

fn counted() -> Result<Figures, Failure> {
    let example = ["--package", "perennial-engine", "--example", "guard"];
    program::run(&[&["cargo", "build", "--quiet"][..], &example].concat())?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let guard = format!("{target}/debug/examples/guard");
    let journal = program::output(&[&guard, "journal"])?;
    let mut figures: Figures = serde_json::from_slice(&journal)
        .map_err(|source| Failure::Answer { program: "guard", source })?;
    if program::find("valgrind").is_none() {
        println!("instructions are not counted: valgrind is not installed");
        return Ok(figures);
    }
    for (subject, name) in SUBJECTS {
        match instructions(&guard, subject)? {
            Some(count) => drop(figures.insert(name.to_owned(), count)),
            None => println!("{name}: not counted, valgrind can't run it here"),
        }
    }
    Ok(figures)
}

/// The instructions of `measured_…`, and of everything that it calls.
fn instructions(guard: &str, subject: &str) -> Result<Option<u64>, Failure> {
    let log = repository::root().join("target/guard.log");
    let to = format!("--log-file={}", log.display());
    let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let only = ["--toggle-collect=guard::measured_*", &to];
    if !program::succeeds(&[&valgrind[..], &only, &[guard, subject]].concat()) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&log)
        .map_err(|source| Failure::File { path: log.clone(), source })?;
    let count = text.lines().find_map(|line| line.split_once("Collected : "));
    // None at all: the functions were not found by their name.
    Ok(count.and_then(|(_, count)| count.trim().parse().ok()).filter(|count| *count > 0))
}

/// The compiler and the processor's kind: with others the same code has other instructions.
fn machine() -> Result<String, Failure> {
    let told = program::output(&["rustc", "-vV"])?;
    let told = String::from_utf8_lossy(&told);
    let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name));
    let [release, host] = ["release: ", "host: "].map(|name| field(name).unwrap_or("unknown"));
    Ok(format!("rustc {release} {host}"))
}
