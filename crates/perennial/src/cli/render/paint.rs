//! Colours, or none.

use perennial_api::state;

/// What a colour is to say; the terminal's theme decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Busy,
    Attention,
    Alarm,
    Cold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub const OFF: Paint = Paint { on: false };
    #[cfg(test)]
    pub const ON: Paint = Paint { on: true };

    /// `NO_COLOR` wins, then `CLICOLOR_FORCE`, then whether a terminal is there.
    pub fn choose(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Paint {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let on = if set("NO_COLOR").is_some() {
            false
        } else if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            true
        } else {
            terminal && variable("TERM").as_deref() != Some("dumb")
        };
        Paint { on }
    }

    pub fn is_on(self) -> bool {
        self.on
    }

    pub fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_owned(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Busy => "36",
            Ink::Attention => "1;33",
            Ink::Alarm => "31",
            Ink::Cold => "34",
        };
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The colour of an agent's state.
pub fn state_ink(state: &str) -> Ink {
    match state {
        state::WORKING => Ink::Good,
        state::HATCHING | state::WAKING | state::HANDING_OFF => Ink::Busy,
        state::WAITING | state::UNKNOWN => Ink::Attention,
        state::CRASHED => Ink::Alarm,
        state::FROZEN => Ink::Cold,
        // Asleep, dead, or a state that only a newer daemon knows.
        _ => Ink::Faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(terminal: bool, variables: &[(&str, &str)]) -> bool {
        Paint::choose(terminal, |name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
        .on
    }

    #[test]
    fn who_decides_on_colours() {
        assert!(chosen(true, &[]));
        assert!(!chosen(false, &[]));
        assert!(!chosen(true, &[("TERM", "dumb")]));
        assert!(!chosen(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(chosen(true, &[("NO_COLOR", "")]));
        assert!(chosen(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!chosen(false, &[("CLICOLOR_FORCE", "0")]));
    }
}
