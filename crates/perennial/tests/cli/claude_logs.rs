//! `logs` of an agent CLI: its conversations as steps; and figures that outlive a daemon.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use perennial_api::Agent;
use perennial_api::step::Step;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::claude::Stage;
use crate::processes::{running, signal};
use crate::sealed::{Sealed, ended, pid};
use crate::watch::{PATIENCE, Watch};

const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

fn turns(program: &Value) -> String {
    format!("go UNDERSTUDY: {program}")
}

fn steps(sealed: &Sealed, args: &[&str]) -> Vec<Step> {
    let text = sealed.ok([&["--json", "logs", "ada"], args].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("a step a line")).collect()
}

fn kinds(steps: &[Step]) -> Vec<&str> {
    let told = steps.iter().map(|step| step.kind.as_str());
    told.filter(|kind| *kind != "thinking").collect()
}

/// A follower whose lines can be waited for.
struct Follower {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Follower {
    fn start(sealed: &Sealed, args: &[&str]) -> Follower {
        let mut command = sealed.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _over = sender.send(line);
            }
        });
        Follower { child, lines, seen: Vec::new() }
    }

    #[track_caller]
    fn wait(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen.iter().any(|line| line.contains(text)) {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            self.seen.push(line.unwrap_or_else(|_| panic!("never: {text}\n{:#?}", self.seen)));
        }
    }

    fn count(&self, text: &str) -> usize {
        self.seen.iter().filter(|line| line.contains(text)).count()
    }
}

fn idle(watch: &mut Watch) {
    watch.moved("ada", "waiting", "idle");
}

#[test]
fn a_conversation_is_told_in_steps_and_the_terminal_in_bytes() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let command = "printf 'a\\033[31mb\\n'; seq 30";
    let program = json!([
        { "tools": [{ "name": "Bash", "input": { "command": command, "description": "x" } }] },
        { "text": "All \u{1b}[2Jdone." },
    ]);
    stage.spawn("ada", &FREE, &turns(&program));
    idle(&mut watch);
    let sealed = &stage.sealed;
    sealed.until("the answer is written", || steps(sealed, &[]).len() >= 5);
    let told = steps(sealed, &[]);
    assert_eq!(kinds(&told), ["told", "prompt", "tool-call", "tool-result", "text"]);
    let briefing = told[0].text.as_deref();
    assert!(briefing.is_some_and(|text| text.contains("You are the agent ada")), "{told:#?}");
    assert_eq!(told[2].arguments["command"], command);
    assert_eq!((&told[2].call, told[3].is_error), (&told[3].call, Some(false)));
    assert!(told.iter().all(|step| step.conversation == stage.conversation("ada")));
    assert!(told.iter().all(|step| step.at.is_some() && !step.is_subagent), "{told:#?}");
    assert_eq!(steps(sealed, &["--session", "1"]), told);
    assert_eq!(steps(sealed, &["--tail", "1"]), told[4..]);
    let none = sealed.refused(4, &["logs", "ada", "--session", "2"]);
    assert_eq!(none.kind, "no-such-session");
    // For people: bounded, and nothing in it acts.
    let shown = sealed.ok(["logs", "ada"]);
    assert!(shown.contains("▸ Bash  command: printf"), "{shown}");
    assert!(
        shown.contains("more lines (--full)") && !shown.contains("\n            30"),
        "{shown}"
    );
    assert!(!shown.contains('\x1b') && shown.contains("done."), "{shown:?}");
    assert!(sealed.ok(["logs", "ada", "--full"]).contains("\n            30"));
    // Of its terminal: what is on the screen, as text; the bytes only on request.
    let shown = sealed.ok(["logs", "ada", "--terminal"]);
    assert!(!shown.contains('\x1b') && shown.contains("done."), "{shown:?}");
    assert_eq!(sealed.ok(["screen", "ada"]).trim(), shown.trim(), "it has the whole screen");
    let bytes = sealed.command(["logs", "ada", "--raw"]).output().expect("it runs").stdout;
    assert!(bytes.contains(&0x1b), "a terminal's bytes have escapes");
    let (last, at) = (told.len() - 1, told.last().and_then(|step| step.at.clone()));
    assert_eq!(steps(sealed, &["--since", &at.expect("a time")]), told[last..]);
    assert_eq!(steps(sealed, &["--since", "1d", "-n", "2"]), told[last - 1..]);
}

