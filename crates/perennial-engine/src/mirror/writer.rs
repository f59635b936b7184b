//! The mirror's thread: takes pages, and writes each file at most once a second, or when the start of an agent waits for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::id::AgentId;
use perennial_core::task::Task;

use super::board::{self, BoardPost, POSTS};
use super::directory::MirrorDirectory;
use super::identity::Identity;
use super::place;
use super::signals::{self, SignalFiles, SignalPage};
use super::tasks::TaskLines;
use super::{Earlier, Measured, is_over, roster};
use crate::host::monotonic::{Moment, now};
use crate::regular_file::{self, Links};

/// A file is written at most once in this time.
const PACE: Duration = Duration::from_secs(1);
/// MI3
const LAID_OUT: &str = "laid-out";
/// A number is not longer.
const LAID_OUT_BYTES_MAX: u64 = 20;
/// At most this many of the dead are in a project's roster.
const DEAD: usize = 100;

#[derive(Debug)]
pub(super) enum Order {
    Identity(AgentId, AgentFile),
    Work(AgentId, AgentFile),
    Listed {
        agent: AgentId,
        project: String,
        line: String,
        is_dead: bool,
    },
    Task(Arc<Task>),
    Post(BoardPost),
    Signal(String, Box<SignalPage>),
    PutUpTo(u64),
    /// MI2
    Settle {
        agent: AgentId,
        done: Sender<()>,
    },
}

impl Order {
    pub fn listed(agent: &Agent, measured: Measured) -> Order {
        Order::Listed {
            agent: agent.id,
            project: agent.launch.project.clone(),
            line: roster::line(agent, measured),
            is_dead: is_over(agent),
        }
    }
}

/// One file that changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Page {
    Identity(AgentId),
    Work(AgentId),
    Roster(String),
    Board(String),
    Tasks(String),
    LaidOut,
}

/// A file of an agent as it should be.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub project: String,
    pub path: PathBuf,
    pub content: Content,
    /// Of an agent that hardly changes any more: nothing is remembered of it.
    pub is_last: bool,
}

#[derive(Debug)]
pub(super) enum Content {
    /// Becomes text when it is written.
    Identity(Box<Identity>),
    Text(String),
}

/// The lines of a project's roster, by the agents' ids, which are in the order of birth.
#[derive(Default)]
struct Lines {
    present: BTreeMap<AgentId, String>,
    dead: BTreeMap<AgentId, String>,
}

pub(super) struct Writer {
    root: PathBuf,
    /// What identities and work are to say.
    of_agents: BTreeMap<Page, AgentFile>,
    rosters: BTreeMap<String, Lines>,
    projects: BTreeMap<AgentId, String>,
    tasks: BTreeMap<String, TaskLines>,
    posts: VecDeque<BoardPost>,
    signals: SignalFiles,
    /// The record up to which everything was put.
    put_up_to: u64,
    /// Where each page was written, and when.
    files: BTreeMap<Page, (PathBuf, Moment)>,
    waiting: BTreeSet<Page>,
}

impl Writer {
    pub fn new(root: PathBuf, earlier: Earlier) -> Writer {
        place::all(&root).iter().for_each(|project| sweep(&root, project));
        let mut writer = Writer {
            root,
            of_agents: BTreeMap::new(),
            rosters: BTreeMap::new(),
            projects: BTreeMap::new(),
            tasks: BTreeMap::new(),
            posts: earlier.posts.into(),
            signals: SignalFiles::default(),
            put_up_to: 0,
            files: BTreeMap::new(),
            waiting: BTreeSet::new(),
        };
        for agent in &earlier.ended {
            writer.take(Order::listed(agent, Measured::default()));
        }
        writer
    }

