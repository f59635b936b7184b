//! Attempts to be taken for somebody with more rights: each is refused, or docs/security.md names it.
//!
//! The attacker is a script in an agent's session, or this test program itself, run again there
//! (`acts_for_another_test`). It always throws its environment away first: marks would give it away.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use perennial_api::home::SocketAddress;
use perennial_api::{Agent, Problem};
use perennial_engine::host::cgroup;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, fcntl_lock, openat};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::authority::Fleet;
use crate::ordinary_user;
use crate::processes;
use crate::sealed::{PROGRAM, Ran, Sealed, finish, pid};

const ATTACK: &str = "PERENNIAL_TEST_ATTACK";
const ROOM: &str = "PERENNIAL_TEST_ATTACK_ROOM";
const VICTIM: &str = "PERENNIAL_TEST_ATTACK_VICTIM";

/// A child that ends with its test, however that goes.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// The room of an attacker: where it waits to be let go, and leaves what its calls were answered.
struct Room(PathBuf);

impl Room {
    fn new(sealed: &Sealed, name: &str) -> Room {
        let dir = sealed.dir.join(name);
        std::fs::create_dir(&dir).expect("a room");
        Room(dir)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    fn let_go(&self) {
        std::fs::write(self.file("go"), "").expect("a file");
    }

    /// What the call in this room was answered.
    #[track_caller]
    fn answer(&self, sealed: &Sealed) -> Ran {
        sealed.until("the attacker's call is over", || self.has("code"));
        let read = |file: &str| std::fs::read_to_string(self.file(file)).unwrap_or_default();
        let code = read("code").trim().parse().expect("a code");
        Ran { code, stdout: read("out"), stderr: read("err") }
    }
}

/// Says that it is there, waits to be let go, then calls with the given words.
const CALL: &str = "cd \"$ROOM\"; echo > ready; until [ -e go ]; do sleep 0.02; done
    \"$@\" > out 2> err < /dev/null; echo $? > code.new; mv code.new code; sleep 1000";

/// An agent of which nothing is left but its place in the tree: no mark, no variable of ours but the home.
#[track_caller]
fn attacker(sealed: &Sealed, name: &str, room: &Room, home: &Path, words: &[&str]) -> Agent {
    let home = format!("PERENNIAL_HOME={}", home.display());
    let place = format!("ROOM={}", room.path());
    let clean = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", &home, &place, "/bin/sh", "-c", CALL];
    let argv = [&clean[..], &["sh"], words].concat();
    let agent = sealed.spawn_with(&[name, "--restart", "never"], &argv);
    sealed.until("the attacker is there", || room.has("ready"));
    agent
}

#[track_caller]
fn assert_refused(ran: &Ran, who: &str) {
    assert_eq!(ran.code, 3, "{ran:?}");
    let problem: Problem = serde_json::from_str(ran.stderr.trim()).expect("a problem");
    assert_eq!(problem.kind, "not-allowed", "{ran:?}");
    assert!(problem.title.starts_with(who), "{problem:?}");
}

#[track_caller]
fn assert_untouched(sealed: &Sealed, name: &str) {
    // A daemon that has just started confirms it first.
    sealed.until("its state is known", || sealed.show(name).state != "unknown");
    let agent = sealed.show(name);
    assert_eq!((agent.state.as_str(), agent.respawn_count), ("working", 0));
}

/// A1. Neither by `up` nor by the daemon's own verb, however deep, and no error text asks for it.
#[test]
fn an_agent_starts_no_daemon() {
    let sealed = Sealed::up();
    let deep =
        "n=80; d() { if [ $n -gt 0 ]; then n=$((n - 1)); (d; exit $?); else \"$P\" up; fi; }; d";
    let script = format!(
        "for words in up 'up --foreground' daemon 'daemon --detached' ls doctor; do
            echo \"== $words\"; \"$P\" $words; echo \"rc=$?\"; done
         echo '== setsid'; setsid --wait \"$P\" up; echo \"rc=$?\"
         echo '== deep'; {deep}; echo \"rc=$?\""
    );
    let room = Room::new(&sealed, "room");
    let program = format!("P={PROGRAM}");
    attacker(&sealed, "mole", &room, &sealed.root, &["env", &program, "sh", "-c", &script]);
    sealed.ok(["down"]);
    room.let_go();
    sealed.until("the calls are over", || room.has("code"));
    let [out, err] = ["out", "err"].map(|file| std::fs::read_to_string(room.file(file)).unwrap());
    let codes: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("rc=")).collect();
    // Without a daemon, `ls` ends with 5, and `doctor` says so.
    assert_eq!(codes, ["3", "3", "3", "3", "5", "5", "3", "3"], "{out}{err}");
    assert_eq!(err.matches("can't be started from here").count(), 6, "{err}");
    assert!(!format!("{out}{err}").contains("perennial up"), "{out}{err}");
    assert_eq!(
        format!("{out}{err}").matches("ask your operator to start it").count(),
        8,
        "{out}{err}"
    );
    let daemons = sealed.processes().into_iter().filter(processes::Found::is_daemon).count();
    assert_eq!(daemons, 0);
    let person = sealed.refused(5, &["ls"]);
    assert_eq!(person.next, "run `perennial up` to start it");
    sealed.start_daemon();
    assert_untouched(&sealed, "mole");
}

