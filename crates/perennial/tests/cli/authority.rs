//! Who may do what, when an agent's own process calls: shown by processes, whatever it claims.

use perennial_api::Problem;
use perennial_engine::host::cgroup;

use crate::processes;
use crate::sealed::{PROGRAM, Ran, Sealed};

/// Once it is let go: runs what follows, leaves its output, errors and code in files, the code last.
const LEAVE: &str = "dir=$1; shift; until [ -e \"$dir/go\" ]; do sleep 0.02; done
    \"$@\" > \"$dir/out\" 2> \"$dir/err\" < /dev/null
    echo $? > \"$dir/code.new\"; mv \"$dir/code.new\" \"$dir/code\"";
/// The same, with the session's terminal as standard input and output.
const LEAVE_TERMINAL: &str = "dir=$1; shift; until [ -e \"$dir/go\" ]; do sleep 0.02; done
    \"$@\" 2> \"$dir/err\"; echo $? > \"$dir/code.new\"
    echo > \"$dir/out\"; mv \"$dir/code.new\" \"$dir/code\"";

/// A fleet: `other` and `child` run, `sleeper` sleeps; the caller will be called `caller`.
pub struct Fleet {
    pub sealed: Sealed,
    calls: std::cell::Cell<usize>,
}

impl Fleet {
    pub fn new() -> Fleet {
        let sealed = Sealed::up();
        sealed.spawn("other", "read x");
        Fleet { sealed, calls: std::cell::Cell::new(0) }
    }

    /// Calls from within a session of a new agent: `wrapper`, then the program with these arguments.
    pub fn call(&self, wrapper: &[&str], args: &[&str]) -> Ran {
        self.call_as(LEAVE, &self.name(), &[], wrapper, args)
    }

    fn name(&self) -> String {
        self.calls.set(self.calls.get() + 1);
        format!("caller-{}", self.calls.get())
    }

    fn call_as(
        &self,
        script: &str,
        name: &str,
        options: &[&str],
        wrapper: &[&str],
        args: &[&str],
    ) -> Ran {
        let dir = self.sealed.dir.join(name);
        std::fs::create_dir(&dir).expect("a directory");
        let shell = ["/bin/sh", "-c", script, "sh", dir.to_str().expect("a path")];
        let argv = [&shell[..], wrapper, &[PROGRAM, "--json"], args].concat();
        let options = [&[name, "--restart", "never"], options].concat();
        self.sealed.spawn_with(&options, &argv);
        // The daemon knows its holder by now: who calls any earlier is a viewer, which is less.
        std::fs::write(dir.join("go"), "").expect("a file");
        // A wrapper may leave its session behind: the file says that it is done.
        self.sealed.until("the call is over", || dir.join("code").exists());
        let read = |file: &str| std::fs::read_to_string(dir.join(file)).expect("it was left");
        let code = read("code").trim().parse().expect("a code");
        Ran { code, stdout: read("out"), stderr: read("err") }
    }

    #[track_caller]
    fn assert_refused(&self, ran: &Ran) {
        assert_eq!(ran.code, 3, "{ran:?}");
        let problem: Problem = serde_json::from_str(ran.stderr.trim()).expect("a problem");
        assert_eq!(problem.kind, "not-allowed", "{ran:?}");
        assert!(problem.title.starts_with("an agent may not"), "{problem:?}");
    }

    #[track_caller]
    pub fn assert_other_untouched(&self) {
        let other = self.sealed.show("other");
        assert_eq!((other.state.as_str(), other.respawn_count), ("working", 0));
        assert_eq!(other.session.map(|session| session.number), Some(1));
    }
}

