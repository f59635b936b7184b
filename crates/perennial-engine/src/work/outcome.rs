//! How a test run went, by what it printed. Output is anybody's text: it is bounded, read line by line, and never more
//! than a claim.
//!
//! A run that says that something failed has failed, whatever else it says.

use perennial_core::work::{LINE_BYTES_MAX, TestOutcome};

/// Longer lines and later ones say nothing.
const LINE_MAX: usize = 400;
const LINES_MAX: usize = 4000;

/// What the output of a run tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub outcome: TestOutcome,
    /// The first test that failed.
    pub failing: Option<String>,
}

/// What one line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Passed,
    Failed,
    /// The program ended with this.
    Exited(i32),
    StillRuns,
}

/// The verdict of an output in parts. `is_error`: the harness says that the call failed. `has_own_exit`: an exit that is
/// told is the runner's.
pub fn verdict(parts: &[&str], is_error: bool, has_own_exit: bool) -> Verdict {
    let (mut passed, mut failed, mut exit, mut still_runs) = (false, false, None, false);
    let mut failing = None;
    let lines = parts.iter().flat_map(|part| part.lines()).take(LINES_MAX);
    for line in lines {
        // How some agent CLIs begin the output of a command.
        let line = line.strip_prefix("Output: ").unwrap_or(line);
        let line = plain(&line[..line.floor_char_boundary(LINE_MAX)]);
        failing = failing.or_else(|| failed_test(&line));
        match said(&line) {
            Some(Said::Passed) => passed = true,
            Some(Said::Failed) => failed = true,
            Some(Said::Exited(code)) => exit = exit.or(Some(code)),
            Some(Said::StillRuns) => still_runs = true,
            None => {}
        }
    }
    let exited_badly = exit.is_some_and(|code| code != 0) || (is_error && exit.is_none());
    let outcome = if failed || failing.is_some() {
        TestOutcome::Failed
    } else if still_runs && !passed {
        TestOutcome::Unfinished
    } else if exited_badly && (has_own_exit || !passed) {
        TestOutcome::Failed
    } else if passed || (exit == Some(0) && has_own_exit) {
        TestOutcome::Passed
    } else {
        TestOutcome::Unclear
    };
    let failing = failing.filter(|_| outcome == TestOutcome::Failed);
    Verdict { outcome, failing }
}

/// The same of a script of the agent's own, which has no runner's summary: its lines begin with how it went. Without such
/// a line it may have done nothing but print.
pub fn verdict_of_trial(parts: &[&str], is_error: bool, has_own_exit: bool) -> Verdict {
    let found = verdict(parts, is_error, has_own_exit);
    let lines = parts.iter().flat_map(|part| part.lines()).take(LINES_MAX);
    let begins = lines.filter_map(|line| went(&line[..line.floor_char_boundary(LINE_MAX)]));
    let (mut passed, mut failed) = (false, false);
    begins.for_each(|is_passed| if is_passed { passed = true } else { failed = true });
    let outcome = match found.outcome {
        TestOutcome::Passed | TestOutcome::Unclear if failed => TestOutcome::Failed,
        TestOutcome::Unclear if passed => TestOutcome::Passed,
        TestOutcome::Passed
        | TestOutcome::Unclear
        | TestOutcome::Failed
        | TestOutcome::Unfinished => found.outcome,
    };
    Verdict { outcome, ..found }
}

/// Whether a line of a script says that something passed or failed.
fn went(line: &str) -> Option<bool> {
    let line = plain(line).to_ascii_lowercase();
    let mut words = line.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
    let first = words.find(|word| !word.is_empty())?;
    // `test_x failed: …`, `all tests passed`
    let is_named = first.starts_with("test") || first == "all";
    let word = match is_named {
        true => words.find(|word| PASSES.contains(word) || FAILS.contains(word))?,
        false => first,
    };
    let is_passed = PASSES.contains(&word);
    (is_passed || FAILS.contains(&word)).then_some(is_passed)
}

const PASSES: [&str; 5] = ["pass", "passed", "success", "succeeded", "ok"];
const FAILS: [&str; 5] = ["fail", "failed", "failure", "assertionerror", "traceback"];

