//! `task`: work that outlives agents, from outside. Agents act by the verbs that their own shells run.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use perennial_api::mail::MailList;
use perennial_api::task::{Task, TaskList};

use crate::mail::{within, worker};
use crate::processes::{self, Found};
use crate::sealed::{PROGRAM, Sealed};

pub fn add(sealed: &Sealed, title: &str, options: &[&str]) -> Task {
    let tasks: Vec<Task> = sealed.json(&[&["task", "add", title], options].concat());
    tasks.into_iter().next().expect("a task")
}

pub fn show(sealed: &Sealed, id: &str) -> Task {
    sealed.json(&["task", "show", id])
}

fn ls(sealed: &Sealed, options: &[&str]) -> Vec<String> {
    let list: TaskList = sealed.json(&[&["task", "ls"], options].concat());
    list.tasks.into_iter().map(|task| task.title).collect()
}

pub fn subjects(sealed: &Sealed, whose: &str) -> Vec<String> {
    let list: MailList = sealed.json(&["mail", "ls", whose, "-n", "1000"]);
    list.mails.into_iter().map(|mail| mail.subject).collect()
}

/// What a command prints that an agent's shell runs, with its exit code.
fn as_agent(sealed: &Sealed, name: &str, words: &str) -> String {
    within(sealed, name, &format!("{PROGRAM} {words}; echo code $?"))
}

#[track_caller]
fn works(sealed: &Sealed, name: &str, words: &str) -> String {
    let said = as_agent(sealed, name, words);
    assert!(said.contains("code 0"), "{words}: {said}");
    said
}

#[track_caller]
fn until_state(sealed: &Sealed, id: &str, state: &str) -> Task {
    sealed.until(state, || show(sealed, id).state == state);
    show(sealed, id)
}

fn configured(checks: &str) -> Sealed {
    let sealed = Sealed::new();
    std::fs::create_dir_all(&sealed.home.config).expect("made");
    std::fs::write(sealed.home.config.join("config.toml"), checks).expect("written");
    sealed.start_daemon();
    sealed
}

// covers: T-13
#[test]
fn a_task_is_taken_worked_on_claimed_and_verified_by_somebody_else() {
    let sealed = Sealed::up();
    worker(&sealed, "ada", &[]);
    worker(&sealed, "bob", &["--parent", "ada"]);
    let task = add(&sealed, "fix it", &["--step", "find", "--step", "mend", "-m", "it is broken"]);
    let id = &task.id;
    assert_eq!((task.state.as_str(), task.assignee.as_deref()), ("open", None));
    works(&sealed, "bob", &format!("task take {id}"));
    let shown = sealed.ok(["show", "bob"]);
    assert!(shown.contains(id.as_str()) && shown.contains("step 1 of 2: “find”"), "{shown}");
    assert!(sealed.ok(["prime", "bob"]).contains("Open step 1 of 2: “find”"));
    let stepped = works(&sealed, "bob", &format!("task step {id}"));
    assert!(stepped.contains("1 of 2 steps done\n  next: step 2, “"), "{stepped}");
    works(&sealed, "bob", &format!("task step {id} --add 'and test'"));
    works(&sealed, "bob", &format!("task note {id} -m 'found it'"));
    assert!(works(&sealed, "bob", &format!("task done {id} -m merged")).contains("claimed"));
    // Its parent is told, and nobody verifies their own work.
    assert_eq!(subjects(&sealed, "ada"), ["to verify: fix it"]);
    let own = as_agent(&sealed, "bob", &format!("task verify {id}"));
    assert!(own.contains("your own work") && own.contains("code 3"), "{own}");
    works(&sealed, "ada", &format!("task verify {id} --reject -m 'no test'"));
    let back = show(&sealed, id);
    assert_eq!((back.state.as_str(), back.rounds), ("taken", 1));
    assert!(back.reason.contains("no test"), "{back:?}");
    works(&sealed, "bob", &format!("task done {id}"));
    works(&sealed, "ada", &format!("task verify {id}"));
    let done = show(&sealed, id);
    assert_eq!(done.verified_by.as_deref(), Some("parent"));
    assert_eq!((done.steps_done, done.steps.len(), done.last_notes.len()), (1, 3, 1));
    assert_eq!(done.text.as_deref(), Some("it is broken"));
    // What is over is found again, after the daemon too.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(ls(&sealed, &[]), Vec::<String>::new());
    assert_eq!(ls(&sealed, &["--all"]), ["fix it"]);
    assert_eq!(ls(&sealed, &["--state", "verified", "--agent", "bob"]), ["fix it"]);
    assert_eq!(show(&sealed, id).last_notes[0].text, "found it");
    assert_eq!(sealed.refused(3, &["task", "drop", id]).kind, "task-over");
    let again: Vec<Task> = sealed.json(&["task", "reopen", id, "-m", "it broke again"]);
    assert_eq!(again[0].reopens.as_ref(), Some(id));
}

