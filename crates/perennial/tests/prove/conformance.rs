//! The conformance suite, all of it: every scenario with every harness, and what was seen is kept.
//!
//! `PERENNIAL_HARNESS` names one built-in harness, `PERENNIAL_PRESET` the file of somebody's own,
//! `PERENNIAL_SCENARIO` one scenario. What is given as the number of trials is how often the whole table is
//! run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use crate::conformance::harness::Harness;
use crate::conformance::results::{Column, Results};
use crate::conformance::{Outcome, Scenario, claimed, run, scenarios};
use crate::proof::Proof;

pub fn conformance(proof: &mut Proof) {
    let config = tempfile::tempdir().expect("a directory");
    let tables: Vec<Table> =
        wanted().into_iter().map(|harness| Table::of(harness, config.path())).collect();
    proof.multiply(tables.iter().map(|table| table.scenarios.len()).sum());
    while proof.goes_on() {
        for table in &tables {
            let column = table.run(proof);
            // Of somebody's own preset, or of a single scenario, nothing is kept here.
            if table.harness.file.is_none() && scenario().is_none() {
                let mut results = Results::read();
                results.0.insert(table.harness.name.clone(), column);
                results.write();
            }
        }
    }
}

fn wanted() -> Vec<Harness> {
    let name = std::env::var("PERENNIAL_HARNESS").ok();
    match std::env::var("PERENNIAL_PRESET") {
        Ok(file) => vec![Harness::of_file(Path::new(&file))],
        Err(_) => Harness::built_in()
            .into_iter()
            .filter(|harness| name.as_ref().is_none_or(|name| *name == harness.name))
            .collect(),
    }
}

/// The only one that is run.
fn scenario() -> Option<String> {
    std::env::var("PERENNIAL_SCENARIO").ok()
}

/// One harness, and the scenarios that its preset says something of.
struct Table {
    harness: Harness,
    version: String,
    scenarios: Vec<&'static Scenario>,
}

impl Table {
    fn of(harness: Harness, config: &Path) -> Table {
        let preset = harness.install(config);
        let version = harness.version(&preset);
        let only = scenario();
        let claims = |scenario: &&Scenario| {
            claimed(&preset, scenario.name).is_some()
                && only.as_ref().is_none_or(|only| only == scenario.name)
        };
        let scenarios = scenarios::ALL.iter().filter(claims).collect();
        Table { harness, version, scenarios }
    }

    fn run(&self, proof: &mut Proof) -> Column {
        let Table { harness, version, scenarios } = self;
        let mut column = Column { version: version.clone(), ..Column::default() };
        for scenario in scenarios {
            proof.begin_trial();
            let began = Instant::now();
            let seen = tried(harness, scenario);
            let seconds = began.elapsed().as_secs_f64();
            let word = match &seen {
                Ok(Outcome::Works) => "works",
                Ok(Outcome::Not) => "not, as its preset says",
                Ok(Outcome::Fails) | Err(_) => "FAILS",
            };
            println!("{:<10} {:<14} {word} ({seconds:.1} s)", harness.name, scenario.name);
            column.add(scenario.name, *seen.as_ref().unwrap_or(&Outcome::Fails));
            if let Err(why) = seen {
                proof.violated(&format!("{} with {}: {why}", scenario.name, harness.name));
            }
        }
        column
    }
}

/// A scenario that breaks off is a failure (V2).
fn tried(harness: &Harness, scenario: &Scenario) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| run(harness, scenario))).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().cloned();
        let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("broke off: {}", why.unwrap_or_default()))
    })
}