/// What a line of a runner's summary says, of whichever runner.
pub fn said(line: &str) -> Option<Said> {
    let line = line.trim();
    let lower = line.to_ascii_lowercase();
    if let Some(code) = exit_code(&lower) {
        return Some(Said::Exited(code));
    }
    const STILL_RUNS: [&str; 3] =
        ["running in background", "process running with session id", "command timed out"];
    if STILL_RUNS.iter().any(|words| lower.contains(words))
        || lower.starts_with("[request interrupted")
    {
        return Some(Said::StillRuns);
    }
    const FAILED: [&str; 16] = [
        "test result: failed",
        "error: test failed",
        "error: could not compile",
        "error: test run failed",
        "build failed",
        "build failure",
        "--- fail: ",
        "fail\t",
        "failures!",
        "failed (failures=",
        "failed (errors=",
        "there were test failures",
        "there are test failures",
        "evaluation failed :(",
        "make: *** [",
        "failed!  - failed:",
    ];
    if FAILED.iter().any(|words| lower.starts_with(words))
        || lower.starts_with("[error] build failure")
    {
        return Some(Said::Failed);
    }
    if let Some(count) = counted_failures(&lower) {
        return Some(if count > 0 { Said::Failed } else { Said::Passed });
    }
    const PASSED: [&str; 7] = [
        "test result: ok",
        "build success",
        "[info] build success",
        "ok (",
        "ok  \t",
        "congratulations :)",
        "passed!  - failed:     0",
    ];
    let passes = PASSED.iter().any(|words| lower.starts_with(words))
        || line == "OK"
        || line == "PASS"
        || lower.starts_with("passed! ");
    passes.then_some(Said::Passed)
}

/// How many failed, in a line that counts: "1 failed, 2 passed", "3 examples, 1 failure", "Tests run: 5, Failures: 1",
/// "67% tests passed, 1 tests failed out of 3".
fn counted_failures(line: &str) -> Option<u64> {
    const FAILED: [&str; 7] =
        ["failed", "failure", "failures", "failing", "errors", "error", "fails"];
    const PASSED: [&str; 5] = ["passed", "passing", "pass", "examples", "tests"];
    let is_summary = line.contains("passed")
        || line.contains("passing")
        || line.contains("failing")
        || line.contains("failed")
        || line.contains("examples,")
        || line.contains("tests run:")
        || line.contains("tests,")
        || line.contains("tests:")
        || line.contains("executed ");
    if !is_summary || line.len() > 200 {
        return None;
    }
    let is_part = |sign: char| !(sign.is_alphanumeric() || sign == '%');
    let words: Vec<&str> = line.split(is_part).filter(|word| !word.is_empty()).collect();
    let named = |word: &str| line.contains(&format!("{word}:"));
    let (mut failures, mut counts) = (0, false);
    for pair in words.windows(2) {
        // "1 failed" and "failures: 1".
        let counted = match (pair[0].parse::<u64>(), pair[1].parse::<u64>()) {
            (Ok(count), Err(_)) if !named(pair[1]) => Some((count, pair[1])),
            (Err(_), Ok(count)) if named(pair[0]) => Some((count, pair[0])),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
        };
        let Some((count, what)) = counted else { continue };
        if FAILED.contains(&what) {
            (failures, counts) = (failures.max(count), true);
        } else if PASSED.contains(&what) {
            counts = true;
        }
    }
    // "1 tests failed": the word between.
    for three in words.windows(3) {
        if let (Ok(count), "failed") = (three[0].parse::<u64>(), three[2]) {
            (failures, counts) = (failures.max(count), true);
        }
    }
    let has_verdict = ["passed", "passing", "failed", "failing", "failure", "failures", "fails"];
    (counts && words.iter().any(|word| has_verdict.contains(word))).then_some(failures)
}

