//! Which harness is put through the suite: a built-in one, or somebody's own preset; and where its program
//! is.

use std::path::{Path, PathBuf};
use std::process::Command;

use perennial_engine::harness::preset::{self, Preset};

/// Where the tests' own tool installs agent CLIs, below the home directory.
const TOOLS: &str = ".cache/perennial-test-tools/node_modules";

#[derive(Debug, Clone)]
pub struct Harness {
    pub name: String,
    /// The owner's own preset.
    pub file: Option<PathBuf>,
    /// What is started where the preset names no path.
    pub program: Option<PathBuf>,
}

impl Harness {
    pub fn built_in() -> Vec<Harness> {
        preset::names(Path::new("/proc/none")).iter().map(|name| Harness::named(name)).collect()
    }

    pub fn named(name: &str) -> Harness {
        Harness { name: name.to_owned(), file: None, program: installed(name) }
    }

    /// A preset that is named after its file; its program is looked for in PATH.
    pub fn of_file(file: &Path) -> Harness {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Harness { name, file: Some(file.to_owned()), program: None }
    }

    /// As a daemon reads it that has this configuration directory.
    #[track_caller]
    pub fn install(&self, config: &Path) -> Preset {
        if let Some(file) = &self.file {
            std::fs::create_dir_all(preset::directory(config)).expect("made");
            std::fs::copy(file, preset::path(config, &self.name))
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
        Preset::load(config, &self.name).unwrap_or_else(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            panic!("{error}: {}", cause.unwrap_or_default())
        })
    }

    /// Where the program is.
    #[track_caller]
    pub fn program(&self, preset: &Preset) -> PathBuf {
        let named = self.program.clone().filter(|path| path.exists());
        let found = named.or_else(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).map(|dir| dir.join(&preset.program)).find(|at| at.exists())
        });
        found.unwrap_or_else(|| panic!("no {} is installed", preset.program))
    }

    /// The version that the program tells.
    pub fn version(&self, preset: &Preset) -> String {
        let output = Command::new(self.program(preset)).args(&preset.version_args).output();
        let output = output.expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
        text.split_whitespace().find(is_version).unwrap_or_default().to_owned()
    }
}

/// The program itself, not a script that a package puts before it.
fn installed(name: &str) -> Option<PathBuf> {
    let (package, target) = match std::env::consts::ARCH {
        "aarch64" => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
        _ => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    };
    let below = match name {
        "claude" => "@anthropic-ai/claude-code/bin/claude.exe".to_owned(),
        "codex" => format!("@openai/{package}/vendor/{target}/bin/codex"),
        "gemini" => "@google/gemini-cli/bundle/gemini.js".to_owned(),
        _ => return None,
    };
    Some(std::env::home_dir()?.join(TOOLS).join(below))
}
