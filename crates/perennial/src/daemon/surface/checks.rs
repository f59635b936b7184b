//! What a request must be before it reaches the core: bounded, well-formed, and about a world that
//! exists.
//!
//! Pure checks and file look-ups. A request that fails one is answered with a problem.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use std::time::Duration;

use perennial_api::Problem;
use perennial_api::request;
use perennial_core::conversation::ConversationId;
use perennial_core::handoff;
use perennial_core::id::{MessageId, PostId};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options, TmuxPlace};
use perennial_core::name::Name;
use perennial_core::restart::Restart;
use perennial_core::retention::Terms;
use perennial_core::situation::{SITUATIONS_MAX, Situation};
use perennial_engine::harness::PresetError;
use perennial_engine::harness::typing;
use perennial_engine::timestamp;

use crate::daemon::driving::driver::chain;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::problems::{self, NotRunnable};
use crate::daemon::surface::project;

/// As long as the kernel takes for a socket's address, and more.
const TMUX_SOCKET_BYTES_MAX: usize = 4096;

/// A name that an agent is to have from now on.
pub fn name(text: &str) -> Result<Name, Problem> {
    Name::for_agent(text).map_err(|bad| problems::bad_name(text, &bad))
}

/// A role that an agent is to hold from now on.
pub fn new_role(text: &str) -> Result<Name, Problem> {
    Name::for_role(text).map_err(|bad| problems::bad_role(text, bad))
}

/// A role that somebody may hold already.
pub fn role(text: &str) -> Result<Name, Problem> {
    text.parse::<Name>().map_err(|bad| problems::bad_role(text, bad))
}

/// Without what is named twice.
pub fn situations(words: &[String]) -> Result<Vec<Situation>, Problem> {
    let mut situations: Vec<Situation> = Vec::new();
    for word in words {
        let situation: Situation =
            word.parse().map_err(|_| problems::signal::bad_situation(word))?;
        if !situations.iter().any(|known| known.is(situation.as_str())) {
            situations.push(situation);
        }
    }
    match situations.len() <= SITUATIONS_MAX {
        true => Ok(situations),
        false => Err(problems::signal::many_situations(situations.len())),
    }
}

pub fn summary(text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(problems::empty_summary());
    }
    if text.len() > request::SUMMARY_LIMIT {
        return Err(problems::long_summary(text.len()));
    }
    Ok(text.to_owned())
}

/// The subject of a handoff.
pub fn handoff_subject(text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(problems::handoff::empty("subject"));
    }
    match text.len() <= handoff::SUBJECT_BYTES_MAX && !text.contains(char::is_control) {
        true => Ok(text.trim().to_owned()),
        false => Err(problems::handoff::long_subject(text.len())),
    }
}

pub fn handoff_notes(text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(problems::handoff::empty("notes"));
    }
    match text.len() <= handoff::NOTES_BYTES_MAX {
        true => Ok(text.to_owned()),
        false => Err(problems::handoff::long_notes(text.len())),
    }
}

pub fn handoff_deadline(seconds: u64) -> Result<Duration, Problem> {
    let deadline = Duration::from_secs(seconds);
    match (handoff::DEADLINE_LEAST..=handoff::DEADLINE_MOST).contains(&deadline) {
        true => Ok(deadline),
        false => Err(problems::handoff::bad_deadline(seconds)),
    }
}

/// A title that is one line, and a text, both as long as a post may be.
pub fn post(title: Option<&str>, text: &str) -> Result<(), Problem> {
    let is_line_end = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if let Some(title) = title {
        if title.len() > request::POST_TITLE_LIMIT {
            return Err(problems::long_title(title.len()));
        }
        if title.trim().is_empty() {
            return Err(problems::blank_title());
        }
        if title.contains(is_line_end) {
            return Err(problems::bad_title(title));
        }
    }
    if text.len() > request::POST_TEXT_LIMIT {
        return Err(problems::long_post(text.len()));
    }
    if text.trim().is_empty() {
        return Err(problems::empty_post());
    }
    Ok(())
}

/// A message's id. In what others wrote it stands as `msg-…`, which is accepted, too.
pub fn message_id(text: &str) -> Option<MessageId> {
    match text.strip_prefix("msg-") {
        Some(rest) => format!("msg_{rest}").parse().ok(),
        None => text.parse().ok(),
    }
}

