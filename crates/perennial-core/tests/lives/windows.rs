//! When a window begins, where the hooks that tell of it come in another order.

use perennial_core::context::Threshold;
use perennial_core::conversation::Followed;
use perennial_core::fact::{Fact, Seen};

use crate::listener::{Listener, conversation, hook, line, prompt};

fn passed(listener: &Listener) -> Option<Threshold> {
    listener.told.agent(1).clock.passed
}

fn within(fact: Fact) -> Fact {
    fact.within(Some(conversation("b")))
}

/// Found by seed 12569: the hook of `/clear` was overtaken by the next prompt's, and the new window
/// kept what the old one had passed, and was told of it.
#[test]
fn a_clear_that_is_overtaken_by_the_next_prompt_begins_a_window_all_the_same() {
    let cleared = within(hook(Seen::SessionBegan(Followed::Cleared)));
    let mut listener = Listener::new();
    listener.hear(&line(60).within(Some(conversation("a"))));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.hear(&within(prompt("p2")));
    assert_eq!(passed(&listener), Some(Threshold::Half), "nothing tells of a new window yet");
    listener.hear(&cleared);
    assert_eq!(passed(&listener), None);
    listener.hear(&within(line(60)));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.hear(&cleared);
    assert_eq!(passed(&listener), Some(Threshold::Half), "H2: once");

    // What passed since is of the new window, and is not told again.
    let mut listener = Listener::new();
    listener.hear(&line(60).within(Some(conversation("a"))));
    listener.hear(&within(prompt("p2")));
    listener.hear(&within(line(80)));
    listener.hear(&cleared);
    assert_eq!(passed(&listener), Some(Threshold::ThreeQuarters));
}
