//! Scripts: one line, one thing that happens; the output is the story that people read.
//!
//! A kind world with fixed spans: the same script gives the same output, byte for byte. Every
//! property is checked here too.

mod answer;
mod show;

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::launch::Launch;
use perennial_core::name::BadName;
use perennial_core::observation::Observation;
use perennial_core::restart::Restart;
use perennial_engine::supervisor::Input;

use crate::explore::{HARNESS, launch};
use crate::faults::Faults;
use crate::program::{NoProgram, Program};
use crate::span;
use crate::world::World;

/// How long somebody waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A line that can't be played, or whose expectation does not hold.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {text}\n  {what}")]
pub struct Mistake {
    pub line: usize,
    pub text: String,
    pub what: Wrong,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("no such line; see the header of scripts/first.txt")]
    NotUnderstood,
    #[error("there is no such agent")]
    NoAgent,
    #[error(transparent)]
    Program(#[from] NoProgram),
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("it has no running program")]
    NotRunning,
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: String, found: String },
    #[error("{property}: {what}")]
    Broken { property: &'static str, what: String },
}

/// Plays a script; returns its output.
pub fn play(script: &str) -> Result<String, Mistake> {
    let mut stage = Stage { world: World::new(0, Faults::none(), None, false), out: String::new() };
    for (index, text) in script.lines().enumerate() {
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') {
            stage.say(line);
            continue;
        }
        stage.say(&format!("> {line}"));
        let played = stage.line(line).and_then(|()| stage.check());
        played.map_err(|what| Mistake { line: index + 1, text: line.into(), what })?;
    }
    Ok(stage.out)
}

struct Stage {
    world: World,
    out: String,
}

