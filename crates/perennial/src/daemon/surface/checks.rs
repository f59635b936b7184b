//! What a request must be before it reaches the core: bounded, well-formed, and about a world that
//! exists.
//!
//! Pure checks and file look-ups; says no with a problem that tells what to do instead.

use std::path::{Path, PathBuf};

use perennial_api::Problem;
use perennial_api::request;
use perennial_core::conversation::ConversationId;
use perennial_core::id::PostId;
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::name::Name;
use perennial_core::restart::Restart;
use perennial_engine::harness::{PresetError, preset};

use crate::daemon::driving::driver::chain;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::surface::project;

pub fn name(text: &str) -> Result<Name, Problem> {
    text.parse::<Name>().map_err(|bad| {
        Problem::new(400, "bad-name", format!("'{}' is no name for an agent", sanitised(text)))
            .because(bad.to_string())
            .next("choose a name of letters, digits, '-' and '_', up to 64")
    })
}

pub fn role(text: &str) -> Result<String, Problem> {
    name(text).map(|name| name.as_str().to_owned()).map_err(|problem| {
        Problem::new(400, "bad-role", format!("'{}' is no name for a role", sanitised(text)))
            .because(problem.detail)
    })
}

pub fn summary(text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::new(400, "no-summary", "the summary is empty")
            .because("it is what whoever comes later reads of the agent")
            .next("say in a line what it leaves behind"));
    }
    if text.len() > request::SUMMARY_LIMIT {
        return Err(Problem::new(400, "too-long", "the summary is too long").because(format!(
            "it has {} bytes; {} are kept",
            text.len(),
            request::SUMMARY_LIMIT
        )));
    }
    Ok(text.to_owned())
}

/// A title that is one line, and a text, both as long as a post may be.
pub fn post(title: Option<&str>, text: &str) -> Result<(), Problem> {
    let is_line_end = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if let Some(title) = title {
        if title.len() > request::POST_TITLE_LIMIT {
            return Err(Problem::new(400, "too-long", "the title is too long")
                .because(format!(
                    "it has {} bytes; {} are allowed",
                    title.len(),
                    request::POST_TITLE_LIMIT
                ))
                .next("shorten the title; the text has room for more"));
        }
        if title.trim().is_empty() {
            return Err(Problem::new(400, "bad-title", "the title is blank")
                .next("give a title, or leave it out"));
        }
        if title.contains(is_line_end) {
            return Err(Problem::new(
                400,
                "bad-title",
                format!("invalid title '{}'", sanitised(title)),
            )
            .because("a title is one line, without control characters")
            .next("put further lines into the text"));
        }
    }
    if text.len() > request::POST_TEXT_LIMIT {
        return Err(Problem::new(400, "too-long", "the text is too long")
            .because(format!(
                "it has {} bytes; {} are allowed",
                text.len(),
                request::POST_TEXT_LIMIT
            ))
            .next("post a summary, and say where the whole text is"));
    }
    if text.trim().is_empty() {
        return Err(Problem::new(400, "no-text", "there is nothing to post")
            .because("the text is empty")
            .next("give a text: perennial board post -s TITLE TEXT"));
    }
    Ok(())
}

pub fn post_id(text: &str) -> Result<PostId, Problem> {
    text.parse().map_err(|_| no_such_post(text))
}

pub fn no_such_post(text: &str) -> Problem {
    Problem::new(404, "no-such-post", format!("there is no post '{}'", sanitised(text)))
        .because("it is not the id of a post")
        .next("perennial board ls lists the newest posts with their ids")
}

pub fn restart(word: Option<&str>) -> Result<Restart, Problem> {
    match word {
        None => Ok(Restart::default()),
        Some("never") => Ok(Restart::Never),
        Some("on-crash") => Ok(Restart::OnCrash),
        Some("always") => Ok(Restart::Always),
        Some(other) => Err(Problem::new(
            400,
            "bad-restart",
            format!("'{}' is no restart policy", sanitised(other)),
        )
        .next("use never, on-crash or always")),
    }
}