/// A2 a, and a mark of the other home's: neither the shim nor the mark makes it anybody there.
#[test]
fn an_agent_of_another_home_is_a_viewer() {
    let (own, other) = (Sealed::up(), Sealed::up());
    let lead = other.spawn("lead", "read x");
    other.spawn_with(&["child", "--parent", "lead"], &["/bin/sh", "-c", "read x"]);
    let stop = [PROGRAM, "--json", "stop", "child"];
    let mark = format!("PERENNIAL_SESSION={}.1", lead.id);
    for (name, words) in [
        ("plain", stop.to_vec()),
        ("marked", [&["env", &mark], &stop[..]].concat()),
        ("left", [&["setsid", "--wait"], &stop[..]].concat()),
    ] {
        let room = Room::new(&own, name);
        attacker(&own, name, &room, &other.root, &words);
        room.let_go();
        assert_refused(&room.answer(&own), "a viewer may not");
    }
    assert_untouched(&other, "child");
}

/// A2 b and c: what leads to it on the disk is gone, and the daemon starts anew.
#[test]
fn an_agent_whose_record_is_lost_is_no_person() {
    for is_journal in [false, true] {
        let sealed = Sealed::up();
        let other = sealed.spawn("other", "read x");
        let room = Room::new(&sealed, "room");
        let words = [PROGRAM, "--json", "stop", "other"];
        let mole = attacker(&sealed, "mole", &room, &sealed.root, &words);
        sealed.kill_daemon();
        if is_journal {
            std::fs::remove_dir_all(&sealed.home.data).expect("the journal is lost");
        } else {
            std::fs::remove_dir_all(sealed.holder(&mole)).expect("its directory is lost");
        }
        sealed.start_daemon();
        room.let_go();
        let ran = room.answer(&sealed);
        // A viewer; with the journal lost an agent, as soon as its shim has been found.
        assert_refused(&ran, "a");
        if is_journal {
            // It is listed as it was found, and held.
            let found = sealed.show("other");
            assert_eq!((&*found.reason, pid(&found)), ("record-lost", pid(&other)));
        } else {
            assert_untouched(&sealed, "other");
        }
    }
}

/// A2 d: it holds the lock of another agent's holder, by a file of its own making.
#[test]
fn whoever_holds_a_lock_and_is_no_shim_is_nobodys_holder() {
    let sealed = Sealed::up();
    let lead = sealed.spawn("lead", "read x");
    sealed.spawn_with(&["child", "--parent", "lead"], &["/bin/sh", "-c", "read x"]);
    let room = Room::new(&sealed, "room");
    act(&sealed, "mole", &room, "lock", sealed.holder(&lead).to_str().expect("a path"));
    sealed.until("it holds the lock", || room.has("ready"));
    sealed.kill_daemon();
    sealed.start_daemon();
    room.let_go();
    let ran = room.answer(&sealed);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_untouched(&sealed, "child");
}

