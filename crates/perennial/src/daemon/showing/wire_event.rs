//! Events as the surface shows them: core types to wire types, kind by kind.
//!
//! The stored form is not the API: this mapping is what stands between them. Every match is exhaustive, so
//! that a new event of the core does not compile until it has a form on the wire. What the caller may
//! not see is left out here, by the core's rule, and named in `withheld`.

mod of_agent;
mod of_handoff;
mod of_signal;
mod of_task;
mod parts;

use perennial_api::event as wire;
use perennial_core::entity::Entity;
use perennial_core::escalation::EscalationEvent;
use perennial_core::event::{AgentEvent, Birth, ClaimEvent, What};
use perennial_core::id::AgentId;
use perennial_core::job::{JobEnd, JobEvent, Purpose};
use perennial_core::launch::{Launch, Options};
use perennial_core::message::{Content, MessageEvent, Withdrawer};
use perennial_core::post::PostEvent;
use perennial_core::reason::{Evidence, Finding};
use perennial_core::role::RoleEvent;
use perennial_core::session::Pace;
use perennial_core::visibility::{Private, Sight};
use perennial_store::record::{Record, Unreadable};

pub use parts::exit;
use parts::{author, claimed, content, held, node, process, seconds, show, text, witness};

use crate::daemon::showing::{role, sentences};
use crate::daemon::time::rfc3339;

/// A record as a caller sees it who may see this of the agent that it is about.
pub fn event(
    record: &Record,
    agent: Option<(AgentId, Option<String>)>,
    sight: Sight,
) -> wire::Event {
    let mut writer = Writer { sight, withheld: Vec::new() };
    let entity = record.stream.as_ref().map(|entity| writer.entity(entity));
    let (what, text) = match &record.event {
        Ok(event) => {
            let what = writer.what(&event.what);
            let text = match writer.withheld.is_empty() {
                true => sentences::sentence(&event.what),
                false => sentences::sentence(&without_private(&event.what, sight)),
            };
            (what, text)
        }
        Err(unreadable) => writer.unreadable(unreadable),
    };
    let (agent_id, agent) = agent.unzip();
    let id = entity.as_ref().and_then(|entity| entity.id.clone());
    wire::Event {
        seq: record.seq.0,
        at: rfc3339(record.at),
        agent_id: agent_id.map(|id| id.to_string()),
        agent: agent.flatten(),
        about: id.filter(|_| record.stream.as_ref().is_some_and(is_named_apart)),
        entity,
        text,
        withheld: writer.withheld,
        what,
    }
}

/// Whether it has an id beside that of the agent that it is about.
fn is_named_apart(entity: &Entity) -> bool {
    match entity {
        Entity::Message(_)
        | Entity::Post(_)
        | Entity::Job(_)
        | Entity::Signal(_)
        | Entity::Escalation(_)
        | Entity::Task(_) => true,
        Entity::Node(_)
        | Entity::Agent(_)
        | Entity::Name(_)
        | Entity::Conversation(_)
        | Entity::Role(_) => false,
    }
}

struct Writer {
    sight: Sight,
    withheld: Vec<String>,
}

impl Writer {
    /// A value that is not for everybody, or a note of what is left out.
    fn private<T>(&mut self, private: Private, member: &str, value: T) -> Option<T> {
        if self.sight.sees(private) {
            return Some(value);
        }
        self.withheld.push(member.to_owned());
        None
    }

    fn entity(&mut self, entity: &Entity) -> wire::EntityRef {
        let (kind, id) = match entity {
            Entity::Node(id) => ("node", Some(id.to_string())),
            Entity::Agent(id) => ("agent", Some(id.to_string())),
            Entity::Name(key) => ("name", Some(key.to_string())),
            Entity::Conversation(id) => ("conversation", Some(id.to_string())),
            // Whoever knows the id of a text could ask for it.
            Entity::Message(id) => {
                ("message", self.private(Private::Texts, "entity.id", id.to_string()))
            }
            Entity::Post(id) => ("post", Some(id.to_string())),
            Entity::Job(id) => ("job", Some(id.to_string())),
            Entity::Role(key) => ("role", Some(key.to_string())),
            Entity::Signal(id) => ("signal", Some(id.to_string())),
            Entity::Escalation(id) => ("escalation", Some(id.to_string())),
            Entity::Task(id) => ("task", Some(id.to_string())),
        };
        wire::EntityRef { kind: kind.to_owned(), id }
    }

    fn unreadable(&mut self, unreadable: &Unreadable) -> (wire::What, String) {
        // It may quote what the record holds.
        let why = self.private(Private::Operator, "why", unreadable.why.to_string());
        let text = match &why {
            Some(_) => unreadable.to_string(),
            None => format!("record {} can't be read", unreadable.seq),
        };
        let (stored_kind, form) = (unreadable.kind.clone(), unreadable.form);
        (wire::What::Unreadable { stored_kind, form, why }, text)
    }

