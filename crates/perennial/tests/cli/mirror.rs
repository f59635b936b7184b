//! The readable mirror: files that are there with the daemon down, in the seed's words.

use std::path::PathBuf;

use serde_json::Value;

use crate::processes::{kill, running};
use crate::sealed::{Sealed, pid};

const FIELDS: [&str; 17] = [
    "schema_version",
    "identity_name",
    "role",
    "session_id",
    "pid",
    "tmux_session",
    "node_id",
    "pipeline_id",
    "bead_id",
    "worktree_path",
    "hook_path",
    "created_at",
    "last_seen",
    "status",
    "predecessor_id",
    "respawn_count",
    "target_dir",
];

fn files(sealed: &Sealed) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(sealed.home.mirror()).into_iter().flatten().flatten();
    let files = projects.flat_map(|project| {
        std::fs::read_dir(project.path().join("identities")).into_iter().flatten().flatten()
    });
    files.map(|file| file.path()).collect()
}

fn identity(sealed: &Sealed, name: &str) -> Option<Value> {
    let path =
        files(sealed).into_iter().find(|path| path.file_name().is_some_and(|file| file == name))?;
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("a whole file, always"))
}

#[test]
fn identities_are_files_with_the_seeds_fields() {
    let sealed = Sealed::up();
    let agent = sealed.spawn_with(&["bob", "--role", "builder"], &["/bin/sh", "-c", "read x"]);
    sealed.spawn("plain", "read x");
    let wait = |name: &str, status: &str| {
        let is_so = || identity(&sealed, name).is_some_and(|one| one["status"] == status);
        sealed.until(&format!("{name} is {status}"), is_so);
        identity(&sealed, name).expect("it was there")
    };
    wait("builder-bob.json", "active");
    sealed.until("its process is in the mirror", || {
        identity(&sealed, "builder-bob.json").is_some_and(|one| one["pid"] == pid(&agent))
    });
    let bob = identity(&sealed, "builder-bob.json").expect("a file");
    for field in FIELDS {
        assert!(bob.get(field).is_some(), "no {field} in {bob:#}");
    }
    assert_eq!((&bob["identity_name"], &bob["role"]), (&"bob".into(), &"builder".into()));
    assert_eq!(bob["respawn_count"], 0);
    assert_eq!(bob["session_id"], agent.session.as_ref().expect("a session").id);
    wait("agent-plain.json", "active");
    kill(running(pid(&agent)));
    sealed.watch().running("bob", 2);
    sealed.until("the mirror tells of the second session", || {
        identity(&sealed, "builder-bob.json").is_some_and(|one| one["respawn_count"] == 1)
    });
    let bob = identity(&sealed, "builder-bob.json").expect("a file");
    assert_eq!(bob["predecessor_id"], agent.session.as_ref().expect("a session").id);
    sealed.ok(["rename", "bob", "robert"]);
    wait("builder-robert.json", "active");
    sealed.until("the old file is gone", || identity(&sealed, "builder-bob.json").is_none());
    sealed.ok(["stop", "robert"]);
    sealed.ok(["down"]);
    // Written by then, and readable with nobody there.
    assert_eq!(identity(&sealed, "builder-robert.json").expect("a file")["status"], "terminated");
    assert!(files(&sealed).iter().all(|path| path.extension().is_some_and(|end| end == "json")));
}

/// The directory of the only project.
fn project(sealed: &Sealed) -> PathBuf {
    let mut projects = std::fs::read_dir(sealed.home.mirror()).expect("a mirror").flatten();
    projects.find(|entry| entry.path().is_dir()).expect("a project").path()
}

fn roster(sealed: &Sealed) -> Vec<Value> {
    let text = std::fs::read_to_string(project(sealed).join("roster.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line, always")).collect()
}

/// The lines of the project's tasks.
pub fn tasks(sealed: &Sealed) -> Vec<Value> {
    let text = std::fs::read_to_string(project(sealed).join("tasks.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line, always")).collect()
}

