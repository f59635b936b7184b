//! `--vocabulary`: agents in the words of each seed, printed and read.

use perennial_api::role::Role;
use perennial_api::task::Task;
use perennial_core::state::State;
use perennial_core::vocabulary::Vocabulary;
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
        (&["--state", "live"], "no state 'live'"),
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
    let task: Vec<Task> = sealed.json(&["task", "add", "x"]);
    let words = ["task", "assign", &task[0].id, "role:polecat", "--vocabulary", "gastown"];
    let said = sealed.ok(words);
    assert!(said.contains("(role:polecat)"), "{said}");
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

/// Tavern's own words for an agent, and Gas Town's.
const TAVERN: &str = "name state activity parent reason summary";
const GAS_TOWN: &str = "agent role state session bead context_pct notes";

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
        "target_dir": agent.dir,
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
    let tavern = document(&sealed, "impl_auth", "tavern", TAVERN);
    assert_eq!((&tavern["state"], &tavern["activity"]), (&json!("alive"), &json!("working")));
    assert_eq!((&tavern["parent"], &tavern["reason"]), (&Value::Null, &json!("running")));
    sealed.ok(["spawn", "toast", "--role", "worker", "--", "sleep", "1000000"]);
    let task: Value = sealed.json(&["task", "add", "polish", "--to", "toast"]);
    let polecat = document(&sealed, "toast", "gastown", GAS_TOWN);
    assert_eq!((&polecat["role"], &polecat["bead"]), (&json!("polecat"), &task[0]["id"]));
    // What Julian's lead reports of a team has the same words: a name and a status for each that is alive.
    let alive: Vec<Document> = sealed.json(&["ls", "--state", "alive", "--vocabulary", "julian"]);
    let lyra = alive.iter().find(|one| one["name"] == "Lyra").expect("listed");
    assert_eq!((&lyra["status"], &lyra["gridPosition"]), (&json!("alive"), &Value::Null));
}

