//! A git configuration file, read for the few keys that decide how a repository is laid out and what it ignores.
//!
//! `include` is not followed: whoever writes the file would choose what we read.

/// The values of one file, in order; the last one of a key counts.
#[derive(Debug, Default)]
pub struct Configuration {
    /// `section.key`, lower-case, and the value. Sections with a subsection are not kept.
    values: Vec<(String, String)>,
}

impl Configuration {
    /// Reads what can be read: a line that is none of git's is skipped.
    pub fn parse(bytes: &[u8]) -> Configuration {
        let text = String::from_utf8_lossy(bytes);
        let (mut section, mut values) = (None, Vec::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim().to_owned();
            while line.ends_with('\\') {
                line.pop();
                let Some(next) = lines.next() else { break };
                line.push_str(next);
            }
            let mut rest = line.as_str();
            if let Some(header) = rest.strip_prefix('[') {
                let Some((name, after)) = header.split_once(']') else { continue };
                section = (!name.contains(['"', '.'])).then(|| name.trim().to_ascii_lowercase());
                rest = after.trim();
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
            if let Some(section) = &section {
                let (key, value) = rest.split_once('=').unwrap_or((rest, "true"));
                let key = key.trim().to_ascii_lowercase();
                values.push((format!("{section}.{key}"), plain(value)));
            }
        }
        Configuration { values }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.iter().rev().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| {
            ["true", "yes", "on", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
        })
    }

    /// The keys of a section, without its name.
    pub fn keys<'a>(&'a self, section: &'a str) -> impl Iterator<Item = &'a str> {
        self.values
            .iter()
            .filter_map(move |(name, _)| name.strip_prefix(section)?.strip_prefix('.'))
    }
}

/// A value without its quotes, escapes and comment.
fn plain(value: &str) -> String {
    let (mut out, mut is_quoted, mut kept) = (String::new(), false, 0);
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => break,
            },
            c => out.push(c),
        }
        if is_quoted || !c.is_whitespace() {
            kept = out.len();
        }
    }
    out.truncate(kept);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let config = Configuration::parse(
            b"[core]\n\tbare = false\n\texcludesFile = \"/a b#c\" # no\n; x\n[core \"sub\"]\nbare = true\n\
              [Extensions] objectFormat = sha256\n[core] worktree = ../\\\n../x\nignorecase\n[broken\n",
        );
        assert_eq!(config.get("core.bare"), Some("false"));
        assert_eq!(config.get("core.excludesfile"), Some("/a b#c"));
        assert_eq!(config.get("extensions.objectformat"), Some("sha256"));
        assert_eq!(config.get("core.worktree"), Some("../../x"));
        assert!(config.is_true("core.ignorecase") && !config.is_true("core.bare"));
        assert_eq!(config.keys("extensions").collect::<Vec<_>>(), ["objectformat"]);
    }
}
