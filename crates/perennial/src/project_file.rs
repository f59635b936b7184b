//! A project's `perennial.toml`: its roles and its checks.
//!
//! Data that anybody may have written. Roles count at once; checks are commands, and count only after
//! `perennial config trust` of that exact content.

use std::io;
use std::path::{Path, PathBuf};

use perennial_engine::regular_file::{self, Links};
use serde::Deserialize;

use crate::checks;
use crate::config::{Mistake, mistake};
use crate::roles;

pub const NAME: &str = "perennial.toml";
/// A file that is longer declares nothing.
const FILE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectFile {
    #[serde(deserialize_with = "roles::declared_by_project")]
    pub role: roles::Declared,
    pub checks: checks::Declared,
}

/// The main work tree of a project, or the directory that is the project.
pub fn work_tree(project: &Path) -> &Path {
    match project.file_name().is_some_and(|name| name == ".git") {
        true => project.parent().unwrap_or(project),
        false => project,
    }
}

/// Where a project has it.
pub fn path(project: &Path) -> PathBuf {
    work_tree(project).join(NAME)
}

/// What a project declares; nothing where it has no such file.
pub fn of(project: &Path) -> Result<ProjectFile, Mistake> {
    parse(&text(&path(project))?)
}

/// The file as it is, to be parsed or trusted; empty where there is none.
pub fn text(file: &Path) -> Result<String, Mistake> {
    match regular_file::read_text(file, Links::Follow, FILE_BYTES_MAX) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Mistake { line: None, message: error.to_string() }),
    }
}

pub fn parse(text: &str) -> Result<ProjectFile, Mistake> {
    toml::from_str(text).map_err(|error| mistake(text, &error))
}

#[cfg(test)]
mod tests {
    use perennial_core::name::NameKey;
    use perennial_core::restart::Restart;
    use perennial_core::role::Mandate;

    use super::*;

    #[test]
    fn what_is_declared_is_read_and_a_mistake_is_told_with_its_line() {
        let written = "[role.architect]\nmandate_file = 'mandates/architect.txt'\nsingle_holder = true\n\
                       restart = 'always'\noverseer = 'mayor'\nevery = '30m'\nbudget = { tokens = 9 }\n";
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(of(dir.path()), Ok(ProjectFile::default()));
        let file = dir.path().join(NAME);
        std::fs::write(&file, written).expect("written");
        let declared = of(dir.path()).expect("it is read").role;
        let architect = roles::find(&declared, &NameKey::of("ARCHITECT")).expect("it is declared");
        let terms = architect.terms(&file);
        let mandate = dir.path().join("mandates/architect.txt");
        assert_eq!(terms.mandate, Mandate::Path(mandate.to_string_lossy().into_owned()));
        assert_eq!((terms.is_single, terms.restart), (true, Some(Restart::Always)));
        assert_eq!(terms.every.map(|every| every.as_secs()), Some(1800));
        assert_eq!(terms.overseer.as_deref(), Some("mayor"));
        assert_eq!(architect.not_in_force(), ["at most 9 tokens"]);

        let [missing] = &roles::missing_mandates(&declared, &file)[..] else {
            panic!("none is missing")
        };
        assert!(
            missing.contains("architect") && missing.contains("mandates/architect.txt"),
            "{missing}"
        );
        std::fs::create_dir(dir.path().join("mandates")).expect("made");
        std::fs::write(&mandate, "keep the design whole").expect("written");
        assert!(roles::missing_mandates(&declared, &file).is_empty());

        for (wrong, line, words) in [
            ("[role.architect]\nmandat = 'x'\n", 2, "mandat"),
            ("\n[role.'a b']\n", 2, "invalid role"),
            ("[role.a]\nspan = 'eternal'\n", 2, "one of mortal, persistent"),
            ("[role.a]\nevery = 'soon'\n", 2, "such as"),
            ("\n[role.a]\nevery = '59s'\n", 2, "at least 1m"),
            ("[role.a]\nmandate = ''\n", 2, "empty"),
            ("[role.A]\n\n[role.b]\n[role.a]\n", 4, "`A` and `a` are the same role"),
            ("\n[role.a]\nmandate = 'x'\nmandate_file = 'y'\n", 2, "not both"),
            ("[role.a]\ncycle = { unit = 'round' }\n", 2, "cycle needs a number"),
            ("notify = ['rm', '-rf']\n", 1, "notify"),
            ("[checks]\nunit = 'cargo test'\n", 2, "a program and its arguments"),
        ] {
            std::fs::write(&file, wrong).expect("written");
            let mistake = of(dir.path()).expect_err("a mistake");
            assert!(mistake.message.contains(words), "{wrong}: {mistake}");
            assert_eq!(mistake.line, Some(line), "{wrong}: {mistake}");
        }
    }

    /// A file that can't be read is a mistake: it does not declare nothing.
    #[test]
    fn a_file_that_is_no_text_is_a_mistake() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(NAME), [0xff, 0xfe]).expect("written");
        assert!(of(dir.path()).is_err());
        std::fs::remove_file(dir.path().join(NAME)).expect("removed");
        std::fs::create_dir(dir.path().join(NAME)).expect("made");
        assert!(of(dir.path()).is_err());
    }

    #[test]
    fn the_file_is_in_the_main_work_tree() {
        assert_eq!(path(Path::new("/a/b/.git")), Path::new("/a/b/perennial.toml"));
        assert_eq!(path(Path::new("/a/b")), Path::new("/a/b/perennial.toml"));
    }
}
