//! The routes of the surface: every one, by method and path.
//!
//! The daemon's router and the OpenAPI document are both made from this table, so that neither has a
//! route that the other lacks.

/// A route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    ListAgents,
    Spawn,
    ShowAgent,
    Why,
    Stop,
    StopAll,
    Wake,
    Restart,
    Handoff,
    Set,
    Rename,
    Bury,
    Prune,
    Send,
    ListSent,
    ShowMessage,
    Withdraw,
    Ticket,
    Logs,
    Recording,
    Screen,
    Steps,
    ListEvents,
    Feed,
    ListPosts,
    Post,
    ShowPost,
    ListRoles,
    AssumeRole,
    TransferRole,
    DropRole,
    DismissVacancy,
    ListLegacies,
    Leave,
    Report,
    Prime,
    Briefing,
    Handoffs,
    ListMail,
    SendMail,
    ReadMail,
    ListTasks,
    ShowTask,
    Task,
    Hook,
    StatusLine,
    Mcp,
    Health,
    Down,
    OpenApi,
    Clean,
    Graph,
    ListSignals,
    SendSignal,
    ListEscalations,
    Escalate,
    ListSnapshots,
    TakeSnapshot,
    ShowSnapshot,
    DiffSnapshot,
    RestoreSnapshot,
    ListCheckpoints,
    TakeCheckpoint,
    ShowCheckpoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

/// Method, path and summary.
type Card = (Method, &'static str, &'static str);

const STOP: Card =
    (Method::Post, "/v1/agents/{target}/stop", "Stop an agent's session; the agent sleeps");
const BURY: Card =
    (Method::Post, "/v1/agents/{target}/bury", "End an agent for good; its record is kept");
const PRUNE: Card =
    (Method::Post, "/v1/prune", "Remove recordings of ended sessions, or list them");
const LIST_SENT: Card =
    (Method::Get, "/v1/agents/{target}/sent", "List the texts to an agent, newest first");
const RESTART: Card = (
    Method::Post,
    "/v1/agents/{target}/restart",
    "End an agent's session, if it has one, and start the next",
);
const HANDOFF: Card = (
    Method::Post,
    "/v1/agents/{target}/handoff",
    "Have an agent's session save its work and give way to the next",
);
const LIST_ROLES: Card = (Method::Get, "/v1/roles", "List roles, with holders and vacancies");
const ASSUME_ROLE: Card = (Method::Post, "/v1/agents/{target}/role", "Give an agent a role");
const TRANSFER_ROLE: Card =
    (Method::Post, "/v1/agents/{target}/role/transfer", "Hand an agent's role over to another");
const DROP_ROLE: Card =
    (Method::Post, "/v1/agents/{target}/role/drop", "Take an agent's role from it");

const DISMISS_VACANCY: Card =
    (Method::Post, "/v1/roles/{role}/dismiss", "Dismiss the vacancy of a role");

const SHOW_POST: Card = (Method::Get, "/v1/board/{id}", "Show one post with its text");
const STATUS_LINE: Card = (
    Method::Post,
    "/v1/statusline",
    "Take the input of an agent CLI's status line; for sessions only",
);
const MCP: Card =
    (Method::Post, "/v1/mcp", "Take one message of the Model Context Protocol; for sessions only");
const LIST_LEGACIES: Card =
    (Method::Get, "/v1/agents/{target}/legacy", "Read what an agent left behind");
const LEAVE: Card =
    (Method::Post, "/v1/legacy", "Leave a text for those who come after the caller");
const PRIME: Card =
    (Method::Get, "/v1/agents/{target}/prime", "Read what an agent's session is told at its start");
const BRIEFING: Card = (
    Method::Get,
    "/v1/agents/{target}/briefing",
    "Read what an agent's next session is told of the work",
);
const HANDOFFS: Card =
    (Method::Get, "/v1/handoffs", "Read how much sessions found out again that took over work");
const LIST_MAIL: Card = (Method::Get, "/v1/mail", "List mail, newest first");
const SEND_MAIL: Card = (Method::Post, "/v1/mail", "Send a mail");
const HOOK: Card =
    (Method::Post, "/v1/hook", "Take a call of an agent CLI's hook; for sessions only");
const LOGS: Card =
    (Method::Get, "/v1/agents/{target}/logs", "Read what an agent's terminal showed, as bytes");
const STEPS: Card =
    (Method::Get, "/v1/agents/{target}/steps", "Read an agent's conversations, step by step");
const TICKET: Card =
    (Method::Post, "/v1/agents/{target}/ticket", "Get a ticket to an agent's terminal");
