//! Posts as they are stored.

use perennial_core::post::{Author, PostEvent};
use serde::{Deserialize, Serialize};

use super::part::{self, StoredText};
use super::role::StoredVacancy;
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[("post-written", 1), ("post-vacancy-announced", 1)];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Written { by: StoredAuthor, title: Option<String>, text: StoredText },
    VacancyAnnounced(StoredVacancy),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredAuthor {
    Person,
    Agent { id: String, name: Option<String> },
}

impl From<&PostEvent> for Stored {
    fn from(event: &PostEvent) -> Stored {
        match event {
            PostEvent::Written { by, title, text } => Stored::Written {
                by: match by {
                    Author::Person => StoredAuthor::Person,
                    Author::Agent { id, name } => StoredAuthor::Agent {
                        id: id.to_string(),
                        name: name.as_ref().map(ToString::to_string),
                    },
                },
                title: title.clone(),
                text: text.into(),
            },
            PostEvent::VacancyAnnounced(vacancy) => Stored::VacancyAnnounced((&**vacancy).into()),
        }
    }
}

impl TryFrom<Stored> for PostEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<PostEvent, Damage> {
        let (by, title, text) = match stored {
            Stored::Written { by, title, text } => (by, title, text),
            Stored::VacancyAnnounced(vacancy) => {
                return Ok(PostEvent::VacancyAnnounced(Box::new(vacancy.try_into()?)));
            }
        };
        let by = match by {
            StoredAuthor::Person => Author::Person,
            StoredAuthor::Agent { id, name } => Author::Agent {
                id: part::agent(&id)?,
                name: name.as_deref().map(part::name).transpose()?,
            },
        };
        Ok(PostEvent::Written { by, title, text: text.try_into()? })
    }
}
