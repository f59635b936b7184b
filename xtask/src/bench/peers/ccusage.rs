//! ccusage: what people count the tokens of their transcripts with. Its native program, without the
//! launcher that npm puts before it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::workshop::{command, output};

pub const VERSION: &str = "20.0.24";
/// Where npm puts it, below the home directory; nothing of the owner's is there.
const PLACE: &str = ".cache/perennial-bench-peers";

/// What it calls the figures, and what a corpus does.
const NAMES: [(&str, &str); 4] = [
    ("inputTokens", "input_tokens"),
    ("outputTokens", "output_tokens"),
    ("cacheCreationTokens", "cache_creation_input_tokens"),
    ("cacheReadTokens", "cache_read_input_tokens"),
];

#[derive(Debug)]
pub struct Ccusage(PathBuf);

impl Ccusage {
    /// Installed by name if it is missing; `None`: it can't be.
    pub fn install() -> Option<Ccusage> {
        let place = std::env::home_dir()?.join(PLACE);
        let program =
            place.join(format!("node_modules/@ccusage/ccusage-{}/bin/ccusage", machine()));
        if !is_this_version(&place) || !program.is_file() {
            eprintln!("installing: ccusage {VERSION}");
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&place);
            npm.arg(format!("ccusage@{VERSION}")).stdout(Stdio::null());
            npm.status().ok().filter(|status| status.success())?;
        }
        // Its own launcher does that before the first call.
        fs::set_permissions(&program, Permissions::from_mode(0o755)).ok()?;
        Some(Ccusage(program))
    }

    /// The totals of all transcripts below `corpus`, by the names of a corpus.
    pub fn totals(&self, corpus: &Path, room: &Path) -> Result<Value> {
        let mut command = command(&self.0, room);
        command.env("CLAUDE_CONFIG_DIR", corpus).env("NO_COLOR", "1");
        let said = output(command.args(["claude", "daily", "--json", "--offline"]))?;
        let said: Value = serde_json::from_slice(&said).context("ccusage says no JSON")?;
        let totals =
            NAMES.iter().map(|(theirs, ours)| ((*ours).to_owned(), said["totals"][theirs].clone()));
        Ok(json!(totals.collect::<serde_json::Map<_, _>>()))
    }
}

fn is_this_version(place: &Path) -> bool {
    let manifest = fs::read_to_string(place.join("node_modules/ccusage/package.json"));
    manifest.is_ok_and(|text| text.contains(&format!("\"version\": \"{VERSION}\"")))
}

/// This machine, as npm names it.
fn machine() -> String {
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}-{processor}", std::env::consts::OS)
}
