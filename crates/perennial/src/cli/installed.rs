//! Programs as they are installed here: where they are, and which version an agent CLI has.
//!
//! Asks for a version and nothing else, for a few seconds at most.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perennial_engine::harness::preset::{self, Preset};
use perennial_engine::host::process;

/// How long a program is given to say its version.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// A version is short.
const LONGEST: u64 = 4096;

#[derive(Debug)]
pub struct Installed {
    pub path: PathBuf,
    pub version: Version,
}

/// The version of a program, by its own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    Said(String),
    /// It said something else, or nothing.
    Unsaid,
    /// It did not answer in time.
    Late,
}

/// Where a program is found in PATH, if it is.
pub fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| {
        let seen = path.metadata();
        seen.is_ok_and(|seen| seen.is_file() && seen.permissions().mode() & 0o111 != 0)
    })
}

/// The names of presets whose program is in PATH, the usual one first.
pub fn agent_clis(config: &Path) -> Vec<String> {
    let is_here = |name: &String| {
        Preset::load(config, name).is_ok_and(|preset| program(&preset.program).is_some())
    };
    known_agent_clis(config).into_iter().filter(is_here).collect()
}

/// The names of all presets, the usual one first.
pub fn known_agent_clis(config: &Path) -> Vec<String> {
    let mut names = preset::names(config);
    names.sort_by_key(|name| name != preset::usual());
    names
}

/// Looks the preset's program up and asks it; `None` if it is not in PATH. `prepare` says where and
/// with which environment it is asked.
pub fn agent_cli(preset: &Preset, prepare: impl FnOnce(&mut Command)) -> Option<Installed> {
    let path = program(&preset.program)?;
    let mut command = Command::new(&path);
    command.args(&preset.version_args);
    prepare(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let version = match command.spawn().map(said) {
        Ok(Some(said)) => version(&said),
        Ok(None) => Version::Late,
        Err(_) => Version::Unsaid,
    };
    Some(Installed { path, version })
}

fn version(said: &str) -> Version {
    let words = said.split_whitespace().map(|word| word.trim_start_matches('v'));
    let is_version =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    let version = words.into_iter().find(is_version);
    version.map_or(Version::Unsaid, |version| Version::Said(version.to_owned()))
}

/// What a program prints before it ends; nothing of one that does not end in time, which is ended.
fn said(mut child: Child) -> Option<String> {
    let ended = process::ends_within(&child, PATIENCE);
    if !ended {
        let _ = child.kill();
    }
    let mut text = String::new();
    if let Some(output) = child.stdout.take().filter(|_| ended) {
        let _ = output.take(LONGEST).read_to_string(&mut text);
    }
    let _ = child.wait();
    ended.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_path_only() {
        assert!(program("sh").is_some_and(|path| path.is_absolute() && path.ends_with("sh")));
        assert_eq!(program("no-such-program-anywhere"), None);
    }
}
