//! `doctor`: checks the daemon, its home and the machine, and says what to do about each finding.
//!
//! Works without a daemon. Changes nothing.

mod project;
mod store;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_api::answer::Health;
use perennial_api::{ClientError, ExitCode, Home, client};
use perennial_engine::harness::preset::{self, Preset};
use rustix::fs::{Access, PROC_SUPER_MAGIC, access, statfs};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::build_id;
use crate::cli::context::Context;
use crate::cli::failure::{self, VerbResult};
use crate::cli::installed::{self, Installed, Version, program};
use crate::cli::render::paint::Ink;
use crate::cli::render::roster::Canvas;
use crate::cli::render::text::{counted, plain, wrapped};
use crate::config::{self, Config};

/// Check the daemon, its home and this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial doctor
          perennial doctor --json

Exit codes: 0 no failures, 1 something failed, 5 no daemon is running, 7 the daemon does not answer.")]
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
struct DoctorReport {
    findings: Vec<Finding>,
    health: Option<Health>,
}

pub fn run(_args: &Args, context: &Context) -> VerbResult {
    let mut findings = vec![home(&context.home)];
    let answer = context.client.get(&client::path(&["health"], &[]));
    let (health, reached) = match answer.and_then(|answer| answer.read::<Health>()) {
        Ok(health) => {
            findings.extend(of_daemon(&health, &context.home.journal()));
            (Some(health), ExitCode::Done)
        }
        Err(error) => {
            findings.push(without_daemon(&error));
            findings.extend(store::journal(&context.home.journal()));
            (None, error.problem().exit())
        }
    };
    findings.extend(of_machine(&context.home.data));
    findings.extend(of_config(&context.home.config));
    findings.extend(project::findings(context));
    findings.extend(of_agent_clis(&context.home.config));
    let has_failed = findings.iter().any(|one| one.verdict == Verdict::Fail);
    let code = if reached == ExitCode::Done && has_failed { ExitCode::Failed } else { reached };
    let report = DoctorReport { findings, health };
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

fn home(home: &Home) -> Finding {
    let shown = match &home.root {
        Some(root) => format!("{} (PERENNIAL_HOME)", root.display()),
        None => format!("{} and {} (XDG)", home.data.display(), home.state.display()),
    };
    for dir in [&home.data, &home.state] {
        match dir.metadata() {
            Err(_) => {
                return match creatable(dir) {
                    Ok(()) => finding("home", Verdict::Ok, format!("{shown}, not used yet")),
                    Err(why) => finding("home", Verdict::Fail, format!("{shown}: {why}"))
                        .next("set PERENNIAL_HOME to a directory of yours that you can write to"),
                };
            }
            Ok(seen) if seen.permissions().mode() & 0o077 != 0 => {
                return finding(
                    "home",
                    Verdict::Warn,
                    format!("{shown}: accessible to other users"),
                )
                .next("the daemon fixes the permissions when it starts");
            }
            Ok(_) => {}
        }
    }
    finding("home", Verdict::Ok, shown)
}

/// Whether the daemon could create a directory that is not there; if not, why. Creates nothing.
fn creatable(dir: &Path) -> Result<(), String> {
    let existing = dir.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    let Some((path, seen)) = existing else { return Err("no such path".to_owned()) };
    let shown = path.display();
    if !seen.is_dir() {
        return Err(format!("{shown} is not a directory"));
    }
    // It does not deny that root may write, and yet holds nobody's files.
    if statfs(path).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC) {
        return Err(format!("{shown} can't hold files"));
    }
    access(path, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| format!("{shown}: {error}"))
}

fn without_daemon(error: &ClientError) -> Finding {
    let problem = failure::problem(error);
    finding("daemon", Verdict::Fail, problem.title).next(problem.next)
}

/// What the daemon says of itself.
fn of_daemon(health: &Health, journal: &Path) -> Vec<Finding> {
    let daemon = format!(
        "version {}, pid {}, up {} s, epoch {}, journal at event {}",
        build_id::shown(&health.version, &health.build),
        health.pid,
        health.uptime_seconds,
        health.epoch,
        health.head_seq
    );
    let own = build_id::version_and_build();
    let mut findings = vec![if build_id::is_own(&health.version, &health.build) {
        finding("daemon", Verdict::Ok, daemon)
    } else {
        finding("daemon", Verdict::Warn, format!("{daemon}; this command is version {own}"))
            .next("to upgrade while agents keep working: perennial up --upgrade")
    }];
    findings.extend(store::beside_daemon(health, journal));
    let agents = &health.agents;
    findings.push(finding(
        "agents",
        Verdict::Ok,
        format!(
            "{} living, {} in the freezer, {} in the cemetery; {} connected",
            agents.living,
            agents.freezer,
            agents.cemetery,
            counted(health.holders_connected, "holder")
        ),
    ));
    if agents.copied > 0 {
        let text = format!(
            "this home is a copy; {} may still have a session in the original",
            counted(agents.copied, "agent")
        );
        findings.push(
            finding("home", Verdict::Warn, text)
                .next("`perennial ls` lists them; `perennial wake` starts a session of one here"),
        );
    }
    findings.push(match (&health.cgroup.available, &health.cgroup.path, &health.cgroup.why) {
        (true, path, _) => {
            let path = path.as_deref().unwrap_or("available");
            finding(
                "cgroup",
                Verdict::Ok,
                format!("{path}: all processes of a session are ended at once"),
            )
        }
        (false, _, why) => {
            let why = why.as_deref().unwrap_or("not available");
            finding(
                "cgroup",
                Verdict::Warn,
                format!("{why}; processes of a session are ended one by one"),
            )
        }
    });
    findings.push(finding(
        "identity",
        Verdict::Ok,
        format!("identified as: {} (uid {})", health.identity.you, health.identity.uid),
    ));
    findings.extend(health.findings.iter().map(|text| finding("note", Verdict::Warn, text)));
    findings
}

