//! Situations: what agents work on, from outside.

use perennial_api::Agent;

use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};

fn of(sealed: &Sealed, situation: &str) -> Vec<String> {
    let all: Vec<Agent> = sealed.json(&["ls", "--situation", situation]);
    all.into_iter().map(|agent| agent.name).collect()
}

// covers: H-02
#[test]
fn an_agent_works_on_situations_and_its_children_inherit_them() {
    let sealed = Sealed::up();
    worker(&sealed, "ada", &["--situation", "PRD-AUTH-001", "--situation", "site"]);
    sealed.ok(["spawn", "kid", "--parent", "ada", "--", "sleep", "1000000"]);
    sealed.ok(["spawn", "own", "--parent", "ada", "--situation", "x", "--", "sleep", "1000000"]);
    assert_eq!(sealed.show("ada").situations, ["PRD-AUTH-001", "site"]);
    assert_eq!(sealed.show("kid").situations, ["PRD-AUTH-001", "site"]);
    assert_eq!(sealed.show("own").situations, ["x"]);
    assert_eq!(of(&sealed, "prd-auth-001"), ["ada", "kid"]);
    assert_eq!(of(&sealed, "nothing"), [""; 0]);
    assert!(sealed.ok(["show", "ada"]).contains("PRD-AUTH-001, site"));
    sealed.ok(["set", "kid", "--situation", "site", "--situation", "site"]);
    assert_eq!(sealed.show("kid").situations, ["site"]);
    sealed.ok(["set", "own", "--no-situation"]);
    assert_eq!(sealed.show("own").situations, [""; 0]);
    assert!(sealed.ok(["why", "kid"]).contains("works on site"));
    // It is in the record, whatever becomes of the daemon.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("ada").situations, ["PRD-AUTH-001", "site"]);
    assert_eq!(of(&sealed, "site"), ["ada", "kid"]);
    for words in [&["two words"][..], &[""], &["a\nb"], &["é"]] {
        let problem = sealed.refused(2, &[&["set", "kid", "--situation"], words].concat());
        assert_eq!(problem.kind, "bad-situation");
    }
    let many: Vec<String> = (0..9).map(|number| format!("s{number}")).collect();
    let mut words = vec!["set", "kid"];
    words.extend(many.iter().flat_map(|one| ["--situation", one]));
    assert_eq!(sealed.refused(2, &words).kind, "bad-situation");
    // Who an agent works for is the operator's to say.
    let refused = within(&sealed, "ada", &format!("{PROGRAM} set kid --situation mine"));
    assert!(refused.contains("may not use `set`"), "{refused}");
}
