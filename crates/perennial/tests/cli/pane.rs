//! `--host tmux` and `pane`: an agent's shim in a pane of the owner's tmux.

use std::os::unix::fs::PermissionsExt;

use perennial_api::Agent;
use perennial_engine::host::process;
use rustix::process::Signal;

use crate::attach::{DETACH, ECHO};
use crate::processes::{self, is_alive, kill, running, signal};
use crate::sealed::{Sealed, finish, pid};
use crate::terminal::Terminal;
use crate::tmux::Tmux;

const BOB: &str = "perennial-bob";

fn argv(pid: i32) -> String {
    processes::argv(pid).join(" ")
}

/// Waits until the agent's session has this number and runs.
#[track_caller]
fn session(sealed: &Sealed, name: &str, number: u64) -> Agent {
    sealed.watch().running(name, number);
    sealed.show(name)
}

#[test]
fn the_shim_is_inside_the_pane_and_the_record_says_where() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", &format!("env | grep -c '^TMUX=\\|^TMUX_PANE='; {ECHO}"));
    assert_eq!((agent.host.as_str(), agent.tmux_session.as_deref()), ("tmux", Some(BOB)));
    assert_eq!(sealed.show("bob").tmux_session.as_deref(), Some(BOB));
    let shown = tmux.ok(&["show", "bob"]);
    assert!(shown.contains("tmux attach -t '=perennial-bob'"), "{shown}");
    // The program below the shim, the shim below the pane's process, that below the tmux server.
    let (shim, pane) = (sealed.shim(&agent), tmux.pane(BOB));
    let parent = |pid: i32| process::stat(pid).expect("it lives").parent;
    assert_eq!(parent(pid(&agent).cast_signed()), shim.pid);
    assert_eq!(parent(shim.pid), pane.pid, "{}", argv(parent(shim.pid)));
    assert_eq!(parent(pane.pid), tmux.server(BOB).pid);
    // The program knows nothing of tmux.
    tmux.wait(BOB, "\n0\n");
    // The journal has it too.
    let hatched = sealed.ok(["events", "--json"]);
    assert!(hatched.contains(r#""tmux_session":"perennial-bob""#), "{hatched}");
    if let Some(cgroup) = sealed.cgroup_of(&agent.session.clone().expect("a session").id) {
        let inside = std::fs::read_to_string(cgroup.join("cgroup.procs")).expect("its cgroup");
        assert!(inside.lines().any(|line| line == pid(&agent).to_string()), "{inside}");
    }
}

#[test]
fn the_pane_and_attach_show_one_terminal_and_both_type() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    tmux.type_keys(BOB, &["from the pane", "Enter"]);
    tmux.wait(BOB, "got <from the pane>");
    let mut terminal = Terminal::run(tmux.command(&["attach", "bob"]));
    terminal.wait("got <from the pane>");
    terminal.type_keys("from attach\r");
    terminal.wait("got <from attach>");
    tmux.wait(BOB, "got <from attach>");
    // A third: a tmux client at the pane.
    let mut client = std::process::Command::new("tmux");
    client.args(["attach", "-t", BOB]).env_clear().env("HOME", &sealed.dir);
    client.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8");
    client.env("TMUX_TMPDIR", sealed.dir.join("t"));
    let mut client = Terminal::run(client);
    client.wait("got <from attach>");
    client.type_keys("from a client\r");
    client.wait("got <from a client>");
    terminal.wait("got <from a client>");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
    // The keys that leave an agent's terminal leave this one, and the pane stays.
    client.type_keys(DETACH);
    assert_eq!(client.end().code, 0);
    let notes = || tmux.shown(BOB).matches("[bob, session 1;").count();
    sealed.until("the pane is back at the terminal", || notes() == 2);
    tmux.type_keys(BOB, &["still", "Enter"]);
    tmux.wait(BOB, "got <still>");
    // Beside one without a pane, it is told in the same form.
    sealed.spawn("ada", ECHO);
    let lines = |verb: &str, name: &str| {
        sealed
            .ok([verb, name])
            .lines()
            .map(|line| line.split(':').next().unwrap_or("").replace(name, "_"))
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("why", "bob").len(), lines("why", "ada").len());
    let list = sealed.ok(["ls"]);
    assert!(list.contains("bob") && list.contains("ada"), "{list}");
}

