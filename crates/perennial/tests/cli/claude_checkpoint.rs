//! Checkpoints of a real Claude Code session: its own by the tool, ours at phases, at a commit and at a crash, without a
//! model call.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use perennial_api::checkpoint::{Checkpoint, CheckpointCard};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::checkpoint::{git, has_the_seeds_form, mirrored};
use crate::claude::{Stage, bash, state, turns};
use crate::processes::{running, signal};
use crate::sealed::pid;

const MODE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

/// What a failing test run prints.
const FAILING: &str = "#!/bin/sh
echo 'running 1 test'
echo 'test parser::empty_input ... FAILED'
echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'
exit 101
";

/// A repository of which only `src` counts, and a test runner that fails.
fn project(stage: &Stage) {
    let dir = &stage.sealed.dir;
    std::fs::create_dir_all(dir.join("src")).expect("made");
    std::fs::create_dir_all(dir.join("bin")).expect("made");
    std::fs::write(dir.join(".gitignore"), "/*\n!/src\n").expect("written");
    std::fs::write(dir.join("src/lib.rs"), "mod parser;\n").expect("written");
    git(dir, "init -q -b main .");
    git(dir, "add -A");
    git(dir, "commit -qm first");
    let cargo = dir.join("bin/cargo");
    std::fs::write(&cargo, FAILING).expect("written");
    std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).expect("a mode");
}

fn write(path: &Path) -> Value {
    let input = json!({ "file_path": path, "content": "fn parse() {}\n" });
    json!([{ "name": "Write", "input": input }])
}

fn of_cause(stage: &Stage, why: &str) -> Option<CheckpointCard> {
    let all: Vec<Checkpoint> = stage.sealed.json(&["checkpoints", "ada"]);
    let found = all.iter().find(|one| one.why == why)?;
    Some(stage.sealed.json(&["checkpoints", "ada", &found.number.to_string()]))
}

fn taken(stage: &Stage, why: &str) -> CheckpointCard {
    stage.sealed.until(why, || of_cause(stage, why).is_some());
    of_cause(stage, why).expect("there")
}

/// One batch: nothing came between the snapshot and its checkpoint.
fn recorded_with_its_snapshot(stage: &Stage) {
    let lines = stage.sealed.ok(["events", "--agent", "ada", "--json"]);
    let all: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let at = all
        .iter()
        .position(|one| one["kind"] == "checkpoint-taken" && one["data"]["why"] == "crash")
        .expect("recorded");
    let snapshots = ["snapshot-taken", "snapshot-unchanged"];
    assert!(snapshots.contains(&all[at - 1]["kind"].as_str().unwrap_or_default()), "{all:#?}");
    assert_eq!(all[at - 1]["at"], all[at]["at"]);
}