/// A script that is executed as `perennial shim DIRECTORY`: the shell takes `shim` for a file.
const FAKE: &str = "exec setsid --wait bash -c 'exec -a perennial /bin/sh shim \"$0\"' \"$1\"";

#[track_caller]
fn fake_shim(dir: &Path, calls: &str) {
    std::fs::write(dir.join("shim"), format!("\"{PROGRAM}\" --json {calls}\n")).expect("a script");
}

#[test]
fn two_agents_in_one_chain_have_no_rights() {
    let fleet = Fleet::new();
    let holder = fleet.sealed.holder(&fleet.sealed.show("other"));
    for (calls, name) in [("ls", "looks"), ("stop other", "stops"), ("board post x", "posts")] {
        let room = Room::new(&fleet.sealed, name);
        fake_shim(&room.0, calls);
        let words = ["sh", "-c", FAKE, "sh", holder.to_str().expect("a path")];
        attacker(&fleet.sealed, name, &room, &fleet.sealed.root, &words);
        room.let_go();
        assert_refused(&room.answer(&fleet.sealed), "this process may not use Perennial");
    }
    fleet.assert_other_untouched();
}

/// Whoever executes something as a shim only loses by it.
#[test]
fn the_argv_of_a_shim_gives_a_person_nothing() {
    let fleet = Fleet::new();
    let sealed = &fleet.sealed;
    let holder = sealed.holder(&sealed.show("other"));
    for (calls, code) in [("ls", 0), ("stop other", 3), ("down", 3)] {
        fake_shim(&sealed.dir, calls);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", FAKE, "sh"]).arg(&holder).current_dir(&sealed.dir).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("PERENNIAL_HOME", &sealed.root);
        let ran = finish(command);
        assert_eq!(ran.code, code, "{calls}: {ran:?}");
    }
    fleet.assert_other_untouched();
}

/// A copy, a link and another name of the program; another name of the process, one that breaks off the fields
/// of /proc/PID/stat among them.
#[test]
fn other_names_of_program_and_process_do_not_help() {
    let fleet = Fleet::new();
    let copy = fleet.sealed.dir.join("systemd");
    std::fs::copy(PROGRAM, &copy).expect("a copy");
    let link = fleet.sealed.dir.join("init");
    std::os::unix::fs::symlink(PROGRAM, &link).expect("a link");
    let renamed = "printf '%s' \"$0\" > /proc/self/comm; \"$@\"";
    let as_init = "exec -a /sbin/init \"$@\"";
    for wrapper in [
        &["sh", "-c", "shift; exec \"$0\" \"$@\"", copy.to_str().unwrap()][..],
        &["sh", "-c", "shift; exec \"$0\" \"$@\"", link.to_str().unwrap()],
        &["sh", "-c", renamed, "systemd"],
        &["sh", "-c", renamed, "a) S 1 1 1 1"],
        &["bash", "-c", as_init, "bash"],
    ] {
        let ran = fleet.call(wrapper, &["stop", "other"]);
        assert_refused(&ran, "an agent may not");
    }
    fleet.assert_other_untouched();
}

/// Namespaces of its own: the kernel shows the daemon the whole chain all the same. Where they are not allowed,
/// there is nothing to refuse.
#[test]
fn namespaces_do_not_help() {
    let fleet = Fleet::new();
    for wrapper in [
        &["unshare", "--user", "--map-root-user"][..],
        &["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"],
    ] {
        let ran = fleet.call(wrapper, &["stop", "other"]);
        assert_ne!(ran.code, 0, "{wrapper:?}: {ran:?}");
        if !ran.stderr.starts_with("unshare:") {
            assert_refused(&ran, "an agent may not");
        }
    }
    fleet.assert_other_untouched();
}

