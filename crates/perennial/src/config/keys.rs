//! The table of all keys: what `config show` and `config explain` print.

use super::{DETACH_KEYS_VARIABLE, HOSTS, Key, Kind, UsedBy};

/// Every key, in the order in which they are shown.
pub const KEYS: [Key; 18] = [
    Key {
        name: "notify",
        kind: Kind::Command,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "The command that is run when an agent waits for permission, for an answer or in a \
                  first-run dialog, or gives no sign of life when it starts, and when mail comes for the operator \
                  that is not of low priority; empty means none. It is not run for the other agents that \
                  `perennial ls` marks with !. Three arguments follow the command: the agent's name (or \
                  Perennial), the reason (a word such as needs-permission, or mail), and a sentence that tells it.",
        example: r#"notify = ["notify-send", "perennial"]"#,
    },
    Key {
        name: "silent_after_s",
        kind: Kind::Number { least: 0, most: u32::MAX as u64 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "After how many seconds of silence in a turn a session counts as hung; 0 means never.",
        example: "silent_after_s = 1800",
    },
    Key {
        name: "detach_keys",
        kind: Kind::Keys,
        used_by: UsedBy::CommandLine,
        variable: Some(DETACH_KEYS_VARIABLE),
        summary: "The keys that detach from an agent's terminal: a prefix, and the key after it; d if none \
                  is given. The prefix pressed twice detaches, too.",
        example: r#"detach_keys = "C-a d""#,
    },
    Key {
        name: "record_limit_mib",
        kind: Kind::Number { least: 1, most: 4096 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many MiB of a session's output are recorded; older output is dropped.",
        example: "record_limit_mib = 32",
    },
    Key {
        name: "keep_recordings_days",
        kind: Kind::Number { least: 0, most: 36_500 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "For how many days after its last output the recording of an ended session is kept; 0 \
                  means for ever. The recording of an agent's newest session stays until the agent is \
                  buried. Conversations and records are never removed.",
        example: "keep_recordings_days = 90",
    },
    Key {
        name: "keep_snapshots",
        kind: Kind::Number { least: 0, most: 100_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many snapshots of an agent's work tree that nobody asked for are kept at least; a few more may be \
                  there, because old ones are dropped several at a time. 0 means all. The newest snapshot of each work \
                  tree, and that of the agent's last checkpoint, are never dropped.",
        example: "keep_snapshots = 100",
    },
    Key {
        name: "keep_snapshots_days",
        kind: Kind::Number { least: 0, most: 36_500 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "For how many days snapshots that nobody asked for are kept; 0 means for ever. Those that `perennial \
                  snapshot take` and `restore` made are not dropped for their age.",
        example: "keep_snapshots_days = 90",
    },
    Key {
        name: "keep_asked_snapshots",
        kind: Kind::Number { least: 0, most: 100_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many snapshots of an agent's work tree that a person asked for are kept at least; 0 means all.",
        example: "keep_asked_snapshots = 1000",
    },
    Key {
        name: "host",
        kind: Kind::Word(&HOSTS),
        used_by: UsedBy::CommandLine,
        variable: None,
        summary: "What holds the terminals of the agents that `spawn` and `adopt` start: shim, the built-in \
                  holder, or tmux, a pane of your tmux. --host comes before it.",
        example: r#"host = "tmux""#,
    },
    Key {
        name: "children_max",
        kind: Kind::Number { least: 0, most: 1000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many children an agent may have that it starts itself, those that sleep included, until \
                  they are buried; 0 means that agents start no agents.",
        example: "children_max = 4",
    },
    Key {
        name: "depth_max",
        kind: Kind::Number { least: 1, most: 100 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many agents there may be above an agent that an agent starts: 1 means that only \
                  agents without a parent start others.",
        example: "depth_max = 1",
    },
    Key {
        name: "max_running",
        kind: Kind::Number { least: 0, most: 100_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many sessions may run at a time; at the limit a start waits in line, a person's too, until one \
                  ends. 0 means no limit. A lower limit ends no session.",
        example: "max_running = 8",
    },
    Key {
        name: "handoff_deadline_s",
        kind: Kind::Number { least: 1, most: 3600 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many seconds a session has to save its work at a handoff, unless `perennial handoff --deadline` says \
                  otherwise. Then it is ended, with a checkpoint and a snapshot of Perennial's own.",
        example: "handoff_deadline_s = 120",
    },
    Key {
        name: "escalate_after_s",
        kind: Kind::Number { least: 1, most: 31_536_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "After how many seconds an escalation of high severity that nobody has seen is raised one step \
                  higher. With severity medium it takes four times as long, with low sixteen times, with critical \
                  a quarter.",
        example: "escalate_after_s = 300",
    },
    Key {
        name: "raise_loops_after_s",
        kind: Kind::Number { least: 1, most: 31_536_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "After how many seconds somebody is told again of a task that a buried agent left and that nobody has \
                  taken up; then after twice as long, and so on, but at least once a day. It holds for what is told \
                  from then on.",
        example: "raise_loops_after_s = 600",
    },
    Key {
        name: "role",
        kind: Kind::Roles,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "A table for each role: mandate (a text of at most 1024 bytes) or mandate_file (a path), span \
                  (mortal or persistent), overseer (another role), restart (never, on-crash or always), \
                  single_holder, every (how often holders are asked for a round: a span such as 30m, from 1s to 365d, \
                  in a project's perennial.toml from 1m), cycle (a table: after, a number, and unit: assignment, \
                  round, interaction, merge, or operator without a number; interesting, a list of lifecycle-request, \
                  remediation, escalation, complex-rebase, conflict), handoff_at (the percentage of the usable context \
                  window, 75 to 90, at which holders are handed off; 80 where there is a cycle other than operator), budget \
                  (a table: tokens, a number) and verify (word, or trust: a holder's tasks without a check need nobody's \
                  word; only in config.toml) and phase (a table as [phase] is; only in config.toml). A relative mandate_file starts at this file. The \
                  span says what becomes of a holder whose task is verified and that has nothing else to do. The unit merge and the key budget are \
                  read and have no effect yet. `perennial role ls` lists all roles.",
        example: "[role.architect]\nmandate_file = \"mandates/architect.txt\"\nsingle_holder = true",
    },
    Key {
        name: "checks",
        kind: Kind::Checks,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "A command for each check: a program and its arguments, or a table with command and limit (a span \
                  such as 10m). Checks of a project's perennial.toml have to be trusted first: `perennial config \
                  trust`. Tasks name them: `perennial task add --check`.",
        example: "[checks]\nunit = [\"cargo\", \"test\"]",
    },
    Key {
        name: "phase",
        kind: Kind::Phase,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "What the phases of an agent's work are recognised by, besides what is built in: planning and completion \
                  (words of the model, or of a command's output), implementation and testing (words of a command's \
                  output), test_commands (such as \"just check\") and edit_tools (names of tools). With replace = true the \
                  lists that are given stand in place of the built-in ones. harness.NAME has the same lists for the sessions of one \
                  harness (command: those without a preset), and a role's table may have all of it as phase.",
        example: "[phase]\ntest_commands = [\"just check\"]",
    },
];
