//! Which conversations a process has open, by the files that it holds; and who holds the file of one.
//!
//! For vendors that choose the ids of conversations themselves and lock one that is open, and for those that
//! lock nothing, by their programs' arguments. Reads /proc, and takes no lock: a lock that is taken for a moment would keep the vendor's own program out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use perennial_core::conversation::ConversationId;

use super::path_rule::PathRule;
use crate::host::{owner, process};

/// A vendor's program may be started by a launcher of its own, and that by another.
const GENERATIONS: usize = 3;
/// More children than a launcher has.
const PROCESSES_MAX: usize = 64;

/// The conversations that a process, or one that it has started, holds the lock of. `vendor_home` is
/// where the vendor's files are.
pub fn open_in(lock: &PathRule, vendor_home: &Path, pid: i32) -> BTreeSet<ConversationId> {
    // The kernel names files without links.
    let root = fs::canonicalize(vendor_home).unwrap_or_else(|_| vendor_home.to_owned());
    let mut found = BTreeSet::new();
    let mut generation = vec![pid];
    for _ in 0..GENERATIONS {
        for pid in &generation {
            let held = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let paths = held.filter_map(|entry| fs::read_link(entry.path()).ok());
            let named = paths.filter_map(|path| lock.conversation_of(&root, &path));
            found.extend(named.filter_map(|id| id.parse::<ConversationId>().ok()));
        }
        generation = generation.iter().flat_map(|pid| process::children(*pid)).collect();
        generation.truncate(PROCESSES_MAX);
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// A process of the vendor's that was started with the id of a conversation, and is no session of ours.
pub fn named_in_arguments(program: &str, named_by: &[String], id: &ConversationId) -> Option<i32> {
    if named_by.is_empty() {
        return None;
    }
    process::pids().find(|pid| {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let words: Vec<_> = words.collect();
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        // What runs in a session has its mark: the core knows which agent has which conversation.
        names(&words, program, named_by, id.as_str()) && owner::marked(*pid).is_none()
    })
}

/// Whether a command line runs the program, by itself or by an interpreter, and names the conversation.
fn names(words: &[&str], program: &str, named_by: &[String], id: &str) -> bool {
    let is_program = |word: &&str| Path::new(word).file_stem().is_some_and(|stem| stem == program);
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_run = words.first().is_some_and(is_program) || script.is_some_and(is_program);
    let is_named = |pair: &[&str]| pair[1] == id && named_by.iter().any(|name| name == pair[0]);
    let is_joined = |word: &&str| {
        let (name, value) = word.split_once('=').unwrap_or_default();
        value == id && named_by.iter().any(|by| by == name)
    };
    is_run && (words.windows(2).any(is_named) || words.iter().any(is_joined))
}

/// A process that holds the lock of a conversation.
pub fn writer_of(lock: &PathRule, vendor_home: &Path, id: &ConversationId) -> Option<i32> {
    let file = fs::metadata(lock.find(vendor_home, id)?).ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", file.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF`
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, of, ..] = fields[..] else { return None };
        pid.parse().ok().filter(|_| of == place)
    })
}

/// Whether this is among the arguments of a process.
pub fn has_argument(pid: i32, argument: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).skip(1).any(|word| word == argument.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{FlockOperation, flock};

    use super::*;

    #[test]
    fn a_command_line_names_a_conversation_behind_the_vendors_argument_only() {
        let named_by = ["--resume", "-r"].map(str::to_owned);
        let table: [(&[&str], bool); 8] = [
            (&["/usr/bin/gemini", "--resume", "c-1", ""], true),
            (&["node", "--max-old-space-size=9", "/opt/gemini.js", "-y", "-r", "c-1"], true),
            (&["gemini", "--resume=c-1"], true),
            (&["gemini", "--resume", "c-12"], false),
            (&["gemini", "-i", "c-1"], false),
            (&["gemini"], false),
            (&["grep", "-r", "c-1", "gemini"], false),
            (&["tmux", "new-session", "gemini", "--resume", "c-1"], false),
        ];
        for (words, expected) in table {
            assert_eq!(names(words, "gemini", &named_by, "c-1"), expected, "{words:?}");
        }
    }

    #[test]
    fn a_conversation_is_open_while_its_lock_is_held() {
        let home = tempfile::tempdir().expect("a directory");
        let rule: PathRule = "locks/{conversation}.lock".to_owned().try_into().expect("a rule");
        let id: ConversationId = "c-1".parse().expect("an id");
        let own = rustix::process::getpid().as_raw_nonzero().get();
        fs::create_dir(home.path().join("locks")).expect("made");
        assert_eq!(open_in(&rule, home.path(), own), BTreeSet::new());
        let lock = File::create(home.path().join("locks/c-1.lock")).expect("made");
        assert_eq!(writer_of(&rule, home.path(), &id), None, "nobody has locked it");
        flock(&lock, FlockOperation::LockExclusive).expect("locked");
        assert_eq!(open_in(&rule, home.path(), own), BTreeSet::from([id.clone()]));
        assert_eq!(writer_of(&rule, home.path(), &id), Some(own));
        drop(lock);
        assert_eq!(writer_of(&rule, home.path(), &id), None);
    }
}
