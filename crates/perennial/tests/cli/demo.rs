//! `demo --once`: the whole story, checked by the demo itself, and nothing left of it.

use crate::sealed::Sealed;

#[test]
fn the_demo_ends_by_itself_and_leaves_nothing() {
    let sealed = Sealed::new();
    let mut command = sealed.command(["demo", "--once"]);
    let temporary = sealed.dir.join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    command.env("TMPDIR", &temporary);
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
}
