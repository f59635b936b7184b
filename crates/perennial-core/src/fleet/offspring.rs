//! Births: who may have an agent born, and within what bounds an agent may.
//!
//! Pure. A person names any program. An agent has children of its own only, and gives them nothing that it
//! does not have itself. What lies outside (directories, the order of permission modes) the shell has
//! looked up and says in `Reach`.
//!
//! Invariants
//! - OF1  A child of an agent answers to that agent, runs an agent CLI by its preset without arguments of
//!   anybody's choice, in a directory of its parent's, with a permission mode that is not above its
//!   parent's, and with the directory's trust only where its parent has it. The built-in holder holds its
//!   sessions.
//! - OF2  An agent that has its limit of children outside the cemetery has no more born, and lines of descent are at
//!   most so long. Children in the freezer count: their parent may wake them.

use super::{Decision, Fleet};
use crate::agent::Agent;
use crate::authority::{Caller, Standing};
use crate::command::{RoleWanted, Spawn};
use crate::entity::Entity;
use crate::event::Event;
use crate::id::{AgentId, TaskId};
use crate::launch::{HostKind, Launch};
use crate::message::Sender;
use crate::reason::{Evidence, Finding, Verb};
use crate::refusal::Refusal;
use crate::role;
use crate::state::Roster;
use crate::task;
use crate::time::Time;

/// How many children, and how deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffspringLimits {
    /// Children of one agent outside the cemetery.
    pub children: u64,
    /// Agents above one that an agent had born: an agent of a person's has none.
    pub depth: u64,
}

impl Default for OffspringLimits {
    fn default() -> OffspringLimits {
        OffspringLimits { children: 8, depth: 3 }
    }
}

/// What the shell found about a child that an agent wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Its directory is its parent's, or below that, wherever links lead.
    pub is_dir_within: bool,
    /// Its program gets arguments that somebody chose.
    pub has_arguments: bool,
    /// Where the modes of parent and child stand in the lists of their presets.
    pub own: Option<ModePlace>,
    pub wanted: Option<ModePlace>,
}

/// The place of a permission mode in its preset's list, which goes from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModePlace {
    pub place: usize,
    /// The place of the mode that allows the most.
    pub last: usize,
}

impl ModePlace {
    fn is_least(self) -> bool {
        self.place == 0
    }

    /// The only mode of a list is its least: nobody knows how much it allows.
    fn is_most(self) -> bool {
        self.place == self.last && !self.is_least()
    }
}

/// What a request for a child names that only a person may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// A conversation that there is, or a copy of one.
    pub conversation: bool,
    /// A host that is not the built-in one, or a place for it.
    pub host: bool,
}

/// OF1, as far as the request alone tells. An agent that was answered later would learn by the answer which
/// conversations there are, and have them copied.
pub fn persons_choice(named: Named) -> Result<(), Refusal> {
    let named = [(named.conversation, Excess::Conversation), (named.host, Excess::Host)];
    match named.into_iter().find(|(is_named, _)| *is_named) {
        Some((_, excess)) => Err(Refusal::AboveOwn { excess }),
        None => Ok(()),
    }
}

/// The permission modes of an agent CLI, from the least to the most.
#[derive(Debug, Clone, Copy)]
pub struct Modes<'a>(pub &'a [String]);

impl Modes<'_> {
    fn place(self, mode: Option<&str>) -> Option<ModePlace> {
        let place = self.0.iter().position(|known| Some(known.as_str()) == mode)?;
        Some(ModePlace { place, last: self.0.len() - 1 })
    }
}

/// What a child has of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inheritance {
    pub permission_mode: Option<String>,
    pub trust: bool,
    /// Where the modes of parent and child stand.
    pub own: Option<ModePlace>,
    pub wanted: Option<ModePlace>,
}