fn signals(sealed: &Sealed) -> Vec<(String, Value)> {
    let files = std::fs::read_dir(project(sealed).join("signals")).into_iter().flatten().flatten();
    let files = files.filter(|file| file.path().extension().is_some_and(|end| end == "json"));
    let mut signals: Vec<(String, Value)> = files
        .map(|file| {
            let text = std::fs::read_to_string(file.path()).expect("a file");
            let name = file.file_name().into_string().expect("a name");
            (name, serde_json::from_str(&text).expect("a whole file, always"))
        })
        .collect();
    signals.sort_by(|(one, _), (other, _)| one.cmp(other));
    signals
}

// covers: H-01, H-02, S-01, S-19
#[test]
fn the_roster_the_board_and_signals_are_files_too() {
    let sealed = Sealed::up();
    // Its file is there before the program runs.
    let looks = "cat \"$PERENNIAL_HOME\"/state/mirror/*/identities/builder-bob.json > seen; \
                 echo 'last words'; read x";
    let options = ["bob", "--role", "builder", "--situation", "PRD-AUTH-001"];
    let agent = sealed.spawn_with(&options, &["/bin/sh", "-c", looks]);
    sealed.until("it has looked", || sealed.dir.join("seen").exists());
    sealed.until("it has read", || {
        std::fs::read_to_string(sealed.dir.join("seen")).is_ok_and(|text| text.ends_with("}\n"))
    });
    let seen = std::fs::read_to_string(sealed.dir.join("seen")).expect("a file");
    let seen: Value = serde_json::from_str(&seen).expect("a whole file");
    assert_eq!((&seen["status"], &seen["pid"]), (&"active".into(), &Value::Null));
    assert_eq!(seen["pipeline_id"], "PRD-AUTH-001");
    sealed.ok(["board", "post", "-s", "re: port", "use the \x1b[31msecond\n# one"]);
    sealed.ok(["signal", "send", "GUIDANCE", "--to", "bob", "--field", "text=go on"]);
    kill(running(pid(&agent)));
    sealed.watch().running("bob", 2);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    sealed.ok(["down"]);
    let lines = roster(&sealed);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    for field in [
        "session_id",
        "state",
        "model",
        "role",
        "summary",
        "context_pct",
        "situation_ids",
        "registered",
        "updated",
        "final_summary",
        "freeze_state",
    ] {
        assert!(line.get(field).is_some(), "no {field} in {line}");
    }
    assert_eq!((&line["state"], &line["final_summary"]), (&"dead".into(), &"done".into()));
    assert_eq!(line["situation_ids"], serde_json::json!(["PRD-AUTH-001"]));
    let board = std::fs::read_to_string(project(&sealed).join("board.md")).expect("a board");
    assert!(board.contains("second\n> # one\n") && !board.contains('\x1b'), "{board}");
    let signals = signals(&sealed);
    let kinds: Vec<&str> =
        signals.iter().map(|(_, one)| one["signal_type"].as_str().expect("a kind")).collect();
    let expected =
        ["AGENT_REGISTERED", "GUIDANCE", "AGENT_CRASHED", "AGENT_REGISTERED", "AGENT_TERMINATED"];
    assert_eq!(kinds, expected);
    assert!(signals[1].0.ends_with("-operator-bob-GUIDANCE.json"), "{}", signals[1].0);
    assert_eq!(signals[2].1["payload"]["last_output"], "last words");
    assert_eq!(signals[4].1["payload"]["exit_reason"], "retired");
    // The next daemon shows the same, and cleans up what a killed one left.
    let left = project(&sealed).join("signals/half.json.tmp");
    std::fs::write(&left, "{").expect("written");
    sealed.start_daemon();
    sealed.until("it is cleaned", || !left.exists());
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    sealed.until("eve is listed, and bob still is", || roster(&sealed).len() == 2);
}