/// The exit that a harness tells beside the output.
fn exit_code(line: &str) -> Option<i32> {
    const MARKS: [&str; 6] = [
        "process exited with code ",
        "exit code: ",
        "exit code ",
        "exited with code ",
        "<returncode>",
        "exit status ",
    ];
    let rest = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?;
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The test that a line says has failed.
fn failed_test(line: &str) -> Option<String> {
    let line = line.trim();
    let name = cargo(line)
        .or_else(|| {
            after(line, "FAILED ").map(|rest| until(rest, " - ")).filter(|it| it.contains("::"))
        })
        .or_else(|| after(line, "--- FAIL: ").map(|rest| until(rest, " (")))
        .or_else(|| {
            let rest = after(line, "FAIL: ").or_else(|| after(line, "ERROR: "))?;
            Some(rest).filter(|rest| rest.starts_with("test")).map(|rest| until(rest, " ("))
        })
        .or_else(|| {
            after(line, "FAIL [").and_then(|rest| rest.split_once("] ")).map(|(_, it)| it.trim())
        })
        .or_else(|| after(line, "● ").filter(|rest| rest.contains(" › ")))
        .or_else(|| after(line, "FAIL  ").filter(|rest| rest.contains(" > ")))
        .or_else(|| after(line, "rspec ./").map(|rest| until(rest, " #")))
        .or_else(|| {
            line.strip_suffix(" FAILED")
                .filter(|rest| rest.contains(" > ") && !rest.starts_with("Task"))
        })
        .or_else(|| {
            after(line, "Failed ")
                .filter(|rest| rest.contains('[') && rest.ends_with(']'))
                .map(|rest| until(rest, " ["))
        })
        .or_else(|| {
            line.strip_suffix("(Failed)")
                .and_then(|rest| rest.split_once(" - "))
                .map(|(_, it)| it.trim())
        })
        .or_else(|| after(line, "✘ Test ").map(|rest| until(rest, " ")))
        .or_else(|| numbered(line))?;
    let name = name.trim();
    let end = name.floor_char_boundary(LINE_BYTES_MAX);
    (!name.is_empty()).then(|| name[..end].to_owned())
}

fn cargo(line: &str) -> Option<&str> {
    let named = after(line, "test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
    named.or_else(|| after(line, "---- ").and_then(|rest| rest.strip_suffix(" stdout ----")))
}

/// `1) test something (Module)` and `1) SomeTest::testThing`.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (rest.starts_with("test ") || rest.contains("::test"))).then_some(rest)
}

fn after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.strip_prefix(mark)
}

fn until<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split(mark).next().unwrap_or(text)
}

