//! Names that somebody may have meant who typed another one.
//!
//! Only compares: what may be suggested is the caller's to say.

/// More than these would be a listing, not a hint.
const MOST: usize = 3;

/// The names nearest to what was typed, ignoring case: one that begins with it, or differs in few
/// letters. Nearest first.
pub fn similar<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = letters(typed);
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|name| Some((apart(&typed, &letters(name))?, name))).collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(MOST);
    near.into_iter().map(|(_, name)| name).collect()
}

/// `did you mean bob or rob?`; empty if there is nothing to suggest.
pub fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("did you mean {only}?"),
        [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
    }
}

fn letters(text: &str) -> Vec<char> {
    text.chars().map(|c| c.to_ascii_lowercase()).collect()
}

/// How far apart two words are; nothing if they are not similar.
fn apart(typed: &[char], name: &[char]) -> Option<usize> {
    // One typo in a short word, one more for every three letters.
    let allowed = (typed.len() / 3).max(1);
    if typed.len() >= 2 && name.starts_with(typed) {
        return Some(name.len().abs_diff(typed.len()).min(1));
    }
    // A word of one letter has nothing in common with others.
    let is_near = typed.len().abs_diff(name.len()) <= allowed && typed.len().min(name.len()) > 1;
    let distance = if is_near { edits(typed, name) } else { usize::MAX };
    (distance <= allowed).then_some(distance)
}

/// How many letters have to be changed, added, left out or exchanged with their neighbour.
fn edits(one: &[char], other: &[char]) -> usize {
    let first: Vec<usize> = (0..=other.len()).collect();
    let (mut before, mut above) = (first.clone(), first);
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, with) in other.iter().enumerate() {
            let changed = above[column] + usize::from(letter != with);
            let is_exchange =
                row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *with;
            let exchanged = if is_exchange { before[column - 1] + 1 } else { usize::MAX };
            let least = changed.min(exchanged).min(above[column + 1] + 1);
            current.push(least.min(current[column] + 1));
        }
        before = std::mem::replace(&mut above, current);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_nothing_else() {
        let known = ["bob", "Rob", "builder-of-parsers", "alice", "b"];
        for (typed, meant) in [
            ("bbo", &["bob"][..]),
            ("BOB", &["bob", "Rob"]),
            ("bo", &["bob"]),
            ("builder", &["builder-of-parsers"]),
            ("bulider-of-prasers", &["builder-of-parsers"]),
            ("alcie", &["alice"]),
            ("x", &[]),
            ("carol", &[]),
            ("", &[]),
        ] {
            assert_eq!(similar(typed, known), meant, "{typed:?}");
        }
    }

    #[test]
    fn at_most_three_are_suggested() {
        let many: Vec<String> = (0..9).map(|n| format!("worker-{n}")).collect();
        let found = similar("worker-x", many.iter().map(String::as_str));
        assert_eq!(did_you_mean(&found), "did you mean worker-0, worker-1 or worker-2?");
        assert_eq!(did_you_mean(&[]), "");
    }
}
