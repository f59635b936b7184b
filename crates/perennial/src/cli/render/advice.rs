//! What a person can do about an agent's state. What happens next is decided by the daemon.
//!
//! Never suggests to end, bury or delete anything: agents follow such texts.

use perennial_api::answer::Why;

use super::roster::name;
use super::text::plain;

/// Commands, each with what it is for.
pub fn advice(why: &Why) -> Vec<(String, &'static str)> {
    let agent = &why.agent;
    let name = name(agent);
    let command = |verb: &str, what| (format!("perennial {verb} {name}"), what);
    let attach = command("attach", "use its terminal");
    let logs = command("logs", "read what it did");
    let wake = command("wake", "start a session now");
    let send = (format!("perennial send {name} '…'"), "tell it what to do");
    let doctor = ("perennial doctor".to_owned(), "find out what is wrong");
    let has_process = agent.session.as_ref().is_some_and(|session| session.pid.is_some());
    let mut commands = match (agent.state.as_str(), agent.reason.as_str()) {
        ("hatching" | "waking", _) if has_process => vec![attach, logs],
        ("hatching" | "waking", _) => vec![logs],
        ("waiting", "idle" | "stopped-in-turn" | "limit-reached" | "service-failed") => {
            vec![send, attach, logs]
        }
        ("working" | "waiting", _) => vec![attach, logs],
        ("unknown", "record-unreadable" | "home-copied") => vec![doctor, wake],
        ("unknown", _) => vec![doctor],
        ("handing-off", _) => vec![attach],
        ("crashed", _) => vec![logs, wake],
        ("sleeping", _) => vec![wake, logs],
        ("hibernating", _) => vec![wake],
        ("dead" | "expired", _) => vec![logs],
        // Includes states that only a newer daemon knows.
        _ => vec![],
    };
    let stuck = why.texts.iter().filter(|text| text.needs_you);
    commands.extend(stuck.map(|text| {
        (format!("perennial unsend {}", plain(&text.id)), "withdraw a text that can't be delivered")
    }));
    commands
}

#[cfg(test)]
mod tests {
    use perennial_api::Agent;
    use perennial_api::answer::Message;

    use super::*;
    use crate::cli::render::roster::sample;

    fn commands(agent: Agent, texts: Vec<Message>) -> Vec<String> {
        let why = Why { agent, texts, ..Why::default() };
        advice(&why).into_iter().map(|(command, _)| command).collect()
    }

    #[test]
    fn advice_fits_the_state() {
        let crashed = commands(sample::crashed(), Vec::new());
        assert!(crashed.contains(&"perennial wake bob".to_owned()), "{crashed:?}");
        let (state, reason) = ("waiting".to_owned(), "idle".to_owned());
        let idle = commands(Agent { state, reason, ..sample::working() }, Vec::new());
        assert_eq!(idle[0], "perennial send alice '…'");
    }

    #[test]
    fn a_text_that_only_a_person_can_move_is_offered_back() {
        let text = |id: &str, needs_you| Message { id: id.into(), needs_you, ..Message::default() };
        let texts = vec![text("msg_1", true), text("msg_2", false)];
        let commands = commands(sample::working(), texts);
        assert!(commands.contains(&"perennial unsend msg_1".to_owned()), "{commands:?}");
        assert!(!commands.contains(&"perennial unsend msg_2".to_owned()), "{commands:?}");
    }

    #[test]
    fn no_advice_is_destructive() {
        for state in [
            "hatching",
            "waking",
            "working",
            "waiting",
            "unknown",
            "handing-off",
            "crashed",
            "sleeping",
            "hibernating",
            "frozen",
            "dead",
            "expired",
            "of-a-newer-daemon",
        ] {
            let agent = Agent { state: state.into(), ..sample::working() };
            for command in commands(agent, Vec::new()) {
                for verb in ["stop", "bury", "down", "kill", "rm"] {
                    assert!(!command.contains(verb), "{state}: {command}");
                }
            }
        }
    }
}
