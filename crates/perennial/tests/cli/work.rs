//! Where an agent's work stands is seen from outside, without its help: real agent CLIs, and a bare command.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_api::Agent;
use serde_json::{Value, json};

use crate::claude::turns;
use crate::sealed::Sealed;
use crate::watch::Watch;
use crate::{claude, codex, gemini};

/// A phase is found within this after what shows it.
const WITHIN_S: i64 = 30;

/// What an agent does that goes through every phase, in the tools of its vendor.
struct Tools {
    edit: fn(&Path, u32) -> Value,
    shell: fn(&str) -> Value,
    /// Makes a list of tasks.
    list: fn() -> Value,
    /// Hands work to a subagent of this kind.
    delegate: fn(&str) -> Value,
}

/// Three turns: the first ends with tests that pass, the second with a commit, the third with words.
fn programs(dir: &Path, runner: &str, tools: &Tools) -> [Value; 3] {
    let Tools { edit, shell, list, delegate } = tools;
    let commit =
        "git init -q . ; git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x";
    let first = json!([
        { "text": "Here is my plan:\n1. write the note", "tools": shell("ls") },
        { "tools": edit(dir, 1) },
        { "tools": shell(&format!("cd . && {runner} -q 2>&1 | tail -5")) },
        { "tools": edit(dir, 2) },
        { "tools": shell(&format!("{runner} -q")) },
        { "text": "What else?" },
    ]);
    let second = json!([
        { "tools": edit(dir, 3) },
        { "tools": shell(commit) },
        { "text": "Committed.\nNothing else is to be done." },
    ]);
    let third = json!([
        { "tools": shell("ls") },
        { "tools": shell("ls -a") },
        { "tools": shell("cat note1.txt") },
        { "tools": list() },
        { "tools": delegate("general-purpose") },
        { "tools": delegate("qa-engineer") },
        { "text": "All tests pass." },
    ]);
    [first, second, third]
}

/// The phases that these lead to, with what shows each of them, turn by turn: every indicator that there is.
const FIRST: [(&str, &str); 6] = [
    ("planning", "plan-told"),
    ("implementation", "file-edited"),
    ("testing", "tests-run"),
    ("implementation", "file-edited"),
    ("testing", "tests-run"),
    ("completion", "tests-passed"),
];
const SECOND: [(&str, &str); 2] =
    [("implementation", "file-edited"), ("completion", "commit-made")];
const THIRD: [(&str, &str); 5] = [
    ("investigation", "looked-around"),
    ("planning", "task-list-made"),
    ("implementation", "work-delegated"),
    ("testing", "tests-delegated"),
    ("completion", "completion-told"),
];

/// A test runner that fails once, and passes then. By its path: a login shell has its own.
fn test_runner(dir: &Path) -> String {
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    let script = "#!/bin/sh\n\
        if mkdir .ran 2>/dev/null; then\n\
        echo 'FAILED tests/test_note.py::test_words - assert 1 == 2'\n\
        echo '=== 1 failed, 2 passed in 0.01s ==='; exit 1\n\
        fi\n\
        echo '=== 3 passed in 0.01s ==='\n";
    let path = bin.join("pytest");
    std::fs::write(&path, script).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
    path.to_string_lossy().into_owned()
}

fn seconds(moment: &Value) -> i64 {
    let moment: jiff::Timestamp = moment.as_str().expect("a moment").parse().expect("a moment");
    moment.as_second()
}

/// Waits for each phase in its order, and that it was found soon. What comes before `after` was looked at.
fn goes_through_the_phases(
    watch: &mut Watch,
    name: &str,
    mut after: u64,
    shown: &[(&str, &str)],
) -> u64 {
    for (phase, indicator) in shown {
        after = watch.wait(&format!("{name} is in {phase}: {indicator}"), |seen| {
            let (event, data) = (&seen.event, &seen.event.data);
            let is_it = event.agent.as_deref() == Some(name) && event.kind == "phase-found";
            if !is_it || event.seq <= after {
                return None;
            }
            assert_eq!((&data["phase"], &data["indicator"]), (&json!(phase), &json!(indicator)));
            let found_after = seconds(&json!(event.at)) - seconds(&data["seen_at"]);
            assert!(found_after <= WITHIN_S, "{phase}: after {found_after} s");
            Some(event.seq)
        });
    }
    after
}

