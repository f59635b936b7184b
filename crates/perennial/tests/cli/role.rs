//! `role`: mandates that outlive their holders, from outside.

use perennial_api::post::Post;
use perennial_api::role::{Role, RoleChanged, Vacancy};
use serde_json::{Value, json};

use crate::claude::{Stage, kind, state, turns};
use crate::sealed::{PROGRAM, Sealed};

const CONFIG: &str =
    "[role.architect]\nmandate_file = 'mandates/architect.txt'\nsingle_holder = true\n";
/// What a burial tells: a relative path starts where the file is that declares it.
fn notice(sealed: &Sealed) -> String {
    let mandate = sealed.home.config.join("mandates/architect.txt");
    let mandate = mandate.display();
    format!("Role 'architect' is now vacant. Last held by ada. Mandate: {mandate}.")
}

/// A home whose operator has declared the architect.
fn home() -> Sealed {
    let sealed = Sealed::new();
    std::fs::create_dir_all(&sealed.home.config).expect("made");
    std::fs::write(sealed.home.config.join("config.toml"), CONFIG).expect("written");
    sealed.start_daemon();
    sealed
}

fn role(sealed: &Sealed, name: &str) -> Role {
    sealed.json(&["role", "show", name])
}

fn holders(sealed: &Sealed, name: &str) -> Vec<String> {
    role(sealed, name).holders.into_iter().map(|holder| holder.name).collect()
}

// covers: H-06, H-08, H-09
#[test]
fn a_role_is_handed_over_without_a_vacancy_and_a_burial_announces_one() {
    let sealed = home();
    for (name, options) in [("ada", ["--role", "architect"]), ("bob", ["--role", "worker"])] {
        sealed.ok([&["spawn", name], &options[..], &["--", "sleep", "1000000"]].concat());
    }
    assert!(sealed.ok(["show", "ada"]).contains("mandates/architect.txt"));
    // A second holder is warned about, not refused.
    let warned = sealed.ok(["spawn", "tom", "--role", "architect", "--", "sleep", "1000000"]);
    assert!(warned.contains("meant for one holder, and is also held by ada"), "{warned}");
    assert!(sealed.ok(["show", "tom"]).contains("also held by"));
    sealed.ok(["bury", "tom"]);
    let warned = sealed.ok(["role", "assume", "bob", "architect"]);
    assert!(warned.contains("bob holds the role architect"), "{warned}");
    assert!(warned.contains("meant for one holder") && warned.contains("ada"), "{warned}");
    assert!(warned.contains("Role 'worker' is now vacant"), "{warned}");
    assert!(sealed.ok(["bury", "bob"]).lines().all(|line| !line.contains("vacant")));
    // Handed over before death: no vacancy.
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    let changed: RoleChanged = sealed.json(&["role", "transfer", "ada", "eve"]);
    assert_eq!((changed.agent.name.as_str(), changed.vacancy), ("eve", None));
    assert_eq!(holders(&sealed, "architect"), ["eve"]);
    sealed.ok(["role", "transfer", "eve", "ada"]);
    // The last one's burial says so, on the terminal, on the board, and in every list.
    let told = sealed.ok(["bury", "ada"]);
    let notice = notice(&sealed);
    assert!(told.contains(&notice), "{told}");
    assert!(sealed.ok(["role", "vacancies"]).contains(&notice.replace("is now", "is")));
    let posts: Vec<Post> = sealed.json(&["board", "ls"]);
    let post = posts.iter().find(|post| post.author == "perennial").expect("a post");
    let shown = sealed.ok(["board", "show", &post.id]);
    assert!(shown.starts_with("Role 'architect' is now vacant\n(Perennial), "), "{shown}");
    assert!(
        sealed
            .ok(["role", "ls"])
            .lines()
            .any(|line| line.contains("architect") && line.contains("vacant"))
    );
    // The vacancy and the board survive the daemon.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(role(&sealed, "Architect").vacancy.expect("vacant").last_holder, "ada");
    // Whoever takes it ends the vacancy.
    sealed.ok(["role", "assume", "eve", "architect"]);
    let vacant: Vec<Vacancy> = sealed.json(&["role", "vacancies"]);
    assert!(vacant.iter().all(|vacancy| vacancy.role != "architect"), "{vacant:?}");
    let why = sealed.ok(["why", "eve"]);
    assert!(
        why.contains("took the role architect") && why.contains("handed its role over"),
        "{why}"
    );
}

