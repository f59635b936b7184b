//! The conformance suite as tests: its quick share with every built-in harness, all that a fourth vendor
//! claims, and `docs/harnesses.md`.

use std::path::PathBuf;

use crate::conformance::harness::Harness;
use crate::conformance::results::Results;
use crate::conformance::{Outcome, claimed, document, run, scenarios};

/// The names end up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    #[track_caller]
    fn quick_share(name: &str) {
        let harness = Harness::named(name);
        for scenario in scenarios::ALL.iter().filter(|scenario| scenario.is_quick) {
            run(&harness, scenario).unwrap_or_else(|why| panic!("{}: {why}", scenario.name));
        }
    }

    #[test]
    fn claude_goes_through_the_quick_share() {
        quick_share("claude");
    }

    #[test]
    fn codex_goes_through_the_quick_share() {
        quick_share("codex");
    }

    #[test]
    fn gemini_goes_through_the_quick_share() {
        quick_share("gemini");
    }
}

/// One TOML file and a script: no code of ours knows this vendor.
#[test]
fn a_fourth_vendor_goes_through_all_that_it_claims() {
    let fourth: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/conformance/fourth"].iter().collect();
    let file = fourth.join("parley.toml");
    let harness = Harness { program: Some(fourth.join("parley")), ..Harness::of_file(&file) };
    let config = tempfile::tempdir().expect("a directory");
    let preset = harness.install(config.path());
    let (mut works, mut limits) = (0, 0);
    for scenario in scenarios::ALL {
        if claimed(&preset, scenario.name).is_none() {
            continue;
        }
        match run(&harness, scenario) {
            Ok(Outcome::Works) => works += 1,
            Ok(Outcome::Not) => limits += 1,
            Ok(Outcome::Fails) => unreachable!("a run that fails is an error"),
            Err(why) => panic!("{}: {why}", scenario.name),
        }
    }
    assert_eq!((works, limits), (25, 1));
}

#[test]
fn docs_harnesses_is_what_the_runs_have_shown() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../..", document::PATH].iter().collect();
    let made = document::document(&Results::read()).unwrap_or_else(|stale| panic!("{stale}"));
    if std::env::var_os("PERENNIAL_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("written");
    }
    let is_current = std::fs::read_to_string(&path).is_ok_and(|text| text == made);
    assert!(is_current, "{} is stale: run `cargo xtask docs`", document::PATH);
}

/// A scenario, a version or a limit that the runs do not have makes the document stale.
#[test]
fn results_that_are_older_than_the_table_are_told() {
    let current = Results::read();
    let changed = |change: &dyn Fn(&mut Results)| {
        let mut results = current.clone();
        change(&mut results);
        document::document(&results)
    };
    assert!(document::document(&current).is_ok());
    let first = || current.0.keys().next().expect("a harness").clone();
    let stale: [&dyn Fn(&mut Results); 4] = [
        &|results| drop(results.0.remove(&first())),
        &|results| results.0.get_mut(&first()).expect("there").version.push('0'),
        &|results| drop(results.0.get_mut(&first()).expect("there").works.remove(0)),
        &|results| results.0.get_mut(&first()).expect("there").not.push("nonsense".to_owned()),
    ];
    for change in stale {
        let told = changed(change).expect_err("stale");
        assert!(told.contains(&first()) && told.contains("prove conformance"), "{told}");
    }
}
