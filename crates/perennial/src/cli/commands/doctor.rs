//! `doctor`: what it found, line by line, and what to do about it.
//!
//! Works with the daemon down. It looks and changes nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, client};
use perennial_engine::harness::preset::{self, Preset};
use perennial_store::SqliteJournal;
use perennial_store::sqlite::Inspection;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::cli::context::Context;
use crate::cli::failure::Ending;
use crate::cli::installed::{self, Installed, program};
use crate::cli::render::paint::Ink;
use crate::cli::render::roster::Canvas;
use crate::cli::render::text::{plain, wrapped};
use crate::daemon::config::Config;

/// Check the daemon, its home and this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial doctor
          perennial doctor --json

Ends with 0 when nothing failed, 5 when no daemon is running, else 1.")]
pub struct Args {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    what: &'static str,
    verdict: Verdict,
    text: String,
    /// What to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    next: String,
}

#[derive(Debug, Serialize)]
struct Report {
    findings: Vec<Finding>,
    health: Option<Health>,
}

pub fn run(_args: &Args, context: &Context) -> Ending {
    let mut findings = vec![home(context)];
    let answer = context.client.get(&client::path(&["health"], &[]));
    let (health, reached) = match answer.and_then(|answer| answer.read::<Health>()) {
        Ok(health) => {
            findings.extend(of_daemon(&health));
            (Some(health), ExitCode::Done)
        }
        Err(error) => {
            findings.push(without_daemon(&error));
            findings.extend(journal(&context.home.journal()));
            (None, error.problem().exit())
        }
    };
    findings.extend(of_machine(&context.home.data));
    findings.extend(of_config(&context.home.config));
    findings.extend(of_agent_clis(&context.home.config));
    let has_failed = findings.iter().any(|one| one.verdict == Verdict::Fail);
    let code = if reached == ExitCode::Done && has_failed { ExitCode::Failed } else { reached };
    let report = Report { findings, health };
    if context.json {
        context.print_json(&serde_json::to_vec(&report).unwrap_or_default())?;
    } else {
        let findings = report.findings.iter();
        let lines = context.draw(|canvas| findings.map(|finding| line(finding, canvas)).collect());
        context.print(&lines)?;
    }
    Ok(code)
}

fn line(finding: &Finding, canvas: &Canvas<'_>) -> String {
    const TEXT: usize = 16;
    let verdict = match finding.verdict {
        Verdict::Ok => canvas.paint.ink(Ink::Good, "ok  "),
        Verdict::Warn => canvas.paint.ink(Ink::Attention, "warn"),
        Verdict::Fail => canvas.paint.ink(Ink::Alarm, "fail"),
    };
    let text = wrapped(&plain(&finding.text), TEXT, TEXT, canvas.width);
    let mut line = format!("{verdict}  {:<9} {text}\n", finding.what);
    if !finding.next.is_empty() {
        let next = wrapped(&plain(&finding.next), TEXT + 2, TEXT + 2, canvas.width);
        line.push_str(&format!("{:TEXT$}→ {next}\n", ""));
    }
    line
}

fn finding(what: &'static str, verdict: Verdict, text: impl Into<String>) -> Finding {
    Finding { what, verdict, text: text.into(), next: String::new() }
}

impl Finding {
    fn next(mut self, next: impl Into<String>) -> Finding {
        self.next = next.into();
        self
    }
}

fn home(context: &Context) -> Finding {
    let home = &context.home;
    let shown = match &home.root {
        Some(root) => format!("{} (PERENNIAL_HOME)", root.display()),
        None => format!("{} and {} (XDG)", home.data.display(), home.state.display()),
    };
    for dir in [&home.data, &home.state] {
        match dir.metadata() {
            Err(_) => return finding("home", Verdict::Ok, format!("{shown}, not made yet")),
            Ok(seen) if seen.permissions().mode() & 0o077 != 0 => {
                return finding("home", Verdict::Warn, format!("{shown}: others can enter it"))
                    .next("the next daemon closes it when it starts");
            }
            Ok(_) => {}
        }
    }
    finding("home", Verdict::Ok, shown)
}