#[test]
fn an_agents_process_may_look_and_nothing_else() {
    let fleet = Fleet::new();
    for args in [
        &["stop", "other"][..],
        &["stop", "--all"],
        &["wake", "other"],
        &["restart", "other"],
        &["send", "other", "y"],
        &["send", "other", "--key", "Enter"],
        &["spawn", "puppet", "--", "sleep", "1000"],
        &["logs", "other"],
        &["logs", "other", "--follow"],
        &["screen", "other"],
        &["rename", "other", "mine"],
        &["bury", "other", "--summary", "gone"],
        &["down"],
    ] {
        fleet.assert_refused(&fleet.call(&[], args));
    }
    let attach = fleet.call_as(LEAVE_TERMINAL, &fleet.name(), &[], &[], &["attach", "other"]);
    fleet.assert_refused(&attach);
    for args in [&["ls"][..], &["show", "other"], &["why", "other"], &["events"], &["doctor"]] {
        let ran = fleet.call(&[], args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(ran.stdout.contains("other") || args == ["doctor"], "{args:?}: {ran:?}");
    }
    fleet.assert_other_untouched();
}

#[test]
fn an_agent_may_not_stop_or_read_itself() {
    let fleet = Fleet::new();
    for args in
        [&["stop", "me"][..], &["screen", "me"], &["send", "me", "x"], &["rename", "me", "you"]]
    {
        let ran = fleet.call_as(LEAVE, "me", &[], &[], args);
        fleet.assert_refused(&ran);
        let is_stop = args == ["stop", "me"];
        assert_eq!(ran.stderr.contains("may stop only agents below it"), is_stop, "{ran:?}");
        fleet.sealed.ok(["bury", "me", "--summary", "done"]);
        std::fs::remove_dir_all(fleet.sealed.dir.join("me")).expect("its files");
    }
}

#[test]
fn leaving_the_session_or_its_environment_does_not_help() {
    let fleet = Fleet::new();
    let home = format!("PERENNIAL_HOME={}", fleet.sealed.root.display());
    let stop = &["stop", "other"][..];
    for wrapper in [
        &["setsid", "--wait"][..],
        &["nohup"],
        &["env", "-u", "PERENNIAL_SESSION", "-u", "PERENNIAL_AGENT"],
        &["env", "-i", &home],
        &["env", "-i", &home, "setsid", "--wait", "nohup"],
        &["env", "PERENNIAL_SESSION=agt_00000000000000000000000000.1"],
        // A double fork: the call is nobody's child when it is made.
        &["/bin/sh", "-c", "(setsid \"$@\" > \"$HOME/double\" 2>&1; echo $? >> \"$HOME/double\") & sleep 1000 < /dev/null > /dev/null 2>&1 &
            while ! grep -qx '[0-9]' \"$HOME/double\" 2> /dev/null; do sleep 0.05; done; cat \"$HOME/double\" >&2; tail -n 1 \"$HOME/double\" > \"$HOME/last\"
            sed -i '$d' \"$HOME/double\"; exec 2>&1; exit $(cat \"$HOME/last\")", "sh"],
    ] {
        let ran = fleet.call(wrapper, stop);
        assert_eq!(ran.code, 3, "{wrapper:?}: {ran:?}");
        assert!(ran.stderr.contains("not-allowed"), "{wrapper:?}: {ran:?}");
    }
    fleet.assert_other_untouched();
}

#[test]
fn a_parent_may_stop_and_wake_its_child_and_nobody_elses() {
    let fleet = Fleet::new();
    let parent = |dir: &str, args: &[&str]| {
        let dir = fleet.sealed.dir.join(dir);
        std::fs::create_dir(&dir).expect("a directory");
        std::fs::write(dir.join("go"), "").expect("a file");
        let words = [
            &["/bin/sh", "-c", LEAVE, "sh", dir.to_str().expect("a path"), PROGRAM, "--json"],
            args,
        ];
        words
            .concat()
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect::<Vec<_>>()
            .join(" ")
    };
    // Each line that is sent to the parent is a call that it makes.
    fleet.sealed.spawn("parent", "while read line; do eval \"$line\"; done");
    fleet.sealed.spawn_with(&["child", "--parent", "parent"], &["/bin/sh", "-c", "read x"]);
    fleet.sealed.spawn_with(&["grandchild", "--parent", "child"], &["/bin/sh", "-c", "read x"]);
    // G4: what the operator stopped, the operator wakes.
    fleet.sealed.spawn_with(&["put-to-rest", "--parent", "parent"], &["/bin/sh", "-c", "read x"]);
    fleet.sealed.ok(["stop", "put-to-rest"]);
    for (n, args, code, who, state) in [
        (0, &["wake", "put-to-rest"][..], 6, "put-to-rest", "sleeping"),
        (1, &["stop", "child"], 0, "child", "sleeping"),
        (2, &["wake", "child"], 0, "child", "working"),
        (7, &["restart", "child"], 0, "child", "working"),
        (8, &["restart", "put-to-rest"], 6, "put-to-rest", "sleeping"),
        (9, &["restart", "other"], 3, "other", "working"),
        (3, &["stop", "grandchild"], 0, "grandchild", "sleeping"),
        (4, &["stop", "other"], 3, "other", "working"),
        (5, &["send", "child", "x"], 3, "child", "working"),
        (6, &["bury", "child", "--summary", "x"], 3, "child", "working"),
    ] {
        let dir = format!("call-{n}");
        // Written to a script: a line in a terminal has a limit.
        let script = fleet.sealed.dir.join(format!("{dir}.sh"));
        std::fs::write(&script, parent(&dir, args)).expect("a script");
        fleet.sealed.ok(["send", "parent", &format!(". {}", script.display())]);
        let code_file = fleet.sealed.dir.join(&dir).join("code");
        fleet.sealed.until("the parent's call is over", || code_file.exists());
        let seen = std::fs::read_to_string(&code_file).expect("a code");
        let error = std::fs::read_to_string(fleet.sealed.dir.join(&dir).join("err"));
        assert_eq!(seen.trim(), code.to_string(), "{args:?}: {error:?}");
        assert_eq!(fleet.sealed.show(who).state, state, "{args:?}");
    }
    let story = fleet.sealed.ok(["why", "grandchild"]);
    let id = fleet.sealed.show("parent").id;
    assert!(story.contains("parent") || story.contains(&id), "who asked is told: {story}");
}

/// Waits for a file, out of reach of its session's shim, then calls again and again; without any
/// environment.
const ORPHAN: &str = "(env -i MARK PERENNIAL_HOME=\"$2\" setsid /bin/sh -c 'echo $$ > \"$1/orphan.new\"; mv \"$1/orphan.new\" \"$1/orphan\"
        while [ ! -e \"$1/go\" ]; do sleep 0.02; done
        while :; do \"$2\" stop other > /dev/null 2>&1 && echo 0 > \"$1/code\"; done' sh \"$1\" \"$3\" < /dev/null > /dev/null 2>&1 &)
    read x";

#[test]
fn an_orphan_of_a_killed_shim_is_not_a_person() {
    for daemon_too in [false, true] {
        let fleet = Fleet::new();
        let sealed = &fleet.sealed;
        let (dir, home) = (sealed.dir.display().to_string(), sealed.root.display().to_string());
        // Without a cgroup, a daemon that comes later has only the mark to go by.
        let mark = if daemon_too && cgroup::available().is_err() {
            "PERENNIAL_SESSION=$PERENNIAL_SESSION"
        } else {
            ""
        };
        let script = ORPHAN.replace("MARK", mark);
        let argv = ["/bin/sh", "-c", &script, "sh", &dir, &home, PROGRAM];
        let agent = sealed.spawn_with(&["parent", "--restart", "never"], &argv);
        let file = sealed.dir.join("orphan");
        sealed.until("the orphan is there", || file.exists());
        let text = std::fs::read_to_string(&file).expect("a pid");
        let orphan = processes::running(text.trim().parse().expect("a pid"));
        let (shim, daemon) = (sealed.shim(&agent), sealed.daemon());
        if daemon_too {
            processes::kill(daemon);
        }
        processes::kill(shim);
        std::fs::write(sealed.dir.join("go"), "").expect("a file");
        if daemon_too {
            sealed.start_daemon();
        }
        sealed.watch().ended("parent", 1);
        assert!(processes::wait_end(orphan, std::time::Duration::from_secs(10)), "it is ended");
        assert!(!sealed.dir.join("code").exists(), "the orphan stopped somebody");
        fleet.assert_other_untouched();
    }
}

/// An agent learns from no answer whether a message exists.
#[test]
fn ids_of_messages_can_not_be_probed() {
    let fleet = Fleet::new();
    let sent: serde_json::Value = fleet.sealed.json(&["send", "other", "a secret"]);
    let real = sent["id"].as_str().expect("an id");
    let nobodys = "msg_00000000000000000000000001";
    let answers = [real, nobodys].map(|id| {
        let ran = fleet.call(&[], &["unsend", id]);
        (ran.code, ran.stdout, ran.stderr.replace(id, "ID"))
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].0, 4, "{answers:?}");
}
