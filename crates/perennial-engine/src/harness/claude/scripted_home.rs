//! A home in which the client starts without asking a person, and talks to a scripted model only.

use std::path::Path;

use serde_json::json;

use super::super::dialect::ScriptedHome;
use super::super::preset::Preset;

/// Sent to the scripted model, which asks for none.
const KEY: &str = "no-real-key";

pub fn scripted_home(preset: &Preset, work: &Path) -> ScriptedHome {
    // A later version shows no dialog for it either.
    let version = &preset.measured;
    let project = work.to_string_lossy().into_owned();
    let answers = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": version, "theme": "dark",
        "hasSeenAutoDefaultNotice": true, "lastReleaseNotesSeen": version,
        "officialMarketplaceAutoInstallAttempted": true,
        "officialMarketplaceAutoInstalled": true,
        "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
        "projects": { project: {
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
    });
    let environment = [
        ("ANTHROPIC_API_KEY", KEY),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // Root may let it work without asking only in a place that is closed off, as this is.
        ("IS_SANDBOX", "1"),
    ];
    ScriptedHome {
        files: vec![(".claude.json".into(), answers.to_string())],
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        model_variable: "ANTHROPIC_BASE_URL",
        shell_tool: "Bash",
    }
}
