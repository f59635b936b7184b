//! `--vocabulary`: agents in the words of each seed, printed and read.

use perennial_api::role::Role;
use serde_json::{Map, Value, json};

use crate::callers::{Who, ask_one};
use crate::sealed::Sealed;

type Document = Map<String, Value>;

/// `bob` works, `eve` sleeps, `ada` is dead.
fn fleet() -> Sealed {
    let sealed = Sealed::up();
    for (name, role) in [("bob", "worker"), ("eve", "patrol"), ("ada", "architect")] {
        sealed.ok(["spawn", name, "--role", role, "--", "sleep", "1000000"]);
    }
    sealed.ok(["stop", "eve"]);
    sealed.ok(["bury", "ada", "--summary", "the plan is drawn"]);
    sealed
}

/// Who is listed, by the field that names an agent.
#[track_caller]
fn names(sealed: &Sealed, words: &[&str], field: &str) -> Vec<String> {
    let listed: Vec<Document> = sealed.json(&[&["ls"], words].concat());
    let name = |one: &Document| one[field].as_str().expect("a name").to_owned();
    let mut names: Vec<String> = listed.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn each_vocabulary_prints_and_reads_its_own_words() {
    let sealed = fleet();
    for (vocabulary, name, state, words) in [
        ("tavern", "name", "state", [("bob", "alive"), ("eve", "hibernating"), ("ada", "dead")]),
        ("julian", "name", "status", [("bob", "alive"), ("eve", "sleeping"), ("ada", "expired")]),
        (
            "s3",
            "identity_name",
            "status",
            [("bob", "active"), ("eve", "terminated"), ("ada", "terminated")],
        ),
        ("gastown", "agent", "state", [("bob", "working"), ("eve", "sleeping"), ("ada", "dead")]),
    ] {
        let listed: Vec<Document> = sealed.json(&["ls", "--all", "--vocabulary", vocabulary]);
        for (agent, word) in words {
            let one = listed.iter().find(|one| one[name] == agent).expect("listed");
            assert_eq!(one[state], word, "{vocabulary} {agent}");
            let shown: Document = sealed.json(&["show", agent, "--vocabulary", vocabulary]);
            assert_eq!(shown[state], word, "{vocabulary} {agent}");
            let same: Vec<&str> =
                words.iter().filter(|(_, other)| *other == word).map(|(agent, _)| *agent).collect();
            let mut found = names(&sealed, &["--state", word, "--vocabulary", vocabulary], name);
            found.sort_by_key(|found| words.iter().position(|(agent, _)| agent == found));
            assert_eq!(found, same, "{vocabulary} {word}");
        }
        let table = sealed.ok(["ls", "--all", "--vocabulary", vocabulary]);
        assert!(table.contains(name) && table.contains(state), "{table}");
        assert!(words.iter().all(|(_, word)| table.contains(word)), "{table}");
        assert!(sealed.ok(["show", "bob", "--vocabulary", vocabulary]).contains("bob"));
    }
    // HAAK knows an agent by its session.
    let live: Vec<Document> = sealed.json(&["ls", "--state", "live", "--vocabulary", "haak"]);
    let bob = sealed.show("bob").session.expect("a session").id;
    assert_eq!((live.len(), &live[0]["session_id"]), (1, &json!(bob)));
    let dead: Vec<Document> = sealed.json(&["ls", "--state", "dead", "--vocabulary", "haak"]);
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0]["final_summary"], "the plan is drawn");
    // Tavern's states within a state.
    let tavern = |word| names(&sealed, &["--state", word, "--vocabulary", "tavern"], "name");
    assert_eq!(tavern("working"), ["bob"]);
    assert_eq!(tavern("retired"), ["ada"]);
    assert!(tavern("expired").is_empty(), "nobody's task is done");
    assert!(tavern("waiting").is_empty());
    // A word of one vocabulary is none of another, nor of ours.
    for (words, says) in [
        (&["--state", "live", "--vocabulary", "tavern"][..], "Tavern has no state 'live'"),
        (&["--state", "alive"], "no state 'alive'"),
        (&["--state", "frozen", "--vocabulary", "s3"], "S3 has no state 'frozen'"),
    ] {
        let problem = sealed.refused(2, &[&["ls"], words].concat());
        assert!(problem.title.contains(says), "{problem:?}");
    }
    for words in [&["--vocabulary", "latin"][..], &["--watch", "--vocabulary", "s3"]] {
        assert_eq!(sealed.run([&["ls"], words].concat()).code, 2, "{words:?}");
    }
    let asked = ask_one(&sealed, Who::Person, "/v1/agents?vocabulary=latin");
    assert_eq!((asked.status, &asked.body["kind"]), (400, &json!("bad-vocabulary")));
    let asked = ask_one(&sealed, Who::Viewer, "/v1/agents/bob?vocabulary=s3");
    assert_eq!((asked.status, &asked.body["status"]), (200, &json!("active")));
}

