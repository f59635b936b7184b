//! A test that the security page or the list of mended faults names exists: a promise without its test is only a
//! sentence.

use super::{Finding, Tree};

const PAGES: [&str; 2] = ["docs/security.md", "docs/design/0035-faults-found-from-outside.md"];

pub fn without_test(tree: &Tree) -> Vec<Finding> {
    let pages = tree.texts.iter().filter(|text| PAGES.contains(&text.path.as_str()));
    let lines = pages.flat_map(|page| {
        page.text.lines().enumerate().map(move |(index, line)| (&page.path, index + 1, line))
    });
    let named = lines.flat_map(|(page, number, line)| tests(line).map(move |t| (page, number, t)));
    named
        .filter(|(_, _, test)| !exists(tree, test))
        .map(|(page, line, test)| Finding {
            rule: "promises",
            place: page.clone(),
            amount: 1,
            text: format!("line {line}: there is no test {test}"),
        })
        .collect()
}

/// Tests in a line, as `file::test` between backquotes.
fn tests(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        word.contains("::") && word.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c))
    })
}

fn exists(tree: &Tree, test: &str) -> bool {
    let Some((module, name)) = test.rsplit_once("::") else { return false };
    let file = format!("/{}.rs", module.replace("::", "/"));
    let function = format!("fn {name}(");
    let in_file = |text: &&crate::repository::Text| text.path.ends_with(&file);
    tree.texts.iter().filter(in_file).any(|text| {
        // In a file of the product, tests come last.
        let tests = if text.is_test() { Some(0) } else { text.text.find("#[cfg(test)]") };
        tests.is_some_and(|at| text.text[at..].contains(&function))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_other_words() {
        let line = "refused (`authority::a_lead_may_stop`, `up`); see `docs/x.md` and `a b::c`";
        assert_eq!(tests(line).collect::<Vec<_>>(), ["authority::a_lead_may_stop"]);
    }
}
