//! Markdown check lists: as they are read and as they are written. Touches no file and no daemon.
//!
//! Invariant
//! - CL1  What is written is read again as the same list: titles, steps, what is done, and what is a part of what.

/// One item of a list that is a task, with its steps and parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    pub title: String,
    pub done: bool,
    pub steps: Vec<(String, bool)>,
    pub parts: Vec<Item>,
}

/// A line of a list, before it is known what it is.
struct Line {
    depth: usize,
    text: String,
    done: bool,
    is_task: bool,
    below: Vec<Line>,
}

/// The tasks of a check list. A nested item is a step, unless it has items of its own or was written by `task export` as a
/// task. Lines that are no items are passed over.
pub fn read(text: &str) -> Vec<Item> {
    let mut top: Vec<Line> = Vec::new();
    for line in text.lines().filter_map(item) {
        let mut level = &mut top;
        while level.last().is_some_and(|above| above.depth < line.depth) {
            let last = level.len() - 1;
            level = &mut level[last].below;
        }
        level.push(line);
    }
    top.into_iter().map(task).collect()
}

/// How many items of lists have no box, and so are no tasks.
pub fn without_box(text: &str) -> usize {
    let is_without = |rest: &&str| !rest.is_empty() && !rest.starts_with('[');
    text.lines().filter_map(behind_mark).filter(is_without).count()
}

/// What stands behind the mark of a list's item: `-`, `*`, `+`, `1.` or `1)`, and a blank.
fn behind_mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')'])).flatten()
    };
    let rest = line.strip_prefix(['-', '*', '+']).or_else(numbered)?;
    rest.starts_with([' ', '\t', '[']).then(|| rest.trim_start())
}

fn item(line: &str) -> Option<Line> {
    let depth = line.chars().take_while(|c| *c == ' ').count()
        + 4 * line.chars().take_while(|c| *c == '\t').count();
    let rest = behind_mark(line)?;
    let (done, rest) = match (rest.strip_prefix("[ ]"), rest.get(..3)) {
        (Some(rest), _) => (false, rest),
        (None, Some("[x]" | "[X]")) => (true, &rest[3..]),
        (None, _) => return None,
    };
    let rest = rest.trim();
    let marked = rest.rsplit_once("<!--").filter(|(_, mark)| {
        let id = mark.trim().strip_suffix("-->").map(str::trim);
        id.is_some_and(|id| id.starts_with("tsk_"))
    });
    let text = marked.map_or(rest, |(title, _)| title.trim()).to_owned();
    (!text.is_empty()).then(|| Line {
        depth,
        text,
        done,
        is_task: marked.is_some(),
        below: Vec::new(),
    })
}

fn task(line: Line) -> Item {
    let mut item = Item { title: line.text, done: line.done, ..Item::default() };
    for below in line.below {
        match below.is_task || !below.below.is_empty() {
            true => item.parts.push(task(below)),
            false => item.steps.push((below.text, below.done)),
        }
    }
    item
}

/// A check list of these tasks, each with its id.
pub fn written(items: &[(String, Item)], parts: &dyn Fn(&str) -> Vec<(String, Item)>) -> String {
    let mut text = String::new();
    items.iter().for_each(|item| write(&mut text, item, parts, 0));
    text
}

fn write(
    text: &mut String,
    (id, item): &(String, Item),
    parts: &dyn Fn(&str) -> Vec<(String, Item)>,
    depth: usize,
) {
    let indent = "  ".repeat(depth);
    let mark = |done: bool| if done { 'x' } else { ' ' };
    text.push_str(&format!("{indent}- [{}] {} <!-- {id} -->\n", mark(item.done), item.title));
    for (step, done) in &item.steps {
        text.push_str(&format!("{indent}  - [{}] {step}\n", mark(*done)));
    }
    // It ends: a part is added after the whole, so that none leads back to it.
    parts(id).iter().for_each(|part| write(text, part, parts, depth + 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Release\n\n- [ ] ship it\n  - [x] tag\n  - [ ] announce\n* [x] write notes\n\
                        - [ ] port\n    - [ ] parser\n        - [ ] lexer\n    - [ ] printer\nnot an item\n- [ ]\n";

    #[test]
    fn numbered_items_are_items_and_those_without_a_box_are_counted() {
        let text = "1. [ ] first\n2) [x] second\n- third\n---\n**bold**\n3.5 is no item\n- [ ]\n";
        let titles: Vec<String> = read(text).into_iter().map(|item| item.title).collect();
        assert_eq!(titles, ["first", "second"]);
        assert_eq!(without_box(text), 1);
    }

    #[test]
    fn nested_items_are_steps_or_parts() {
        let items = read(LIST);
        let titles: Vec<&str> = items.iter().map(|item| item.title.as_str()).collect();
        assert_eq!(titles, ["ship it", "write notes", "port"]);
        assert_eq!(items[0].steps, [("tag".to_owned(), true), ("announce".to_owned(), false)]);
        assert!(items[1].done);
        assert_eq!(items[2].parts[0].title, "parser");
        assert_eq!(items[2].parts[0].steps, [("lexer".to_owned(), false)]);
        assert_eq!(items[2].steps, [("printer".to_owned(), false)]);
    }

    /// CL1
    #[test]
    fn what_is_written_is_read_again() {
        fn numbered(items: &[Item], at: &str) -> Vec<(String, Item)> {
            let id = |place| format!("tsk_{at}{place}");
            (0..).zip(items).map(|(place, item): (u8, _)| (id(place), item.clone())).collect()
        }
        let mut items = read(LIST);
        items[2].parts.push(Item { title: "a <!-- b --> c".to_owned(), ..Item::default() });
        let top = numbered(&items, "");
        let parts = |id: &str| match top.iter().find(|(known, _)| known == id) {
            Some((_, item)) => numbered(&item.parts, "0"),
            None => Vec::new(),
        };
        assert_eq!(read(&written(&top, &parts)), items);
    }
}
