//! Where a vendor keeps its files, as a preset says it: `projects/{dir}/{conversation}.jsonl`,
//! `sessions/*/*/rollout-*-{conversation}.jsonl`, `chats/*-{conversation:8}.jsonl`, `sessions/{pid}.json`.
//!
//! Lists directories; reads and writes no file.
//!
//! Invariants
//! - PR1  A path that is made or found has as many components below its root as the rule: neither a
//!   value nor a file's name adds one, or leads up.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use perennial_core::conversation::ConversationId;
use serde::Deserialize;

/// An abbreviation that is longer is no abbreviation.
const ABBREVIATION_MAX: usize = 128;

/// A path below a root, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PathRule(Vec<Component>);

/// One component of a path.
type Component = Vec<Piece>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Anything but a separator.
    Any,
    Placeholder(Placeholder),
    /// This many of the first characters of a conversation's id.
    Abbreviated(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// A session's directory, with `-` for all but ASCII letters and digits.
    Dir,
    Conversation,
    /// The process of a session.
    Pid,
}

/// The rule can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    #[error(
        "no placeholder {{{0}}}; there are {{dir}} {{conversation}} {{conversation:8}} {{pid}} *"
    )]
    NoSuchPlaceholder(String),
    #[error("a `{{` without its `}}`")]
    Open,
    #[error("{{dir}} must be a whole component of a path")]
    BrokenDirectory,
    #[error("`{0}` must be a path below the home directory")]
    Outside(String),
}

impl PathRule {
    pub fn names(&self, placeholder: Placeholder) -> bool {
        self.0.iter().flatten().any(|piece| match piece {
            Piece::Placeholder(named) => *named == placeholder,
            Piece::Abbreviated(_) => placeholder == Placeholder::Conversation,
            Piece::Text(_) | Piece::Any => false,
        })
    }

    /// Whether a file's name holds only part of its conversation's id: names of several
    /// conversations may then be alike.
    pub fn is_abbreviated(&self) -> bool {
        self.0.iter().flatten().any(|piece| matches!(piece, Piece::Abbreviated(_)))
    }

    /// The path of a conversation that is begun in this directory; `None` where the rule leaves part
    /// of it to the vendor.
    pub fn place(&self, root: &Path, dir: &str, conversation: &ConversationId) -> Option<PathBuf> {
        let dir = directory_name(dir);
        let conversation = Some(conversation.as_str());
        let values = Values { dir: Some(&dir), conversation, ..Values::default() };
        let names = self.0.iter().map(|component| filled(component, &values));
        names.collect::<Option<PathBuf>>().map(|path| root.join(path))
    }

    /// Whether all files of the rule are in one directory, its base.
    pub fn is_flat(&self) -> bool {
        let directories = self.0.split_last().map_or(&[][..], |(_, directories)| directories);
        directories.iter().flatten().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// The deepest directory that all paths of the rule are below.
    pub fn base(&self, root: &Path) -> PathBuf {
        let directories = self.0.split_last().map_or(&[][..], |(_, directories)| directories);
        let fixed = directories.iter().map_while(|component| {
            let [Piece::Text(text)] = &component[..] else { return None };
            Some(text)
        });
        fixed.fold(root.to_owned(), |path, text| path.join(text))
    }

    /// The file of a conversation, whichever directory it was begun in.
    pub fn find(&self, root: &Path, conversation: &ConversationId) -> Option<PathBuf> {
        let conversation = Some(conversation.as_str());
        search(&self.0, root, conversation, Links::Followed, &mut |path, _| {
            path.is_file().then(|| path.to_owned())
        })
    }

    /// The files whose names fit a conversation, the newest name first.
    pub fn fitting(&self, root: &Path, conversation: &ConversationId) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let conversation = Some(conversation.as_str());
        search(&self.0, root, conversation, Links::Followed, &mut |path, _| {
            found.extend(path.is_file().then(|| path.to_owned()));
            None::<()>
        });
        found
    }