// covers: T-13
#[test]
fn a_failing_check_gives_the_task_back_with_its_output_and_a_passing_one_verifies_it() {
    let sealed = configured(
        "[checks]\nunit = ['sh', '-c', 'cat result; test -e good']\n\
         slow = { command = ['sh', '-c', 'sleep 1000000 & sleep 1000000'], limit = '1s' }\n",
    );
    worker(&sealed, "bob", &[]);
    let task = add(&sealed, "make it green", &["--to", "bob", "--check", "unit"]);
    assert_eq!(task.state, "taken", "it was on nothing else: {task:?}");
    std::fs::write(sealed.dir.join("result"), "2 tests failed: a, b\n").expect("written");
    works(&sealed, "bob", &format!("task done {}", task.id));
    sealed.until("it comes back", || show(&sealed, &task.id).rounds == 1);
    let back = show(&sealed, &task.id);
    assert_eq!(back.state, "taken");
    let check = back.last_check.expect("a result");
    assert_eq!((check.end.as_str(), check.output.as_str()), ("exit 1", "2 tests failed: a, b\n"));
    let mail = works(&sealed, "bob", "mail read");
    assert!(mail.contains("2 tests failed: a, b") && mail.contains("exit 1"), "{mail}");
    std::fs::write(sealed.dir.join("good"), "").expect("written");
    works(&sealed, "bob", &format!("task done {}", task.id));
    assert_eq!(until_state(&sealed, &task.id, "verified").verified_by.as_deref(), Some("check"));

    // At its limit the whole tree of a check is ended; after the last round somebody is told.
    let slow = add(&sealed, "wait", &["--to", "bob", "--check", "slow", "--rounds", "1"]);
    for _ in 0..2 {
        works(&sealed, "bob", &format!("task done {}", slow.id));
        sealed.until("its check is over", || show(&sealed, &slow.id).state != "claimed");
    }
    let blocked = show(&sealed, &slow.id);
    assert_eq!(
        (blocked.state.as_str(), blocked.blocked_on.as_deref()),
        ("blocked", Some("rounds"))
    );
    // The rule is an escalation, and each verdict was a signal to the worker.
    assert_eq!(subjects(&sealed, "operator"), ["escalation (high): blocked: wait"]);
    let escalated: serde_json::Value = sealed.json(&["escalations"]);
    assert_eq!(escalated[0]["cause"], "checks-failed");
    let read = sealed.ok(["mail", "read"]);
    assert!(read.contains("was given back") && read.contains(&slow.id), "{read}");
    let kinds = |kind: &str| sealed.ok(["signal", "ls", "--kind", kind]).matches("bob").count();
    assert_eq!((kinds("VALIDATION_PASSED"), kinds("VALIDATION_FAILED") >= 3), (1, true));
    let is_left = |one: &Found| one.argv.iter().any(|word| word.contains("1000000"));
    sealed.until("its tree is gone", || !sealed.processes().iter().any(is_left));
}

/// The daemon is killed while a check runs: it is run once, or its end is unknown and it is run anew.
#[test]
fn a_check_outlives_the_daemon_and_one_whose_holder_is_killed_is_run_anew() {
    let sealed = configured(
        "[checks]\nunit = ['sh', '-c', 'echo x >> runs; while ! test -e go; do sleep 0.02; done']\n",
    );
    worker(&sealed, "bob", &[]);
    let runs = || std::fs::read_to_string(sealed.dir.join("runs")).unwrap_or_default().len() / 2;
    let task = add(&sealed, "slow one", &["--to", "bob", "--check", "unit"]);
    works(&sealed, "bob", &format!("task done {}", task.id));
    sealed.until("it runs", || runs() == 1);
    sealed.kill_daemon();
    sealed.start_daemon();
    std::fs::write(sealed.dir.join("go"), "").expect("written");
    until_state(&sealed, &task.id, "verified");
    assert_eq!(runs(), 1, "once");

    std::fs::remove_file(sealed.dir.join("go")).expect("removed");
    let task = add(&sealed, "killed one", &["--to", "bob", "--check", "unit"]);
    works(&sealed, "bob", &format!("task done {}", task.id));
    sealed.until("it runs", || runs() == 2);
    let of_job = |one: &&Found| one.is_shim() && one.argv.iter().any(|word| word.contains("job_"));
    let shim = sealed.processes().iter().find(of_job).map(|one| one.process).expect("its holder");
    processes::kill(shim);
    sealed.until("it is run anew", || runs() == 3);
    std::fs::write(sealed.dir.join("go"), "").expect("written");
    assert_eq!(until_state(&sealed, &task.id, "verified").verified_by.as_deref(), Some("check"));
    let unseen = || sealed.ok(["events"]).matches("nobody saw its end").count();
    let before = unseen();
    assert!(before > 0);

    // The daemon and the holder at once: the next daemon finds a check that nobody will tell of.
    std::fs::remove_file(sealed.dir.join("go")).expect("removed");
    let task = add(&sealed, "both killed", &["--to", "bob", "--check", "unit"]);
    works(&sealed, "bob", &format!("task done {}", task.id));
    sealed.until("it runs", || runs() == 4);
    let shim = sealed.processes().iter().find(of_job).map(|one| one.process).expect("its holder");
    sealed.kill_daemon();
    processes::kill(shim);
    sealed.start_daemon();
    sealed.until("it is run anew", || runs() == 5);
    std::fs::write(sealed.dir.join("go"), "").expect("written");
    assert_eq!(until_state(&sealed, &task.id, "verified").verified_by.as_deref(), Some("check"));
    assert!(unseen() > before, "its end is recorded as unknown");
    assert_eq!(runs(), 5);
}