/// A10: the daemon's pid namespace does not show the caller, so nothing is known of it but its user.
#[test]
fn a_caller_in_another_pid_namespace_is_a_viewer() {
    let sealed = Sealed::new();
    let mut daemon = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        daemon.args(["--user", "--map-root-user"]);
    }
    daemon.args(["--pid", "--fork", "--mount-proc", "--kill-child", PROGRAM, "up", "--foreground"]);
    daemon.env_clear().env("PERENNIAL_HOME", &sealed.root).env("PATH", "/usr/bin:/bin");
    daemon.env("HOME", &sealed.dir).stdin(std::process::Stdio::null());
    let daemon = daemon.stdout(std::process::Stdio::piped()).spawn().expect("unshare");
    let mut daemon = Ended(daemon);
    let mut said = [0; 1];
    let ready = daemon.0.stdout.as_mut().expect("a pipe").read(&mut said);
    assert_eq!(ready.expect("it speaks"), 1, "pid namespaces are not allowed here");
    sealed.ok(["ls"]);
    assert_eq!(sealed.health().identity.you, "viewer");
    let refused = sealed.refused(3, &["spawn", "x", "--", "true"]);
    assert!(refused.title.starts_with("a viewer may not"), "{refused:?}");
}

/// Shims and daemon can't be traced, and their memory, environment and descriptors can't be read.
#[test]
fn an_ordinary_user_can_not_trace_shim_or_daemon() {
    if !ordinary_user::inside("identity_attacks::an_ordinary_user_can_not_trace_shim_or_daemon") {
        return;
    }
    let sealed = Sealed::up();
    let agent = sealed.spawn("ada", "read x");
    for target in [sealed.shim(&agent), sealed.daemon()] {
        let pid = target.pid;
        // SAFETY: seizes a process of this test's own, or fails; no memory is passed.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
        let error = std::io::Error::last_os_error();
        assert_eq!((seized, error.raw_os_error()), (-1, Some(libc::EPERM)), "{pid}");
        for file in ["mem", "environ", "maps"] {
            let read = std::fs::File::open(format!("/proc/{pid}/{file}"));
            assert!(read.is_err(), "{pid}/{file}");
        }
        assert!(std::fs::read_dir(format!("/proc/{pid}/fd")).is_err(), "{pid}");
    }
}

/// A connection is its opener's, whoever writes to it; when the opener is gone, it is nobody's.
#[test]
fn a_connection_that_is_passed_on_stays_its_openers() {
    let sealed = Sealed::up();
    sealed.spawn("other", "read x");
    let room = Room::new(&sealed, "room");
    let listener = UnixListener::bind(room.file("pass")).expect("a socket");
    act(&sealed, "mole", &room, "pass", sealed.home.socket().to_str().expect("a path"));
    let (from, _) = listener.accept().expect("the attacker connects");
    let passed = received(&from);
    let mut passed = UnixStream::from(passed);
    assert!(asked_to_stop(&mut passed).starts_with("HTTP/1.1 403"), "by the living agent");
    let mole = sealed.show("mole").session.and_then(|session| session.pid).expect("a pid");
    processes::kill(processes::running(mole));
    let after = asked_to_stop(&mut passed);
    assert!(!after.starts_with("HTTP/1.1 2"), "{after}");
    assert_untouched(&sealed, "other");
}

fn asked_to_stop(stream: &mut UnixStream) -> String {
    let head = "POST /v1/agents/other/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    let mut answer = [0; 64];
    let written = stream.write_all(head.as_bytes());
    let count = written.and_then(|()| stream.read(&mut answer)).unwrap_or(0);
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

/// The one descriptor that is passed over a socket.
fn received(from: &UnixStream) -> OwnedFd {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut into = [std::io::IoSliceMut::new(&mut byte)];
    recvmsg(from, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC).expect("a message");
    let found = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    found.expect("a descriptor")
}

/// It moves into the cgroup of another session: two agents, so no rights. Where there are no cgroups, it has
/// nowhere to go.
#[test]
fn moving_into_anothers_cgroup_does_not_help() {
    if cgroup::available().is_err() {
        return;
    }
    let fleet = Fleet::new();
    let sealed = &fleet.sealed;
    let cgroups = sealed.cgroups();
    let [of_other] = &cgroups[..] else { panic!("one session, one cgroup: {cgroups:?}") };
    let file = of_other.join("cgroup.procs");
    let moved = "echo $$ > \"$0\" || exit 99; exec \"$@\"";
    let ran = fleet.call(&["sh", "-c", moved, file.to_str().expect("a path")], &["stop", "other"]);
    assert_refused(&ran, "this process may not use Perennial");
    fleet.assert_other_untouched();
}

/// A6. Root is nobody's exception; an ordinary user can't make a directory of another one, and links to one.
#[test]
fn a_home_of_another_user_is_not_used() {
    let sealed = Sealed::up();
    sealed.ok(["down"]);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let other = Some(ordinary_user::UID);
        std::os::unix::fs::chown(&sealed.home.state, other, other).expect("root gives it away");
    } else {
        std::fs::remove_dir_all(&sealed.home.state).expect("it is ours");
        std::os::unix::fs::symlink("/usr", &sealed.home.state).expect("a link");
    }
    for verb in [&["up"][..], &["daemon"], &["ls"], &["spawn", "x", "--", "true"], &["doctor"]] {
        let problem = sealed.refused(3, verb);
        assert_eq!(problem.kind, "not-your-home", "{verb:?}: {problem:?}");
        assert!(problem.detail.contains("belongs to another user"), "{problem:?}");
    }
    for verb in [&["hook", "Stop"][..], &["mcp"], &["statusline"]] {
        assert_ne!(sealed.run(verb).code, 0, "{verb:?}");
    }
}