    /// All files of the rule, each with the conversation that it is of, as far as its name says.
    /// Links are left out.
    pub fn all(&self, root: &Path) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        search(&self.0, root, None, Links::LeftOut, &mut |path, conversation| {
            if fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
                found.push((path.to_owned(), conversation.to_owned()));
            }
            None::<()>
        });
        found
    }

    /// The conversation that a file of this path is of, if the rule means that path.
    pub fn conversation_of(&self, root: &Path, path: &Path) -> Option<String> {
        let mut names = path.strip_prefix(root).ok()?.iter();
        let mut conversation = None;
        for component in &self.0 {
            let found = matched(component, names.next()?.to_str()?, conversation)?;
            let is_named = component.iter().any(|piece| match piece {
                Piece::Placeholder(Placeholder::Conversation) | Piece::Abbreviated(_) => true,
                Piece::Placeholder(_) | Piece::Text(_) | Piece::Any => false,
            });
            conversation = conversation.or(Some(found).filter(|_| is_named));
        }
        names.next().is_none().then_some(conversation)?.map(str::to_owned)
    }

    /// The file of a process, in the rule's base.
    pub fn file_of(&self, pid: i32) -> Option<String> {
        let pid = pid.to_string();
        filled(self.0.last()?, &Values { pid: Some(&pid), ..Values::default() })
    }

    /// Whether a file of that name in the rule's base is about a process.
    pub fn is_of_process(&self, name: &str) -> bool {
        let is_pid = |text: &str| text.parse::<i32>().is_ok_and(|pid| pid > 0);
        self.0.last().and_then(|last| matched(last, name, None)).is_some_and(is_pid)
    }
}

/// What placeholders stand for, as far as that is known.
#[derive(Debug, Default)]
struct Values<'a> {
    dir: Option<&'a str>,
    conversation: Option<&'a str>,
    pid: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    LeftOut,
}

/// The component as text, where nothing of it is left open.
fn filled(component: &[Piece], values: &Values<'_>) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Placeholder(Placeholder::Dir) => values.dir.map(str::to_owned),
        Piece::Placeholder(Placeholder::Conversation) => values.conversation.map(str::to_owned),
        Piece::Placeholder(Placeholder::Pid) => values.pid.map(str::to_owned),
        Piece::Abbreviated(length) => values.conversation.map(|id| beginning(id, *length)),
        Piece::Any => None,
    };
    component.iter().map(text).collect()
}

/// Walks to the files that a rule may mean, until `each` is content with one. `each` is told what
/// stands in the place of the conversation.
fn search<T>(
    components: &[Component],
    path: &Path,
    conversation: Option<&str>,
    links: Links,
    each: &mut dyn FnMut(&Path, &str) -> Option<T>,
) -> Option<T> {
    let Some((component, rest)) = components.split_first() else {
        return each(path, conversation.unwrap_or_default());
    };
    if let Some(name) = filled(component, &Values { conversation, ..Values::default() }) {
        return search(rest, &path.join(name), conversation, links, each);
    }
    let is_walked = |entry: &DirEntry| {
        links == Links::Followed || entry.file_type().is_ok_and(|kind| !kind.is_symlink())
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten().filter(is_walked);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    // Where names begin with dates, the newest are asked for most.
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.iter().find_map(|name| {
        let found = matched(component, name, conversation)?;
        let conversation = conversation.or(Some(found).filter(|found| !found.is_empty()));
        search(rest, &path.join(name), conversation, links, each)
    })
}

/// What stands in the place of the conversation or the process in this name, if the name fits. What is
/// left open takes as little of the name as it can.
fn matched<'n>(pieces: &[Piece], name: &'n str, conversation: Option<&str>) -> Option<&'n str> {
    let Some((first, rest)) = pieces.split_first() else {
        return name.is_empty().then_some("");
    };
    let known = match first {
        Piece::Text(text) => Some(text.clone()),
        Piece::Placeholder(Placeholder::Conversation) => conversation.map(str::to_owned),
        Piece::Abbreviated(length) => conversation.map(|id| beginning(id, *length)),
        Piece::Placeholder(Placeholder::Dir | Placeholder::Pid) | Piece::Any => None,
    };
    if let Some(known) = known {
        return matched(rest, name.strip_prefix(&known)?, conversation);
    }
    let ends = name.char_indices().map(|(at, _)| at).skip(1).chain([name.len()]);
    let fits = |end: &usize| match first {
        Piece::Abbreviated(length) => name[..*end].chars().count() == *length,
        Piece::Text(_) | Piece::Placeholder(_) | Piece::Any => *end > 0,
    };
    ends.filter(fits).find_map(|end| {
        let found = matched(rest, &name[end..], conversation)?;
        let is_own = match first {
            Piece::Placeholder(Placeholder::Conversation | Placeholder::Pid) => true,
            Piece::Abbreviated(_) => true,
            Piece::Placeholder(Placeholder::Dir) | Piece::Text(_) | Piece::Any => false,
        };
        Some(if is_own { &name[..end] } else { found })
    })
}

