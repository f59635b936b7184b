//! `completions`: scripts for shells.

use crate::sealed::Sealed;

#[test]
fn completions_are_scripts_that_know_the_verbs() {
    let sealed = Sealed::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sealed.ok(["completions", shell]);
        for verb in ["spawn", "attach", "bury", "doctor"] {
            assert!(script.contains(verb), "{shell} does not know {verb}");
        }
    }
    assert_eq!(sealed.run(["completions", "tcl"]).code, 2);
}
