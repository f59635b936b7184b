//! `spawn`: what a session gets, what is kept of it, and who gets a name.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::own_harness::own_harness;
use crate::sealed::{Sealed, ended, pid};
use crate::terminal::Terminal;

const SECRET: &str = "hunter2-and-more";

#[test]
fn a_session_gets_its_callers_environment_and_nobody_keeps_its_values() {
    let sealed = Sealed::up();
    let dir = sealed.dir.join("place");
    std::fs::create_dir(&dir).expect("a directory");
    let out = sealed.dir.join("out").display().to_string();
    let script = "{ pwd; ulimit -n; tty > /dev/null && echo terminal; env; } > \"$0.new\"; mv \"$0.new\" \"$0\"; read x";
    let given = format!("TOKEN={SECRET}");
    let options =
        ["ada", "--dir", dir.to_str().expect("a path"), "--env", &given, "--env", "EMPTY="];
    let argv = ["/bin/sh", "-c", script, &out];
    let mut command = sealed.command([&["--json", "spawn"], &options[..], &["--"], &argv].concat());
    command.env("INHERITED", "yes").env("TMUX", "/tmp/mine").env("PERENNIAL_AGENT", "agt_forged");
    assert_eq!(crate::sealed::finish(command).code, 0);
    sealed.until("it has looked around", || Path::new(&out).exists());
    let seen = std::fs::read_to_string(&out).expect("what it saw");
    let agent = sealed.show("ada");
    let session = agent.session.as_ref().expect("a session").id.clone();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], dir.to_str().expect("a path"));
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    assert_eq!(lines[1], limit.map_or_else(|| "unlimited".to_owned(), |most| most.to_string()));
    for line in [
        "terminal",
        &given,
        "EMPTY=",
        "INHERITED=yes",
        &format!("PERENNIAL_AGENT={}", agent.id),
        &format!("PERENNIAL_SESSION={session}"),
        &format!("PERENNIAL_HOME={}", sealed.root.display()),
    ] {
        assert!(lines.contains(&line), "no {line} in {seen}");
    }
    assert!(!seen.contains("TMUX="), "{seen}");
    assert_eq!(agent.env_names, ["EMPTY", "TOKEN"]);
    let env = sealed.holder(&agent).join("env");
    assert_eq!(env.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    sealed.ok(["stop", "ada"]);
    sealed.ok(["down"]);
    assert_eq!(holding_secret(&sealed.root), [env]);
}

/// Every file below that holds the secret.
fn holding_secret(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding_secret(&path));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

/// The program was once taken for the name, and its first argument for the program.
#[test]
fn a_missing_name_is_named() {
    let sealed = Sealed::up();
    for argv in [&["bash"][..], &["bash", "-l"]] {
        let problem = sealed.refused(2, &[&["spawn", "--"], argv].concat());
        assert_eq!(problem.title, "the agent's name is missing");
        assert!(problem.next.ends_with(&format!("spawn bob -- {}", argv.join(" "))), "{problem:?}");
    }
    assert!(sealed.ls().is_empty());
}

/// X-06: a person with one agent CLI need not name it; with several, they say which.
#[test]
fn without_a_command_the_installed_agent_cli_is_meant() {
    let sealed = Sealed::up();
    let none = sealed.refused(2, &["spawn", "bob"]);
    assert!(none.kind == "no-agent-cli" && none.detail.contains("claude"), "{none:?}");
    own_harness(&sealed, "read x", str::to_owned);
    sealed.ok(["spawn", "bob"]);
    assert_eq!(sealed.show("bob").harness, "claude");
    let presets = sealed.home.config.join("harness");
    std::fs::copy(presets.join("claude.toml"), presets.join("own.toml")).expect("copied");
    let several = sealed.refused(2, &["spawn", "eve"]);
    assert_eq!(
        (several.kind.as_str(), several.detail.as_str()),
        ("which-agent-cli", "claude, own")
    );
    let mut terminal = Terminal::run(sealed.command(["spawn", "eve"]));
    terminal.wait("which one? ");
    terminal.type_keys("2\r");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(sealed.show("eve").harness, "own");
}

