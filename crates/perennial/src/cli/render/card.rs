//! The output of `show`: everything about one agent, the most important first.

use perennial_api::Agent;
use perennial_api::agent::{AgentTask, Context, ContextSymptom, Exit, Usage};
use perennial_api::cleaning::CleanedAgent;
use perennial_engine::harness::preset::Limit;

use super::checkpoint;
use super::paint::Ink;
use super::role;
use super::roster::{Canvas, headline, name, reason};
use super::text::{self, plain};
use super::work;
use crate::kill_signal;

/// What stands in place of something that is not for this caller.
pub const WITHHELD: &str = "(withheld)";

/// How much mail an agent has not seen, if there is any, and where to see it.
pub fn unread_mail(agent: &Agent) -> Option<String> {
    let count = Some(agent.mail_unread).filter(|count| *count > 0)?;
    Some(format!("{count} unread; see perennial mail ls {}", plain(&agent.target)))
}

/// The task that an agent is on, with the step that is open.
fn current_task(task: &AgentTask) -> String {
    let title = text::quotation(&task.title);
    let step = match &task.open_step {
        Some(step) => {
            let at = task.steps_done + 1;
            format!("; step {at} of {}: {}", task.steps, text::quotation(step))
        }
        None => String::new(),
    };
    format!("{} {title}{step}", plain(&task.id))
}

pub fn card(agent: &Agent, limits: &[Limit], canvas: &Canvas<'_>) -> String {
    let mut lines = Lines { canvas, text: String::new() };
    lines.headline(agent);
    lines.row("id", &plain(&agent.id));
    lines.row("why", &reason(agent, canvas.clock));
    lines.evidence(agent);
    if let Some(until) = &agent.until {
        lines.row("until", &canvas.clock.time(until));
    }
    lines.texts(agent);
    lines.optional("mail", unread_mail(agent).as_deref());
    lines.optional("task", agent.task.as_ref().map(current_task).as_deref());
    lines.optional("role", agent.role.as_deref());
    let others = agent.role_also_held_by.join(", ");
    lines.optional("also held by", Some(others.as_str()).filter(|others| !others.is_empty()));
    for (position, line) in agent.mandate.iter().flat_map(|it| it.trim().lines()).enumerate() {
        lines.row(if position == 0 { "mandate" } else { "" }, &plain(line));
    }
    if let Some(rounds) = &agent.rounds {
        lines.row("rounds", &role::rounds(rounds, canvas.clock));
    }
    lines.optional("parent", agent.parent.as_deref());
    let situations = (!agent.situations.is_empty()).then(|| agent.situations.join(", "));
    lines.optional("situations", situations.as_deref());
    let is_dead = agent.roster == "cemetery";
    lines.optional(if is_dead { "last words" } else { "summary" }, agent.summary.as_deref());
    lines.legacies(agent);
    if let Some(cleaned) = &agent.cleaned {
        lines.row("cleaned", &what_went(cleaned, canvas));
    }
    if agent.to_be_buried {
        lines.row("asked", "to be buried when its turn ends");
    }
    for (label, value) in work::rows(agent, canvas.clock) {
        lines.row(label, &value);
    }
    if let Some(last) = &agent.checkpoint {
        lines.row("checkpoint", &checkpoint::line(last, canvas));
    }
    lines.session(agent);
    lines.harness(agent);
    lines.row("command", &command(agent));
    lines.row("dir", &text::path(&agent.dir, canvas.user));
    if !agent.pending.is_empty() {
        let what = plain(&agent.pending.join(" and "));
        lines.row("pending", &format!("{what} changed; from the next session on"));
    }
    // The project of a repository is known by its git directory; people know it by its tree.
    let project = text::project(&agent.project);
    if project != agent.dir {
        lines.row("project", &text::path(project, canvas.user));
    }
    lines.row("restart", &format!("{}, {}", plain(&agent.restart), restarts(agent.respawn_count)));
    lines.row("harness", &harness(agent));
    for Limit { what, why, scenario: _ } in limits {
        lines.row("", &format!("not with {}: {what} ({why})", plain(&agent.harness)));
    }
    lines.row("host", &host(agent));
    let moment =
        |moment: &str| format!("{} ({} ago)", canvas.clock.time(moment), canvas.clock.ago(moment));
    lines.row("created", &moment(&agent.created_at));
    if let Some(seen) = &agent.last_seen {
        lines.row("last seen", &moment(seen));
    }
    if let Some(activity) = &agent.last_activity {
        lines.row("last active", &moment(activity));
    }
    lines.text
}

/// When it was cleaned, and what was removed.
fn what_went(cleaned: &CleanedAgent, canvas: &Canvas<'_>) -> String {
    let counted = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let recordings = counted(cleaned.recordings, "recording", "recordings");
    let copies =
        counted(cleaned.conversations, "copy of a conversation", "copies of conversations");
    let parts: Vec<String> = [recordings, copies].into_iter().flatten().collect();
    let at = canvas.clock.time(&cleaned.at);
    match parts.is_empty() {
        true => format!("{at}: nothing was removed yet"),
        false => format!("{at}: removed {} ({})", parts.join(" and "), text::size(cleaned.bytes)),
    }
}

