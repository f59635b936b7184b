//! Codex's input line: an Enter right behind quick keys is a new row there, and only the hint of an empty
//! line tells that from a line that was sent.

use serde_json::json;

use crate::claude::{state, turns};
use crate::codex::Stage;

impl Stage {
    /// Waits until the newest text waits for this reason.
    fn until_it_waits(&self, name: &str, why: &str) {
        self.sealed
            .until(why, || self.sealed.ok(["sent", name, "-n", "1", "--json"]).contains(why));
    }

    fn until_shown(&self, name: &str, words: &str) {
        self.sealed.until(words, || self.sealed.ok(["screen", name]).contains(words));
    }

    /// An agent that has answered once.
    fn idle(&self) {
        let mut watch = self.sealed.watch();
        self.spawn("ada", &[], &turns(&json!([{ "text": "All done." }])));
        state(&mut watch, "ada", "waiting", "idle");
        self.until_shown("ada", "All done.");
    }
}

#[test]
fn a_text_waits_behind_keys_whose_enter_was_taken_for_a_new_line() {
    let stage = Stage::new();
    stage.idle();
    for round in 0..3 {
        let (keys, text) = (format!("round-{round} typed by keys"), format!("round-{round} sent"));
        stage.sealed.ok(["send", "ada", "--no-enter", &keys, "--key", "Enter"]);
        stage.until_shown("ada", &keys);
        stage.sealed.ok(["send", "ada", &text]);
        // In the program's eyes a new line; if it was quick enough to see an Enter, this one does nothing.
        stage.sealed.until("it is sent, or waits for the draft", || {
            let sent = stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]);
            sent.contains("typed but not sent") || sent.contains("seen")
        });
        stage.sealed.ok(["send", "ada", "--key", "Enter"]);
        stage.told(&text);
        let last = stage.main_requests().pop().expect("a request");
        assert!(!last.contains(&format!("{keys}\\n{text}")), "glued: {last}");
        stage.sealed.until("seen", || {
            stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]).contains("seen")
        });
        let requests = stage.main_requests();
        let twice = requests.iter().any(|request| request.matches(text.as_str()).count() > 1);
        assert!(!twice, "typed a second time: {requests:?}");
    }
}

#[test]
fn a_draft_that_was_erased_holds_no_text_back() {
    let stage = Stage::new();
    stage.idle();
    stage.sealed.ok(["send", "ada", "--no-enter", "oops"]);
    stage.until_shown("ada", "› oops");
    // Who moves the caret may erase anything: keys alone do not tell that the line is empty again.
    stage.sealed.ok(["send", "ada", "--key", "Left", "--key", "Right"]);
    stage.sealed.ok(["send", "ada", "behind the draft"]);
    stage.until_it_waits("ada", "typed but not sent");
    for _ in 0..4 {
        stage.sealed.ok(["send", "ada", "--key", "BSpace"]);
    }
    stage.told("behind the draft");
    let last = stage.main_requests().pop().expect("a request");
    assert!(!last.contains("oops"), "{last}");
}
