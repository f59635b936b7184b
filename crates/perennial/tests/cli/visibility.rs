//! Who sees what: one rule for every read, for a person, the agent itself, its lead, another agent and
//! a viewer.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use perennial_api::Agent;
use serde_json::{Value, json};

use crate::callers::{Answer, Who, ask, ask_one};
use crate::sealed::Sealed;

const BUILT_IN: &str = include_str!("../../../perennial-engine/src/harness/presets/claude.toml");

const ARGV: &str = "secret-argument";
const VARIABLE: &str = "SECRET_NAME";
const PROMPT: &str = "secret-prompt";
const TEXT: &str = "secret-text";
const ALL: [&str; 4] = [ARGV, VARIABLE, PROMPT, TEXT];

/// A child with secrets, its lead, and somebody else.
struct Fleet {
    sealed: Sealed,
    lead: Agent,
    child: Agent,
    other: Agent,
    /// The id of the text to the child.
    text: String,
}

impl Fleet {
    fn new() -> Fleet {
        let sealed = Sealed::up();
        let lead = sealed.spawn("lead", "read x");
        let between = sealed.spawn_with(&["between", "--parent", "lead"], &["/bin/cat"]);
        let other = sealed.spawn("other", "read x");
        // An agent CLI that says nothing and takes nothing.
        let program = sealed.dir.join("mute");
        std::fs::write(&program, "#!/bin/sh\nwhile read x; do :; done\n").expect("written");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
        let presets = sealed.home.config.join("harness");
        std::fs::create_dir_all(&presets).expect("made");
        let program = format!("program = {:?}", program.display().to_string());
        let preset = BUILT_IN.replace("program = \"claude\"", &program);
        std::fs::write(presets.join("claude.toml"), preset).expect("written");
        let variable = format!("{VARIABLE}=value");
        let options = [
            &["child", "--parent", &between.name, "--harness", "claude"][..],
            &["--prompt", PROMPT, "--env", &variable],
        ];
        let child = sealed.spawn_with(&options.concat(), &[ARGV]);
        let sent: Value = sealed.json(&["send", "child", TEXT]);
        let text = sent["id"].as_str().expect("an id").to_owned();
        Fleet { sealed, lead, child, other, text }
    }

    /// Who sees it, and who does not.
    fn callers(&self) -> [(Who<'_>, bool); 5] {
        [
            (Who::Person, true),
            (Who::Agent(&self.child), true),
            (Who::Agent(&self.lead), true),
            (Who::Agent(&self.other), false),
            (Who::Viewer, false),
        ]
    }

    fn ask(&self, who: Who<'_>, path: &str) -> Answer {
        ask_one(&self.sealed, who, path)
    }
}

fn secrets(body: &Value) -> Vec<&'static str> {
    let text = body.to_string();
    ALL.into_iter().filter(|secret| text.contains(secret)).collect()
}

