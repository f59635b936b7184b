//! The architect's life and succession, with every real agent CLI: the scripted model itself reports, leaves its
//! legacies, hands its role over and buries itself. Judged by what the model received and by the product's
//! verbs.

use perennial_api::answer::Legacy;
use perennial_api::post::Post;
use perennial_api::role::{Role, Vacancy};
use serde_json::{Value, json};
use understudy::{Kind, Repeat, Turn};

use crate::codex;
use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage, prompt};
use crate::sealed::finish;

const PROJECT: &str = "[role.architect]\nmandate_file = 'mandates/architect.txt'\nsingle_holder = true\n\
                       [role.critic]\n";

/// A relative path starts where the file is that declares it.
fn mandate(stage: &Stage) -> String {
    stage.work.join("mandates/architect.txt").display().to_string()
}

/// A project that declares the architect, worked in by this agent CLI.
fn stage(name: &str) -> Stage {
    let stage = Stage::new(&Harness::named(name));
    std::fs::write(stage.work.join("perennial.toml"), PROJECT).expect("written");
    if name == "codex" {
        // Its hooks run once their owner has trusted them.
        let path = stage.sealed.dir.join(".codex/config.toml");
        let config = std::fs::read_to_string(&path).expect("a configuration");
        std::fs::write(path, config + &codex::trusted()).expect("written");
    }
    stage
}

impl Stage {
    /// A call of one of the agent's own tools, as its model writes it.
    fn own_tool(&self, tool: &str, input: &Value) -> Value {
        let name = match self.preset.name.as_str() {
            "codex" => format!("mcp__perennial.{tool}"),
            "gemini" => format!("mcp_perennial_{tool}"),
            _ => format!("mcp__perennial__{tool}"),
        };
        json!({ "tools": [{ "name": name, "input": input }] })
    }

    /// A verb that has to succeed, where the agents work.
    #[track_caller]
    fn verb(&self, words: &[&str]) -> String {
        let ran = finish(self.command(words));
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.stdout
    }

    #[track_caller]
    fn holders(&self, role: &str) -> Vec<String> {
        let shown: Role =
            serde_json::from_str(&self.verb(&["--json", "role", "show", role])).expect("a role");
        shown.holders.into_iter().map(|holder| holder.name).collect()
    }

    /// An agent of this CLI with a role, whose model says these turns.
    #[track_caller]
    fn spawn_as(&self, name: &str, role: Option<&str>, turns: &Value) {
        let prompt = prompt(turns);
        let mut words = vec!["spawn", name, "--harness", &self.preset.name, "--prompt", &prompt];
        words.extend(self.conformance.free.iter().map(String::as_str));
        words.extend(role.into_iter().flat_map(|role| ["--role", role]));
        self.verb(&words);
    }

    /// Answers that leave the context window filled to this share, and waits until that is noticed.
    #[track_caller]
    fn fills_to(&mut self, percent: u64) {
        self.until("the window is measured", || self.show().context.is_some());
        let usable = self.show().context.expect("measured").usable;
        let usage = json!({ "input": usable * (percent + 2) / 100, "output": 5 });
        self.look_ahead();
        self.send(&json!([{ "text": format!("Filled to {percent}."), "usage": usage }]));
        self.until("the threshold is passed", || {
            self.show().context.is_some_and(|context| context.passed == Some(percent))
        });
        self.idle();
    }

    /// Whether any request of the model's main loop has these words.
    fn was_told(&self, words: &str) -> bool {
        self.requests().iter().any(|record| record.request.contains(words))
    }
}

