//! Files and functions that a person can hold in the head.

use super::{Finding, Tree};

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;

/// Files of test directories may be longer: they are read one test at a time.
pub fn files(tree: &Tree) -> Vec<Finding> {
    let long = |lines: usize| (lines > FILE_LINES).then_some(lines);
    tree.texts
        .iter()
        .filter(|text| text.is_rust() && !text.is_test())
        .filter_map(|text| long(text.text.lines().count()).map(|lines| (text, lines)))
        .map(|(text, lines)| Finding {
            rule: "file-size",
            place: text.path.clone(),
            amount: lines,
            text: format!("{lines} lines, at most {FILE_LINES}"),
        })
        .collect()
}

pub fn functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        for function in source.functions() {
            if function.lines > FUNCTION_LINES {
                findings.push(Finding {
                    rule: "function-size",
                    place: format!("{}::{}", source.path, function.name),
                    amount: function.lines,
                    text: format!(
                        "line {}: {} lines, at most {FUNCTION_LINES}",
                        source.line(function.begin),
                        function.lines
                    ),
                });
            }
        }
    }
    findings
}