#[test]
fn gas_towns_roles_are_read_and_printed() {
    let sealed = fleet();
    let gastown =
        |words: &[&str]| names(&sealed, &[words, &["--vocabulary", "gastown"]].concat(), "agent");
    assert_eq!(gastown(&["--role", "polecat"]), ["bob"]);
    assert_eq!(gastown(&["--role", "Deacon"]), ["eve"]);
    assert_eq!(gastown(&["--role", "architect", "--all"]), ["ada"]);
    assert!(gastown(&["--role", "witness"]).is_empty());
    // Without the vocabulary it is a role that somebody might have made up.
    let plain: Vec<Document> = sealed.json(&["ls", "--role", "polecat"]);
    assert!(plain.is_empty());
    let bob: Document = sealed.json(&["show", "bob", "--vocabulary", "gastown"]);
    assert_eq!(bob["role"], "polecat");
    sealed.ok([
        "spawn",
        "toast",
        "--role",
        "polecat",
        "--vocabulary",
        "gastown",
        "--",
        "sleep",
        "1000000",
    ]);
    assert_eq!(sealed.show("toast").role.as_deref(), Some("worker"));
    // The seed's table of roles.
    let roles: Vec<Role> = sealed.json(&["role", "ls", "--vocabulary", "gastown"]);
    for role in ["polecat", "crew", "deacon", "witness", "refinery", "mayor"] {
        assert!(roles.iter().any(|one| one.name == role), "{role}");
    }
    assert!(roles.iter().all(|one| !["worker", "patrol"].contains(&one.name.as_str())));
    let polecat: Role = sealed.json(&["role", "show", "polecat", "--vocabulary", "gastown"]);
    assert_eq!((polecat.span.as_str(), polecat.overseer.as_deref()), ("mortal", Some("witness")));
}

/// The seed's identity file, §2.3.1.
const S3: &str = "schema_version identity_name role session_id pid tmux_session node_id pipeline_id bead_id \
                  worktree_path hook_path created_at last_seen status predecessor_id respawn_count target_dir";
/// The seed's agent-identity document.
const JULIAN: &str = "type status name color colorName gender gridPosition faceVariant individuationArtifact \
                      createdAt lastAliveAt lastSessionId";
/// The seed's roster line.
const HAAK: &str = "session_id state model role summary context_pct situation_ids registered updated \
                    final_summary freeze_state";

/// An agent's document, which has these fields in this order and no others.
#[track_caller]
fn document(sealed: &Sealed, agent: &str, vocabulary: &str, fields: &str) -> Document {
    let text = sealed.ok(["show", agent, "--json", "--vocabulary", vocabulary]);
    let keys: Vec<&str> = fields.split_whitespace().collect();
    let place =
        |key: &&str| text.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}: {text}"));
    assert!(keys.iter().map(place).is_sorted(), "{text}");
    let read: Document = serde_json::from_str(&text).expect("a document");
    assert_eq!(read.len(), keys.len(), "{text}");
    read
}

/// The documents of the seeds' own examples, field for field and in their order.
#[test]
fn the_examples_of_the_seeds_are_reproduced() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "impl_auth", "--role", "orchestrator", "--", "sleep", "1000000"]);
    let agent = sealed.show("impl_auth");
    let session = agent.session.clone().expect("a session");
    let identity = document(&sealed, "impl_auth", "s3", S3);
    let expected = json!({
        "schema_version": "1.0",
        "identity_name": "impl_auth",
        "role": "orchestrator",
        "session_id": session.id,
        "pid": session.pid,
        "worktree_path": agent.dir,
        "created_at": agent.created_at,
        "status": "active",
        "predecessor_id": null,
        "respawn_count": 0,
        "target_dir": agent.project,
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&identity[key], value, "{key}");
    }
    sealed.ok(["spawn", "Lyra", "--", "sleep", "1000000"]);
    let lyra = sealed.show("Lyra");
    let soul = document(&sealed, "Lyra", "julian", JULIAN);
    assert_eq!(soul["type"], "agent-identity");
    assert_eq!((&soul["status"], &soul["name"]), (&json!("alive"), &json!("Lyra")));
    assert_eq!(soul["lastSessionId"], json!(lyra.session.expect("a session").id));
    assert!(soul["lastAliveAt"].as_str().is_some_and(|at| at >= lyra.created_at.as_str()));
    let line = document(&sealed, "impl_auth", "haak", HAAK);
    assert_eq!((&line["state"], &line["role"]), (&json!("live"), &json!("orchestrator")));
    assert_eq!((&line["session_id"], &line["final_summary"]), (&json!(session.id), &Value::Null));
}