/// A6. Whoever listens is asked for its user before anything is sent. Only root can be two users.
#[test]
fn nothing_is_sent_to_another_users_listener() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sealed = Sealed::new();
    sealed.home.create().expect("a home");
    let room = tempfile::tempdir().expect("a room");
    let uid = Some(ordinary_user::UID);
    std::os::unix::fs::chown(room.path(), uid, uid).expect("root gives it away");
    let mut listener = ordinary_user::runs(&std::env::current_exe().expect("this program"));
    listener.args(["--exact", "identity_attacks::acts_for_another_test", "--ignored"]);
    listener.env(ATTACK, "listen").env(ROOM, room.path()).env(VICTIM, "");
    listener.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut listener =
        Ended(listener.stderr(std::process::Stdio::null()).spawn().expect("setpriv"));
    let path = room.path().join("sock");
    sealed.until("it listens", || room.path().join("ready").exists());
    std::os::unix::fs::symlink(&path, sealed.home.socket()).expect("a link");
    for verb in [&["spawn", "x", "--env", "SECRET=1", "--", "true"][..], &["ls"], &["up"]] {
        let problem = sealed.refused(3, verb);
        assert_eq!(problem.kind, "not-your-home", "{verb:?}: {problem:?}");
    }
    let _hooks_are_silent = sealed.run(["hook", "Stop"]);
    std::fs::write(room.path().join("go"), "").expect("a file");
    UnixStream::connect(&path).expect("the last one");
    listener.0.wait().expect("ours to wait for");
    let heard = std::fs::read_to_string(room.path().join("heard")).expect("a count");
    assert_eq!(heard, "0", "bytes that another user's listener got");
}

/// An agent of the same user listens in the daemon's place: a person's commands send it nothing.
#[test]
fn nothing_is_sent_to_an_agents_listener() {
    let sealed = Sealed::up();
    let room = Room::new(&sealed, "room");
    act(&sealed, "mole", &room, "listen", "");
    sealed.until("it listens", || room.has("ready"));
    let (own, kept) = (sealed.home.socket(), sealed.home.state.join("sock.kept"));
    sealed.kill_daemon();
    let _gone = std::fs::rename(&own, &kept);
    std::os::unix::fs::symlink(room.file("sock"), &own).expect("a link");
    for verb in [&["spawn", "x", "--env", "SECRET=1", "--", "true"][..], &["ls"], &["up"]] {
        let problem = sealed.refused(3, verb);
        assert_eq!(problem.kind, "not-your-home", "{verb:?}: {problem:?}");
        assert!(problem.detail.contains("inside an agent's session"), "{problem:?}");
    }
    // Nor is anybody waited for who listens as a daemon that is being replaced.
    std::fs::remove_file(&own).expect("the link");
    std::os::unix::fs::symlink(room.file("sock"), sealed.home.swap_socket()).expect("a link");
    assert_eq!(sealed.refused(5, &["ls"]).kind, "no-daemon");
    room.let_go();
    UnixStream::connect(room.file("sock")).expect("the last one");
    sealed.until("it has counted", || room.has("heard"));
    let heard = std::fs::read_to_string(room.file("heard")).expect("a count");
    assert_eq!(heard, "0", "bytes that an agent's listener got");
    std::fs::remove_file(sealed.home.swap_socket()).expect("the link");
    sealed.start_daemon();
}

