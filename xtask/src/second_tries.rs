//! Tests that failed at first and passed when they were tried again: listed at the end of a run, and few, or the run
//! fails. Decides nothing about tests that fail twice; the test runner does.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::repository;

/// What nextest writes about a run, by `.config/nextest.toml`.
const REPORT: &str = "target/nextest/reported/junit.xml";
/// With more of them, something is wrong that a second try hides.
const MOST: usize = 3;

/// Removes what an earlier run reported, so that only this one's counts.
pub fn forget() {
    let _none = fs::remove_file(repository::root().join(REPORT));
}

/// Lists the tests of the last run that needed a second try.
pub fn judge() -> Result<(), Failure> {
    let names = read(&repository::root().join(REPORT));
    for name in &names {
        eprintln!("passed only at its second try: {name}");
    }
    if names.len() <= MOST { Ok(()) } else { Err(Failure::SecondTries { tests: names.len() }) }
}

fn read(report: &Path) -> Vec<String> {
    // Without a report nothing was tried again: `cargo test` has no second tries.
    fs::read_to_string(report).map(|report| tried_again(&report)).unwrap_or_default()
}

/// The names of the test cases that have a flaky failure in them.
fn tried_again(report: &str) -> Vec<String> {
    let cases = report.split("<testcase ").skip(1);
    let flaky = cases.filter(|case| case.contains("<flakyFailure") || case.contains("<flakyError"));
    flaky.map(|case| attribute(case, "name").to_owned()).collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let value = tag.split_once(&format!("{name}=\"")).map_or("", |(_, rest)| rest);
    value.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_passed_at_their_second_try_are_listed() {
        let report = r#"<testsuites><testsuite name="perennial::cli">
            <testcase name="ls::quiet" classname="perennial::cli" time="0.1"/>
            <testcase name="run::late" classname="perennial::cli" time="0.1">
              <flakyFailure timestamp="…" type="test failure"><system-err>boom</system-err></flakyFailure>
            </testcase>
            <testcase name="up::broken" classname="perennial::cli" time="0.1">
              <failure type="test failure"/><rerunFailure type="test failure"/>
            </testcase></testsuite></testsuites>"#;
        assert_eq!(tried_again(report), ["run::late"]);
        assert_eq!(tried_again(""), Vec::<String>::new());
    }
}
