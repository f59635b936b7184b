//! `demo --once`: the whole story, checked by the demo itself, and nothing left of it.

use std::path::Path;

use crate::sealed::Sealed;

/// Where the tests' own tool installs the real agent CLI.
const CLAUDE: &str =
    ".cache/perennial-test-tools/node_modules/@anthropic-ai/claude-code/bin/claude.exe";

/// Plays it to its end with this `PATH`; what was told.
#[track_caller]
fn played(sealed: &Sealed, path: &str) -> String {
    let mut command = sealed.command(["demo", "--once"]);
    let temporary = sealed.dir.join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    // What would lead a client astray to somebody's real account must not reach it.
    command.env("TMPDIR", &temporary).env("PATH", path).env("ANTHROPIC_AUTH_TOKEN", "astray");
    let ran = crate::sealed::finish(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    for word in ["killed", "adopt", "session 2"] {
        assert!(ran.stdout.contains(word), "no {word:?} in {}", ran.stdout);
    }
    assert!(!sealed.root.exists(), "the person's own home is not touched");
    let left: Vec<_> = std::fs::read_dir(&temporary).expect("it is there").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let marks = temporary.display().to_string();
    let stray = perennial_engine::host::process::pids()
        .map(|pid| (pid, crate::processes::argv(pid)))
        .find(|(_, argv)| argv.iter().any(|word| word.contains(&marks)));
    assert_eq!(stray, None);
    ran.stdout
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("it is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_demo_ends_by_itself_and_leaves_nothing() {
    let sealed = Sealed::new();
    let told = played(&sealed, "/nowhere");
    assert!(told.contains("Skipped: the scene with a real agent CLI; claude not found in PATH"));
    assert!(!told.contains("margaret"), "{told}");
}

#[test]
fn with_a_real_agent_cli_it_has_one_more_scene() {
    let sealed = Sealed::new();
    let claude = std::env::home_dir().unwrap_or_default().join(CLAUDE);
    assert!(claude.exists(), "no Claude Code at {}", claude.display());
    let bin = sealed.dir.join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    std::os::unix::fs::symlink(claude, bin.join("claude")).expect("linked");
    let told = played(&sealed, &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    for words in ["spawn margaret --harness claude", "in the same conversation", "interrupted"] {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
    let mut left = entries(&sealed.dir);
    left.sort();
    assert_eq!(left, ["bin", "temporary"], "the person's own files are not touched");
}

/// A version that nobody has tried is not tried in front of a person either.
#[test]
fn another_version_of_the_agent_cli_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sealed = Sealed::new();
    let bin = sealed.dir.join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    let old = "#!/bin/sh\necho '1.0.3 (Claude Code)'\n";
    std::fs::write(bin.join("claude"), old).expect("written");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("claude"), executable).expect("made executable");
    let told = played(&sealed, &format!("{}:/usr/bin:/bin", bin.display()));
    assert!(told.contains("is '1.0.3'") && !told.contains("margaret"), "{told}");
}