/// The socket leads to the daemon of another home: it holds another lock, and gets nothing.
#[test]
fn nothing_is_sent_to_the_daemon_of_another_home() {
    let (sealed, other) = (Sealed::up(), Sealed::up());
    sealed.kill_daemon();
    let own = sealed.home.socket();
    let _gone = std::fs::remove_file(&own);
    std::os::unix::fs::symlink(other.home.socket(), &own).expect("a link");
    for verb in [&["spawn", "x", "--env", "SECRET=1", "--", "true"][..], &["ls"], &["up"]] {
        let problem = sealed.refused(3, verb);
        assert_eq!(problem.kind, "not-your-home", "{verb:?}: {problem:?}");
        assert!(problem.detail.contains("not the daemon of this home"), "{problem:?}");
    }
    assert!(other.ls().is_empty());
    std::fs::remove_file(&own).expect("the link");
    sealed.start_daemon();
}

/// Namespaces and mounts that hide the holders, or what is above it, let no daemon start. Where they are not
/// allowed, there is nothing to refuse.
#[test]
fn an_agent_that_hides_its_holder_starts_no_daemon() {
    let sealed = Sealed::up();
    let other = sealed.spawn("other", "read x");
    let shim = sealed.shim(&other).pid;
    let script = format!(
        "pid=\"unshare --user --map-current-user --pid --fork --kill-child --mount-proc\"
         mount=\"unshare --user --map-root-user --mount\"
         tmpfs='mount -t tmpfs tmpfs /proc && exec \"$P\" daemon'
         bind='for n in /proc/[0-9]*; do
                 [ \"$(cut -d\" \" -f6 $n/stat)\" = ${{n#/proc/}} ] && mount --bind /proc/{shim}/fdinfo/0 $n/cmdline
               done 2> /dev/null; exec \"$P\" daemon'
         for words in \"$pid $P up\" \"$pid $P daemon\"; do
            timeout 20 setsid --wait $words; echo \"rc=$?\"; done
         timeout 20 $mount sh -c \"$tmpfs\"; echo \"rc=$?\"
         timeout 20 $mount sh -c \"$bind\"; echo \"rc=$?\""
    );
    let room = Room::new(&sealed, "room");
    let program = format!("P={PROGRAM}");
    attacker(&sealed, "mole", &room, &sealed.root, &["env", &program, "sh", "-c", &script]);
    sealed.kill_daemon();
    room.let_go();
    sealed.until("the calls are over", || room.has("code"));
    let [out, err] = ["out", "err"].map(|file| std::fs::read_to_string(room.file(file)).unwrap());
    let codes: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("rc=")).collect();
    assert_eq!(codes.len(), 4, "{out}{err}");
    // 124: it ran until it was ended.
    assert!(codes.iter().all(|code| !["0", "124"].contains(code)), "{out}{err}");
    let refusals =
        ["a daemon can't run here", "can't be started from here", "unshare: ", "mount: "];
    let refused: usize = refusals.iter().map(|refusal| err.matches(refusal).count()).sum();
    assert_eq!(refused, 4, "{err}");
    sealed.start_daemon();
    assert_untouched(&sealed, "mole");
    assert_untouched(&sealed, "other");
}