/// What `show` has of it afterwards.
fn is_shown(sealed: &Sealed, name: &str, edited: &str) {
    sealed.until("the last words are found", || {
        let found = sealed.show(name).work.and_then(|work| work.found);
        found.and_then(|it| it.last_words).is_some_and(|words| words.starts_with("Committed."))
    });
    let work = sealed.show(name).work.expect("its work");
    let phases: Vec<&str> = work.phases.iter().map(|span| span.phase.as_str()).collect();
    let shown = FIRST.iter().chain(&SECOND).map(|(phase, _)| *phase);
    let expected = std::iter::once("investigation").chain(shown);
    assert_eq!(phases, expected.collect::<Vec<_>>());
    assert!(work.phases.windows(2).all(|two| two[0].left_at.as_ref() == Some(&two[1].entered_at)));
    assert_eq!((work.phase.as_str(), work.source.as_str()), ("completion", "found"));
    let found = work.found.expect("findings");
    assert!(found.edited.last().is_some_and(|file| file.ends_with(edited)), "{found:?}");
    let tests = found.tests.expect("a test run");
    assert!(tests.command.ends_with("/pytest -q") && tests.outcome == "passing", "{tests:?}");
    assert!(found.committed_at.is_some());
    assert_eq!(found.last_words.as_deref(), Some("Committed. Nothing else is to be done."));
    let text = sealed.ok(["show", name]);
    for words in ["completion for", "it made a commit", "passing (", edited] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(sealed.ok(["why", name]).contains("its phase is testing: it ran tests"));
}

/// What the first prompt leads to, then what the others do.
#[track_caller]
fn turn_by_turn(sealed: &Sealed, watch: &mut Watch, [second, third]: [&Value; 2]) {
    let after = goes_through_the_phases(watch, "ada", 0, &FIRST);
    sealed.ok(["send", "ada", &turns(second)]);
    let after = goes_through_the_phases(watch, "ada", after, &SECOND);
    is_shown(sealed, "ada", "note3.txt");
    sealed.ok(["send", "ada", &turns(third)]);
    goes_through_the_phases(watch, "ada", after, &THIRD);
}

// covers: S-04
// covers: S-05
#[test]
fn claude_code_is_seen_to_go_through_the_phases() {
    let stage = claude::Stage::new();
    let dir = stage.sealed.dir.clone();
    let runner = test_runner(&dir);
    let mut watch = stage.sealed.watch();
    let tools = Tools {
        edit: |dir, number| {
            let file = dir.join(format!("note{number}.txt"));
            json!([{ "name": "Write", "input": { "file_path": file, "content": "x" } }])
        },
        shell: claude::bash,
        list: || json!([{ "name": "TaskCreate", "input": { "subject": "x", "description": "y" } }]),
        delegate: |kind| {
            let prompt = turns(&json!([{ "text": "Done." }]));
            let input = json!({ "description": "x", "prompt": prompt, "subagent_type": kind });
            json!([{ "name": "Agent", "input": input }])
        },
    };
    let [first, second, third] = programs(&dir, &runner, &tools);
    let free = ["--permission-mode", "bypassPermissions", "--trust"];
    let ada = stage.spawn("ada", &free, &turns(&first));
    assert_eq!(ada.work_phase.as_deref(), Some("investigation"));
    turn_by_turn(&stage.sealed, &mut watch, [&second, &third]);
    // Read again by the next daemon, it shows nothing new.
    let before = stage.sealed.show("ada").work.expect("its work").phases;
    stage.sealed.ok(["down"]);
    stage.sealed.start_daemon();
    stage.sealed.until("its findings are there again", || {
        stage.sealed.show("ada").work.and_then(|work| work.found).is_some()
    });
    assert_eq!(stage.sealed.show("ada").work.expect("its work").phases, before);
}

// covers: S-05
#[test]
fn codex_is_seen_to_go_through_the_phases() {
    let stage = codex::Stage::new();
    let dir = stage.sealed.dir.clone();
    let runner = test_runner(&dir);
    let mut watch = stage.sealed.watch();
    let tools = Tools {
        edit: |_, number| {
            let patch =
                format!("*** Begin Patch\n*** Add File: note{number}.txt\n+x\n*** End Patch\n");
            json!([{ "name": "apply_patch", "input": patch }])
        },
        shell: codex::exec,
        list: || {
            let plan = json!([{ "step": "write it", "status": "pending" }]);
            json!([{ "name": "update_plan", "input": { "plan": plan } }])
        },
        delegate: |kind| {
            let input =
                json!({ "message": turns(&json!([{ "text": "Done." }])), "agent_type": kind });
            json!([{ "name": "spawn_agent", "input": input }])
        },
    };
    let [first, second, third] = programs(&dir, &runner, &tools);
    stage.spawn("ada", &[], &turns(&first));
    turn_by_turn(&stage.sealed, &mut watch, [&second, &third]);
}

