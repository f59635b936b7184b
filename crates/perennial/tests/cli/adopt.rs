//! `adopt`: what is refused. Adopting a real conversation is in `claude_conversation`.

use crate::sealed::Sealed;

#[test]
fn bad_ids_prompts_and_unknown_harnesses_are_refused() {
    let sealed = Sealed::up();
    let id = "0f3c2a1e-1b2c";
    let with_prompt = ["adopt", "bob", "--conversation", id, "--prompt", "go on"];
    let problem = sealed.refused(2, &with_prompt);
    assert_eq!(problem.kind, "bad-prompt");
    assert!(problem.next.contains("perennial send bob"), "{problem:?}");
    let path = sealed.refused(2, &["adopt", "bob", "--conversation", "../../etc/passwd"]);
    assert_eq!(path.kind, "bad-conversation");
    let unknown = ["adopt", "bob", "--conversation", id, "--harness", "clod"];
    assert_eq!(sealed.refused(3, &unknown).kind, "no-harness");
    assert_eq!(sealed.run(["adopt", "bob"]).code, 2);
    assert!(sealed.ls().is_empty());
}
