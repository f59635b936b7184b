//! A text without what it quotes. Where it can't be told whether something is quoted, it counts as quoted (SY1), except for
//! the straight apostrophe, which quotes nothing unless it is closed.

/// A text without fenced and indented blocks, lines behind `>` or `|`, and what stands between quotation marks or backticks
/// in one line.
pub(super) fn unquoted(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fence: Option<Fence> = None;
    for line in text.lines() {
        let inner = line.trim_start();
        if let Some(open) = fence {
            fence = Some(open).filter(|open| !open.is_closed_by(inner));
            continue;
        }
        fence = Fence::opened_by(inner);
        let is_quoted =
            inner.starts_with(['>', '|']) || line.starts_with("    ") || line.starts_with('\t');
        if fence.is_none() && !is_quoted {
            keep_own(&mut kept, &line.chars().collect::<Vec<char>>());
            kept.push('\n');
        }
    }
    kept
}

/// The line that a block of code began with. Only as long a one of the same kind ends it, so that others may be in it.
#[derive(Clone, Copy)]
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Fence> {
        let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let behind = line.trim_start_matches(sign);
        let length = line.len() - behind.len();
        let is_code_span = sign == '`' && behind.contains('`');
        (length >= 3 && !is_code_span).then_some(Fence { sign, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let behind = line.trim_start_matches(self.sign);
        line.len() - behind.len() >= self.length && behind.trim().is_empty()
    }
}

/// Adds what is quoted by nothing in a line.
fn keep_own(kept: &mut String, line: &[char]) {
    // Behind the last one that could end a quotation nobody need look for another: a line may be long.
    let last = (0..line.len()).rfind(|at| is_end(line, *at, &['\'']));
    let mut at = 0;
    while at < line.len() {
        let is_apostrophe = line[at] == '\'' && last.is_none_or(|last| at >= last);
        let end = if is_apostrophe { None } else { end_of_quotation(line, at) };
        match end {
            Some(end) => at = end,
            None => {
                kept.push(line[at]);
                at += 1;
            }
        }
    }
}

/// Where the quotation ends that begins here, if one does. One that is not closed goes on to the end of its line.
fn end_of_quotation(line: &[char], at: usize) -> Option<usize> {
    let is_in_word = |place: Option<&char>| place.is_some_and(|sign| sign.is_alphanumeric());
    let is_behind_word = is_in_word(at.checked_sub(1).map(|before| &line[before]));
    let first_of = |ends: &[char]| line[at + 1..].iter().position(|sign| ends.contains(sign));
    let end = match line[at] {
        '`' => return Some(end_of_code(line, at)),
        // Inches, or the end of something.
        '"' if is_behind_word => return None,
        '"' => first_of(&['"']),
        '“' => nested(&line[at + 1..], '“', '”'),
        '„' => first_of(&['“', '”']),
        '«' => first_of(&['»']),
        '»' => first_of(&['«']),
        '‹' => first_of(&['›']),
        '›' => first_of(&['‹']),
        '「' => nested(&line[at + 1..], '「', '」'),
        '『' => nested(&line[at + 1..], '『', '』'),
        '‚' => closed_by(&line[at + 1..], &['‘', '’']),
        // The years of a decade.
        '\'' | '‘' if is_behind_word || line.get(at + 1).is_some_and(char::is_ascii_digit) => {
            return None;
        }
        '‘' => closed_by(&line[at + 1..], &['’']),
        '\'' => return closed_by(&line[at + 1..], &['\'']).map(|end| at + end + 2),
        _ => return None,
    };
    Some(end.map_or(line.len(), |end| at + end + 2))
}

/// Code ends with as many backticks as it began with.
fn end_of_code(line: &[char], at: usize) -> usize {
    let ticks = |from: usize| line[from..].iter().take_while(|sign| **sign == '`').count();
    let length = ticks(at);
    let mut place = at + length;
    while place < line.len() {
        match ticks(place) {
            0 => place += 1,
            found if found == length => return place + length,
            found => place += found,
        }
    }
    place
}

/// The place of the mark that ends a quotation in which others of its kind may be.
fn nested(line: &[char], opens: char, ends: char) -> Option<usize> {
    let mut depth = 1;
    line.iter().position(|sign| {
        depth += i32::from(*sign == opens) - i32::from(*sign == ends);
        depth == 0
    })
}

/// Whether one of these marks stands here, and not within a word.
fn is_end(line: &[char], at: usize, ends: &[char]) -> bool {
    ends.contains(&line[at]) && !line.get(at + 1).is_some_and(|next| next.is_alphanumeric())
}

/// The place of a closing mark that could be an apostrophe. Within a word it is one. Behind an s it may be one (“the agents’
/// notes”), and counts only if no better one follows.
fn closed_by(line: &[char], ends: &[char]) -> Option<usize> {
    let is_certain = |at: &usize| at.checked_sub(1).is_none_or(|before| line[before] != 's');
    let marks = || (0..line.len()).filter(|at| is_end(line, *at, ends));
    marks().find(is_certain).or_else(|| marks().next_back())
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    /// What is left of a line without what it quotes.
    #[test]
    fn what_stands_between_marks_is_left_out() {
        for (text, left) in [
            ("a “b” c", "a  c"),
            ("“a “b” c” d", " d"),
            ("a “b", "a "),
            ("„a“ b „c” d", " b  d"),
            ("«a» b »c« d", " b  d"),
            ("‹a› b ›c‹ d", " b  d"),
            ("「a「b」c」 d", " d"),
            ("『a『b』c』 d", " d"),
            ("‚a‘ b ‚c’ d", " b  d"),
            ("a \"b\" c", "a  c"),
            ("24\" is not \"much\" then", "24\" is not  then"),
            ("a `b` c", "a  c"),
            ("a ``b ` c`` d", "a  d"),
            ("a `b `` c` d", "a  d"),
            ("a `b c", "a "),
            ("a 'b' c", "a  c"),
            ("a 'it's so' c", "a  c"),
            ("a 'b c", "a 'b c"),
            ("the agents' 'own' notes", "the agents'  notes"),
            ("in the '90s: 'yes' it is", "in the '90s:  it is"),
            ("in the ‘90s: ‘yes’ it is", "in the ‘90s:  it is"),
            ("it’s ‘so’ then", "it’s  then"),
            ("‘the agents’ note’ here", " here"),
            ("‘the agents’ notes’ here", " here"),
            ("‘it is theirs", ""),
        ] {
            assert_eq!(unquoted(text), format!("{left}\n"), "{text}");
        }
    }

    #[test]
    fn blocks_and_quoted_lines_are_left_out() {
        for (text, left) in [
            ("a\n> b\n| c\n    d\n\te\nf", "a\nf\n"),
            ("a\n```rust\nb\n```\nc", "a\nc\n"),
            ("a\n````\n```\nb\n````\nc", "a\nc\n"),
            ("a\n```\n\n~~~\nb", "a\n"),
            ("``a``\n~~b", "\n~~b\n"),
        ] {
            assert_eq!(unquoted(text), left, "{text}");
        }
    }
}
