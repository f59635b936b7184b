//! `tokens`: totals of the vendor's own transcripts, without a daemon.

use serde_json::Value;

use crate::sealed::Sealed;

fn answer(message: &str, output: u64) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"u-{message}","timestamp":"2026-11-16T08:00:00Z","message":{{"id":"{message}","model":"claude-opus-5-5","content":[],"usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#
    ) + "\n"
}

#[test]
fn every_message_on_this_machine_is_counted_once() {
    let sealed = Sealed::new();
    assert_eq!(sealed.ok(["tokens"]), "no conversations of claude yet\n");
    let write = |path: &str, text: String| {
        let path = sealed.dir.join(".claude/projects").join(path);
        std::fs::create_dir_all(path.parent().expect("below")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write("-a/one.jsonl", answer("m1", 5) + &answer("m2", 7));
    // A fork repeats its original; a subagent has a file of its own.
    write("-b/two.jsonl", answer("m1", 5) + &answer("m3", 1));
    write("-a/one/subagents/agent-x.jsonl", answer("m4", 2));
    let totals: Value = sealed.json(&["tokens"]);
    assert_eq!((&totals["files"], &totals["harness"]), (&3.into(), &"claude".into()));
    let total = &totals["total"];
    assert_eq!((&total["input"], &total["output"]), (&40.into(), &15.into()), "{totals}");
    assert_eq!(total["partial"], false);
    assert_eq!(totals["models"][0]["model"], "claude-opus-5-5");
    assert!(sealed.ok(["tokens"]).contains("claude-opus-5-5  40     15      0"), "drawn");
    // As `spawn` refuses it.
    for name in ["nobody", ""] {
        let refused = sealed.refused(3, &["tokens", "--harness", name]);
        assert_eq!(refused.kind, "no-harness");
        assert!(refused.title.contains(&format!("no harness '{name}'")), "{refused:?}");
    }
}
