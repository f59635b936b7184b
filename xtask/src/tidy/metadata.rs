//! What cargo knows of the workspace: its packages, their licences and their dependencies.
//!
//! For the machine it runs on only, so that reading it downloads nothing that a build does not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::failure::Failure;
use crate::program;

pub struct Metadata {
    pub packages: BTreeMap<String, Package>,
}

pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    /// Whether it belongs to this workspace.
    pub own: bool,
    /// What it is built from, without what only its tests and its build script need: package ids.
    pub dependencies: Vec<String>,
}

impl Metadata {
    pub fn read() -> Result<Metadata, Failure> {
        let version = program::output(&["rustc", "-vV"])?;
        let version = String::from_utf8_lossy(&version);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let format = ["--format-version", "1", "--filter-platform", host];
        let answer = program::output(&[&["cargo", "metadata"], format.as_slice()].concat())?;
        let answer: Value = serde_json::from_slice(&answer)
            .map_err(|source| Failure::Answer { program: "cargo metadata", source })?;
        Ok(Metadata::from_answer(&answer))
    }

    fn from_answer(answer: &Value) -> Metadata {
        let own: Vec<&str> = list(&answer["workspace_members"]).filter_map(Value::as_str).collect();
        let mut dependencies: BTreeMap<&str, Vec<String>> = list(&answer["resolve"]["nodes"])
            .map(|node| (text(&node["id"]), normal_dependencies(node)))
            .collect();
        let package = |package: &Value| {
            let id = text(&package["id"]).to_owned();
            let parsed = Package {
                name: text(&package["name"]).into(),
                version: text(&package["version"]).into(),
                licence: package["license"].as_str().map(str::to_owned),
                own: own.contains(&id.as_str()),
                dependencies: dependencies.remove(id.as_str()).unwrap_or_default(),
            };
            (id, parsed)
        };
        Metadata { packages: list(&answer["packages"]).map(package).collect() }
    }

    pub fn own(&self) -> impl Iterator<Item = &Package> {
        self.packages.values().filter(|package| package.own)
    }

    /// The names of what a package is built from directly.
    pub fn direct<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a str> + 'a {
        let ids = package.dependencies.iter();
        ids.filter_map(|id| self.packages.get(id)).map(|found| found.name.as_str())
    }

    /// The names of everything that a package is built from.
    pub fn all<'a>(&'a self, package: &'a Package) -> Vec<&'a str> {
        let mut seen: Vec<&str> = Vec::new();
        let mut open = vec![package];
        while let Some(next) = open.pop() {
            for id in &next.dependencies {
                if let Some(found) = self.packages.get(id)
                    && !seen.contains(&found.name.as_str())
                {
                    seen.push(&found.name);
                    open.push(found);
                }
            }
        }
        seen
    }
}

fn normal_dependencies(node: &Value) -> Vec<String> {
    list(&node["deps"])
        .filter(|dependency| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()))
        .map(|dependency| text(&dependency["pkg"]).to_owned())
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