/// Registered with the role, 50/75/90, legacies, transfer, burial without a vacancy.
#[track_caller]
fn the_architect_hands_over(name: &str) {
    let mut stage = stage(name);
    stage.verb(&["spawn", "bob", "--", "sleep", "1000000"]);
    let usage = json!({ "input": 1000, "output": 5 });
    stage.spawn_as(NAME, Some("architect"), &json!([{ "text": "Begun.", "usage": usage }]));
    stage.idle();
    stage.settled("Begun.");
    stage.told(&format!("The mandate of your role: “{}”", mandate(&stage)));
    for (percent, asks) in [
        (50, "What is on disk already?"),
        (75, "Leave your legacies now"),
        (90, "Externalise only"),
    ] {
        stage.fills_to(percent);
        // A later turn is told of it.
        stage.look_ahead();
        stage.send(&json!([{ "text": format!("Heard {percent}.") }]));
        stage.told(&format!("Perennial clock: {percent} %"));
        stage.idle();
        assert!(stage.was_told(asks), "{asks}");
    }
    stage.look_ahead();
    let leave = |kind: &str| {
        stage.own_tool("legacy", &json!({ "kind": kind, "text": format!("my {kind} text") }))
    };
    stage.send(&json!([
        leave("board"),
        leave("blog"),
        leave("autobiography"),
        stage.own_tool("role", &json!({ "action": "transfer", "to": "bob" })),
        stage.own_tool("bury", &json!({ "summary": "the design is whole" })),
        { "text": "Farewell." },
    ]));
    stage.until("it is buried", || stage.show().state == "dead");
    // Not in the middle of its own call: the model had the answer, and said its last words.
    stage.told("you will be buried when your turn ends");
    assert!(!stage.was_told("it will be vacant"), "it was handed over before");
    let logs = stage.sealed.ok(["logs", NAME]);
    assert!(logs.contains("Farewell."), "{logs}");
    // Nobody misses an architect.
    assert_eq!(stage.holders("architect"), ["bob"]);
    assert!(stage.verb(&["role", "vacancies"]).contains("no vacant roles"));
    // The cemetery has what it left.
    let ada = stage.show();
    assert_eq!((ada.roster.as_str(), ada.reason.as_str()), ("cemetery", "retired"));
    assert_eq!(ada.summary.as_deref(), Some("the design is whole"));
    assert!(ada.usage.is_some_and(|usage| usage.input > 1000) && !ada.conversations.is_empty());
    assert!(stage.verb(&["ls", "--roster", "cemetery"]).contains(NAME));
    let card = stage.sealed.ok(["show", NAME]);
    for part in
        ["last words", "the design is whole", "board, blog, autobiography", "perennial legacy"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    assert!(stage.sealed.ok(["why", NAME]).contains("asked to be buried"), "{card}");
    let left: Vec<Legacy> = stage.sealed.json(&["legacy", NAME]);
    let texts: Vec<Option<&str>> = left.iter().map(|one| one.text.as_deref()).collect();
    assert_eq!(texts, [Some("my board text"), Some("my blog text"), Some("my autobiography text")]);
    let posts: Vec<Post> = stage.sealed.json(&["board", "ls"]);
    assert!(posts.iter().any(|post| post.agent.as_deref() == Some(NAME)), "{posts:?}");
}

/// Without a transfer: the vacancy is told at the burial, on the board, and at the start of another agent's
/// session, which assumes the role.
#[track_caller]
fn a_vacant_role_is_told_and_assumed(name: &str) {
    let stage = stage(name);
    stage.spawn_as(
        NAME,
        Some("architect"),
        &json!([
            stage.own_tool("bury", &json!({ "summary": "I leave it to you" })),
            { "text": "Farewell." },
        ]),
    );
    stage.until("it is buried", || stage.show().state == "dead");
    let mandate = mandate(&stage);
    stage.told(&format!("Nobody else living holds your role 'architect' (mandate: “{mandate}”)"));
    let posts: Vec<Post> = stage.sealed.json(&["board", "ls"]);
    let post = posts.iter().find(|post| post.author == "perennial").expect("a post");
    let shown = stage.sealed.ok(["board", "show", &post.id]);
    assert!(shown.contains("Last held by ada"), "{shown}");
    assert!(shown.contains(&format!("Mandate: {mandate}.")), "{shown}");
    // An undeclared mandate is told, too.
    stage.verb(&["spawn", "tim", "--role", "critic", "--", "sleep", "1000000"]);
    stage.verb(&["bury", "tim"]);
    stage.spawn_as(
        "eve",
        None,
        &json!([
            stage.own_tool("role", &json!({ "action": "assume", "role": "architect" })),
            { "text": "I am the architect." },
        ]),
    );
    stage.until("it has taken the role", || stage.holders("architect") == ["eve"]);
    stage.told(&format!("architect (mandate: “{mandate}”)"));
    stage.told("critic (mandate: “not yet written”)");
    let vacant: Vec<Vacancy> = stage.sealed.json(&["role", "vacancies"]);
    assert!(vacant.iter().all(|vacancy| vacancy.role != "architect"), "{vacant:?}");
}

/// Every window begins with the briefing: the session's first, and those after a compaction and after
/// a conversation was left for a new one.
#[track_caller]
fn every_window_begins_with_the_briefing(name: &str) {
    let mut stage = stage(name);
    stage.verb(&["spawn", "tim", "--role", "critic", "--", "sleep", "1000000"]);
    stage.verb(&["bury", "tim"]);
    stage.verb(&["spawn", "bob", "--", "sleep", "1000000"]);
    let parts = [
        "You are the agent ada, role architect. This is your session 1.",
        "You answer to the operator",
        &format!("The mandate of your role: “{}”", mandate(&stage)),
        "critic (mandate: “not yet written”)",
        "- bob: working",
        "externalise only",
    ];
    let usage = json!({ "input": 1000, "output": 5 });
    stage.spawn_as(NAME, Some("architect"), &json!([{ "text": "Begun.", "usage": usage }]));
    stage.idle();
    stage.settled("Begun.");
    for part in parts {
        assert!(stage.requests()[0].request.contains(part), "{part}: {:#?}", stage.requests()[0]);
    }
    // Too little is not compacted.
    stage.look_ahead();
    stage.send(&json!([{ "text": "Filled.", "usage": { "input": 100_000, "output": 5 } }]));
    stage.told("Filled.");
    stage.idle();
    stage.settled("Filled.");
    let keys = stage.conformance.keys.clone();
    let compact = keys.compact.expect("it is compacted");
    let compactions = || {
        let all = stage.model.requests();
        all.iter().filter(|record| record.request.kind == Kind::Compaction).count()
    };
    // A model takes its time for a summary, and some agent CLIs do not tell when it is there.
    let summary = Turn::text("<summary>Begun and filled.</summary>").to(Kind::Compaction);
    stage.model_says([Turn { delay_ms: 2000, repeat: Repeat::ALWAYS, ..summary }]);
    stage
        .type_command("compaction", &compact, "a request for a summary", || compactions() > 0)
        .expect("it is compacted");
    stage.until("a new window", || stage.sealed.ok(["events", "--json"]).contains("window-began"));
    stage.until("it waits", || stage.show().reason == "idle");
    stage.send(&json!([{ "text": "Compacted.", "usage": usage }]));
    stage.told("Compacted.");
    let clear = keys.clear.expect("it is cleared");
    stage.until("it waits", || stage.show().reason == "idle");
    stage.settled("Compacted.");
    let before = stage.last_request();
    let compacted = "of ada: it is the same session, and its context was compacted.";
    for part in parts.into_iter().chain([compacted, "Resume from phase: investigation"]) {
        assert!(before.request.contains(part), "after the compaction: {part}: {before:#?}");
    }
    stage
        .type_command("clear", &clear, "that the screen is cleared", || {
            !stage.screen().contains("Compacted.")
        })
        .expect("it is cleared");
    stage.send(&json!([{ "text": "Cleared.", "usage": usage }]));
    stage.told("Cleared.");
    let last = stage.last_request();
    for part in parts {
        assert!(last.request.contains(part), "after the clearing: {part}: {last:#?}");
    }
}

/// The names end up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    // covers: H-03, H-08, H-15
    #[test]
    fn claude_the_architect_hands_over() {
        the_architect_hands_over("claude");
    }

    // covers: H-03, H-08, H-15
    #[test]
    fn codex_the_architect_hands_over() {
        the_architect_hands_over("codex");
    }

    // covers: H-03, H-08, H-15
    #[test]
    fn gemini_the_architect_hands_over() {
        the_architect_hands_over("gemini");
    }

    // covers: H-06, H-07, H-08
    #[test]
    fn claude_a_vacant_role_is_told_and_assumed() {
        a_vacant_role_is_told_and_assumed("claude");
    }

    // covers: H-06, H-07, H-08
    #[test]
    fn codex_a_vacant_role_is_told_and_assumed() {
        a_vacant_role_is_told_and_assumed("codex");
    }

    // covers: H-06, H-07, H-08
    #[test]
    fn gemini_a_vacant_role_is_told_and_assumed() {
        a_vacant_role_is_told_and_assumed("gemini");
    }

    // covers: H-07
    #[test]
    fn claude_every_window_begins_with_the_briefing() {
        every_window_begins_with_the_briefing("claude");
    }

    // covers: H-07
    #[test]
    fn codex_every_window_begins_with_the_briefing() {
        every_window_begins_with_the_briefing("codex");
    }

    // covers: H-07
    #[test]
    fn gemini_every_window_begins_with_the_briefing() {
        every_window_begins_with_the_briefing("gemini");
    }
}