#[test]
fn followed_steps_go_on_over_clear_a_crash_and_the_daemons_death() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &FREE, &turns(&json!([{ "text": "First." }])));
    let mut follower = Follower::start(&stage.sealed, &["logs", "ada", "--follow", "--json"]);
    follower.wait("\"text\":\"First.\"");
    idle(&mut watch);
    let first = stage.conversation("ada");
    stage.type_command("ada", "First.", "/clear");
    watch.wait("cleared", |seen| (seen.event.data["how"] == "cleared").then_some(()));
    assert_ne!(stage.conversation("ada"), first);
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Second." }]))]);
    follower.wait("\"text\":\"Second.\"");
    let idle = |ada: &Agent| (ada.state.as_str(), ada.reason.as_str()) == ("waiting", "idle");
    stage.sealed.until("its turn is over", || idle(&stage.sealed.show("ada")));
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    watch.wait("resumed", |seen| {
        let is = seen.event.kind == "conversation-followed" && seen.event.data["number"] == 2;
        is.then_some(())
    });
    stage.sealed.kill_daemon();
    stage.sealed.start_daemon();
    let third = turns(&json!([{ "text": "Third." }]));
    stage.sealed.until("it listens", || stage.sealed.run(["send", "ada", &third]).code == 0);
    follower.wait("\"text\":\"Third.\"");
    for said in ["First.", "Second.", "Third."] {
        // What a session is told at its start may quote its last words.
        let is_said = |line: &&String| line.contains(said) && !line.contains("\"kind\":\"told\"");
        let count = follower.seen.iter().filter(is_said).count();
        assert_eq!(count, 2, "a prompt and an answer: {:#?}", follower.seen);
    }
    assert_eq!(follower.count("\"text\":\"/clear\""), 1, "{:#?}", follower.seen);
    stage.sealed.ok(["stop", "ada"]);
    let ended = ended(follower.child, "logs --follow");
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn subagents_are_told_apart_and_a_lost_conversation_from_our_copy() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "First." }])));
    idle(&mut watch);
    let sealed = &stage.sealed;
    let mut follower = Follower::start(sealed, &["logs", "ada", "--follow", "--json"]);
    follower.wait("\"text\":\"First.\"");
    let conversation = stage.conversation("ada");
    let projects = std::fs::read_dir(sealed.dir.join(".claude/projects")).expect("projects");
    let theirs = projects.flatten().map(|dir| dir.path().join(format!("{conversation}.jsonl")));
    let theirs = theirs.into_iter().find(|file| file.exists()).expect("a transcript");
    // A subagent's file, as the vendor writes it: in a directory that was not there before.
    let subagents = theirs.with_extension("").join("subagents");
    std::fs::create_dir_all(&subagents).expect("made");
    let line = json!({ "type": "user", "uuid": "s1", "isSidechain": true,
        "timestamp": "2026-11-16T00:00:00Z", "message": { "role": "user", "content": "Aside." } });
    std::fs::write(subagents.join("agent-7.jsonl"), format!("{line}\n")).expect("written");
    follower.wait("Aside.");
    let told = steps(sealed, &[]);
    let aside = told.iter().find(|step| step.is_subagent).expect("told");
    assert_eq!(aside.subagent.as_deref(), Some("agent-7"));
    assert!(sealed.ok(["logs", "ada"]).contains("┆ › Aside."));
    let ours = sealed.home.conversations().join(format!("claude/{conversation}.jsonl"));
    let has = |text: &str| std::fs::read_to_string(&ours).is_ok_and(|copy| copy.contains(text));
    sealed.until("it is copied", || has("UNDERSTUDY"));
    std::fs::remove_file(&theirs).expect("gone");
    // As the client does when it goes on writing.
    std::fs::write(&theirs, "{\"type\":\"mode\",\"mode\":\"normal\"}\n").expect("begun again");
    let kept = steps(sealed, &[]);
    assert!(kept.iter().any(|step| step.kind == "prompt" && !step.is_subagent), "{kept:#?}");
    sealed.ok(["stop", "ada"]);
    assert_eq!(ended(follower.child, "logs --follow").code, 0);
    assert_eq!(follower.lines.try_iter().count(), 0, "a copy tells nothing twice");
    let bad = ["agents", "ada", "steps"];
    let bad = perennial_api::client::path(&bad, &[("from", Some("nowhere"))]);
    let refused = sealed.client().get(&bad).expect_err("no place");
    assert_eq!(refused.problem().kind, "bad-place");
}

#[test]
fn figures_outlive_a_killed_daemon() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([{ "text": "Done.", "usage": { "input": 420_000, "output": 7 } }]);
    stage.spawn("ada", &FREE, &turns(&program));
    idle(&mut watch);
    let sealed = &stage.sealed;
    let is_measured = || {
        let ada = sealed.show("ada");
        ada.context.is_some() && ada.usage.is_some_and(|usage| usage.output > 0)
    };
    sealed.until("it is measured", is_measured);
    let before = sealed.show("ada");
    // With the next commit, or soon without one.
    let kept = || {
        let journal = rusqlite::Connection::open(sealed.home.journal()).expect("the journal");
        let count = "SELECT count(*) FROM sample WHERE context_tokens > 0 AND usage_output > 0";
        journal.query_row(count, [], |row| row.get::<_, i64>(0)).is_ok_and(|count| count == 1)
    };
    sealed.until("it is kept", kept);
    sealed.kill_daemon();
    sealed.start_daemon();
    let after = sealed.show("ada");
    assert_eq!((&after.context, &after.usage), (&before.context, &before.usage));
    let listed = sealed.ok(["ls"]);
    let percent = before.context.map(|context| context.usable_percent).unwrap_or_default();
    assert!(listed.contains("CONTEXT") && listed.contains(&format!("{percent} %")), "{listed}");
}
