//! Which paths git ignores: `.gitignore` files, `info/exclude` and the owner's own file, in git's order.
//!
//! Invariants
//! - IG1  Nothing below an ignored directory is un-ignored: the walk asks for a directory before it asks for what is
//!   in it.
//! - IG2  What a path costs does not grow with the number of patterns that name a file, an ending or a beginning. For
//!   the others, somebody is asked again and again whether to go on.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::configuration::Configuration;
use super::repository::read_optional;
use super::wildmatch;

/// Of one file of patterns; what is longer is not read.
const MOST_BYTES: u64 = 8 << 20;
/// Of one pattern: no path is longer, and a longer pattern is of no use.
const MOST_PATTERN: usize = 4096;
/// Lists up to this length are compared one by one.
const FEW: usize = 16;
/// This much is compared before somebody is asked whether to go on.
const STEPS: usize = 1 << 16;

#[derive(Debug)]
struct Pattern {
    glob: Vec<u8>,
    is_negated: bool,
    only_directories: bool,
    /// It has no slash, and is held against the last component only.
    is_name: bool,
}

impl Pattern {
    fn may_match(&self, is_directory: bool) -> bool {
        is_directory || !self.only_directories
    }
}

/// Patterns by a text that is looked up instead of compared (IG2): the last one of each kind.
#[derive(Debug, Default)]
struct Lookup {
    /// By whether it is for directories only, and whether it is for names only.
    last: HashMap<Vec<u8>, [Option<u32>; 4]>,
    /// The lengths of the texts, without repetition.
    lengths: BTreeSet<usize>,
}

impl Lookup {
    fn add(&mut self, text: Vec<u8>, number: u32, pattern: &Pattern) {
        let kind = usize::from(pattern.only_directories) * 2 + usize::from(pattern.is_name);
        self.lengths.insert(text.len());
        self.last.entry(text).or_default()[kind] = Some(number);
    }

    /// The last pattern with this text that may apply.
    fn find(&self, text: &[u8], is_directory: bool, is_name: bool) -> Option<u32> {
        let of_kind = self.last.get(text)?;
        let for_all = of_kind[usize::from(is_name)];
        let for_directories = of_kind[2 + usize::from(is_name)].filter(|_| is_directory);
        for_all.max(for_directories)
    }
}

/// The patterns of one file, and the directory that they are relative to.
#[derive(Debug)]
pub struct Patterns {
    /// With a `/` at its end, or empty for the top.
    base: Vec<u8>,
    patterns: Vec<Pattern>,
    /// Without wildcards.
    whole: Lookup,
    /// A star and a text, and a text and a star; held against names.
    ends: Lookup,
    beginnings: Lookup,
    /// All others, in order.
    globs: Vec<u32>,
    ignore_case: bool,
}

impl Patterns {
    pub fn parse(base: &[u8], bytes: &[u8], ignore_case: bool) -> Patterns {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let patterns: Vec<Pattern> =
            bytes.split(|byte| *byte == b'\n').filter_map(pattern).collect();
        let mut found = Patterns {
            base: base.to_owned(),
            patterns: Vec::new(),
            whole: Lookup::default(),
            ends: Lookup::default(),
            beginnings: Lookup::default(),
            globs: Vec::new(),
            ignore_case,
        };
        let are_few = patterns.len() <= FEW;
        for (pattern, number) in patterns.iter().zip(0..) {
            found.sort_in(pattern, number, are_few);
        }
        found.patterns = patterns;
        found
    }

    fn sort_in(&mut self, pattern: &Pattern, number: u32, are_few: bool) {
        let is_wild = |text: &[u8]| text.iter().any(|byte| b"*?[\\".contains(byte));
        let key = |text: &[u8]| match self.ignore_case {
            true => text.to_ascii_lowercase(),
            false => text.to_owned(),
        };
        let glob = &*pattern.glob;
        match (glob.strip_prefix(b"*"), glob.strip_suffix(b"*")) {
            _ if are_few => self.globs.push(number),
            _ if !is_wild(glob) => self.whole.add(key(glob), number, pattern),
            (Some(rest), _) if pattern.is_name && !is_wild(rest) => {
                self.ends.add(key(rest), number, pattern);
            }
            (_, Some(rest)) if pattern.is_name && !is_wild(rest) => {
                self.beginnings.add(key(rest), number, pattern);
            }
            _ => self.globs.push(number),
        }
    }

    pub fn read(path: &Path, base: &[u8], ignore_case: bool) -> Option<Patterns> {
        let bytes = read_optional(path, MOST_BYTES).ok()??;
        Some(Patterns::parse(base, &bytes, ignore_case))
    }

