//! `doctor`: what it checks, with and without a daemon. And every exit code.

use serde_json::Value;

use crate::claude::Stage;
use crate::sealed::Sealed;

#[test]
fn doctor_works_with_and_without_a_daemon() {
    let sealed = Sealed::new();
    let ran = sealed.run(["doctor", "--json"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    sealed.start_daemon();
    let report: Value = sealed.json(&["doctor"]);
    let findings = report["findings"].as_array().expect("findings");
    let verdict = |what: &str| {
        findings
            .iter()
            .find(|finding| finding["what"] == what)
            .map(|finding| finding["verdict"].clone())
    };
    for what in ["home", "daemon", "store", "agents", "identity"] {
        assert_eq!(verdict(what), Some("ok".into()), "{what}: {report:#}");
    }
    // Whether there are cgroups depends on the machine; doctor says which.
    assert!(verdict("cgroup").is_some());
    assert_eq!(report["health"]["identity"]["you"], "person");
    assert!(sealed.ok(["doctor"]).contains("identified as: person"));
}

/// Which agent CLIs there are, their versions, what works with each; and a configuration's faults.
#[test]
fn doctor_knows_agent_clis_and_reads_the_configuration() {
    let stage = Stage::with_config("notifi = []\n");
    let asked = stage.command(&["doctor", "--json"]).output().expect("it runs");
    let report: Value = serde_json::from_slice(&asked.stdout).expect("a report");
    let text = |what: &str| {
        let findings = report["findings"].as_array().expect("findings");
        let found = findings.iter().find(|finding| finding["what"] == what);
        found.map(|finding| finding["text"].to_string()).unwrap_or_default()
    };
    let cli = text("agent cli");
    for word in ["claude 2.1.325: ", "resume", "hooks", "context clock (status-line)"] {
        assert!(cli.contains(word), "no {word:?} in {cli}");
    }
    assert!(text("config").contains("notifi"), "{report:#}");
}

/// A busy machine must not look like an old version.
#[test]
fn an_agent_cli_that_does_not_tell_its_version_in_time_is_said_to_be_late() {
    use std::os::unix::fs::PermissionsExt;
    let sealed = Sealed::up();
    let bin = sealed.dir.join("slow-bin");
    std::fs::create_dir_all(&bin).expect("made");
    let program = bin.join("gemini");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 60\n").expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("set");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let asked = sealed.command(["doctor"]).env("PATH", path).output().expect("it runs");
    let told = String::from_utf8_lossy(&asked.stdout);
    assert!(told.contains("gemini (did not tell its version within 5 s): "), "{told}");
    assert!(!told.contains("if something fails, use version 0.61.0"), "{told}");
}

/// A preset that half works loses work: what is wrong is said where a person looks, with file and line.
#[test]
fn a_broken_preset_is_told_with_its_file_and_line_by_doctor_and_spawn() {
    const BUILT_IN: &str = include_str!("../../../perennial-engine/src/harness/presets/plain.toml");
    let sealed = Sealed::up();
    let file = sealed.home.config.join("harness/mine.toml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    for (before, after, line, told) in [
        ("dialect = \"plain\"", "dialect = \"klingon\"", 0, "no dialect `klingon`"),
        ("[end]", "[end]\ncodes = [1]", 1, "unknown field `codes`"),
        ("timeout_s = 5", "timeout_s = \"five\"", 0, "invalid type"),
        ("clean_codes = [0]", "clean_codes = [0", 0, ""),
    ] {
        assert!(BUILT_IN.contains(before), "{before}");
        std::fs::write(&file, BUILT_IN.replace(before, after)).expect("written");
        let at = BUILT_IN.lines().position(|text| text.contains(before)).expect("a line");
        let place = format!("line {}", at + 1 + line);
        let report: Value =
            serde_json::from_str(&sealed.run(["doctor", "--json"]).stdout).expect("a report");
        let findings = report["findings"].as_array().expect("findings");
        let found =
            findings.iter().map(ToString::to_string).find(|text| text.contains("mine.toml"));
        let found = found.unwrap_or_else(|| panic!("{after}: {report:#}"));
        let refused = sealed.run(["spawn", "ada", "--harness", "mine", "--json"]);
        assert_ne!(refused.code, 0, "{after}");
        for said in [&found, &refused.stderr] {
            let is_told = said.contains("mine.toml") && said.contains(told);
            // Where the file breaks off, the next line is the first that is wrong.
            let is_placed = said.contains(&place) || told.is_empty() && said.contains("line ");
            assert!(is_told && is_placed, "{after}, {place}: {said}");
            // A sentence, not the parser's drawing of the line on one line.
            assert!(!said.contains("TOML parse error") && !said.contains("^"), "{after}: {said}");
        }
    }
    assert!(sealed.ls().is_empty());
}

#[test]
fn every_exit_code_but_7_can_be_seen() {
    let sealed = Sealed::new();
    assert_eq!(sealed.refused(5, &["ls"]).kind, "no-daemon");
    assert_eq!(sealed.run(["--help"]).code, 0);
    assert_eq!(sealed.run(["--version"]).code, 0);
    assert_eq!(sealed.run(["no-such-verb"]).code, 2);
    assert_eq!(sealed.run(["spawn"]).code, 2);
    // A home that can't be created.
    std::fs::write(&sealed.root, "in the way").expect("a file");
    assert_eq!(sealed.run(["up"]).code, 1);
    std::fs::remove_file(&sealed.root).expect("a file");
    sealed.start_daemon();
    sealed.spawn("bob", "read x");
    assert_eq!(sealed.refused(4, &["show", "no-one"]).kind, "no-such-agent");
    assert_eq!(sealed.refused(3, &["wake", "bob"]).kind, "running");
    crate::frozen::freeze(&sealed, "bob");
    assert_eq!(sealed.refused(6, &["wake", "bob"]).kind, "needs-approval");
}

/// A holder whose session has ended is no longer connected to.
#[test]
fn only_holders_of_running_sessions_are_counted() {
    let sealed = Sealed::up();
    for name in ["ada", "bob", "cid"] {
        sealed.spawn(name, "read x");
    }
    assert_eq!(sealed.health().holders_connected, 3);
    sealed.ok(["stop", "ada"]);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    assert_eq!(sealed.health().holders_connected, 1);
    sealed.ok(["wake", "ada"]);
    assert_eq!(sealed.health().holders_connected, 2);
}
