//! The fold of steps, with the tools of the three vendors.

use super::*;

fn step(at: u64, content: Content) -> Step {
    Step { id: None, parent: None, time: Some(Time(at)), is_subagent: false, content }
}

fn call(at: u64, name: &str, tool: &str, arguments: &str) -> Step {
    let arguments = Excerpt::of(arguments);
    step(at, Content::ToolCall { call: name.to_owned(), tool: tool.to_owned(), arguments })
}

fn result(at: u64, name: &str, is_error: bool, text: &str) -> Step {
    step(at, Content::ToolResult { call: name.to_owned(), is_error, text: Excerpt::of(text) })
}

fn reader() -> WorkReader {
    WorkReader::new(Arc::default(), Some(Time(10)))
}

fn take(reader: &mut WorkReader, steps: &[Step]) -> Vec<Indicator> {
    steps.iter().flat_map(|step| reader.take(step)).map(|shown| shown.indicator).collect()
}

#[test]
fn a_session_of_each_vendor_is_read() {
    for (edit, arguments, file, shell, command) in [
        (
            "Edit",
            r#"{"file_path":"/w/a.rs","old_string":"a"}"#,
            "/w/a.rs",
            "Bash",
            r#"{"command":"cargo test"}"#,
        ),
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: src/a.rs\n*** End Patch",
            "src/a.rs",
            "exec_command",
            r#"{"cmd":"cargo test"}"#,
        ),
        (
            "replace",
            r#"{"file_path":"a.rs","old_string":"x"}"#,
            "a.rs",
            "run_shell_command",
            r#"{"command":"cargo test"}"#,
        ),
    ] {
        let mut reader = reader();
        let shown = take(
            &mut reader,
            &[
                step(11, Content::Text(Excerpt::of("Here is my plan:\n1. fix"))),
                call(12, "a", edit, arguments),
                result(13, "a", false, "done"),
                call(14, "b", shell, command),
            ],
        );
        use Indicator::{CommitMade, FileEdited, PlanTold, TestsPassed, TestsRun};
        assert_eq!(shown, [PlanTold, FileEdited, TestsRun], "{edit}");
        let found = reader.findings();
        assert_eq!(found.edited, [file]);
        assert_eq!(found.last_words.as_deref(), Some("Here is my plan: 1. fix"));
        let last = found.last_call.as_ref().unwrap();
        assert_eq!((last.about.as_str(), last.is_open, last.at), ("cargo test", true, Time(14)));
        let tests = found.tests.as_ref().unwrap();
        assert_eq!((tests.outcome, tests.at), (TestOutcome::Unfinished, Time(14)));
        let failed = "test a::b ... FAILED\ntest result: FAILED. 0 passed; 1 failed";
        assert_eq!(take(&mut reader, &[result(15, "b", true, failed)]), []);
        let tests = reader.findings().tests.as_ref().unwrap();
        assert_eq!((tests.outcome, tests.failing.as_deref()), (TestOutcome::Failed, Some("a::b")));
        assert!(!reader.findings().last_call.as_ref().unwrap().is_open);
        let again =
            [call(16, "c", shell, command), result(17, "c", false, "test result: ok. 1 passed")];
        assert_eq!(take(&mut reader, &again), [TestsRun]);
        // WK3
        let over = reader.turn_over();
        assert_eq!(over, Some(Shown { indicator: TestsPassed, at: Some(Time(17)) }));
        assert_eq!(reader.turn_over(), None);
        let commit = command.replace("cargo test", "git commit -am x");
        let commit = [call(18, "d", shell, &commit), result(19, "d", false, "[main 1a2b3c4] x")];
        assert_eq!(take(&mut reader, &commit), [CommitMade]);
        assert_eq!(reader.findings().committed_at, Some(Time(19)));
    }
}