const WAKE: Card =
    (Method::Post, "/v1/agents/{target}/wake", "Start the next session of a sleeping agent");
const LIST_TASKS: Card = (Method::Get, "/v1/tasks", "List tasks, those added last first");
const SHOW_TASK: Card = (Method::Get, "/v1/tasks/{id}", "Show a task with its text and notes");
const TASK: Card = (Method::Post, "/v1/tasks", "Add a task, or do something with one");
const READ_MAIL: Card = (Method::Post, "/v1/mail/read", "Read mails; your own count as read");
const LIST_SNAPSHOTS: Card = (
    Method::Get,
    "/v1/agents/{target}/snapshots",
    "List the snapshots of an agent's work tree, newest first",
);
const TAKE_SNAPSHOT: Card =
    (Method::Post, "/v1/agents/{target}/snapshots", "Take a snapshot of an agent's work tree");
const SHOW_SNAPSHOT: Card = (Method::Get, "/v1/agents/{target}/snapshot", "Show one snapshot");
const DIFF_SNAPSHOT: Card = (
    Method::Get,
    "/v1/agents/{target}/snapshot/diff",
    "Tell what changed in the work tree since a snapshot",
);
const LIST_CHECKPOINTS: Card =
    (Method::Get, "/v1/agents/{target}/checkpoints", "List an agent's checkpoints, newest first");
const TAKE_CHECKPOINT: Card = (
    Method::Post,
    "/v1/agents/{target}/checkpoints",
    "Record where an agent's work stands, with a snapshot of its work tree",
);
const SHOW_CHECKPOINT: Card =
    (Method::Get, "/v1/agents/{target}/checkpoint", "Show one checkpoint");
const RESTORE_SNAPSHOT: Card =
    (Method::Post, "/v1/agents/{target}/restore", "Put the files of a snapshot back");

const LIST_AGENTS: Card =
    (Method::Get, "/v1/agents", "List agents: who needs you first, then by roster and name");
const LIST_SIGNALS: Card = (Method::Get, "/v1/signals", "List signals, or wait for one");
const SEND_SIGNAL: Card = (Method::Post, "/v1/signals", "Send a signal");
const LIST_ESCALATIONS: Card = (Method::Get, "/v1/escalations", "List escalations, newest first");
const ESCALATE: Card = (Method::Post, "/v1/escalations", "Have a matter looked at");

const CLEAN: Card = (
    Method::Post,
    "/v1/agents/{target}/clean",
    "Remove what takes up room of a dead agent, or list it",
);
const GRAPH: Card = (Method::Get, "/v1/graph", "Query the entity graph: who did what, by session");

impl Route {
    pub const ALL: [Route; 64] = [
        Route::ListAgents,
        Route::Spawn,
        Route::ShowAgent,
        Route::Why,
        Route::Stop,
        Route::StopAll,
        Route::Wake,
        Route::Restart,
        Route::Handoff,
        Route::Set,
        Route::Rename,
        Route::Bury,
        Route::Prune,
        Route::Send,
        Route::ListSent,
        Route::ShowMessage,
        Route::Withdraw,
        Route::Ticket,
        Route::Logs,
        Route::Recording,
        Route::Screen,
        Route::Steps,
        Route::ListEvents,
        Route::Feed,
        Route::ListPosts,
        Route::Post,
        Route::ShowPost,
        Route::ListRoles,
        Route::AssumeRole,
        Route::TransferRole,
        Route::DropRole,
        Route::DismissVacancy,
        Route::ListLegacies,
        Route::Leave,
        Route::Report,
        Route::Prime,
        Route::Briefing,
        Route::Handoffs,
        Route::ListMail,
        Route::SendMail,
        Route::ReadMail,
        Route::ListTasks,
        Route::ShowTask,
        Route::Task,
        Route::Hook,
        Route::StatusLine,
        Route::Mcp,
        Route::Health,
        Route::Down,
        Route::OpenApi,
        Route::Clean,
        Route::Graph,
        Route::ListSignals,
        Route::SendSignal,
        Route::ListEscalations,
        Route::Escalate,
        Route::ListSnapshots,
        Route::TakeSnapshot,
        Route::ShowSnapshot,
        Route::DiffSnapshot,
        Route::RestoreSnapshot,
        Route::ListCheckpoints,
        Route::TakeCheckpoint,
        Route::ShowCheckpoint,
    ];

    pub fn method(self) -> Method {
        self.card().0
    }

