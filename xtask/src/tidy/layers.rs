//! Which crate may be built from which: the architecture, as a table.
//!
//! A crate of ours that is not in the table is a finding: a new one is placed before it is used.

use super::metadata::Package;
use super::{Finding, Tree};

struct Layer {
    name: &'static str,
    /// The crates of ours that it may be built from.
    own: &'static [&'static str],
    /// The crates of others that it may be built from directly; `None`: any.
    others: Option<&'static [&'static str]>,
    /// What it may not be built from at any depth.
    never: &'static [&'static str],
}

/// What brings an async runtime or HTTP with it.
const RUNTIME: &[&str] = &["tokio", "axum", "hyper", "async-std", "smol"];

const LAYERS: &[Layer] = &[
    // Pure: nothing that could read the time, a file or a random number.
    Layer {
        name: "perennial-core",
        own: &[],
        others: Some(&["serde", "thiserror"]),
        never: RUNTIME,
    },
    Layer { name: "perennial-store", own: &["perennial-core"], others: None, never: RUNTIME },
    Layer {
        name: "perennial-engine",
        own: &["perennial-core", "perennial-store"],
        others: None,
        never: RUNTIME,
    },
    // The wire is its own language: a change inside is no change of it.
    Layer { name: "perennial-api", own: &[], others: None, never: RUNTIME },
    Layer {
        name: "perennial",
        // The understudy is the model of the demo's real agent CLI.
        own: &[
            "perennial-api",
            "perennial-core",
            "perennial-engine",
            "perennial-store",
            "understudy",
        ],
        others: None,
        never: &[],
    },
    Layer {
        name: "perennial-sim",
        own: &["perennial-core", "perennial-engine", "perennial-store"],
        others: None,
        never: RUNTIME,
    },
    // Plays the vendors' part: it must not know ours.
    Layer { name: "understudy", own: &[], others: None, never: &[] },
    Layer {
        name: "xtask",
        own: &[
            "perennial-api",
            "perennial-core",
            "perennial-engine",
            "perennial-sim",
            "perennial-store",
        ],
        others: None,
        never: RUNTIME,
    },
];

pub fn crossed(tree: &Tree) -> Vec<Finding> {
    tree.metadata.own().flat_map(|package| crossed_by(tree, package)).collect()
}

fn crossed_by(tree: &Tree, package: &Package) -> Vec<Finding> {
    let finding =
        |text: String| Finding { rule: "layers", place: package.name.clone(), amount: 1, text };
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == package.name) else {
        return vec![finding("has no line in the table of layers".into())];
    };
    let own: Vec<&str> = tree.metadata.own().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for name in tree.metadata.direct(package) {
        let allowed = if own.contains(&name) {
            layer.own.contains(&name)
        } else {
            layer.others.is_none_or(|others| others.contains(&name))
        };
        if !allowed {
            findings.push(finding(format!("may not be built from {name}")));
        }
    }
    for name in tree.metadata.all(package) {
        if layer.never.contains(&name) {
            findings.push(finding(format!("may not be built from {name}, at any depth")));
        }
    }
    findings
}