fn without_daemon(error: &ClientError) -> Finding {
    let problem = error.problem();
    finding("daemon", Verdict::Fail, problem.title).next(problem.next)
}

/// The journal's file and its whole chain, looked at while nobody writes; nothing before there is one.
fn journal(path: &Path) -> Option<Finding> {
    if !path.exists() {
        return None;
    }
    let shown = path.display();
    let finding = match SqliteJournal::inspect(path) {
        Ok(Inspection { file_faults, records }) => {
            let unreadable = records.unreadable.iter().map(ToString::to_string);
            let faults: Vec<String> = file_faults.into_iter().chain(unreadable).collect();
            match faults.first() {
                None => {
                    let text = format!("{shown}: all {} records are whole", records.head);
                    finding("store", Verdict::Ok, text)
                }
                Some(first) => {
                    let text = format!("{shown}: {} faults, the first: {first}", faults.len());
                    finding("store", Verdict::Fail, text).next("keep a copy of the file as it is")
                }
            }
        }
        Err(error) => finding("store", Verdict::Fail, format!("{shown}: {error}"))
            .next("keep a copy of the file as it is"),
    };
    Some(finding)
}

/// What the daemon says of itself.
fn of_daemon(health: &Health) -> Vec<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    let daemon = format!(
        "version {}, pid {}, up {} s, epoch {}, journal at {}",
        health.version, health.pid, health.uptime_seconds, health.epoch, health.head_seq
    );
    let mut findings = vec![if health.version == own {
        finding("daemon", Verdict::Ok, daemon)
    } else {
        finding("daemon", Verdict::Warn, format!("{daemon}; this program is {own}"))
            .next("let the new one take over, nobody stops working: perennial down, perennial up")
    }];
    findings.push(store(health));
    let agents = &health.agents;
    findings.push(finding(
        "agents",
        Verdict::Ok,
        format!(
            "{} living, {} in the freezer, {} in the cemetery; {} holders connected",
            agents.living, agents.freezer, agents.cemetery, health.holders_connected
        ),
    ));
    findings.push(match (&health.cgroup.available, &health.cgroup.path, &health.cgroup.why) {
        (true, path, _) => {
            let path = path.as_deref().unwrap_or("available");
            finding("cgroup", Verdict::Ok, format!("{path}: a session's whole tree ends at once"))
        }
        (false, _, why) => {
            let why = why.as_deref().unwrap_or("not available");
            finding("cgroup", Verdict::Warn, format!("{why}; trees are ended child by child"))
        }
    });
    findings.push(finding(
        "identity",
        Verdict::Ok,
        format!("the daemon takes you for: {} (uid {})", health.identity.you, health.identity.uid),
    ));
    findings.extend(health.findings.iter().map(|text| finding("note", Verdict::Warn, text)));
    findings
}

/// What records that can't be read come to.
const UNREADABLE: &str = "an agent with such a record is held (perennial ls --state unknown); a text is \
    not delivered (perennial sent AGENT, perennial unsend ID); a notification is not run again";

fn store(health: &Health) -> Finding {
    let store = &health.store;
    if let Some(why) = &store.read_only {
        return finding("store", Verdict::Fail, format!("{}: read only, {why}", store.path))
            .next("sessions go on; free some space or mend the disk, and it writes again");
    }
    if !store.unreadable.is_empty() {
        let text = format!(
            "{}: {} records can't be read, the first: {}",
            store.path,
            store.unreadable.len(),
            store.unreadable[0]
        );
        return finding("store", Verdict::Warn, text).next(UNREADABLE);
    }
    let verdict = if store.ok { Verdict::Ok } else { Verdict::Fail };
    finding("store", verdict, store.path.clone())
}

/// What this machine has.
fn of_machine(data: &Path) -> Vec<Finding> {
    let mut findings = vec![
        match program("git") {
            Some(path) => finding("git", Verdict::Ok, path.display().to_string()),
            None => finding("git", Verdict::Warn, "not found in PATH")
                .next("projects are then known by their directory only"),
        },
        match program("tmux") {
            Some(path) => finding("tmux", Verdict::Ok, format!("{} (optional)", path.display())),
            None => finding("tmux", Verdict::Ok, "not found, and not needed"),
        },
    ];
    let files = getrlimit(Resource::Nofile);
    let most = files.maximum.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
    let few = files.maximum.is_some_and(|most| most < 4096);
    let verdict = if few { Verdict::Warn } else { Verdict::Ok };
    findings.push(finding("limits", verdict, format!("{most} open files at most")).next(if few {
        "a large fleet needs more: raise the hard limit (ulimit -Hn)"
    } else {
        ""
    }));
    findings.extend(space(data));
    findings
}