pub fn post_id(text: &str) -> Result<PostId, Problem> {
    text.parse().map_err(|_| problems::no_such_post(text))
}

/// What is to be pruned. A request that does not say how old it must be prunes nothing.
pub fn prune(prune: &request::Prune) -> Result<Terms, Problem> {
    if prune.newest && prune.targets.is_empty() {
        return Err(problems::newest_of_all());
    }
    let printed_before = timestamp::parsed(&prune.printed_before)
        .ok_or_else(|| problems::bad_time(&prune.printed_before))?;
    Ok(Terms { printed_before, with_newest: prune.newest })
}

pub fn restart(word: Option<&str>) -> Result<Restart, Problem> {
    match word {
        None => Ok(Restart::default()),
        Some("never") => Ok(Restart::Never),
        Some("on-crash") => Ok(Restart::OnCrash),
        Some("always") => Ok(Restart::Always),
        Some(other) => Err(problems::bad_restart(other)),
    }
}

/// The launch that a request asks for, with its program found and its directory there.
pub fn launch(spawn: &request::Spawn, harnesses: &Harnesses) -> Result<Launch, Problem> {
    bounds(spawn)?;
    for_a_harness(spawn)?;
    let (harness, argv) = harness(spawn, harnesses)?;
    let dir = directory(&spawn.dir)?;
    let path = spawn.env.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    program(&argv[0], path, &dir).map_err(|why| {
        let preset = Some(harness.as_str()).filter(|name| *name != BARE_COMMAND);
        problems::program_not_runnable(&argv[0], &why, preset)
    })?;
    let mut env_names = spawn.set_env.clone();
    env_names.sort();
    env_names.dedup();
    Ok(Launch {
        harness,
        host: host(spawn)?,
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

/// What holds the sessions. A place in tmux is named after the agent, never by its caller.
fn host(spawn: &request::Spawn) -> Result<Host, Problem> {
    match spawn.host.as_deref() {
        None | Some("shim") if spawn.tmux_socket.is_some() => Err(problems::place_without_tmux()),
        None | Some("shim") => Ok(Host::Shim),
        Some("tmux") => {
            let name = spawn.name.as_deref().ok_or_else(problems::nameless_in_tmux)?;
            let socket = spawn.tmux_socket.clone().ok_or_else(problems::tmux_without_place)?;
            let is_path = Path::new(&socket).is_absolute() && socket.len() <= TMUX_SOCKET_BYTES_MAX;
            if !is_path || socket.chars().any(char::is_control) {
                return Err(problems::tmux_without_place());
            }
            Ok(Host::Tmux(TmuxPlace::of(&self::name(name)?, socket)))
        }
        Some(other) => Err(problems::bad_host(other)),
    }
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
        Some((option, _)) => Err(problems::needs_harness(option)),
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
        let known = match &error {
            PresetError::Unknown { known, .. } => &known[..],
            PresetError::Unreadable { .. }
            | PresetError::Malformed { .. }
            | PresetError::Contradiction { .. } => &[],
        };
        problems::no_harness(name, known, &chain(&error))
    })?;
    if let Some(word) = spawn.permission_mode.as_deref().filter(|word| preset.mode(word).is_none())
    {
        let known: Vec<&str> =
            preset.permission.modes.iter().map(|mode| mode.word.as_str()).collect();
        return Err(problems::no_such_mode(word, &known));
    }
    if let Some(argument) = preset.reserved_among(&spawn.argv) {
        return Err(problems::reserved_argument(argument, name));
    }
    if spawn.prompt.as_deref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(problems::empty_prompt());
    }
    if let (Some(prompt), Some(input)) = (&spawn.prompt, &preset.input) {
        typing::check_first_prompt(prompt, input)
            .map_err(|why| problems::unsendable_prompt(&why))?;
    }
    let program = std::iter::once(preset.program.clone());
    Ok((name.to_owned(), program.chain(spawn.argv.iter().cloned()).collect()))
}

pub fn conversation(text: &str) -> Result<ConversationId, Problem> {
    text.parse().map_err(|_| problems::bad_conversation(text))
}