/// The launch of a bare command, with its program found and its directory there.
pub fn launch(spawn: &request::Spawn, harnesses: &Harnesses) -> Result<Launch, Problem> {
    bounds(spawn)?;
    for_a_harness(spawn)?;
    let (harness, argv) = harness(spawn, harnesses)?;
    let dir = directory(&spawn.dir)?;
    let path = spawn.env.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    program(&argv[0], path, &dir).map_err(|problem| match harness.as_str() {
        BARE_COMMAND => problem.next("check the spelling, or give the program's full path"),
        name => problem.next(format!(
            "install {}, or add its directory to PATH: --harness {name} runs it",
            argv[0]
        )),
    })?;
    let mut env_names = spawn.set_env.clone();
    env_names.sort();
    env_names.dedup();
    Ok(Launch {
        harness,
        host: Host::Shim,
        argv,
        project: project::of(&dir).to_string_lossy().into_owned(),
        dir: spawn.dir.clone(),
        env_names,
        options: Options {
            model: spawn.model.clone(),
            prompt: spawn.prompt.clone(),
            permission_mode: spawn.permission_mode.clone(),
            trust: spawn.trust,
        },
    })
}

/// Refuses what a bare command could only ignore.
fn for_a_harness(spawn: &request::Spawn) -> Result<(), Problem> {
    if spawn.harness.as_deref().is_some_and(|name| name != BARE_COMMAND) {
        return Ok(());
    }
    let given = [
        ("--prompt", spawn.prompt.is_some()),
        ("--model", spawn.model.is_some()),
        ("--permission-mode", spawn.permission_mode.is_some()),
        ("--trust", spawn.trust),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(Problem::new(400, "needs-harness", format!("{option} needs --harness"))
                .because("a bare command has no use for it")
                .next(format!(
                    "name the agent CLI, such as --harness {}, or leave the option out",
                    preset::usual()
                )))
        }
    }
}

/// The harness's name, and its program with the owner's own arguments.
fn harness(
    spawn: &request::Spawn,
    harnesses: &Harnesses,
) -> Result<(String, Vec<String>), Problem> {
    let Some(name) = spawn.harness.as_deref().filter(|name| *name != BARE_COMMAND) else {
        return Ok((BARE_COMMAND.to_owned(), spawn.argv.clone()));
    };
    let preset = harnesses.preset(name).map_err(|error| {
        Problem::new(422, "no-harness", format!("there is no harness '{}'", sanitised(name)))
            .because(match &error {
                PresetError::Unknown { known, .. } => format!("known: {}", known.join(", ")),
                error => chain(error),
            })
            .next("perennial doctor shows which agent CLIs were found")
    })?;
    if let Some(word) = spawn.permission_mode.as_deref().filter(|word| preset.mode(word).is_none())
    {
        let known: Vec<&str> =
            preset.permission.modes.iter().map(|mode| mode.word.as_str()).collect();
        return Err(Problem::new(
            422,
            "no-such-mode",
            format!("there is no permission mode '{}'", sanitised(word)),
        )
        .next(format!("use one of {}", known.join(", "))));
    }
    let program = std::iter::once(preset.program.clone());
    Ok((name.to_owned(), program.chain(spawn.argv.iter().cloned()).collect()))
}

pub fn conversation(text: &str) -> Result<ConversationId, Problem> {
    text.parse().map_err(|_| {
        Problem::new(
            400,
            "bad-conversation",
            format!("'{}' is no conversation's id", sanitised(text)),
        )
        .next("take it from the agent CLI: the name of its transcript file")
    })
}

fn bounds(spawn: &request::Spawn) -> Result<(), Problem> {
    let bad = |kind, title: String| Err(Problem::new(400, kind, title));
    let has_program = spawn.argv.first().is_some_and(|program| !program.is_empty());
    if spawn.harness.is_none() && !has_program {
        return bad("no-program", "there is no program to run".into()).map_err(|problem| {
            problem.next("put it after --: perennial spawn NAME -- PROGRAM ARGUMENTS")
        });
    }
    let argv_bytes: usize = spawn.argv.iter().map(|word| word.len() + 1).sum();
    if spawn.argv.len() > request::ARGV_COUNT_LIMIT || argv_bytes > request::ARGV_LIMIT {
        return bad("too-long", "the command line is too long".into());
    }
    let env_bytes: usize = spawn.env.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
    if env_bytes > request::ENV_LIMIT {
        return bad("too-long", "the environment is too large".into());
    }
    if spawn.argv.iter().any(|word| word.contains('\0')) {
        return bad("bad-argument", "an argument holds a NUL byte".into());
    }
    for (key, value) in &spawn.env {
        if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
            return bad("bad-variable", format!("'{}' is no variable", sanitised(key)));
        }
    }
    if let Some(name) = spawn.set_env.iter().find(|name| !spawn.env.contains_key(*name)) {
        return bad("bad-variable", format!("'{}' was named but has no value", sanitised(name)));
    }
    Ok(())
}

