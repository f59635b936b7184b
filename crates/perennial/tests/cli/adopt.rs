//! `adopt`: what is refused. Adopting a real conversation is in `claude_conversation`.

use std::os::unix::fs::PermissionsExt;

use crate::processes::running;
use crate::sealed::{Sealed, finish};

#[test]
fn bad_ids_prompts_and_unknown_harnesses_are_refused() {
    let sealed = Sealed::up();
    let id = "0f3c2a1e-1b2c";
    let with_prompt = ["adopt", "bob", "--conversation", id, "--prompt", "go on"];
    let problem = sealed.refused(2, &with_prompt);
    assert_eq!(problem.kind, "bad-prompt");
    assert!(problem.next.contains("perennial send bob"), "{problem:?}");
    let path = sealed.refused(2, &["adopt", "bob", "--conversation", "../../etc/passwd"]);
    assert_eq!(path.kind, "bad-conversation");
    // A copy of nothing; the vendor need not be there for that.
    let nothing = ["adopt", "bob", "--conversation", id, "--harness", "clod", "--fork"];
    assert_eq!(sealed.refused(3, &nothing).kind, "no-harness");
    let unknown = ["adopt", "bob", "--conversation", id, "--harness", "clod"];
    assert_eq!(sealed.refused(3, &unknown).kind, "no-harness");
    assert_eq!(sealed.run(["adopt", "bob"]).code, 2);
    assert!(sealed.ls().is_empty());
}

#[test]
fn without_the_agent_cli_nothing_is_adopted_and_the_reason_is_told() {
    let sealed = Sealed::up();
    let mut command = sealed.command(["adopt", "bob", "--conversation", "0f3c2a1e-1b2c"]);
    command.env("PATH", "/nonexistent");
    let ran = crate::sealed::finish(command);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.starts_with("error: can't run 'claude'\nwhy: not found in PATH\n"),
        "{ran:?}"
    );
    assert!(sealed.ls().is_empty());
}

/// By the vendor's own list: a living process that has the conversation open is a second writer.
#[test]
fn a_conversation_that_a_program_outside_has_open_is_refused() {
    let sealed = Sealed::up();
    let id = "0f3c2a1e-1b2c-4d3e-8f4a-5b6c7d8e9f00";
    let claude = sealed.dir.join("claude");
    std::fs::write(&claude, "#!/bin/sh\nread x\n").expect("written");
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).expect("a mode");
    let vendor = sealed.dir.join(".claude");
    std::fs::create_dir_all(vendor.join("projects/-w")).expect("made");
    std::fs::create_dir_all(vendor.join("sessions")).expect("made");
    std::fs::write(vendor.join(format!("projects/-w/{id}.jsonl")), "{}\n").expect("written");
    // This test stands for the program outside.
    let own = running(std::process::id());
    let list = |start: u64| {
        let entry = serde_json::json!({
            "pid": own.pid, "sessionId": id, "procStart": start.to_string(), "status": "idle",
            "statusUpdatedAt": 1_794_770_810_166_u64,
        });
        let file = vendor.join(format!("sessions/{}.json", own.pid));
        std::fs::write(file, entry.to_string()).expect("written");
    };
    let adopt = || {
        let mut command = sealed.command(["adopt", "bob", "--conversation", id, "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", sealed.dir.display()));
        finish(command)
    };
    list(own.start_ticks);
    let ran = adopt();
    assert!(ran.code == 3 && ran.stderr.contains("conversation-taken"), "{ran:?}");
    assert!(sealed.ls().is_empty());
    // A process of that number that began at another time is somebody else.
    list(own.start_ticks + 1);
    let ran = adopt();
    assert!(!ran.stderr.contains("conversation-taken") && !sealed.ls().is_empty(), "{ran:?}");
}

/// A program that stands for Claude Code, and a conversation of the user's.
fn with_conversation(sealed: &Sealed, id: &str, line: &str) -> std::path::PathBuf {
    let claude = sealed.dir.join("claude");
    std::fs::write(&claude, "#!/bin/sh\nread x\n").expect("written");
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).expect("a mode");
    let file = sealed.dir.join(format!(".claude/projects/-w/{id}.jsonl"));
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    std::fs::write(&file, line).expect("written");
    file
}

/// The copy is a file of its own, and nothing is left of one that nobody came to use.
#[test]
fn a_fork_is_a_copy_and_a_refused_one_leaves_nothing() {
    let sealed = Sealed::up();
    let id = "0f3c2a1e-1b2c-4d3e-8f4a-5b6c7d8e9f00";
    let message = r#""uuid":"a","message":{"role":"user","content":"hello"}"#;
    let line = format!("{{\"type\":\"user\",\"sessionId\":\"{id}\",{message}}}\n");
    let original = with_conversation(&sealed, id, &line);
    let fork = |name: &str| {
        let mut command = sealed.command(["adopt", name, "--conversation", id, "--fork", "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", sealed.dir.display()));
        finish(command)
    };
    let files = || {
        let projects = std::fs::read_dir(sealed.dir.join(".claude/projects")).expect("projects");
        let files = projects.flatten().flat_map(|dir| std::fs::read_dir(dir.path()).expect("read"));
        files.flatten().map(|file| file.path()).collect::<Vec<_>>()
    };
    let ran = fork("bob");
    assert_eq!(ran.code, 0, "{ran:?}");
    let bob = sealed.show("bob").conversations[0].clone();
    let copy = files().into_iter().find(|file| *file != original).expect("a copy");
    assert!(bob != id && copy.ends_with(format!("{bob}.jsonl")), "{}", copy.display());
    assert_eq!(std::fs::read_to_string(copy).expect("read"), line.replace(id, &bob));
    assert_eq!(std::fs::read_to_string(&original).expect("read"), line);
    // The name is taken.
    assert_eq!(fork("bob").code, 3);
    assert_eq!(files().len(), 2);
    // A transcript that does not name itself is not copied half.
    std::fs::write(&original, "{}\n").expect("written");
    let ran = fork("cid");
    assert!(ran.code != 0 && ran.stderr.contains("not-forked"), "{ran:?}");
    assert_eq!((files().len(), sealed.ls().len()), (2, 1));
}

/// The conversation, or a copy, would go on without the approval that the agent waits for.
#[test]
fn the_conversation_of_a_frozen_agent_is_neither_adopted_nor_copied() {
    let sealed = Sealed::up();
    let id = "0f3c2a1e-1b2c-4d3e-8f4a-5b6c7d8e9f00";
    with_conversation(&sealed, id, &format!("{{\"sessionId\":\"{id}\"}}\n"));
    let adopt = |name: &str, options: &[&str]| {
        let fixed = ["adopt", name, "--conversation", id, "--json"];
        let mut command = sealed.command([&fixed[..], options].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", sealed.dir.display()));
        finish(command)
    };
    assert_eq!(adopt("cold", &[]).code, 0);
    crate::frozen::freeze(&sealed, "cold");
    for options in [&["--fork"][..], &[]] {
        let ran = adopt("bob", options);
        assert!(ran.code == 6 && ran.stderr.contains("needs-approval"), "{options:?}: {ran:?}");
    }
}
