//! Events of the journal as clients see them: an envelope that all have in common, and what happened,
//! tagged by its kind.
//!
//! This is not the form in which the journal keeps them. Wherever there is a choice, it is an object
//! with a `kind`, an exit aside; moments are RFC 3339; spans are seconds. `Event` is what a daemon of this version
//! says; `EventView` reads what a daemon of any version says. What the caller may not see is left out,
//! and `withheld` names it.

mod of_handoff;
mod of_task;
mod part;
mod what;

use serde::{Deserialize, Serialize};

use crate::agent::Moment;

pub use of_handoff::HandoffWhat;
pub use of_task::{TaskHappened, TaskWhat};
pub use part::{
    Author, Claimed, Content, Evidence, Exit, Fact, Hatched, JobEnd, Launch, LaunchOptions, Moved,
    Opening, Process, Purpose, Sample, SettingsChanged, Text, Witness,
};
pub use what::What;

/// One event: an element of `GET /v1/events`, and the data of a message of the feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The place in the journal; a feed resumes after it.
    pub seq: u64,
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub at: Moment,
    /// Whose event it is; nothing where that can't be made out.
    pub entity: Option<EntityRef>,
    /// The agent that it is about: of a text whom it is for, of a job whom it tells of.
    pub agent_id: Option<String>,
    /// The name that this agent has now.
    pub agent: Option<String>,
    /// The message, post or job that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// One sentence for people.
    pub text: String,
    /// What is left out, because it is not for this caller: members of `data`, or `entity.id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    #[serde(flatten)]
    pub what: What,
}

/// What an event belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Entity"))]
pub struct EntityRef {
    /// `node`, `agent`, `name`, `conversation`, `message`, `post` or `job`.
    pub kind: String,
    /// Its id; of a name the name itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// An event as a client of any version can read it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventView {
    pub seq: u64,
    pub at: Moment,
    pub entity: Option<EntityRef>,
    pub agent_id: Option<String>,
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub kind: String,
    pub text: String,
    pub data: serde_json::Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_says_is_read_whole_by_types_and_by_a_client_of_any_version() {
        let event = Event {
            seq: 7,
            at: "2026-11-16T08:12:15.183423Z".into(),
            entity: Some(EntityRef { kind: "agent".into(), id: Some("agt_1".into()) }),
            agent_id: Some("agt_1".into()),
            agent: Some("ada".into()),
            about: None,
            text: "renamed to ada".into(),
            withheld: Vec::new(),
            what: What::Renamed { name: "ada".into() },
        };
        let text = serde_json::to_string(&event).expect("JSON");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("an event"), event);
        let view: EventView = serde_json::from_str(&text).expect("an event");
        assert_eq!((view.kind.as_str(), &view.data["name"]), ("renamed", &"ada".into()));
        let newer = r#"{"seq":8,"kind":"from-a-newer-daemon","data":{"x":1},"more":true}"#;
        let view: EventView = serde_json::from_str(newer).expect("an event");
        assert_eq!((view.seq, view.kind.as_str()), (8, "from-a-newer-daemon"));
    }
}
