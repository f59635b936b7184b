//! Every crate that the workspace names is used, and has its reason in a document.

use super::{Finding, Tree};

const DOCUMENT: &str = "docs/design/dependencies.md";

pub fn unexplained(tree: &Tree) -> Vec<Finding> {
    let text =
        |path: &str| tree.texts.iter().find(|text| text.path == path).map(|text| &*text.text);
    let names = workspace_dependencies(text("Cargo.toml").unwrap_or_default());
    let explained = rows(text(DOCUMENT).unwrap_or_default());
    let manifests: Vec<&str> = tree
        .texts
        .iter()
        .filter(|text| text.path.ends_with("/Cargo.toml"))
        .map(|text| text.text.as_str())
        .collect();
    let finding =
        |place: &str, text| Finding { rule: "dependencies", place: place.into(), amount: 1, text };
    let mut findings = Vec::new();
    for name in &names {
        if !manifests.iter().any(|manifest| uses(manifest, name)) {
            findings.push(finding("Cargo.toml", format!("{name} is used by no crate")));
        } else if !explained.contains(name) {
            findings.push(finding(DOCUMENT, format!("says nothing of {name}")));
        }
    }
    for name in explained.iter().filter(|name| !names.contains(name)) {
        findings.push(finding(DOCUMENT, format!("{name} is no dependency")));
    }
    findings
}

/// The crates of others under `[workspace.dependencies]`.
fn workspace_dependencies(manifest: &str) -> Vec<&str> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .filter(|(_, value)| !value.contains("path ="))
        .map(|(name, _)| name.trim())
        .collect()
}

fn uses(manifest: &str, name: &str) -> bool {
    manifest
        .lines()
        .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '='])))
}

/// The names in the first column of the document's tables.
fn rows(document: &str) -> Vec<&str> {
    document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, _)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_manifests_and_tables() {
        let manifest = "[a]\nx = 1\n[workspace.dependencies]\nown = { path = \"o\" }\nserde = \"1\"\n\n\
            serde_json = { version = \"1\" }\n[b]\ny = 1";
        assert_eq!(workspace_dependencies(manifest), ["serde", "serde_json"]);
        assert!(uses("[dependencies]\nserde.workspace = true", "serde"));
        assert!(!uses("[dependencies]\nserde_json.workspace = true", "serde"));
        assert_eq!(rows("| crate | why |\n|---|---|\n| `serde` | x |"), ["serde"]);
    }
}
