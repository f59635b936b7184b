//! `legacy`: what agents leave behind, and the burial that they ask for themselves, from outside.

use perennial_api::answer::Legacy;
use perennial_api::post::Post;
use rustix::process::Signal;

use crate::processes::{running, signal};
use crate::sealed::{PROGRAM, Sealed, pid};

/// An agent without tools, whose program is this script; `$0` is ours.
fn agent(sealed: &Sealed, name: &str, script: &str) {
    sealed.ok(["spawn", name, "--restart", "always", "--", "/bin/sh", "-c", script, PROGRAM]);
}

fn left(sealed: &Sealed, name: &str) -> Vec<(String, Option<String>)> {
    let legacies: Vec<Legacy> = sealed.json(&["legacy", name]);
    legacies.into_iter().map(|one| (one.kind, one.text)).collect()
}

/// What a script wrote into a file, once it is there.
fn written(sealed: &Sealed, file: &str) -> String {
    let path = sealed.dir.join(file);
    sealed.until(file, || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with("end\n")));
    std::fs::read_to_string(path).expect("written")
}

// covers: H-15
#[test]
fn an_agent_without_tools_leaves_its_legacies_and_they_outlive_it_and_the_daemon() {
    let sealed = Sealed::up();
    let script = "\"$0\" legacy write --kind blog 'a first draft'
        printf 'two\\nlines' | \"$0\" legacy write --kind blog - > said
        \"$0\" legacy write --kind board 'the lexer is not done' >> said; echo end >> said
        read x";
    agent(&sealed, "bob", script);
    assert_eq!(written(&sealed, "said").lines().next(), Some("kept; you have left: blog"));
    let both = [
        ("board".to_owned(), Some("the lexer is not done".to_owned())),
        ("blog".to_owned(), Some("two\nlines".to_owned())),
    ];
    assert_eq!(left(&sealed, "bob"), both);
    let posts: Vec<Post> = sealed.json(&["board", "ls"]);
    assert_eq!(posts[0].agent.as_deref(), Some("bob"));
    assert!(sealed.ok(["board", "show", &posts[0].id]).contains("the lexer is not done"));
    sealed.ok(["bury", "bob"]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(left(&sealed, "bob"), both);
    let legacies: Vec<Legacy> = sealed.json(&["legacy", "bob"]);
    assert!(legacies.iter().all(|one| one.agent == "bob" && one.at.ends_with('Z')), "{legacies:?}");
    let shown = sealed.ok(["legacy", "bob"]);
    let by = format!("left by bob ({}), ", legacies[0].agent_id);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with(&format!("board, {by}")), "{shown}");
    assert!(lines[4].starts_with(&format!("blog, {by}")), "{shown}");
    assert_eq!((lines[2], &lines[6..]), ("> the lexer is not done", &["> two", "> lines"][..]));
}

#[test]
fn nobody_leaves_a_legacy_for_another_and_hostile_words_are_shown_harmless() {
    let sealed = Sealed::up();
    agent(&sealed, "bob", "\"$0\" legacy write --kind blog \"$(printf '\\033[2Jx')\"; read x");
    sealed.until("it is left", || !left(&sealed, "bob").is_empty());
    assert!(!sealed.ok(["legacy", "bob"]).contains('\u{1b}'));
    let problem = sealed.refused(3, &["legacy", "write", "--kind", "blog", "by a person"]);
    assert_eq!(problem.kind, "not-a-session");
    assert_eq!(sealed.run(["legacy", "write", "--kind", "poem", "x"]).code, 2);
    assert_eq!(sealed.run(["legacy", "nobody"]).code, 4);
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    assert_eq!(sealed.ok(["legacy", "eve"]), "eve has left no legacies\n");
}

/// A bare command has no turns: it is buried when its program has ended, however that comes about, and no
/// session follows.
// covers: H-15
#[test]
fn an_agent_that_asks_for_its_burial_is_buried_when_its_session_ends_also_by_a_kill() {
    let sealed = Sealed::up();
    let ask =
        "\"$0\" bury NAME --yes --summary 'it is done' > NAME-said; echo end >> NAME-said; read x";
    for name in ["bob", "eve"] {
        agent(&sealed, name, &ask.replace("NAME", name));
        let said = written(&sealed, &format!("{name}-said"));
        assert!(said.contains("will be buried when its turn ends"), "{said}");
        let shown = sealed.show(name);
        assert_eq!((shown.state.as_str(), shown.to_be_buried), ("working", true));
        assert!(sealed.ok(["why", name]).contains("it is buried, as it asked, when"));
    }
    // A daemon that is killed in between has not forgotten it.
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.ok(["send", "bob", "go on"]);
    let eve = pid(&sealed.show("eve"));
    assert!(signal(running(eve), Signal::KILL));
    for name in ["bob", "eve"] {
        sealed.until("it is buried", || sealed.show(name).state == "dead");
        let shown = sealed.show(name);
        assert_eq!(shown.summary.as_deref(), Some("it is done"));
        assert_eq!(shown.session.map(|session| session.number), Some(1), "no session follows");
        assert!(sealed.ok(["why", name]).contains("dead: buried by its own wish"));
    }
}

#[test]
fn an_agent_buries_nobody_else() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    agent(
        &sealed,
        "bob",
        "\"$0\" bury eve --yes 2> said; echo $? end >> said; echo end >> said; read x",
    );
    let said = written(&sealed, "said");
    assert!(said.contains("an agent may bury only itself") && said.contains("3 end"), "{said}");
    assert_eq!(sealed.show("eve").state, "working");
}
