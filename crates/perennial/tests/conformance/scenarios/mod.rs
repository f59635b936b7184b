//! The table of scenarios. A new one is a function in the file of its group, and a row here.

mod channels;
mod conversations;
mod ends;
mod mail;
mod persons;
mod tmux;
mod trouble;
mod turns;

use super::Scenario;

const fn row(
    name: &'static str,
    shows: &'static str,
    run: fn(&mut super::stage::Stage) -> super::Seen,
) -> Scenario {
    Scenario { name, shows, is_quick: false, run }
}

const fn quick(scenario: Scenario) -> Scenario {
    Scenario { is_quick: true, ..scenario }
}

/// In the order of the document.
pub const ALL: &[Scenario] = &[
    row("start", "without a prompt it waits for input, and no model is called", turns::start),
    row(
        "prompt",
        "the prompt reaches the model once; the turn is seen from its beginning to its end",
        turns::prompt,
    ),
    quick(row(
        "tool-call",
        "a tool runs, its result reaches the model, `logs` shows both",
        turns::tool_call,
    )),
    row(
        "usage",
        "tokens are those that the model charged, to the token; the clock has a figure",
        turns::usage,
    ),
    row("send", "a text for an idle agent reaches the model once, and counts as seen", turns::send),
    row(
        "permission",
        "a dialog that asks for permission is seen, its person is called, and no text answers it",
        persons::permission,
    ),
    row(
        "interrupt",
        "a person stops a turn: it waits for input and takes the next text",
        persons::interrupt,
    ),
    row(
        "clear",
        "a new conversation in the same session is followed, and is the one that a crash resumes",
        persons::clear,
    ),
    row(
        "compaction",
        "a new context window begins, and the conversation stays",
        persons::compaction,
    ),
    row("quit", "ended by its person, it sleeps as finished and is not restarted", persons::quit),
    row(
        "stop",
        "`stop` ends it without a kill -9, leaves no process, and restarts nothing",
        ends::stop,
    ),
    row(
        "resume",
        "stopped and woken, it has its conversation, and no model is called for that",
        ends::resume,
    ),
    quick(row(
        "kill-in-tool",
        "kill -9 in a tool call: the tool is gone, the conversation goes on, no prompt comes twice",
        ends::kill_in_tool,
    )),
    row(
        "kill-idle",
        "kill -9 while idle: resumed without a model call; the model knows what was said",
        ends::kill_idle,
    ),
    row(
        "lost-file",
        "the vendor lost its file of the conversation: our copy takes its place",
        ends::lost_file,
    ),
    row(
        "adopt",
        "a conversation that the user had with the agent CLI alone goes on as an agent's",
        conversations::adopt,
    ),
    row(
        "fork",
        "a copy of a conversation goes on as another agent's; the original stays as it is",
        conversations::fork,
    ),
    row(
        "neighbours",
        "two agents in one directory, begun and killed at once, each keep their own conversation",
        conversations::neighbours,
    ),
    row("briefing", "the model is told which agent it is", channels::briefing),
    row(
        "notices",
        "the thresholds 50, 75 and 90 % of the clock are told in the conversation, each once",
        channels::notices,
    ),
    row(
        "mail-in-turn",
        "mail that comes in a turn is told with the result of a tool, once",
        mail::in_turn,
    ),
    row("mail-at-end", "mail that comes before a turn ends makes the turn go on", mail::at_end),
    row("mail-idle", "mail to an idle agent begins a turn, and counts as seen", mail::idle),
    row(
        "mail-draft",
        "mail waits for what a person has half typed, leaves it as it is, and follows it",
        mail::draft,
    ),
    row("tools", "the model calls a tool of Perennial's", channels::tools),
    row("cost", "what the tokens cost is known", channels::cost),
    row(
        "side-calls",
        "what the agent CLI asks its model for itself, such as titles, is not counted as the agent's",
        channels::side_calls,
    ),
    row(
        "failed-call",
        "a call that fails for good is told, is no crash, and the next text is answered",
        trouble::failed_call,
    ),
    row(
        "silence",
        "a model that never answers: the session is ended, and its conversation goes on",
        trouble::silence,
    ),
    row(
        "rate-limit",
        "a limit of the model's service is told as such, is no crash, and the next text is answered",
        trouble::rate_limit,
    ),
    quick(row(
        "tmux",
        "in a pane of tmux: a tool call, a person's draft there, kill -9, and the conversation goes on in the same pane",
        tmux::tmux,
    )),
];
