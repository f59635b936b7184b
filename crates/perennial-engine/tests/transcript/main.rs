//! The transcript reader, with files as agent CLIs write them.
//!
//! `samples/projects` is written by hand, in the shapes of Claude Code 2.1.39 and 2.1.325;
//! `samples/gemini` was recorded with Gemini CLI 0.61.0 and given other paths.

mod codex;
mod damage;
mod figures;
mod fixture;
mod gemini;
mod page;
mod plain;
mod reference;
mod steps;
mod tail;
mod tree;