/// What a child of this harness has where its parent asks for no mode: of the same agent CLI, what its parent has; of
/// another one, the least, unless its parent has the most. Whether a mode that is asked for is too much is decided
/// with the birth.
pub fn inherited(
    own: &Launch,
    own_modes: Modes<'_>,
    (harness, modes): (&str, Modes<'_>),
    asked: Option<&str>,
) -> Inheritance {
    let is_same_harness = harness == own.harness;
    let own_mode = own.options.permission_mode.as_deref();
    let own_place = own_modes.place(own_mode);
    let mode = match asked {
        Some(asked) => Some(asked),
        None if is_same_harness => own_mode,
        None if own_place.is_some_and(ModePlace::is_most) => modes.0.last().map(String::as_str),
        None => modes.0.first().map(String::as_str),
    };
    Inheritance {
        permission_mode: mode.map(str::to_owned),
        trust: inherits_trust(own, harness),
        own: own_place,
        wanted: modes.place(mode),
    }
}

/// A directory is trusted for one agent CLI.
fn inherits_trust(own: &Launch, harness: &str) -> bool {
    own.options.trust && harness == own.harness
}

/// What a child would have that its parent has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// A program or arguments of the caller's choice.
    Program,
    Parent,
    Directory,
    PermissionMode,
    Trust,
    Conversation,
    /// A place outside the built-in holder.
    Host,
    /// More children outside the cemetery than this.
    Children(u64),
    /// A longer line of descent than this.
    Depth(u64),
}

/// Whether a child's permission mode is not above its parent's. Lists of two agent CLIs can't be compared:
/// there only the least mode is below every other, and the most above.
fn is_mode_within(is_same_harness: bool, reach: &Reach) -> bool {
    match (reach.own, reach.wanted) {
        (_, Some(wanted)) if wanted.is_least() => true,
        (Some(own), Some(wanted)) if is_same_harness => wanted.place <= own.place,
        (Some(own), Some(_) | None) if !is_same_harness => own.is_most(),
        // Without a mode, the owner's settings choose: the same for both.
        (None, None) => is_same_harness,
        (Some(_) | None, Some(_) | None) => false,
    }
}

impl Fleet {
    /// A person has an agent born.
    pub(super) fn spawn(
        &self,
        caller: Caller,
        spawn: &Spawn,
        now: Time,
    ) -> Result<Decision, Refusal> {
        self.authorise(caller, Verb::Spawn, None)?;
        // OF1
        if let Caller::Agent(_) = caller {
            let (verb, standing) = (Verb::Spawn, Standing::NoTarget);
            return Err(Refusal::NotAllowed { caller, verb, standing });
        }
        self.born(caller, spawn, now)
    }

    /// An agent has a child born.
    pub(super) fn spawn_child(
        &self,
        caller: Caller,
        (spawn, reach): (&Spawn, &Reach),
        now: Time,
    ) -> Result<Decision, Refusal> {
        self.authorise(caller, Verb::Spawn, None)?;
        let own = self.find(&caller.own_session()?.to_string())?;
        match self.excess(own, spawn, reach) {
            Some(excess) => Err(Refusal::AboveOwn { excess }),
            None => self.born(caller, spawn, now),
        }
    }

    /// An agent is born, and is on a task from the beginning: by one decision.
    pub(super) fn spawn_on(
        &self,
        caller: Caller,
        (spawn, reach): (&Spawn, Option<&Reach>),
        id: TaskId,
        now: Time,
    ) -> Result<Decision, Refusal> {
        let mut decision = match reach {
            Some(reach) => self.spawn_child(caller, (spawn, reach), now)?,
            None => self.spawn(caller, spawn, now)?,
        };
        let born = (spawn.id, spawn.launch.project.as_str());
        // A conversation that is taken over may have cost something before.
        let spent = spawn.conversation.is_none().then_some(0);
        let given = task::given_at_birth(self, caller, born, (id, spent), now)?;
        decision.events.extend(given.into_iter().map(|what| Event { at: now, what }));
        Ok(decision)
    }

    /// The eldest ancestor of a sender, if it has one.
    pub fn eldest_ancestor(&self, sender: Sender) -> Option<AgentId> {
        match sender {
            Sender::Agent(id) => self.agents.upwards(id).skip(1).last(),
            Sender::Person | Sender::Perennial => None,
        }
    }

    fn excess(&self, own: &Agent, spawn: &Spawn, reach: &Reach) -> Option<Excess> {
        let (launch, limits) = (&spawn.launch, self.policy.offspring);
        let parent = spawn.parent.as_deref().and_then(|target| self.find(target).ok());
        let is_same_harness = launch.harness == own.launch.harness;
        let is_child = |agent: &&Agent| agent.parent == Some(own.id);
        let is_buried = |agent: &Agent| agent.state.roster() == Roster::Cemetery;
        let children = self.agents().filter(is_child).filter(|agent| !is_buried(agent));
        let depth = self.agents.upwards(own.id).count() as u64;
        let too_many = children.count() as u64 >= limits.children;
        [
            (launch.is_bare() || reach.has_arguments, Excess::Program),
            (parent.map(|parent| parent.id) != Some(own.id), Excess::Parent),
            (!reach.is_dir_within, Excess::Directory),
            (!is_mode_within(is_same_harness, reach), Excess::PermissionMode),
            (launch.options.trust && !inherits_trust(&own.launch, &launch.harness), Excess::Trust),
            (spawn.conversation.is_some(), Excess::Conversation),
            (launch.host.kind() != HostKind::Shim, Excess::Host),
            (too_many, Excess::Children(limits.children)),
            (depth > limits.depth, Excess::Depth(limits.depth)),
        ]
        .into_iter()
        .find_map(|(is_above, excess)| is_above.then_some(excess))
    }