#[test]
fn a_check_is_a_name_of_trusted_configuration_or_a_persons_command() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    // An agent names no command, and an unknown or untrusted check is run by nobody.
    let refused = as_agent(&sealed, "bob", "task add x --check-command 'touch stolen'");
    assert!(refused.contains("may not add a task with a command"), "{refused}");
    let declare = |names: &[&str]| {
        let lines: String =
            names.iter().map(|name| format!("{name} = ['touch', 'stolen']\n")).collect();
        std::fs::write(sealed.dir.join("perennial.toml"), format!("[checks]\n{lines}"))
            .expect("written");
    };
    let unknown = sealed.refused(2, &["task", "add", "x", "--check", "own"]);
    assert!(unknown.detail.contains("declares a check"), "{unknown:?}");
    declare(&["own", "gone"]);
    let unknown = sealed.refused(2, &["task", "add", "x", "--check", "owm"]);
    assert_eq!(
        (unknown.kind.as_str(), unknown.detail.as_str()),
        ("no-such-check", "known checks: gone, own")
    );
    let tasks: Vec<Task> =
        ["own", "gone"].map(|check| add(&sealed, check, &["--check", check])).into();
    declare(&["own"]);
    for task in tasks {
        sealed.ok(["task", "assign", &task.id, "bob"]);
        works(&sealed, "bob", &format!("task done {}", task.id));
        assert_eq!(show(&sealed, &task.id).state, "claimed");
    }
    assert_eq!(subjects(&sealed, "operator"), ["to verify: gone", "to verify: own"]);
    assert!(!sealed.dir.join("stolen").exists());
    let task = add(&sealed, "mine", &["--to", "bob", "--check-command", "touch made"]);
    works(&sealed, "bob", &format!("task done {}", task.id));
    until_state(&sealed, &task.id, "verified");
    assert!(sealed.dir.join("made").exists());
}

#[test]
fn who_may_do_what_with_a_task() {
    let sealed = configured("[role.keeper]\nverify = 'trust'\n");
    worker(&sealed, "ada", &[]);
    worker(&sealed, "bob", &["--parent", "ada", "--role", "keeper"]);
    let own = add(&sealed, "of bob", &["--to", "bob"]);
    for words in ["step", "done", "drop", "reopen", "take"] {
        let refused = as_agent(&sealed, "ada", &format!("task {words} {}", own.id));
        assert!(refused.contains("code 3"), "{words}: {refused}");
        assert!(words == "take" || refused.contains("; bob has it"), "{words}: {refused}");
    }
    assert!(sealed.ok(["task", "show", &own.id]).contains("tokens counted when its agent leaves"));
    let refused = as_agent(&sealed, "bob", "task add x --to ada");
    assert!(refused.contains("code 3"), "{refused}");
    // A trusted role needs nobody's word, and only the operator's file says so.
    works(&sealed, "bob", &format!("task done {}", own.id));
    assert_eq!(show(&sealed, &own.id).verified_by.as_deref(), Some("trust"));
    std::fs::write(sealed.dir.join("perennial.toml"), "[role.x]\nverify = 'trust'\n")
        .expect("written");
    let refused = as_agent(&sealed, "ada", "role assume x");
    assert!(refused.contains("only config.toml may say"), "{refused}");
    // The queue of a role is for its holders.
    let of_role = add(&sealed, "of keepers", &["--to", "role:keeper"]);
    let refused = as_agent(&sealed, "ada", &format!("task take {}", of_role.id));
    assert!(refused.contains("code 3"), "{refused}");
    works(&sealed, "bob", &format!("task take {}", of_role.id));
    works(&sealed, "bob", &format!("task block {} --on outside -m 'a key'", of_role.id));
    assert_eq!(ls(&sealed, &["--state", "blocked"]), ["of keepers"]);
    // A person takes none, and names what there is.
    let refused = sealed.refused(3, &["task", "take", &of_role.id]);
    assert!(refused.next.contains("perennial task assign"), "{refused:?}");
    assert_eq!(sealed.refused(4, &["task", "show", "tsk_x"]).kind, "no-such-task");
    sealed.refused(2, &["task", "add", "  "]);
    sealed.refused(2, &["task", "add", "x", "--scope", "../y"]);
    sealed.refused(2, &["task", "add", "x", "--check-command", " "]);
    // No shell reads it: `true` would have verified it, with the rest as its arguments.
    sealed.refused(2, &["task", "add", "x", "--check-command", "true && false"]);
    assert_eq!(sealed.ok(["task", "ls", "--role", "ghost"]), "no such tasks\n");
    let spawned = sealed.spawn_with(&["eve", "--task", &of_role.id], &["sleep", "1000000"]);
    assert_eq!(spawned.task.map(|task| task.title).as_deref(), Some("of keepers"));
}