/// What is typed in the pane is a person's: no text is put into it.
#[test]
fn a_draft_in_the_pane_holds_texts() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    tmux.spawn("bob", "echo ready; while read line; do echo \"got <$line>\"; done");
    tmux.wait(BOB, "ready");
    tmux.type_keys(BOB, &["-l", "half a sen"]);
    tmux.wait(BOB, "half a sen");
    sealed.ok(["send", "bob", "in between"]);
    let sent = || sealed.ok(["sent", "bob", "--json"]);
    sealed.until("it waits", || sent().contains("the input line may hold text that was typed"));
    tmux.type_keys(BOB, &["-l", "tence"]);
    tmux.type_keys(BOB, &["Enter"]);
    tmux.wait(BOB, "got <half a sentence>");
    tmux.wait(BOB, "got <in between>");
}

#[test]
fn the_next_session_is_in_the_same_pane() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let first = tmux.spawn("bob", &format!("echo \"I am $PERENNIAL_SESSION\"; {ECHO}"));
    tmux.wait(BOB, &format!("I am {}.1", first.id));
    let pane = tmux.pane(BOB);
    kill(running(pid(&first)));
    let second = session(&sealed, "bob", 2);
    tmux.wait(BOB, &format!("I am {}.2", first.id));
    assert!(tmux.is_inside(&second));
    // A killed shim, too: the next one is started in the pane.
    kill(sealed.shim(&second));
    let third = session(&sealed, "bob", 3);
    tmux.wait(BOB, &format!("I am {}.3", first.id));
    assert!(tmux.is_inside(&third));
    tmux.type_keys(BOB, &["third", "Enter"]);
    tmux.wait(BOB, "got <third>");
    assert_eq!(tmux.pane(BOB), pane, "one process in one pane, all the time");
    sealed.assert_nobody_doubled();
}

#[test]
fn a_killed_daemon_is_followed_by_one_that_adopts_the_session() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    sealed.kill_daemon();
    tmux.type_keys(BOB, &["without a daemon", "Enter"]);
    tmux.wait(BOB, "got <without a daemon>");
    sealed.start_daemon();
    sealed.until("confirmed", || sealed.show("bob").state == "working");
    assert_eq!(pid(&sealed.show("bob")), pid(&agent));
    // The new daemon knows the way into the pane.
    kill(sealed.shim(&agent));
    assert!(tmux.is_inside(&session(&sealed, "bob", 2)));
    tmux.wait(BOB, "ready");
}

#[test]
fn a_pane_that_is_closed_ends_no_session_and_is_opened_again() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    let (shim, pane) = (sealed.shim(&agent), tmux.pane(BOB));
    assert_eq!(tmux.tmux(&["kill-session", "-t", &format!("={BOB}")]).code, 0);
    sealed.until("the pane's process is gone", || !is_alive(pane));
    assert!(is_alive(shim), "the shim outlives its pane");
    assert_eq!(pid(&sealed.show("bob")), pid(&agent));
    let mut terminal = Terminal::run(tmux.command(&["attach", "bob"]));
    terminal.wait("ready");
    terminal.type_keys("no pane\r");
    terminal.wait("got <no pane>");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
    let opened = tmux.ok(&["pane", "bob"]);
    assert!(opened.contains("tmux attach -t '=perennial-bob'"), "{opened}");
    tmux.wait(BOB, "got <no pane>");
    assert!(tmux.ok(&["pane", "bob"]).contains("open already"));
    tmux.type_keys(BOB, &["again", "Enter"]);
    tmux.wait(BOB, "got <again>");
    assert_eq!(pid(&sealed.show("bob")), pid(&agent));
    // The next shim is inside it.
    kill(shim);
    assert!(tmux.is_inside(&session(&sealed, "bob", 2)));
}

#[test]
fn a_killed_tmux_server_ends_no_session_and_keeps_none_from_starting() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    let pane = tmux.pane(BOB);
    kill(tmux.server(BOB));
    sealed.until("the pane's process is gone", || !is_alive(pane));
    assert_eq!(pid(&sealed.show("bob")), pid(&agent));
    // Its next holder is started without a pane, and the log says so.
    kill(sealed.shim(&agent));
    let second = session(&sealed, "bob", 2);
    assert!(sealed.log().contains("outside of its tmux pane"), "{}", sealed.log());
    assert_eq!(sealed.show("bob").tmux_session.as_deref(), Some(BOB));
    tmux.ok(&["pane", "bob"]);
    tmux.wait(BOB, "ready");
    assert!(!tmux.is_inside(&second));
    tmux.type_keys(BOB, &["back", "Enter"]);
    tmux.wait(BOB, "got <back>");
}