/// What this machine has.
fn of_machine(data: &Path) -> Vec<Finding> {
    let mut findings = vec![match program("tmux") {
        Some(path) => finding("tmux", Verdict::Ok, format!("{} (optional)", path.display())),
        None => finding("tmux", Verdict::Ok, "not found (optional)"),
    }];
    let files = getrlimit(Resource::Nofile);
    let most = files.maximum.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
    let few = files.maximum.is_some_and(|most| most < 4096);
    let verdict = if few { Verdict::Warn } else { Verdict::Ok };
    findings.push(finding("limits", verdict, format!("at most {most} open files")).next(if few {
        "a large fleet needs more: raise the hard limit (ulimit -Hn)"
    } else {
        ""
    }));
    findings.extend(space(data));
    findings
}

/// What is wrong with the operator's own configuration.
fn of_config(config: &Path) -> Option<Finding> {
    let file = config::path(config);
    let error = match Config::load(config) {
        Ok(read) => return project::mandates("config", &read.role, &file),
        Err(error) => error,
    };
    Some(
        finding(
            "config",
            Verdict::Warn,
            format!("{}: {}", file.display(), plain(&error.to_string())),
        )
        .next("the file is ignored; fix it, then run `perennial down` and `perennial up`"),
    )
}

/// The agent CLIs that there are presets for, and what works with each.
fn of_agent_clis(config: &Path) -> Vec<Finding> {
    let of = |name: String| match Preset::load(config, &name) {
        Ok(preset) => match installed::agent_cli(&preset, |_| ()) {
            Some(Installed { path, version }) => {
                let (path, works) = (path.display(), works(&preset));
                let (seconds, limits) = (installed::PATIENCE.as_secs(), limits(&preset));
                let (named, is_measured) = match version {
                    Version::Said(version) => {
                        (format!("{name} {version}"), Some(version == preset.measured))
                    }
                    Version::Unsaid => (format!("{name} (tells no version)"), Some(false)),
                    Version::Late => {
                        (format!("{name} (did not tell its version within {seconds} s)"), None)
                    }
                };
                let found =
                    finding("agent cli", Verdict::Ok, format!("{named}: {path}; {works}{limits}"));
                match is_measured {
                    Some(true) => found,
                    Some(false) => found.next(format!(
                        "if something fails, use version {}, which was tested",
                        preset.measured
                    )),
                    None => found.next(format!(
                        "check that `{} {}` answers; version {} was tested",
                        preset.program,
                        preset.version_args.join(" "),
                        preset.measured
                    )),
                }
            }
            None => {
                let text = format!("{name}: {} not found in PATH", preset.program);
                finding("agent cli", Verdict::Warn, text).next("install it to run it as an agent")
            }
        },
        Err(error) => finding("agent cli", Verdict::Warn, format!("{name}: {}", told(&error)))
            .next(format!("fix {}", preset::path(config, &name).display())),
    };
    preset::names(config).into_iter().map(of).collect()
}

/// An error with its causes, on one line: a parser's message ends with what it expected. A cause that
/// only repeats the one before it is left out.
fn told(error: &dyn std::error::Error) -> String {
    let causes =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    let mut lines: Vec<String> = Vec::new();
    for cause in causes {
        let line = cause.trim().lines().last().unwrap_or_default().trim();
        if !lines.last().is_some_and(|before| line.ends_with(before.as_str())) {
            lines.push(line.to_owned());
        }
    }
    lines.join(": ")
}

/// What works with a harness, by its preset.
fn works(preset: &Preset) -> String {
    let clock = format!("context clock ({})", preset.context.window_source.word());
    let list = preset.conversation.list.as_ref().map(|_| "session list");
    let all = [Some("start"), Some("resume"), Some("hooks"), Some("tools"), list];
    let words: Vec<&str> = all.into_iter().flatten().chain([clock.as_str()]).collect();
    words.join(", ")
}

/// What does not work with it.
fn limits(preset: &Preset) -> String {
    let name = &preset.name;
    let limits = preset.limits.not.iter();
    limits.map(|limit| format!("; not with {name}: {} ({})", limit.what, limit.why)).collect()
}

