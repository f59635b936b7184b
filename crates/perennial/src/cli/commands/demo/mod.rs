//! `demo`: a small fleet in a throwaway home survives being killed.
//!
//! Every sentence is checked against the daemon before it is printed; the first one that is not true
//! ends the demo with a failure. The user's own fleet is not touched.

mod real;
mod stage;
mod watch;

use perennial_api::answer::Why;
use perennial_api::{Agent, ExitCode, client};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::installed;
use crate::cli::problems;
use crate::cli::render::paint::Ink;
use crate::cli::render::roster::roster;
use crate::cli::render::story::story;
use stage::{Interrupted, Stage};

/// Watch a small fleet survive being killed, in a throwaway home
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial demo
          perennial demo --once")]
pub struct Args {
    /// Do not wait at the end; exit with 0 if everything went as planned
    #[arg(long)]
    once: bool,
}

const CAST: [(&str, &str); 3] = [("ada", "builder"), ("grace", "reviewer"), ("linus", "watcher")];

/// Why a demo ended early.
#[derive(Debug, thiserror::Error)]
enum Break {
    #[error(transparent)]
    Failure(#[from] Failure),
    /// Something did not happen as told.
    #[error("{0}")]
    Untrue(String),
    #[error("interrupted")]
    Interrupted(#[from] Interrupted),
}

impl From<perennial_api::ClientError> for Break {
    fn from(error: perennial_api::ClientError) -> Break {
        Break::Failure(error.into())
    }
}

type Scene = Result<(), Break>;

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if context.json {
        return Err(problems::demo_is_no_json().into());
    }
    let mut stage = Stage::build(context)?;
    let played = play(&mut stage, args.once);
    let cleared = stage.clear();
    match played {
        Ok(()) => {
            cleared?;
            Ok(ExitCode::Done)
        }
        Err(Break::Failure(failure)) => Err(failure),
        Err(Break::Untrue(what)) => Err(problems::demo_untrue(&what).into()),
        Err(Break::Interrupted(_)) => {
            cleared?;
            Ok(ExitCode::Failed)
        }
    }
}

fn play(stage: &mut Stage<'_>, once: bool) -> Scene {
    stage.tell("Perennial keeps your AI coding agents alive through crashes and restarts.")?;
    stage.tell("Three scripted agents, a home of their own, and a few kills:")?;
    birth(stage)?;
    kill_agent(stage)?;
    rest(stage)?;
    kill_daemon(stage)?;
    reasons(stage)?;
    // Kept to the end: a person may attach to her, and she may ask it something.
    let _model = real::play(stage)?;
    stage.heading("The end")?;
    if !once {
        stage.tell("The fleet stays until you press Enter. In another terminal, try:")?;
        let root = stage.home.root.clone().unwrap_or_default();
        for verb in ["ls", "attach ada", "events --follow"] {
            stage.tell(&format!("  PERENNIAL_HOME={} perennial {verb}", root.display()))?;
        }
        stage.wait_for_enter()?;
    }
    let own = installed::agent_clis(&stage.context.home.config).into_iter().next();
    stage.tell(&format!("Now with your own agents:  perennial up && {}", first_run(own)))?;
    Ok(())
}

/// A first agent of the reader's own: of an agent CLI that is installed, otherwise a shell.
fn first_run(agent_cli: Option<String>) -> String {
    match agent_cli {
        Some(name) => format!("perennial run --harness {name}"),
        None => "perennial run -- bash".to_owned(),
    }
}

fn birth(stage: &mut Stage<'_>) -> Scene {
    stage.heading("Three agents are born")?;
    stage.start_daemon()?;
    for (name, role) in CAST {
        stage.command(&format!("spawn {name} --role {role} -- …"))?;
        let agent = stage.spawn(name, role)?;
        stage.expect(agent.state == "working", || format!("{name} is {}", agent.state))?;
    }
    listing(stage)
}

fn kill_agent(stage: &mut Stage<'_>) -> Scene {
    stage.heading("One is killed and comes back")?;
    stage.let_work("ada")?;
    stage.command("logs ada")?;
    let log = stage.last_lines("ada")?;
    stage.print(&log)?;
    let before = stage.agent("ada")?;
    let pid = pid_of(&before)?;
    let head = stage.health()?.head_seq;
    stage.shell(&format!("kill -9 {pid}"))?;
    let killed_at = stage.kill(pid)?;
    stage.wait_until("ada's second session is not running", |agents| {
        let second = |agent: &Agent| agent.session.as_ref().is_some_and(|one| one.number > 1);
        agents.iter().any(|agent| agent.name == "ada" && agent.state == "working" && second(agent))
    })?;
    let ended = stage.event(head, "ada", "session-ended")?;
    let running = stage.event(head, "ada", "session-running")?;
    let after = stage.agent("ada")?;
    let session = after.session.clone().unwrap_or_default();
    stage.expect(session.number == 2, || format!("ada's session is {}", session.number))?;
    let signal = after.previous_exit.as_ref().and_then(|exit| exit.signal);
    stage.expect(signal == Some(9), || "the kill signal is not recorded".to_owned())?;
    stage.expect(session.pid.is_some() && session.pid != Some(pid), || {
        "no new process".to_owned()
    })?;
    stage.tell(&format!(
        "her exit was in the journal after {:.1} ms, and session 2 was running after {:.1} ms",
        watch::millis(killed_at, &ended.at),
        watch::millis(killed_at, &running.at),
    ))?;
    stage.tell(&format!("ada is the same agent; her process is now {}", pid_of(&after)?))
}

fn rest(stage: &mut Stage<'_>) -> Scene {
    stage.heading("One is stopped and stays stopped")?;
    let pid = pid_of(&stage.agent("grace")?)?;
    stage.command("stop grace")?;
    let agent = stage.stop("grace")?;
    stage.expect(agent.state == "sleeping", || format!("grace is {}", agent.state))?;
    stage.expect(!watch::is_alive(pid), || format!("process {pid} is still there"))?;
    stage.tell("grace sleeps; only `perennial wake grace` starts her again")
}

fn kill_daemon(stage: &mut Stage<'_>) -> Scene {
    stage.heading("The daemon itself is killed")?;
    let living = ["ada", "linus"];
    let mut pids = Vec::new();
    for name in living {
        pids.push(pid_of(&stage.agent(name)?)?);
    }
    let daemon = stage.health()?.pid;
    stage.shell(&format!("kill -9 {daemon}"))?;
    stage.kill_daemon(daemon)?;
    let alive = pids.iter().all(|pid| watch::is_alive(*pid));
    stage.expect(alive, || "an agent died with the daemon".to_owned())?;
    stage.tell("the daemon is gone; the agents keep working")?;
    stage.pause()?;
    stage.command("up")?;
    stage.start_daemon()?;
    let took = stage.wait_until("not every agent is confirmed", |agents| {
        living
            .iter()
            .all(|name| agents.iter().any(|agent| agent.name == *name && agent.state == "working"))
    })?;
    for (name, pid) in living.into_iter().zip(&pids) {
        let now = pid_of(&stage.agent(name)?)?;
        stage.expect(now == *pid, || format!("{name} was {pid} and is {now}"))?;
    }
    let grace = stage.agent("grace")?;
    stage.expect(grace.state == "sleeping", || format!("grace is {}", grace.state))?;
    stage.tell(&format!(
        "{} ms after the new daemon answered, it had adopted the same processes:",
        took.as_millis()
    ))?;
    listing(stage)
}

fn reasons(stage: &mut Stage<'_>) -> Scene {
    stage.heading("Every state has a reason and evidence")?;
    stage.command("why ada")?;
    let path = client::path(&["agents", "ada", "why"], &[]);
    let why: Why = stage.client.get(&path)?.read()?;
    stage.expect(!why.story.is_empty(), || "ada has no story".to_owned())?;
    let text = stage.context.draw(|canvas| story(&why, "ada", canvas));
    stage.print(&text)?;
    stage.pause()
}

fn listing(stage: &mut Stage<'_>) -> Scene {
    stage.command("ls")?;
    let agents = stage.agents()?;
    let text = stage.context.draw(|canvas| roster(&agents, 0, canvas));
    stage.print(&text)?;
    stage.pause()
}

fn pid_of(agent: &Agent) -> Result<u32, Break> {
    agent
        .session
        .as_ref()
        .and_then(|session| session.pid)
        .ok_or_else(|| Break::Untrue(format!("{} has no process", agent.name)))
}

impl Stage<'_> {
    fn heading(&mut self, title: &str) -> Scene {
        let text = self.context.paint.ink(Ink::Strong, title);
        self.print(&format!("\n== {text}\n"))
    }

    fn tell(&mut self, text: &str) -> Scene {
        self.print(&format!("{text}\n"))?;
        self.beat()
    }

    /// A verb as a person would type it.
    fn command(&mut self, verb: &str) -> Scene {
        self.shell(&format!("perennial {verb}"))
    }

    fn shell(&mut self, line: &str) -> Scene {
        let line = self.context.paint.ink(Ink::Busy, &format!("$ {line}"));
        self.print(&format!("{line}\n"))?;
        self.beat()
    }

    fn print(&mut self, text: &str) -> Scene {
        Ok(self.context.print(text)?)
    }

    fn expect(&self, is_true: bool, otherwise: impl FnOnce() -> String) -> Scene {
        if is_true { Ok(()) } else { Err(Break::Untrue(otherwise())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_agent_cli_that_is_installed_is_recommended() {
        assert_eq!(first_run(Some("claude".to_owned())), "perennial run --harness claude");
        assert_eq!(first_run(None), "perennial run -- bash");
    }
}
