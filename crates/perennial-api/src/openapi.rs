//! The OpenAPI document of the surface and the list of an agent's tools, made from the wire types.
//!
//! What a route takes and answers stands in `operation`; everything else follows from the types and
//! from the table of routes. Called by `cargo xtask docs`; the daemon serves what that wrote.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::answer::{
    Briefing, Buried, Down, Health, Legacy, Message, Pruned, Recording, Reported, Screen,
    StartText, Ticket, Why,
};
use crate::checkpoint::{Checkpoint, CheckpointCard, TakeCheckpoint};
use crate::cleaning::{Clean, Cleaned};
use crate::escalation::{Escalate, Escalation};
use crate::event::Event;
use crate::graph::{self, GraphPage};
use crate::handoffs::Handoffs;
use crate::mail::{Mail, MailList};
use crate::post::Post;
use crate::problem::{self, Problem};
use crate::role::{Role, RoleChanged, Vacancy};
use crate::route::{Method, Route};
use crate::signal::{SendSignal, Signal, SignalList};
use crate::snapshot::{Snapshot, SnapshotCard, SnapshotDiff, SnapshotRestored, SnapshotTaken};
use crate::step::Steps;
use crate::task::{Task, TaskFilter, TaskList, TaskRequest};
use crate::tool::{self, Tool};
use crate::{query, request};

/// The whole document.
pub fn document() -> Value {
    let mut writer = Writer::new();
    let mut paths = Map::new();
    for route in Route::ALL {
        let operation = operation(route, &mut writer);
        let path = paths.entry(route.path()).or_insert_with(|| json!({}));
        let method = match route.method() {
            Method::Get => "get",
            Method::Post => "post",
        };
        path[method] = operation;
    }
    let problem = writer.answer::<Problem>();
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Perennial",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The surface of a Perennial daemon: HTTP/1.1 on the unix socket of its \
                home. Who calls is shown by the calling process; there are no tokens. Words of the \
                model (states, reasons, kinds) are open: a newer daemon may know more of them.",
        },
        "paths": paths,
        "components": {
            "schemas": writer.definitions(),
            "responses": {
                "Problem": {
                    "description": "What did not work, why, and what to do next (RFC 9457).",
                    "content": { problem::CONTENT_TYPE: { "schema": problem } },
                },
            },
        },
    })
}

/// What `tools/list` of the Model Context Protocol answers.
pub fn tools() -> Value {
    Tool::ALL
        .into_iter()
        .map(|tool| {
            let schema = match tool {
                Tool::Roster | Tool::Myself | Tool::Clock => arguments::<tool::Nothing>(),
                Tool::Report => arguments::<request::Report>(),
                Tool::BoardPost => arguments::<tool::BoardPost>(),
                Tool::BoardList => arguments::<tool::BoardList>(),
                Tool::BoardShow => arguments::<tool::BoardShow>(),
                Tool::Roles => arguments::<tool::Nothing>(),
                Tool::Role => arguments::<tool::Role>(),
                Tool::Legacy => arguments::<request::Legacy>(),
                Tool::Bury => arguments::<tool::Bury>(),
                Tool::Spawn => arguments::<tool::Spawn>(),
                Tool::MailSend => arguments::<request::Mail>(),
                Tool::MailRead => arguments::<tool::MailRead>(),
                Tool::Signal => arguments::<tool::Signal>(),
                Tool::Task => arguments::<tool::Task>(),
                Tool::Handoff => arguments::<tool::Handoff>(),
                Tool::Checkpoint => arguments::<TakeCheckpoint>(),
            };
            json!({
                "name": tool.name(),
                "description": tool.description(),
                "inputSchema": schema,
            })
        })
        .collect()
}

const REMOVED: &str = "What was removed, or would be.";
const IN_WORDS: &str =
    "The agent; with `vocabulary`, the document of that seed (docs/vocabularies.md).";

fn agents(it: Operation<'_>) -> Value {
    it.query::<query::Agents>().answers::<Vec<Agent>>(
        200,
        "The agents; with `vocabulary`, documents of that seed (docs/vocabularies.md). x-dead: the dead; \
         x-read-only: nothing is recorded now.",
    )
}

fn logs(it: Operation<'_>) -> Value {
    it.query::<query::Logs>().answers_as(
        "application/octet-stream",
        "The bytes; x-session, x-offset and x-end say which.",
        &json!({}),
    )
}

