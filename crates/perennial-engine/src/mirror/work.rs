//! `work/<name>.json`: where the work of one agent stands, in the words of the seed's schema.
//!
//! Phase and history are those of the record. Files and tests are what the newest session shows now, beside its last
//! checkpoint; the rest is of that checkpoint. Words of agents and paths are made harmless, and bounded.

use std::path::PathBuf;

use perennial_core::agent::Agent;
use perennial_core::checkpoint::{Checkpoint, Position, summary_line};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::state::Roster;
use perennial_core::task::Task;
use perennial_core::work::{Findings, PATHS_MAX, PhaseSpan};
use serde::Serialize;

use crate::harness::mail_texts::harmless;
use crate::timestamp::rfc3339_seconds;

/// As much of the work's summary and of a path as is shown.
const WORDS_BYTES: usize = 2000;
const PATH_BYTES: usize = 300;
/// As much of what is said about how to go on.
const INSTRUCTIONS_BYTES: usize = 8000;

/// Where an agent's file is, from its project's directory of the mirror; nothing of an agent without a name.
pub fn work_file(agent: &Agent) -> Option<String> {
    let name = agent.name.as_ref()?.as_str();
    // A name that is used again gets its file; the earlier holder's keeps its id.
    Some(match agent.state.roster() {
        Roster::Cemetery => dead_work_file(name, agent.id),
        Roster::Living | Roster::Freezer => living_work_file(name),
    })
}

/// The same of an agent outside the cemetery.
pub fn living_work_file(name: &str) -> String {
    format!("work/{name}.json")
}

/// The same of an agent in the cemetery.
pub fn dead_work_file(name: &str, id: AgentId) -> String {
    format!("work/{name}~{id}.json")
}

/// What an agent's file says; `content` is that of its last checkpoint, and `found` what its newest session shows now.
pub(super) fn page(
    agent: &Agent,
    task: Option<&Task>,
    content: Option<&Checkpoint>,
    found: Option<&Findings>,
) -> Option<(PathBuf, String)> {
    let path = PathBuf::from(work_file(agent)?);
    let head = agent.checkpoint.as_ref();
    let phase = agent.work.phase.word();
    let newest = agent.session.as_ref().map(|session| session.number);
    let work = Work {
        schema_version: "1.0",
        identity_name: agent.name.as_ref()?.as_str(),
        node_id: task.map(|task| task.id.to_string()),
        pipeline_id: agent.situations.first().map(ToString::to_string),
        bead_id: task.and_then(|task| task.brief.reference.clone()),
        current_phase: phase,
        work_summary: work_summary(agent, content),
        last_checkpoint_at: head.map(|head| rfc3339_seconds(head.at)),
        files_modified: files(&agent.launch.dir, newest, content, found),
        tests_status: tests_status(content, found),
        phase_history: agent.work.spans().iter().map(Phase::of).collect(),
        resumption_instructions: match content {
            Some(content) => harmless(&content.resumption, INSTRUCTIONS_BYTES),
            None => format!("Resume from phase: {phase}."),
        },
        hook_status: match agent.state.roster() {
            Roster::Cemetery => "abandoned",
            Roster::Living | Roster::Freezer => "active",
        },
        agent_id: agent.id.to_string(),
        session: head.map(|head| head.session.0),
        checkpoint: head.map(|head| head.number),
        snapshot: head.and_then(|head| head.snapshot),
        branch: content
            .and_then(|content| content.git.as_ref()?.branch.as_deref())
            .map(|branch| harmless(branch, PATH_BYTES)),
        conversation: content.and_then(|content| content.conversation.clone()),
    };
    Some((path, serde_json::to_string_pretty(&work).ok()? + "\n"))
}

/// The agent's newest word, or what was found.
fn work_summary(agent: &Agent, content: Option<&Checkpoint>) -> String {
    let said = agent.summary.as_deref().map(|summary| harmless(summary, WORDS_BYTES));
    let found = || content.map(|content| harmless(&summary_line(content), WORDS_BYTES));
    said.or_else(found).unwrap_or_default()
}

/// How the last test run went that anybody saw.
fn tests_status(content: Option<&Checkpoint>, found: Option<&Findings>) -> &'static str {
    let earlier = content.and_then(|content| content.found.tests.as_ref());
    let last = found.and_then(|found| found.tests.as_ref()).or(earlier);
    last.map_or("unknown", |run| run.outcome.word())
}

