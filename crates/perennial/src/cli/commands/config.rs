//! `config`: shows, explains, checks and edits the operator's configuration, and trusts a project's commands. Needs
//! no daemon.

mod check;
pub mod project;
mod trust;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use perennial_api::answer::{Health, RunningConfig};
use perennial_api::{ExitCode, client};
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::person;
use crate::cli::problems;
use crate::cli::render::text::{plain, wrapped};
use crate::cli::terminal;
use crate::config::{self, Config, KEYS, Key, Kind, Source, UsedBy};
use crate::similar::similar;

/// Show, explain, check or edit the configuration, and trust a project's
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial config show
          perennial config explain notify
          perennial config edit
          perennial config trust")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Show(ShowArgs),
    Explain(ExplainArgs),
    Check(check::Args),
    Trust(trust::Args),
    Edit(EditArgs),
}

/// Show every key with its value, where the value comes from, and what it does
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial config show

Keys for which the running daemon still uses another value are listed, and the checks of the project in the \
current directory.")]
struct ShowArgs {}

/// Explain a key: what it does, its default, who reads it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial config explain silent_after_s")]
struct ExplainArgs {
    /// The key's name
    key: String,
}

/// Edit the configuration with $VISUAL or $EDITOR
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: EDITOR=nano perennial config edit

You edit a copy. It replaces the file only if it has no mistakes.")]
struct EditArgs {}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    match &args.verb {
        Verb::Show(_) => show(context),
        Verb::Explain(ExplainArgs { key }) => explain(key, context),
        Verb::Check(args) => check::run(args, context),
        Verb::Trust(args) => trust::run(args, context),
        Verb::Edit(_) => edit(context),
    }
}

fn show(context: &Context) -> VerbResult {
    let loaded = context.config();
    let running = running(context);
    let stale = stale(&loaded.config, running.as_ref());
    if context.json {
        let keys: Vec<Value> = loaded.entries().map(|entry| entry_json(entry, &stale)).collect();
        let file = config::path(&context.home.config);
        let mistake = loaded.mistake.as_ref().map(ToString::to_string);
        let project = project::json(&loaded.config, context);
        let body = json!({
            "file": file, "keys": keys, "daemon": running, "mistake": mistake, "project": project,
        });
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    context.print_long(&context.draw(|canvas| {
        let entries = loaded.entries().map(|entry| shown(entry, canvas.width));
        entries.collect::<Vec<_>>().join("\n")
    }))?;
    context.print(&project::told(&loaded.config, context))?;
    context.print(&told_stale(&loaded.config, running.as_ref()))?;
    Ok(ExitCode::Done)
}

/// A key as the file would have it, where its value comes from, its default, and a sentence.
fn shown((key, value, source): (&Key, Value, Source), width: Option<usize>) -> String {
    let default = match source {
        Source::Default => String::new(),
        Source::File | Source::Environment => {
            format!("; default {}", Config::default().value(key))
        }
    };
    let indent = "  ";
    format!(
        "{} = {}  ({}{default})\n{indent}{}\n",
        key.name,
        plain(&value.to_string()),
        from(key, source),
        wrapped(key.summary, indent.len(), indent.len(), width),
    )
}

fn entry_json((key, value, source): (&Key, Value, Source), stale: &[&Key]) -> Value {
    let needs_restart = stale.iter().any(|one| one.name == key.name);
    json!({
        "key": key.name,
        "value": value,
        "source": source,
        "default": Config::default().value(key),
        "summary": key.summary,
        "needs_restart": needs_restart,
    })
}

fn from(key: &Key, source: Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::File => "config.toml".to_owned(),
        Source::Environment => key.variable.unwrap_or("environment").to_owned(),
    }
}

/// What the daemon runs with, if one runs and tells this caller.
fn running(context: &Context) -> Option<RunningConfig> {
    let answer = context.client.get(&client::path(&["health"], &[])).ok()?;
    answer.read::<Health>().ok()?.config
}

/// The keys that the daemon still uses with another value.
fn stale(config: &Config, running: Option<&RunningConfig>) -> Vec<&'static Key> {
    let Some(running) = running else { return Vec::new() };
    let differs = |key: &&Key| {
        let used = running.values.get(key.name);
        key.used_by == UsedBy::Daemon && used.is_some_and(|used| *used != config.value(key))
    };
    KEYS.iter().filter(differs).collect()
}

fn told_stale(config: &Config, running: Option<&RunningConfig>) -> String {
    let mut text = String::new();
    for key in stale(config, running) {
        let used = running.and_then(|running| running.values.get(key.name)).map(Value::to_string);
        let used = plain(&used.unwrap_or_default());
        text.push_str(&format!("{}: the daemon still uses {used}\n", key.name));
    }
    if !text.is_empty() {
        text.push_str(
            "to apply changes while agents keep working: perennial down && perennial up\n",
        );
    }
    text
}

