//! What people read of a text to an agent: why it waits, and what became of it. Decides nothing.

use perennial_core::message::{Held, Sender, Why};
use perennial_core::reason::Reason;

/// Why an attempt to deliver a text did not succeed.
pub fn held(why: Held) -> &'static str {
    match why {
        Held::Draft => {
            "the input line may hold text that was typed but not sent; in `perennial attach`, \
             send it or clear it with Ctrl-C"
        }
        Held::Doubt => {
            "the input line is not empty, or a menu is open; in `perennial attach`, clear the \
             line with Ctrl-C or close the menu with Esc"
        }
        Held::Dialog => "a dialog is open",
        Held::Suspended => "the program is suspended; `perennial why` shows how to continue it",
        Held::NotDrawn => "the input line has not been drawn yet",
        Held::NoEcho => "the text did not appear in the input line, so Enter was not pressed",
        Held::Leftover => "an earlier text is still in the input line",
        Held::Busy => "another text is being typed",
        Held::Full => "the terminal accepts no input",
        Held::OldHolder => "the session's holder is of an older version that can't deliver texts",
        Held::Damaged => {
            "the text can't be read from the journal; withdraw it with `perennial unsend` and \
             send it again"
        }
        Held::Unfit => {
            "the agent CLI no longer accepts a text like this one; withdraw it with \
             `perennial unsend`"
        }
        Held::LongLine => {
            "it has a line longer than the 4,095 bytes that the terminal accepts; withdraw it \
             with `perennial unsend`"
        }
        Held::HomeCopied => {
            "it was sent before this home was copied, and the original may deliver it; withdraw it \
             with `perennial unsend`, and send it again if it is needed here"
        }
        Held::Blocked => {
            "a hook of the user's blocked it, and it will not be typed again; withdraw it with \
             `perennial unsend`"
        }
        Held::SessionEnded => "the session ended before the agent saw it",
        Held::NotTaken => "the conversation went on without this text",
    }
}

/// Why a text with a damaged record will not be delivered.
pub const UNREADABLE: &str = "a record of this text can't be read; the text may already have been \
    delivered, so it will not be typed again. `perennial unsend` withdraws it";

/// What is said of a damaged row in the list of messages.
pub const UNREADABLE_ROW: &str = "this text's entry can't be read; `perennial events` shows what \
    was recorded";

/// Why a text that is known only from the list of messages will not be delivered.
pub const LOST: &str = "its records can't be read, so it will not be delivered";

/// Added to a text that a session was given, but had not seen when its agent was buried.
pub const MAY_BE_READ: &str = "it was offered to a session; the agent may have read it";

/// Why a text to a bare command stays `offered`.
pub const WRITTEN: &str = "typed into the terminal; a bare command can't confirm that it has \
    read the text";

/// Why mail waits that nobody is told of by us. Its recipient knows that.
pub const READER: &str = "it waits until its recipient reads it with `perennial mail read`";

pub fn sender(from: Sender) -> &'static str {
    match from {
        Sender::Person => "person",
        Sender::Perennial => "perennial",
        Sender::Agent(_) => "agent",
    }
}

/// What a text is waiting for, given the reason for its agent's state.
pub fn waits(why: Why, agent: Reason) -> String {
    if let Why::Earlier(id) = why {
        return format!("an earlier text goes first: {id}");
    }
    known(why, agent).to_owned()
}

/// What needs no more than words.
fn known(why: Why, agent: Reason) -> &'static str {
    match why {
        Why::Dialog if agent.is_before_first_sign() => {
            "the agent has given no sign of life and may be showing a dialog; see `perennial attach`"
        }
        Why::Unreadable => UNREADABLE,
        Why::NoSession => "the agent has no running session",
        Why::Starting => "the session is starting",
        Why::HandsOff => "the session is being handed off; the next one gets it",
        Why::Dialog => "a dialog is open; answer it in `perennial attach`",
        Why::TurnRuns => "the turn has not ended yet",
        Why::AgentHeld => "the agent is held",
        Why::Burial => {
            "the agent will be buried when its turn ends; `perennial restart` takes that back"
        }
        Why::Earlier(_) => "an earlier text goes first",
        Why::Hook => "it is delivered with the agent's next tool call or prompt",
        Why::Vacant => "nobody holds the role; it waits for the next holder",
        Why::Reader => READER,
        Why::After(why) => held(why),
        Why::Unheard => "typed, and Enter pressed; not yet accepted by the agent CLI",
        Why::Unseen => "typed and accepted; not yet in the conversation",
        Why::Due => "about to be typed",
    }
}

/// The same of a text that a hook blocked, with the words that the hook gave.
pub fn blocked(words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.as_str() {
        "" => held(Held::Blocked).to_owned(),
        words => format!("{}. The hook said: {words}", held(Held::Blocked)),
    }
}