    fn what(&mut self, what: &What) -> wire::What {
        match what {
            What::Agent(_, event) => self.agent(event),
            What::Message(_, event) => self.message(event),
            What::Post(_, PostEvent::Written { by, title, text: body }) => {
                wire::What::PostWritten { by: author(by), title: title.clone(), text: text(body) }
            }
            What::Post(_, PostEvent::VacancyAnnounced(vacancy)) => {
                wire::What::PostVacancyAnnounced(role::vacancy(vacancy))
            }
            What::Job(_, event) => self.job(event),
            What::Role(_, event) => of_role(event),
            What::Task(_, event) => self.task(event),
            What::Name(_, claim) | What::Conversation(_, claim) => match claim {
                ClaimEvent::Taken { by } => wire::What::Taken(claimed(*by)),
                ClaimEvent::Left { by } => wire::What::Left(claimed(*by)),
            },
            What::Node(_, event) => node(event),
            What::Signal(_, event) => self.signal(event),
            What::Escalation(_, event) => self.escalation(event),
        }
    }

    fn birth(&mut self, birth: &Birth) -> wire::Hatched {
        let Birth { name, role, parent, node, launch, restart, evidence, until } = birth;
        wire::Hatched {
            name: name.as_ref().map(ToString::to_string),
            role: role.clone(),
            parent: parent.map(|id| id.to_string()),
            node: node.to_string(),
            launch: self.launch(launch),
            restart: sentences::restart(*restart).to_owned(),
            evidence: self.evidence(evidence),
            until: rfc3339(*until),
        }
    }

    fn launch(&mut self, launch: &Launch) -> wire::Launch {
        let Launch { harness, host, argv, dir, env_names, project, options } = launch.clone();
        let Options { model, prompt, permission_mode, trust } = options;
        let launch = |member: &str| format!("launch.{member}");
        let prompt = prompt
            .and_then(|prompt| self.private(Private::Launch, &launch("options.prompt"), prompt));
        wire::Launch {
            harness,
            host: sentences::host(host.kind()).to_owned(),
            tmux_session: host.tmux().map(|place| place.session.clone()),
            argv: self.private(Private::Launch, &launch("argv"), argv),
            dir,
            env_names: self.private(Private::Launch, &launch("env_names"), env_names),
            project,
            options: wire::LaunchOptions { model, prompt, permission_mode, trust },
        }
    }

    fn evidence(&mut self, evidence: &Evidence) -> wire::Evidence {
        let Evidence { witness: by, fact, at } = evidence;
        let fact = match fact {
            Finding::Asked(verb) => {
                wire::Fact::Asked { verb: verb.word().to_owned(), fresh: false }
            }
            Finding::AskedFresh(verb) => {
                wire::Fact::Asked { verb: verb.word().to_owned(), fresh: true }
            }
            Finding::Executed(by) => wire::Fact::Executed { process: process(*by) },
            Finding::NotStarted(why) => wire::Fact::NotStarted {
                why: self.private(Private::Launch, "evidence.fact.why", why.clone()),
            },
            Finding::Exited(exit) => wire::Fact::Exited { exit: self::exit(*exit) },
            Finding::Shown(shown) => wire::Fact::Shown { show: show(*shown).to_owned() },
            Finding::TimeCame => wire::Fact::TimeCame,
            Finding::BootChanged => wire::Fact::BootChanged,
            Finding::HomeCopied => wire::Fact::HomeCopied,
            Finding::SessionFound(number) => wire::Fact::SessionFound { number: number.0 },
            Finding::RecordsLost => wire::Fact::RecordsLost,
            Finding::TaskVerified(id) => wire::Fact::TaskVerified { task: id.to_string() },
            Finding::TaskGiven(id) => wire::Fact::TaskGiven { task: id.to_string() },
            Finding::Unreadable(why) => wire::Fact::Unreadable {
                why: self.private(Private::Operator, "evidence.fact.why", why.clone()),
            },
        };
        wire::Evidence { witness: witness(*by), fact, at: rfc3339(*at) }
    }

    fn message(&mut self, event: &MessageEvent) -> wire::What {
        match event {
            MessageEvent::Recorded { to, from, content: said } => wire::What::MessageRecorded {
                to: to.to_string(),
                from: sentences::sender(*from).to_owned(),
                content: self.private(Private::Texts, "content", content(said)),
            },
            MessageEvent::Offered { session, attempt, channel: _, with: _, behind: _ } => {
                wire::What::MessageOffered { session: session.0, attempt: *attempt }
            }
            MessageEvent::Entered { attempt, is_last } => {
                wire::What::MessageEntered { attempt: *attempt, last: *is_last }
            }
            MessageEvent::Held { attempt, why, until } => wire::What::MessageHeld {
                attempt: *attempt,
                why: held(*why).to_owned(),
                until: rfc3339(*until),
            },
            MessageEvent::Blocked { attempt, words } => {
                let words = self.private(Private::Texts, "words", words.clone());
                wire::What::MessageBlocked { attempt: *attempt, words }
            }
            MessageEvent::Heard { attempt } => wire::What::MessageHeard { attempt: *attempt },
            MessageEvent::Seen { session } => wire::What::MessageSeen { session: session.0 },
            MessageEvent::Withdrawn { by } => {
                let by = match by {
                    Withdrawer::Person => "person",
                    Withdrawer::Outdated => "outdated",
                };
                wire::What::MessageWithdrawn { by: by.to_owned() }
            }
            MessageEvent::Returned => wire::What::MessageReturned {},
            MessageEvent::Forwarded { to } => wire::What::MessageForwarded { to: to.to_string() },
            MessageEvent::Read { session } => {
                wire::What::MessageRead { session: session.map(|number| number.0) }
            }
        }
    }

