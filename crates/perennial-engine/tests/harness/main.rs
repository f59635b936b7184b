//! Harnesses from outside: presets, what a session is started with, what Claude Code's hooks and
//! status line mean. The samples were recorded with Claude Code 2.1.325 and given other paths.

mod codex;
mod dialect;
mod gemini;
mod hooks;
mod mutations;
mod prepare;
mod preset;
mod session_texts;
mod status_line;

/// One recorded input per line.
const HOOKS: &str = include_str!("samples/hooks.jsonl");
const GEMINI_HOOKS: &str = include_str!("samples/gemini_hooks.jsonl");
const STATUS_LINES: &str = include_str!("samples/status_lines.jsonl");

/// The built-in preset: no configuration can be at this place.
fn claude() -> perennial_engine::harness::Preset {
    let nowhere = std::path::Path::new("/proc/none");
    perennial_engine::harness::Preset::load(nowhere, "claude").expect("the built-in preset")
}
