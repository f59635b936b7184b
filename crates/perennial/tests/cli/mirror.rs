//! The readable mirror: files that are there with the daemon down, in the seed's words.

use std::path::PathBuf;

use serde_json::Value;

use crate::processes::{kill, running};
use crate::sealed::{Sealed, pid};

const FIELDS: [&str; 17] = [
    "schema_version",
    "identity_name",
    "role",
    "session_id",
    "pid",
    "tmux_session",
    "node_id",
    "pipeline_id",
    "bead_id",
    "worktree_path",
    "hook_path",
    "created_at",
    "last_seen",
    "status",
    "predecessor_id",
    "respawn_count",
    "target_dir",
];

fn files(sealed: &Sealed) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(sealed.home.mirror()).into_iter().flatten().flatten();
    let files = projects.flat_map(|project| {
        std::fs::read_dir(project.path().join("identities")).into_iter().flatten().flatten()
    });
    files.map(|file| file.path()).collect()
}

fn identity(sealed: &Sealed, name: &str) -> Option<Value> {
    let path =
        files(sealed).into_iter().find(|path| path.file_name().is_some_and(|file| file == name))?;
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("a whole file, always"))
}

#[test]
fn identities_are_files_with_the_seeds_fields() {
    let sealed = Sealed::up();
    let agent = sealed.spawn_with(&["bob", "--role", "builder"], &["/bin/sh", "-c", "read x"]);
    sealed.spawn("plain", "read x");
    let wait = |name: &str, status: &str| {
        let is_so = || identity(&sealed, name).is_some_and(|one| one["status"] == status);
        sealed.until(&format!("{name} is {status}"), is_so);
        identity(&sealed, name).expect("it was there")
    };
    wait("builder-bob.json", "active");
    sealed.until("its process is in the mirror", || {
        identity(&sealed, "builder-bob.json").is_some_and(|one| one["pid"] == pid(&agent))
    });
    let bob = identity(&sealed, "builder-bob.json").expect("a file");
    for field in FIELDS {
        assert!(bob.get(field).is_some(), "no {field} in {bob:#}");
    }
    assert_eq!((&bob["identity_name"], &bob["role"]), (&"bob".into(), &"builder".into()));
    assert_eq!(bob["respawn_count"], 0);
    assert_eq!(bob["session_id"], agent.session.as_ref().expect("a session").id);
    wait("agent-plain.json", "active");
    kill(running(pid(&agent)));
    sealed.watch().running("bob", 2);
    sealed.until("the mirror tells of the second session", || {
        identity(&sealed, "builder-bob.json").is_some_and(|one| one["respawn_count"] == 1)
    });
    let bob = identity(&sealed, "builder-bob.json").expect("a file");
    assert_eq!(bob["predecessor_id"], agent.session.as_ref().expect("a session").id);
    sealed.ok(["rename", "bob", "robert"]);
    wait("builder-robert.json", "active");
    sealed.until("the old file is gone", || identity(&sealed, "builder-bob.json").is_none());
    sealed.ok(["stop", "robert"]);
    sealed.ok(["down"]);
    // Written by then, and readable with nobody there.
    assert_eq!(identity(&sealed, "builder-robert.json").expect("a file")["status"], "terminated");
    assert!(files(&sealed).iter().all(|path| path.extension().is_some_and(|end| end == "json")));
}
