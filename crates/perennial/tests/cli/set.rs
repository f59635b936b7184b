//! `set`: other settings for an agent, from its next session on.

use perennial_api::Agent;

use crate::sealed::Sealed;

/// Writes its variable and its directory, each time that it begins.
const TELLS: &str = "echo \"$COLOUR $PWD\" >> \"$HOME/told\"; read x";

fn told(sealed: &Sealed) -> Vec<String> {
    let text = std::fs::read_to_string(sealed.dir.join("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn variables_and_the_directory_count_from_the_next_session_on() {
    let sealed = Sealed::up();
    let dir = sealed.dir.join("elsewhere");
    std::fs::create_dir(&dir).expect("a directory");
    let (old, new) = (sealed.dir.display().to_string(), dir.display().to_string());
    let agent = sealed.spawn_with(&["bob", "--env", "COLOUR=red"], &["/bin/sh", "-c", TELLS]);
    sealed.until("it began", || told(&sealed).len() == 1);
    let said = sealed.ok(["set", "bob", "--env", "COLOUR=s3cret", "--dir", &new]);
    assert!(said.contains("next session"), "{said}");
    let set: Agent = sealed.json(&["show", "bob"]);
    assert_eq!(
        (set.pending, set.env_names),
        (vec!["dir".into(), "env".into()], vec!["COLOUR".into()])
    );
    assert!(sealed.ok(["show", "bob"]).contains("dir and env changed"));
    for verb in ["set", "restart"] {
        let ours = [verb, "bob", "--env", "PERENNIAL_JOB=job_1.1"];
        assert_eq!(sealed.refused(2, &ours).kind, "bad-variable");
    }
    sealed.ok(["restart", "bob"]);
    sealed.until("it began anew", || told(&sealed).len() == 2);
    assert_eq!(told(&sealed), [format!("red {old}"), format!("s3cret {new}")]);
    assert!(sealed.show("bob").pending.is_empty());
    // The value is in the agent's own file, for its owner only, and nowhere else.
    let story = sealed.ok(["why", "bob", "--all"]) + &sealed.ok(["events", "--json"]);
    assert!(story.contains("COLOUR") && !story.contains("s3cret"), "{story}");
    assert!(sealed.ok(["restart", "bob", "--env", "COLOUR=blue"]).contains("session 3"));
    sealed.until("it began again", || told(&sealed).len() == 3);
    sealed.ok(["set", "bob", "--unset-env", "COLOUR"]);
    sealed.ok(["stop", "bob"]);
    sealed.ok(["wake", "bob", "--env", "OTHER=1"]);
    sealed.until("it began at last", || told(&sealed).len() == 4);
    assert_eq!(&told(&sealed)[2..], [format!("blue {new}"), format!(" {new}")]);
    let names = std::fs::read_dir(sealed.holder(&agent)).expect("its holder");
    let left = names.flatten().filter(|one| one.file_name().to_string_lossy().starts_with("env."));
    assert_eq!(left.count(), 0, "nothing stays staged");
}

/// Killed behind the record and before the file was put in place: as `stage` and the journal leave it.
#[test]
fn what_was_recorded_counts_whoever_is_killed() {
    let sealed = Sealed::up();
    let agent = sealed.spawn_with(&["bob", "--env", "COLOUR=red"], &["/bin/sh", "-c", TELLS]);
    sealed.ok(["set", "bob", "--env", "COLOUR=blue"]);
    let holder = sealed.holder(&agent);
    sealed.kill_daemon();
    // Back to where a daemon is that has not settled revision 1; revision 2 was never recorded.
    std::fs::rename(holder.join("env"), holder.join("env.1")).expect("moved");
    std::fs::write(holder.join("env"), "COLOUR=red\0PATH=/usr/bin:/bin\0").expect("written");
    std::fs::write(holder.join("env.2"), "COLOUR=never\0").expect("written");
    sealed.start_daemon();
    sealed.ok(["restart", "bob"]);
    sealed.until("it began anew", || told(&sealed).len() == 2);
    assert!(told(&sealed)[1].starts_with("blue "), "{:?}", told(&sealed));
}

#[test]
fn the_restart_policy_and_the_parent_count_at_once_and_nobody_leads_itself() {
    let sealed = Sealed::up();
    for name in ["ada", "bob", "cy"] {
        sealed.spawn(name, "read x");
    }
    let set: Agent = sealed.json(&["set", "bob", "--restart", "never", "--parent", "ada"]);
    assert_eq!((set.restart.as_str(), set.parent.as_deref()), ("never", Some("ada")));
    sealed.ok(["set", "cy", "--parent", "bob"]);
    for parent in ["ada", "bob", "cy"] {
        let refused = sealed.refused(3, &["set", "ada", "--parent", parent]);
        assert_eq!(refused.kind, "parent-below");
    }
    sealed.ok(["set", "bob", "--no-parent"]);
    assert_eq!(sealed.show("bob").parent, None);
    sealed.ok(["set", "ada", "--parent", "cy"]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("ada").parent.as_deref(), Some("cy"));
    sealed.ok(["bury", "bob", "--summary", "over"]);
    assert_eq!(sealed.refused(3, &["set", "cy", "--parent", "bob"]).kind, "parent-gone");
    for (code, args) in [
        (3, &["set", "bob", "--restart", "always"][..]),
        (4, &["set", "nobody", "--restart", "always"]),
        (2, &["set", "ada"]),
        (2, &["set", "ada", "--restart", "often"]),
        (2, &["set", "ada", "--env", "PERENNIAL_HOME=/x"]),
    ] {
        assert_eq!(sealed.run(args).code, code, "{args:?}");
    }
    assert_eq!(sealed.refused(4, &["set", "ada", "--dir", "/no/such"]).kind, "no-directory");
}
