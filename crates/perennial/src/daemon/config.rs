//! `<config>/config.toml`, the operator's own: never a project's or an agent's.

use std::path::Path;
use std::time::Duration;

use perennial_core::hearing::SILENT_AFTER;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The command that is run when an agent needs the operator.
    pub notify: Vec<String>,
    /// After how many seconds of silence in a turn a session counts as hung; 0 means never.
    pub silent_after_s: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { notify: Vec::new(), silent_after_s: SILENT_AFTER.as_secs() }
    }
}

impl Config {
    /// The file's values, or the defaults where there is no file. A file with a mistake is reported
    /// and ignored as a whole.
    pub fn load(config: &Path) -> Result<Config, String> {
        match std::fs::read_to_string(config.join("config.toml")) {
            Ok(text) => toml::from_str(&text).map_err(|error| told(&text, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub fn silent_after(&self) -> Option<Duration> {
        (self.silent_after_s > 0).then(|| Duration::from_secs(self.silent_after_s))
    }
}

/// What is wrong with the file, and where, on one line.
fn told(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::hearing::Limits;

    use super::*;

    #[test]
    fn what_is_not_written_has_its_default_and_a_misspelt_word_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::load(dir.path()), Ok(Config::default()));
        assert_eq!(Config::default().silent_after(), Limits::default().silent_after);
        let write = |text| std::fs::write(dir.path().join("config.toml"), text).unwrap();
        write("notify = [\"say\"]\nsilent_after_s = 0");
        let read = Config::load(dir.path()).unwrap();
        assert_eq!((read.notify.len(), read.silent_after()), (1, None));
        write("notifi = []");
        assert!(Config::load(dir.path()).unwrap_err().contains("notifi"));
    }
}
