//! The core from outside: exhaustive walks of short sequences, properties of folding, and single
//! cases that exploration found.

mod burial;
mod conditions;
mod damaged;
mod ending;
mod fold;
mod guards;
mod hearing;
mod held;
mod line;
mod listener;
mod lost;
mod messages;
mod notify;
mod recording;
mod replay;
mod roles;
mod settings;
mod signs;
mod snapshots;
mod tasks;
mod told;
mod turn_over;
mod turns;
mod walks;
mod windows;
