//! A home in which the client starts without asking a person, and talks to a scripted model only.

use serde_json::json;

use super::super::dialect::ScriptedHome;

/// Sent to the scripted model, which asks for none.
const KEY: &str = "no-real-key";

pub fn scripted_home() -> ScriptedHome {
    let settings = json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "folderTrust": { "enabled": false },
        },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        // With another one, each prompt begins with a question of the client's own to a model.
        "model": { "name": "gemini-3.1-pro-preview" },
    });
    ScriptedHome {
        files: vec![(".gemini/settings.json".into(), settings.to_string())],
        environment: vec![("GEMINI_API_KEY".to_owned(), KEY.to_owned())],
        model_variable: "GOOGLE_GEMINI_BASE_URL",
        shell_tool: "run_shell_command",
    }
}