/// The receiver's former role falls vacant by word, and it keeps the terms of its own project.
#[test]
fn who_receives_a_role_leaves_its_own_by_word_and_has_the_terms_of_its_own_project() {
    let sealed = home();
    let [here, there] = ["here", "there"].map(|project| {
        let dir = sealed.dir.join(project);
        std::fs::create_dir(&dir).expect("made");
        let text = format!("[role.scout]\nmandate = 'look {project}'\n");
        std::fs::write(dir.join("perennial.toml"), text).expect("written");
        dir.display().to_string()
    });
    for (name, role, dir) in [("ada", "scout", &here), ("eve", "cook", &there)] {
        sealed.ok(["spawn", name, "--role", role, "--dir", dir, "--", "sleep", "1000000"]);
    }
    let told = sealed.ok(["role", "transfer", "ada", "eve"]);
    assert!(told.contains("eve holds the role scout now"), "{told}");
    assert!(told.contains("Role 'cook' is now vacant. Last held by eve."), "{told}");
    assert_eq!(sealed.show("eve").mandate.as_deref(), Some("look there"));
    sealed.ok(["role", "assume", "ada", "cook"]);
    let changed: RoleChanged = sealed.json(&["role", "transfer", "eve", "ada"]);
    assert_eq!(changed.vacancy.map(|vacancy| vacancy.role).as_deref(), Some("cook"));
    assert_eq!(changed.agent.mandate.as_deref(), Some("look here"));
}

// covers: H-06
#[test]
fn sleeping_vacates_nothing_and_a_sleeping_holder_is_named() {
    let sealed = home();
    for name in ["ada", "bob"] {
        sealed.ok(["spawn", name, "--role", "architect", "--", "sleep", "1000000"]);
    }
    sealed.ok(["stop", "bob"]);
    assert!(role(&sealed, "architect").vacancy.is_none());
    let told = sealed.ok(["bury", "ada"]);
    assert!(told.contains("Also held by bob, in the freezer."), "{told}");
    assert_eq!(sealed.show("bob").state, "sleeping");
}

