//! The product from outside: the built binary in sealed homes, one file for each verb or theme.
//!
//! Tests wait for events, never for a time that has to pass, and end by pid what they started.

mod attach;
mod authority;
mod board;
mod breaker;
mod chance;
mod claude;
mod claude_conversation;
mod claude_line;
mod claude_logs;
mod claude_person;
mod claude_silence;
mod claude_texts;
mod claude_trouble;
mod copied_home;
mod daemon_killed;
mod daemon_races;
mod demo;
mod disk_full;
mod doctor;
mod down;
mod ended;
mod events;

mod frozen;
mod homes;
mod hostile;
mod job_identity;
mod logs;
mod ls;
mod mirror;
mod namespace;
mod output;
mod own_harness;
mod processes;
mod reboot;
mod record;
mod rename;
mod sealed;
mod send;
mod session_killed;
mod shim_killed;
mod show;
mod spawn;
mod states;
mod stop;
mod terminal;
mod tokens;
mod unreadable;
mod watch;