#[test]
fn a_split_task_goes_on_with_its_first_part() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let whole = add(&sealed, "port", &["--to", "bob", "--scope", "src"]);
    works(&sealed, "bob", &format!("task split {} --into lexer --into parser", whole.id));
    let shown = show(&sealed, &whole.id);
    assert_eq!((shown.state.as_str(), shown.parts.len()), ("split", 2));
    let card = sealed.ok(["task", "show", &whole.id]);
    assert_eq!(card.matches("split into").count(), 1, "{card}");
    let end = |id: &String| id[id.len() - 10..].to_owned();
    let parts: Vec<String> = shown.parts.iter().map(end).collect();
    let note = format!("  split into {}\n", parts.join(", "));
    assert!(sealed.ok(["task", "ls"]).contains(&note));
    let task = sealed.show("bob").task.expect("it goes on");
    assert_eq!(task.title, "lexer");
    assert_eq!(show(&sealed, &task.id).scope, ["src"]);
    for part in &shown.parts {
        sealed.ok(["task", "verify", part]);
    }
    assert_eq!(show(&sealed, &whole.id).verified_by.as_deref(), Some("parts"));
}

#[test]
fn a_check_list_is_imported_and_exported_as_it_was() {
    let sealed = Sealed::up();
    let list = "# Release\n- [ ] ship\n  - [x] tag\n  - [ ] tell\n- [x] notes\n- [ ] port\n  - [ ] parser\n    - [ ] lexer\n";
    std::fs::write(sealed.dir.join("TODO"), list).expect("written");
    sealed.ok(["task", "import", "TODO"]);
    assert_eq!(ls(&sealed, &["--state", "verified"]), ["notes"]);
    let plain = |text: &str| {
        let line = |line: &str| line.split(" <!--").next().unwrap_or_default().to_owned();
        text.lines().map(line).collect::<Vec<_>>()
    };
    let exported = sealed.ok(["task", "export", "--all"]);
    assert_eq!(plain(&exported), plain(list)[1..]);
    // In another project it makes the same tasks again.
    let other = sealed.dir.join("other");
    std::fs::create_dir(&other).expect("made");
    std::fs::write(sealed.dir.join("again"), &exported).expect("written");
    let other = other.to_str().expect("a path");
    sealed.ok(["task", "import", "again", "--dir", other]);
    assert_eq!(plain(&sealed.ok(["task", "export", "--all", "--dir", other])), plain(&exported));
    std::fs::write(sealed.dir.join("none"), "nothing\n").expect("written");
    sealed.refused(2, &["task", "import", "none"]);
}

/// Tasks, as the tree that they are: each with its steps and parts, whatever their ids are.
fn tree(sealed: &Sealed, dir: &str) -> Vec<String> {
    let all: Vec<Task> = sealed.json(&["task", "export", "--all", "--dir", dir]);
    let path = |task: &Task| {
        let above = |task: &&Task| all.iter().find(|one| Some(&one.id) == task.parent.as_ref());
        let names = std::iter::successors(Some(task), above).map(|task| task.title.as_str());
        let steps = task.steps.iter().map(|step| format!("{} {}", step.text, step.done));
        let (names, steps): (Vec<&str>, Vec<String>) = (names.collect(), steps.collect());
        format!("{} {} {steps:?}", names.join(" < "), task.state)
    };
    let mut paths: Vec<String> = all.iter().map(path).collect();
    paths.sort();
    paths
}

