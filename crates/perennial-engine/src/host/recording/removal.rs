//! Finding and removing what sessions printed.
//!
//! Any program of the same user can write where recordings lie. So no link is followed, neither of a directory nor
//! of a file; names are taken only as the recorder writes them; and nothing is reached but by the directory that was
//! opened. What else lies there stays. Decides nothing: which recordings go is the core's to say.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::retention::Recording;
use perennial_core::time::Time;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat, unlinkat};

use super::super::directory::HolderDirectory;
use super::PRINTED_AT;

/// The agents that have a directory here; a link is none.
pub fn agents(holders: &Path) -> io::Result<Vec<AgentId>> {
    let Some(directory) = opened(CWD, holders, Links::Followed)? else { return Ok(Vec::new()) };
    let agent = |name: &str| name.parse::<AgentId>().ok().filter(|id| id.to_string() == name);
    Ok(names(&directory)?.iter().filter_map(|name| agent(name)).collect())
}

/// The recordings of an agent, by the numbers of its sessions.
pub fn find(holders: &Path, agent: AgentId) -> io::Result<Vec<Recording>> {
    let Some(directory) = of_agent(holders, agent)? else { return Ok(Vec::new()) };
    let holder = HolderDirectory::new(holders, agent);
    let mut found = Vec::new();
    for number in names(&directory)?.iter().filter_map(|name| session_number(name)) {
        let Some(session) = of_session(&directory, number)? else { continue };
        let files = files(&session)?;
        let Some(printed_at) = files.iter().map(|(_, seen)| written_at(seen)).max() else {
            continue;
        };
        let bytes = files.iter().map(|(_, seen)| u64::try_from(seen.st_size).unwrap_or(0)).sum();
        let may_live = holder.may_live(number);
        found.push(Recording { number, bytes, printed_at, may_live });
    }
    found.sort_unstable_by_key(|recording| recording.number);
    Ok(found)
}

/// Removes the recording of one session. What is gone already counts as removed; of several errors, the first is told
/// and the rest is removed all the same.
pub fn remove(holders: &Path, agent: AgentId, number: SessionNumber) -> io::Result<()> {
    let Some(directory) = of_agent(holders, agent)? else { return Ok(()) };
    let Some(session) = of_session(&directory, number)? else { return Ok(()) };
    let mut outcome = Ok(());
    let files = files(&session)?;
    if let Some(printed_at) = files.iter().map(|(_, seen)| written_at(seen)).max() {
        // Without it the time of the last output would be gone, too; that is no reason to keep the rest.
        let _ = leave(&session, printed_at);
    }
    for (name, _) in files {
        match unlinkat(&session, name.as_str(), AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => outcome = outcome.and(Err(error.into())),
        }
    }
    outcome
}

/// What is left of a recording. A file, or link, that is there already stays.
fn leave(session: &OwnedFd, printed_at: Time) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(session, PRINTED_AT, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(file, printed_at.0.to_string().as_bytes())?;
    Ok(())
}

fn of_agent(holders: &Path, agent: AgentId) -> io::Result<Option<OwnedFd>> {
    let Some(directory) = opened(CWD, holders, Links::Followed)? else { return Ok(None) };
    opened(&directory, Path::new(&agent.to_string()), Links::Refused)
}

fn of_session(agent: &OwnedFd, number: SessionNumber) -> io::Result<Option<OwnedFd>> {
    opened(agent, Path::new(&format!("s{number}")), Links::Refused)
}

#[derive(Clone, Copy)]
enum Links {
    /// The home is its owner's own: whoever keeps it elsewhere has a link to it.
    Followed,
    Refused,
}

