//! Whether anything of a conversation was written: a client that is killed early leaves a transcript
//! of settings and snapshots, which it refuses to resume and whose id it refuses to begin again.
//!
//! In doubt it was begun.

use super::line::Name;
use crate::transcript::tail::lines;

#[derive(Debug, serde::Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    _kind: Name<'a>,
    /// What belongs to the conversation's tree has one.
    #[serde(borrow)]
    uuid: Option<Name<'a>>,
}

/// Whether a whole transcript holds something of a conversation.
pub fn is_begun(transcript: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', transcript).map_or(0, |end| end + 1);
    lines(&transcript[..whole]).any(|line| match serde_json::from_slice::<Line<'_>>(line) {
        Ok(line) => line.uuid.is_some(),
        Err(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // As Claude Code 2.1.325 left it, killed 0.6 s after its first turn.
    const LEFT: &str = r#"{"type":"last-prompt","leafUuid":"20b0dde9-fe98-473e-9030-1c6744cc7b95","sessionId":"9f969d9c"}
{"type":"mode","mode":"normal","sessionId":"9f969d9c"}
{"type":"file-history-snapshot","messageId":"405f16ba","snapshot":{"messageId":"405f16ba","trackedFileBackups":{}},"isSnapshotUpdate":false}
"#;

    #[test]
    fn only_lines_of_the_tree_are_a_conversation() {
        assert!(!is_begun(b""));
        assert!(!is_begun(LEFT.as_bytes()));
        let cut_off = format!("{LEFT}{{\"type\":\"user\",\"uuid\":\"a1\",\"mess");
        assert!(!is_begun(cut_off.as_bytes()));
        let said = format!("{LEFT}{{\"type\":\"user\",\"uuid\":\"a1\",\"message\":{{}}}}\n");
        assert!(is_begun(said.as_bytes()));
        for unknown in ["{}\n", "not ours\n"] {
            assert!(is_begun(unknown.as_bytes()), "{unknown}");
        }
    }
}