#[test]
fn one_of_ten_gets_the_name() {
    let sealed = Sealed::up();
    let spawns: Vec<_> = (0..10)
        .map(|n| {
            let name = if n % 2 == 0 { "bob" } else { "BOB" };
            let mut command = sealed.command(["--json", "spawn", name, "--", "sleep", "1000"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
        })
        .collect();
    let codes: Vec<i32> = spawns.into_iter().map(|child| ended(child, "spawn").code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 3).count(), 9, "{codes:?}");
    assert_eq!(sealed.ls().len(), 1);
    assert_eq!(sealed.marked(&sealed.show("bob")).len(), 1);
    let holders = std::fs::read_dir(sealed.home.holders()).expect("a directory").count();
    assert_eq!(holders, 1, "nothing is left of those who were not born");
}

#[test]
fn spawn_returns_when_the_program_runs() {
    let sealed = Sealed::up();
    let agent = sealed.spawn_with(&["sleeper"], &["sleep", "1000"]);
    let argv = crate::processes::argv(pid(&agent).cast_signed());
    assert_eq!(argv, ["sleep", "1000"], "the program itself, not something before it");
    // The caller may go, with its terminal: a session is nobody's but its shim's.
    let found = sealed.processes();
    let session =
        found.iter().find(|one| one.process.pid == pid(&agent).cast_signed()).expect("it runs");
    assert_eq!(session.parent, sealed.shim(&agent).pid);
}

/// A prompt that nobody would ever get is refused, not dropped.
#[test]
fn what_only_an_agent_cli_can_use_is_refused_for_a_bare_command() {
    let sealed = Sealed::up();
    for options in [
        &["--prompt", "hi"][..],
        &["--model", "opus"],
        &["--permission-mode", "plan"],
        &["--trust"],
        &["--harness", "command", "--prompt", "hi"],
    ] {
        let problem = sealed.refused(2, &[&["spawn", "bob"], options, &["--", "cat"]].concat());
        assert_eq!(problem.kind, "needs-harness", "{options:?}: {problem:?}");
        assert!(problem.title.ends_with("needs --harness"), "{problem:?}");
    }
    assert!(sealed.ls().is_empty());
}

#[test]
fn an_agent_cli_that_is_not_there_says_what_to_install() {
    let sealed = Sealed::up();
    let absent = sealed.refused(3, &["spawn", "bob", "--harness", "claude"]);
    assert!(absent.next.contains("install claude"), "{absent:?}");
    let unknown = sealed.refused(3, &["spawn", "bob", "--harness", "foo"]);
    assert!(unknown.detail.contains("claude") && !unknown.detail.contains("foo"), "{unknown:?}");
    sealed.spawn("bob", "read x");
    let taken = sealed.refused(3, &["spawn", "bob", "--", "cat"]);
    assert!(taken.next.contains("perennial show bob"), "{taken:?}");
}

#[test]
fn a_variable_without_a_value_is_taken_from_the_caller() {
    let sealed = Sealed::up();
    let script = ["/bin/sh", "-c", "echo \"<$WINDOWID>\"; read x"];
    // It is not inherited by itself: it describes the caller's terminal.
    let args = ["--json", "spawn", "bob", "--env", "WINDOWID", "--"];
    let mut command = sealed.command(args.iter().chain(&script));
    let spawned = crate::sealed::finish({
        command.env("WINDOWID", "7");
        command
    });
    assert_eq!(spawned.code, 0, "{spawned:?}");
    sealed.until("it has printed", || sealed.ok(["logs", "bob"]).contains("<7>"));
    let line = ["spawn", "eve", "--env", "s3cr3t", "--", "true"];
    let problem = sealed.refused(2, &line);
    assert_eq!(problem.title, "--env names a variable that is not set");
    assert!(!format!("{problem:?}").contains("s3cr3t"), "it may be a secret");
    let named = sealed.refused(2, &["spawn", "eve", "--env", "NO_SUCH", "--", "true"]);
    assert_eq!(named.title, "--env NO_SUCH: that variable is not set");
    assert_eq!(sealed.ls().len(), 1);
}

/// What an agent CLI could not work with is known before it is born: nothing is left that retries.
#[test]
fn a_blank_prompt_and_reserved_arguments_are_refused_and_leave_no_agent() {
    let sealed = Sealed::up();
    for argument in ["-p", "--session-id", "--resume=x", "--continue", "--settings"] {
        let args = ["spawn", "ada", "--harness", "claude", "--", argument];
        let problem = sealed.refused(2, &args);
        assert_eq!(problem.kind, "reserved-argument", "{argument}: {problem:?}");
        assert!(!problem.next.is_empty(), "{problem:?}");
    }
    for prompt in ["", " \n"] {
        let problem =
            sealed.refused(2, &["spawn", "ada", "--harness", "claude", "--prompt", prompt]);
        assert_eq!(problem.kind, "bad-prompt", "{problem:?}");
    }
    assert!(sealed.ls().is_empty());
}
