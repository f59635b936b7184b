//! What the phases of work are recognised by: words, commands and tools, as data.
//!
//! The built-in rules hold for every harness: the names of the vendors' tools do not collide. The operator adds to them or
//! replaces them: for all agents, for a harness, for a role. Rules name what is seen; they never run anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::WorkPhase;
use super::tool_names::{self, ToolDoes};
use crate::name::NameKey;

/// Words, commands or tools that one list of the operator's may have, and how long one may be.
pub const WORDS_MAX: usize = 50;
const WORD_BYTES_MAX: usize = 100;

/// The tools of agent CLIs that change a file, whosever they are.
const EDIT_TOOLS: [&str; 9] = [
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "apply_patch",
    "write_file",
    "replace",
    "edit_file",
    "create_file",
];
/// Those that run a command.
const SHELL_TOOLS: [&str; 8] = [
    "Bash",
    "exec_command",
    "shell",
    "local_shell",
    "shell_command",
    "exec",
    "run_shell_command",
    "container.exec",
];
/// Those that make a list of tasks, or end with a plan.
const PLAN_TOOLS: [&str; 6] =
    ["TodoWrite", "TaskCreate", "ExitPlanMode", "update_plan", "write_todos", "exit_plan_mode"];
/// Those that hand work to a subagent.
const DELEGATE_TOOLS: [&str; 4] = ["Task", "Agent", "spawn_agent", "delegate_to_agent"];
/// Subagents whose name has one of these in it look around or plan; any other implements.
const SCOUTS: [&str; 6] = ["explor", "plan", "research", "investig", "review", "search"];
/// Those whose name has one of these in it test.
const TESTERS: [&str; 3] = ["test", "tdd", "qa"];

/// The seed's own words first. Letters of either case.
const PLANNING_WORDS: [&str; 6] = [
    "here is my plan",
    "here's my plan",
    "here is the plan",
    "here's the plan",
    "now planning",
    "my plan is",
];
const COMPLETION_WORDS: [&str; 11] = [
    "all tests pass",
    "all green",
    "all tests are passing",
    "implementation is complete",
    "implementation complete",
    "task is complete",
    "task complete",
    "work is complete",
    "the fix is complete",
    "successfully implemented",
    "everything is done",
];
/// What agents without a preset print when they change a file.
const IMPLEMENTATION_WORDS: [&str; 4] =
    ["applied edit to ", "editing file ", "wrote file ", "updated file "];
/// What test runners print when they begin.
const TESTING_WORDS: [&str; 4] = ["test session starts", "running tests", "=== run ", "run  v"];

/// Commands that run tests. A word may be followed by anything; options before it do not count.
const TEST_COMMANDS: [&str; 73] = [
    "cargo test",
    "cargo t",
    "cargo nextest",
    "cargo xtask test",
    "pytest",
    "py.test",
    "python -m pytest",
    "python -m unittest",
    "python manage.py test",
    "python runtests.py",
    "runtests.py",
    "python setup.py test",
    "go test",
    "gotestsum",
    "npm test",
    "npm t",
    "npm run test",
    "npm run-script test",
    "yarn test",
    "yarn run test",
    "pnpm test",
    "pnpm run test",
    "pnpm t",
    "bun test",
    "bun run test",
    "deno test",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "playwright test",
    "mvn test",
    "mvn verify",
    "mvnw test",
    "mvnw verify",
    "gradle test",
    "gradle check",
    "gradlew test",
    "gradlew check",
    "ctest",
    "make test",
    "make check",
    "ninja test",
    "rspec",
    "rake test",
    "rails test",
    "phpunit",
    "composer test",
    "dotnet test",
    "mix test",
    "swift test",
    "tox",
    "nox",
    "bazel test",
    "just test",
    "node --test",
    "nosetests",
    "nose2",
    "make tests",
    "meson test",
    "zig test",
    "zig build test",
    "sbt test",
    "stack test",
    "cabal test",
    "lein test",
    "flutter test",
    "dart test",
    "bats",
    "prove",
    "cypress run",
    "wasm-pack test",
    "python -m doctest",
];