// covers: S-04, S-16, S-19
#[test]
fn at_a_crash_ours_names_the_edited_file_the_failing_test_and_the_open_step() {
    let stage = Stage::new();
    project(&stage);
    let dir = std::fs::canonicalize(&stage.sealed.dir).expect("a directory");
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let hangs = "sh -c 'test -e done && exit; touch done; echo $$ > pipe; exec sleep 300'";
    let program = json!([
        { "tools": write(&dir.join("src/parser.rs")) },
        { "tools": bash("cargo test") },
        { "tools": bash(hangs) },
        { "text": "Back again." },
    ]);
    let steps = ["--step", "write it", "--step", "fix the empty input"];
    let add = [&["task", "add", "fix the parser", "--to", "nobody"][..], &steps].concat();
    let added: Value = stage.sealed.json(&add);
    let task = added[0]["id"].as_str().or(added["id"].as_str()).expect("an id").to_owned();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &[&MODE[..], &["--task", &task]].concat(), &turns(&program));
    stage.sealed.ok(["task", "step", &task]);
    let _tool = std::fs::read_to_string(&pipe).expect("the tool's pid");
    let testing = || {
        let all: Vec<Checkpoint> = stage.sealed.json(&["checkpoints", "ada"]);
        all.iter().any(|one| one.why == "phase" && one.phase == "testing")
    };
    stage.sealed.until("its tests are a phase", testing);
    let is_open = || {
        let shown: Value = stage.sealed.json(&["show", "ada"]);
        shown.to_string().contains("sleep 300")
    };
    stage.sealed.until("the last call was read", is_open);
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);

    let card = of_cause(&stage, "crash").expect("it was taken before the next session");
    assert_eq!((card.checkpoint.session, card.checkpoint.phase.as_str()), (1, "testing"));
    let edited = card.found.edited.last().expect("an edited file");
    assert!(edited.ends_with("src/parser.rs"), "{edited}");
    let run = card.found.tests.as_ref().expect("a test run");
    assert_eq!(run.outcome, "failing");
    assert_eq!(run.failing.as_deref(), Some("parser::empty_input"));
    assert!(card.found.last_call.as_ref().is_some_and(|call| call.is_open), "{card:?}");
    let changed = &card.git.as_ref().expect("a work tree").changed;
    assert_eq!((changed.len(), changed[0].path.as_str()), (1, "src/parser.rs"));
    let told = &card.resumption_instructions;
    for words in [
        "Resume from phase: testing.",
        "Task “fix the parser”, open step 2 of 2: “fix the empty input”.",
        "Not committed: “src/parser.rs”.",
        "failing test: “parser::empty_input”",
        "The last call was “Bash” on “sh -c",
        "which had not ended",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    recorded_with_its_snapshot(&stage);
    let signals: Value = stage.sealed.json(&["signal", "ls", "--kind", "HOOK_UPDATED"]);
    assert_eq!(signals["signals"][0]["payload"]["phase"], "testing");
    // A killed daemon loses none, and gives no number twice.
    let before: Vec<Checkpoint> = stage.sealed.json(&["checkpoints", "ada"]);
    stage.sealed.kill_daemon();
    stage.sealed.start_daemon();
    let after: Vec<Checkpoint> = stage.sealed.json(&["checkpoints", "ada"]);
    assert!(after.ends_with(&before), "{before:?} {after:?}");
    ends_while_no_daemon_runs(&stage);
}

/// The checkpoint that comes right after `up` has what the session did, though nobody had read that yet.
fn ends_while_no_daemon_runs(stage: &Stage) {
    let is_back = || {
        let found = stage.sealed.show("ada").work.and_then(|work| work.found);
        found.and_then(|found| found.last_words).as_deref() == Some("Back again.")
    };
    stage.sealed.until("session 2 has answered", is_back);
    let second = stage.sealed.show("ada");
    stage.sealed.kill_daemon();
    assert!(signal(running(pid(&second)), Signal::KILL));
    stage.sealed.start_daemon();
    let of_second = || {
        let all: Vec<Checkpoint> = stage.sealed.json(&["checkpoints", "ada"]);
        all.into_iter().find(|one| (one.why.as_str(), one.session) == ("crash", 2))
    };
    stage.sealed.until("its end has a checkpoint", || of_second().is_some());
    let number = of_second().expect("there").number.to_string();
    let card: CheckpointCard = stage.sealed.json(&["checkpoints", "ada", &number]);
    assert_eq!(card.found.last_words.as_deref(), Some("Back again."));
    // What the first session did is known: the second has not undone it.
    assert!(card.found.edited.iter().any(|path| path.ends_with("src/parser.rs")), "{card:?}");
    assert_eq!(card.found.tests.map(|run| run.outcome).as_deref(), Some("failing"));
}

