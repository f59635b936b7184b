//! What would change an agent's state by itself, and what a person can do about it.
//!
//! Never suggests to end, bury or delete anything: agents follow such texts.

use perennial_api::Agent;

use super::roster::name;
use super::time::Clock;

#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// How this state ends by itself.
    pub by_itself: String,
    /// Commands, each with what it is for.
    pub commands: Vec<(String, &'static str)>,
}

pub fn advice(agent: &Agent, clock: &Clock) -> Advice {
    let name = name(agent);
    let left = agent
        .until
        .as_deref()
        .and_then(|until| clock.until(until))
        .map_or_else(|| "when its time comes".to_owned(), |left| format!("in {left}"));
    let command = |verb: &str, what| (format!("perennial {verb} {name}"), what);
    let attach = command("attach", "to see its terminal and type");
    let logs = command("logs", "to read what it printed");
    let wake = command("wake", "to give it a session now");
    let (by_itself, commands) = match agent.state.as_str() {
        "hatching" | "waking" => (
            format!("its program starts; if it has not by then, that counts as a crash {left}"),
            vec![logs],
        ),
        "working" => (after_exit(&agent.restart), vec![attach, logs]),
        "waiting" => ("it goes on when it gets what it waits for".to_owned(), vec![attach, logs]),
        "unknown" if agent.reason == "record-unreadable" => (
            "its record can't be read, so nothing starts it but you".to_owned(),
            vec![("perennial doctor".to_owned(), "to see what is wrong"), wake],
        ),
        "unknown" => (
            "it is known again when its holder answers".to_owned(),
            vec![("perennial doctor".to_owned(), "to see what is wrong")],
        ),
        "handing-off" => (format!("its successor starts {left} at the latest"), vec![attach]),
        "crashed" => (format!("it is tried again {left}"), vec![logs, wake]),
        "sleeping" => ("it sleeps until it is woken".to_owned(), vec![wake, logs]),
        "hibernating" => ("a task on its queue wakes it".to_owned(), vec![wake]),
        "frozen" => ("only an operator's approval wakes it".to_owned(), vec![]),
        "dead" | "expired" => ("this is final; its record is kept".to_owned(), vec![logs]),
        // A word of a newer daemon.
        _ => ("unknown to this version".to_owned(), vec![]),
    };
    Advice { by_itself, commands }
}

fn after_exit(restart: &str) -> String {
    match restart {
        "never" => "when its program ends, it sleeps",
        "always" => "when its program ends, the next session starts",
        _ => "when its program ends with code 0, it sleeps; otherwise it is restarted",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::roster::sample;
    use crate::cli::render::time::fixed;

    #[test]
    fn a_crashed_one_says_when_it_is_tried_again() {
        let told = advice(&sample::crashed(), &fixed());
        assert_eq!(told.by_itself, "it is tried again in 4m");
        assert!(told.commands.iter().any(|(command, _)| command == "perennial wake bob"));
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
            let told = advice(&Agent { state: state.into(), ..sample::working() }, &fixed());
            assert!(!told.by_itself.is_empty());
            for (command, _) in told.commands {
                for verb in ["stop", "bury", "down", "kill", "rm"] {
                    assert!(!command.contains(verb), "{state}: {command}");
                }
            }
        }
    }
}