/// A daemon that was killed between a commit and its files leaves them to the next one: what the mirror says that it has is
/// all that it had.
// covers: S-17
#[test]
fn what_a_killed_daemon_did_not_write_the_next_one_does() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--role", "builder", "--", "sleep", "1000000"]);
    sealed.ok(["signal", "send", "GUIDANCE", "--to", "bob", "--field", "text=go on"]);
    sealed.ok(["task", "add", "build", "--to", "bob"]);
    let names = || signals(&sealed).into_iter().map(|(name, _)| name).collect::<Vec<String>>();
    let files = [
        project(&sealed).join("identities/builder-bob.json"),
        project(&sealed).join("work/bob.json"),
    ];
    let laid_out = project(&sealed).with_file_name("laid-out");
    sealed.until("all is laid out", || {
        names().len() == 2 && files.iter().chain([&laid_out]).all(|file| file.exists())
    });
    let (before, reached) = (names(), std::fs::read_to_string(&laid_out).expect("a record"));
    for reached in [Some("0"), None] {
        sealed.kill_daemon();
        files.iter().for_each(|file| std::fs::remove_file(file).expect("removed"));
        match reached {
            Some(reached) => {
                std::fs::remove_dir_all(project(&sealed).join("signals")).expect("removed");
                std::fs::write(&laid_out, reached).expect("written");
            }
            None => std::fs::remove_file(&laid_out).expect("removed"),
        }
        sealed.start_daemon();
        sealed.until("all is there again", || {
            names() == before && files.iter().chain([&laid_out]).all(|file| file.exists())
        });
    }
    let number = |text: String| text.parse::<u64>().expect("a number");
    let now = || number(std::fs::read_to_string(&laid_out).expect("a record"));
    sealed.until("it goes on from there", || now() > number(reached.clone()));
}

/// Fifty programs of a person's and half as many of the agent's own at once change what is recorded of one agent, while
/// its files are read all the time.
// covers: S-07, S-17
#[test]
fn fifty_writers_at_once_leave_every_file_whole_and_lose_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let sealed = Sealed::up();
    let script = "for i in $(seq 25); do ( perennial-under-test board post \"by $i\" > out.$i 2>&1 ) & \
                  done; wait; touch all-posted; read x";
    let script = script.replace("perennial-under-test", crate::sealed::PROGRAM);
    sealed.spawn_with(&["bob", "--role", "builder"], &["/bin/bash", "-c", &script]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !is_over.load(Ordering::Relaxed) {
                // Each panics if it finds half a file.
                let _ = (identity(&sealed, "builder-bob.json"), roster(&sealed), signals(&sealed));
                looks += 1;
            }
            looks
        });
        let writers: Vec<_> = (0..50)
            .map(|number| {
                let sealed = &sealed;
                scope.spawn(move || {
                    let (key, situation) = (format!("V{number}=x"), format!("s{number}"));
                    let done = match number % 2 {
                        0 => sealed.run(["set", "bob", "--env", &key]),
                        _ => {
                            let field = format!("text=number {number}");
                            let set = sealed.run(["set", "bob", "--situation", &situation]);
                            assert_eq!(set.code, 0, "{set:?}");
                            sealed.run([
                                "signal", "send", "GUIDANCE", "--to", "bob", "--field", &field,
                            ])
                        }
                    };
                    assert_eq!(done.code, 0, "{done:?}");
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("it is done"));
        sealed.until("all have posted", || sealed.dir.join("all-posted").exists());
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("no half file") > 0);
    });
    // No update is lost.
    let names = sealed.show("bob").env_names;
    let set = (0..50).filter(|number| number % 2 == 0).map(|number| format!("V{number}"));
    assert!(set.clone().all(|name| names.contains(&name)), "{names:?}");
    let told: perennial_api::signal::SignalList =
        sealed.json(&["signal", "ls", "--kind", "GUIDANCE", "-n", "100"]);
    assert_eq!(told.signals.len(), 25);
    let posts: Vec<perennial_api::post::Post> = sealed.json(&["board", "ls", "-n", "100"]);
    assert_eq!(posts.len(), 25);
    sealed.ok(["down"]);
    assert_eq!(signals(&sealed).len(), 1 + 25);
    let bob = identity(&sealed, "builder-bob.json").expect("a file");
    assert_eq!(roster(&sealed)[0]["situation_ids"][0], bob["pipeline_id"]);
}

