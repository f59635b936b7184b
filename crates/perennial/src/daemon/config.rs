//! `<config>/config.toml`, the operator's own: never a project's or an agent's.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// An argv that is called when an agent needs its operator.
    pub notify: Vec<String>,
    /// A model that is awaited and says nothing for so long is not coming; 0: wait for ever.
    pub silent_after_s: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { notify: Vec::new(), silent_after_s: 300 }
    }
}

impl Config {
    /// What is written there, or the defaults; a file that says something else is told, not obeyed.
    pub fn load(config: &Path) -> Result<Config, String> {
        match std::fs::read_to_string(config.join("config.toml")) {
            Ok(text) => toml::from_str(&text).map_err(|error| error.to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub fn silent_after(&self) -> Option<Duration> {
        (self.silent_after_s > 0).then(|| Duration::from_secs(self.silent_after_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_has_its_default_and_a_misspelt_word_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::load(dir.path()), Ok(Config::default()));
        let write = |text| std::fs::write(dir.path().join("config.toml"), text).unwrap();
        write("notify = [\"say\"]\nsilent_after_s = 0");
        let read = Config::load(dir.path()).unwrap();
        assert_eq!((read.notify.len(), read.silent_after()), (1, None));
        write("notifi = []");
        assert!(Config::load(dir.path()).unwrap_err().contains("notifi"));
    }
}
