//! `--vocabulary` of checkpoints, escalations, the entity graph and handoffs: printed and read in the words of each seed.

use perennial_core::vocabulary::Vocabulary;
use serde_json::{Map, Value, json};

use crate::callers::{Who, ask_one};
use crate::checkpoint::{agent, repository};
use crate::sealed::Sealed;

type Document = Map<String, Value>;

/// The seed's hook file, §2.3.2.
const HOOK: &str = "schema_version identity_name node_id pipeline_id bead_id current_phase work_summary \
                    last_checkpoint_at files_modified tests_status phase_history resumption_instructions hook_status";
/// The seed's freeze-state file.
const FREEZE_STATE: &str = "session_id frozen_at role primary_situation key_decisions accumulated_knowledge \
                            open_questions files_changed handoff_notes";

/// These fields in this order and no others, in a text that has several documents, too.
#[track_caller]
fn has_fields(text: &str, document: &Document, fields: &str) {
    let keys: Vec<&str> = fields.split_whitespace().collect();
    assert_eq!(document.len(), keys.len(), "{text}");
    let place =
        |key: &&str| text.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}: {text}"));
    assert!(keys.iter().map(place).is_sorted(), "{text}");
}

// covers: S-04
#[test]
fn checkpoints_have_each_seeds_form() {
    let sealed = Sealed::up();
    let dir = repository(&sealed);
    agent(&sealed, "bob", &dir, "read x");
    for (vocabulary, none) in Vocabulary::WORDS.map(|word| (word, "no checkpoints yet\n")) {
        assert_eq!(sealed.ok(["checkpoints", "bob", "--vocabulary", vocabulary]), none);
    }
    sealed.ok(["checkpoint", "bob", "-m", "one"]);
    std::fs::write(dir.join("two"), "two").expect("written");
    let text = sealed.ok(["checkpoint", "bob", "-m", "two", "--json", "--vocabulary", "s3"]);
    let taken: Document = serde_json::from_str(&text).expect("a document");
    has_fields(&text, &taken, HOOK);
    let text = sealed.ok(["checkpoints", "bob", "--last", "--json", "--vocabulary", "s3"]);
    let hook: Document = serde_json::from_str(&text).expect("a document");
    assert_eq!(hook, taken);
    assert_eq!((&hook["identity_name"], &hook["hook_status"]), (&json!("bob"), &json!("active")));
    assert_eq!(hook["current_phase"], "investigation");
    assert_eq!(hook["phase_history"][0]["phase"], "investigation");
    assert_eq!(hook["phase_history"][0]["exited_at"], Value::Null);
    let files = hook["files_modified"].as_array().expect("a list");
    assert!(files.contains(&json!("two")) && hook["tests_status"] == "unknown", "{text}");
    assert!(hook["resumption_instructions"].as_str().is_some_and(|text| !text.is_empty()));
    // What the mirror says is the same.
    let text = sealed.ok(["checkpoints", "bob", "1", "--json", "--vocabulary", "haak"]);
    let first: Document = serde_json::from_str(&text).expect("a document");
    has_fields(&text, &first, FREEZE_STATE);
    assert!(!first["files_changed"].as_array().expect("a list").contains(&json!("two")), "{text}");
    for (vocabulary, at, named) in [
        ("haak", "frozen_at", "frozen_at"),
        ("tavern", "at", "checkpoint"),
        ("julian", "createdAt", "checkpointId"),
        ("s3", "last_checkpoint_at", "current_phase"),
        ("gastown", "at", "checkpoint"),
    ] {
        let all: Vec<Document> = sealed.json(&["checkpoints", "bob", "--vocabulary", vocabulary]);
        assert_eq!(all.len(), 2, "{vocabulary}");
        assert!(all[0][at].as_str() > all[1][at].as_str(), "the newest first: {all:?}");
        let table = sealed.ok(["checkpoints", "bob", "--vocabulary", vocabulary]);
        assert!(table.contains(named), "{table}");
        let one: Vec<Document> =
            sealed.json(&["checkpoints", "bob", "-n", "1", "--vocabulary", vocabulary]);
        assert_eq!(one, all[..1]);
        assert!(sealed.ok(["checkpoints", "bob", "2", "--vocabulary", vocabulary]).contains(at));
    }
    // A role that it took later was not its role then.
    sealed.ok(["role", "assume", "bob", "architect"]);
    sealed.ok(["checkpoint", "bob", "-m", "three"]);
    let all: Vec<Document> = sealed.json(&["checkpoints", "bob", "--vocabulary", "haak"]);
    let roles: Vec<&Value> = all.iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, [&json!("architect"), &Value::Null, &Value::Null]);
    sealed.ok(["bury", "bob"]);
    let dead: Document = sealed.json(&["checkpoints", "bob", "2", "--vocabulary", "s3"]);
    assert_eq!(dead["hook_status"], "abandoned");
    for path in [
        "/v1/agents/bob/checkpoints",
        "/v1/agents/bob/checkpoint",
        "/v1/escalations",
        "/v1/graph",
        "/v1/handoffs",
    ] {
        let asked = ask_one(&sealed, Who::Person, &format!("{path}?vocabulary=latin"));
        assert_eq!((asked.status, &asked.body["kind"]), (400, &json!("bad-vocabulary")), "{path}");
    }
}