    fn job(&mut self, event: &JobEvent) -> wire::What {
        match event {
            JobEvent::Wanted { node, purpose, command } => wire::What::JobWanted {
                node: node.to_string(),
                purpose: match purpose {
                    Purpose::Notify { agent, name, reason } => wire::Purpose::Notify {
                        agent: agent.to_string(),
                        name: name.clone(),
                        reason: reason.word().to_owned(),
                    },
                    // The subject is for those who may read the mail.
                    Purpose::Mail { agent, name, note: _, subject: _ } => {
                        wire::Purpose::Mail { agent: agent.to_string(), name: name.clone() }
                    }
                    Purpose::Check { task, agent, check } => wire::Purpose::Check {
                        task: task.to_string(),
                        agent: agent.map(|id| id.to_string()),
                        check: check.as_ref().map(ToString::to_string),
                    },
                },
                argv: self.private(Private::Operator, "argv", command.argv.clone()),
                dir: command.dir.clone(),
                limit_seconds: seconds(command.limit),
            },
            JobEvent::Running { number, process: by } => {
                wire::What::JobRunning { number: *number, process: process(*by) }
            }
            JobEvent::Ended { number, end, output } => wire::What::JobEnded {
                number: *number,
                end: job_end(*end),
                output: self.private(Private::Operator, "output", output.clone()),
            },
        }
    }
}

/// The same with nothing in it that is not for this caller, for a sentence.
fn without_private(what: &What, sight: Sight) -> What {
    let mut what = what.clone();
    match &mut what {
        What::Agent(_, AgentEvent::Hatched(birth)) => birth.launch.argv.clear(),
        What::Agent(_, AgentEvent::Moved(moved)) => {
            moved.evidence = sight.evidence(&moved.evidence);
        }
        What::Agent(_, AgentEvent::SettingsChanged { settings, evidence }) => {
            *evidence = sight.evidence(evidence);
            settings.variables.iter_mut().for_each(parts::without_names);
        }
        What::Agent(_, AgentEvent::Held(hold)) => hold.evidence = sight.evidence(&hold.evidence),
        What::Agent(_, AgentEvent::HoldLifted { evidence })
        | What::Agent(_, AgentEvent::BurialAsked { evidence })
        | What::Agent(_, AgentEvent::RoleTaken { evidence, .. })
        | What::Agent(_, AgentEvent::RoleLeft { evidence, .. }) => {
            *evidence = sight.evidence(evidence);
        }
        What::Message(_, MessageEvent::Recorded { content: Content::Typed { text, .. }, .. }) => {
            text.head.clear();
        }
        What::Message(_, MessageEvent::Recorded { content: Content::Mail(mail), .. }) => {
            mail.subject.clear();
        }
        What::Message(_, MessageEvent::Blocked { words, .. }) => words.clear(),
        What::Escalation(_, EscalationEvent::Opened { matter, .. }) => matter.subject.clear(),
        // No sentence of the others tells anything private.
        What::Agent(..)
        | What::Message(..)
        | What::Node(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Role(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => {}
    }
    what
}

fn job_end(end: JobEnd) -> wire::JobEnd {
    match end {
        JobEnd::Code(code) => wire::JobEnd::Code { code },
        JobEnd::KillSignal(signal) => wire::JobEnd::KillSignal { signal },
        JobEnd::Limit => wire::JobEnd::Limit,
        JobEnd::NotStarted => wire::JobEnd::NotStarted,
        JobEnd::Unknown => wire::JobEnd::Unknown,
        JobEnd::Outdated => wire::JobEnd::Outdated,
    }
}

fn of_role(event: &RoleEvent) -> wire::What {
    match event {
        RoleEvent::Taken { by, is_living } => {
            wire::What::RoleTaken { by: by.to_string(), living: *is_living }
        }
        RoleEvent::Left { by } => wire::What::RoleLeft { by: by.to_string() },
        RoleEvent::Vacated(vacancy) => wire::What::RoleVacated(role::vacancy(vacancy)),
        RoleEvent::Dismissed => wire::What::RoleDismissed {},
    }
}

fn pace(pace: Pace) -> String {
    match pace {
        Pace::Graceful => "graceful".to_owned(),
        Pace::AtOnce => "at-once".to_owned(),
    }
}

#[cfg(test)]
mod tests;
