//! What `doctor` says of the project in the current directory: its `perennial.toml`, the files that this names, and
//! whether its commands are trusted.

use std::path::Path;

use super::{Finding, Verdict, finding};
use crate::checks::Checks;
use crate::cli::commands::config::project;
use crate::cli::context::Context;
use crate::project_file;
use crate::roles;

/// Nothing where there is no file, or all is well.
pub fn findings(context: &Context) -> Vec<Finding> {
    let file = project::file();
    let shown = file.display();
    let declared = match project_file::text(&file).and_then(|text| project_file::parse(&text)) {
        Ok(declared) => declared,
        Err(mistake) => {
            let text = format!("{shown}: {mistake}");
            let next = "no role can be taken in this project until it is fixed: `perennial config check` with the \
                        file's path";
            return vec![finding("project", Verdict::Warn, text).next(next)];
        }
    };
    let checks = project::checks(&context.config().config, &file, context);
    let untrusted = checks.map(|checks| untrusted(&checks)).unwrap_or_default();
    let trust = (!untrusted.is_empty()).then(|| {
        let text = format!("{shown}: not yet trusted: {}", untrusted.join(", "));
        finding("project", Verdict::Warn, text)
            .next("to see the commands and trust them: perennial config trust")
    });
    mandates("project", &declared.role, &file).into_iter().chain(trust).collect()
}

/// The checks that can't be run.
fn untrusted(checks: &Checks) -> Vec<String> {
    let all = checks.of_project().map(|(name, _)| name.as_str());
    all.filter(|name| checks.trusted(name).is_err()).map(str::to_owned).collect()
}

/// Mandates whose files are not there.
pub fn mandates(what: &'static str, declared: &roles::Declared, file: &Path) -> Option<Finding> {
    let missing = roles::missing_mandates(declared, file);
    let text = format!("{}: {}", file.display(), missing.join("; "));
    let next = "write the file, or correct mandate_file: a relative path starts where the declaring file is";
    (!missing.is_empty()).then(|| finding(what, Verdict::Warn, text).next(next))
}
