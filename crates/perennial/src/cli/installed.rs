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

const PATIENCE: Duration = Duration::from_secs(5);
/// A version is short.
const LONGEST: u64 = 4096;

#[derive(Debug)]
pub struct Installed {
    pub path: PathBuf,
    /// As it says itself; empty if it says none.
    pub version: String,
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
    let said = command.spawn().map(said).unwrap_or_default();
    let words = said.split_whitespace();
    let version = words
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'));
    Some(Installed { path, version: version.unwrap_or_default().to_owned() })
}

/// What a program prints before it ends; one that does not end in time is ended.
fn said(mut child: Child) -> String {
    let ended = process::ends_within(&child, PATIENCE);
    if !ended {
        let _ = child.kill();
    }
    let mut text = String::new();
    if let Some(output) = child.stdout.take().filter(|_| ended) {
        let _ = output.take(LONGEST).read_to_string(&mut text);
    }
    let _ = child.wait();
    text
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