impl Stage {
    fn say(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn check(&self) -> Result<(), Wrong> {
        match self.world.broken_property() {
            None => Ok(()),
            Some(broken) => {
                Err(Wrong::Broken { property: broken.property, what: broken.what.clone() })
            }
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["as", "viewer", rest @ ..] => self.request(Caller::Viewer, rest),
            ["as", who, rest @ ..] => {
                let id = self.agent(who)?;
                self.request(Caller::Agent(id), rest)
            }
            ["run", span] => {
                let span = span::parse(span).ok_or(Wrong::NotUnderstood)?;
                self.world.run(span);
                Ok(())
            }
            ["jump", span] => {
                self.world.jump(span::parse(span).ok_or(Wrong::NotUnderstood)?);
                Ok(())
            }
            ["ls" | "events" | "holders" | "expect", ..] => self.look(&words),
            ["start" | "crash" | "down" | "race", "daemon"] | ["reboot"] => self.daemon(words[0]),
            ["damage", who] => {
                let id = self.agent(who)?;
                self.world.damage_newest(id);
                Ok(())
            }
            ["disk", "full"] => {
                self.world.set_disk_full(true);
                Ok(())
            }
            ["disk", "ok"] => {
                self.world.set_disk_full(false);
                Ok(())
            }
            ["program", who, what] => {
                let (id, program) = (self.agent(who)?, what.parse::<Program>()?);
                self.world.machine.programs.insert(id, program);
                Ok(())
            }
            ["kill" | "exit" | "kill-holder" | "hang-holder" | "free-holder", ..] => {
                self.harm(&words)
            }
            _ => self.request(Caller::Person, &words),
        }
    }

    fn agent(&self, who: &str) -> Result<AgentId, Wrong> {
        let found = self.world.ledger.record.find(who);
        found.map(|agent| agent.id).map_err(|_| Wrong::NoAgent)
    }

    fn daemon(&mut self, verb: &str) -> Result<(), Wrong> {
        let life = self.world.daemons.first().map(|daemon| daemon.life);
        match (verb, life) {
            ("start", _) => self.world.start_daemon(),
            ("race", _) => self.world.race_daemons(),
            ("reboot", _) => self.world.reboot(),
            ("crash", Some(life)) => self.world.crash_daemon(life),
            ("down", Some(life)) => {
                self.world.reach(life, Input::Observed(Observation::Stopping));
            }
            _ => return Err(Wrong::NotUnderstood),
        }
        // Long enough for a daemon to load and record its start, or to end.
        self.world.run(Duration::from_millis(1));
        Ok(())
    }

    fn harm(&mut self, words: &[&str]) -> Result<(), Wrong> {
        let number = |text: &str| text.parse::<i32>().map_err(|_| Wrong::NotUnderstood);
        match words {
            ["kill", who] => self.end_program(who, Exit::KillSignal(9)),
            ["kill", who, signal] => self.end_program(who, Exit::KillSignal(number(signal)?)),
            ["exit", who, code] => self.end_program(who, Exit::Code(number(code)?)),
            [verb, who] => {
                let id = self.agent(who)?;
                match *verb {
                    "kill-holder" => self.world.kill_shim(id),
                    "hang-holder" => self.world.hang_shim(id),
                    _ => self.world.free_shim(id),
                }
                Ok(())
            }
            _ => Err(Wrong::NotUnderstood),
        }
    }

    fn end_program(&mut self, who: &str, exit: Exit) -> Result<(), Wrong> {
        let id = self.agent(who)?;
        let number = self.world.machine.alive(id).ok_or(Wrong::NotRunning)?;
        self.world.program_ends(id, number, exit);
        Ok(())
    }

    /// A verb of the surface, by whoever asks.
    fn request(&mut self, caller: Caller, words: &[&str]) -> Result<(), Wrong> {
        let command = match words {
            ["spawn", name, options @ ..] => self.spawn(name, options)?,
            ["stop", "--all"] => Command::StopAll,
            ["stop", who] => Command::Stop((*who).into()),
            ["wake", who] => Command::Wake((*who).into()),
            ["restart", who] => Command::Restart((*who).into()),
            ["wake", who, "--fresh"] => Command::WakeFresh((*who).into()),
            ["restart", who, "--fresh"] => Command::RestartFresh((*who).into()),
            ["rename", who, name] => Command::Rename { target: (*who).into(), name: name.parse()? },
            ["bury", who, summary @ ..] => {
                Command::Bury { target: (*who).into(), summary: Some(summary.join(" ")) }
            }
            _ => return Err(Wrong::NotUnderstood),
        };
        let waiter = self.world.ask(caller, command);
        let answered = |world: &World| {
            waiter.is_none_or(|waiter| {
                world.operator.asked.get(&waiter).is_none_or(|asked| asked.answer.is_some())
            })
        };
        self.world.run_until(PATIENCE, answered);
        let answer = waiter.map(|waiter| self.world.operator.asked.remove(&waiter));
        let said = answer::words(answer.map(|asked| asked.and_then(|asked| asked.answer)));
        self.say(&format!("  {said}"));
        Ok(())
    }

    fn spawn(&mut self, name: &str, options: &[&str]) -> Result<Command, Wrong> {
        let id = self.world.new_agent();
        let mut spawn = Spawn {
            id,
            name: if name == "-" { None } else { Some(name.parse()?) },
            role: None,
            parent: None,
            // In no work tree: these stories are about sessions.
            launch: Launch { project: "/".to_owned(), ..launch("program") },
            restart: Restart::default(),
            conversation: None,
            situations: Vec::new(),
        };
        for option in options {
            match option.split_once('=').ok_or(Wrong::NotUnderstood)? {
                ("restart", "never") => spawn.restart = Restart::Never,
                ("restart", "on-crash") => spawn.restart = Restart::OnCrash,
                ("restart", "always") => spawn.restart = Restart::Always,
                ("harness", HARNESS) => spawn.launch.harness = HARNESS.into(),
                ("parent", parent) => spawn.parent = Some(parent.into()),
                ("program", program) => {
                    let program = program.parse::<Program>()?;
                    self.world.machine.programs.insert(id, program);
                }
                _ => return Err(Wrong::NotUnderstood),
            }
        }
        Ok(Command::Spawn(Box::new(spawn)))
    }
}
