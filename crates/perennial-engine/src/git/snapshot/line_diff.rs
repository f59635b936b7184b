//! The lines in which two texts differ, as a unified diff.
//!
//! Invariants
//! - LD1  The work is bounded: texts that differ in more than `MOST_EDITS` lines are shown as replaced.

/// Lines around a change.
const CONTEXT: usize = 3;
const MOST_EDITS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Keep,
    Delete,
    Insert,
}

/// Writes the hunks.
pub fn write(out: &mut String, old: &[u8], new: &[u8]) {
    let (old, new) = (lines(old), lines(new));
    let edits = edits(&old, &new);
    let mut at = 0;
    // Where in both texts the edit at `at` is.
    let (mut old_at, mut new_at) = (0, 0);
    while at < edits.len() {
        let Some(skip) = edits[at..].iter().position(|edit| *edit != Edit::Keep) else { return };
        let lead = skip.min(CONTEXT);
        (old_at, new_at) = (old_at + skip - lead, new_at + skip - lead);
        let from = at + skip - lead;
        let end = hunk_end(&edits, at + skip);
        let hunk = &edits[from..end];
        let count = |not: Edit| hunk.iter().filter(|edit| **edit != not).count();
        let (old_count, new_count) = (count(Edit::Insert), count(Edit::Delete));
        let start = |at: usize, count: usize| if count == 0 { at } else { at + 1 };
        out.push_str(&format!(
            "@@ -{},{old_count} +{},{new_count} @@\n",
            start(old_at, old_count),
            start(new_at, new_count)
        ));
        for edit in hunk {
            match edit {
                Edit::Keep => {
                    line(out, ' ', old[old_at]);
                    (old_at, new_at) = (old_at + 1, new_at + 1);
                }
                Edit::Delete => {
                    line(out, '-', old[old_at]);
                    old_at += 1;
                }
                Edit::Insert => {
                    line(out, '+', new[new_at]);
                    new_at += 1;
                }
            }
        }
        at = end;
    }
}

/// Where a hunk ends whose first change is at `at`: changes that are close to each other share one.
fn hunk_end(edits: &[Edit], mut at: usize) -> usize {
    loop {
        at += edits[at..].iter().take_while(|edit| **edit != Edit::Keep).count();
        let kept = edits[at..].iter().take_while(|edit| **edit == Edit::Keep).count();
        if kept > 2 * CONTEXT || at + kept == edits.len() {
            return at + kept.min(CONTEXT);
        }
        at += kept;
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn line(out: &mut String, sign: char, line: &[u8]) {
    out.push(sign);
    match line.strip_suffix(b"\n") {
        Some(line) => {
            out.push_str(&String::from_utf8_lossy(line));
            out.push('\n');
        }
        None => {
            out.push_str(&String::from_utf8_lossy(line));
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The shortest edits, by Myers; the same lines at both ends are left out first.
fn edits(old: &[&[u8]], new: &[&[u8]]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail =
        old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut edits = vec![Edit::Keep; head];
    edits.extend(shortest(old, new).unwrap_or_else(|| {
        let deleted = std::iter::repeat_n(Edit::Delete, old.len());
        deleted.chain(std::iter::repeat_n(Edit::Insert, new.len())).collect()
    }));
    edits.extend(std::iter::repeat_n(Edit::Keep, tail));
    edits
}

/// `None` if there would be too many.
fn shortest(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<Edit>> {
    let most = (old.len() + new.len()).min(MOST_EDITS);
    let offset = most + 1;
    // The furthest line of `old` on each diagonal, and how it was after each round.
    let mut furthest = vec![0_usize; 2 * most + 3];
    let mut rounds = Vec::new();
    for round in 0..=most {
        rounds.push(furthest.clone());
        for diagonal in (0..=2 * round).step_by(2) {
            let k = offset + diagonal - round;
            let goes_down =
                diagonal == 0 || diagonal != 2 * round && furthest[k - 1] < furthest[k + 1];
            let mut x = if goes_down { furthest[k + 1] } else { furthest[k - 1] + 1 };
            let mut y = (x + offset).wrapping_sub(k);
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[k] = x;
            if x >= old.len() && y >= new.len() {
                return Some(back(old.len(), new.len(), &rounds, offset));
            }
        }
    }
    None
}

/// Follows the rounds back from the end.
fn back(mut x: usize, mut y: usize, rounds: &[Vec<usize>], offset: usize) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (round, furthest) in rounds.iter().enumerate().rev() {
        let k = x + offset - y;
        let goes_down =
            k == offset - round || k != offset + round && furthest[k - 1] < furthest[k + 1];
        let from = if goes_down { k + 1 } else { k - 1 };
        let (before_x, before_y) =
            if round == 0 { (0, 0) } else { (furthest[from], (furthest[from] + offset) - from) };
        let (keep_x, keep_y) = match (round, goes_down) {
            (0, _) => (0, 0),
            (_, true) => (before_x, before_y + 1),
            (_, false) => (before_x + 1, before_y),
        };
        while x > keep_x && y > keep_y {
            edits.push(Edit::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if round > 0 {
            edits.push(if goes_down { Edit::Insert } else { Edit::Delete });
            (x, y) = (before_x, before_y);
        }
    }
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        let mut out = String::new();
        write(&mut out, old.as_bytes(), new.as_bytes());
        out
    }

    #[test]
    fn hunks_are_those_of_diff() {
        assert_eq!(diff("a\nb\nc\n", "a\nX\nc\n"), "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n");
        assert_eq!(diff("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(diff("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(diff("a", "a\n"), "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(diff("a\n", "a\n"), "");
        let old: String = (0..30).map(|n| format!("{n}\n")).collect();
        let new = old.replace("5\n", "five\n").replace("20\n", "twenty\n");
        assert_eq!(diff(&old, &new).matches("@@ -").count(), 2);
    }

    #[test]
    fn applying_the_edits_gives_the_new_text() {
        let texts = ["abcabba", "cbabac", "", "a", "aaaa", "abababab", "xyz", "axbycz"];
        for (old, new) in texts.iter().flat_map(|old| texts.iter().map(move |new| (old, new))) {
            let split = |text: &'static str| -> Vec<&[u8]> { text.as_bytes().chunks(1).collect() };
            let (from, to) = (split(old), split(new));
            let (mut x, mut y, mut made) = (0, 0, Vec::new());
            for edit in edits(&from, &to) {
                match edit {
                    Edit::Keep => {
                        made.push(from[x]);
                        (x, y) = (x + 1, y + 1);
                    }
                    Edit::Delete => x += 1,
                    Edit::Insert => {
                        made.push(to[y]);
                        y += 1;
                    }
                }
            }
            assert_eq!((made, x), (to, from.len()), "{old} {new}");
        }
    }
}