/// What is recognised, for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseRules {
    /// In lower case.
    pub planning: Vec<String>,
    /// Of terminals only: a model's words about editing or testing are not yet the deed.
    pub implementation: Vec<String>,
    pub testing: Vec<String>,
    pub completion: Vec<String>,
    pub test_commands: Vec<Vec<String>>,
    pub edit_tools: Vec<String>,
    pub shell_tools: Vec<String>,
    pub plan_tools: Vec<String>,
    pub delegate_tools: Vec<String>,
    /// The operator's list is all that edits: names of other tools say nothing.
    are_edit_tools_listed: bool,
}

/// What the operator changes about the rules. Each list adds to the built-in one, or replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table with the keys of phase")]
pub struct RuleChanges {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planning: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementation: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub testing: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completion: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_commands: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edit_tools: Vec<String>,
    /// What is changed besides for the sessions of a harness.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub harness: BTreeMap<String, RuleChanges>,
    /// The lists that are given stand in place of the built-in ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

impl Default for PhaseRules {
    fn default() -> PhaseRules {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        PhaseRules {
            planning: list(&PLANNING_WORDS),
            implementation: list(&IMPLEMENTATION_WORDS),
            testing: list(&TESTING_WORDS),
            completion: list(&COMPLETION_WORDS),
            test_commands: TEST_COMMANDS.iter().map(|command| words_of(command)).collect(),
            edit_tools: list(&EDIT_TOOLS),
            shell_tools: list(&SHELL_TOOLS),
            plan_tools: list(&PLAN_TOOLS),
            delegate_tools: list(&DELEGATE_TOOLS),
            are_edit_tools_listed: false,
        }
    }
}

impl PhaseRules {
    /// The same with what the operator changes.
    pub fn with(mut self, changes: &RuleChanges) -> PhaseRules {
        let replace = changes.replace;
        let lower = |words: &[String]| words.iter().map(|word| word.to_lowercase()).collect();
        amend(&mut self.planning, lower(&changes.planning), replace);
        amend(&mut self.implementation, lower(&changes.implementation), replace);
        amend(&mut self.testing, lower(&changes.testing), replace);
        amend(&mut self.completion, lower(&changes.completion), replace);
        let commands = changes.test_commands.iter().map(|command| words_of(command)).collect();
        amend(&mut self.test_commands, commands, replace);
        amend(&mut self.edit_tools, changes.edit_tools.clone(), replace);
        self.are_edit_tools_listed |= replace && !changes.edit_tools.is_empty();
        self
    }

    /// What a tool does that is in none of the lists, by its name.
    pub fn does(&self, tool: &str) -> Option<ToolDoes> {
        let lists = [&self.edit_tools, &self.shell_tools, &self.plan_tools, &self.delegate_tools];
        let is_listed = lists.into_iter().flatten().any(|name| name == tool);
        let does = tool_names::does(tool).filter(|_| !is_listed);
        does.filter(|does| *does != ToolDoes::Edits || !self.are_edit_tools_listed)
    }

    /// The phase that a subagent of this name works in, where it takes the work on. Who only looks around leaves the
    /// lead's phase as it is.
    pub fn delegated(&self, subagent: &str) -> Option<WorkPhase> {
        let name = subagent.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&TESTERS) {
            Some(WorkPhase::Testing)
        } else if has(&SCOUTS) {
            None
        } else {
            Some(WorkPhase::Implementation)
        }
    }
}

