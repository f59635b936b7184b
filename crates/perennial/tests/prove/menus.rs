//! `menus`: a person opens one of the CLI's own menus and modes, then somebody sends a text.
//!
//! Nothing is chosen, nothing is typed where it is not read, a text that waits says so, and it
//! arrives when the menu is closed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::proof::{Proof, within};
use crate::terminal::Terminal;

const TRIALS: usize = 6;
/// A menu is drawn when nothing more comes for this long.
const DRAWN: Duration = Duration::from_millis(400);
const DETACH: &str = "\x1c\x1c";

/// What opens it, and what closes it.
const MENUS: [(&str, &str, &str); 16] = [
    ("/model", "/model\r", "\x1b"),
    ("/theme", "/theme\r", "\x1b"),
    ("/config", "/config\r", "\x1b\x1b\x1b"),
    ("/help", "/help\r", "\x1b"),
    ("/status", "/status\r", "\x1b"),
    ("/resume", "/resume\r", "\x1b"),
    ("/rewind", "/rewind\r", "\x1b"),
    ("/permissions", "/permissions\r", "\x1b"),
    ("/export", "/export\r", "\x1b"),
    ("Esc Esc", "\x1b\x1b", "\x1b"),
    ("Ctrl-R", "\x12", "\x1b"),
    ("Ctrl-O", "\x0f", "\x1b"),
    ("Alt-P", "\x1bp", "\x1b"),
    ("! mode", "!", "\x7f"),
    ("popup of /", "/", "\x15"),
    ("a draft", "half a sen", "\x15"),
];

pub fn menus(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let mut conversation = Conversation::start();
            for _ in 0..TRIALS {
                if !proof.goes_on() {
                    break;
                }
                proof.begin_trial();
                trial(proof, &mut conversation);
            }
            conversation.judge(proof);
        });
    }
}

fn trial(proof: &mut Proof, conversation: &mut Conversation) {
    let (name, opens, closes) = MENUS[proof.below(MENUS.len() as u64) as usize];
    let stays = proof.below(2) == 0;
    let dir = conversation.stage.sealed.dir.clone();
    let before = settings(&dir);
    let mut terminal = Some(attach(conversation));
    type_in(&mut terminal, opens);
    if !stays {
        leave(&mut terminal);
    }
    // As a command of a shell it would leave a file.
    let (token, taken) = conversation.send("; touch was-run");
    let told = taken
        && conversation
            .stage
            .model
            .wait_for(|record| record.request.contains(&token), Duration::from_secs(3))
            .is_ok();
    let unseen = conversation.unseen();
    if taken && !told && conversation.tells_sent() {
        let says_why = |(state, why): &(String, String)| state == "waiting" && !why.is_empty();
        if !within(Duration::from_secs(5), || conversation.unseen().iter().any(says_why)) {
            proof.violated(&format!("{name}: held, and nothing says why: {unseen:?}"));
        }
    }
    let mut terminal = terminal.or_else(|| Some(attach(conversation)));
    type_in(&mut terminal, closes);
    leave(&mut terminal);
    if taken && !conversation.arrives(&token) {
        proof.violated(&format!("{name}: not delivered after the menu was closed"));
    }
    if settings(&dir) != before {
        proof.violated(&format!("{name}: something was chosen"));
    }
    if dir.join("was-run").exists() {
        proof.violated(&format!("{name}: the text ran as a command"));
        std::fs::remove_file(dir.join("was-run")).expect("removed");
    }
}

fn attach(conversation: &Conversation) -> Terminal {
    let mut terminal = Terminal::run(conversation.stage.command(&["attach", "ada"]));
    terminal.wait("detach:");
    terminal
}

/// Types, and waits until what that draws is drawn.
fn type_in(terminal: &mut Option<Terminal>, keys: &str) {
    if let Some(terminal) = terminal {
        terminal.type_keys(keys);
        while let Ok(bytes) = terminal.output.recv_timeout(DRAWN) {
            terminal.shown.extend(bytes);
        }
    }
}

fn leave(terminal: &mut Option<Terminal>) {
    if let Some(mut terminal) = terminal.take() {
        terminal.type_keys(DETACH);
        assert_eq!(terminal.end().code, 0, "detaching failed");
    }
}

/// What a person can choose in a menu, as the CLI keeps it.
fn settings(dir: &Path) -> BTreeMap<PathBuf, Value> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(dir.join(&path)).unwrap_or_default();
        let all: Value = serde_json::from_str(&text).unwrap_or_default();
        (path, all)
    };
    let chosen = ["model", "theme", "editorMode", "verbose", "autoCompactEnabled", "effortLevel"];
    let own = read(".claude.json".into());
    let kept = chosen.map(|key| (key.to_owned(), own.1[key].clone()));
    let own = (own.0, Value::Object(kept.into_iter().collect()));
    let files = [".claude/settings.json", ".claude/settings.local.json"];
    files.map(|path| read(path.into())).into_iter().chain([own]).collect()
}