fn explain(name: &str, context: &Context) -> VerbResult {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else {
        let keys = KEYS.each_ref().map(|key| key.name);
        let meant = similar(name, keys);
        return Err(problems::house::no_such_key(name, &meant, &keys.join(", ")).into());
    };
    let loaded = context.config();
    let entry = loaded.entries().find(|(one, ..)| one.name == key.name);
    let (value, source) = entry.map(|(_, value, source)| (value, source)).unwrap_or_else(|| {
        unreachable!("CF1: {name} is a key of the table");
    });
    if context.json {
        let mut body =
            entry_json((key, value, source), &stale(&loaded.config, running(context).as_ref()));
        body["example"] = key.example.into();
        body["type"] = kind(key.kind).into();
        body["takes_effect"] = takes_effect(key.used_by).into();
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let variable = key.variable.map(|name| format!("variable       {name}\n")).unwrap_or_default();
    context.print(&format!(
        "{}\n\nvalue          {} ({})\ndefault        {}\ntype           {}\n{variable}takes effect   {}\n\
         example        {}\n",
        context.draw(|canvas| wrapped(key.summary, 0, 0, canvas.width)),
        plain(&value.to_string()),
        from(key, source),
        Config::default().value(key),
        kind(key.kind),
        takes_effect(key.used_by),
        key.example,
    ))?;
    Ok(ExitCode::Done)
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Command => "a list: a program and its arguments".to_owned(),
        Kind::Keys => "keys, such as \"C-a d\": Ctrl-a, then d".to_owned(),
        Kind::Number { least, most } => format!("a number from {least} to {most}"),
        Kind::Word(words) => format!("one of: {}", words.join(", ")),
        Kind::Roles => "a table for each role, [role.NAME]".to_owned(),
        Kind::Phase => "lists of words, commands and tools".to_owned(),
        Kind::Checks => "a list for each check: a program and its arguments".to_owned(),
    }
}

fn takes_effect(used_by: UsedBy) -> &'static str {
    match used_by {
        UsedBy::Daemon => "when the daemon starts",
        UsedBy::CommandLine => "at the next command",
    }
}

fn edit(context: &Context) -> VerbResult {
    person::required("edit the configuration", context)?;
    let words = match editor() {
        Some(words) => words,
        None if terminal::is_interactive() && !context.json => vec!["vi".to_owned()],
        None => return Err(problems::house::nowhere_to_edit().into()),
    };
    let own = config::path(&context.home.config);
    let not_edited = |error: io::Error| problems::house::config_not_edited(&own, &error);
    context.home.create().map_err(not_edited)?;
    // The name ends as the file's own does, so that editors know its form.
    let copy = context.home.config.join("config.edited.toml");
    write_copy(&own, &copy).map_err(not_edited)?;
    let [program, options @ ..] = &words[..] else { unreachable!("an editor has a name") };
    let ended = Command::new(program).args(options).arg(&copy).status();
    let ended = ended.map_err(|error| problems::house::no_editor(program, &error))?;
    if !ended.success() {
        return Err(problems::house::editor_failed(program, &copy).into());
    }
    let text = std::fs::read_to_string(&copy).map_err(not_edited)?;
    let before = std::fs::read_to_string(&own).ok();
    let new = Config::read(&text)
        .map_err(|mistake| problems::house::edited_config_mistake(&copy, &mistake))?;
    if before.as_deref() == Some(&*text) || (before.is_none() && text == template()) {
        std::fs::remove_file(&copy).map_err(not_edited)?;
        return told_edited(&own, "unchanged", &new, context);
    }
    File::open(&copy).and_then(|file| file.sync_all()).map_err(not_edited)?;
    std::fs::rename(&copy, &own).map_err(not_edited)?;
    told_edited(&own, "saved", &new, context)
}

/// A copy that an earlier edit left with a mistake is continued.
fn write_copy(own: &Path, copy: &Path) -> io::Result<()> {
    let text = match std::fs::read_to_string(own) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => template(),
        Err(error) => return Err(error),
    };
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(copy) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A file that changes nothing and shows every key.
fn template() -> String {
    let mut text =
        String::from("# Perennial's configuration; `perennial config explain KEY` says more.\n");
    for key in &KEYS {
        let default = Config::default().value(key);
        text.push_str(&format!("\n# {}\n# {} = {default}\n", key.summary, key.name));
    }
    text
}

/// A program and its arguments, split at spaces; never a shell's line.
fn editor() -> Option<Vec<String>> {
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let words = set.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    words.into_iter().find(|words| !words.is_empty())
}

fn told_edited(own: &Path, what: &str, new: &Config, context: &Context) -> VerbResult {
    let running = running(context);
    if context.json {
        let stale: Vec<&str> = stale(new, running.as_ref()).iter().map(|key| key.name).collect();
        let body = json!({ "file": own, "result": what, "needs_restart": stale });
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let stale = told_stale(new, running.as_ref());
    context.print(&format!("{}: {what}\n{stale}", plain(&own.to_string_lossy())))?;
    Ok(ExitCode::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_changes_nothing_and_its_lines_are_good() {
        assert_eq!(Config::read(&template()), Ok(Config::default()));
        let lines = template()
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| KEYS.iter().any(|key| line.starts_with(&format!("{} = ", key.name))))
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(lines.lines().count(), KEYS.len());
        assert_eq!(Config::read(&lines), Ok(Config::default()));
    }

    #[test]
    fn only_what_the_daemon_reads_needs_its_restart() {
        let new = Config { silent_after_s: 7, detach_keys: "C-b".to_owned(), ..Config::default() };
        let mut running = RunningConfig::default();
        for key in &KEYS {
            running.values.insert(key.name.to_owned(), Config::default().value(key));
        }
        let stale: Vec<_> = stale(&new, Some(&running)).iter().map(|key| key.name).collect();
        assert_eq!(stale, ["silent_after_s"]);
        assert!(
            told_stale(&new, Some(&running)).starts_with("silent_after_s: the daemon still uses ")
        );
        assert_eq!(told_stale(&new, None), "");
    }
}
