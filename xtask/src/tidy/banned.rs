//! Crates that may not arrive, not even through another one.

use super::{Finding, Tree};

const BANNED: &[(&str, &str)] = &[
    ("openssl-sys", "a shared C library would break the static binary"),
    ("native-tls", "it brings OpenSSL"),
    ("reqwest", "our client is small and blocking; hooks link it"),
    ("async-std", "one runtime, and only in the daemon"),
    ("sqlx", "it holds back SQLite and hides what the two stores differ in"),
    ("portable-pty", "the holder opens its terminal itself"),
];

pub fn crates(tree: &Tree) -> Vec<Finding> {
    // What only tests or build scripts of ours need is not shipped.
    let mut shipped: Vec<&str> =
        tree.metadata.own().flat_map(|package| tree.metadata.all(package)).collect();
    shipped.sort_unstable();
    shipped.dedup();
    BANNED
        .iter()
        .filter(|(name, _)| shipped.contains(name))
        .map(|(name, why)| Finding {
            rule: "banned-crate",
            place: (*name).into(),
            amount: 1,
            text: format!("may not be a dependency: {why}"),
        })
        .collect()
}