    pub fn run(&mut self, inbox: &Receiver<Order>) {
        self.write_due(now());
        loop {
            let next = match self.next_due() {
                Some(due) => inbox.recv_timeout(due.saturating_sub(now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(order) => self.take(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    for page in std::mem::take(&mut self.waiting) {
                        self.write(&page);
                    }
                    return;
                }
            }
            self.write_due(now());
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Identity(agent, file) => self.put(Page::Identity(agent), file),
            Order::Work(agent, file) => self.put(Page::Work(agent), file),
            Order::Listed { agent, project, line, is_dead } => {
                self.list(agent, project, line, is_dead);
            }
            Order::Task(task) => {
                let project = task.brief.project.clone();
                self.tasks.entry(project.clone()).or_default().put(task);
                self.waiting.insert(Page::Tasks(project));
            }
            Order::Post(post) => {
                self.posts.push_front(post);
                self.posts.truncate(POSTS);
                self.waiting.extend(self.rosters.keys().cloned().map(Page::Board));
            }
            Order::Signal(project, signal) => {
                let path = place::directory(&self.root, &project).join(signals::DIRECTORY);
                let text = signals::text(&signal);
                let put = |files: &mut SignalFiles| {
                    let directory = MirrorDirectory::make(&self.root, &path)?;
                    let name = files.place((&path, &directory), &signal, &text)?;
                    name.map_or(Ok(()), |name| directory.replace(&name, &text))
                };
                tell_failure(&path, &put(&mut self.signals));
            }
            Order::PutUpTo(record) => {
                self.put_up_to = record;
                self.waiting.insert(Page::LaidOut);
            }
            Order::Settle { agent, done } => {
                self.settle(agent);
                let _ = done.send(());
            }
        }
    }

    /// MI2: whatever waits of this agent and of its project's lists, whenever they were written last.
    fn settle(&mut self, agent: AgentId) {
        let lists = self
            .projects
            .get(&agent)
            .cloned()
            .map(|project| [Page::Roster(project.clone()), Page::Tasks(project)]);
        let own = [Page::Identity(agent), Page::Work(agent)];
        for page in own.into_iter().chain(lists.into_iter().flatten()) {
            if self.waiting.remove(&page) {
                self.write(&page);
            }
        }
    }

    fn put(&mut self, page: Page, file: AgentFile) {
        self.of_agents.insert(page.clone(), file);
        self.waiting.insert(page);
    }

    fn list(&mut self, agent: AgentId, project: String, line: String, is_dead: bool) {
        if let Some(before) = self.projects.get(&agent).filter(|before| **before != project) {
            if let Some(lines) = self.rosters.get_mut(before) {
                lines.present.remove(&agent);
            }
            self.waiting.insert(Page::Roster(before.clone()));
        }
        let is_new = !self.rosters.contains_key(&project);
        let lines = self.rosters.entry(project.clone()).or_default();
        lines.present.remove(&agent);
        match is_dead {
            true => {
                self.projects.remove(&agent);
                lines.dead.insert(agent, line);
                while lines.dead.len() > DEAD {
                    lines.dead.pop_first();
                }
            }
            false => {
                self.projects.insert(agent, project.clone());
                lines.present.insert(agent, line);
            }
        }
        if is_new {
            self.waiting.insert(Page::Board(project.clone()));
        }
        self.waiting.insert(Page::Roster(project));
    }

    fn due(&self, page: &Page) -> Option<Moment> {
        self.files.get(page).map(|(_, written)| *written + PACE)
    }

    fn next_due(&self) -> Option<Moment> {
        self.waiting.iter().filter_map(|page| self.due(page)).min()
    }

    fn write_due(&mut self, now: Moment) {
        let is_due = |page: &&Page| self.due(page).is_none_or(|due| due <= now);
        let due: Vec<Page> = self.waiting.iter().filter(is_due).cloned().collect();
        for page in due {
            // MI3: what waits is not laid out.
            if page == Page::LaidOut && self.waiting.len() > 1 {
                break;
            }
            self.waiting.remove(&page);
            self.write(&page);
        }
    }

    fn write(&mut self, page: &Page) {
        let written = match page {
            Page::Identity(_) | Page::Work(_) => self.of_agents.remove(page).map(|file| {
                let AgentFile { project, path, content, is_last } = file;
                let text = match content {
                    Content::Identity(page) => page.text(&self.root, &project),
                    Content::Text(text) => text,
                };
                (place::directory(&self.root, &project).join(path), text, is_last)
            }),
            Page::Roster(project) => self.rosters.get(project).map(|lines| {
                let lines = lines.present.values().chain(lines.dead.values().rev());
                let text = lines.map(|line| format!("{line}\n")).collect();
                (place::directory(&self.root, project).join("roster.jsonl"), text, false)
            }),
            Page::Tasks(project) => self.tasks.get(project).map(|lines| {
                let path = place::directory(&self.root, project).join("tasks.jsonl");
                (path, lines.page(), false)
            }),
            Page::Board(project) => {
                let path = place::directory(&self.root, project).join("board.md");
                Some((path, board::page(&self.posts), false))
            }
            Page::LaidOut => Some((self.root.join(LAID_OUT), self.put_up_to.to_string(), false)),
        };
        let Some((path, text, is_last)) = written else { return };
        let is_written = self.replace(&path, &text);
        if let Some((old, _)) = self.files.get(page).filter(|(old, _)| is_written && *old != path) {
            // Renamed, dead, or its project's part was moved: the page has another file.
            let _ = remove(&self.root, old);
        }
        match is_last {
            true => _ = self.files.remove(page),
            false => _ = self.files.insert(page.clone(), (path, now())),
        }
    }

    /// MI1
    fn replace(&self, path: &Path, text: &str) -> bool {
        let done = in_directory(&self.root, path, MirrorDirectory::make)
            .and_then(|(directory, name)| directory.replace(name, text));
        tell_failure(path, &done);
        done.is_ok()
    }
}

fn tell_failure(path: &Path, done: &io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(path = %path.display(), %error, "mirror file not written");
    }
}

/// The directory of a file, open, and the file's name in it.
fn in_directory<'a>(
    root: &Path,
    path: &'a Path,
    open: fn(&Path, &Path) -> io::Result<MirrorDirectory>,
) -> io::Result<(MirrorDirectory, &'a str)> {
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok((open(root, path.parent().ok_or(io::ErrorKind::InvalidInput)?)?, name))
}

