//! The life of a post on the board: it is written, and never changes.
//!
//! Pure. Everybody may read the board; a person and any agent may write to it. A post is never
//! edited or taken down, so nothing of it stays in memory: it is read from the journal.
//!
//! Invariants
//! - B1  A post has one event; its id is used once.
//! - B2  Its author is who the caller was shown to be, with the name that an agent had then.

use crate::authority::{Caller, Standing};
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, PostId};
use crate::name::Name;
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::role::Vacancy;
use crate::text::{Text, TextBody};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostEvent {
    Written {
        by: Author,
        title: Option<String>,
        text: Text,
    },
    /// Perennial's own: a role has no living holder any more.
    VacancyAnnounced(Box<Vacancy>),
}

/// Who wrote a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    Person,
    /// With its name at that time, if it had one.
    Agent {
        id: AgentId,
        name: Option<Name>,
    },
}

/// Somebody posts a text.
pub fn write(
    fleet: &Fleet,
    caller: Caller,
    id: PostId,
    (title, body): (Option<&str>, &TextBody),
    now: Time,
) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Post, None)?;
    let by = match caller {
        Caller::Person => Author::Person,
        Caller::Agent(id) => {
            Author::Agent { id, name: fleet.agent(id).and_then(|agent| agent.name.clone()) }
        }
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            let (verb, standing) = (Verb::Post, Standing::NoTarget);
            return Err(Refusal::NotAllowed { caller, verb, standing });
        }
    };
    let written = PostEvent::Written { by, title: title.map(Into::into), text: body.text.clone() };
    Ok(Decision {
        about: vec![Entity::Post(id)],
        events: vec![Event { at: now, what: What::Post(id, written) }],
        texts: vec![body.clone()],
        read: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::command::{Command, Request};
    use crate::event::Birth;
    use crate::fleet::Restored;
    use crate::launch::{Host, Launch, Options};
    use crate::reason::{Evidence, Finding, Witness};
    use crate::restart::Restart;
    use crate::text::Digest;

    const ADA: AgentId = AgentId(1);
    const POST: PostId = PostId(9);

    fn fleet() -> Fleet {
        let (witness, fact, at) = (Witness::Operator, Finding::Asked(Verb::Spawn), Time(1));
        let birth = Birth {
            name: Some("ada".parse().expect("a name")),
            role: None,
            parent: None,
            node: crate::id::NodeId::HOME,
            launch: Launch {
                harness: "command".into(),
                host: Host::Shim,
                argv: vec!["true".into()],
                dir: "/".into(),
                env_names: Vec::new(),
                project: "/".into(),
                options: Options::default(),
            },
            restart: Restart::Never,
            evidence: Evidence { witness, fact, at },
            until: Time(2),
        };
        let agents = vec![Agent::born(ADA, &birth, Time(1))];
        Fleet::restore(Restored { agents, ..Restored::default() })
    }

    fn body() -> TextBody {
        let text = Text { digest: Digest([3; 32]), bytes: 5, head: "hello".into() };
        TextBody { text, body: "hello".into() }
    }

    fn decide(caller: Caller) -> Result<Decision, Refusal> {
        let command = Command::Post { id: POST, title: Some("t".into()), body: body() };
        fleet().decide(&Request { caller, command }, Time(7))
    }

    #[test]
    fn a_person_and_an_agent_may_post_a_viewer_and_a_job_may_not() {
        let ada = Author::Agent { id: ADA, name: Some("ada".parse().expect("a name")) };
        for (caller, by) in [(Caller::Person, Author::Person), (Caller::Agent(ADA), ada)] {
            let decision = decide(caller).expect("it is allowed");
            let written = PostEvent::Written { by, title: Some("t".into()), text: body().text };
            assert_eq!(decision.events, [Event { at: Time(7), what: What::Post(POST, written) }]);
            assert_eq!(decision.about, [Entity::Post(POST)]);
            assert_eq!(decision.texts, [body()]);
        }
        for caller in [Caller::Viewer, Caller::Job, Caller::Ambiguous] {
            let (verb, standing) = (Verb::Post, Standing::NoTarget);
            assert_eq!(decide(caller), Err(Refusal::NotAllowed { caller, verb, standing }));
        }
    }

    #[test]
    fn a_post_leaves_nothing_in_memory() {
        let before = fleet();
        let mut after = before.clone();
        for event in decide(Caller::Person).expect("it is allowed").events {
            assert_eq!(after.evolve(&event), []);
        }
        assert_eq!(after, before);
        assert!(!Entity::Post(POST).is_counted());
    }
}