/// Those that differed from HEAD at the checkpoint, or that its tools had edited by then where there is no git; then those
/// that they have edited since. Paths in the agent's directory are told from there.
fn files(
    dir: &str,
    newest: Option<SessionNumber>,
    content: Option<&Checkpoint>,
    found: Option<&Findings>,
) -> Vec<String> {
    let then = content.map_or(&[][..], |content| &content.found.edited);
    let is_of_newest = content.is_some_and(|content| Some(content.session) == newest);
    let mut files: Vec<&str> = match content.and_then(|content| content.git.as_ref()) {
        Some(git) => git.changed.iter().map(|change| change.path.as_str()).collect(),
        None => then.iter().map(|path| inside(dir, path)).collect(),
    };
    let now = found.map_or(&[][..], |found| &found.edited);
    for path in edited_since(if is_of_newest { then } else { &[] }, now) {
        // Git tells paths from the top of the work tree, which may lie above the agent's directory.
        let is_listed = |file: &&str| path == *file || path.ends_with(&format!("/{file}"));
        if !files.iter().any(is_listed) {
            files.push(inside(dir, path));
        }
    }
    files.into_iter().take(PATHS_MAX).map(|path| harmless(path, PATH_BYTES)).collect()
}

fn inside<'a>(dir: &str, path: &'a str) -> &'a str {
    path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// What was edited after `then`: a file that is edited again moves to the end, so that the others are still in their order
/// before it.
fn edited_since<'a>(then: &[String], now: &'a [String]) -> &'a [String] {
    let mut left = then.iter();
    let is_as_then = |path: &&String| left.any(|before| before == *path);
    let same = now.iter().take_while(is_as_then).count();
    &now[same..]
}

/// Hook files as the seed has them; what Perennial does not know is null.
#[derive(Debug, Serialize)]
struct Work<'a> {
    schema_version: &'static str,
    identity_name: &'a str,
    node_id: Option<String>,
    pipeline_id: Option<String>,
    bead_id: Option<String>,
    current_phase: &'static str,
    work_summary: String,
    last_checkpoint_at: Option<String>,
    files_modified: Vec<String>,
    tests_status: &'static str,
    phase_history: Vec<Phase>,
    resumption_instructions: String,
    hook_status: &'static str,
    /// Perennial's own words, beside the seed's.
    agent_id: String,
    session: Option<u32>,
    checkpoint: Option<u32>,
    snapshot: Option<u32>,
    branch: Option<String>,
    conversation: Option<Position>,
}

#[derive(Debug, Serialize)]
struct Phase {
    phase: &'static str,
    entered_at: String,
    exited_at: Option<String>,
}

impl Phase {
    fn of(span: &PhaseSpan) -> Phase {
        Phase {
            phase: span.phase.word(),
            entered_at: rfc3339_seconds(span.entered_at),
            exited_at: span.left_at.map(rfc3339_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::checkpoint::{FORM, Said};
    use perennial_core::time::Time;
    use perennial_core::work::{ChangeKind, FileChange, GitFindings, WorkPhase};

    use super::*;

    fn paths(words: &str) -> Vec<String> {
        words.split_whitespace().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn what_was_edited_again_stands_behind_what_was_not() {
        let since = |then: &str, now: &str| edited_since(&paths(then), &paths(now)).join(" ");
        assert_eq!(since("", "a b"), "a b");
        assert_eq!(since("a b", "a b c"), "c");
        assert_eq!(since("a b c", "b c a d"), "a d");
        // The oldest ones are left out of a long list.
        assert_eq!(since("a b c", "b c d"), "d");
        assert_eq!(since("a b", "x"), "x", "of another session");
    }

    #[test]
    fn files_edited_since_the_checkpoint_follow_those_that_git_showed() {
        let newest = Some(SessionNumber(2));
        let change = |path: &str| FileChange { path: path.to_owned(), how: ChangeKind::Modified };
        let changed = vec![change("web/src/a.rs"), change("new.txt")];
        let git = GitFindings { changed, ..GitFindings::default() };
        let of = |edited: &str| Findings { edited: paths(edited), ..Findings::default() };
        let now = of("/w/web/done.rs /w/web/src/a.rs /w/web/b.rs ../c.rs");
        let shown = |session: u32, git: &Option<GitFindings>| {
            let found = of("/w/web/done.rs /w/web/src/a.rs");
            let content = checkpoint(SessionNumber(session), found, git.clone());
            files("/w/web", newest, Some(&content), Some(&now)).join(" ")
        };
        // What was committed by then is not listed again, unless another session edits it.
        assert_eq!(shown(2, &Some(git.clone())), "web/src/a.rs new.txt b.rs ../c.rs");
        assert_eq!(shown(1, &Some(git)), "web/src/a.rs new.txt done.rs b.rs ../c.rs");
        assert_eq!(shown(2, &None), "done.rs src/a.rs b.rs ../c.rs");
        let none = files("/w/web", newest, None, Some(&now));
        assert_eq!(none.join(" "), "done.rs src/a.rs b.rs ../c.rs");
        assert_eq!(files("/w/web", newest, None, None), Vec::<String>::new());
    }

    fn checkpoint(session: SessionNumber, found: Findings, git: Option<GitFindings>) -> Checkpoint {
        Checkpoint {
            form: FORM,
            session,
            at: Time(9),
            phase: WorkPhase::Implementation,
            phases: Vec::new(),
            said: Said::default(),
            note: None,
            found,
            git,
            situation: None,
            task: None,
            conversation: None,
            snapshot: None,
            resumption: String::new(),
        }
    }
}
