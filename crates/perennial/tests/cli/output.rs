//! What agents print is hostile: floods, endless lines, NULs, broken text. Memory and disk stay
//! bounded, and `logs` works.

use std::process::Stdio;

use perennial_engine::host::holders::RECORD_LIMIT_BYTES;

use crate::processes::peak_bytes;
use crate::sealed::Sealed;

/// A line of 100 MB, then a flood of short ones.
const FLOOD: &str = "read go; head -c 104857600 /dev/zero | tr '\\0' x
    yes flood | head -c 20000000
    printf '\\n\\000\\377 the end\\n'
    echo done > \"$0\"
    sleep 1000";

const MIB: u64 = 1 << 20;

#[test]
fn a_flood_with_a_100_mb_line_leaves_memory_and_recording_bounded() {
    let sealed = Sealed::up();
    let daemon = sealed.daemon();
    let done = sealed.dir.join("done");
    let path = done.display().to_string();
    let agent = sealed.spawn_with(&["flood"], &["/bin/sh", "-c", FLOOD, &path]);
    // Somebody who follows and never reads what comes.
    let mut command = sealed.command(["logs", "flood", "--follow"]);
    let mut lazy = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    sealed.ok(["send", "flood", "go"]);
    sealed.until("the flood is over", || done.exists());
    let shim = peak_bytes(sealed.shim(&agent).pid);
    let logs = logs(&sealed, &["logs", "flood", "--raw"]);
    assert!(contains(&logs, b"\0\xff the end"), "the newest output is kept");
    let recorded = recorded_bytes(&sealed.holder(&agent).join("s1"));
    let daemon = peak_bytes(daemon.pid);
    println!("peaks: shim {shim} B, daemon {daemon} B; recorded {recorded} B of {}", logs.len());
    // The touched pages of the program itself, not optimised here, count too.
    assert!(shim < 16 * MIB, "the shim had {shim} bytes");
    assert!(daemon < 64 * MIB, "the daemon had {daemon} bytes");
    assert!(recorded <= RECORD_LIMIT_BYTES + MIB, "{recorded} bytes are recorded");
    assert!(recorded >= RECORD_LIMIT_BYTES / 4, "{recorded} bytes are recorded");
    assert_eq!(sealed.show("flood").state, "working");
    drop(lazy.stdout.take());
    lazy.wait().expect("it ends when nobody reads");
}

#[test]
fn nul_bytes_and_broken_text_are_printed_as_they_were() {
    let sealed = Sealed::up();
    let script = "stty raw; printf 'a\\000b\\377\\376\\033]0;title\\007c'; exit 0";
    sealed.spawn_with(&["bytes", "--restart", "never"], &["/bin/sh", "-c", script]);
    sealed.watch().ended("bytes", 1);
    let bytes = b"a\0b\xff\xfe\x1b]0;title\x07c";
    assert_eq!(logs(&sealed, &["logs", "bytes", "--raw"]), bytes);
    assert_eq!(logs(&sealed, &["logs", "bytes"]), b"abc\n");
    // In a terminal nothing of it may act: no title, no raw controls.
    let mut terminal = crate::terminal::Terminal::run(sealed.command(["logs", "bytes"]));
    let shown = terminal.wait("c") + &terminal.end().stdout;
    assert!(!shown.contains("title") && !shown.contains('\0'), "{shown:?}");
}

#[test]
fn earlier_sessions_keep_their_recordings() {
    let sealed = Sealed::up();
    let script = "touch \"$0/$$\"; echo number $(ls \"$0\" | wc -l); read x";
    let dir = sealed.dir.join("count");
    std::fs::create_dir(&dir).expect("a directory");
    let agent =
        sealed.spawn_with(&["counts"], &["/bin/sh", "-c", script, dir.to_str().expect("a path")]);
    let mut watch = sealed.watch();
    sealed.until("it has printed", || !logs(&sealed, &["logs", "counts"]).is_empty());
    crate::processes::kill(crate::processes::running(crate::sealed::pid(&agent)));
    watch.running("counts", 2);
    sealed.until("it has printed again", || !logs(&sealed, &["logs", "counts"]).is_empty());
    assert_eq!(logs(&sealed, &["logs", "counts", "--session", "1"]), b"number 1\n");
    assert_eq!(logs(&sealed, &["logs", "counts", "--session", "2"]), b"number 2\n");
    assert_eq!(logs(&sealed, &["logs", "counts"]), b"number 2\n");
    assert_eq!(sealed.refused(4, &["logs", "counts", "--session", "3"]).kind, "no-such-session");
}

/// The bytes of `logs`, as they came.
fn logs(sealed: &Sealed, args: &[&str]) -> Vec<u8> {
    let output = sealed.command(args).stdin(Stdio::null()).output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn recorded_bytes(dir: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(dir).expect("a session's directory").flatten();
    let recordings = files.filter(|file| file.file_name().to_string_lossy().starts_with("rec."));
    recordings.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}
