//! What a person can do about an agent's state. What happens next is decided by the daemon.
//!
//! Never suggests to end or delete anything: agents follow such texts. `bury` is suggested only for an
//! agent that crashed and is not restarted: nothing of it runs, and its record stays.

use perennial_api::answer::Why;
use perennial_api::state;

use super::text::plain;

/// Commands, each with what it is for. `target` is the agent as the reader named it: the name alone may
/// be that of another agent by now.
pub fn advice(why: &Why, target: &str) -> Vec<(String, &'static str)> {
    let (agent, name) = (&why.agent, plain(target));
    let command = |verb: &str, what| (format!("perennial {verb} {name}"), what);
    let attach = command("attach", "use its terminal");
    let logs = command("logs", "read what it did");
    let wake = command("wake", "start a session now");
    let send = (format!("perennial send {name} '…'"), "tell it what to do");
    let bury =
        (format!("perennial bury {name} --summary '…'"), "retire it, if it is no longer needed");
    let doctor = ("perennial doctor".to_owned(), "find out what is wrong");
    let has_process = agent.session.as_ref().is_some_and(|session| session.pid.is_some());
    let mut commands = match (agent.state.as_str(), agent.reason.as_str()) {
        (state::HATCHING | state::WAKING, _) if has_process => vec![attach, logs],
        // It has had no session that did anything.
        (state::HATCHING, _) => vec![],
        (state::WAKING, _) => vec![logs],
        (state::WAITING, "idle" | "stopped-in-turn" | "limit-reached" | "service-failed") => {
            vec![send, attach, logs]
        }
        (state::WORKING | state::WAITING, _) => vec![attach, logs],
        (state::UNKNOWN, "record-unreadable" | "record-lost" | "home-copied") => vec![doctor, wake],
        (state::UNKNOWN, _) => vec![doctor],
        (state::HANDING_OFF, _) => vec![attach],
        (state::CRASHED, _) => vec![logs, wake],
        (state::SLEEPING, "crashed-restart-off") => vec![logs, wake, bury],
        (state::SLEEPING, _) => vec![wake, logs],
        (state::HIBERNATING, _) => vec![wake],
        // Only an approval wakes a frozen one, and there is no verb for that yet.
        (state::FROZEN | state::DEAD | state::EXPIRED, _) => vec![logs],
        // A state that only a newer daemon knows.
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
    use perennial_core::reason::Reason;

    use super::*;
    use crate::cli::render::roster::sample;

    fn commands(agent: Agent, texts: Vec<Message>) -> Vec<String> {
        let target = agent.name.clone();
        let why = Why { agent, texts, ..Why::default() };
        advice(&why, &target).into_iter().map(|(command, _)| command).collect()
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

    /// The dead `bob~1` may share its name with a living agent.
    #[test]
    fn the_agent_is_named_as_the_reader_named_it() {
        let agent = Agent { state: state::DEAD.into(), ..sample::working() };
        let why = Why { agent, ..Why::default() };
        assert_eq!(advice(&why, "alice~1")[0].0, "perennial logs alice~1");
    }

    #[test]
    fn a_crash_without_restarts_is_left_by_waking_or_burying() {
        let (state, reason) = (state::SLEEPING.to_owned(), "crashed-restart-off".to_owned());
        let crashed = commands(Agent { state, reason, ..sample::working() }, Vec::new());
        assert!(crashed.contains(&"perennial wake alice".to_owned()), "{crashed:?}");
        assert!(crashed.iter().any(|one| one.starts_with("perennial bury alice")), "{crashed:?}");
    }

    #[test]
    fn every_state_has_advice_and_none_is_destructive() {
        let all = Reason::ALL.map(|reason| reason.word());
        for (state, reason) in
            state::ALL.iter().flat_map(|state| all.map(|reason| (*state, reason)))
        {
            let agent = Agent { state: state.into(), reason: reason.into(), ..sample::working() };
            let offered = commands(agent, Vec::new());
            assert!(!offered.is_empty(), "{state} {reason}");
            let may_bury = (state, reason) == (state::SLEEPING, "crashed-restart-off");
            for command in offered {
                for verb in ["stop", "bury", "down", "kill", "rm"] {
                    let is_it = command.contains(verb) && !(verb == "bury" && may_bury);
                    assert!(!is_it, "{state} {reason}: {command}");
                }
            }
        }
        let newer = Agent { state: "of-a-newer-daemon".into(), ..sample::working() };
        assert!(commands(newer, Vec::new()).is_empty());
    }
}