    /// With `{target}` for an agent and `{id}` for a message or post.
    pub fn path(self) -> &'static str {
        self.card().1
    }

    /// What it does, in a line.
    pub fn summary(self) -> &'static str {
        self.card().2
    }

    fn card(self) -> Card {
        use Method::{Get, Post};
        match self {
            Route::ListAgents => LIST_AGENTS,
            Route::Spawn => (Post, "/v1/agents", "Start a new agent"),
            Route::ShowAgent => (Get, "/v1/agents/{target}", "Show one agent"),
            Route::Why => (Get, "/v1/agents/{target}/why", "Tell why an agent is in its state"),
            Route::Stop => STOP,
            Route::StopAll => (Post, "/v1/stop-all", "Stop every agent"),
            Route::Wake => WAKE,
            Route::Restart => RESTART,
            Route::Handoff => HANDOFF,
            Route::Set => (Post, "/v1/agents/{target}/set", "Change an agent's settings"),
            Route::Rename => (Post, "/v1/agents/{target}/rename", "Give an agent another name"),
            Route::Bury => BURY,
            Route::Prune => PRUNE,
            Route::Send => (Post, "/v1/agents/{target}/send", "Send an agent a text"),
            Route::ListSent => LIST_SENT,
            Route::ShowMessage => (Get, "/v1/messages/{id}", "Show a text's progress"),
            Route::Withdraw => (Post, "/v1/messages/{id}/withdraw", "Take back a text that waits"),
            Route::Ticket => TICKET,
            Route::Logs => LOGS,
            Route::Recording => (Get, "/v1/agents/{target}/recording", "Describe a recording"),
            Route::Screen => (Get, "/v1/agents/{target}/screen", "Show an agent's screen"),
            Route::Steps => STEPS,
            Route::ListEvents => (Get, "/v1/events", "List events, oldest first, or follow them"),
            Route::Feed => (Get, "/v1/feed", "Follow events, and agents as they change"),
            Route::ListPosts => (Get, "/v1/board", "List posts on the board, newest first"),
            Route::Post => (Post, "/v1/board", "Post a text on the board"),
            Route::ShowPost => SHOW_POST,
            Route::ListRoles => LIST_ROLES,
            Route::AssumeRole => ASSUME_ROLE,
            Route::TransferRole => TRANSFER_ROLE,
            Route::DropRole => DROP_ROLE,
            Route::DismissVacancy => DISMISS_VACANCY,
            Route::ListLegacies => LIST_LEGACIES,
            Route::Leave => LEAVE,
            Route::Report => (Post, "/v1/report", "Say where the caller's own work stands"),
            Route::Prime => PRIME,
            Route::Briefing => BRIEFING,
            Route::Handoffs => HANDOFFS,
            Route::ListSignals => LIST_SIGNALS,
            Route::SendSignal => SEND_SIGNAL,
            Route::ListEscalations => LIST_ESCALATIONS,
            Route::Escalate => ESCALATE,
            Route::ListMail => LIST_MAIL,
            Route::SendMail => SEND_MAIL,
            Route::ReadMail => READ_MAIL,
            Route::ListTasks => LIST_TASKS,
            Route::ShowTask => SHOW_TASK,
            Route::Task => TASK,
            Route::Hook => HOOK,
            Route::StatusLine => STATUS_LINE,
            Route::Mcp => MCP,
            Route::Health => (Get, "/v1/health", "Show the daemon's health"),
            Route::Down => (Post, "/v1/down", "End the daemon; sessions go on"),
            Route::OpenApi => (Get, "/v1/openapi.json", "Get this document"),
            Route::Clean => CLEAN,
            Route::Graph => GRAPH,
            Route::ListSnapshots => LIST_SNAPSHOTS,
            Route::TakeSnapshot => TAKE_SNAPSHOT,
            Route::ShowSnapshot => SHOW_SNAPSHOT,
            Route::DiffSnapshot => DIFF_SNAPSHOT,
            Route::RestoreSnapshot => RESTORE_SNAPSHOT,
            Route::ListCheckpoints => LIST_CHECKPOINTS,
            Route::TakeCheckpoint => TAKE_CHECKPOINT,
            Route::ShowCheckpoint => SHOW_CHECKPOINT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A route that is not listed would be neither served nor documented, and nothing would say so.
    #[test]
    fn every_route_is_listed() {
        let listed: Vec<String> = Route::ALL.iter().map(|route| format!("{route:?}")).collect();
        assert_eq!(listed, crate::variants(include_str!("route.rs"), "Route"));
    }

    #[test]
    fn no_two_routes_are_the_same() {
        let mut seen = Vec::new();
        for route in Route::ALL {
            let key = (route.method() == Method::Get, route.path());
            assert!(!seen.contains(&key), "{route:?}");
            seen.push(key);
        }
    }
}