/// Free space on the journal's disk; `None` if its directory is not there yet.
fn space(data: &Path) -> Option<Finding> {
    let seen = rustix::fs::statvfs(data).ok()?;
    let free_mib = seen.f_bavail.saturating_mul(seen.f_frsize) >> 20;
    let verdict = if free_mib < 64 { Verdict::Warn } else { Verdict::Ok };
    Some(finding("disk", verdict, format!("{free_mib} MiB free for the journal")))
}

#[cfg(test)]
mod tests {
    use perennial_api::answer::StoreHealth;

    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::text::width;
    use crate::cli::render::time::LocalTime;

    fn verdicts(health: &Health) -> Vec<(&'static str, Verdict)> {
        of_daemon(health, Path::new("/nonexistent"))
            .iter()
            .map(|one| (one.what, one.verdict))
            .collect()
    }

    #[test]
    fn findings_fit_a_terminal() {
        let (clock, paint) = (LocalTime::system(), Paint::OFF);
        let canvas = Canvas { clock: &clock, paint, width: Some(80), user: None };
        let long = "a word ".repeat(30);
        let shown = line(&finding("store", Verdict::Warn, &long).next(&long), &canvas);
        assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
        assert_eq!(shown.matches("word").count(), 60);
    }

    fn of_own_build() -> Health {
        let build = build_id::build().to_owned();
        Health { version: build_id::VERSION.to_owned(), build, ..Health::default() }
    }

    #[test]
    fn findings_at_80_columns() {
        let (clock, paint) = (LocalTime::system(), Paint::OFF);
        let canvas = Canvas { clock: &clock, paint, width: Some(80), user: None };
        let mut sound = of_own_build();
        (sound.pid, sound.uptime_seconds, sound.epoch, sound.head_seq) = (4711, 60, 3, 120);
        (sound.agents.living, sound.agents.freezer, sound.holders_connected) = (2, 1, 2);
        sound.store.ok = true;
        sound.store.path = "/home/eve/.local/share/perennial/journal.db".into();
        sound.cgroup.available = true;
        sound.identity.you = "person".into();
        let mut ailing = sound.clone();
        ailing.version = "9.9.9".into();
        ailing.cgroup.available = false;
        ailing.store.unreadable = vec!["record 7 (moved v1) can't be read".into()];
        let mut full = sound.clone();
        full.store.read_only = Some("the disk is full".into());
        let absent = ClientError::NoDaemon(std::io::Error::other("refused"));
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("config.toml"), "notifi = []").expect("a file");
        let none = Path::new("/nonexistent");
        let full = store::beside_daemon(&full, none);
        let mut found = [of_daemon(&sound, none), of_daemon(&ailing, none), full].concat();
        found.push(without_daemon(&absent));
        let temporary = dir.path().to_string_lossy();
        found.extend(of_config(dir.path()).map(|one| Finding {
            text: one.text.replace(&*temporary, "/home/eve/.config/perennial"),
            ..one
        }));
        let drawn: String = found.iter().map(|one| line(one, &canvas)).collect();
        insta::assert_snapshot!(drawn.replace(build_id::build(), "9262ffa8f80b"));
    }

    #[test]
    fn a_home_that_can_not_be_used_is_a_failure() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "in the way").expect("a file");
        let verdict = |root: &Path| {
            let found = home(&Home::at(root));
            (found.verdict, !found.next.is_empty())
        };
        for unusable in [&file, &file.join("below"), Path::new("/proc/nope")] {
            assert_eq!(verdict(unusable), (Verdict::Fail, true), "{unusable:?}");
        }
        for usable in [dir.path(), &dir.path().join("not/there/yet")] {
            assert_eq!(verdict(usable), (Verdict::Ok, false), "{usable:?}");
            assert!(home(&Home::at(usable)).text.ends_with("not used yet"));
        }
        Home::at(dir.path()).create().expect("a home");
        assert!(home(&Home::at(dir.path())).text.ends_with("(PERENNIAL_HOME)"));
    }

    #[test]
    fn a_damaged_journal_is_told_with_the_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal.db");
        std::fs::write(&path, "no database ".repeat(1000)).expect("a file");
        let found = store::journal(&path).expect("a journal");
        assert_eq!(found.verdict, Verdict::Fail);
        // A daemon with other troubles, or with none, is no reason not to look.
        for (lost, told) in [(Some("records 7 to 9 are lost".to_owned()), 2), (None, 1)] {
            let store = StoreHealth { ok: lost.is_none(), lost, ..StoreHealth::default() };
            let all = store::beside_daemon(&Health { store, ..Health::default() }, &path);
            assert_eq!((all.len(), all.last()), (told, Some(&found)), "{all:?}");
        }
        let shown = path.display().to_string();
        assert_eq!(found.text.matches(&shown).count(), 1, "{found:?}");
        assert_eq!(found.text.matches("not a database").count(), 1, "{found:?}");
    }

    #[test]
    fn a_sound_daemon_and_one_with_troubles() {
        let mut health = of_own_build();
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