/// However deep a task lies, and whatever is beside it.
#[test]
fn a_tree_of_tasks_is_the_same_tree_when_it_was_exported_and_imported() {
    const DEPTH: usize = 120;
    let sealed = Sealed::up();
    let mut list = String::new();
    for at in 0..DEPTH {
        let indent = "  ".repeat(at);
        list += &format!("{indent}- [ ] level {at} <!-- tsk_{at} -->\n{indent}  - [x] did {at}\n");
        // A part without steps and parts of its own.
        list += &format!("{indent}  - [ ] beside {at} <!-- tsk_b{at} -->\n");
    }
    list += "- [x] done\n- [ ] plain\n";
    std::fs::write(sealed.dir.join("TODO"), list).expect("written");
    sealed.ok(["task", "import", "TODO"]);
    let here = sealed.dir.to_str().expect("a path").to_owned();
    let before = tree(&sealed, &here);
    assert_eq!(before.len(), 2 * DEPTH + 2);
    // What was added as a part one by one is no different.
    let deepest: Vec<Task> = sealed.json(&["task", "export"]);
    let deepest = deepest.iter().find(|one| one.title == format!("level {}", DEPTH - 1));
    add(&sealed, "below all", &["--parent", &deepest.expect("listed").id]);
    let before = [before, vec![]].concat().len() + 1;
    let exported = sealed.ok(["task", "export", "--all"]);
    let other = sealed.dir.join("other");
    std::fs::create_dir(&other).expect("made");
    std::fs::write(sealed.dir.join("again"), &exported).expect("written");
    let other = other.to_str().expect("a path");
    sealed.ok(["task", "import", "again", "--dir", other]);
    assert_eq!(tree(&sealed, other).len(), before);
    assert_eq!(tree(&sealed, other), tree(&sealed, &here));
}

/// TK3: an agent hands its task to its child, and does not verify it.
// covers: T-13
#[test]
fn what_an_agent_had_a_part_in_somebody_above_it_verifies() {
    let sealed = Sealed::up();
    worker(&sealed, "ada", &[]);
    worker(&sealed, "bob", &["--parent", "ada"]);
    worker(&sealed, "cat", &["--parent", "bob"]);
    let had = add(&sealed, "begun by bob", &["--to", "bob"]).id;
    assert_eq!(show(&sealed, &had).state, "taken");
    works(&sealed, "bob", &format!("task assign {had} cat"));
    works(&sealed, "cat", &format!("task done {had} -m fine"));
    let refused = as_agent(&sealed, "bob", &format!("task verify {had}"));
    assert!(refused.contains("code 3") && refused.contains("is your own work"), "{refused}");
    assert!(refused.contains("an agent above you or the operator verifies it"), "{refused}");
    assert!(!subjects(&sealed, "bob").iter().any(|it| it.contains("to verify")));
    assert!(subjects(&sealed, "ada").contains(&"to verify: begun by bob".to_owned()));
    // It may say that it is not done.
    works(&sealed, "bob", &format!("task verify {had} --reject -m 'no test'"));
    works(&sealed, "cat", &format!("task done {had} -m 'with a test'"));
    works(&sealed, "ada", &format!("task verify {had}"));
    assert_eq!(show(&sealed, &had).verified_by.as_deref(), Some("parent"));
    // What it asked its child for is its own to verify.
    let said = works(&sealed, "bob", "--json task add 'a piece' --to cat");
    let asked: Vec<Task> = serde_json::from_str(said.lines().next().expect("JSON")).expect("tasks");
    let asked = &asked[0].id;
    works(&sealed, "cat", &format!("task done {asked} -m fine"));
    assert!(subjects(&sealed, "bob").contains(&"to verify: a piece".to_owned()));
    works(&sealed, "bob", &format!("task verify {asked}"));
    // A daemon that folds it all anew knows the same.
    let again = add(&sealed, "again", &["--to", "bob"]).id;
    works(&sealed, "bob", &format!("task assign {again} cat"));
    works(&sealed, "cat", &format!("task done {again}"));
    sealed.kill_daemon();
    sealed.start_daemon();
    let refused = as_agent(&sealed, "bob", &format!("task verify {again}"));
    assert!(refused.contains("is your own work"), "{refused}");
}

#[test]
fn who_verifies_is_told_that_the_check_did_not_pass() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let failing = add(&sealed, "red", &["--to", "bob", "--check-command", "false"]).id;
    works(&sealed, "bob", &format!("task done {failing}"));
    sealed.until("it came back", || show(&sealed, &failing).rounds == 1);
    let said = sealed.ok(["task", "verify", &failing]);
    assert!(said.contains("note: its check did not pass when it ran last: exit 1\n"), "{said}");
    // One that still runs, or never ran.
    let running = add(&sealed, "slow", &["--to", "bob", "--check-command", "sleep 1000000"]).id;
    works(&sealed, "bob", &format!("task done {running}"));
    let said = sealed.ok(["task", "verify", &running]);
    assert!(said.contains("note: its check has not run: accepted without it\n"), "{said}");
    let never = add(&sealed, "never", &["--to", "bob", "--check-command", "true"]).id;
    let said = sealed.ok(["task", "verify", &never]);
    assert!(said.contains("accepted without it"), "{said}");
    let plain = add(&sealed, "plain", &["--to", "bob"]).id;
    assert!(!sealed.ok(["task", "verify", &plain]).contains("note:"));
}

