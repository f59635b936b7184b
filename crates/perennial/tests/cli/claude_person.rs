//! A person at the terminal of a real Claude Code session: dialogs, questions, drafts, Esc.

use std::process::Command;

use serde_json::{Value, json};

use understudy::Turn;

use crate::claude::{Stage, bash, turns};
use crate::terminal::Terminal;

const MANUAL: [&str; 2] = ["--permission-mode", "manual"];
const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];
const DETACH: &str = "\x1c\x1c";

fn attach(stage: &Stage) -> Terminal {
    let mut terminal = Terminal::run(stage.command(&["attach", "ada"]));
    terminal.wait("detach:");
    terminal
}

fn leave(mut terminal: Terminal) {
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn a_permission_is_given_over_attach_and_the_agent_works_while_its_tool_does() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.sealed.spawn("abe", "exec sleep 300");
    let pipe = stage.sealed.dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let program = json!([
        { "tools": bash("cat pipe > note.txt; echo done-42") },
        { "text": "Written." },
    ]);
    stage.spawn("ada", &MANUAL, &turns(&program));
    let asks = watch.moved("ada", "waiting", "needs-permission");
    let listed = stage.sealed.ls();
    assert!(listed[0].name == "ada" && listed[0].needs_you, "{listed:#?}");
    // Its Enter would be a Yes: it waits.
    stage.sealed.ok(["send", "ada", "--after-turn", "how is it going?"]);
    stage.until_it_waits("ada", "a dialog is open");
    let mut terminal = attach(&stage);
    terminal.wait("want");
    terminal.wait("Yes");
    terminal.type_keys("\r");
    // The tool has not got its input yet: no hook has told that the dialog is gone.
    let works = watch.moved_after(asks.event.seq, "ada", "working", "in-turn");
    assert!(!stage.sealed.ls().iter().any(|agent| agent.needs_you));
    std::fs::write(&pipe, "input").expect("the tool reads");
    let idle = watch.moved_after(works.event.seq, "ada", "waiting", "idle");
    // Now it is typed, and answered.
    stage.told("how is it going?");
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    let note = std::fs::read_to_string(stage.sealed.dir.join("note.txt"));
    assert_eq!(note.expect("it was allowed"), "input");
    stage.told("done-42");
    leave(terminal);
}

#[test]
fn nothing_is_sent_into_a_half_typed_line_and_everything_after_it() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Hello." }])));
    let idle = watch.moved("ada", "waiting", "idle");
    let mut terminal = attach(&stage);
    terminal.wait("Hello.");
    terminal.type_keys("half a sen");
    terminal.wait("sen");
    stage.sealed.ok(["send", "ada", "in between"]);
    stage.until_it_waits("ada", "the input line may hold text that was typed");
    terminal.type_keys("tence\r");
    stage.told("half a sentence");
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    stage.told("in between");
    stage.sealed.ok(["send", "ada", "--wait", "afterwards"]);
    stage.told("afterwards");
    let glued =
        |request: &String| request.contains("sentencein") || request.contains("betweenafter");
    assert!(!stage.main_requests().iter().any(glued));
    leave(terminal);
}

#[test]
fn a_draft_that_is_taken_back_is_in_nobodys_way() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Hello." }])));
    let mut idle = watch.moved("ada", "waiting", "idle");
    let mut terminal = attach(&stage);
    terminal.wait("Hello.");
    for (word, keys) in [("first", "\x15"), ("second", "\x03"), ("third", "\x1b\x1b")] {
        terminal.type_keys(word);
        terminal.wait(word);
        let said = format!("after the {word} draft");
        stage.sealed.ok(["send", "ada", &said]);
        stage.until_it_waits("ada", "the input line may hold text that was typed");
        terminal.type_keys(keys);
        stage.told(&said);
        let requests = stage.main_requests();
        assert!(!requests.iter().any(|request| request.contains(&format!("{word}after"))));
        idle = watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    }
    leave(terminal);
}

#[test]
fn an_interrupted_turn_is_over_though_no_hook_tells() {
    let stage = Stage::saying([Turn::text("Never said.").gate("held")]);
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, "the first words");
    let works = watch.moved("ada", "working", "in-turn");
    stage.model.wait_until_held("held").expect("a turn");
    let mut terminal = attach(&stage);
    terminal.wait("first words");
    terminal.type_keys("\x1b");
    let idle = watch.moved_after(works.event.seq, "ada", "waiting", "idle");
    leave(terminal);
    // The client has put the prompt back into the input line, where nobody typed it.
    stage.sealed.ok(["send", "ada", "once more"]);
    stage.until_it_waits("ada", "the input line is not empty");
    let mut terminal = attach(&stage);
    terminal.type_keys("\x03");
    stage.told("once more");
    assert!(!stage.main_requests().iter().any(|request| request.contains("wordsonce")));
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    leave(terminal);
}

#[test]
fn a_question_is_answered_over_attach() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let option = |label: &str| json!({ "label": label, "description": "one of two" });
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [option("Crimson"), option("Teal")],
    }] });
    let program: Value = json!([
        { "tools": [{ "name": "AskUserQuestion", "input": question }] },
        { "text": "As you wish." },
    ]);
    stage.spawn("ada", &FREE, &turns(&program));
    let asks = watch.moved("ada", "waiting", "needs-answer");
    assert!(stage.sealed.ls()[0].needs_you);
    let mut terminal = attach(&stage);
    terminal.wait("Crimson");
    terminal.type_keys("1");
    let idle = watch.moved_after(asks.event.seq, "ada", "waiting", "idle");
    stage.asked("the answer", |record| {
        let results = record.request.messages.iter().flat_map(|message| &message.parts);
        let is_answer = |part: &understudy::Part| {
            matches!(part, understudy::Part::Result { text, .. } if text.contains("Crimson"))
        };
        results.into_iter().any(is_answer)
    });
    // Neither the key nor a mouse that is moved is a draft.
    terminal.type_keys("\x1b[<35;10;5M");
    stage.sealed.ok(["send", "ada", "once more"]);
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    stage.told("once more");
    leave(terminal);
}