/// What a route takes and answers.
fn operation(route: Route, writer: &mut Writer) -> Value {
    let it = writer.operation(route);
    match route {
        Route::ListAgents => agents(it),
        Route::Spawn => it.body::<request::Spawn>().answers::<Agent>(201, "The agent."),
        Route::ShowAgent => it.query::<query::Agent>().answers::<Agent>(200, IN_WORDS),
        Route::Wake | Route::Restart => wake(it),
        Route::Handoff => it.body::<request::Handoff>().answers::<Agent>(200, "The agent."),
        Route::Set => it.body::<request::Set>().answers::<Agent>(200, "The agent."),
        Route::Why => why(it),
        Route::Stop => it.body::<request::Stop>().answers::<Agent>(200, "The agent."),
        Route::StopAll => it.answers::<Vec<Agent>>(200, "Those that were stopped."),
        Route::Rename => it.body::<request::Rename>().answers::<Agent>(200, "The agent."),
        Route::Bury => it.body::<request::Bury>().answers::<Buried>(200, "The agent."),
        Route::Prune => prune(it),
        Route::Send => it.body::<request::Send>().answers::<Message>(200, "The text."),
        Route::ListSent => it.query::<query::Sent>().answers::<Vec<Message>>(200, "The texts."),
        Route::ShowMessage => it.query::<query::Message>().answers::<Message>(200, "The text."),
        Route::Withdraw => it.answers::<Message>(200, "The text."),
        Route::Ticket => it.body::<request::TicketRequest>().answers::<Ticket>(200, "The ticket."),
        Route::Logs => logs(it),
        Route::Recording => recording(it),
        Route::Screen => it.query::<query::Screen>().answers::<Screen>(200, "The screen."),
        Route::Steps => it.query::<query::Steps>().answers::<Steps>(200, "The steps."),
        Route::ListEvents => events(it),
        Route::Feed => feed(it),
        Route::ListPosts => it.query::<query::Board>().answers::<Vec<Post>>(200, "The posts."),
        Route::Post => it.body::<request::Post>().answers::<Post>(201, "The post."),
        Route::ShowPost => it.answers::<Post>(200, "The post."),
        Route::ListRoles => it.query::<query::Roles>().answers::<Vec<Role>>(200, "The roles."),
        Route::AssumeRole => it.body::<request::Assume>().answers::<RoleChanged>(200, "The agent."),
        Route::TransferRole => transfer(it),
        Route::DropRole => it.answers::<RoleChanged>(200, "The agent."),
        Route::DismissVacancy => it.answers::<Vacancy>(200, "The vacancy as it was."),
        Route::ListLegacies => it.answers::<Vec<Legacy>>(200, "The texts."),
        Route::Leave => it.body::<request::Legacy>().answers::<Vec<Legacy>>(200, "All it left."),
        Route::Report => it.body::<request::Report>().answers::<Reported>(200, "It is recorded."),
        Route::Prime => it.answers::<StartText>(200, "The text."),
        Route::Briefing => briefing(it),
        Route::Handoffs => it.query::<query::Handoffs>().answers::<Handoffs>(200, "The figures."),
        Route::ListMail => it.query::<query::Mail>().answers::<MailList>(200, "The mails."),
        Route::SendMail => it.body::<request::Mail>().answers::<Vec<Mail>>(201, "What was sent."),
        Route::ReadMail => it.body::<request::ReadMail>().answers::<Vec<Mail>>(200, "The mails."),
        Route::ListSignals => signals(it),
        Route::SendSignal => it.body::<SendSignal>().answers::<Signal>(201, "The signal."),
        Route::ListEscalations => escalations(it),
        Route::Escalate => it.body::<Escalate>().answers::<Escalation>(201, "The escalation."),
        Route::ListTasks => it.query::<TaskFilter>().answers::<TaskList>(200, "The tasks."),
        Route::ShowTask => it.query::<query::Task>().answers::<Task>(200, "The task."),
        Route::Task => it.body::<TaskRequest>().answers::<Vec<Task>>(200, "The tasks."),
        Route::Hook => hook(it),
        Route::StatusLine => status_line(it),
        Route::Mcp => mcp(it),
        Route::Health => it.answers::<Health>(200, "How the daemon is."),
        Route::Down => it.answers::<Down>(200, "The daemon ends."),
        Route::Clean => it.body::<Clean>().answers::<Cleaned>(200, REMOVED),
        Route::Graph => it.query::<graph::Query>().answers::<GraphPage>(200, "The sessions."),
        Route::ListSnapshots => it.answers::<Vec<Snapshot>>(200, "The snapshots."),
        Route::TakeSnapshot => it.answers::<SnapshotTaken>(201, "The snapshot."),
        Route::ShowSnapshot => snapshot_card(it),
        Route::DiffSnapshot => snapshot_diff(it),
        Route::RestoreSnapshot => restore(it),
        Route::ListCheckpoints => checkpoints(it),
        Route::TakeCheckpoint => take_checkpoint(it),
        Route::ShowCheckpoint => checkpoint(it),
        Route::OpenApi => this_document(it),
    }
}