impl RuleChanges {
    /// What is wrong with them, for the one who wrote them.
    pub fn mistake(&self) -> Option<String> {
        let lists = [
            ("planning", &self.planning),
            ("implementation", &self.implementation),
            ("testing", &self.testing),
            ("completion", &self.completion),
            ("test_commands", &self.test_commands),
            ("edit_tools", &self.edit_tools),
        ];
        let of_harness = self.harness.iter().find_map(|(name, changes)| {
            let is_nested = !changes.harness.is_empty();
            let nested = is_nested.then(|| "harness has no table of its own".to_owned());
            nested.or_else(|| changes.mistake()).map(|why| format!("harness.{name}: {why}"))
        });
        let of_lists = lists.into_iter().find_map(|(key, list)| {
            if list.len() > WORDS_MAX {
                return Some(format!("{key} may have at most {WORDS_MAX} entries"));
            }
            let is_bad = |word: &&String| word.trim().len() < 2 || word.len() > WORD_BYTES_MAX;
            list.iter()
                .any(|word| is_bad(&word))
                .then(|| format!("an entry of {key} must have from 2 to {WORD_BYTES_MAX} bytes"))
        });
        of_lists.or(of_harness)
    }
}

/// The rules of all agents: the built-in ones with the operator's changes, those for a harness, and those for a role. Each
/// is there once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleBook {
    all: Arc<PhaseRules>,
    /// By role and harness; without one, for those that nothing is said of.
    particular: BTreeMap<(Option<NameKey>, Option<String>), Arc<PhaseRules>>,
}

impl RuleBook {
    pub fn new(all: &RuleChanges, roles: &BTreeMap<NameKey, RuleChanges>) -> RuleBook {
        let named = std::iter::once(all).chain(roles.values()).flat_map(|it| it.harness.keys());
        let harnesses: BTreeSet<Option<&str>> =
            named.map(|name| Some(name.as_str())).chain([None]).collect();
        let mut book = RuleBook::default();
        for harness in harnesses {
            let of = |rules: PhaseRules, changes: &RuleChanges| {
                let of_harness = harness.and_then(|name| changes.harness.get(name));
                of_harness.into_iter().fold(rules.with(changes), PhaseRules::with)
            };
            let rules = of(PhaseRules::default(), all);
            let key = |role: Option<&NameKey>| (role.cloned(), harness.map(str::to_owned));
            for (role, changes) in roles {
                let of_role = Arc::new(of(rules.clone(), changes));
                book.particular.insert(key(Some(role)), of_role);
            }
            book.particular.insert(key(None), Arc::new(rules));
        }
        book.all = book.rules(None, "");
        book
    }

    /// What holds for an agent with this role in this harness.
    pub fn rules(&self, role: Option<&str>, harness: &str) -> Arc<PhaseRules> {
        let is_known = |role: &NameKey| self.particular.contains_key(&(Some(role.clone()), None));
        let role = role.map(NameKey::of).filter(is_known);
        let of = |harness: Option<&str>| {
            self.particular.get(&(role.clone(), harness.map(str::to_owned)))
        };
        Arc::clone(of(Some(harness)).or_else(|| of(None)).unwrap_or(&self.all))
    }
}

fn amend<T>(list: &mut Vec<T>, changes: Vec<T>, replace: bool) {
    if changes.is_empty() {
        return;
    }
    if replace {
        list.clear();
    }
    list.extend(changes);
}