/// What no word of a call tells: a script commits, a branch is merged, a commit is taken back. In a repository without commits the first
/// one counts, too.
#[test]
fn commits_are_found_in_git_however_they_come_about() {
    let stage = Stage::new();
    let dir = std::fs::canonicalize(&stage.sealed.dir).expect("a directory");
    std::fs::create_dir_all(dir.join("src")).expect("made");
    std::fs::write(dir.join(".gitignore"), "/*\n!/src\n").expect("written");
    git(&dir, "init -q -b main .");
    let own = "git -c user.name=t -c user.email=t@t";
    let script = format!("date > src/$1; git add -A; {own} commit -qm \"$1\"\n");
    std::fs::write(dir.join("release.sh"), script).expect("written");
    let branch = "git checkout -q -b b; sh release.sh two; git checkout -q main";
    let steps = [
        "sh release.sh one".to_owned(),
        format!("{branch}; {own} merge --no-edit b"),
        format!("{own} revert --no-edit HEAD"),
    ];
    let calls = steps.iter().map(|step| json!({ "tools": bash(step) }));
    let program: Vec<Value> = calls.chain([json!({ "text": "Done." })]).collect();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &MODE, &turns(&json!(program)));
    state(&mut watch, "ada", "waiting", "idle");
    let heads = git(&dir, "log --format=%H main");
    assert_eq!(heads.lines().count(), 3);
    stage.sealed.until("the last commit has a checkpoint", || {
        let last = of_cause(&stage, "commit").and_then(|one| one.git).and_then(|git| git.head);
        last.as_deref() == heads.lines().next()
    });
}

/// The repository is made by the session itself, after it has begun; then another one takes its place. What a script commits in
/// either has a checkpoint.
#[test]
fn a_repository_that_is_made_or_replaced_meanwhile_is_watched() {
    let stage = Stage::new();
    let dir = std::fs::canonicalize(&stage.sealed.dir).expect("a directory");
    std::fs::create_dir_all(dir.join("src")).expect("made");
    std::fs::write(dir.join(".gitignore"), "/*\n!/src\n").expect("written");
    let own = "git -c user.name=t -c user.email=t@t";
    let script = format!(
        "rm -rf .git; git init -q -b main .; date > src/$1; git add -A; {own} commit -qm \"$1\"\n"
    );
    std::fs::write(dir.join("release.sh"), script).expect("written");
    let mut watch = stage.sealed.watch();
    for (turn, step) in ["one", "two"].into_iter().enumerate() {
        let program =
            json!([{ "tools": bash(&format!("sh release.sh {step}")) }, { "text": "Done." }]);
        match turn {
            0 => _ = stage.spawn("ada", &MODE, &turns(&program)),
            _ => _ = stage.sealed.ok(["send", "ada", &turns(&program)]),
        }
        state(&mut watch, "ada", "waiting", "idle");
        let head = git(&dir, "log --format=%H main");
        stage.sealed.until("the commit has a checkpoint", || {
            let last = of_cause(&stage, "commit").and_then(|one| one.git).and_then(|git| git.head);
            last.as_deref() == head.lines().next()
        });
    }
}