/// WK1
#[test]
fn what_the_session_before_did_is_not_its_work() {
    let mut reader = reader();
    let before = [call(8, "a", "Edit", r#"{"file_path":"a"}"#), result(9, "a", false, "")];
    assert_eq!(take(&mut reader, &before), []);
    assert_eq!(*reader.findings(), Findings::default());
}

/// WK2
#[test]
fn a_change_or_commit_that_was_refused_is_none() {
    let mut reader = reader();
    let steps = [
        call(11, "a", "Edit", r#"{"file_path":"a"}"#),
        result(12, "a", true, "no such file"),
        call(13, "b", "Bash", r#"{"command":"git commit -m x"}"#),
        result(14, "b", false, "nothing to commit, working tree clean"),
    ];
    assert_eq!(take(&mut reader, &steps), []);
    assert!(reader.findings().edited.is_empty() && reader.findings().committed_at.is_none());
}

/// WK4
#[test]
fn a_subagents_deeds_are_its_leads_and_its_words_are_not() {
    let mut reader = reader();
    let aside = |step: Step| Step { is_subagent: true, ..step };
    let steps = [
        call(11, "t", "Task", r#"{"subagent_type":"tdd-test-engineer","prompt":"x"}"#),
        aside(step(12, Content::Text(Excerpt::of("Here is my plan")))),
        aside(call(13, "a", "Write", r#"{"file_path":"a","content":""}"#)),
        aside(result(14, "a", false, "")),
    ];
    assert_eq!(take(&mut reader, &steps), [Indicator::TestsDelegated, Indicator::FileEdited]);
    let found = reader.findings();
    assert_eq!(found.last_words, None);
    let last = found.last_call.as_ref().unwrap();
    assert_eq!((last.tool.as_str(), last.is_open), ("Task", true));
}

#[test]
fn who_only_reads_after_a_prompt_looks_around() {
    let mut reader = reader();
    let prompt = || step(11, Content::Prompt(Excerpt::of("and now?")));
    let look = || call(12, "a", "Read", r#"{"file_path":"a"}"#);
    assert_eq!(take(&mut reader, &[prompt(), look(), look()]), []);
    assert_eq!(take(&mut reader, &[look(), look()]), [Indicator::LookedAround]);
    let edit = call(13, "b", "Edit", r#"{"file_path":"a"}"#);
    assert_eq!(take(&mut reader, &[prompt(), look(), edit, look(), look(), look()]), []);
}

#[test]
fn words_that_only_hope_are_no_statement() {
    let rules = PhaseRules::default();
    for words in ["All tests pass.", "Great! The task is complete.", "Done: all tests pass now"] {
        assert_eq!(told(&rules, words), [Indicator::CompletionTold], "{words}");
    }
    for words in
        ["Once all tests pass I commit", "Let me make sure all tests pass", "Not all tests pass"]
    {
        assert_eq!(told(&rules, words), [], "{words}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut reader = reader();
    for at in 0..300u64 {
        let file = format!(r#"{{"file_path":"{}{at}"}}"#, "x".repeat(500));
        take(&mut reader, &[call(20, &at.to_string(), "Write", &file)]);
        take(&mut reader, &[result(21, &at.to_string(), false, "")]);
        take(&mut reader, &[call(20, &format!("open{at}"), "Write", &file)]);
    }
    take(&mut reader, &[step(22, Content::Text(Excerpt::of(&"long words ".repeat(999))))]);
    let found = reader.findings();
    assert!(found.edited.len() <= PATHS_MAX && reader.open.len() <= OPEN_CALLS_MAX);
    assert!(found.edited.iter().all(|path| path.len() <= LINE_BYTES_MAX));
    assert!(found.last_words.as_ref().unwrap().len() <= WORDS_BYTES_MAX);
}

/// The summary of a long output stands at its end.
#[test]
fn the_end_of_a_long_output_counts() {
    let mut reader = reader();
    let output = format!("{}\n=== 1 failed, 2 passed in 3s ===", "noise\n".repeat(9000));
    take(
        &mut reader,
        &[call(11, "a", "Bash", r#"{"command":"pytest"}"#), result(12, "a", false, &output)],
    );
    assert_eq!(reader.findings().tests.as_ref().unwrap().outcome, TestOutcome::Failed);
}

/// By their names: a server of tools may be anybody's.
#[test]
fn tools_that_no_list_has_are_known_by_their_names() {
    let mut reader = reader();
    let editor = |at, command: &str| {
        let arguments = format!(r#"{{"command":"{command}","path":"/w/b.rs"}}"#);
        [call(at, "e", "str_replace_editor", &arguments), result(at, "e", false, "ok")]
    };
    let edit =
        [call(11, "a", "mcp__files__write_file", r#"{"path":"a.rs"}"#), result(12, "a", false, "")];
    assert_eq!(take(&mut reader, &edit), [Indicator::FileEdited]);
    assert_eq!(take(&mut reader, &editor(13, "view")), []);
    assert_eq!(take(&mut reader, &editor(14, "str_replace")), [Indicator::FileEdited]);
    assert_eq!(reader.findings().edited, ["a.rs", "/w/b.rs"]);
    let shell = call(15, "b", "mcp__host__run_command", r#"{"command":"cargo test"}"#);
    assert_eq!(take(&mut reader, &[shell]), [Indicator::TestsRun]);
    let tests = [call(16, "c", "runTests", "{}"), result(17, "c", false, "2 passed, 0 failed")];
    assert_eq!(take(&mut reader, &tests), [Indicator::TestsRun]);
    let run = reader.findings().tests.clone().unwrap();
    assert_eq!((run.command.as_str(), run.outcome), ("runTests", TestOutcome::Passed));
}

/// A script of its own is written, run and removed: none of that changes the work.
#[test]
fn what_an_agent_tries_out_is_a_trial_and_no_change() {
    let mut reader = reader();
    let line = |at, command: &str, output: &str| {
        let arguments = serde_json::json!({ "command": command }).to_string();
        [call(at, "a", "Bash", &arguments), result(at, "a", false, output)]
    };
    assert_eq!(take(&mut reader, &line(11, "cat > test_fix.py <<'E'\nassert x\nE", "")), []);
    assert!(!reader.has_changed());
    let run = line(12, "python test_fix.py", "FAIL: not yet");
    assert_eq!(take(&mut reader, &run), [Indicator::TrialRun]);
    let tests = reader.findings().tests.as_ref().unwrap();
    assert_eq!(
        (tests.command.as_str(), tests.outcome),
        ("python test_fix.py", TestOutcome::Failed)
    );
    let both = line(13, "sed -i 's/a/b/' src/a.rs && python test_fix.py", "PASS");
    use Indicator::{FileEdited, TestsPassed, TrialRun, TrialsRemoved};
    assert_eq!(take(&mut reader, &both), [TrialRun, FileEdited, TrialRun]);
    assert_eq!(take(&mut reader, &line(14, "rm test_fix.py", "")), [TrialsRemoved]);
    assert_eq!(reader.turn_over().map(|shown| shown.indicator), Some(TestsPassed));
}