/// The first characters of an id, or all of a shorter one.
fn beginning(id: &str, length: usize) -> String {
    id.chars().take(length).collect()
}

/// A directory as agent CLIs name it in one component, counted in UTF-16 units as they count.
fn directory_name(dir: &str) -> String {
    let plain = |unit: u16| u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric());
    dir.encode_utf16().map(|unit| if plain(unit) { unit as u8 as char } else { '-' }).collect()
}

impl TryFrom<String> for PathRule {
    type Error = BadRule;

    fn try_from(rule: String) -> Result<PathRule, BadRule> {
        let is_inside = |part| matches!(part, std::path::Component::Normal(_));
        if rule.is_empty() || !Path::new(&rule).components().all(is_inside) {
            return Err(BadRule::Outside(rule));
        }
        let components = rule.split('/').filter(|part| !part.is_empty());
        components.map(component).collect::<Result<_, _>>().map(PathRule)
    }
}

fn component(text: &str) -> Result<Component, BadRule> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '*']) {
        let (before, after) = rest.split_at(at);
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        if let Some(after) = after.strip_prefix('*') {
            pieces.push(Piece::Any);
            rest = after;
            continue;
        }
        let (name, after) = after[1..].split_once('}').ok_or(BadRule::Open)?;
        let length = name.strip_prefix("conversation:").and_then(|length| length.parse().ok());
        pieces.push(match (name, length) {
            ("dir", _) => Piece::Placeholder(Placeholder::Dir),
            ("conversation", _) => Piece::Placeholder(Placeholder::Conversation),
            ("pid", _) => Piece::Placeholder(Placeholder::Pid),
            (_, Some(length @ 1..=ABBREVIATION_MAX)) => Piece::Abbreviated(length),
            (other, _) => return Err(BadRule::NoSuchPlaceholder(other.to_owned())),
        });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    let is_broken = pieces.len() > 1 && pieces.contains(&Piece::Placeholder(Placeholder::Dir));
    if is_broken { Err(BadRule::BrokenDirectory) } else { Ok(pieces) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> PathRule {
        text.to_owned().try_into().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn id(text: &str) -> ConversationId {
        text.parse().expect("an id")
    }

    #[test]
    fn a_path_is_made_where_nothing_is_left_to_the_vendor() {
        let (root, here) = (Path::new("/r"), "/my wörk");
        let made = rule("projects/{dir}/{conversation}.jsonl").place(root, here, &id("a1"));
        assert_eq!(made, Some(PathBuf::from("/r/projects/-my-w-rk/a1.jsonl")));
        assert_eq!(rule("s/*/{conversation}").place(root, here, &id("a1")), None);
        assert_eq!(rule("a/b/*/c.json").base(root), Path::new("/r/a/b"));
        assert_eq!(rule("{conversation}").base(root), root);
    }

    #[test]
    fn files_are_found_whatever_stands_where_the_vendor_chooses() {
        let root = tempfile::tempdir().expect("a directory");
        let files = [
            "s/2026/11/rollout-11-16-a1.jsonl",
            "s/2026/10/rollout-10-01-b2.jsonl",
            "s/2026/10/other-10-01-c3.jsonl",
            "s/x.jsonl",
        ];
        for file in files.map(|file| root.path().join(file)) {
            fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            fs::write(file, "").expect("written");
        }
        let rule = rule("s/*/*/rollout-*-{conversation}.jsonl");
        let find = |name: &str| rule.find(root.path(), &id(name));
        assert_eq!(find("a1"), Some(root.path().join(files[0])));
        assert_eq!(find("b2"), Some(root.path().join(files[1])));
        assert_eq!((find("c3"), find("1")), (None, None));
        assert_eq!(rule.all(root.path()).len(), 2);
        let all =
            super::tests::rule("s/{dir}/10/other-10-01-{conversation}.jsonl").all(root.path());
        assert_eq!(all, [(root.path().join(files[2]), "c3".to_owned())]);
        assert_eq!(rule.find(Path::new("/proc/none"), &id("a1")), None);
        let dated = super::tests::rule("s/*/*/rollout-*-*-{conversation}.jsonl");
        let of = |path: &str| dated.conversation_of(root.path(), &root.path().join(path));
        assert_eq!(of(files[0]).as_deref(), Some("a1"), "{}", files[0]);
        for other in [files[2], files[3], "s/2026/11", "s/2026/11/rollout-1-a.jsonl/x", ""] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(
            rule.conversation_of(Path::new("/elsewhere"), &root.path().join(files[0])),
            None
        );
        std::os::unix::fs::symlink(root.path().join("s/2026"), root.path().join("s/2025"))
            .expect("linked");
        assert_eq!(rule.all(root.path()).len(), 2, "links are left out");
    }

    #[test]
    fn a_name_may_hold_the_beginning_of_an_id_only() {
        let root = tempfile::tempdir().expect("a directory");
        let files = [
            "tmp/work/chats/session-2026-11-16T10-00-aaaaaaaa.jsonl",
            "tmp/work/chats/session-2026-11-16T11-30-aaaaaaaa.jsonl",
            "tmp/work/chats/session-2026-11-16T11-30-bbbbbbbb.jsonl",
            "tmp/work/chats/session-2026-11-16T11-30-aaaaaaaab.jsonl",
        ];
        for file in files.map(|file| root.path().join(file)) {
            fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            fs::write(file, "").expect("written");
        }
        let rule = rule("tmp/*/chats/session-*-{conversation:8}.jsonl");
        assert!(rule.is_abbreviated() && rule.names(Placeholder::Conversation));
        let fitting = rule.fitting(root.path(), &id("aaaaaaaa-0001-4000-8000-000000000000"));
        assert_eq!(fitting, [files[1], files[0]].map(|file| root.path().join(file)));
        let mut all: Vec<String> = rule.all(root.path()).into_iter().map(|(_, id)| id).collect();
        all.sort();
        assert_eq!(all, ["aaaaaaaa", "aaaaaaaa", "bbbbbbbb"]);
        assert_eq!(rule.place(root.path(), "/x", &id("aaaaaaaa-1")), None);
        for bad in ["a/{conversation:}", "a/{conversation:0}", "a/{conversation:x}", "a/{pid:3}"] {
            assert!(PathRule::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_files_of_processes_are_told_from_others() {
        let rule = rule("sessions/{pid}.json");
        assert_eq!(rule.file_of(7).as_deref(), Some("7.json"));
        assert!(rule.is_of_process("1332.json"));
        for other in ["1332.json.tmp", "key.json", ".json", "-1.json", "1332"] {
            assert!(!rule.is_of_process(other), "{other}");
        }
    }

    #[test]
    fn a_rule_that_leads_elsewhere_or_says_nothing_is_refused() {
        let table = [
            ("../x", BadRule::Outside("../x".to_owned())),
            ("/etc", BadRule::Outside("/etc".to_owned())),
            ("", BadRule::Outside(String::new())),
            ("a/x{dir}", BadRule::BrokenDirectory),
            ("a/{day}", BadRule::NoSuchPlaceholder("day".to_owned())),
            ("a/{dir", BadRule::Open),
        ];
        for (text, expected) in table {
            assert_eq!(PathRule::try_from(text.to_owned()), Err(expected), "{text}");
        }
    }
}