/// Where its terminal is, and how to see it there.
fn host(agent: &Agent) -> String {
    match crate::cli::tmux::attach_command(agent) {
        Some(attach) => format!(
            "{}, session {}; to see it: {}; if its pane is closed: perennial pane {}",
            plain(&agent.host),
            plain(agent.tmux_session.as_deref().unwrap_or_default()),
            plain(&attach),
            name(agent),
        ),
        None => plain(&agent.host),
    }
}

struct Lines<'a> {
    canvas: &'a Canvas<'a>,
    text: String,
}

impl Lines<'_> {
    fn row(&mut self, label: &str, value: &str) {
        const INDENT: usize = 15;
        let value = text::wrapped(value, INDENT, INDENT, self.canvas.width);
        let label = self.canvas.paint.ink(Ink::Faint, &format!("{label:<12}"));
        self.text.push_str(&format!("  {label} {value}\n"));
    }

    fn optional(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.row(label, &plain(value));
        }
    }

    fn headline(&mut self, agent: &Agent) {
        let paint = self.canvas.paint;
        let calling = if agent.needs_you {
            paint.ink(Ink::Attention, " — needs you")
        } else {
            String::new()
        };
        self.text.push_str(&format!("{}{calling}\n", headline(agent, self.canvas)));
    }

    fn evidence(&mut self, agent: &Agent) {
        if !agent.evidence.fact.is_empty() {
            self.row("evidence", &evidence(agent, self.canvas));
        }
    }

    fn texts(&mut self, agent: &Agent) {
        let waiting = match agent.texts_waiting {
            0 => return,
            1 => "1 waiting".to_owned(),
            count => format!("{count} waiting"),
        };
        let sent = format!("perennial sent {}", name(agent));
        self.row("texts", &format!("{waiting}; see {sent}"));
    }

    fn legacies(&mut self, agent: &Agent) {
        let kinds: Vec<String> = agent.legacies.iter().map(|one| plain(&one.kind)).collect();
        if !kinds.is_empty() {
            let read = format!("perennial legacy {}", plain(&agent.target));
            self.row("legacies", &format!("{}; see {read}", kinds.join(", ")));
        }
    }

    /// What an agent CLI shows of itself; nothing for a bare command.
    fn harness(&mut self, agent: &Agent) {
        self.optional("model", agent.model.as_deref());
        self.optional("permissions", agent.permission_mode.as_deref());
        if let Some(context) = &agent.context {
            self.row("context", &context_bar(context));
        }
        if let Some(symptom) = &agent.symptom {
            self.row("noticed", &noticed(symptom));
        }
        if let Some(usage) = &agent.usage {
            self.row("tokens", &usage_line(usage));
        }
        for (position, conversation) in agent.conversations.iter().enumerate() {
            let label = if position == 0 { "conversation" } else { "earlier" };
            self.row(label, &plain(conversation));
        }
    }

    fn session(&mut self, agent: &Agent) {
        let clock = self.canvas.clock;
        if let Some(session) = &agent.session {
            let mut text = format!("{}, {}", session.number, plain(&session.phase));
            if let Some(pid) = session.pid {
                text.push_str(&format!(", pid {pid}"));
            }
            if let Some(started) = &session.started_at {
                text.push_str(&format!(", started {}", clock.time(started)));
            }
            if let Some(ended) = &session.ended_at {
                text.push_str(&format!(", ended {}", clock.time(ended)));
            }
            self.row("session", &text);
            if let Some(end) = &session.exit {
                self.row("exit", &exit(end));
            }
        }
        if let Some(predecessor) = &agent.predecessor_id {
            let end = agent
                .previous_exit
                .as_ref()
                .map_or_else(String::new, |end| format!(", {}", exit(end)));
            self.row("previous", &format!("{}{end}", plain(predecessor)));
        }
    }
}

/// The clock as a bar of ten, with its figures.
fn context_bar(context: &Context) -> String {
    let filled = usize::try_from(context.usable_percent.min(100) / 10).unwrap_or(10);
    let bar = "█".repeat(filled) + &"░".repeat(10 - filled);
    let whole = if context.usable < context.window {
        format!(" ({} % of all {})", context.percent, context.window)
    } else {
        String::new()
    };
    let percent = context.usable_percent;
    let tokens = format!("{percent} % of {} usable tokens{whole}", context.usable);
    match context.source.as_str() {
        // A share is all that was said.
        "self-reported" => format!("{bar} {percent} %, reported by the agent"),
        "estimated" => format!("{bar} {tokens}, estimated"),
        "status-line" => format!("{bar} {tokens}, by its status line"),
        "transcript" => format!("{bar} {tokens}, by its transcript"),
        "model-table" => format!("{bar} {tokens}, by its transcript and the table of models"),
        other => format!("{bar} {tokens}, by {}", plain(other)),
    }
}

/// The last sign of a full window, in words.
fn noticed(symptom: &ContextSymptom) -> String {
    let compactions = match symptom.compactions {
        0 => String::new(),
        1 => ", compacted once in this session".to_owned(),
        count => format!(", compacted {count} times in this session"),
    };
    format!("{} (urgency {}{compactions})", plain(&symptom.told), plain(&symptom.urgency))
}