#[test]
fn who_gives_a_task_to_a_sleeping_agent_is_told_that_nobody_works_on_it() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    let id = add(&sealed, "one", &[]).id;
    let said = sealed.ok(["task", "assign", &id, "bob"]);
    assert!(!said.contains("note:"), "{said}");
    sealed.ok(["task", "assign", &id, "nobody"]);
    sealed.ok(["stop", "bob"]);
    let note =
        "note: bob is sleeping; nobody works on the task until it is woken: perennial wake bob\n";
    let said = sealed.ok(["task", "assign", &id, "bob"]);
    assert!(said.ends_with(note), "{said}");
    let said = sealed.ok(["task", "add", "two", "--to", "bob"]);
    assert!(said.ends_with(note), "{said}");
    let card = sealed.ok(["task", "show", &id]);
    assert!(card.contains("bob (sleeping)"), "{card}");
    assert_eq!(show(&sealed, &id).assignee_state.as_deref(), Some("sleeping"));
    sealed.ok(["wake", "bob"]);
    assert!(!sealed.ok(["task", "show", &id]).contains("sleeping"));
}

/// Fifty writers at once on one task's record: no update is lost.
#[test]
fn fifty_writers_at_once_lose_nothing() {
    const WRITERS: usize = 50;
    let sealed = Sealed::up();
    let task = add(&sealed, "busy", &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Panics if it finds half a file.
            while show(&sealed, &task.id).notes < 25 {
                crate::mirror::tasks(&sealed);
            }
        });
        for writer in 0..WRITERS {
            let (sealed, id) = (&sealed, task.id.as_str());
            scope.spawn(move || match writer % 2 {
                0 => sealed.ok(["task", "note", id, "-m", &format!("note {writer}")]),
                _ => sealed.ok(["task", "step", id, "--add", &format!("step {writer}")]),
            });
        }
    });
    let shown = show(&sealed, &task.id);
    assert_eq!((shown.notes, shown.steps.len()), (25, 25));
    let mut steps: Vec<String> = shown.steps.into_iter().map(|step| step.text).collect();
    steps.sort();
    steps.dedup();
    assert_eq!(steps.len(), 25);
    // And on one agent's record, while it is at work.
    worker(&sealed, "bob", &[]);
    sealed.ok(["task", "assign", &task.id, "bob"]);
    std::thread::scope(|scope| {
        for step in 1..=25 {
            let (sealed, id) = (&sealed, task.id.as_str());
            scope.spawn(move || sealed.ok(["task", "step", id, &step.to_string()]));
        }
    });
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(show(&sealed, &task.id).steps_done, 25);
    // Its line in the mirror is whole, and says the same.
    sealed.ok(["down"]);
    let lines = crate::mirror::tasks(&sealed);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["steps"], &lines[0]["steps_done"]), (&25.into(), &25.into()));
}

#[test]
fn hostile_words_stay_in_their_place() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let hostile = "a\u{202e}[2J msg_x “obey”";
    let task = add(&sealed, hostile, &["--to", "bob"]);
    let listed = sealed.ok(["task", "ls"]);
    assert!(!listed.contains('\u{202e}'), "{listed}");
    for words in [vec!["task", "add", "a\u{1b}[2Jb"], vec!["task", "add", "a\nb"]] {
        sealed.refused(2, &words);
    }
    let long = "x".repeat(300);
    sealed.refused(2, &["task", "add", &long]);
    let mail = works(&sealed, "bob", "mail read");
    assert!(!mail.contains('\u{202e}') && mail.contains(&task.id), "{mail}");
    assert!(Path::new(&task.project).is_absolute());
}

#[test]
fn a_list_is_imported_as_a_whole_or_not_at_all() {
    let sealed = Sealed::up();
    let long = "x".repeat(300);
    let list = format!("- [ ] good\n  - [ ] a step\n- [ ] bad\n  - [ ] {long}\n");
    std::fs::write(sealed.dir.join("TODO"), list).expect("written");
    let problem = sealed.refused(4, &["task", "import", "TODO", "--to", "role:nobody-has"]);
    assert!(problem.title.contains("no role"), "{problem:?}");
    let list = format!("- [ ] good\n- [ ] {long}\n");
    std::fs::write(sealed.dir.join("TODO"), list).expect("written");
    let problem = sealed.refused(2, &["task", "import", "TODO"]);
    assert!(problem.title.contains("invalid title of 'xxx"), "{problem:?}");
    assert!(problem.detail.contains("nothing was added"), "{problem:?}");
    assert!(ls(&sealed, &["--all"]).is_empty());
    // In an agent's list nothing counts as verified.
    worker(&sealed, "ada", &[]);
    std::fs::write(sealed.dir.join("TODO"), "- [x] over\n- without a box\n").expect("written");
    let refused = as_agent(&sealed, "ada", "task import TODO");
    assert!(refused.contains("has checked items"), "{refused}");
    assert!(refused.contains("code 3") && !refused.contains("without a box"), "{refused}");
    // However deep the parts are, all of them come out again.
    let deep: String = (0..40)
        .map(|at| format!("{}- [ ] level {at} <!-- tsk_{at} -->\n", "  ".repeat(at)))
        .collect();
    std::fs::write(sealed.dir.join("TODO"), deep).expect("written");
    sealed.ok(["task", "import", "TODO"]);
    let exported = sealed.ok(["task", "export"]);
    assert_eq!(exported.lines().count(), 40, "{exported}");
    assert!(exported.contains(&format!("{}- [ ] level 39", "  ".repeat(39))), "{exported}");
}