// covers: H-21, G-03
#[test]
fn an_undeclared_role_works_and_a_projects_declaration_counts_at_once() {
    let sealed = home();
    let spawn = |name: &str, role: &str| {
        sealed.ok(["spawn", name, "--role", role, "--", "sleep", "1000000"]);
    };
    spawn("ada", "librarian");
    let librarian = role(&sealed, "librarian");
    assert_eq!((librarian.declared_in, librarian.span.as_str()), (None, "persistent"));
    assert!(sealed.ok(["bury", "ada"]).contains("Mandate: not yet written."));
    let worker = role(&sealed, "worker");
    assert_eq!((worker.span.as_str(), worker.overseer.as_deref()), ("mortal", Some("witness")));
    for (name, span, cycle) in [
        ("worker", "mortal", "a new session after 1 assignment"),
        ("crew", "persistent", "a new session only when the operator decides"),
        (
            "patrol",
            "persistent",
            "a new session after 20 rounds, or after: lifecycle-request, remediation, escalation",
        ),
        ("witness", "persistent", "a new session after 15 interactions"),
        (
            "refinery",
            "persistent",
            "a new session after 20 merges, or after: complex-rebase, conflict",
        ),
        ("mayor", "persistent", "a new session only when the operator decides"),
    ] {
        let shown = role(&sealed, name);
        assert_eq!((shown.span.as_str(), shown.cycle.as_ref()), (span, Some(&cycle.to_owned())));
        let card = sealed.ok(["role", "show", name]);
        assert!(card.contains("a new session"), "{card}");
    }
    let card = sealed.ok(["role", "show", "worker"]);
    assert!(!card.contains("not yet in force"), "{card}");
    // A project's own file; no role in it is a command.
    let file = sealed.dir.join("perennial.toml");
    std::fs::write(&file, "[role.librarian]\nmandate = 'keep the shelves'\nrestart = 'never'\n")
        .expect("written");
    spawn("bob", "Librarian");
    let bob = sealed.show("bob");
    assert_eq!((bob.mandate.as_deref(), bob.restart.as_str()), (Some("keep the shelves"), "never"));
    std::fs::write(&file, "notify = ['touch', 'owned']\n").expect("written");
    let refused = sealed.run(["spawn", "eve", "--role", "librarian", "--", "true"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("perennial.toml") && refused.stderr.contains("notify"),
        "{refused:?}"
    );
    sealed.ok(["spawn", "zoe", "--", "true"]);
    for (wrong, says) in [
        ("[role.A]\n[role.a]\n", "line 2: `A` and `a` are the same role"),
        ("[role.a]\nmandate = 'x'\nmandate_file = 'y'\n", "line 1: give mandate or mandate_file"),
        ("[role.a]\ncycle = { unit = 'round' }\n", "line 2: cycle needs a number"),
    ] {
        std::fs::write(&file, wrong).expect("written");
        let refused = sealed.run(["spawn", "eve", "--role", "a", "--", "true"]);
        assert!(refused.code == 3 && refused.stderr.contains(says), "{wrong}: {refused:?}");
    }
}

#[test]
fn a_mandate_that_is_a_sentence_ends_once() {
    let sealed = Sealed::up();
    let file = sealed.dir.join("perennial.toml");
    std::fs::write(&file, "[role.scribe]\nmandate = 'Write it down.'\n").expect("written");
    sealed.ok(["spawn", "ada", "--role", "scribe", "--", "sleep", "1000000"]);
    let told = sealed.ok(["bury", "ada"]);
    let posts: Vec<Post> = sealed.json(&["board", "ls"]);
    for said in [told, sealed.ok(["board", "show", &posts[0].id]), sealed.ok(["role", "vacancies"])]
    {
        assert!(said.contains("Mandate: Write it down.\n"), "{said}");
    }
}

#[test]
fn wrong_words_are_answered_with_what_to_do() {
    let sealed = home();
    sealed.ok(["spawn", "ada", "--", "sleep", "1000000"]);
    for (words, code, says) in [
        (&["role", "drop", "ada"][..], 3, "ada has no role"),
        (&["role", "transfer", "ada", "bob"], 4, "no agent 'bob'"),
        (&["role", "assume", "ada", "a b"], 2, "invalid role"),
        (&["role", "assume", "architect"], 2, "no agent given"),
        (&["role", "assume"], 2, "perennial role assume bob architect"),
        (&["role", "show", "steward"], 4, "no role 'steward'"),
    ] {
        let ran = sealed.run(words);
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{words:?}: {ran:?}");
    }
    assert!(sealed.ok(["role", "vacancies"]).contains("no vacant roles"));
}

/// An agent without tools uses the command line, for its own role only.
#[test]
fn an_agent_changes_its_own_role_by_the_command_line_and_nobody_elses() {
    let sealed = home();
    sealed.ok(["spawn", "bob", "--role", "crew", "--", "sleep", "1000000"]);
    let script =
        "\"$0\" role drop bob; echo $? > dropped; \"$0\" role assume architect > taken; read x";
    sealed.ok(["spawn", "eve", "--", "/bin/sh", "-c", script, PROGRAM]);
    sealed.until("it has taken the role", || holders(&sealed, "architect") == ["eve"]);
    sealed.until("it was refused", || {
        std::fs::read_to_string(sealed.dir.join("dropped")).is_ok_and(|code| code.trim() == "3")
    });
    assert_eq!(holders(&sealed, "crew"), ["bob"]);
}

/// The real agent CLI: the scripted model itself reads, assumes and hands over.
// covers: H-07, H-08
#[test]
fn claude_code_is_told_of_a_vacant_role_and_assumes_it() {
    let stage = Stage::with_config(CONFIG);
    stage.sealed.ok(["spawn", "ada", "--role", "architect", "--", "sleep", "1000000"]);
    stage.sealed.ok(["bury", "ada"]);
    stage.sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    let mut watch = stage.sealed.watch();
    let call = |name: &str, input: Value| json!({ "tools": [{ "name": format!("mcp__perennial__{name}"), "input": input }] });
    let program = json!([
        call("roles", json!({})),
        call("role", json!({ "action": "assume", "role": "architect" })),
        { "text": "I am the architect." },
    ]);
    stage.spawn("eve", &["--permission-mode", "manual"], &turns(&program));
    kind(&mut watch, "eve", "took-role", 1);
    state(&mut watch, "eve", "waiting", "idle");
    let last = stage.main_requests().pop().expect("a request");
    assert!(last.contains("Vacant roles: architect (mandate: “"), "{last}");
    assert!(last.contains("/config/mandates/architect.txt”)"), "{last}");
    assert_eq!(holders(&stage.sealed, "architect"), ["eve"]);
    let program =
        json!([call("role", json!({ "action": "transfer", "to": "bob" })), { "text": "Done." }]);
    stage.sealed.ok(["send", "eve", &turns(&program)]);
    kind(&mut watch, "eve", "left-role", 1);
    assert_eq!(holders(&stage.sealed, "architect"), ["bob"]);
    assert!(stage.sealed.ok(["role", "vacancies"]).contains("no vacant roles"));
}

/// The operator's word comes before a project's, and `role show` says so.
#[test]
fn a_project_does_not_override_what_the_operator_declares() {
    let sealed = home();
    let file = sealed.dir.join("perennial.toml");
    std::fs::write(&file, "[role.architect]\nmandate = 'theirs'\n[role.worker]\nmandate = 'dig'\n")
        .expect("written");
    for (name, role) in [("ada", "Architect"), ("bob", "worker")] {
        sealed.ok(["spawn", name, "--role", role, "--", "sleep", "1000000"]);
    }
    let mandate = sealed.home.config.join("mandates/architect.txt").display().to_string();
    assert_eq!(sealed.show("ada").mandate, Some(mandate));
    assert_eq!(sealed.show("bob").mandate.as_deref(), Some("dig"), "before what is built in");
    let shown = role(&sealed, "architect");
    assert_eq!(
        (shown.declared_in.as_deref(), &shown.also_declared_in[..]),
        (Some("config"), &["project".to_owned()][..])
    );
    let card = sealed.ok(["role", "show", "architect"]);
    assert!(
        card.contains("config; the project's perennial.toml declares it, too, without effect"),
        "{card}"
    );
    assert!(card.contains("missing: there is no such file"), "{card}");
    assert_eq!(role(&sealed, "worker").declared_in.as_deref(), Some("project"));
}

/// A name that somebody made up is vacant for good, behind every declared role, until a person dismisses it.
#[test]
fn a_vacancy_of_a_made_up_role_comes_last_and_a_person_dismisses_it() {
    let sealed = home();
    for (name, role) in [("ada", "architect"), ("bob", "aaa")] {
        sealed.ok(["spawn", name, "--role", role, "--", "sleep", "1000000"]);
        sealed.ok(["bury", name]);
    }
    let vacant = || -> Vec<String> {
        let all: Vec<Vacancy> = sealed.json(&["role", "vacancies"]);
        all.into_iter().map(|vacancy| vacancy.role).collect()
    };
    assert_eq!(vacant(), ["architect", "aaa"]);
    let script = "\"$0\" role drop aaa --vacancy; echo $? > dismissed; read x";
    sealed.ok(["spawn", "eve", "--", "/bin/sh", "-c", script, PROGRAM]);
    sealed.until("it was refused", || {
        std::fs::read_to_string(sealed.dir.join("dismissed")).is_ok_and(|code| code.trim() == "3")
    });
    assert_eq!(vacant(), ["architect", "aaa"]);
    assert!(sealed.ok(["role", "drop", "AAA", "--vacancy"]).contains("aaa is dismissed"));
    assert_eq!(vacant(), ["architect"]);
    assert!(!sealed.ok(["role", "ls"]).contains("aaa"), "nobody declares it");
    for (words, says) in [
        (&["role", "drop", "aaa", "--vacancy"][..], "is not vacant"),
        (&["role", "drop", "--vacancy"], "required"),
    ] {
        let refused = sealed.run(words);
        assert!(refused.code > 0 && refused.stderr.contains(says), "{refused:?}");
    }
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(vacant(), ["architect"], "dismissed for good");
    assert!(sealed.ok(["events"]).contains("dismissed by the operator"));
}

/// However many names agents made up: what is told is bounded, and says how many there are besides.
#[test]
fn many_made_up_roles_are_told_with_a_count() {
    let sealed = home();
    sealed.ok(["spawn", "ada", "--", "sleep", "1000000"]);
    for number in 0..60 {
        sealed.ok(["role", "assume", "ada", &format!("a{number:02}")]);
    }
    sealed.ok(["role", "assume", "ada", "architect"]);
    sealed.ok(["role", "drop", "ada"]);
    let told = sealed.ok(["role", "vacancies"]);
    assert!(told.starts_with("Role 'architect' is vacant."), "{told}");
    assert!(told.ends_with("and 11 more; `perennial role ls` lists all roles\n"), "{told}");
    assert_eq!(told.lines().count(), 51);
    let script = "\"$0\" prime > primed; read x";
    sealed.ok(["spawn", "eve", "--", "/bin/sh", "-c", script, PROGRAM]);
    let primed = || std::fs::read_to_string(sealed.dir.join("primed")).unwrap_or_default();
    sealed.until("it is told", || primed().contains("Vacant roles: architect (mandate:"));
    let line = primed().lines().find(|line| line.starts_with("Vacant")).expect("it").to_owned();
    assert!(line.contains(" more. You may assume one"), "{line}");
    assert!(line.len() < 700, "{line}");
}

/// A mandate of several lines keeps them where people and agents read it.
#[test]
fn a_mandate_of_several_lines_keeps_its_lines() {
    let sealed = home();
    let mandate = "'''keep the shelves\nlend books\u{200b}\n'''";
    let text = format!("[role.librarian]\nmandate = {mandate}\n");
    std::fs::write(sealed.dir.join("perennial.toml"), text).expect("written");
    sealed.ok(["spawn", "ada", "--role", "librarian", "--", "sleep", "1000000"]);
    for verb in [&["show", "ada"][..], &["role", "show", "librarian"]] {
        let shown = sealed.ok(verb);
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        let first = lines.iter().position(|line| line.ends_with("keep the shelves")).expect("it");
        assert!(lines[first + 1].starts_with("lend books"), "{shown}");
    }
    let listed = sealed.ok(["role", "ls"]);
    assert!(listed.lines().any(|line| line.ends_with("keep the shelves …")), "{listed}");
    let told = sealed.ok(["bury", "ada"]);
    assert!(told.contains("Mandate:\n    keep the shelves\n    lend books"), "{told}");
    let posts: Vec<Post> = sealed.json(&["board", "ls"]);
    let shown = sealed.ok(["board", "show", &posts[0].id]);
    assert!(shown.contains("| keep the shelves\n"), "{shown}");
    let script = "\"$0\" role assume librarian; \"$0\" prime > primed; read x";
    sealed.ok(["spawn", "eve", "--", "/bin/sh", "-c", script, PROGRAM]);
    let primed = || std::fs::read_to_string(sealed.dir.join("primed")).unwrap_or_default();
    sealed.until("it is told", || {
        primed().contains("The mandate of your role:\n| keep the shelves\n| lend books\u{fffd}\n")
    });
}