fn recording(operation: Operation<'_>) -> Value {
    operation.query::<query::Recording>().answers::<Recording>(200, "The recording.")
}

fn signals(operation: Operation<'_>) -> Value {
    operation.query::<query::Signals>().answers::<SignalList>(200, "The signals.")
}

fn escalations(operation: Operation<'_>) -> Value {
    let operation = operation.query::<query::Escalations>();
    operation.answers::<Vec<Escalation>>(200, "The escalations.")
}

fn wake(operation: Operation<'_>) -> Value {
    operation.body::<request::Start>().answers::<Agent>(200, "The agent.")
}

fn briefing(operation: Operation<'_>) -> Value {
    operation.query::<query::Briefing>().answers::<Briefing>(200, "The briefing.")
}

fn why(operation: Operation<'_>) -> Value {
    operation.query::<query::Why>().answers::<Why>(200, "The agent, its story and its texts.")
}

fn prune(operation: Operation<'_>) -> Value {
    operation.body::<request::Prune>().answers::<Pruned>(200, "What was removed, or would be.")
}

fn transfer(operation: Operation<'_>) -> Value {
    operation.body::<request::Transfer>().answers::<RoleChanged>(200, "Who has it now.")
}

fn snapshot_card(operation: Operation<'_>) -> Value {
    operation.query::<query::Snapshot>().answers::<SnapshotCard>(200, "The snapshot.")
}

fn snapshot_diff(operation: Operation<'_>) -> Value {
    operation.query::<query::Snapshot>().answers::<SnapshotDiff>(200, "What changed.")
}

fn restore(operation: Operation<'_>) -> Value {
    operation.body::<request::Restore>().answers::<SnapshotRestored>(200, "What was done.")
}

fn checkpoints(operation: Operation<'_>) -> Value {
    operation.query::<query::Checkpoints>().answers::<Vec<Checkpoint>>(200, "The checkpoints.")
}

fn take_checkpoint(operation: Operation<'_>) -> Value {
    operation.body::<TakeCheckpoint>().answers::<CheckpointCard>(201, "The checkpoint.")
}

fn checkpoint(operation: Operation<'_>) -> Value {
    operation.query::<query::Checkpoint>().answers::<CheckpointCard>(200, "The checkpoint.")
}

fn hook(operation: Operation<'_>) -> Value {
    let operation = operation.query::<query::Hook>().any_body();
    operation.answers_or_nothing("What the hook returns, in the vendor's own form.")
}

fn status_line(operation: Operation<'_>) -> Value {
    let operation = operation.query::<query::StatusLine>().any_body();
    operation.answers_or_nothing("A line for the agent CLI to draw.")
}

fn mcp(operation: Operation<'_>) -> Value {
    let operation = operation.query::<query::Mcp>().any_body();
    operation.answers_or_nothing("The answer, in JSON-RPC.")
}

fn this_document(operation: Operation<'_>) -> Value {
    operation.answers_as("application/json", "OpenAPI 3.1.", &json!({ "type": "object" }))
}

fn events(operation: Operation<'_>) -> Value {
    let mut operation = operation.query::<query::Events>().answers::<Vec<Event>>(
        200,
        "The events. With `Accept: text/event-stream` all events from `since` or `Last-Event-ID` on, \
         and further ones as they come: `id` is the event's `seq`, `data` the event.",
    );
    operation["responses"]["200"]["content"]["text/event-stream"] =
        json!({ "schema": { "type": "string" } });
    operation
}

fn feed(operation: Operation<'_>) -> Value {
    // The data of the feed's messages are these types.
    let messages = json!({
        "event": operation.writer.answer::<Event>(),
        "agent": operation.writer.answer::<Agent>(),
    });
    let mut operation = operation.query::<query::Feed>().answers_as(
        "text/event-stream",
        "Server-sent events. It begins with every agent in memory. `event: event`: an event, with its \
         `seq` as `id`. `event: agent`: an agent that has changed, as it is now, before the events that \
         changed it. A slow reader gets all events, and the newest state of an agent. Resumed by \
         `Last-Event-ID`.",
        &json!({ "type": "string" }),
    );
    operation["responses"]["200"]["content"]["text/event-stream"]["x-messages"] = messages;
    operation
}

