//! The shell around agent CLIs: what a session runs, where its files are, and how it ends, by its
//! preset and the agent's environment.
//!
//! Only translates; the core has decided what starts, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perennial_api::Home;
use perennial_core::agent::Agent;
use perennial_core::conversation::{ConversationId, Opening, Whereabouts};
use perennial_core::effect::SessionEffect;
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::launch::Launch;
use perennial_core::observation::Report;
use perennial_core::session::Process;
use perennial_engine::harness::fork::{self, Shelf};
use perennial_engine::harness::open_conversations;
use perennial_engine::harness::prepare::Continuity;
use perennial_engine::harness::preset::{self, KillSignal, Version};
use perennial_engine::harness::{
    FirstWords, Preset, PresetError, SessionFiles, conversation, prepare,
};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;
use perennial_engine::host::holders::Program;
use perennial_engine::host::process;

use crate::daemon::driving::driver::chain;
use crate::daemon::hearing::session_list_watcher::SessionList;

/// Where presets, environments and copies are.
#[derive(Debug, Clone)]
pub struct Harnesses {
    home: Home,
    exe: PathBuf,
    /// Presets as they were read, for as long as their files stay what they were.
    presets: Arc<Mutex<HashMap<String, Known>>>,
    /// Agents of which it was told that their sessions named somebody else's conversation.
    strayed: Arc<Mutex<BTreeSet<AgentId>>>,
}

/// A preset, and what it was read from.
type Known = (Version, Arc<Preset>);

impl Harnesses {
    pub fn new(home: Home, exe: PathBuf) -> Harnesses {
        Harnesses { home, exe, presets: Arc::default(), strayed: Arc::default() }
    }