/// The rows of the table of states in the published document.
fn published() -> Vec<Vec<String>> {
    let text = include_str!("../../../../docs/vocabularies.md");
    let table = text.split("## States of agents").nth(1).expect("a table");
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells =
        |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Every state of the model, in each vocabulary: as the document says it, and as it is printed of an agent in that state.
#[test]
fn every_state_of_an_agent_is_printed_as_the_published_table_says() {
    let rows = published();
    let states: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(states, State::ALL.map(State::word), "every state has a row");
    for (row, state) in rows.iter().zip(State::ALL) {
        for (cell, vocabulary) in row[1..].iter().zip(Vocabulary::ALL) {
            let words = cell.split(", ").map(|word| word.split(' ').next().unwrap_or_default());
            for word in words.map(|word| word.trim_matches('`')) {
                assert!(
                    vocabulary.states(word).contains(&state),
                    "{vocabulary:?} {word} {state:?}"
                );
            }
        }
    }
    // Each agent is in the state that it is called after.
    let sealed = Sealed::new();
    std::fs::create_dir_all(&sealed.home.config).expect("made");
    std::fs::write(sealed.home.config.join("config.toml"), "max_running = 2\n").expect("written");
    sealed.start_daemon();
    let sleeps = ["sleep", "1000000"];
    sealed.spawn_with(&["working"], &sleeps);
    for name in ["sleeping", "waking"] {
        sealed.spawn_with(&[name], &sleeps);
        sealed.ok(["stop", name]);
    }
    sealed.spawn_with(&["dead"], &sleeps);
    sealed.ok(["bury", "dead"]);
    sealed.ok(["spawn", "crashed", "--", "/bin/sh", "-c", "exit 3"]);
    // Its fourth retry waits long enough to look at it.
    let waits = || sealed.show("crashed").state == "crashed";
    sealed.until("it waits", || waits() && sealed.show("crashed").respawn_count >= 3);
    is_told(&sealed, "crashed", "crashed", Some("waiting"));
    is_told(&sealed, "working", "working", Some("working"));
    is_told(&sealed, "sleeping", "sleeping", None);
    is_told(&sealed, "dead", "dead", Some("retired"));
    // At the limit whoever begins waits in line.
    sealed.ok(["bury", "crashed"]);
    sealed.spawn_with(&["full"], &sleeps);
    sealed.spawn_with(&["hatching"], &sleeps);
    sealed.ok(["wake", "waking"]);
    is_told(&sealed, "hatching", "hatching", Some("working"));
    is_told(&sealed, "waking", "waking", Some("working"));
}

/// What each seed calls a state, in the order of the vocabularies.
const WORDS: [(&str, [&str; 5]); 11] = [
    ("hatching", ["live", "alive", "hatching", "active", "hatching"]),
    ("waking", ["live", "alive", "unknown", "active", "waking"]),
    ("working", ["live", "alive", "alive", "active", "working"]),
    ("waiting", ["live", "alive", "alive", "active", "waiting"]),
    // Of one whose record can't be read nobody knows when it was seen.
    ("unknown", ["live", "alive", "unknown", "stale", "unknown"]),
    ("handing-off", ["live", "alive", "alive", "active", "handing-off"]),
    ("crashed", ["live", "alive", "sleeping", "crashed", "crashed"]),
    ("sleeping", ["frozen", "hibernating", "sleeping", "terminated", "sleeping"]),
    ("hibernating", ["frozen", "hibernating", "sleeping", "terminated", "hibernating"]),
    ("dead", ["dead", "dead", "expired", "terminated", "dead"]),
    ("expired", ["dead", "dead", "expired", "terminated", "expired"]),
];

/// An agent that is in this state, and stays in it, is listed as each seed calls that; `detail` is Tavern's state within
/// the state. The word finds it, and `show` says the same.
#[track_caller]
pub fn is_told(sealed: &Sealed, agent: &str, state: &str, detail: Option<&str>) {
    let before = sealed.show(agent);
    assert_eq!(before.state, state, "{before:?}");
    let (_, words) = WORDS.iter().find(|(known, _)| *known == state).expect("a state");
    let session = before.session.as_ref().map(|session| session.id.as_str());
    for (vocabulary, word) in Vocabulary::WORDS.into_iter().zip(words) {
        let (name, value) = match vocabulary {
            "haak" => ("session_id", json!(session)),
            "s3" => ("identity_name", json!(before.name)),
            "gastown" => ("agent", json!(before.name)),
            _ => ("name", json!(before.name)),
        };
        let shown: Document = sealed.json(&["show", agent, "--vocabulary", vocabulary]);
        let field = if shown.contains_key("state") { "state" } else { "status" };
        // An agent that is unknown is stale only if it was not seen for long.
        let said = shown[field].as_str().expect("a word");
        let is_unknown = state == "unknown" && vocabulary == "s3" && said == "active";
        assert!(said == *word || is_unknown, "{vocabulary} calls {state} {said}");
        let listed: Vec<Document> =
            sealed.json(&["ls", "--state", said, "--vocabulary", vocabulary]);
        let listed = listed.iter().find(|one| one[name] == value);
        let listed = listed.unwrap_or_else(|| panic!("{vocabulary}: {state} is listed as {said}"));
        assert_eq!(listed[field], said, "{vocabulary} {state}");
        if vocabulary == "tavern" {
            assert_eq!(listed["activity"], json!(detail), "{state}");
        }
    }
    assert_eq!(sealed.show(agent).state, state, "it stayed so");
}

/// What S3's identity says is true: where the agent works, where the file of its work is, and after which crash.
// covers: S-03
#[test]
fn an_identity_leads_to_the_agents_directory_its_work_and_its_crashed_predecessor() {
    let sealed = Sealed::up();
    let git = |words: &[&str]| {
        let done = std::process::Command::new("git").args(words).current_dir(&sealed.dir).output();
        assert!(done.expect("git runs").status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    std::fs::create_dir(sealed.dir.join("sub")).expect("made");
    sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    sealed.ok(["spawn", "eve", "--dir", "sub", "--", "sleep", "1000000"]);
    let in_mirror = |name: &str| -> Document {
        let places = [sealed.home.mirror(), sealed.dir.join(".perennial")];
        let roots = places.iter().flat_map(|place| {
            let below = std::fs::read_dir(place).into_iter().flatten().flatten();
            below.map(|entry| entry.path()).chain([place.clone()])
        });
        let files = roots.map(|root| root.join(format!("identities/agent-{name}.json")));
        let text = files.filter_map(|file| std::fs::read_to_string(file).ok()).last();
        serde_json::from_str(&text.expect("a file")).expect("a document")
    };
    let work = |identity: &Document| -> Document {
        let word = |field: &str| identity[field].as_str().expect("a path").to_owned();
        let (dir, hook) = (word("target_dir"), word("hook_path"));
        assert!(!hook.starts_with('/'), "{hook}");
        let path = std::path::Path::new(&dir).join(hook);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{path:?}"));
        serde_json::from_str(&text).expect("a document")
    };
    let shown = |name: &str| document(&sealed, name, "s3", S3);
    for name in ["bob", "eve"] {
        let agent = sealed.show(name);
        sealed.until("its work is laid out", || in_mirror(name)["hook_path"].is_string());
        for identity in [shown(name), in_mirror(name)] {
            assert_eq!(identity["target_dir"], json!(agent.dir), "{name}");
            assert_eq!(identity["predecessor_id"], Value::Null);
            assert_eq!(work(&identity)["identity_name"], name);
        }
        let card = sealed.ok(["show", name]);
        assert!(!card.contains(".git"), "{card}");
        assert!(!sealed.ok(["show", name, "--vocabulary", "s3"]).contains(".git"));
    }
    // In the project itself, where it is readable in the seed's form.
    sealed.ok(["init"]);
    for name in ["bob", "eve"] {
        sealed.ok(["set", name, "--situation", "moved"]);
    }
    assert_eq!(shown("bob")["hook_path"], ".perennial/work/bob.json");
    assert_eq!(shown("eve")["hook_path"], "../.perennial/work/eve.json");
    sealed.until("the files are there", || {
        ["bob", "eve"].iter().all(|name| {
            sealed.dir.join(format!(".perennial/identities/agent-{name}.json")).exists()
        })
    });
    for name in ["bob", "eve"] {
        sealed.until("it is laid out there", || {
            in_mirror(name)["hook_path"] == shown(name)["hook_path"]
        });
        assert_eq!(work(&shown(name))["identity_name"], name);
    }
    // A session that somebody wanted follows nobody's crash; one after a crash names the session that crashed.
    sealed.ok(["restart", "bob"]);
    assert_eq!(shown("bob")["predecessor_id"], Value::Null);
    let crashed = sealed.show("bob").session.expect("a session");
    crate::processes::kill(crate::processes::running(crashed.pid.expect("it runs")));
    sealed.watch().running("bob", 3);
    assert_eq!(shown("bob")["predecessor_id"], json!(crashed.id));
    sealed.until("the mirror says so", || in_mirror("bob")["predecessor_id"] == json!(crashed.id));
    sealed.ok(["restart", "bob"]);
    assert_eq!(shown("bob")["predecessor_id"], Value::Null);
}