#[test]
fn what_was_said_of_a_task_is_shown_with_it() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let task = add(&sealed, "fix it", &["--to", "bob"]);
    let id = task.id.as_str();
    works(&sealed, "bob", &format!("task done {id} -m 'merged as 3f2c1a'"));
    // Another task is begun: what is rejected lies on bob's queue, and was started before.
    add(&sealed, "next", &["--to", "bob"]);
    sealed.ok(["task", "verify", id, "--reject", "-m", "no test"]);
    let back = show(&sealed, id);
    assert_eq!(
        (back.state.as_str(), back.reason.as_str()),
        ("open", "given back (round 1 of 3): no test")
    );
    sealed.ok(["task", "verify", id, "-m", "good enough"]);
    let shown = sealed.ok(["task", "show", id]);
    for words in [
        "verified by the operator",
        "by operator",
        "claimed by bob",
        "> merged as 3f2c1a",
        "given back by operator",
        "> no test",
        "note of operator",
        "> good enough",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let again: Vec<Task> = sealed.json(&["task", "reopen", id, "-m", "it broke"]);
    assert!(sealed.ok(["task", "show", &again[0].id]).contains("> it broke"));
    // What happened to its tasks is part of an agent's history.
    for told in [sealed.ok(["why", "bob"]), sealed.ok(["events", "--agent", "bob"])] {
        assert!(told.contains("claimed done by"), "{told}");
        assert!(told.contains(id), "{told}");
    }
}

#[test]
fn a_signal_names_the_task_that_its_agent_was_on_then() {
    let sealed = Sealed::up();
    let task = add(&sealed, "fix it", &[]);
    sealed.ok(["spawn", "bob", "--task", &task.id, "--", "sleep", "1000000"]);
    let registered = || -> Vec<serde_json::Value> {
        let list: perennial_api::signal::SignalList =
            sealed.json(&["signal", "ls", "--kind", "AGENT_REGISTERED"]);
        list.signals.iter().map(|one| one.payload["node_id"].clone()).collect()
    };
    assert_eq!(registered(), [serde_json::json!(task.id)]);
    sealed.ok(["task", "verify", &task.id]);
    sealed.ok(["restart", "bob"]);
    sealed.until("registered again", || registered().len() == 2);
    assert_eq!(registered(), [serde_json::Value::Null, serde_json::json!(task.id)]);
}

/// What is open is not passed over in silence: dependencies are refused, steps are told of, and so is a check that
/// would not run.
// covers: T-13
#[test]
fn who_says_done_is_told_what_is_open() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let first = add(&sealed, "first", &[]);
    let steps = ["--depends-on", &first.id, "--step", "a", "--step", "b"];
    let second = add(&sealed, "second", &steps);
    let refused = sealed.refused(3, &["task", "done", &second.id]);
    assert_eq!(refused.kind, "task-waits");
    assert!(refused.next.contains(&format!("perennial task verify {}", second.id)), "{refused:?}");
    let accepted = sealed.ok(["task", "verify", &second.id]);
    assert!(accepted.contains("verified"), "{accepted}");
    assert!(accepted.contains("note: 2 of 2 steps are not marked as done"), "{accepted}");
    assert!(!sealed.ok(["task", "done", &first.id]).contains("note:"));
    // A check of the project that nobody has trusted.
    std::fs::write(sealed.dir.join("perennial.toml"), "[checks]\nunit = ['true']\n")
        .expect("written");
    let checked = add(&sealed, "checked", &["--check", "unit"]);
    assert!(checked.reason.contains("its check can't be run"), "{checked:?}");
    let claimed = sealed.ok(["task", "done", &checked.id]);
    assert!(claimed.contains("not trusted: `perennial config trust`"), "{claimed}");
    assert!(show(&sealed, &checked.id).reason.contains("not trusted"));
    let read = sealed.ok(["mail", "read"]);
    assert!(!read.contains("What was said of it"), "{read}");
    // Words that are no words, and directories that are none.
    let ran = sealed.run(["task", "step", &checked.id, "abc"]);
    assert!(ran.code == 2 && ran.stderr.contains("a whole number from 1"), "{ran:?}");
    for words in [
        &["task", "ls", "--project", "/nowhere"][..],
        &["task", "export", "--dir", "/nowhere"],
        &["task", "add", "x", "--dir", "/nowhere"],
    ] {
        assert_eq!(sealed.refused(4, words).kind, "no-directory", "{words:?}");
    }
}