/// A pane's process that takes a request and never answers keeps no session from starting. tmux continues what is
/// stopped in a pane, so another process takes the place of one that hangs.
#[test]
fn a_pane_that_hangs_is_not_waited_for() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    let path = sealed.home.pane(BOB).display().to_string();
    let hanging = SQUAT.replace("close C", "sleep 1000");
    let mut hanging = Terminal::run(perl(&sealed, &["-e", &hanging, &path]));
    hanging.wait("listening");
    kill(sealed.shim(&agent));
    let second = session(&sealed, "bob", 2);
    hanging.wait("asked <{\"shim\"");
    assert!(sealed.log().contains("its pane did not answer"), "{}", sealed.log());
    tmux.wait(BOB, "[bob, session 2;");
    tmux.type_keys(BOB, &["back", "Enter"]);
    tmux.wait(BOB, "got <back>");
    assert!(!tmux.is_inside(&second));
    sealed.assert_nobody_doubled();
    assert!(signal(running(hanging.pid()), Signal::KILL));
}

/// A perl of a person's.
fn perl(sealed: &Sealed, args: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new("perl");
    command.args(args).env_clear().env("HOME", &sealed.dir).env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn run_shows_the_terminal_here_and_in_the_pane() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let run = ["run", "--host", "tmux", "--name", "bob", "--", "/bin/sh", "-c", ECHO];
    let mut terminal = Terminal::run(tmux.command(&run));
    terminal.wait("ready");
    tmux.wait(BOB, "ready");
    tmux.type_keys(BOB, &["hello", "Enter"]);
    terminal.wait("got <hello>");
    assert!(tmux.is_inside(&sealed.show("bob")));
    terminal.type_keys("\x04");
    assert_eq!(terminal.end().code, 0, "the exit code is the program's");
    tmux.wait(BOB, "bob is sleeping");
}

#[test]
fn a_stopped_agent_keeps_its_pane_and_a_buried_one_does_not() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    let shim = sealed.shim(&agent);
    sealed.ok(["stop", "bob"]);
    tmux.wait(BOB, "bob is sleeping; this pane shows its next session");
    sealed.until("its shim has gone", || !is_alive(shim));
    let pane = tmux.pane(BOB);
    sealed.ok(["wake", "bob"]);
    let second = session(&sealed, "bob", 2);
    tmux.wait(BOB, "[bob, session 2;");
    tmux.type_keys(BOB, &["woken", "Enter"]);
    tmux.wait(BOB, "got <woken>");
    assert!(tmux.is_inside(&second));
    assert_eq!(tmux.pane(BOB), pane);
    sealed.ok(["bury", "bob", "--yes"]);
    // The name is free at once, in tmux as well.
    tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    assert!(!is_alive(pane));
    sealed.ok(["stop", "bob"]);
    sealed.ok(["bury", "bob", "--yes"]);
    sealed.until("the pane is closed", || !tmux.has(BOB));
    assert_eq!(sealed.show("bob").tmux_session.as_deref(), Some(BOB), "the record stays");
    // It has no further session that a pane could show.
    let refused = tmux.refused(3, &["pane", "bob"]);
    assert!(refused.title.contains("bob is buried"), "{refused:?}");
    assert!(!tmux.has(BOB));
}

/// The owner's settings of tmux are in force, and those that would close or keep the pane against its purpose are not. The
/// home is one by the XDG directories.
#[test]
fn an_owners_own_settings_of_tmux_do_not_matter() {
    let sealed = Sealed::xdg();
    let settings = "set -g destroy-unattached on\nset -g remain-on-exit on\nset -g base-index 1\n\
        set -g pane-base-index 1\nset -g default-command /bin/false\n";
    std::fs::write(sealed.dir.join(".tmux.conf"), settings).expect("written");
    sealed.start_daemon();
    let tmux = Tmux::of(&sealed);
    let agent = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    assert!(tmux.is_inside(&agent));
    assert_eq!(tmux.tmux(&["show-options", "-gv", "base-index"]).stdout.trim(), "1");
    sealed.ok(["bury", "bob", "--yes"]);
    sealed.until("the pane is closed", || !tmux.has(BOB));
}