fn bounds(spawn: &request::Spawn) -> Result<(), Problem> {
    let has_program = spawn.argv.first().is_some_and(|program| !program.is_empty());
    if spawn.harness.is_none() && !has_program {
        return Err(problems::no_program());
    }
    let argv_bytes: usize = spawn.argv.iter().map(|word| word.len() + 1).sum();
    if spawn.argv.len() > request::ARGV_COUNT_LIMIT || argv_bytes > request::ARGV_LIMIT {
        return Err(problems::long_command_line());
    }
    let env_bytes: usize = spawn.env.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
    if env_bytes > request::ENV_LIMIT {
        return Err(problems::large_environment());
    }
    if spawn.argv.iter().any(|word| word.contains('\0')) {
        return Err(problems::nul_in_argument());
    }
    variables(&spawn.env)?;
    chosen(&spawn.set_env)?;
    if let Some(name) = spawn.set_env.iter().find(|name| !spawn.env.contains_key(*name)) {
        return Err(problems::variable_without_value(name));
    }
    Ok(())
}

pub fn variables(env: &BTreeMap<String, String>) -> Result<(), Problem> {
    let is_bad = |(key, value): &(&String, &String)| {
        key.is_empty() || key.contains(['=', '\0']) || value.contains('\0')
    };
    match env.iter().find(is_bad) {
        Some((key, _)) => Err(problems::bad_variable(key)),
        None => Ok(()),
    }
}

/// The names of variables that somebody chose: ours tell a session whose it is.
pub fn chosen<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<(), Problem> {
    match names.into_iter().find(|name| name.starts_with("PERENNIAL_")) {
        Some(name) => Err(problems::own_variable(name)),
        None => Ok(()),
    }
}

pub fn directory(text: &str) -> Result<PathBuf, Problem> {
    let path = PathBuf::from(text);
    let refused = |why: &str| problems::no_directory(text, why);
    if text.contains('\0') || !path.is_absolute() {
        return Err(refused("the path must be absolute"));
    }
    match path.metadata() {
        Ok(meta) if meta.is_dir() => Ok(path),
        Ok(_) => Err(refused("it is not a directory")),
        Err(error) => Err(refused(&error.to_string())),
    }
}

/// Looks a program up as `execvp` would, relative to `dir`; otherwise says why it can't be run.
fn program(word: &str, path: &str, dir: &Path) -> Result<(), NotRunnable> {
    if word.contains('/') {
        return executable(&dir.join(word));
    }
    let mut forbidden = None;
    for entry in path.split(':').filter(|entry| !entry.is_empty()) {
        let candidate = dir.join(entry).join(word);
        match executable(&candidate) {
            Ok(()) => return Ok(()),
            Err(why) if candidate.exists() => forbidden = Some(why),
            Err(_) => {}
        }
    }
    Err(forbidden.unwrap_or_else(|| NotRunnable::Missing("not found in PATH".to_owned())))
}

fn executable(path: &Path) -> Result<(), NotRunnable> {
    let meta = path.metadata().map_err(|error| NotRunnable::Missing(error.to_string()))?;
    if !meta.is_file() {
        return Err(NotRunnable::Missing("it is not a file".to_owned()));
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK)
        .map_err(|error| NotRunnable::NotExecutable(error.to_string()))
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
    fn variables_that_say_whose_a_session_is_are_chosen_by_nobody() {
        let names = |name: &str| [name.to_owned()];
        assert!(chosen(&names("PATH")).is_ok());
        assert_eq!(chosen(&names("PERENNIAL_SESSION")).unwrap_err().kind, "bad-variable");
        let mut body = spawn(&["sleep", "1"], "/tmp");
        body.env.insert("PERENNIAL_JOB".to_owned(), "x".to_owned());
        body.set_env.push("PERENNIAL_JOB".to_owned());
        let harnesses = Harnesses::new(perennial_api::Home::at("/proc/none"), PathBuf::new());
        assert_eq!(launch(&body, &harnesses).unwrap_err().kind, "bad-variable");
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
        // One that is there is spelt well.
        let forbidden = launched(&["/etc/passwd"], "/tmp").unwrap_err();
        assert!(forbidden.next.contains("executable"), "{forbidden:?}");
    }

    #[test]
    fn hostile_text_is_shown_harmless() {
        assert_eq!(sanitised("a\x1b[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(sanitised(&"x".repeat(200)).chars().count(), 81);
    }
}