#[test]
fn texts_of_tasks_come_from_standard_input() {
    let sealed = Sealed::up();
    let mut command = sealed.command(["--json", "task", "add", "long", "-m", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("a pipe").write_all(b"line 1\nline 2\n").expect("taken");
    let ran = crate::sealed::ended(child, "task add");
    let tasks: Vec<Task> = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(show(&sealed, &tasks[0].id).text.as_deref(), Some("line 1\nline 2\n"));
}

/// A part is a task with a parent, whether the parent was split into it or it was added.
#[test]
fn parts_that_were_added_are_shown_with_their_state_and_done_tells_of_the_open_ones() {
    let sealed = Sealed::up();
    let whole = add(&sealed, "the release", &[]);
    let notes = add(&sealed, "write the notes", &["--parent", &whole.id]);
    let tag = add(&sealed, "tag it", &["--parent", &whole.id]);
    sealed.ok(["task", "done", &tag.id]);
    let shown = show(&sealed, &whole.id);
    assert_eq!(shown.parts, [notes.id.clone(), tag.id.clone()]);
    let states: Vec<(&str, &str)> =
        shown.part_states.iter().map(|part| (part.title.as_str(), part.state.as_str())).collect();
    assert_eq!(states, [("write the notes", "open"), ("tag it", "verified")]);
    let card = sealed.ok(["task", "show", &whole.id]);
    let line = |id: &str, state: &str| {
        let line = card.lines().find(|line| line.contains(id)).unwrap_or_default();
        assert!(line.contains(state), "{card}");
    };
    line(&notes.id, "open");
    line(&tag.id, "verified");
    assert!(card.contains("parts:") && card.contains("“write the notes”"), "{card}");
    // The mirror says the same, also after a daemon that was killed.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(show(&sealed, &whole.id).parts.len(), 2);
    sealed.ok(["task", "note", &whole.id, "-m", "soon"]);
    let mirrored = || {
        let lines = crate::mirror::tasks(&sealed);
        lines.into_iter().find(|line| line["id"] == whole.id.as_str()).unwrap_or_default()
    };
    sealed.until("the mirror has its parts", || {
        mirrored()["parts"] == serde_json::json!([notes.id, tag.id])
    });
    // Done is done, but whoever says so is told what is open.
    let done = sealed.run(["task", "done", &whole.id]);
    assert_eq!(done.code, 0, "{done:?}");
    let told = format!("{}{}", done.stdout, done.stderr);
    assert!(told.contains("1 of 2 parts is not done") && told.contains(&notes.id[20..]), "{told}");
    // One that is split names its parts by the same word. What anybody added to it holds it up no longer than they like.
    let split = add(&sealed, "port it", &[]);
    let early = add(&sealed, "read it", &["--parent", &split.id]);
    sealed.ok(["task", "split", &split.id, "--into", "the lexer", "--into", "the grammar"]);
    let parts = show(&sealed, &split.id).parts;
    assert_eq!((parts.len(), &parts[0]), (3, &early.id));
    for part in &parts[1..] {
        sealed.ok(["task", "done", part]);
    }
    assert_eq!(show(&sealed, &early.id).state, "open");
    assert_eq!(show(&sealed, &split.id).verified_by.as_deref(), Some("parts"));
}

/// An estimate is in steps or in tokens; what it took is shown beside it.
#[test]
fn estimates_and_what_a_task_took_are_shown() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let task = add(&sealed, "sort them", &["--to", "bob", "--estimate-steps", "1"]);
    assert_eq!((task.estimate_steps, task.estimate_tokens), (Some(1), None));
    assert_eq!((task.steps_done, task.exceeds_estimate, task.tokens), (0, false, None));
    let card = sealed.ok(["task", "show", &task.id]);
    assert!(card.contains("1 step\n") && card.contains("0 of 0 steps"), "{card}");
    for step in ["one", "two"] {
        works(&sealed, "bob", &format!("task step {} --add {step}", task.id));
    }
    works(&sealed, "bob", &format!("task step {}", task.id));
    let shown = show(&sealed, &task.id);
    assert_eq!((shown.steps_done, shown.steps.len(), shown.exceeds_estimate), (1, 2, false));
    // With the third step it is more than twice as much as was thought.
    works(&sealed, "bob", &format!("task step {} --add three", task.id));
    let shown = show(&sealed, &task.id);
    assert!(shown.exceeds_estimate, "{shown:?}");
    assert!(sealed.ok(["task", "show", &task.id]).contains("more than twice the estimate"));
    let tokens = add(&sealed, "count them", &["--estimate-tokens", "2000"]);
    assert_eq!((tokens.estimate_tokens, tokens.estimate_steps), (Some(2000), None));
    // Nobody counts the tokens of a bare command: that is said, and no number is made up.
    assert!(sealed.ok(["task", "show", &tokens.id]).contains("tokens not known"));
}
