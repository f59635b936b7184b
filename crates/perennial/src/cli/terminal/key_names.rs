//! Keys by name, as tmux calls them, and the bytes that a terminal sends for them.
//!
//! Arrows are those of the terminal's normal mode: which mode a program has chosen is not known here, and
//! programs understand both.

/// Names that stand for themselves, ignoring case.
const NAMED: &[(&str, &str)] = &[
    ("Enter", "\r"),
    ("Escape", "\x1b"),
    ("Tab", "\t"),
    ("BTab", "\x1b[Z"),
    ("Space", " "),
    ("BSpace", "\x7f"),
    ("Up", "\x1b[A"),
    ("Down", "\x1b[B"),
    ("Right", "\x1b[C"),
    ("Left", "\x1b[D"),
    ("Home", "\x1b[H"),
    ("End", "\x1b[F"),
    ("Insert", "\x1b[2~"),
    ("Delete", "\x1b[3~"),
    ("PageUp", "\x1b[5~"),
    ("PageDown", "\x1b[6~"),
    ("F1", "\x1bOP"),
    ("F2", "\x1bOQ"),
    ("F3", "\x1bOR"),
    ("F4", "\x1bOS"),
    ("F5", "\x1b[15~"),
    ("F6", "\x1b[17~"),
    ("F7", "\x1b[18~"),
    ("F8", "\x1b[19~"),
    ("F9", "\x1b[20~"),
    ("F10", "\x1b[21~"),
    ("F11", "\x1b[23~"),
    ("F12", "\x1b[24~"),
];

/// Other names that tmux has for some of them.
const SYNONYMS: &[(&str, &str)] =
    &[("IC", "Insert"), ("DC", "Delete"), ("PPage", "PageUp"), ("NPage", "PageDown")];

/// Names worth offering: all that stand for themselves, and what people press with Ctrl.
pub fn common() -> impl Iterator<Item = &'static str> {
    let named = NAMED.iter().map(|(name, _)| *name);
    named.chain(["C-a", "C-c", "C-d", "C-e", "C-l", "C-r", "C-u", "C-z"])
}

/// What the key of this name sends; the error lists the names.
pub fn parse(name: &str) -> Result<Vec<u8>, String> {
    bytes(name).ok_or_else(|| {
        let named: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        format!("no such key; keys are {}, single characters, C-a and M-a", named.join(", "))
    })
}

fn bytes(name: &str) -> Option<Vec<u8>> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return (!only.is_control()).then(|| only.to_string().into_bytes());
    }
    if let Some(key) = name.strip_prefix("M-") {
        return Some([b"\x1b".as_slice(), &bytes(key)?].concat());
    }
    if let Some(key) = behind_control(name) {
        return control(key).map(|byte| vec![byte]);
    }
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    let name = SYNONYMS.iter().find(|(other, _)| is(other)).map_or(name, |(_, name)| name);
    let (_, sent) = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(sent.as_bytes().to_vec())
}

/// The key that is pressed with Ctrl, in any of the ways in which people write it: `C-c`, `Ctrl-C`, `ctrl+c`, `^C`.
fn behind_control(name: &str) -> Option<&str> {
    if let Some(key) = name.strip_prefix("C-").or(name.strip_prefix('^')) {
        return Some(key);
    }
    let (word, key) = name.split_once(['-', '+'])?;
    word.eq_ignore_ascii_case("ctrl").then_some(key)
}

/// Ctrl and a key, for those that have a control character.
fn control(key: &str) -> Option<u8> {
    match key.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(letter.to_ascii_lowercase() - b'a' + 1),
        [sign @ b'@'..=b'_'] => Some(sign - b'@'),
        [b'?'] => Some(0x7f),
        _ if key.eq_ignore_ascii_case("Space") => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_send_what_a_terminal_sends() {
        for (name, sent) in [
            ("C-c", "\x03"),
            ("C-C", "\x03"),
            ("Ctrl-C", "\x03"),
            ("ctrl+c", "\x03"),
            ("^C", "\x03"),
            ("C-\\", "\x1c"),
            ("C-Space", "\0"),
            ("M-x", "\x1bx"),
            ("M-Enter", "\x1b\r"),
            ("M-C-a", "\x1b\x01"),
            ("enter", "\r"),
            ("BSpace", "\x7f"),
            ("PPage", "\x1b[5~"),
            ("F12", "\x1b[24~"),
            ("y", "y"),
            ("é", "é"),
            ("-", "-"),
        ] {
            assert_eq!(parse(name).as_deref(), Ok(sent.as_bytes()), "{name}");
        }
        assert!(common().all(|name| parse(name).is_ok()));
        for bad in ["", "Entr", "C-", "C-Enter", "M-", "F13", "\x07", "ab"] {
            let told = parse(bad).expect_err(bad);
            assert!(told.contains("BSpace") && told.contains("C-a"), "{told}");
        }
    }
}
