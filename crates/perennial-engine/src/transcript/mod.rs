//! Reading what agent CLIs write down about their conversations.
//!
//! Files in, steps and figures out; nothing here knows of agents or the journal. No
//! thread outlives a call, no runtime, no watching: the caller says when to look.
//!
//! | file | is |
//! |---|---|
//! | [`tail`] | a growing file of lines, read from where one stopped |
//! | [`step`] | what happens in a conversation, in words of no vendor |
//! | [`facts`] | its steps, as facts about a session |
//! | [`account`] | how many tokens, and what they cost |
//! | [`prices`] | the dated table of prices |
//! | [`field`] | fields of a line: names, prose and times |
//! | [`line_reader`] | the port to one vendor's lines; each vendor has a directory of its own |
//! | [`conversation`] | one live conversation, followed step by step |
//! | [`page`] | part of what was said, from a place on |
//! | [`survey`] | the figures of very many files at once |
//!
//! What a transcript holds was written by a model or by a program that it called: hostile input.
//! No line, whatever is in it, ends in a panic or in more memory than a few times its length.

pub mod account;
pub mod claude;
pub mod codex;
pub mod conversation;
pub mod facts;
pub mod field;
pub mod gemini;
pub mod line_reader;
pub mod page;
pub mod plain;
pub mod prices;
pub mod recent;
pub mod step;
pub mod survey;
pub mod tail;