    /// The preset as it is now. Every hook asks, so it is read only when its file has changed.
    pub fn preset(&self, name: &str) -> Result<Arc<Preset>, PresetError> {
        // Looked at before it is read: a change between the two is seen by the next caller.
        let Ok(version) = preset::version(&self.home.config, name) else {
            return Preset::load(&self.home.config, name).map(Arc::new);
        };
        let mut presets = self.presets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, preset)) = presets.get(name)
            && *known == version
        {
            return Ok(Arc::clone(preset));
        }
        let preset = Arc::new(Preset::load(&self.home.config, name)?);
        presets.insert(name.to_owned(), (version, Arc::clone(&preset)));
        Ok(preset)
    }

    /// The agent's own environment, as its owner gave it.
    pub fn variables(&self, agent: AgentId) -> std::io::Result<Vec<(OsString, OsString)>> {
        environment::read(self.holder(agent).path())
    }

    /// The directory of an agent's holder.
    pub fn holder(&self, agent: AgentId) -> HolderDirectory {
        HolderDirectory::new(&self.home.holders(), agent)
    }

    /// Puts the environment in place that counts by the agent's record.
    fn settle(&self, agent: AgentId, revision: u32) -> Result<(), String> {
        let holder = HolderDirectory::new(&self.home.holders(), agent);
        environment::settle(holder.path(), revision)
            .map_err(|error| format!("its environment can't be put in place: {error}"))
    }

    /// The vendor's own list of live sessions, where this agent's is.
    pub fn list(&self, agent: AgentId, harness: &str) -> Option<SessionList> {
        let preset = self.preset(harness).ok()?;
        let rule = preset.conversation.list.clone()?;
        let directory = rule.base(&self.vendor_home(agent, &preset)?);
        Some(SessionList { directory, rule, dialect: preset.dialect })
    }

    /// The preset of an agent's harness, and the directory that the agent's vendor writes to.
    pub fn vendor(&self, agent: AgentId, harness: &str) -> Option<(Arc<Preset>, PathBuf)> {
        let preset = self.preset(harness).ok()?;
        let vendor_home = self.vendor_home(agent, &preset)?;
        Some((preset, vendor_home))
    }

    /// Our copy of a conversation, if there is one.
    pub fn copy(&self, harness: &str, conversation: &ConversationId) -> PathBuf {
        conversation::copy(harness, &self.home.conversations(), conversation)
    }

    /// Our copies of what was said before a conversation began anew, oldest first.
    pub fn earlier_copies(&self, harness: &str, conversation: &ConversationId) -> Vec<PathBuf> {
        conversation::earlier_copies(harness, &self.home.conversations(), conversation)
    }

    /// The conversations that a session's program has open, by what its vendor locks.
    pub fn open_conversations(
        &self,
        agent: AgentId,
        harness: &str,
        pid: i32,
    ) -> BTreeSet<ConversationId> {
        let vendor = self.vendor(agent, harness);
        let locked = vendor.as_ref().and_then(|(preset, home)| {
            Some(open_conversations::open_in(preset.conversation.lock.as_ref()?, home, pid))
        });
        locked.unwrap_or_default()
    }

    /// Keeps where the vendor has a conversation, for the case that it loses the file.
    pub fn remember_place(
        &self,
        agent: AgentId,
        harness: &str,
        conversation: &ConversationId,
        theirs: &Path,
    ) -> std::io::Result<()> {
        let Some((preset, vendor_home)) = self.vendor(agent, harness) else { return Ok(()) };
        let copies = self.home.conversations();
        conversation::remember_place(&preset, &vendor_home, &copies, conversation, theirs)
    }

    /// Keeps what a conversation refers to beside our copy of it.
    pub fn keep_parents(
        &self,
        agent: AgentId,
        harness: &str,
        conversation: &ConversationId,
        copy: impl Fn(&Path, &Path) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let Some((preset, vendor_home)) = self.vendor(agent, harness) else { return Ok(()) };
        let copies = self.home.conversations();
        let shelf = Shelf { preset: &preset, vendor_home: &vendor_home, copies: &copies };
        fork::keep_parents(shelf, conversation, copy)
    }

    /// The conversations that this one refers to.
    pub fn parents(
        &self,
        agent: AgentId,
        harness: &str,
        conversation: &ConversationId,
    ) -> Vec<ConversationId> {
        let Some((preset, vendor_home)) = self.vendor(agent, harness) else { return Vec::new() };
        let copies = self.home.conversations();
        let shelf = Shelf { preset: &preset, vendor_home: &vendor_home, copies: &copies };
        fork::parents(shelf, conversation)
    }

    /// Makes a copy of a conversation that goes on by itself, for an agent with that environment; returns its
    /// id and its file.
    pub fn fork(
        &self,
        launch: &Launch,
        env: &BTreeMap<String, String>,
        original: &ConversationId,
        new: &ConversationId,
    ) -> Result<PathBuf, String> {
        let preset = self.preset(&launch.harness).map_err(|error| chain(&error))?;
        let variable = |name: &str| env.get(name).map(|value| OsStr::new(value.as_str()));
        let vendor_home = conversation::home(&preset.conversation, &user_home(variable), variable);
        let copies = self.home.conversations();
        let shelf = Shelf { preset: &preset, vendor_home: &vendor_home, copies: &copies };
        fork::fork(shelf, &launch.dir, original, new).map_err(|error| chain(&error))
    }

    /// Whether an orderly end of the agent's session begins with TERM.
    pub fn ends_by_term(&self, agent: &Agent) -> bool {
        self.preset_of(agent).is_some_and(|preset| preset.end.kill_signal == KillSignal::Terminate)
    }

    /// The report of an exit, as the agent's harness means its code.
    pub fn as_it_ends(&self, agent: &Agent, report: Report) -> Report {
        match (report, self.preset_of(agent)) {
            (Report::Exited(Exit::Code(code)), Some(preset))
                if preset.end.clean_codes.contains(&code) =>
            {
                Report::Finished(Exit::Code(code))
            }
            (report, _) => report,
        }
    }

    /// Nothing for a bare command.
    fn preset_of(&self, agent: &Agent) -> Option<Arc<Preset>> {
        self.preset(&agent.launch.harness).ok().filter(|_| !agent.launch.is_bare())
    }

    /// Where the agent's owner has its harness compact, if they moved that point.
    pub fn compaction_window(&self, agent: AgentId, preset: &Preset) -> Option<u64> {
        let name = preset.context.compaction_window_variable.as_ref()?;
        let variables = self.variables(agent).ok()?;
        variable(&variables, name)?.to_str()?.parse().ok()
    }

    fn vendor_home(&self, agent: AgentId, preset: &Preset) -> Option<PathBuf> {
        let variables = self.variables(agent).ok()?;
        let variable = |name: &str| variable(&variables, name);
        Some(conversation::home(&preset.conversation, &user_home(variable), variable))
    }

    /// Whether the vendor has this conversation for an agent with that environment, or we do.
    pub fn has_conversation(
        &self,
        harness: &str,
        env: &BTreeMap<String, String>,
        conversation: &ConversationId,
    ) -> bool {
        let Ok(preset) = self.preset(harness) else { return false };
        let variable = |name: &str| env.get(name).map(|value| OsStr::new(value.as_str()));
        let vendor_home = conversation::home(&preset.conversation, &user_home(variable), variable);
        conversation::find(&preset, &vendor_home, conversation).is_some()
            || self.copy(harness, conversation).is_file()
    }

    /// Another harness that has the conversation.
    pub fn other_with(
        &self,
        harness: &str,
        env: &BTreeMap<String, String>,
        conversation: &ConversationId,
    ) -> Option<String> {
        let mut names = preset::names(&self.home.config).into_iter();
        names.find(|name| name != harness && self.has_conversation(name, env, conversation))
    }

    /// Whether a process is the server that the vendor's own terminals share.
    pub fn is_server(&self, harness: &str, process: Process) -> bool {
        let preset = self.preset(harness).ok();
        let argument = preset.as_ref().and_then(|it| it.conversation.server_argument.as_deref());
        argument.is_some_and(|argument| open_conversations::has_argument(process.pid, argument))
    }

    /// Where a conversation lies that a session of this agent names.
    pub fn whereabouts(
        &self,
        agent: AgentId,
        preset: &Preset,
        dir: &str,
        own: &[ConversationId],
        conversation: &ConversationId,
    ) -> Whereabouts {
        let Some(vendor_home) = self.vendor_home(agent, preset) else {
            return Whereabouts::Elsewhere;
        };
        let lies = conversation::whereabouts(preset, &vendor_home, dir, own, conversation);
        if lies == Whereabouts::Nowhere && self.copy(&preset.name, conversation).is_file() {
            return Whereabouts::OnlyOurCopy;
        }
        lies
    }

    /// Tells once of each agent that its session named a conversation which it is not followed to: a session
    /// may name one as often as it likes.
    pub fn tell_strayed(&self, agent: AgentId, conversation: &ConversationId) {
        let mut strayed = self.strayed.lock().unwrap_or_else(PoisonError::into_inner);
        if strayed.insert(agent) {
            tracing::warn!(%agent, %conversation, "a session named a conversation of another directory; its agent keeps its own");
        }
    }

    /// A living process that has the conversation open, by the vendor's own list.
    pub fn writer_of(
        &self,
        harness: &str,
        env: &BTreeMap<String, String>,
        conversation: &ConversationId,
    ) -> Option<Process> {
        let preset = self.preset(harness).ok()?;
        let variable = |name: &str| env.get(name).map(|value| OsStr::new(value.as_str()));
        let vendor_home = conversation::home(&preset.conversation, &user_home(variable), variable);
        let locked = || locked_by(&preset, &vendor_home, conversation);
        let rule = preset.conversation.list.clone();
        let listed = rule.and_then(|rule| {
            let directory = rule.base(&vendor_home);
            SessionList { directory, rule, dialect: preset.dialect }.writer_of(conversation)
        });
        listed.or_else(locked)
    }

    /// What a session runs; the reason in words where it can't be started.
    pub fn program(
        &self,
        session: &SessionEffect,
        environment: u32,
        (launch, opening): (&Launch, &Opening),
        words: &FirstWords<'_>,
    ) -> Result<Program, String> {
        let SessionEffect { agent, number, .. } = *session;
        // A daemon that was killed behind a change of settings has not put its variables in place.
        self.settle(agent, environment)?;
        if launch.is_bare() {
            return Ok(Program { pane: self.pane(launch), ..Program::bare(launch) });
        }
        let preset = self.preset(&launch.harness).map_err(|error| chain(&error))?;
        let list = self.list(agent, &launch.harness);
        let vendor_home = self.vendor_home(agent, &preset);
        let writer = |conversation: &ConversationId| {
            let listed = list.as_ref().and_then(|list| list.writer_of(conversation));
            let locked = || locked_by(&preset, vendor_home.as_ref()?, conversation);
            listed.or_else(locked)
        };
        if let Opening::Resume { conversation, .. } = opening
            && let Some(writer) = writer(conversation)
        {
            let pid = writer.pid;
            return Err(format!(
                "conversation {conversation} is open in another program (process {pid})"
            ));
        }
        let variables = self.variables(agent).map_err(|error| error.to_string())?;
        let holder = self.holder(agent);
        let place = SessionFiles {
            session_dir: &holder.harness(number),
            home: &user_home(|name| variable(&variables, name)),
            variables: &variables,
            exe: &self.exe,
            copies: &self.home.conversations(),
        };
        let prepared =
            prepare(&preset, launch, opening, &place, words).map_err(|error| chain(&error))?;
        match prepared.continuity {
            Continuity::Begun | Continuity::Kept => {}
            Continuity::Restored => {
                tracing::warn!(%agent, %number, "the vendor's conversation was gone; ours is back in its place");
            }
            Continuity::Gone => {
                tracing::warn!(%agent, %number, "the conversation is gone; it begins anew under its id");
            }
        }
        Ok(Program {
            argv: prepared.argv,
            dir: launch.dir.clone(),
            env_set: prepared.env_set.into_iter().collect(),
            env_remove: prepared.env_remove,
            input: preset.input.as_ref().map(|input| input.rules()),
            is_bare: false,
            announcements: preset.announcements.iter().map(|it| it.rule()).collect(),
            pane: self.pane(launch),
        })
    }

    /// Where the pane of an agent that lives in tmux listens.
    fn pane(&self, launch: &Launch) -> Option<PathBuf> {
        launch.host.tmux().map(|place| self.home.pane(&place.session))
    }
}