/// A line without colours and other control characters.
pub fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        match next {
            '\u{1b}' => match chars.next() {
                Some('[') => _ = chars.find(|sign| ('\u{40}'..='\u{7e}').contains(sign)),
                Some(']') => _ = chars.find(|sign| *sign == '\u{7}' || *sign == '\u{1b}'),
                Some(_) | None => {}
            },
            '\t' => plain.push('\t'),
            sign if sign.is_control() => {}
            sign => plain.push(sign),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use TestOutcome::{Failed, Passed};

    use super::*;

    fn of(output: &str) -> (TestOutcome, Option<String>) {
        let Verdict { outcome, failing } = verdict(&[output], false, false);
        (outcome, failing)
    }

    fn all_are_read(cases: &[(&str, TestOutcome, Option<&str>)]) {
        for (output, outcome, failing) in cases {
            assert_eq!(of(output), (*outcome, failing.map(str::to_owned)), "{output}");
        }
    }

    #[test]
    fn the_summaries_of_the_common_runners_are_read() {
        all_are_read(&[
            ("running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored", Passed, None),
            (
                "test a::b ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed",
                Failed,
                Some("a::b"),
            ),
            ("     Summary [   0.1s] 3 tests run: 3 passed, 0 skipped", Passed, None),
            (
                "        FAIL [   0.1s] perennial-core work::it\n     Summary [ 0.1s] 2 tests run: 1 passed, 1 failed",
                Failed,
                Some("perennial-core work::it"),
            ),
            ("===== 3 passed in 0.12s =====", Passed, None),
            ("Output: FAILED a.py::b - assert 1 == 2\n=== 1 failed ===", Failed, Some("a.py::b")),
            (
                "FAILED tests/test_a.py::test_b - assert 1 == 2\n=== 1 failed, 2 passed in 0.1s ===",
                Failed,
                Some("tests/test_a.py::test_b"),
            ),
            ("Ran 3 tests in 0.001s\n\nOK", Passed, None),
            (
                "FAIL: test_x (mod.Case.test_x)\nRan 3 tests\nFAILED (failures=1)",
                Failed,
                Some("test_x"),
            ),
            ("ok  \tpkg/a\t0.01s", Passed, None),
            ("--- FAIL: TestX (0.00s)\nFAIL\tpkg/a\t0.01s", Failed, Some("TestX")),
            ("Tests:       3 passed, 3 total", Passed, None),
            (
                "  ● adds › one\nTests:       1 failed, 2 passed, 3 total",
                Failed,
                Some("adds › one"),
            ),
            ("      Tests  3 passed (3)", Passed, None),
            (
                " FAIL  a.test.ts > adds\n Tests  1 failed | 2 passed (3)",
                Failed,
                Some("a.test.ts > adds"),
            ),
            ("  2 passing (5ms)", Passed, None),
            ("  2 passing (5ms)\n  1 failing", Failed, None),
        ]);
    }

    #[test]
    fn the_summaries_of_further_runners_are_read() {
        all_are_read(&[
            ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS", Passed, None),
            ("Tests run: 5, Failures: 1, Errors: 0", Failed, None),
            ("ATest > adds FAILED\nBUILD FAILED in 2s", Failed, Some("ATest > adds")),
            ("100% tests passed, 0 tests failed out of 3", Passed, None),
            (
                "67% tests passed, 1 tests failed out of 3\nThe following tests FAILED:\n\t  2 - two (Failed)",
                Failed,
                Some("two"),
            ),
            ("3 examples, 0 failures", Passed, None),
            (
                "3 examples, 1 failure\nrspec ./spec/a_spec.rb:4 # A adds",
                Failed,
                Some("spec/a_spec.rb:4"),
            ),
            ("OK (3 tests, 3 assertions)", Passed, None),
            ("1) ATest::testAdds\nFAILURES!", Failed, Some("ATest::testAdds")),
            ("Passed!  - Failed:     0, Passed:     3, Skipped: 0, Total: 3", Passed, None),
            ("  Failed Adds [12 ms]\nFailed!  - Failed:     1, Passed: 2", Failed, Some("Adds")),
            ("3 tests, 0 failures", Passed, None),
            ("  1) test adds (ATest)\n3 tests, 1 failure", Failed, Some("test adds (ATest)")),
            ("Executed 3 tests, with 0 failures (0 unexpected) in 0.1", Passed, None),
            ("  congratulations :) (1.2 seconds)", Passed, None),
            ("Executed 1 out of 1 test: 1 fails locally.", Failed, None),
            ("\u{1b}[32m3 passed\u{1b}[0m in 1s", Passed, None),
        ]);
    }

    #[test]
    fn without_a_summary_the_exit_tells_where_it_is_the_runners() {
        let outcome = |output, is_error, own| verdict(&[output], is_error, own).outcome;
        assert_eq!(outcome("Exit code 2\nboom", true, true), TestOutcome::Failed);
        assert_eq!(
            outcome("Process exited with code 0\nOutput:", false, true),
            TestOutcome::Passed
        );
        assert_eq!(
            outcome("Process exited with code 0\nOutput:", false, false),
            TestOutcome::Unclear
        );
        assert_eq!(outcome("something", false, true), TestOutcome::Unclear);
        assert_eq!(
            outcome("Command running in background with ID: x", false, true),
            TestOutcome::Unfinished
        );
        assert_eq!(outcome("something", true, true), TestOutcome::Failed);
        // Piped to a pager that is fine: the summary counts.
        assert_eq!(
            outcome("1 failed, 2 passed\nProcess exited with code 0", false, false),
            TestOutcome::Failed
        );
    }

    #[test]
    fn a_script_says_at_the_beginning_of_its_lines_how_it_went() {
        let of = |output, is_error| verdict_of_trial(&[output, ""], is_error, true).outcome;
        for (output, outcome) in [
            ("PASS: x == None\nAll tests passed!", Passed),
            ("[ok] one\n✓ Success", Passed),
            ("SUCCESS: a\nFAIL: Collections were not updated!", Failed),
            ("test_polylog_expansion failed: ", Failed),
            ("Traceback (most recent call last):\n  File", Failed),
            ("Receivers: 2\nokay, failing gracefully", TestOutcome::Unclear),
            ("passes: 3 things printed\nallocation failed over", TestOutcome::Unclear),
        ] {
            assert_eq!(of(output, false), outcome, "{output}");
        }
        assert_eq!(of("nothing said", true), Failed);
        assert_eq!(of("PASS", true), Failed, "its exit is its own");
    }

    #[test]
    fn hostile_output_is_bounded() {
        let long = format!("FAILED {}::t", "x".repeat(10_000));
        assert!(
            verdict(&[long.as_str()], false, false)
                .failing
                .is_none_or(|it| it.len() <= LINE_BYTES_MAX)
        );
        verdict(
            &[&*"\u{1b}".repeat(9999), &*"\u{1b}]".repeat(9999), &*"1 ".repeat(9999)],
            false,
            false,
        );
    }
}