fn words_of(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_to_a_list_or_replace_it_and_leave_the_others() {
        let changes = RuleChanges {
            planning: vec!["Mein Plan".to_owned()],
            test_commands: vec!["just  check".to_owned()],
            ..RuleChanges::default()
        };
        let built_in = PhaseRules::default();
        let added = built_in.clone().with(&changes);
        assert_eq!(added.planning.len(), built_in.planning.len() + 1);
        assert_eq!(added.planning.last().unwrap(), "mein plan");
        assert_eq!(added.test_commands.last().unwrap(), &["just", "check"]);
        let replaced = built_in.clone().with(&RuleChanges { replace: true, ..changes });
        assert_eq!(replaced.planning, ["mein plan"]);
        assert_eq!(replaced.completion, built_in.completion);
        // Who replaces the list of tools that edit means it: names say nothing then.
        assert_eq!(replaced.does("mcp__x__write_file"), Some(ToolDoes::Edits));
        let edit_tools = vec!["my_edit".to_owned()];
        let mine = RuleChanges { replace: true, edit_tools, ..RuleChanges::default() };
        let mine = built_in.clone().with(&mine);
        assert_eq!(mine.does("mcp__x__write_file"), None);
        assert_eq!(mine.does("run_tests"), Some(ToolDoes::RunsTests));
        // Who adds to it says nothing about other tools.
        let one_more = RuleChanges { edit_tools: vec!["my_edit".to_owned()], ..Default::default() };
        assert_eq!(
            built_in.clone().with(&one_more).does("mcp__x__write_file"),
            Some(ToolDoes::Edits)
        );
        // Each list is its own.
        let own = |word: &str| vec![word.to_owned()];
        let each = built_in.clone().with(&RuleChanges {
            implementation: own("Patched"),
            testing: own("Tried"),
            completion: own("Ready"),
            replace: true,
            ..RuleChanges::default()
        });
        let lists = [each.implementation, each.testing, each.completion];
        assert_eq!(lists, [own("patched"), own("tried"), own("ready")]);
        assert_eq!(each.planning, built_in.planning);
        // A list says more than a name.
        assert_eq!(built_in.does("write_todos"), None);
        assert_eq!(built_in.does("edit_file"), None);
    }

    #[test]
    fn what_is_said_of_a_harness_holds_for_its_sessions_and_of_a_role_for_its_holders() {
        let plan = |word: &str| RuleChanges { planning: vec![word.into()], ..Default::default() };
        let harness = |name: &str, word| BTreeMap::from([(name.to_owned(), plan(word))]);
        let all = RuleChanges { harness: harness("codex", "of codex"), ..plan("of all") };
        let role = RuleChanges { harness: harness("gemini", "of both"), ..plan("of the role") };
        let book = RuleBook::new(&all, &BTreeMap::from([(NameKey::of("Scout"), role)]));
        let built_in = PhaseRules::default().planning.len();
        for (role, harness, words) in [
            (None, "claude", &["of all"][..]),
            (Some("nobody's"), "claude", &["of all"]),
            (None, "codex", &["of all", "of codex"]),
            (Some("scout"), "claude", &["of all", "of the role"]),
            (Some("scout"), "codex", &["of all", "of codex", "of the role"]),
            (Some("scout"), "gemini", &["of all", "of the role", "of both"]),
        ] {
            assert_eq!(
                &book.rules(role, harness).planning[built_in..],
                words,
                "{role:?} {harness}"
            );
        }
        assert_eq!(*RuleBook::default().rules(Some("scout"), "codex"), PhaseRules::default());
    }

    #[test]
    fn lists_are_bounded() {
        let of = |testing| RuleChanges { testing, ..RuleChanges::default() };
        for list in [vec!["ok".to_owned(); WORDS_MAX], vec!["x".repeat(WORD_BYTES_MAX)]] {
            assert_eq!(of(list).mistake(), None);
        }
        for list in [vec!["ab".to_owned(); WORDS_MAX + 1], vec!["x".repeat(101)], vec![" ".into()]]
        {
            let within = BTreeMap::from([("codex".to_owned(), of(list.clone()))]);
            assert!(of(list).mistake().unwrap().contains("testing"));
            let harness = RuleChanges { harness: within, ..RuleChanges::default() };
            assert!(harness.mistake().unwrap().contains("harness.codex: "));
            let nested = BTreeMap::from([("codex".to_owned(), harness)]);
            let nested = RuleChanges { harness: nested, ..RuleChanges::default() };
            assert!(nested.mistake().unwrap().contains("no table of its own"));
        }
    }

    #[test]
    fn a_subagents_name_tells_what_it_is_for() {
        let rules = PhaseRules::default();
        assert_eq!(rules.delegated("tdd-test-engineer"), Some(WorkPhase::Testing));
        assert_eq!(rules.delegated("Explore"), None);
        assert_eq!(rules.delegated("backend-developer"), Some(WorkPhase::Implementation));
    }
}
