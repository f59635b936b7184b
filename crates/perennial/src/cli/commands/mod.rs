//! The verbs. Each file has the verb's arguments, its help and what it does.

pub mod adopt;
pub mod attach;
pub mod bury;
pub mod completions;
pub mod daemon;
pub mod demo;
pub mod demo_agent;
pub mod doctor;
pub mod down;
pub mod events;
pub mod hook;
pub mod logs;
pub mod ls;
pub mod mcp;
pub mod rename;
pub mod run;
pub mod send;
pub mod shim;
pub mod show;
pub mod spawn;
pub mod statusline;
pub mod stop;
pub mod up;
pub mod wake;
pub mod why;
