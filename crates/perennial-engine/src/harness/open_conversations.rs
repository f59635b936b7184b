//! Which conversations a process has open, by the files that it holds; and who holds the file of one.
//!
//! For vendors that choose the ids of conversations themselves and lock one that is open. Reads /proc,
//! and takes no lock: a lock that is taken for a moment would keep the vendor's own program out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use perennial_core::conversation::ConversationId;

use super::path_rule::PathRule;
use crate::host::process;

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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{FlockOperation, flock};

    use super::*;

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
