//! Names of files that hold secrets by custom. Untracked ones are left out of snapshots, and listed.
//!
//! A tracked file is never a secret here: whoever commits it has decided.

use crate::git::wildmatch;

/// Held against the name of a file, in any case.
const NAMES: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*_rsa",
    "credentials",
    "credentials.*",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secret.*",
    "secrets.*",
    "service-account*.json",
];

/// Examples that are meant to be read.
const EXAMPLES: &[&str] = &["*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.pub"];

/// Directories that hold nothing else.
const DIRECTORIES: &[&[u8]] = &[b".ssh", b".gnupg", b".aws"];

pub fn is_secret(path: &[u8]) -> bool {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let name = parts.next().unwrap_or(path);
    let any =
        |globs: &[&str]| globs.iter().any(|glob| wildmatch::matches(glob.as_bytes(), name, true));
    // What programs are written in is no secret by its name.
    let is_source =
        [&b".rs"[..], b".py", b".go", b".ts", b".js", b".java", b".rb", b".c", b".h", b".md"]
            .iter()
            .any(|end| name.ends_with(end));
    parts.any(|part| DIRECTORIES.contains(&part)) || !is_source && any(NAMES) && !any(EXAMPLES)
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn secrets_are_known_by_their_names() {
        for path in
            [".env", "a/.env.local", "b/Server.PEM", ".ssh/config", "secrets.yaml", "prod.env"]
        {
            assert!(is_secret(path.as_bytes()), "{path}");
        }
        for path in [".env.example", "env", "src/secrets.rs", "key.txt", "a.pem.md", "id_rsa.pub"] {
            assert!(!is_secret(path.as_bytes()), "{path}");
        }
    }
}
