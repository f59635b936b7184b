//! How the daemon is.

use axum::Extension;
use axum::extract::State;
use perennial_api::answer::{CgroupHealth, Health, Identity, StoreHealth};
use perennial_core::authority::{Caller, Standing};
use perennial_core::entity::Entity;
use perennial_core::fleet::Fleet;
use perennial_core::state::Roster;
use perennial_core::visibility::{Private, Sight};
use perennial_engine::host::{cgroup, living, monotonic};
use perennial_store::record::Unreadable;

use super::Shared;
use super::answer::{Answer, json};
use super::extract::{CallerIdentity, CallerUid};
use crate::build_id;
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::sentences::history::records_lost;
use crate::daemon::showing::view;
use crate::daemon::stocktaking::strangers as strangers_among;

pub async fn health(
    State(surface): State<Shared>,
    Extension(CallerUid(uid)): Extension<CallerUid>,
    CallerIdentity(caller): CallerIdentity,
) -> Answer {
    let over = surface.over;
    let mut health = surface
        .driver
        .look(move |view| {
            let fleet = view.supervisor.fleet();
            let mut health = Health { epoch: fleet.epoch().0, ..Health::default() };
            health.agents.in_memory = fleet.agents().count() as u64;
            health.agents.copied = fleet.copied().count() as u64;
            health.agents.unadopted = view.presence.unadopted().borrow().len() as u64;
            health.agents.cemetery = over + view.supervisor.retired();
            for agent in fleet.agents() {
                match agent.vouched(view.presence.confirmation(agent)).0.roster() {
                    Roster::Living => health.agents.living += 1,
                    Roster::Freezer => health.agents.freezer += 1,
                    Roster::Cemetery => health.agents.cemetery += 1,
                }
            }
            health.holders_connected = view.presence.connections() as u64;
            health.store.read_only = view.supervisor.read_only().map(str::to_owned);
            for (id, why) in view.presence.lost() {
                let live = fleet.agent(id).filter(|agent| agent.live_session().is_some());
                if let Some(agent) = live {
                    let name = view::name(agent);
                    health.findings.push(format!("the holder of {name} does not answer: {why}"));
                }
            }
            health.identity.you = named(caller, fleet);
            health
        })
        .await?;
    health.findings.extend(strangers(&surface).await?);
    health.findings.extend(surface.missed.iter().cloned());
    health.findings.extend(surface.house.message_faults());
    let unreadable = surface.journal.quarantine();
    let sight = Sight::new(caller, Standing::NoTarget);
    health.version = build_id::VERSION.to_owned();
    health.build = build_id::build().to_owned();
    health.config = sight.sees(Private::Operator).then(|| surface.config.clone());
    health.pid = std::process::id();
    health.boot_id.clone_from(&surface.boot);
    health.uptime_seconds = (monotonic::now() - surface.started).as_secs();
    health.head_seq = surface.journal.head().0.0;
    health.store = StoreHealth {
        path: surface.home.journal().to_string_lossy().into_owned(),
        ok: health.store.read_only.is_none() && unreadable.is_empty() && surface.lost.is_none(),
        read_only: health.store.read_only,
        unreadable: unreadable.iter().map(|one| told(one, sight)).collect(),
        unreadable_seqs: Some(unreadable.iter().map(|one| one.seq.0).collect()),
        lost: surface.lost.map(|lost| records_lost(lost.known, lost.found)),
    };
    health.cgroup = match cgroup::available() {
        Ok(path) => CgroupHealth {
            available: true,
            path: Some(path.to_string_lossy().into_owned()),
            why: None,
        },
        Err(why) => CgroupHealth { available: false, path: None, why: Some(why.to_string()) },
    };
    health.identity = Identity { uid, ..health.identity };
    json(&health)
}

/// Whom the daemon takes a caller for.
fn named(caller: Caller, fleet: &Fleet) -> String {
    match caller {
        Caller::Person => "person".to_owned(),
        Caller::Job => "job".to_owned(),
        Caller::Viewer => "viewer".to_owned(),
        Caller::Ambiguous => "ambiguous".to_owned(),
        Caller::Agent(id) => {
            let name = fleet.agent(id).map_or_else(|| id.to_string(), view::name);
            format!("agent {name}")
        }
    }
}

/// Sessions that run although the journal says that they do not. The files are read before the fleet is
/// looked at: a session that has just begun is recorded before it begins.
async fn strangers(surface: &Shared) -> Result<Vec<String>, Closing> {
    let holders = surface.home.holders();
    let living = tokio::task::spawn_blocking(move || living::holders(&holders)).await;
    let living = living.unwrap_or_default();
    surface.driver.look(move |view| strangers_among(&living, view.supervisor.fleet())).await
}

/// What is wrong with a record, and what it is of: the operator finds that by its id. The id of a text is for
/// those who may see the text.
fn told(unreadable: &Unreadable, sight: Sight) -> String {
    let is_told = sight.sees(Private::Operator);
    let of = match &unreadable.stream {
        Some(Entity::Agent(id)) => format!("of agent {id}"),
        Some(Entity::Message(id)) if is_told => format!("of text {id}"),
        Some(Entity::Message(_)) => "of a text".to_owned(),
        Some(Entity::Job(id)) if is_told => format!("of notification {id}"),
        Some(Entity::Job(_)) => "of a notification".to_owned(),
        Some(Entity::Post(id)) => format!("of post {id}"),
        Some(Entity::Role(role)) => format!("of role {role}"),
        Some(Entity::Signal(id)) => format!("of signal {id}"),
        Some(Entity::Escalation(id)) => format!("of escalation {id}"),
        Some(Entity::Task(id)) => format!("of task {id}"),
        Some(Entity::Node(_) | Entity::Name(_) | Entity::Conversation(_)) => {
            "of no agent".to_owned()
        }
        None => "of an unknown entity".to_owned(),
    };
    match is_told {
        true => format!("{unreadable} ({of})"),
        // What is wrong may quote what the record holds.
        false => format!("record {} can't be read ({of})", unreadable.seq),
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::id::MessageId;
    use perennial_core::time::Time;
    use perennial_store::journal::{Seq, Version};
    use perennial_store::record::Damage;

    use super::*;

    #[test]
    fn the_id_of_a_text_is_not_for_everybody() {
        let stream = Some(Entity::Message(MessageId(7)));
        let unreadable = Unreadable {
            seq: Seq(3),
            stream,
            version: Version(1),
            at: Time(1),
            kind: "message-recorded".to_owned(),
            form: 1,
            why: Damage::Altered,
        };
        let id = MessageId(7).to_string();
        for (caller, is_told) in [(Caller::Person, true), (Caller::Viewer, false)] {
            let told = told(&unreadable, Sight::new(caller, Standing::NoTarget));
            assert_eq!(told.contains(&id), is_told, "{caller:?}: {told}");
        }
    }
}