// covers: S-04
#[test]
fn the_agent_takes_its_own_by_the_tool_and_a_commit_has_one() {
    let stage = Stage::new();
    project(&stage);
    let dir = std::fs::canonicalize(&stage.sealed.dir).expect("a directory");
    let said = json!({
        "summary": "the parser is written", "phase": "implementation",
        "decisions": [{ "what": "no cache", "why": "it was not faster" }],
        "questions": ["which port?"], "instructions": "run the tests",
    });
    let commit = "git add -A && git -c user.name=t -c user.email=t@t commit -qm done";
    let program = json!([
        { "tools": write(&dir.join("src/parser.rs")) },
        { "tools": [{ "name": "mcp__perennial__checkpoint", "input": said }] },
        { "tools": bash(commit) },
        { "text": "Done." },
    ]);
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &MODE, &turns(&program));
    state(&mut watch, "ada", "waiting", "idle");
    let own = taken(&stage, "agent");
    assert_eq!(own.said.summary.as_deref(), Some("the parser is written"));
    assert_eq!(own.said.decisions[0].why.as_deref(), Some("it was not faster"));
    assert_eq!(own.checkpoint.phase, "implementation");
    assert!(own.checkpoint.snapshot.is_some());
    let answer = format!(r#"{{\"checkpoint\":{}"#, own.checkpoint.number);
    let requests = stage.main_requests();
    assert!(requests.iter().any(|one| one.contains(&answer)), "the model reads it");
    // Ours keeps the agent's words, and tells them apart.
    // Git tells of the commit first; the agent's own call, which is read later, says whose it is.
    // If the change of its phase is read before that snapshot is there, its checkpoint is of that.
    let own_commit = || {
        let causes = ["commit", "phase"].into_iter().filter_map(|why| of_cause(&stage, why));
        causes.into_iter().find(|one| one.found.committed_at.is_some())
    };
    stage.sealed.until("the commit is its own", || own_commit().is_some());
    let ours = own_commit().expect("there");
    assert_eq!(ours.said.questions, ["which port?"]);
    assert_eq!(ours.git.as_ref().map(|git| git.changed_count), Some(0));
    let head = git(&dir, "rev-parse HEAD");
    assert_eq!(ours.git.and_then(|git| git.head).as_deref(), Some(head.trim()));
    assert!(ours.found.committed_at.is_some());
    // The file of its work is renewed at the commit, and whoever listens is told.
    let file = || mirrored(&stage.sealed, "work", "ada.json").expect("a file");
    let number = u64::from(ours.checkpoint.number);
    stage.sealed.until("the file is renewed", || file()["checkpoint"].as_u64() >= Some(number));
    has_the_seeds_form(&file());
    assert_eq!(
        (&file()["current_phase"], &file()["files_modified"], &file()["work_summary"]),
        (&json!("completion"), &json!([]), &json!("the parser is written"))
    );
    let signals: Value = stage.sealed.json(&["signal", "ls", "--kind", "HOOK_UPDATED"]);
    assert_eq!(signals["signals"][0]["payload"]["phase"], "completion");
    // A planned end has one, too.
    stage.sealed.ok(["stop", "ada"]);
    let end = taken(&stage, "planned-end");
    assert_eq!(end.checkpoint.session, 1);
    assert!(end.resumption_instructions.contains("Its own instructions: “run the tests”"));
}

/// A test runner that fails the first time, and passes then.
const MENDED: &str = "#!/bin/sh
outcome=FAILED
test -e ran && outcome=ok
touch ran
echo \"test parser::empty_input ... $outcome\"
echo \"test result: $outcome. 1 test\"
test $outcome = ok
";

// covers: S-04
#[test]
fn the_file_of_its_work_follows_what_is_found_between_checkpoints() {
    let stage = Stage::new();
    project(&stage);
    let dir = std::fs::canonicalize(&stage.sealed.dir).expect("a directory");
    std::fs::write(dir.join("bin/cargo"), MENDED).expect("written");
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let waits = || json!({ "tools": bash("cat pipe") });
    let program = json!([
        { "tools": write(&dir.join("src/parser.rs")) },
        waits(),
        { "tools": write(&dir.join("src/lexer.rs")) },
        waits(),
        { "tools": bash("cargo test") },
        waits(),
        { "tools": bash("cargo test") },
        waits(),
        { "text": "Done." },
    ]);
    stage.spawn("ada", &MODE, &turns(&program));
    let goes_on = || std::fs::write(&pipe, "on\n").expect("written");
    let file = || mirrored(&stage.sealed, "work", "ada.json").expect("a file");
    let taken = || stage.sealed.show("ada").checkpoint.map(|head| head.number);
    let says = |key: &str, value: Value| {
        let what = format!("{key} is {value}");
        stage.sealed.until(&what, || file()[key] == value);
    };
    says("files_modified", json!(["src/parser.rs"]));
    // The checkpoint of this phase is there, so that the next file is in none of them.
    stage.sealed.until("a checkpoint", || taken() == Some(1) && file()["checkpoint"] == 1);
    goes_on();
    says("files_modified", json!(["src/parser.rs", "src/lexer.rs"]));
    assert_eq!((taken(), &file()["tests_status"]), (Some(1), &json!("unknown")));
    goes_on();
    says("tests_status", json!("failing"));
    stage.sealed.until("the tests' checkpoint", || file()["checkpoint"] == 2);
    goes_on();
    says("tests_status", json!("passing"));
    assert_eq!((taken(), &file()["checkpoint"]), (Some(2), &json!(2)));
    has_the_seeds_form(&file());
    // The next daemon reads it again.
    stage.sealed.kill_daemon();
    stage.sealed.start_daemon();
    says("tests_status", json!("passing"));
    goes_on();
}
