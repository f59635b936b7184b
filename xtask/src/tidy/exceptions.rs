//! Places where a rule is known not to hold, each with its reason. The list only shrinks.
//!
//! An exception that is no longer needed, or is larger than needed, is a finding itself.

use super::Finding;

struct Exception {
    rule: &'static str,
    place: &'static str,
    /// As much as there was when the exception was made; more is a finding.
    amount: usize,
    why: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "function-size",
        place: "crates/perennial-core/src/state.rs::next",
        amount: 160,
        why: "one truth table, read as a table; cut in pieces it could not be seen whole",
    },
    Exception {
        rule: "calls",
        place: "crates/perennial/src/cli/commands/demo_agent.rs thread::sleep",
        amount: 1,
        why: "a scripted agent that pretends to work: there is no event to wait for",
    },
];

/// What is left of the findings when the exceptions are taken out.
pub fn apply(found: Vec<Finding>) -> Vec<Finding> {
    apply_list(EXCEPTIONS, found)
}

fn apply_list(exceptions: &[Exception], found: Vec<Finding>) -> Vec<Finding> {
    let covered = |exception: &Exception, finding: &Finding| {
        exception.rule == finding.rule && exception.place == finding.place
    };
    let mut findings = Vec::new();
    for exception in exceptions {
        let amount: usize = found
            .iter()
            .filter(|finding| covered(exception, finding))
            .map(|finding| finding.amount)
            .sum();
        if amount < exception.amount {
            findings.push(Finding {
                rule: "exceptions",
                place: exception.place.into(),
                amount: 1,
                text: format!(
                    "{}: an exception for {} ({}), but there are {amount}; lower it or take it out",
                    exception.rule, exception.amount, exception.why
                ),
            });
        }
    }
    findings.extend(found.into_iter().filter(|finding| {
        !exceptions
            .iter()
            .any(|exception| covered(exception, finding) && finding.amount <= exception.amount)
    }));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(amount: usize) -> Vec<Finding> {
        let exception = Exception { rule: "calls", place: "a.rs", amount: 2, why: "known" };
        let finding = Finding { rule: "calls", place: "a.rs".into(), amount, text: "x".into() };
        apply_list(&[exception], vec![finding])
    }

    #[test]
    fn an_exception_covers_what_it_names_and_must_fit() {
        assert_eq!(with(2), []);
        assert_eq!(with(3)[0].rule, "calls");
        assert_eq!(with(1)[0].rule, "exceptions");
    }
}
