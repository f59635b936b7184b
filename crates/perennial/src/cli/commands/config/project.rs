//! What `config` shows of the project in the current directory: its checks, and whether they are trusted.
//!
//! A project's file is data that anybody may have written: every word of it is escaped before it is shown.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::checks::{Check, CheckName, Checks, NoCheck};
use crate::cli::context::Context;
use crate::cli::render::text::plain;
use crate::config::{self, Config};
use crate::daemon::surface::project;
use crate::project_file;
use crate::span;

/// The `perennial.toml` that holds for the current directory.
pub fn file() -> PathBuf {
    let dir = std::env::current_dir().unwrap_or_default();
    project_file::path(&project::of(&dir))
}

/// The checks of a project that has this file; nothing if there are none, or the file has a mistake.
pub fn checks(own: &Config, file: &Path, context: &Context) -> Option<Checks> {
    let project = file.parent()?;
    let checks = Checks::of(&own.checks, &context.home.config, project).ok()?;
    let is_empty = checks.of_project().next().is_none();
    (!is_empty).then_some(checks)
}

/// For people: nothing where the project has no checks.
pub fn told(own: &Config, context: &Context) -> String {
    checks(own, &file(), context).map(|checks| listed(&checks, context)).unwrap_or_default()
}

/// Each check of the project with its command, and whether it may be run.
pub fn listed(checks: &Checks, context: &Context) -> String {
    let file = plain(&checks.file().to_string_lossy());
    let mut text = format!("checks of {file}:\n");
    let mut needs_trust = false;
    for (name, check) in checks.of_project() {
        let standing = standing(checks, name, context);
        needs_trust |= standing == NOT_YET;
        text.push_str(&format!("  {} = {}  ({standing})\n", plain(name.as_str()), command(check)));
    }
    if needs_trust {
        text.push_str("to trust the file as it is now: perennial config trust\n");
    }
    text
}

const NOT_YET: &str = "not yet trusted";

fn standing(checks: &Checks, name: &CheckName, context: &Context) -> String {
    let own = config::path(&context.home.config);
    match checks.trusted(name.as_str()) {
        Ok(_) if checks.is_own(name) => {
            format!("no effect: {} declares it, too", plain(&own.to_string_lossy()))
        }
        Ok(_) => "trusted".to_owned(),
        Err(NoCheck::NotTrusted { .. } | NoCheck::Unknown) => NOT_YET.to_owned(),
    }
}

/// A command as a list, and its limit.
pub fn command(check: &Check) -> String {
    let words = plain(&json!(check.command).to_string());
    let limit = check.limit.map(|limit| format!(", at most {}", span::brief(limit.as_secs())));
    format!("{words}{}", limit.unwrap_or_default())
}

pub fn json(own: &Config, context: &Context) -> Value {
    let Some(checks) = checks(own, &file(), context) else { return Value::Null };
    let all = checks.of_project().map(|(name, check)| {
        let is_trusted = checks.trusted(name.as_str()).is_ok();
        json!({
            "name": name, "command": check.command, "limit_s": check.limit.map(|it| it.as_secs()),
            "trusted": is_trusted, "overridden": checks.is_own(name),
        })
    });
    json!({ "file": checks.file(), "checks": all.collect::<Value>() })
}
