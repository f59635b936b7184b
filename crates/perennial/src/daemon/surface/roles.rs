//! Roles: list them, and carry out what changes them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use axum::extract::State;
use perennial_api::role::{Role, RoleChanged, Vacancy};
use perennial_api::{query, request};
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::id::AgentId;
use perennial_core::name::{Name, NameKey};
use perennial_core::role::{self, DeclaredIn, RoleTerms};

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{CallerIdentity, Query};
use super::waiting::{on_waiting_thread, project_of};
use super::{Shared, Surface, checks};
use crate::config;
use crate::daemon::showing::role::DeclaredRole;
use crate::daemon::showing::{problems, role as showing, view};
use crate::project_file;
use crate::roles::{self, Declared};

pub async fn list(
    State(surface): State<Shared>,
    _: CallerIdentity,
    Query(query::Roles { dir }): Query<query::Roles>,
) -> Answer {
    json(&surface.roles(dir.as_deref()).await?)
}

impl Surface {
    /// Every role that is declared, held or vacant, by name.
    pub async fn roles(&self, dir: Option<&str>) -> Result<Vec<Role>, ProblemResponse> {
        let project = match dir {
            Some(dir) => Some(PathBuf::from(project_of(dir).await?)),
            None => None,
        };
        let by_project = match &project {
            Some(project) => of_project(project).await?,
            None => Declared::new(),
        };
        let mut declared: BTreeMap<NameKey, DeclaredRole> = BTreeMap::new();
        for place in DeclaredIn::BY_PRECEDENCE {
            let (file, roles) = match place {
                DeclaredIn::Operator => (config::path(&self.home.config), self.roles.clone()),
                DeclaredIn::Project => {
                    let file = project.as_deref().map(project_file::path);
                    (file.unwrap_or_default(), by_project.clone())
                }
                DeclaredIn::BuiltIn => (PathBuf::new(), roles::built_in()),
            };
            for (name, declaration) in roles {
                let key = NameKey::of(name.as_str());
                match declared.entry(key) {
                    Entry::Occupied(mut first) => first.get_mut().also.push(place),
                    Entry::Vacant(none) => {
                        let (name, file) = (name.as_str().to_owned(), file.clone());
                        none.insert(DeclaredRole {
                            name,
                            place,
                            file,
                            declaration,
                            also: Vec::new(),
                        });
                    }
                }
            }
        }
        let shown = self
            .driver
            .look(move |view| showing::list(view.supervisor.fleet(), &declared, view.now));
        Ok(shown.await?)
    }

    /// Dismisses the vacancy of a role; returns it as it was.
    pub async fn dismiss_vacancy(
        &self,
        caller: Caller,
        role: &str,
    ) -> Result<Vacancy, ProblemResponse> {
        let role = checks::role(role)?;
        let name = role.clone();
        let before =
            self.driver.look(move |view| showing::vacancy_of(view.supervisor.fleet(), &name));
        let before = before.await?;
        self.command(caller, Command::DismissVacancy { role }).await?;
        Ok(before.unwrap_or_default())
    }

    /// Gives an agent a role.
    pub async fn assume(
        &self,
        caller: Caller,
        target: String,
        request::Assume { role }: request::Assume,
    ) -> Result<RoleChanged, ProblemResponse> {
        let role = checks::new_role(&role)?;
        let agent = self.find(caller, target).await?;
        let declared = declared(Path::new(&agent.project), &role).await?;
        let command = Command::Assume { target: agent.id.clone(), role, declared };
        self.change_role(caller, command, (&agent.id, &agent.id)).await
    }