/// From a namespace of its own an agent sees no daemon that could say who it is: that is no consent. Where namespaces are
/// not allowed, there is nothing to refuse.
#[test]
fn an_agent_that_hides_itself_changes_no_configuration() {
    let sealed = Sealed::up();
    let script = "hidden='unshare --user --map-current-user --pid --fork --kill-child --mount-proc'
        export EDITOR=true
        $hidden \"$0\" config edit >> said 2>&1 < /dev/null; echo rc=$? >> said
        $hidden \"$0\" export carried >> said 2>&1 < /dev/null; echo rc=$? >> said
        echo end >> said; read x";
    sealed.ok(["spawn", "mole", "--", "/bin/sh", "-c", script, PROGRAM]);
    let said = || std::fs::read_to_string(sealed.dir.join("said")).unwrap_or_default();
    sealed.until("both are over", || said().ends_with("end\n"));
    assert!(!said().contains("rc=0"), "{}", said());
    assert!(!sealed.dir.join("carried").exists());
}

/// Runs this test program in an agent's session, as an attacker of this kind.
#[track_caller]
fn act(sealed: &Sealed, name: &str, room: &Room, attack: &str, victim: &str) -> Agent {
    let variables = [(ATTACK, attack), (ROOM, room.path()), (VICTIM, victim)];
    let variables = variables.map(|(name, value)| format!("{name}={value}"));
    let home = format!("PERENNIAL_HOME={}", sealed.root.display());
    let program = std::env::current_exe().expect("this program");
    let mut argv = vec!["/usr/bin/env", "-i", &home];
    argv.extend(variables.iter().map(String::as_str));
    argv.extend([program.to_str().expect("a path"), "--exact", "--ignored", "--nocapture"]);
    argv.push("identity_attacks::acts_for_another_test");
    sealed.spawn_with(&[name, "--restart", "never"], &argv)
}

#[test]
#[ignore = "the attacker's process"]
fn acts_for_another_test() {
    let (Ok(attack), Ok(room)) = (std::env::var(ATTACK), std::env::var(ROOM)) else { return };
    let (room, victim) = (Room(room.into()), std::env::var(VICTIM).expect("a victim"));
    match attack.as_str() {
        "lock" => holds_a_lock(&room, Path::new(&victim)),
        "pass" => passes_a_connection(&room, Path::new(&victim)),
        "listen" => listens(&room),
        other => panic!("no attack is called {other}"),
    }
}

fn wait_for(file: &Path) {
    while !file.exists() {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

/// Puts a lock file of its own into the place of a holder's, and locks it.
fn holds_a_lock(room: &Room, holder: &Path) {
    let lock = holder.join("lock");
    std::fs::rename(&lock, holder.join("lock.old")).expect("moved away");
    let flags = OFlags::RDWR | OFlags::CREATE;
    let file = openat(CWD, &lock, flags, Mode::RUSR | Mode::WUSR).expect("a file");
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("locked");
    std::fs::write(room.file("ready"), "").expect("a file");
    wait_for(&room.file("go"));
    let ran = Command::new(PROGRAM).args(["--json", "stop", "child"]).output().expect("it runs");
    std::fs::write(room.file("err"), ran.stderr).expect("a file");
    std::fs::write(room.file("code.new"), format!("{}", ran.status.code().unwrap_or(-1)))
        .expect("a file");
    std::fs::rename(room.file("code.new"), room.file("code")).expect("renamed");
    wait_for(&room.file("never"));
}

/// Opens a connection to the daemon and hands it to the test.
fn passes_a_connection(room: &Room, socket: &Path) {
    let address = SocketAddress::of(socket).expect("an address");
    let connection = UnixStream::connect(address.path()).expect("the daemon listens");
    let to = UnixStream::connect(room.file("pass")).expect("the test listens");
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [connection.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let bytes = [std::io::IoSlice::new(b"x")];
    sendmsg(&to, &bytes, &mut control, SendFlags::empty()).expect("sent");
    wait_for(&room.file("never"));
}

/// Listens in the daemon's place, and counts what it is sent.
fn listens(room: &Room) {
    let listener = UnixListener::bind(room.file("sock")).expect("a socket");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(room.file("sock"), open).expect("for everybody");
    std::fs::write(room.file("ready"), "").expect("a file");
    let mut heard = 0;
    for stream in listener.incoming() {
        let mut bytes = Vec::new();
        let _broken = stream.expect("a connection").read_to_end(&mut bytes);
        heard += bytes.len();
        if room.has("go") {
            break;
        }
    }
    std::fs::write(room.file("heard"), heard.to_string()).expect("a file");
}