/// What is wrong with the operator's own configuration.
fn of_config(config: &Path) -> Option<Finding> {
    let error = Config::load(config).err()?;
    let file = config.join("config.toml");
    Some(
        finding("config", Verdict::Warn, format!("{}: {}", file.display(), plain(&error)))
            .next("nothing in it holds until it is mended and the daemon started anew"),
    )
}

/// The agent CLIs that there are presets for, and what works with each.
fn of_agent_clis(config: &Path) -> Vec<Finding> {
    let of = |name: String| match Preset::load(config, &name) {
        Ok(preset) => match installed::agent_cli(&preset, |_| ()) {
            Some(Installed { path, version }) => {
                let (path, works) = (path.display(), works(&preset));
                let text = format!("{name} {version}: {path}; {works}");
                match version == preset.measured {
                    true => finding("agent cli", Verdict::Ok, text),
                    false => finding("agent cli", Verdict::Ok, text)
                        .next(format!("it was measured with {}", preset.measured)),
                }
            }
            None => {
                let text = format!("{name}: {} is not in PATH", preset.program);
                finding("agent cli", Verdict::Warn, text).next("install it to run it as an agent")
            }
        },
        Err(error) => finding("agent cli", Verdict::Warn, format!("{name}: {error}"))
            .next("mend its file below the configuration directory"),
    };
    preset::names(config).into_iter().map(of).collect()
}

/// What works with a harness, by its preset.
fn works(preset: &Preset) -> String {
    let clock = format!("context clock ({})", preset.context.window_source.word());
    let list = preset.conversation.list.as_ref().map(|_| "list of sessions");
    let all = [Some("start"), Some("resume"), Some("hooks"), Some("own tools"), list];
    let words: Vec<&str> = all.into_iter().flatten().chain([clock.as_str()]).collect();
    words.join(", ")
}

/// Free space where the journal is; nothing before there is one.
fn space(data: &Path) -> Option<Finding> {
    let seen = rustix::fs::statvfs(data).ok()?;
    let free_mib = seen.f_bavail.saturating_mul(seen.f_frsize) >> 20;
    let verdict = if free_mib < 64 { Verdict::Warn } else { Verdict::Ok };
    Some(finding("disk", verdict, format!("{free_mib} MiB free for the journal")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::text::width;
    use crate::cli::render::time::Clock;

    fn verdicts(health: &Health) -> Vec<(&'static str, Verdict)> {
        of_daemon(health).iter().map(|one| (one.what, one.verdict)).collect()
    }

    #[test]
    fn findings_fit_a_terminal() {
        let (clock, paint) = (Clock::system(), Paint::OFF);
        let canvas = Canvas { clock: &clock, paint, width: Some(80), user: None };
        let long = "a word ".repeat(30);
        let shown = line(&finding("store", Verdict::Warn, &long).next(&long), &canvas);
        assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
        assert_eq!(shown.matches("word").count(), 60);
    }

    #[test]
    fn a_sound_daemon_and_one_with_troubles() {
        let mut health = Health { version: env!("CARGO_PKG_VERSION").into(), ..Health::default() };
        health.store.ok = true;
        health.cgroup.available = true;
        assert!(verdicts(&health).iter().all(|(_, verdict)| *verdict == Verdict::Ok));
        health.version = "9.9.9".into();
        health.store.read_only = Some("disk full".into());
        health.cgroup.available = false;
        health.findings.push("something".into());
        assert_eq!(
            verdicts(&health),
            [
                ("daemon", Verdict::Warn),
                ("store", Verdict::Fail),
                ("agents", Verdict::Ok),
                ("cgroup", Verdict::Warn),
                ("identity", Verdict::Ok),
                ("note", Verdict::Warn),
            ]
        );
    }
}