/// The schema of a tool's arguments, whole in itself.
fn arguments<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    for noise in ["title", "description"] {
        schema.as_object_mut().map(|schema| schema.remove(noise));
    }
    without(&mut schema, &["default", "format"]);
    // A model reads this: an absent list of properties would be a riddle.
    if schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    schema
}

/// Types become schemas: of answers as they are written, of requests as they are read.
struct Writer {
    answers: SchemaGenerator,
    requests: SchemaGenerator,
}

impl Writer {
    fn new() -> Writer {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Writer {
            answers: settings().for_serialize().into_generator(),
            requests: settings().for_deserialize().into_generator(),
        }
    }

    fn answer<T: JsonSchema>(&mut self) -> Value {
        self.answers.subschema_for::<T>().to_value()
    }

    fn definitions(mut self) -> Value {
        let mut all = self.answers.take_definitions(true);
        all.values_mut().for_each(|one| without(one, &["default"]));
        for (name, schema) in self.requests.take_definitions(true) {
            let known = all.insert(name.clone(), schema);
            assert!(known.is_none(), "two types are called {name} on the wire");
        }
        Value::Object(all)
    }

    fn operation(&mut self, route: Route) -> Operation<'_> {
        let mut id = format!("{route:?}");
        id[..1].make_ascii_lowercase();
        let parameters: Vec<Value> = route.path().split('/').filter_map(parameter).collect();
        let value = json!({
            "operationId": id,
            "summary": route.summary(),
            "parameters": parameters,
            "responses": { "default": { "$ref": "#/components/responses/Problem" } },
        });
        Operation { value, writer: self }
    }
}

/// The parameter that a segment of a path stands for.
fn parameter(segment: &str) -> Option<Value> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    let description = match name {
        "target" => "An agent: its name, `NAME~1` for the one before it, or its id.",
        _ => "An id, as the surface gave it.",
    };
    Some(json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": { "type": "string" },
    }))
}

struct Operation<'a> {
    value: Value,
    writer: &'a mut Writer,
}

impl Operation<'_> {
    fn query<T: JsonSchema>(mut self) -> Self {
        let schema = self.writer.requests.root_schema_for::<T>().to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, mut schema) in properties {
            let is_required = required.iter().any(|one| *one == name.as_str());
            let described = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            present(&mut schema);
            let mut parameter =
                json!({ "name": name, "in": "query", "required": is_required, "schema": schema });
            if let Some(described) = described {
                parameter["description"] = described;
            }
            if let Some(parameters) = self.value["parameters"].as_array_mut() {
                parameters.push(parameter);
            }
        }
        self
    }

    fn body<T: JsonSchema>(mut self) -> Self {
        let schema = self.writer.requests.subschema_for::<T>().to_value();
        self.value["requestBody"] =
            json!({ "content": { "application/json": { "schema": schema } } });
        self
    }

    /// A body in somebody else's form.
    fn any_body(mut self) -> Self {
        self.value["requestBody"] = json!({ "content": { "application/json": { "schema": {} } } });
        self
    }

    fn answers<T: JsonSchema>(mut self, status: u16, what: &str) -> Value {
        let schema = self.writer.answer::<T>();
        self.value["responses"][status.to_string()] =
            json!({ "description": what, "content": { "application/json": { "schema": schema } } });
        self.value
    }

    fn answers_as(mut self, media: &str, what: &str, schema: &Value) -> Value {
        self.value["responses"]["200"] =
            json!({ "description": what, "content": { media: { "schema": schema } } });
        self.value
    }

    fn answers_or_nothing(mut self, what: &str) -> Value {
        self.value["responses"]["204"] = json!({ "description": "Nothing to say." });
        self.answers_as("text/plain", what, &json!({ "type": "string" }))
    }
}

/// A parameter that is not there is left out; there is no null in a query.
fn present(schema: &mut Value) {
    if let Value::Array(types) = &mut schema["type"] {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if schema["default"].is_null() {
        schema.as_object_mut().map(|schema| schema.remove("default"));
    }
}

/// A schema whose properties have none of these: what an absent member would be read as says nothing of what is written, and the size of a
/// number nothing to a model.
fn without(schema: &mut Value, keys: &[&str]) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                for property in properties.values_mut().filter_map(Value::as_object_mut) {
                    keys.iter().for_each(|key| drop(property.remove(*key)));
                }
            }
            members.values_mut().for_each(|member| without(member, keys));
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| without(part, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