#[test]
fn what_tmux_cannot_do_is_told_before_anybody_is_born() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let spawn = ["--json", "spawn", "bob", "--host", "tmux", "--", "/bin/sh"];
    let problem = |mut command: std::process::Command, path: Option<&str>| {
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let ran = finish(command);
        let problem: perennial_api::Problem =
            serde_json::from_str(ran.stderr.trim()).expect("a problem");
        (ran.code, problem.kind)
    };
    let empty = sealed.dir.join("empty");
    std::fs::create_dir(&empty).expect("a directory");
    let no_tmux = problem(tmux.command(&spawn), empty.to_str());
    assert_eq!(no_tmux, (1, "no-tmux".to_owned()));
    // A server that can't start: its directory is open to others, which tmux refuses.
    let mut command = tmux.command(&spawn);
    let open = sealed.dir.join("open");
    let of_user = open.join(format!("tmux-{}", rustix::process::getuid().as_raw()));
    std::fs::create_dir_all(&of_user).expect("a directory");
    std::fs::set_permissions(&of_user, PermissionsExt::from_mode(0o777)).expect("its mode");
    command.env("TMUX_TMPDIR", &open);
    assert_eq!(problem(command, None), (1, "tmux-failed".to_owned()));
    // A session of that name is somebody else's.
    assert_eq!(tmux.tmux(&["new-session", "-d", "-s", BOB, "cat"]).code, 0);
    let taken = tmux.refused(3, &spawn[1..]);
    assert_eq!(taken.kind, "tmux-session-taken");
    assert!(tmux.has(BOB), "it is left alone");
    // A pane whose agent is refused is closed again; nothing of its name stays.
    let refused =
        tmux.refused(4, &["spawn", "ada", "--host", "tmux", "--dir", "/no/such", "--", "sh"]);
    assert_eq!(refused.kind, "no-directory", "{refused:?}");
    assert!(!tmux.has("perennial-ada"), "it was closed by the command that opened it");
    let nameless = tmux.refused(2, &["run", "--host", "tmux", "--", "/bin/sh"]);
    assert_eq!(nameless.kind, "nameless-in-tmux");
    assert!(sealed.ls().is_empty(), "{:?}", sealed.ls());
    // An agent without a pane has none to open.
    sealed.spawn("plain", "sleep 1000");
    assert_eq!(tmux.refused(3, &["pane", "plain"]).kind, "not-in-tmux");
}

#[test]
fn in_the_owners_tmux_persons_are_persons_and_agents_are_agents() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    tmux.spawn("bob", "stty -echo; echo ready; while read line; do eval \"$line\"; done");
    tmux.wait(BOB, "ready");
    let program = crate::sealed::PROGRAM;
    // A person at another window of the very tmux server that our command has started.
    let script = format!("{program} spawn ada -- sleep 1000 2>&1; sleep 1000");
    assert_eq!(tmux.tmux(&["new-session", "-d", "-s", "mine", "/bin/sh", "-c", &script]).code, 0);
    sealed.until("a person in tmux spawns", || sealed.ls().iter().any(|agent| agent.name == "ada"));
    // The program in an agent's pane, whatever it claims to be.
    let line = format!(
        "env -u PERENNIAL_SESSION -u PERENNIAL_AGENT {program} --json pane bob; echo done-1"
    );
    tmux.type_keys(BOB, &["-l", &line]);
    tmux.type_keys(BOB, &["Enter"]);
    tmux.wait(BOB, "done-1");
    assert!(tmux.shown(BOB).contains("only a person may"), "{}", tmux.shown(BOB));
    let line = format!("{program} --json spawn eve --host tmux -- sleep 1; echo done-2");
    tmux.type_keys(BOB, &["-l", &line]);
    tmux.type_keys(BOB, &["Enter"]);
    tmux.wait(BOB, "done-2");
    assert!(sealed.ls().iter().all(|agent| agent.name != "eve"));
}

#[test]
fn the_configuration_says_where_agents_live_unless_the_command_does() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    std::fs::write(sealed.home.config.join("config.toml"), "host = \"tmux\"\n").expect("written");
    let host = |name: &str, options: &[&str]| {
        let all = [&["--json", "spawn", name], options, &["--", "/bin/sh", "-c", ECHO]].concat();
        let agent: Agent = serde_json::from_str(&tmux.ok(&all)).expect("an agent");
        (agent.host, agent.tmux_session)
    };
    assert_eq!(host("bob", &[]), ("tmux".to_owned(), Some(BOB.to_owned())));
    assert_eq!(host("ada", &["--host", "shim"]), ("shim".to_owned(), None));
    tmux.wait(BOB, "ready");
}