// covers: S-05
#[test]
fn gemini_cli_is_seen_to_go_through_the_phases() {
    let stage = gemini::Stage::new();
    let dir = stage.sealed.dir.join("work");
    let runner = test_runner(&stage.sealed.dir);
    let mut watch = stage.sealed.watch();
    let tools = Tools {
        edit: |dir, number| {
            let file = dir.join(format!("note{number}.txt"));
            json!([{ "name": "write_file", "input": { "file_path": file, "content": "x" } }])
        },
        shell: gemini::shell,
        list: || {
            let todos = json!([{ "description": "write it", "status": "pending" }]);
            json!([{ "name": "write_todos", "input": { "todos": todos } }])
        },
        delegate: |kind| {
            let input = json!({ "agent_name": kind, "objective": "x" });
            json!([{ "name": "delegate_to_agent", "input": input }])
        },
    };
    let [first, second, third] = programs(&dir, &runner, &tools);
    stage.spawn("ada", &gemini::FREE, &first);
    turn_by_turn(&stage.sealed, &mut watch, [&second, &third]);
}

// covers: S-05
#[test]
fn a_bare_command_shows_its_phase_by_what_it_prints_and_its_own_word_holds_until_later_evidence() {
    let sealed = Sealed::new();
    std::fs::create_dir_all(&sealed.home.config).expect("made");
    let config = "[phase]\ntest_commands = [\"just check\"]\n[phase.harness.command]\nimplementation = [\"now writing\"]\n\
        [role.german]\nphase = { planning = [\"mein plan\"], replace = true }\n";
    std::fs::write(sealed.home.config.join("config.toml"), config).expect("written");
    sealed.start_daemon();
    let mut watch = sealed.watch();
    let script = "say() { echo \"$1\"; read x; }\n\
        say 'Here is my plan:'; say 'Now writing a.py'; say 'running 3 tests';\n\
        \"$0\" report --phase planning; say 'test result: ok. 3 passed; 0 failed'; say '[main 1a2b3c4] fix'";
    let bob = ["--json", "spawn", "bob", "--", "/bin/sh", "-c", script, crate::sealed::PROGRAM];
    let bob: Agent = serde_json::from_str(&sealed.ok(bob)).expect("an agent");
    let phases = bob.work.expect("its work");
    assert!(["investigation", "planning"].contains(&phases.phase.as_str()));
    let mut after = goes_through_the_phases(&mut watch, "bob", 0, &[("planning", "plan-told")]);
    for (phase, indicator) in [("implementation", "file-edited"), ("testing", "tests-run")] {
        sealed.ok(["send", "bob", "go on"]);
        after = goes_through_the_phases(&mut watch, "bob", after, &[(phase, indicator)]);
    }
    sealed.ok(["send", "bob", "go on"]);
    watch.wait("its own word", |seen| (seen.event.kind == "phase-reported").then_some(()));
    // The tests' end is later evidence of another phase.
    let passed = [("testing", "tests-run"), ("completion", "tests-passed")];
    goes_through_the_phases(&mut watch, "bob", after, &passed);
    let sources: Vec<String> =
        sealed.show("bob").work.expect("its work").phases.into_iter().map(|it| it.phase).collect();
    let expected = [
        "investigation",
        "planning",
        "implementation",
        "testing",
        "planning",
        "testing",
        "completion",
    ];
    assert_eq!(sources, expected);
    // A role's own words, in place of the built-in ones.
    let plans = "echo 'Here is my plan'; echo 'Mein Plan:'; read x";
    sealed.ok(["spawn", "eva", "--role", "german", "--", "/bin/sh", "-c", plans]);
    goes_through_the_phases(&mut watch, "eva", 0, &[("planning", "plan-told")]);
    let german = "echo 'Here is my plan'; echo '[main 1a2b3c4] fix'; read x";
    sealed.ok(["spawn", "ida", "--role", "german", "--", "/bin/sh", "-c", german]);
    goes_through_the_phases(&mut watch, "ida", 0, &[("completion", "commit-made")]);
    // A test command of the operator's own.
    let checks = "echo '$ just check'; read x";
    sealed.ok(["spawn", "ned", "--", "/bin/sh", "-c", checks]);
    goes_through_the_phases(&mut watch, "ned", 0, &[("testing", "tests-run")]);
}