/// A directory, unless it is not there or is something else.
fn opened(at: impl AsFd, path: &Path, links: Links) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let flags = match links {
        Links::Followed => flags,
        Links::Refused => flags | OFlags::NOFOLLOW,
    };
    match openat(at, path, flags, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn names(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        // Names of ours are ASCII.
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

/// The regular files of a recording, with their marks.
fn files(session: &OwnedFd) -> io::Result<Vec<(String, Stat)>> {
    let mut files = Vec::new();
    for name in names(session)?.into_iter().filter(|name| is_of_recording(name)) {
        match statat(session, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) if FileType::from_raw_mode(seen.st_mode) == FileType::RegularFile => {
                files.push((name, seen));
            }
            Ok(_) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(files)
}

/// `rec.<offset>` or `rec.<offset>.marks`, as the recorder writes it.
fn is_of_recording(name: &str) -> bool {
    let offset = name.strip_prefix("rec.").map(|rest| rest.strip_suffix(".marks").unwrap_or(rest));
    offset.and_then(canonical::<u64>).is_some()
}

fn session_number(name: &str) -> Option<SessionNumber> {
    let number = canonical::<u32>(name.strip_prefix('s')?)?;
    (number > 0).then_some(SessionNumber(number))
}

/// A number without signs and leading zeros.
fn canonical<T: std::str::FromStr + ToString>(text: &str) -> Option<T> {
    text.parse().ok().filter(|number: &T| number.to_string() == text)
}

fn written_at(seen: &Stat) -> Time {
    let seconds = u64::try_from(seen.st_mtime).unwrap_or(0);
    Time(seconds.saturating_mul(1_000_000).saturating_add(seen.st_mtime_nsec / 1000))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const AGENT: AgentId = AgentId(7);
    const FIRST: SessionNumber = SessionNumber(1);

    fn numbers(holders: &Path) -> Vec<u32> {
        find(holders, AGENT).expect("lists").iter().map(|one| one.number.0).collect()
    }

    #[test]
    fn only_files_of_a_recording_go() {
        let temporary = tempfile::tempdir().expect("a directory");
        let holders = temporary.path();
        let session = holders.join(AGENT.to_string()).join("s1");
        fs::create_dir_all(&session).expect("makes it");
        let gone = ["rec.0", "rec.0.marks", "rec.8192"];
        let kept = [
            "exit.json",
            "rec",
            "rec.",
            "rec.x",
            "rec.+1",
            "rec.01",
            "rec.1.marks.old",
            "rec.-1",
            "rec.99999999999999999999",
            "REC.0",
            "rec.0 ",
            "marks",
        ];
        for name in gone.iter().chain(&kept) {
            fs::write(session.join(name), b"1234").expect("writes");
        }
        fs::create_dir(session.join("rec.5")).expect("makes it");
        let found = find(holders, AGENT).expect("lists");
        assert_eq!((found.len(), found[0].number, found[0].bytes), (1, FIRST, 12));
        remove(holders, AGENT, FIRST).expect("removes");
        assert!(gone.iter().all(|name| !session.join(name).exists()));
        assert!(kept.iter().all(|name| session.join(name).exists()));
        assert!(session.join("rec.5").is_dir());
        assert_eq!(find(holders, AGENT).expect("lists"), []);
        remove(holders, AGENT, FIRST).expect("nothing is left to do");
    }

    #[test]
    fn no_link_is_followed() {
        let temporary = tempfile::tempdir().expect("a directory");
        let (holders, elsewhere) = (temporary.path().join("h"), temporary.path().join("e"));
        let agent = holders.join(AGENT.to_string());
        fs::create_dir_all(agent.join("s1")).expect("makes it");
        fs::create_dir_all(&elsewhere).expect("makes it");
        fs::write(elsewhere.join("rec.0"), b"another's").expect("writes");
        // A link in place of a file, of a session's directory, of an agent's.
        symlink(elsewhere.join("rec.0"), agent.join("s1/rec.0")).expect("links");
        symlink(&elsewhere, agent.join("s2")).expect("links");
        assert!(numbers(&holders).is_empty());
        for number in [1, 2] {
            remove(&holders, AGENT, SessionNumber(number)).expect("refuses quietly");
        }
        assert!(agent.join("s1/rec.0").is_symlink(), "a link is no recording");
        fs::remove_dir_all(&agent).expect("removes");
        fs::create_dir(elsewhere.join("s1")).expect("makes it");
        fs::rename(elsewhere.join("rec.0"), elsewhere.join("s1/rec.0")).expect("moves");
        symlink(&elsewhere, &agent).expect("links");
        assert!(numbers(&holders).is_empty());
        remove(&holders, AGENT, FIRST).expect("refuses quietly");
        assert_eq!(fs::read(elsewhere.join("s1/rec.0")).expect("it is there"), b"another's");
    }

    #[test]
    fn directories_with_other_names_are_nobodys() {
        let temporary = tempfile::tempdir().expect("a directory");
        let holders = temporary.path();
        let agent = AGENT.to_string();
        for name in [agent.as_str(), "agt_", &agent.to_uppercase(), "..x"] {
            fs::create_dir_all(holders.join(name)).expect("makes it");
        }
        assert_eq!(agents(holders).expect("lists"), [AGENT]);
        for name in ["s0", "s01", "s+1", "s", "s1x", "s4294967296"] {
            fs::create_dir(holders.join(&agent).join(name)).expect("makes it");
            fs::write(holders.join(&agent).join(name).join("rec.0"), b"x").expect("writes");
        }
        assert!(numbers(holders).is_empty());
        assert_eq!(agents(&holders.join("nothing")).expect("lists"), []);
    }
}