/// Spawned from inside tmux, an agent's pane is in that server.
#[test]
fn the_server_is_the_one_that_the_caller_is_in() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let socket = sealed.dir.join("other");
    let socket = socket.to_str().expect("a path");
    let outer = ["-S", socket, "new-session", "-d", "-s", "outer", "cat"];
    assert_eq!(tmux.tmux(&outer).code, 0);
    let mut command =
        tmux.command(&["--json", "spawn", "bob", "--host", "tmux", "--", "/bin/sh", "-c", ECHO]);
    command.env("TMUX", format!("{socket},1,0")).env("TMUX_PANE", "%0");
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let agent: Agent = serde_json::from_str(&ran.stdout).expect("an agent");
    assert_eq!(agent.tmux_socket.as_deref(), Some(socket));
    assert!(!tmux.has(BOB), "not in the usual one");
    let there = tmux.tmux(&["-S", socket, "has-session", "-t", &format!("={BOB}")]);
    assert_eq!(there.code, 0, "{there:?}");
    let shown = tmux.ok(&["show", "bob"]);
    assert!(
        shown.replace("\n               ", " ").contains(&format!("tmux -S {socket} attach")),
        "{shown}"
    );
    let mut inside = tmux.command(&["show", "bob"]);
    inside.env("TMUX", format!("{socket},1,0"));
    assert!(finish(inside).stdout.contains("tmux switch-client -t '=perennial-bob'"));
}

/// Asks a pane whose it is, and prints what comes back.
const ASK: &str = r#"use Socket; $SIG{PIPE} = "IGNORE"; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[0])) or die;
    syswrite(S, "{\"agent\":{\"id\":\"agt_00000000000000000000000007\"}}\n"); $reply = <S>; print "reply <$reply>\n";"#;

/// Listens in a pane's place, and prints what it is asked.
const SQUAT: &str = r#"use Socket; $| = 1; unlink $ARGV[0]; socket(S, AF_UNIX, SOCK_STREAM, 0);
    bind(S, sockaddr_un($ARGV[0])) or die; chmod 0600, $ARGV[0]; listen(S, 5); print "listening\n";
    while (accept(C, S)) { print "visited\n"; $line = <C>; print "asked <$line>\n" if defined $line; close C }"#;

#[test]
fn an_agent_in_the_place_of_a_pane_starts_no_session() {
    let sealed = Sealed::up();
    let tmux = Tmux::of(&sealed);
    let bob = tmux.spawn("bob", ECHO);
    tmux.wait(BOB, "ready");
    let path = sealed.home.pane(BOB).display().to_string();
    // A pane answers a person's process, and no agent's.
    let person = perl(&sealed, &["-e", ASK, &path]);
    assert!(finish(person).stdout.contains("another agent"));
    sealed.spawn_with(&["eve", "--restart", "never"], &["perl", "-e", ASK, &path]);
    sealed.until("the agent has no reply", || sealed.ok(["logs", "eve"]).contains("reply <>"));
    // A daemon asks no agent to start a session.
    sealed.spawn_with(&["mallory"], &["perl", "-e", SQUAT, &path]);
    sealed.until("it listens", || sealed.ok(["logs", "mallory"]).contains("listening"));
    kill(sealed.shim(&bob));
    session(&sealed, "bob", 2);
    sealed.until("it was visited", || sealed.ok(["logs", "mallory"]).contains("visited"));
    let heard = sealed.ok(["logs", "mallory"]);
    assert!(!heard.contains("asked"), "{heard}");
    assert!(sealed.log().contains("is inside an agent's session"), "{}", sealed.log());
}

/// The names end up in the group of tests that run real agent CLIs. Life in a pane with each of them is a row of the
/// conformance suite.
mod agent_clis {
    use serde_json::json;

    use super::*;
    use crate::conformance::harness::Harness;
    use crate::conformance::stage::{NAME, Stage, prompt};

    #[test]
    fn an_adopted_conversation_goes_on_in_a_pane() {
        let mut stage = Stage::new(&Harness::named("claude"));
        stage.spawn_idle("Hello.");
        let conversation = stage.conversation();
        stage.sealed.ok(["stop", NAME]);
        stage.sealed.ok(["bury", NAME, "--yes"]);
        let adopt = ["--json", "adopt", "bob", "--host", "tmux", "--conversation", &conversation];
        let free = stage.conformance.free.iter().map(String::as_str);
        let mut command = stage.command(&adopt.into_iter().chain(free).collect::<Vec<_>>());
        command.env("TMUX_TMPDIR", Tmux::of(&stage.sealed).dir());
        let ran = finish(command);
        assert_eq!(ran.code, 0, "{ran:?}");
        let bob: Agent = serde_json::from_str(&ran.stdout).expect("an agent");
        stage.watch.moved("bob", "waiting", "idle");
        assert!(Tmux::of(&stage.sealed).is_inside(&bob));
        stage.sealed.ok(["send", "bob", &prompt(&json!([{ "text": "Again." }]))]);
        stage.told("Again.");
        let last = stage.last_request();
        assert!(last.request.contains("Hello."), "the model has forgotten: {last:#?}");
        Tmux::of(&stage.sealed).wait(BOB, "Again.");
    }
}