    /// Whether the last pattern that matches ignores; nothing inside if none matches, and nothing at all if it was given up.
    fn judge(
        &self,
        path: &[u8],
        is_directory: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Option<bool>> {
        let Some(relative) = path.strip_prefix(&*self.base) else { return Some(None) };
        let name = relative.rsplit(|byte| *byte == b'/').next().unwrap_or(relative);
        let mut last = self.looked_up(relative, name, is_directory);
        let mut steps = 0;
        for number in self.globs.iter().rev().copied() {
            if last.is_some_and(|last| last > number) {
                break;
            }
            let Some(pattern) = self.patterns.get(number as usize) else { continue };
            let text = if pattern.is_name { name } else { relative };
            steps += pattern.glob.len() * text.len() / 4 + 8;
            if steps > STEPS {
                steps = 0;
                if !go_on() {
                    return None;
                }
            }
            if pattern.may_match(is_directory)
                && wildmatch::matches(&pattern.glob, text, self.ignore_case)
            {
                last = Some(number);
                break;
            }
        }
        let found = last.and_then(|number| self.patterns.get(number as usize));
        Some(found.map(|pattern| !pattern.is_negated))
    }

    /// IG2
    fn looked_up(&self, relative: &[u8], name: &[u8], is_directory: bool) -> Option<u32> {
        if self.globs.len() == self.patterns.len() {
            return None;
        }
        let (mut lower, mut lower_name) = (Vec::new(), Vec::new());
        let (relative, name) = match self.ignore_case {
            false => (relative, name),
            true => {
                lower.extend(relative.to_ascii_lowercase());
                lower_name.extend(name.to_ascii_lowercase());
                (&*lower, &*lower_name)
            }
        };
        let of_name = self.whole.find(name, is_directory, true);
        let mut last = of_name.max(self.whole.find(relative, is_directory, false));
        for length in self.ends.lengths.range(..=name.len()) {
            last = last.max(self.ends.find(&name[name.len() - length..], is_directory, true));
        }
        for length in self.beginnings.lengths.range(..=name.len()) {
            last = last.max(self.beginnings.find(&name[..*length], is_directory, true));
        }
        last
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
    (!glob.is_empty() && glob.len() <= MOST_PATTERN).then(|| Pattern {
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
#[derive(Debug, Clone, Default)]
pub struct Rules {
    own: Option<Arc<Patterns>>,
    above: Option<Arc<Rules>>,
    count: usize,
}

impl Rules {
    /// The rules that hold at the top of a work tree before its own `.gitignore`: the last list is the strongest.
    pub fn new(lists: impl IntoIterator<Item = Patterns>) -> Rules {
        lists.into_iter().fold(Rules::default(), Rules::with)
    }

    #[must_use]
    pub fn with(self, patterns: Patterns) -> Rules {
        let count = self.count + patterns.patterns.len();
        Rules { own: Some(Arc::new(patterns)), above: Some(Arc::new(self)), count }
    }

    /// How many patterns hold.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether a path, none of whose directories is ignored, is; `None` if `go_on` said no.
    pub fn ignores(
        &self,
        path: &[u8],
        is_directory: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Option<bool> {
        let mut rules = Some(self);
        while let Some(at) = rules {
            if let Some(patterns) = &at.own
                && let Some(judged) = patterns.judge(path, is_directory, go_on)?
            {
                return Some(judged);
            }
            rules = at.above.as_deref();
        }
        Some(false)
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
            let found = rules.ignores(path.as_bytes(), is_directory, &|| true);
            assert_eq!(found, Some(expected), "{path}");
        }
    }

    /// A long list is looked up, a short one is compared: both say the same.
    #[test]
    fn a_long_list_says_what_its_patterns_say_one_by_one() {
        let lines = [
            "a", "/a", "!a", "b/", "!b", "*.o", "!k.o", "*.o/", "pre*", "!prefix", "x/y", "/x/y/",
            "!x/y", "*", "!*", "A", "*.O", "[ab]c", "?d", "a*z", "**/q", "x/**", "\\#h", "ends ",
            "*e", "e*", "*e*",
        ];
        let paths = [
            "a", "b", "k.o", "m.o", ".o", "pre", "prefix", "prefixes", "x/y", "x/a", "ac", "dd",
            "abz", "u/v/q", "#h", "ends", "e", "ee", "A", "M.O", "x/prefix", "x",
        ];
        let mut seed = 7_u64;
        let mut next = |most: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % most
        };
        for _ in 0..300 {
            let chosen: Vec<&str> = (0..FEW + 8).map(|_| lines[next(lines.len())]).collect();
            for ignore_case in [false, true] {
                let long = Patterns::parse(b"", chosen.join("\n").as_bytes(), ignore_case);
                assert!(long.globs.len() < long.patterns.len());
                let one_by_one = |path: &[u8], is_directory| {
                    chosen.iter().rev().find_map(|line| {
                        let one = Patterns::parse(b"", line.as_bytes(), ignore_case);
                        one.judge(path, is_directory, &|| true).unwrap()
                    })
                };
                for path in paths {
                    for is_directory in [false, true] {
                        let found = long.judge(path.as_bytes(), is_directory, &|| true).unwrap();
                        let expected = one_by_one(path.as_bytes(), is_directory);
                        assert_eq!(found, expected, "{path} {is_directory} {chosen:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_hundred_thousand_names_cost_as_much_as_one_and_wildcards_are_given_up() {
        let names: Vec<u8> =
            (0..100_000).flat_map(|n| format!("name{n}.x\n").into_bytes()).collect();
        let names = Rules::new([Patterns::parse(b"", &names, false)]);
        let asked = std::cell::Cell::new(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            true
        };
        assert_eq!(names.ignores(b"a/name77777.x", false, &go_on), Some(true));
        assert_eq!(names.ignores(b"a/name77777.y", false, &go_on), Some(false));
        assert_eq!(asked.get(), 0);
        let wild: Vec<u8> = (0..100_000).flat_map(|n| format!("*a*{n}*b\n").into_bytes()).collect();
        let wild = Rules::new([Patterns::parse(b"", &wild, false)]);
        assert_eq!(wild.ignores(b"a/name77777.y", false, &go_on), Some(false));
        assert!(asked.get() > 5, "{}", asked.get());
        assert_eq!(wild.ignores(b"a/name77777.y", false, &|| false), None);
    }
}