fn usage_line(usage: &Usage) -> String {
    let cost = usage.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    let partial = if usage.partial { "at least " } else { "" };
    format!(
        "{partial}{} in, {} out, {} read from cache, {} written to cache{cost}",
        usage.input, usage.output, usage.cache_read, usage.cache_write
    )
}

/// The agent CLI, or that there is none.
fn harness(agent: &Agent) -> String {
    match agent.harness.as_str() {
        BARE_HARNESS => "bare command".to_owned(),
        name => plain(name),
    }
}

/// The harness of a bare command, which has a terminal and no conversation.
pub const BARE_HARNESS: &str = "command";

/// The command line, if the caller may see it.
pub fn command(agent: &Agent) -> String {
    match is_withheld(agent, "argv") {
        true => WITHHELD.to_owned(),
        false => text::command(&agent.argv),
    }
}

fn is_withheld(agent: &Agent, member: &str) -> bool {
    agent.withheld.iter().any(|one| one == member)
}

/// What was seen, by whom, when.
pub fn evidence(agent: &Agent, canvas: &Canvas<'_>) -> String {
    let evidence = &agent.evidence;
    let details = if is_withheld(agent, "evidence.fact") { "; details withheld" } else { "" };
    format!(
        "{}{details} ({}, {})",
        plain(&evidence.fact),
        plain(&evidence.witness),
        canvas.clock.time(&evidence.at)
    )
}

fn restarts(count: u64) -> String {
    match count {
        0 => "never restarted".to_owned(),
        1 => "restarted once".to_owned(),
        count => format!("restarted {count} times"),
    }
}

/// How a session ended.
pub fn exit(exit: &Exit) -> String {
    match (exit.code, exit.signal, &exit.unknown) {
        (Some(code), _, _) => format!("exit code {code}"),
        (None, Some(signal), _) => format!("killed by {}", kill_signal::name(signal)),
        (None, None, Some(why)) => match why.as_str() {
            "holder-died" => "unknown, because its holder was killed".to_owned(),
            "machine-restarted" => "unknown, because the machine restarted".to_owned(),
            "home-copied" => "unknown, because the home was copied".to_owned(),
            "not-started" => "it never started".to_owned(),
            // From a newer daemon.
            other => format!("unknown ({})", plain(other)),
        },
        (None, None, None) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::roster::sample;
    use crate::cli::render::time::fixed;

    fn drawn(agent: &Agent) -> String {
        let clock = fixed();
        card(agent, &[], &Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None })
    }

    #[test]
    fn one_that_works() {
        insta::assert_snapshot!(drawn(&sample::working()));
    }

    #[test]
    fn one_that_needs_you() {
        insta::assert_snapshot!(drawn(&sample::crashed()));
    }

    #[test]
    fn an_agent_cli_at_80_columns() {
        let clock = fixed();
        let agent = Agent {
            context: Some(Context {
                tokens: 125_251,
                window: 200_000,
                usable: 167_000,
                percent: 62,
                usable_percent: 75,
                source: "status-line".into(),
                ..Context::default()
            }),
            usage: Some(Usage { input: 1200, output: 345, partial: true, ..Usage::default() }),
            summary: Some("the parser is done, and its tests pass; next is the printer".into()),
            conversations: vec!["0b5c0a1e-6d53-8c1f-9a77-2f4f1d6a0c3b".into()],
            texts_waiting: 2,
            harness: "claude".into(),
            argv: ["claude", "--append-system-prompt", "be brief, and ask before you push"]
                .map(str::to_owned)
                .into(),
            ..sample::working()
        };
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let drawn = card(&agent, &[], &canvas);
        assert!(drawn.lines().all(|line| text::width(line) <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn an_agent_of_a_daemon_that_says_nearly_nothing() {
        let bare: Agent = serde_json::from_str(r#"{"id":"agt_9","state":"new-word"}"#).unwrap();
        let shown = drawn(&bare);
        assert!(shown.starts_with("agt_9 has been new-word for "), "{shown}");
    }

    #[test]
    fn what_is_withheld_is_said() {
        let agent = Agent {
            argv: Vec::new(),
            withheld: ["argv", "env_names", "evidence.fact"].map(str::to_owned).into(),
            ..sample::working()
        };
        let shown = drawn(&agent);
        assert!(shown.contains("command      (withheld)\n"), "{shown}");
        assert!(shown.contains("started as pid 4711; details withheld (kernel, "), "{shown}");
    }

    #[test]
    fn exits() {
        for (text, shown) in [
            (r#"{"code":0}"#, "exit code 0"),
            (r#"{"signal":9}"#, "killed by SIGKILL"),
            (r#"{"signal":99}"#, "killed by signal 99"),
            (r#"{"unknown":"holder-died"}"#, "unknown, because its holder was killed"),
            ("{}", "unknown"),
        ] {
            assert_eq!(exit(&serde_json::from_str(text).unwrap()), shown);
        }
    }
}
