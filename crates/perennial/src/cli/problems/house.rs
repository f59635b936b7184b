//! Problems of keeping house: the configuration, the service, recordings, a home as one file.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use perennial_api::Problem;

use super::{failed, usage};
use crate::cli::render::text::plain;
use crate::config::Mistake;
use crate::error_chain::chain;
use crate::similar::did_you_mean;

/// `what` is what was asked for, such as "edit the configuration".
pub fn for_persons(what: &str) -> Problem {
    Problem::new(403, "not-allowed", format!("only a person may {what}"))
        .because("this command was called by an agent")
        .next("ask the operator to do it")
}

pub fn config_mistake(file: &Path, mistake: &Mistake) -> Problem {
    let (file, message) = (shown(file), plain(&mistake.message));
    let place = mistake.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    failed("config-mistake", "the configuration has a mistake; the whole file is ignored")
        .because(format!("{place}: {message}"))
        .next("run `perennial config edit` to fix it")
}

/// In a file that is only checked.
pub fn checked_config_mistake(file: &Path, mistake: &Mistake) -> Problem {
    let line = mistake.line.map(|line| format!(":{line}")).unwrap_or_default();
    failed("config-mistake", format!("{} has a mistake", shown(file)))
        .because(format!("{}{line}: {}", shown(file), plain(&mistake.message)))
        .next("`perennial config show` lists the keys; `perennial config explain` explains one")
}

/// `missing` has a sentence for each.
pub fn mandates_missing(file: &Path, missing: &[String]) -> Problem {
    let missing: Vec<String> = missing.iter().map(|sentence| plain(sentence)).collect();
    failed("mandate-missing", format!("{} names a mandate that is not there", shown(file)))
        .because(missing.join("; "))
        .next("write the file, or correct mandate_file: a relative path starts where the declaring file is")
}

pub fn trust_needs_a_terminal() -> Problem {
    usage("no-terminal", "config trust asks on a terminal")
        .because("stdin and stderr must both be terminals, and --json left out")
        .next("run it on a terminal; `perennial config trust --help` says what else there is")
}

pub fn clean_needs_a_terminal() -> Problem {
    usage("no-terminal", "clean asks on a terminal")
        .because("stdin and stderr must both be terminals, and --json left out")
        .next("run it on a terminal; with --dry-run it lists what it would remove; `perennial clean --help` says what else there is")
}

pub fn not_trusted(file: &Path, error: &io::Error) -> Problem {
    failed("not-trusted", format!("can't record that {} is trusted", shown(file)))
        .because(error.to_string())
        .next("check that you may write to the directory of config.toml")
}

pub fn config_unreadable(file: &Path, error: &io::Error) -> Problem {
    failed("unreadable", format!("can't read {}", shown(file)))
        .because(error.to_string())
        .next("check that it exists, that it is text and that you may read it")
}

/// An editor that nobody chose needs a person at a terminal.
pub fn nowhere_to_edit() -> Problem {
    usage("no-terminal", "config edit needs a terminal, or VISUAL or EDITOR")
        .because("stdin and stdout must both be terminals, and --json left out")
        .next("set EDITOR to a program that changes the file it is given")
}

pub fn edited_config_mistake(copy: &Path, mistake: &Mistake) -> Problem {
    let (copy, message) = (shown(copy), plain(&mistake.message));
    let place = mistake.line.map_or_else(|| copy.clone(), |line| format!("{copy}:{line}"));
    failed("config-mistake", "the edited configuration has a mistake; the old one still applies")
        .because(format!("{place}: {message}"))
        .next("run `perennial config edit` again: it continues with your copy")
}

pub fn no_such_key(name: &str, similar: &[&str], keys: &str) -> Problem {
    Problem::new(404, "no-such-key", format!("there is no configuration key {}", plain(name)))
        .because(match similar {
            [] => format!("the keys are {keys}"),
            _ => did_you_mean(similar),
        })
        .next("run `perennial config show` to see all keys")
}

pub fn config_not_edited(file: &Path, error: &io::Error) -> Problem {
    failed("config-not-edited", format!("can't edit {}", shown(file)))
        .because(error.to_string())
        .next("check that you may write to its directory")
}

pub fn no_editor(program: &str, error: &io::Error) -> Problem {
    usage("no-editor", format!("can't start the editor {}", plain(program)))
        .because(error.to_string())
        .next("set VISUAL or EDITOR to an editor that is installed")
}

pub fn editor_failed(program: &str, copy: &Path) -> Problem {
    failed("editor-failed", format!("the editor {} failed; nothing was changed", plain(program)))
        .because(format!("what you wrote is in {}", copy.display()))
        .next("run `perennial config edit` again: it continues with your copy")
}

