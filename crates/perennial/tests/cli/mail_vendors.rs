//! Mail to real agent CLIs, whose scripted models send it themselves: in a turn, at its end, and idle.

use std::path::Path;

use perennial_api::mail::{Mail, MailList};
use perennial_core::message::MAIL_AT_ONCE;
use serde_json::{Value, json};
use understudy::Turn;

use crate::conformance::harness::Harness;
use crate::conformance::stage::{NAME, Stage, count};
use crate::sealed::PROGRAM;

const FOURTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/fourth/parley.toml");

/// The mails in ada's mailbox, the oldest first.
fn mails(stage: &Stage) -> Vec<Mail> {
    let list: MailList = stage.sealed.json(&["mail", "ls", NAME]);
    list.mails.into_iter().rev().collect()
}

fn until_seen(stage: &Stage, count: usize) {
    stage.until("the mail was seen", || {
        let mails = mails(stage);
        mails.len() == count && mails.iter().all(|mail| mail.state == "seen")
    });
}

/// Whether a mail was typed: what goes with the reply to a hook is never entered.
fn was_typed(stage: &Stage, mail: &Mail) -> bool {
    let events = stage.sealed.ok(["events", "--json"]);
    let is_entered = |line: &str| line.contains("message-entered") && line.contains(&mail.id);
    assert!(events.lines().any(|line| line.contains("message-offered") && line.contains(&mail.id)));
    events.lines().any(is_entered)
}