    pub async fn transfer(
        &self,
        caller: Caller,
        target: String,
        request::Transfer { to }: request::Transfer,
    ) -> Result<RoleChanged, ProblemResponse> {
        let (agent, to) = (self.find(caller, target).await?, self.find(caller, to).await?);
        let role = agent.role.as_deref().map(checks::role).transpose()?;
        let has_it =
            |role: &Name| to.role.as_deref().is_some_and(|own| NameKey::of(own) == role.key());
        let declared = match role.filter(|role| !has_it(role)) {
            Some(role) => {
                let terms = declared(Path::new(&to.project), &role).await?;
                terms.map(|terms| (role, terms))
            }
            None => None,
        };
        let command = Command::Transfer { target: agent.id.clone(), to: to.id.clone(), declared };
        self.change_role(caller, command, (&agent.id, &to.id)).await
    }

    pub async fn drop_role(
        &self,
        caller: Caller,
        target: String,
    ) -> Result<RoleChanged, ProblemResponse> {
        let agent = self.find(caller, target).await?;
        let command = Command::Drop(agent.id.clone());
        self.change_role(caller, command, (&agent.id, &agent.id)).await
    }

    /// Changes a role that `from` may have had, and says what came of it for `agent`, who has it now.
    async fn change_role(
        &self,
        caller: Caller,
        command: Command,
        (from, agent): (&str, &str),
    ) -> Result<RoleChanged, ProblemResponse> {
        let before = self.vacancies().await?;
        self.command(caller, command).await?;
        let now = self.vacancies().await?;
        let left = left_by(from, &before, now.clone());
        // Of a transfer, the receiver's former role may be vacant too.
        let former = left_by(agent, &before, now).filter(|former| left.as_ref() != Some(former));
        let (vacancy, also_vacant) = match left {
            Some(left) => (Some(left), former),
            None => (former, None),
        };
        let id: Option<AgentId> = agent.parse().ok();
        let crowd = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let agent = id.and_then(|id| fleet.agent(id));
            agent.map(|agent| role::crowd(fleet, agent).into_iter().map(view::name).collect())
        });
        let also_held_by = crowd.await?.unwrap_or_default();
        let agent = self.find(caller, agent.to_owned()).await?;
        Ok(RoleChanged { agent, also_held_by, vacancy, also_vacant })
    }

    /// Every role without a living holder.
    pub async fn vacancies(&self) -> Result<Vec<Vacancy>, ProblemResponse> {
        let vacancies = self.driver.look(|view| showing::vacancies(view.supervisor.fleet()));
        Ok(vacancies.await?)
    }
}

/// The vacancy that this agent left since then. Others may have left theirs meanwhile.
pub fn left_by(agent: &str, before: &[Vacancy], now: Vec<Vacancy>) -> Option<Vacancy> {
    now.into_iter().find(|one| one.last_holder_id == agent && !before.contains(one))
}

/// What a project says of a role.
pub async fn declared(project: &Path, role: &Name) -> Result<Option<RoleTerms>, ProblemResponse> {
    let declared = of_project(project).await?;
    let found = roles::find(&declared, &role.key());
    Ok(found.map(|it| it.terms(&project_file::path(project))))
}

async fn of_project(project: &Path) -> Result<Declared, ProblemResponse> {
    let project = project.to_owned();
    let read = move || {
        project_file::of(&project).map(|file| file.role).map_err(|mistake| {
            let file = project_file::path(&project);
            ProblemResponse(problems::bad_project_file(&file, &mistake.to_string()))
        })
    };
    on_waiting_thread(read).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vacancy_that_somebody_else_left_meanwhile_is_not_told() {
        let left = |role: &str, by: &str| Vacancy {
            role: role.to_owned(),
            last_holder: by.to_owned(),
            last_holder_id: by.to_owned(),
            mandate: perennial_api::role::Mandate::default(),
            declared: false,
            in_freezer: Vec::new(),
            since: String::new(),
        };
        let before = [left("crew", "bob")];
        let others = vec![left("architect", "eve"), left("crew", "bob")];
        assert_eq!(left_by("bob", &before, others.clone()), None);
        let both = [others, vec![left("steward", "bob")]].concat();
        assert_eq!(left_by("bob", &before, both), Some(left("steward", "bob")));
    }
}