#[test]
fn escalations_have_each_seeds_form_and_gas_towns_roles() {
    let sealed = Sealed::up();
    assert_eq!(sealed.ok(["escalations", "--vocabulary", "s3"]), "no escalations\n");
    let to = ["--to", "role:deacon", "--vocabulary", "gastown"];
    let words = ["escalate", "-s", "a stuck rig", "-m", "look", "--severity", "critical"];
    let said = sealed.ok([&words[..], &to].concat());
    assert!(said.starts_with("escalated to role:deacon"), "{said}");
    sealed.ok(["escalate", "--to", "operator", "-s", "seen", "--severity", "low"]);
    let seen: Vec<Document> = sealed.json(&["escalations", "-n", "1", "--vocabulary", "gastown"]);
    sealed.ok(["mail", "read", seen[0]["mail"].as_str().expect("an id")]);
    for (vocabulary, id, state, severity, told) in [
        ("haak", "escalation_id", "state", "urgency", "method"),
        ("tavern", "id", "state", "urgency", "notified"),
        ("julian", "escalationId", "status", "urgency", "to"),
        ("s3", "id", "status", "urgency", "told"),
        ("gastown", "mail", "state", "severity", "to"),
    ] {
        let all: Vec<Document> = sealed.json(&["escalations", "--vocabulary", vocabulary]);
        let of = |field: &str| all.iter().map(|one| one[field].clone()).collect::<Vec<_>>();
        assert_eq!(of(state), ["seen", "open"], "{vocabulary}");
        assert_eq!(of(severity), ["low", "critical"], "{vocabulary}");
        let role = if vocabulary == "gastown" { "role:deacon" } else { "role:patrol" };
        assert_eq!(of(told), [json!(["operator"]), json!([role])], "{vocabulary}");
        let open: Vec<Document> =
            sealed.json(&["escalations", "--open", "--vocabulary", vocabulary]);
        assert_eq!(open, all[1..], "{vocabulary}");
        let table = sealed.ok(["escalations", "--vocabulary", vocabulary]);
        assert!(table.contains(id) && table.contains("a stuck rig"), "{table}");
    }
}

#[test]
fn the_graph_tells_states_and_roles_in_each_vocabulary() {
    let sealed = Sealed::up();
    for (name, role) in [("bob", "worker"), ("eve", "patrol"), ("ada", "architect")] {
        sealed.ok(["spawn", name, "--role", role, "--", "sleep", "1000000"]);
    }
    sealed.ok(["stop", "eve"]);
    sealed.ok(["bury", "ada"]);
    for (vocabulary, bob, eve, ada) in [
        ("haak", "live", "frozen", "dead"),
        ("tavern", "alive", "hibernating", "dead"),
        ("julian", "alive", "sleeping", "expired"),
        ("s3", "active", "terminated", "terminated"),
        ("gastown", "working", "sleeping", "dead"),
    ] {
        let found: Vec<Document> = sealed.json(&["graph", "query", "--vocabulary", vocabulary]);
        for (name, word) in [("bob", bob), ("eve", eve), ("ada", ada)] {
            let one = found.iter().find(|one| one["agent"] == name).expect("its session");
            assert_eq!(one["state"], word, "{vocabulary} {name}");
            let belongs = one["belongings"].as_array().expect("a list");
            let state = belongs.iter().find(|one| one["quality"] == "state").expect("a state");
            assert_eq!(state["text"], word, "{vocabulary} {name}");
        }
        let table = sealed.ok(["graph", "query", "--vocabulary", vocabulary]);
        assert!([bob, eve, ada].iter().all(|word| table.contains(word)), "{table}");
    }
    // Roles are read and printed.
    for verb in [
        &["graph", "query", "--role", "polecat"][..],
        &["graph", "show", "role:polecat"],
        &["graph", "query", "--agent", "bob"],
    ] {
        let found: Vec<Document> = sealed.json(&[verb, &["--vocabulary", "gastown"]].concat());
        assert_eq!((found.len(), &found[0]["agent"]), (1, &json!("bob")), "{verb:?}");
        let methods = found[0]["belongings"].to_string();
        assert!(methods.contains("role:polecat") && !methods.contains("role:worker"), "{methods}");
    }
    assert!(sealed.json::<Vec<Document>>(&["graph", "query", "--role", "polecat"]).is_empty());
    let entities = sealed.ok(["graph", "show", "--vocabulary", "gastown"]);
    assert!(entities.contains("role:deacon") && !entities.contains("role:patrol"), "{entities}");
    let exported = sealed.ok(["graph", "export", "--format", "dot", "--vocabulary", "gastown"]);
    assert!(exported.contains("role:polecat"), "{exported}");
    // Nobody has taken over yet; the verb takes the words all the same.
    assert!(sealed.ok(["handoffs", "--vocabulary", "gastown"]).contains("nothing counted yet"));
}
