//! Attacks on the reader's terminal: whatever an agent prints, writes or is called, nothing of it acts
//! where a person reads it, as text or as JSON, in a terminal or through a pipe.

use crate::sealed::Sealed;
use crate::terminal::Terminal;

/// What a program prints, and what of it a reader may see.
const PRINTED: [(&str, &[u8], &str); 12] = [
    ("window title", b"a\x1b]0;owned\x07b", "ab"),
    ("window title, ended by ST", b"a\x1b]2;owned\x1b\\b", "ab"),
    ("clipboard", b"a\x1b]52;c;ZWNobyBvd25lZA==\x07b", "ab"),
    ("hyperlink", b"a\x1b]8;;file:///etc/passwd\x1b\\b\x1b]8;;\x1b\\", "ab"),
    ("device control", b"a\x1bP$q\"p\x1b\\b\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\", "ab"),
    ("application command", b"a\x1b_Gf=100;AAAA\x1b\\b\x1b^private\x1b\\\x1bXstart\x1b\\", "ab"),
    ("window operations", b"a\x1b[3;0;0t\x1b[8;5;5t\x1b[21t\x1b[22;0tb", "ab"),
    (
        "queries that a terminal answers",
        b"a\x1b[6n\x1b[c\x1b[>q\x1b[?2004$p\x1b]11;?\x07\x05b",
        "ab",
    ),
    ("8-bit controls", b"a\x9b31m\xc2\x9b2J\xc2\x9d0;title\xc2\x9cb", "b"),
    ("keyboard and paste modes", b"a\x1b[?2004h\x1b[200~\x1b[201~\x1b[>1u\x1b[?1003h\x1b=b", "ab"),
    (
        "marks that reorder or hide",
        "a\u{202e}\u{61c}\u{2066}\u{200b}\u{e0041}\u{feff}b".as_bytes(),
        "ab",
    ),
    ("a string without an end", b"ab\x1b]0;owned for ever", "ab"),
];

/// What a person or an agent may write into texts.
const WRITTEN: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[201~\u{9b}31m\u{9d}52;c;x\u{9c}\u{7f}\u{8}\
    \u{202e}\u{61c}\u{2066}\u{200b}\u{e0041}\u{fe01}b";

/// Nothing but text, line ends and colours.
#[track_caller]
fn assert_harmless(what: &str, shown: &str) {
    let mut rest = shown.to_owned();
    while let Some(at) = rest.find("\x1b[") {
        let end = rest[at + 2..].find(|c: char| !c.is_ascii_digit() && c != ';');
        let end = end.map_or(rest.len(), |end| at + 2 + end);
        assert!(rest[end..].starts_with('m'), "{what}: {shown:?}");
        rest.replace_range(at..=end, "");
    }
    let is_harmful = |c: char| match c {
        '\n' | '\r' => false,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2066}'..='\u{2069}' | '\u{fe01}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    };
    assert!(!rest.contains(is_harmful), "{what}: {shown:?}");
}

/// Runs a verb through pipes and in a terminal, plain and as JSON, and looks at all that it prints.
#[track_caller]
fn assert_verb_harmless(sealed: &Sealed, args: &[&str]) {
    for json in [&[][..], &["--json"]] {
        let args = [json, args].concat();
        let ran = sealed.run(&args);
        assert_harmless(&format!("{args:?}"), &(ran.stdout.clone() + &ran.stderr));
        if !json.is_empty() {
            let told = if ran.code == 0 { &ran.stdout } else { &ran.stderr };
            let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
            assert!(told.lines().all(is_json), "{args:?}: {ran:?}");
        }
        let mut command = sealed.command(&args);
        command.env("PAGER", "cat");
        let shown = Terminal::run(command).end();
        assert_harmless(&format!("{args:?} in a terminal"), &shown.stdout);
    }
}

#[test]
fn nothing_that_a_program_prints_acts_on_whoever_reads_it() {
    let sealed = Sealed::up();
    let file = sealed.dir.join("bytes");
    let path = file.to_str().expect("a path");
    for (index, (attack, bytes, expected)) in PRINTED.into_iter().enumerate() {
        std::fs::write(&file, bytes).expect("written");
        let name = format!("evil{index}");
        let program = ["/bin/sh", "-c", "stty -opost -echo; cat \"$0\"; echo .; read x", path];
        sealed.spawn_with(&[&name], &program);
        let is_printed = || sealed.ok(["logs", &name, "--raw"]).ends_with(".\n");
        sealed.until("it has printed", is_printed);
        let shown = sealed.ok(["logs", &name]);
        assert!(shown.contains(expected) && !shown.contains("owned"), "{attack}: {shown:?}");
        for args in [&["logs", &name][..], &["screen", &name], &["screen", &name, "--ansi"]] {
            assert_verb_harmless(&sealed, args);
        }
        sealed.ok(["stop", &name]);
    }
}

#[test]
fn nothing_that_is_written_acts_on_whoever_reads_it() {
    let sealed = Sealed::up();
    let dir = sealed.dir.join("d\u{1b}]0;owned\u{7}\u{202e}\u{e0041}");
    std::fs::create_dir(&dir).expect("a directory");
    let dir = dir.to_str().expect("a path");
    sealed.spawn_with(&["bob", "--dir", dir], &["/bin/sh", "-c", "read x", WRITTEN]);
    sealed.ok(["board", "post", "-s", "\u{202e}\u{61c}title", WRITTEN]);
    sealed.ok(["send", "bob", WRITTEN]);
    sealed.spawn_with(&["ada"], &["/bin/cat"]);
    sealed.ok(["bury", "ada", "--summary", WRITTEN]);
    for args in [
        &["ls", "--all"][..],
        &["show", "bob"],
        &["why", "bob"],
        &["why", "ada"],
        &["sent", "bob"],
        &["events"],
        &["board", "ls"],
        &["doctor"],
    ] {
        assert_verb_harmless(&sealed, args);
    }
}

#[test]
fn nothing_that_an_error_quotes_acts_on_whoever_reads_it() {
    let sealed = Sealed::up();
    for args in [
        &["show", WRITTEN][..],
        &["logs", WRITTEN],
        &["screen", WRITTEN],
        &["spawn", WRITTEN, "--", "true"],
        &["spawn", "x", "--dir", WRITTEN, "--", "true"],
        &["spawn", "x", "--", WRITTEN],
        &["logs", "x", "--since", WRITTEN],
        &["--\u{1b}]0;owned\u{7}\u{202e}"],
    ] {
        assert_verb_harmless(&sealed, args);
    }
}