/// The model writes to itself in a turn; the operator writes when the turn is about to end, and when it is over.
/// `is_one_line`: its input line has no second line.
fn mail_by_every_way(mut stage: Stage, is_one_line: bool) {
    let send = format!("{PROGRAM} mail send {NAME} -s in-the-turn -m 'the first words'");
    stage.model_says([Turn::text("Understood.")]);
    stage.spawn(&json!([
        // With some vendors the first result carries who the agent is.
        { "tools": stage.shell("true") },
        { "tools": stage.shell(&send) },
        { "text": "Almost done.", "gate": "held" },
        { "text": "Went on." },
    ]));
    // In the turn, with the result of the very call that sent it.
    stage.told("| the first words");
    let told = stage.last_request();
    assert_eq!(count(&told, "| the first words"), 1, "{told:#?}");
    assert!(told.request.contains("from the agent ada"), "{told:#?}");
    // At its end.
    stage.model.wait_until_held("held").expect("the last answer");
    until_seen(&stage, 1);
    stage.sealed.ok(["mail", "send", NAME, "-s", "at-the-end", "-m", "the second words"]);
    stage.model.release("held");
    stage.told("| the second words");
    stage.until("the turn is over", || stage.show().reason == "idle");
    until_seen(&stage, 2);
    assert_eq!(stage.show().session.map(|session| session.number), Some(1));
    // Idle: all that waits is typed as one list.
    stage.look_ahead();
    for (subject, text) in [("idle", "the third words"), ("idle-too", "the fourth words")] {
        stage.sealed.ok(["mail", "send", NAME, "-s", subject, "-m", text, "--priority", "low"]);
    }
    assert!(mails(&stage).iter().filter(|mail| mail.unread).count() == 2, "low starts no turn");
    stage.sealed.ok(["mail", "send", NAME, "-s", "now", "-m", "the fifth words"]);
    stage.told("the fifth words");
    stage.until("the turn is over", || stage.show().reason == "idle");
    until_seen(&stage, 5);
    let typed: Vec<bool> = mails(&stage).iter().map(|mail| was_typed(&stage, mail)).collect();
    assert_eq!(typed, [false, false, true, true, true], "in the turn, at its end, idle");
    let last = stage.last_request();
    let begins = if is_one_line { "You have 3 unread mails:" } else { "You have 3 new mails." };
    assert_eq!(count(&last, begins), 1, "{last:#?}");
    for words in ["the first", "the second", "the third", "the fourth", "the fifth"] {
        // What is typed into a line without a second one is a sentence.
        let is_typed = !matches!(words, "the first" | "the second");
        let sentences = usize::from(is_one_line && is_typed);
        assert_eq!(count(&last, &format!("| {words} words")), 1 - sentences, "{words}: {last:#?}");
        let quoted = format!("it begins: “{words} words”");
        assert_eq!(count(&last, &quoted), sentences, "{words}: {last:#?}");
    }
    // What we told it is told apart from what a person or the model said.
    let steps = stage.sealed.ok(["logs", NAME, "--json", "--full"]);
    let steps = steps.lines().map(|line| serde_json::from_str::<Value>(line).expect("a step"));
    let told: Vec<String> = steps
        .filter(|step| step["kind"] == "told")
        .map(|step| step["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    for words in ["You are the agent ada", "the first words", "the second words", "the third words"]
    {
        assert_eq!(
            told.iter().filter(|text| text.contains(words)).count(),
            1,
            "{words}: {told:#?}"
        );
    }
    let shown = stage.sealed.ok(["logs", NAME]);
    assert!(shown.contains("told: [Perennial mail] You have mail."), "{shown}");
}

// covers: H-19, X-04
#[test]
fn mail_reaches_a_fourth_vendor() {
    let mut harness = Harness::of_file(Path::new(FOURTH));
    harness.program = Some(Path::new(FOURTH).with_extension(""));
    mail_by_every_way(Stage::new(&harness), true);
}

// covers: H-19, X-04
#[test]
fn mail_reaches_claude() {
    mail_by_every_way(Stage::new(&Harness::named("claude")), false);
}

// covers: H-19, X-04
#[test]
fn mail_reaches_codex() {
    mail_by_every_way(codex_with_hooks(), false);
}

/// More mails wait for an idle agent than a list holds: the first ten are one prompt, the others come
/// together in its turn, or after it.
fn many_mails(mut stage: Stage) {
    const ALL: usize = MAIL_AT_ONCE + 3;
    stage.model_says([Turn::text("Understood.")]);
    stage.spawn_idle("Hello.");
    stage.look_ahead();
    let words = |number: usize| format!("| words {number} of many");
    for number in 1..=ALL {
        let priority = if number < ALL { "low" } else { "normal" };
        let text = format!("words {number} of many");
        stage.sealed.ok(["mail", "send", NAME, "-m", &text, "--priority", priority]);
    }
    stage.told(&words(ALL));
    until_seen(&stage, ALL);
    let last = stage.last_request();
    let header = format!("{MAIL_AT_ONCE} of your {ALL} unread mails; the others follow.");
    assert_eq!(count(&last, &header), 1, "{last:#?}");
    let told: String = last.request.messages.iter().map(|message| message.text()).collect();
    let places: Vec<_> = (1..=ALL).map(|number| told.find(&words(number))).collect();
    assert!(places.is_sorted(), "in order: {places:?}");
    for number in 1..=ALL {
        assert_eq!(count(&last, &words(number)), 1, "{number}: {last:#?}");
    }
    assert_eq!(count(&last, "[Perennial mail]"), 2, "{last:#?}");
    assert!(mails(&stage)[..MAIL_AT_ONCE].iter().all(|mail| was_typed(&stage, mail)));
}

// covers: H-19
#[test]
fn many_mails_to_an_idle_claude_are_one_list() {
    many_mails(Stage::new(&Harness::named("claude")));
}

// covers: H-19
#[test]
fn many_mails_to_an_idle_codex_are_one_list() {
    many_mails(codex_with_hooks());
}

// covers: H-19
#[test]
fn many_mails_to_an_idle_gemini_are_one_list() {
    many_mails(Stage::new(&Harness::named("gemini")));
}

/// A Codex whose owner has trusted our hooks.
fn codex_with_hooks() -> Stage {
    let stage = Stage::new(&Harness::named("codex"));
    let config = stage.sealed.dir.join(".codex/config.toml");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(config, text + &crate::codex::trusted()).expect("written");
    stage
}

/// Without hooks there is no way into a turn: it is typed when the turn is over.
// covers: H-19
#[test]
fn mail_reaches_codex_without_hooks_when_it_is_idle() {
    let stage = Stage::new(&Harness::named("codex"));
    stage.model_says([Turn::text("Understood.")]);
    stage.spawn(&json!([{ "text": "Almost done.", "gate": "held" }]));
    stage.model.wait_until_held("held").expect("the answer");
    for text in ["the first words", "the second words"] {
        stage.sealed.ok(["mail", "send", NAME, "-m", text]);
    }
    stage.model.release("held");
    stage.told("| the first words");
    stage.told("| the second words");
    until_seen(&stage, 2);
    let last = stage.last_request();
    assert_eq!((count(&last, "| the first words"), count(&last, "| the second words")), (1, 1));
    assert_eq!(count(&last, "You have 2 new mails."), 1, "{last:#?}");
}

// covers: H-19, X-04
#[test]
fn mail_reaches_gemini() {
    mail_by_every_way(Stage::new(&Harness::named("gemini")), false);
}

/// A model answers mail by its own tools; what a person has half typed stays as it is.
fn draft_and_tools(stage: &mut Stage, tool: impl Fn(&str) -> String) {
    let call = |name: &str, input: Value| json!([{ "name": tool(name), "input": input }]);
    stage.model_says([Turn::text("Understood.")]);
    stage.spawn_idle("Hello.");
    stage.sealed.ok(["send", NAME, "--no-enter", "half a line"]);
    stage.until("the draft", || stage.screen().contains("half a line"));
    stage.sealed.ok(["mail", "send", NAME, "-s", "question", "-m", "which port?"]);
    stage.until("it waits for the draft", || {
        let list = mails(stage);
        list[0].why.as_deref().is_some_and(|why| why.contains("typed but not sent"))
    });
    assert!(stage.screen().contains("half a line"), "{}", stage.screen());
    assert!(!stage.last_request().request.contains("which port?"));
    // The person sends their line: the mail comes with it, and is not in it.
    stage.press("Enter");
    stage.told("half a line");
    stage.told("| which port?");
    until_seen(stage, 1);
    stage.until("the turn is over", || stage.show().reason == "idle");
    // The model reads and answers by its tools.
    let id = mails(stage)[0].id.clone();
    stage.send(&json!([
        { "tools": call("mail_read", json!({ "id": id })) },
        { "tools": call("mail_send", json!({ "reply_to": id, "text": "port 8080" })) },
        { "text": "Answered." },
    ]));
    stage.told("Others wrote this");
    stage.until("the answer", || {
        let list: MailList = stage.sealed.json(&["mail", "ls"]);
        list.unread == 1 && list.mails[0].subject == "Re: question" && list.mails[0].from == NAME
    });
    let read: Vec<Mail> = stage.sealed.json(&["mail", "read"]);
    assert_eq!(read[0].text.as_deref(), Some("port 8080"));
    let list: MailList = stage.sealed.json(&["mail", "ls"]);
    assert_eq!((list.unread, list.mails[0].state.as_str()), (0, "seen"));
}

// covers: H-19, X-04
#[test]
fn claude_answers_by_its_tools_and_a_draft_stays() {
    let mut stage = Stage::new(&Harness::named("claude"));
    draft_and_tools(&mut stage, |name| format!("mcp__perennial__{name}"));
}

// covers: H-19, X-04
#[test]
fn gemini_answers_by_its_tools_and_a_draft_stays() {
    let mut stage = Stage::new(&Harness::named("gemini"));
    draft_and_tools(&mut stage, |name| format!("mcp_perennial_{name}"));
}

// covers: H-19, X-04
#[test]
fn codex_answers_by_its_tools_and_a_draft_stays() {
    let mut stage = codex_with_hooks();
    draft_and_tools(&mut stage, |name| format!("mcp__perennial.{name}"));
}