fn directory(text: &str) -> Result<PathBuf, Problem> {
    let path = PathBuf::from(text);
    let refused = |why: &str| {
        Problem::new(
            422,
            "no-directory",
            format!("'{}' is no directory to work in", sanitised(text)),
        )
        .because(why)
        .next("give an existing directory with --dir")
    };
    if text.contains('\0') || !path.is_absolute() {
        return Err(refused("the path must be absolute"));
    }
    match path.metadata() {
        Ok(meta) if meta.is_dir() => Ok(path),
        Ok(_) => Err(refused("it is not a directory")),
        Err(error) => Err(refused(&error.to_string())),
    }
}

/// Finds a program as `execvp` would, relative to `dir`.
fn program(word: &str, path: &str, dir: &Path) -> Result<PathBuf, Problem> {
    let refused = |why: String| {
        Problem::new(422, "no-program", format!("'{}' can't be run", sanitised(word))).because(why)
    };
    if word.contains('/') {
        let candidate = dir.join(word);
        return match executable(&candidate) {
            Ok(()) => Ok(candidate),
            Err(why) => Err(refused(why)),
        };
    }
    let mut forbidden = None;
    for entry in path.split(':').filter(|entry| !entry.is_empty()) {
        let candidate = dir.join(entry).join(word);
        match executable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(why) if candidate.exists() => forbidden = Some(why),
            Err(_) => {}
        }
    }
    Err(refused(forbidden.unwrap_or_else(|| "not found in PATH".to_owned())))
}

fn executable(path: &Path) -> Result<(), String> {
    let meta = path.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|error| error.to_string())
}

/// Somebody's text in a message: bounded, and without control characters.
pub fn sanitised(text: &str) -> String {
    let clean: String =
        text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() { clean + "…" } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(argv: &[&str], dir: &str) -> Result<Launch, Problem> {
        let nowhere = perennial_api::Home::at("/proc/none");
        launch(&spawn(argv, dir), &Harnesses::new(nowhere, PathBuf::new()))
    }

    fn spawn(argv: &[&str], dir: &str) -> request::Spawn {
        request::Spawn {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            dir: dir.to_owned(),
            env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
            ..request::Spawn::default()
        }
    }

    #[test]
    fn what_can_run_is_launched() {
        let launch = launched(&["sleep", "1"], "/tmp").unwrap();
        assert_eq!((launch.argv.len(), launch.harness.as_str()), (2, BARE_COMMAND));
    }

    #[test]
    fn what_cannot_run_is_refused_by_kind() {
        let long = "x".repeat(request::ARGV_LIMIT);
        for (argv, dir, kind) in [
            (vec![], "/tmp", "no-program"),
            (vec![""], "/tmp", "no-program"),
            (vec!["no-such-program-here"], "/tmp", "no-program"),
            (vec!["/etc/passwd"], "/tmp", "no-program"),
            (vec!["/tmp"], "/tmp", "no-program"),
            (vec!["sleep", "a\0b"], "/tmp", "bad-argument"),
            (vec!["sleep", long.as_str()], "/tmp", "too-long"),
            (vec!["sleep"], "relative", "no-directory"),
            (vec!["sleep"], "/no/such/dir", "no-directory"),
            (vec!["sleep"], "/etc/passwd", "no-directory"),
        ] {
            let problem = launched(&argv, dir).unwrap_err();
            assert_eq!(problem.kind, kind, "{argv:?} in {dir}");
        }
    }

    #[test]
    fn hostile_text_is_shown_harmless() {
        assert_eq!(sanitised("a\x1b[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(sanitised(&"x".repeat(200)).chars().count(), 81);
    }
}