fn withheld(value: &Value) -> Vec<&str> {
    value["withheld"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn an_agent_is_shown_to_everybody_and_its_command_line_is_not() {
    let fleet = Fleet::new();
    for (who, sees) in fleet.callers() {
        let paths = ["/v1/agents", "/v1/agents?all=true", "/v1/agents/child"];
        for answer in ask(&fleet.sealed, who, &paths) {
            assert_eq!(answer.status, 200, "{who:?}");
            let child = match &answer.body {
                Value::Array(all) => all.iter().find(|agent| agent["name"] == "child"),
                one => Some(one),
            };
            let child = child.expect("it is listed");
            assert_eq!(child["state"], "hatching", "the rest is public");
            let expected: &[&str] = if sees { &[ARGV, VARIABLE] } else { &[] };
            assert_eq!(secrets(&answer.body), expected, "{who:?}: {child:#}");
            let expected: &[&str] = if sees { &[] } else { &["argv", "env_names"] };
            assert_eq!(withheld(child), expected, "{who:?}");
        }
        // Everybody sees themselves.
        if let Who::Agent(own) = who {
            let own = fleet.ask(who, &format!("/v1/agents/{}", own.id));
            assert_eq!(withheld(&own.body), [""; 0], "{who:?}");
            assert!(!own.body["argv"].as_array().expect("a list").is_empty(), "{who:?}");
        }
    }
}

#[test]
fn an_agents_story_is_told_without_what_is_private() {
    let fleet = Fleet::new();
    for (who, sees) in fleet.callers() {
        let why = fleet.ask(who, "/v1/agents/child/why");
        assert_eq!(why.status, 200, "{who:?}");
        let kinds: Vec<&Value> =
            why.body["story"].as_array().expect("a story").iter().map(|it| &it["kind"]).collect();
        assert!(kinds.contains(&&json!("hatched")) && kinds.contains(&&json!("session-running")));
        let expected: &[&str] = if sees { &[ARGV, VARIABLE, TEXT] } else { &[] };
        assert_eq!(secrets(&why.body), expected, "{who:?}: {:#}", why.body);
        let expected: &[&str] = if sees { &[] } else { &["texts"] };
        assert_eq!(withheld(&why.body), expected, "{who:?}");
        let born = &why.body["story"][0];
        assert_eq!(withheld(born).is_empty(), sees, "{who:?}: {born:#}");
    }
}

/// What the system said of a start that failed may quote the command line.
#[test]
fn why_a_start_failed_is_private_wherever_it_is_told() {
    const SAID: &str = "os error";
    let fleet = Fleet::new();
    let program = fleet.sealed.dir.join("garbage");
    std::fs::write(&program, "#!/no/such/interpreter\n").expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
    let program = program.display().to_string();
    let spawn = ["spawn", "broken", "--parent", "lead", "--restart", "never", "--", &program];
    assert_eq!(fleet.sealed.refused(3, &spawn).kind, "not-started");
    let of_broken = "/v1/agents/broken";
    let paths = [
        "/v1/agents?all=true",
        of_broken,
        "/v1/agents/broken/why",
        "/v1/events?agent=broken",
        "feed:moved /v1/feed?agent=broken&since=0",
    ];
    for (who, sees) in fleet.callers() {
        // The child is not the one that failed.
        let sees = sees && !matches!(who, Who::Agent(agent) if agent.name == "child");
        for answer in ask(&fleet.sealed, who, &paths) {
            let text = answer.body.to_string();
            assert_eq!(answer.status, 200, "{who:?}");
            assert!(text.contains("could not be started"), "{who:?}: {:#}", answer.body);
            assert_eq!(text.contains(SAID), sees, "{who:?}: {:#}", answer.body);
        }
        let shown = fleet.ask(who, of_broken).body;
        let reason = shown["reason_text"].as_str().expect("a reason");
        assert_eq!(withheld(&shown).contains(&"evidence.fact"), !sees, "{who:?}");
        if !sees {
            assert_eq!(reason, "could not be started; restarts are off", "{who:?}");
        }
    }
}

#[test]
fn events_are_for_everybody_and_what_is_private_in_them_is_not() {
    let fleet = Fleet::new();
    let paths = ["/v1/events?agent=child", "/v1/events"];
    let whole = ask(&fleet.sealed, Who::Person, &paths);
    for (who, sees) in fleet.callers() {
        for (answer, whole) in ask(&fleet.sealed, who, &paths).iter().zip(&whole) {
            assert_eq!(answer.status, 200, "{who:?}");
            let expected: &[&str] = if sees { &ALL } else { &[] };
            assert_eq!(secrets(&answer.body), expected, "{who:?}: {:#}", answer.body);
            let events = answer.body.as_array().expect("a list");
            let of_child = |event: &&Value| event["agent_id"] == fleet.child.id.as_str();
            let kinds = |events: &[Value]| {
                events.iter().filter(of_child).map(|it| it["kind"].clone()).collect::<Vec<_>>()
            };
            let all = kinds(whole.body.as_array().expect("a list"));
            assert_eq!(kinds(events)[..all.len()], all, "{who:?}: nobody misses an event");
            let recorded = events.iter().find(|event| event["kind"] == "message-recorded");
            let recorded = recorded.expect("its text was recorded");
            // Whoever may not read a text does not learn its id either.
            assert_eq!(recorded.to_string().contains(&fleet.text), sees, "{recorded:#}");
            let expected: &[&str] = if sees { &[] } else { &["entity.id", "content"] };
            assert_eq!(withheld(recorded), expected, "{who:?}");
            let born = events.iter().filter(of_child).find(|event| event["kind"] == "hatched");
            let expected: &[&str] = match sees {
                true => &[],
                false => &["launch.options.prompt", "launch.argv", "launch.env_names"],
            };
            assert_eq!(withheld(born.expect("born")), expected, "{who:?}");
        }
    }
}

#[test]
fn the_feed_keeps_to_the_same_rule() {
    let fleet = Fleet::new();
    for (who, sees) in fleet.callers() {
        let path = "feed:message-recorded /v1/feed?agent=child&since=0";
        let messages = fleet.ask(who, path).body;
        let expected: &[&str] = if sees { &ALL } else { &[] };
        assert_eq!(secrets(&messages), expected, "{who:?}: {messages:#}");
        let messages = messages.as_array().expect("messages");
        let agent = messages.iter().find(|message| message["event"] == "agent");
        let shown = fleet.ask(who, "/v1/agents/child").body;
        let agent = &agent.expect("the agent comes with it")["data"];
        for member in ["id", "name", "argv", "env_names", "withheld", "created_at"] {
            assert_eq!(agent[member], shown[member], "{who:?}: {member}");
        }
    }
}

#[test]
fn texts_and_transcripts_are_refused_where_nothing_of_them_is_public() {
    let fleet = Fleet::new();
    let message = format!("/v1/messages/{}", fleet.text);
    for (who, sees) in fleet.callers() {
        let paths = ["/v1/agents/child/sent", "/v1/agents/child/steps", &message];
        let answers = ask(&fleet.sealed, who, &paths);
        let status: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        // An id that may not be asked for does not exist.
        let expected = if sees { [200, 200, 200] } else { [403, 403, 404] };
        assert_eq!(status, expected, "{who:?}: {answers:#?}");
        if matches!(who, Who::Agent(_)) && !sees {
            // It is told what the rule is, not that of another verb.
            let [sent, steps, _] = &answers[..] else { panic!("three answers") };
            assert_eq!(sent.body["title"], "an agent may not read texts to another agent");
            assert_eq!(steps.body["title"], "an agent may not read another agent's conversation");
            for refused in [sent, steps] {
                let why = refused.body["detail"].as_str().expect("a reason");
                assert!(why.starts_with("only a person, the agent itself and"), "{why}");
            }
        }
        for answer in &answers {
            let is_text = sees && answer.body.to_string().contains("recorded_at");
            let expected: &[&str] = if is_text { &[TEXT] } else { &[] };
            assert_eq!(secrets(&answer.body), expected, "{who:?}: {:#}", answer.body);
        }
        // A raw terminal could show how to answer a dialog.
        let raw = fleet.ask(who, "/v1/agents/child/logs").status;
        assert_eq!(raw == 200, matches!(who, Who::Person), "{who:?}: {raw}");
        // The board is for everybody.
        assert_eq!(fleet.ask(who, "/v1/board").status, 200, "{who:?}");
    }
}

#[test]
fn the_dead_keep_their_secrets() {
    let fleet = Fleet::new();
    fleet.sealed.ok(["bury", "child", "--summary", "done"]);
    // Now they are read from the store.
    fleet.sealed.ok(["down"]);
    fleet.sealed.start_daemon();
    for (who, sees) in fleet.callers() {
        // The dead call nobody; who carries their mark is nobody but them.
        let child = format!("/v1/agents/{}", fleet.child.id);
        let (why, events) =
            (format!("{child}/why"), format!("/v1/events?agent={}", fleet.child.id));
        for answer in ask(&fleet.sealed, who, &[&child, "/v1/agents?all=true", &why, &events]) {
            assert_eq!(answer.status, 200, "{who:?}");
            assert_eq!(secrets(&answer.body).contains(&ARGV), sees, "{who:?}: {:#}", answer.body);
            assert!(sees || secrets(&answer.body).is_empty(), "{who:?}: {:#}", answer.body);
        }
        // Nothing of these is public, and of a raw terminal nothing but for persons.
        for part in ["sent", "steps"] {
            let status = fleet.ask(who, &format!("{child}/{part}")).status;
            assert_eq!(status == 403, !sees, "{who:?} {part}: {status}");
        }
        let raw = fleet.ask(who, &format!("{child}/logs")).status;
        assert_eq!(raw == 403, !matches!(who, Who::Person), "{who:?}: {raw}");
    }
}

#[test]
fn an_agents_tools_keep_to_the_same_rule() {
    let fleet = Fleet::new();
    let call = |who: Who<'_>, tool: &str| {
        let mut command = who.runs(fleet.sealed.command(["mcp"]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().expect("it runs");
        let params = json!({ "name": tool, "arguments": {} });
        let asked = json!({ "id": 1, "method": "tools/call", "params": params });
        let mut input = server.stdin.take().expect("piped");
        std::io::Write::write_all(&mut input, format!("{asked}\n").as_bytes()).expect("asked");
        drop(input);
        crate::sealed::ended(server, "the tools").stdout
    };
    for agent in [&fleet.child, &fleet.lead, &fleet.other] {
        let roster = call(Who::Agent(agent), "roster");
        assert!(roster.contains("child"), "{roster}");
        assert_eq!(secrets(&roster.into()), [""; 0], "a roster has no secrets");
    }
    let myself = call(Who::Agent(&fleet.child), "myself");
    assert_eq!(secrets(&myself.into()), [ARGV, VARIABLE]);
    for who in [Who::Person, Who::Viewer] {
        assert!(call(who, "roster").contains("isError"), "{who:?}");
    }
}