/// The process that has a conversation open, by what its vendor locks, or by its arguments.
fn locked_by(preset: &Preset, vendor_home: &Path, id: &ConversationId) -> Option<Process> {
    let files = &preset.conversation;
    let locked =
        files.lock.as_ref().and_then(|lock| open_conversations::writer_of(lock, vendor_home, id));
    let named = || open_conversations::named_in_arguments(&preset.program, &files.named_by, id);
    process::stat(locked.or_else(named)?).map(|stat| stat.process)
}

/// A variable of an agent's environment. The last one counts, as in `SessionFiles::variable`.
fn variable<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = variables.iter().rev().find(|(key, _)| key == name)?;
    Some(found.1.as_os_str())
}

/// The home directory of an agent with these variables: the root, where they name none.
fn user_home<'a>(variable: impl Fn(&str) -> Option<&'a OsStr>) -> PathBuf {
    let named = variable("HOME").filter(|dir| !dir.is_empty());
    named.map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_home_counts_and_without_one_it_is_the_root() {
        let home = |set: &[(&str, &str)]| {
            let set: Vec<(OsString, OsString)> =
                set.iter().map(|(name, value)| (name.into(), value.into())).collect();
            user_home(|name| variable(&set, name))
        };
        let both = [("HOME", "/first"), ("PATH", "/bin"), ("HOME", "/last")];
        assert_eq!(home(&both), Path::new("/last"));
        assert_eq!(home(&both[..2]), Path::new("/first"));
        for none in [&both[1..2], &[("HOME", "")]] {
            assert_eq!(home(none), Path::new("/"));
        }
    }

    /// A conversation is looked for where a session that takes it up would look.
    #[test]
    fn our_copy_of_a_conversation_is_found_also_without_a_home() {
        let dir = tempfile::tempdir().unwrap();
        let harnesses = Harnesses::new(Home::at(dir.path()), PathBuf::new());
        let id: ConversationId = "c-1".parse().unwrap();
        let has = || harnesses.has_conversation("claude", &BTreeMap::new(), &id);
        assert!(!has());
        let copy = harnesses.copy("claude", &id);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::write(&copy, "{}\n").unwrap();
        assert!(has());
    }

    #[test]
    fn a_preset_is_read_once_and_again_when_the_owners_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let harnesses = Harnesses::new(home.clone(), PathBuf::new());
        let built_in = harnesses.preset("claude").unwrap();
        assert!(Arc::ptr_eq(&built_in, &harnesses.preset("claude").unwrap()));
        let own = home.config.join("harness/claude.toml");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "nonsense").unwrap();
        assert!(harnesses.preset("claude").is_err());
        std::fs::remove_file(&own).unwrap();
        assert_eq!(harnesses.preset("claude").unwrap(), built_in);
        assert!(harnesses.preset("nobody").is_err());
    }
}
