//! The vendors whose dialects are built in, and what agent CLIs leave behind: the one file that names
//! them all.

use super::claude::Claude;
use super::codex::Codex;
use super::dialect::Dialect;
use super::gemini::Gemini;
use super::plain::Plain;

/// Every vendor's dialect. The first one's preset is meant where a harness is needed and none is named.
pub const DIALECTS: [&dyn Dialect; 3] = [&Claude, &Codex, &Gemini];

/// For programs of no vendor's, which have a preset of their owner's only.
pub const PLAIN: &dyn Dialect = &Plain;

/// Variables that agent CLIs set for what they start, each with its reason not to reach a session.
pub const LEFT_BY_AGENT_CLIS: &[(&str, &str)] = &[
    ("CLAUDECODE", "an agent CLI would think that it runs inside another one"),
    ("CLAUDE_CODE_ENTRYPOINT", "as CLAUDECODE"),
    ("CLAUDE_CODE_SSE_PORT", "the caller's editor connection"),
    ("CLAUDE_CODE_SESSION_ID", "the caller's conversation"),
    ("CODEX_SANDBOX", "as CLAUDECODE, for codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "as CODEX_SANDBOX"),
    ("GEMINI_CLI", "as CLAUDECODE, for gemini"),
    ("CURSOR_AGENT", "as CLAUDECODE, for cursor"),
];
