//! `prime`: what a session is told at its start, on request, from outside.

use perennial_api::answer::StartText;

use crate::sealed::{PROGRAM, Sealed};

// covers: H-07
#[test]
fn an_agent_without_hooks_asks_for_its_briefing_and_a_person_may_read_it() {
    let sealed = Sealed::up();
    std::fs::write(sealed.dir.join("perennial.toml"), "[role.critic]\nmandate = 'doubt it'\n")
        .expect("written");
    sealed.ok(["spawn", "tim", "--role", "architect", "--", "sleep", "1000000"]);
    sealed.ok(["bury", "tim"]);
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    let script = "\"$0\" prime > own; \"$0\" prime eve 2> other; echo $? >> other; read x";
    sealed.ok(["spawn", "bob", "--role", "critic", "--", "/bin/sh", "-c", script, PROGRAM]);
    let read = |file: &str| std::fs::read_to_string(sealed.dir.join(file)).unwrap_or_default();
    sealed.until("it is refused", || read("other").trim_end().ends_with('3'));
    let briefing: StartText = sealed.json(&["prime", "bob"]);
    for part in [
        "You are the agent bob, role critic. This is your session 1.",
        "You answer to the operator, a person.",
        "The mandate of your role: “doubt it”",
        "Vacant roles: architect (mandate: “not yet written”).",
        "Siblings:\n- eve: working",
        "- 75 %: consolidate. Fewer reads, more writes; leave your legacies.",
    ] {
        assert!(briefing.text.contains(part), "{part}\n--\n{}", briefing.text);
    }
    assert!(briefing.text.len() <= 4096);
    assert_eq!(read("own"), briefing.text);
    // The order is that of use.
    let place = |part: &str| briefing.text.find(part).expect(part);
    assert!(place("mandate of your role") < place("Vacant roles"));
    assert!(place("Vacant roles") < place("Siblings") && place("Siblings") < place("Your clock"));
    assert_eq!(sealed.run(["prime"]).code, 2, "a person names an agent");
    assert_eq!(sealed.run(["prime", "nobody"]).code, 4);
}
