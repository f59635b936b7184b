//! Which paths git ignores: `.gitignore` files, `info/exclude` and the owner's own file, in git's order.
//!
//! Invariants
//! - IG1  Nothing below an ignored directory is un-ignored: the walk asks for a directory before it asks for what is
//!   in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::configuration::Configuration;
use super::repository::read_optional;
use super::wildmatch;

/// Of one file of patterns; what is longer is not read.
const MOST_BYTES: u64 = 8 << 20;

#[derive(Debug)]
struct Pattern {
    glob: Vec<u8>,
    is_negated: bool,
    only_directories: bool,
    /// It has no slash, and is held against the last component only.
    is_name: bool,
}

/// The patterns of one file, and the directory that they are relative to.
#[derive(Debug)]
pub struct Patterns {
    /// With a `/` at its end, or empty for the top.
    base: Vec<u8>,
    patterns: Vec<Pattern>,
    ignore_case: bool,
}

impl Patterns {
    pub fn parse(base: &[u8], bytes: &[u8], ignore_case: bool) -> Patterns {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let patterns = bytes.split(|byte| *byte == b'\n').filter_map(pattern).collect();
        Patterns { base: base.to_owned(), patterns, ignore_case }
    }

    pub fn read(path: &Path, base: &[u8], ignore_case: bool) -> Option<Patterns> {
        let bytes = read_optional(path, MOST_BYTES).ok()??;
        Some(Patterns::parse(base, &bytes, ignore_case))
    }

    /// Whether the last pattern that matches ignores; `None` if none matches.
    fn judge(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let relative = path.strip_prefix(&*self.base)?;
        let name = relative.rsplit(|byte| *byte == b'/').next().unwrap_or(relative);
        let found = self.patterns.iter().rev().find(|pattern| {
            if pattern.only_directories && !is_directory {
                return false;
            }
            let text = if pattern.is_name { name } else { relative };
            wildmatch::matches(&pattern.glob, text, self.ignore_case)
        });
        found.map(|pattern| !pattern.is_negated)
    }
}

fn pattern(line: &[u8]) -> Option<Pattern> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || line[0] == b'#' {
        return None;
    }
    let mut glob = trim_spaces(line);
    let is_negated = glob.first() == Some(&b'!');
    glob = &glob[usize::from(is_negated)..];
    let only_directories = glob.last() == Some(&b'/');
    glob = &glob[..glob.len() - usize::from(only_directories)];
    let is_name = !glob.contains(&b'/');
    let glob = glob.strip_prefix(b"/").unwrap_or(glob);
    (!glob.is_empty()).then(|| Pattern {
        glob: glob.to_owned(),
        is_negated,
        only_directories,
        is_name,
    })
}

/// Without spaces at the end, unless a backslash keeps them.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let (mut at, mut end) = (0, 0);
    while at < line.len() {
        match line[at] {
            b'\\' => {
                at = (at + 2).min(line.len());
                end = at;
            }
            b' ' => at += 1,
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end]
}

/// What holds in one directory: its own file first, then those of the directories above, then the two others.
#[derive(Debug, Clone)]
pub struct Rules {
    own: Option<Arc<Patterns>>,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// The rules that hold at the top of a work tree before its own `.gitignore`: the last list is the strongest.
    pub fn new(lists: impl IntoIterator<Item = Patterns>) -> Rules {
        let empty = Rules { own: None, above: None };
        lists.into_iter().fold(empty, Rules::with)
    }

    #[must_use]
    pub fn with(self, patterns: Patterns) -> Rules {
        Rules { own: Some(Arc::new(patterns)), above: Some(Arc::new(self)) }
    }

    /// Whether a path, none of whose directories is ignored, is.
    pub fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        let mut rules = Some(self);
        while let Some(at) = rules {
            let judged = at.own.as_ref().and_then(|patterns| patterns.judge(path, is_directory));
            if let Some(judged) = judged {
                return judged;
            }
            rules = at.above.as_deref();
        }
        false
    }
}

/// The owner's own ignore files: what `core.excludesFile` names, or git's default.
pub fn owners_file(home: Option<&Path>, xdg_config: Option<&Path>) -> Option<PathBuf> {
    let xdg = xdg_config.map(PathBuf::from).or_else(|| Some(home?.join(".config")));
    let named = |path: PathBuf| {
        let bytes = read_optional(&path, MOST_BYTES).ok()??;
        let config = Configuration::parse(&bytes);
        let named = config.get("core.excludesfile")?;
        Some(match (named.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(named),
        })
    };
    let from_home = home.and_then(|home| named(home.join(".gitconfig")));
    let from_xdg = || named(xdg.clone()?.join("git/config"));
    from_home.or_else(from_xdg).or_else(|| Some(xdg.clone()?.join("git/ignore")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_of_the_nearest_file_decides() {
        let top =
            Patterns::parse(b"", b"*.log\n/build/\n!keep.log\n# no\nsp\\ \nx \na/*/z\n", false);
        let inner = Patterns::parse(b"a/", b"!b.log\n/only\n", false);
        let rules = Rules::new([top]).with(inner);
        for (path, is_directory, expected) in [
            ("c.log", false, true),
            ("keep.log", false, false),
            ("a/b.log", false, false),
            ("a/c.log", false, true),
            ("build", true, true),
            ("build", false, false),
            ("a/build", true, false),
            ("a/only", false, true),
            ("a/x/only", false, false),
            ("sp ", false, true),
            ("sp", false, false),
            ("x", false, true),
            ("a/q/z", false, true),
            ("# no", false, false),
        ] {
            assert_eq!(rules.ignores(path.as_bytes(), is_directory), expected, "{path}");
        }
    }
}