/// `running` and `own` are versions; `why` is the first record, or the form of the file.
pub fn store_is_newer(running: &str, own: &str, why: &str) -> Problem {
    Problem::new(
        409,
        "store-newer",
        "the daemon was not replaced: this build can't read its journal",
    )
    .because(format!("the daemon is {running}, this command is {own}; {}", plain(why)))
    .next("keep the running daemon, or use a build that is at least as new")
}

pub fn path_not_for_a_unit(path: &Path) -> Problem {
    usage(
        "bad-path",
        format!("the path {} can't be written into a unit", plain(&path.to_string_lossy())),
    )
    .because("it is not Unicode, or contains control characters")
    .next("install perennial, and choose its home, under a plain path")
}

pub fn foreign_unit(path: &Path) -> Problem {
    Problem::new(409, "foreign-unit", format!("{} was not written by perennial", path.display()))
        .because("a unit of somebody else is never changed")
        .next("compare it with `perennial service install --print`, then move it away if it is not needed")
}

pub fn unit_unusable(path: &Path, error: &io::Error) -> Problem {
    failed("unit-unusable", format!("can't read or write {}", path.display()))
        .because(error.to_string())
        .next("check that you may write to its directory")
}

pub fn no_unit(path: &Path) -> Problem {
    Problem::new(404, "no-unit", "the service is not installed")
        .because(format!("there is no {}", path.display()))
        .next("run `perennial service install` to install it")
}

pub fn no_systemd(why: &str) -> Problem {
    failed("no-systemd", "no systemd user manager answers")
        .because(plain(why))
        .next("run `perennial up`: the daemon needs no service manager")
}

pub fn systemctl_failed(words: &[&str], why: &str) -> Problem {
    failed("systemctl-failed", format!("systemctl --user {} failed", words.join(" ")))
        .because(plain(why))
        .next("run `perennial service status` to see how the unit is")
}

pub fn export_exists(file: &Path) -> Problem {
    Problem::new(409, "file-exists", format!("{} exists already", shown(file)))
        .because("an export never replaces a file")
        .next("choose another name")
}

pub fn no_directory_for_export(directory: &Path) -> Problem {
    failed("no-directory", format!("there is no directory {}", shown(directory)))
        .because("an export creates its file, not the directories above it")
        .next("create the directory, or choose another")
}

/// A dash often means standard output; an export is written at once and then given its name.
pub fn export_needs_a_file() -> Problem {
    Problem::new(400, "usage", "an export needs the name of a file")
        .because("it is written and checked as a whole before it gets its name")
        .next("name a file, for example ~/fleet.tar")
}

pub fn nothing_to_export(journal: &Path) -> Problem {
    Problem::new(404, "nothing-to-export", "this home has no agents yet")
        .because(format!("there is no journal at {}", shown(journal)))
        .next("run `perennial paths` to see which home is meant")
}

pub fn not_exported(file: &Path, why: &dyn Error) -> Problem {
    failed("not-exported", format!("can't write the export {}", shown(file)))
        .because(plain(&chain(why)))
        .next("run `perennial doctor` to check the journal and the disk, then try again")
}

pub fn not_an_archive(file: &Path, why: &dyn Error) -> Problem {
    Problem::new(422, "bad-archive", format!("can't import {}; nothing was changed", shown(file)))
        .because(plain(&chain(why)))
        .next("export the home again, with a version that is not newer than this one")
}

pub fn archive_unread(file: &Path, error: &io::Error) -> Problem {
    failed("unreadable", format!("can't read {}", shown(file)))
        .because(error.to_string())
        .next("check that the file exists and that you may read it")
}

/// `occupied` is what an import would have to replace.
pub fn home_not_empty(occupied: &[PathBuf]) -> Problem {
    let names: Vec<String> = occupied.iter().map(|path| shown(path)).collect();
    Problem::new(409, "home-not-empty", "this home is not empty; nothing was changed")
        .because(format!("it has {}", names.join(", ")))
        .next("set PERENNIAL_HOME to a directory that does not exist yet")
}

pub fn home_in_use(why: &str) -> Problem {
    Problem::new(409, "home-in-use", "this home is in use; nothing was changed")
        .because(plain(why))
        .next("set PERENNIAL_HOME to a directory that does not exist yet")
}

pub fn not_imported(error: &io::Error) -> Problem {
    failed("not-imported", "can't write to this home; nothing was imported")
        .because(error.to_string())
        .next("run `perennial doctor` to see whether the disk is well")
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}
