//! Patterns of agent names, as a shell's: `*` any characters, `?` one, `[a-c]` one of these, `[!a-c]` one
//! of the others. Case is ignored, as it is in names. Matches names and nothing else, never files.

/// A pattern, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    /// The pattern that a word is, unless it can only be a name.
    pub fn of(word: &str) -> Option<Pattern> {
        word.contains(['*', '?', '[']).then(|| Pattern(word.to_ascii_lowercase().into_bytes()))
    }

    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name.to_ascii_lowercase().as_bytes())
    }
}

/// Goes back to the last `*` only, so the work is bounded by the product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut here) = (0, 0);
    // Behind the last star, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while here < name.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            star = Some((at, here));
        } else if let Some(taken) = one(&pattern[at..], name[here]) {
            at += taken;
            here += 1;
        } else if let Some((behind, taken)) = star {
            star = Some((behind, taken + 1));
            (at, here) = (behind, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

/// How much of the pattern stands for this character, if its beginning does.
fn one(pattern: &[u8], character: u8) -> Option<usize> {
    match pattern.first()? {
        b'?' => Some(1),
        b'[' => {
            let inside = &pattern[1..];
            // A `]` that comes first is one of the characters.
            let close = 1 + inside.iter().skip(1).position(|byte| *byte == b']')?;
            let set = &inside[..close];
            let (is_others, set) = match set {
                [b'!' | b'^', others @ ..] if !others.is_empty() => (true, others),
                _ => (false, set),
            };
            (holds(set, character) != is_others).then_some(close + 2)
        }
        other => (*other == character).then_some(1),
    }
}

fn holds(set: &[u8], character: u8) -> bool {
    match set {
        [first, b'-', last, rest @ ..] => {
            (*first..=*last).contains(&character) || holds(rest, character)
        }
        [first, rest @ ..] => *first == character || holds(rest, character),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_a_shells_do() {
        for (pattern, matching, others) in [
            ("web-*", &["web-1", "WEB-2", "web-"][..], &["web", "awe-b"][..]),
            ("*b*a*", &["ba", "bba", "xbyaz"], &["ab", "b", ""]),
            ("w?b", &["web", "wab"], &["wb", "weeb"]),
            ("n[0-2x]", &["n0", "n2", "nX"], &["n3", "n", "n-"]),
            ("n[!0-2]", &["n3", "na"], &["n0", "n"]),
            ("*", &["anybody"], &[]),
            ("[", &[], &["["]),
        ] {
            let found = Pattern::of(pattern).expect(pattern);
            assert!(matching.iter().all(|name| found.matches(name)), "{pattern}");
            assert!(!others.iter().any(|name| found.matches(name)), "{pattern}");
        }
        for name in ["bob", "bob~1", "agt_0193"] {
            assert_eq!(Pattern::of(name), None);
        }
    }

    /// Whoever writes such a pattern waits for nobody but himself, and not for long.
    #[test]
    fn many_stars_take_no_time() {
        let pattern = Pattern::of(&format!("{}b", "a*".repeat(30))).expect("a pattern");
        assert!(!pattern.matches(&"a".repeat(64)));
    }
}