    fn born(&self, caller: Caller, spawn: &Spawn, now: Time) -> Result<Decision, Refusal> {
        let witness = caller.witness(Verb::Spawn)?;
        spawn.conversation.as_ref().map_or(Ok(()), |it| self.may_be_taken_up(it))?;
        let evidence = Evidence { witness, fact: Finding::Asked(Verb::Spawn), at: now };
        let declared = |role: &RoleWanted| self.policy.terms(&role.name, role.declared.as_ref());
        let terms = spawn.role.as_ref().map(declared).map(|terms| role::given_by(caller, terms));
        let events = self.agents.spawned(spawn, terms.unwrap_or_default(), evidence)?;
        let parent: Option<AgentId> =
            spawn.parent.as_deref().and_then(|target| self.find(target).ok()).map(|it| it.id);
        let read = parent.map(Entity::Agent).into_iter().collect();
        Ok(Decision { read, ..Decision::of(spawn.id, events, now) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Host, Options};

    #[test]
    fn conversations_and_hosts_are_a_persons_choice() {
        let refused = |excess| Err(Refusal::AboveOwn { excess });
        let (conversation, host) = (true, true);
        let nothing = Named::default();
        assert_eq!(persons_choice(nothing), Ok(()));
        assert_eq!(
            persons_choice(Named { conversation, ..nothing }),
            refused(Excess::Conversation)
        );
        assert_eq!(persons_choice(Named { host, ..nothing }), refused(Excess::Host));
    }

    #[test]
    fn a_child_inherits_its_parents_mode_or_the_least_of_another_cli() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let (own, other) = (words(&["plan", "edits", "all"]), words(&["read", "full"]));
        for (mode, harness, asked, inherits) in [
            (Some("edits"), "claude", None, (Some("edits"), true)),
            (None, "claude", None, (None, true)),
            (Some("edits"), "claude", Some("all"), (Some("all"), true)),
            (Some("edits"), "codex", None, (Some("read"), false)),
            (None, "codex", None, (Some("read"), false)),
            (Some("all"), "codex", None, (Some("full"), false)),
        ] {
            let options = Options {
                permission_mode: mode.map(str::to_owned),
                trust: true,
                ..Options::default()
            };
            let launch = Launch {
                harness: "claude".into(),
                host: Host::Shim,
                argv: Vec::new(),
                dir: "/".into(),
                env_names: Vec::new(),
                project: "/".into(),
                options,
            };
            let modes = if harness == "claude" { &own } else { &other };
            let given = inherited(&launch, Modes(&own), (harness, Modes(modes)), asked);
            assert_eq!((given.permission_mode.as_deref(), given.trust), inherits, "{mode:?}");
        }
    }

    #[test]
    fn no_mode_of_a_child_is_above_its_parents() {
        let place = |place, last| Some(ModePlace { place, last });
        for (own, wanted, same, is_within) in [
            (place(1, 3), place(1, 3), true, true),
            (place(1, 3), place(0, 3), true, true),
            (place(1, 3), place(2, 3), true, false),
            // The owner's settings may allow more than the parent's mode, and less than the child's.
            (place(1, 3), None, true, false),
            (None, place(1, 3), true, false),
            (None, place(0, 3), true, true),
            (None, None, true, true),
            (None, None, false, false),
            (place(1, 3), place(0, 2), false, true),
            (place(1, 3), place(1, 2), false, false),
            (place(3, 3), place(2, 2), false, true),
            (place(3, 3), None, false, true),
            (place(2, 3), None, false, false),
            // How much the only mode of a list allows is not known.
            (place(0, 0), place(2, 2), false, false),
            (place(0, 0), place(0, 2), false, true),
        ] {
            let reach = Reach { is_dir_within: true, has_arguments: false, own, wanted };
            assert_eq!(is_mode_within(same, &reach), is_within, "{own:?} {wanted:?} {same}");
        }
    }
}