fn remove(root: &Path, path: &Path) -> io::Result<()> {
    let (directory, name) = in_directory(root, path, MirrorDirectory::open)?;
    directory.remove(name)
}

/// MI3: the record up to which the last daemon had laid out everything, if it said so.
pub fn laid_out_up_to(root: &Path) -> Option<u64> {
    let text = regular_file::read_text(&root.join(LAID_OUT), Links::Refuse, LAID_OUT_BYTES_MAX);
    text.ok()?.parse().ok()
}

/// Left-over temporary files of a daemon that was killed.
fn sweep(root: &Path, project: &Path) {
    let below = place::SUBDIRECTORIES.map(|name| project.join(name));
    for path in std::iter::once(project.to_owned()).chain(below) {
        let Ok(directory) = MirrorDirectory::open(root, &path) else { continue };
        for name in directory.names().unwrap_or_default() {
            if name.ends_with(".tmp") {
                let _ = directory.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// For what happens at once.
    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_pipe_in_the_place_of_a_file_holds_nobody() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join(LAID_OUT);
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RUSR).unwrap();
        let (told, heard) = channel();
        let path = root.path().to_owned();
        std::thread::spawn(move || told.send(laid_out_up_to(&path)));
        assert_eq!(heard.recv_timeout(SOON), Ok(None));
    }

    #[test]
    fn what_a_killed_daemon_left_is_swept_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("site-1");
        std::fs::create_dir_all(project.join("work")).unwrap();
        for name in ["a.tmp", "work/b.tmp", "work/b.json"] {
            std::fs::write(project.join(name), "").unwrap();
        }
        Writer::new(root.path().to_owned(), Earlier::default());
        let left = ["a.tmp", "work/b.tmp", "work/b.json"].map(|name| project.join(name).exists());
        assert_eq!(left, [false, false, true]);
    }
}