// covers: S-01
#[test]
fn tasks_are_a_file_and_an_agents_task_is_in_its_own() {
    let sealed = Sealed::up();
    sealed.spawn_with(&["bob", "--role", "builder"], &["/bin/sh", "-c", "read x"]);
    let words = ["task", "add", "fix it", "--to", "bob", "--ref", "AUTH-123", "--step", "find"];
    let added: Value = sealed.json(&words);
    let other: Value = sealed.json(&["task", "add", "later"]);
    sealed.ok(["task", "drop", other[0]["id"].as_str().expect("an id")]);
    // In the words of S3, too.
    let said: Value = sealed.json(&["show", "bob", "--vocabulary", "s3"]);
    assert_eq!((&said["node_id"], &said["bead_id"]), (&added[0]["id"], &"AUTH-123".into()));
    for _ in 0..2 {
        sealed.ok(["down"]);
        let text = std::fs::read_to_string(project(&sealed).join("tasks.jsonl")).expect("a file");
        let line = |line| serde_json::from_str::<Value>(line).expect("a whole line, always");
        let lines: Vec<Value> = text.lines().map(line).collect();
        assert_eq!((&lines[0]["id"], &lines[0]["state"]), (&added[0]["id"], &"taken".into()));
        assert_eq!(
            (&lines[0]["open_step"], &lines[0]["reference"]),
            (&"find".into(), &"AUTH-123".into())
        );
        let bob = identity(&sealed, "builder-bob.json").expect("a file");
        assert_eq!((&bob["node_id"], &bob["bead_id"]), (&added[0]["id"], &"AUTH-123".into()));
        // A daemon that starts anew has it again.
        sealed.start_daemon();
    }
}

/// Twelve agents are born at once, each with a task: the first thing that each program does is to look for itself in the
/// files, although those were written for another one a moment before.
// covers: S-01
#[test]
fn in_a_burst_of_births_each_program_finds_itself_in_the_roster_and_its_task_in_the_list() {
    const BORN: usize = 12;
    let sealed = Sealed::up();
    let tasks: Vec<String> = (0..BORN)
        .map(|number| {
            let added: Value = sealed.json(&["task", "add", &format!("part {number}")]);
            added[0]["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    std::thread::scope(|scope| {
        for (number, task) in tasks.iter().enumerate() {
            let sealed = &sealed;
            scope.spawn(move || {
                let name = format!("born{number}");
                let looks = format!(
                    "cd \"$PERENNIAL_HOME\"/state/mirror/*/; \
                     a=$(grep -c '\"name\":\"{name}\"' roster.jsonl); \
                     b=$(grep '{task}' tasks.jsonl | grep -c '\"state\":\"taken\"'); \
                     c=$(ls identities work | grep -c '{name}.json'); \
                     cd \"$OLDPWD\"; echo $a $b $c > {name}.tmp; mv {name}.tmp {name}.seen; read x"
                );
                let options = [name.as_str(), "--task", task.as_str()];
                sealed.spawn_with(&options, &["/bin/sh", "-c", &looks]);
            });
        }
    });
    for number in 0..BORN {
        let path = sealed.dir.join(format!("born{number}.seen"));
        sealed.until("it has looked", || path.exists());
        let seen = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(seen, "1 1 2\n", "of roster, tasks and its own files: born{number}");
    }
}
