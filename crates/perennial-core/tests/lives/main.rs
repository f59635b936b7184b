//! The core from outside: exhaustive walks of short sequences, properties of folding, and single
//! cases that exploration found.

mod audit;
mod burial;
mod checkpoints;
mod conditions;
mod damaged;
mod ending;
mod fold;
mod guards;
mod handoffs;
mod hearing;
mod held;
mod keeping;
mod line;
mod listener;
mod lost;
mod messages;
mod notify;
mod recording;
mod replay;
mod rest;
mod roles;
mod settings;
mod signs;
mod snapshots;
mod succession;
mod symptoms;
mod task_bounds;
mod task_rules;
mod tasks;
mod told;
mod turn_over;
mod turns;
mod unheard;
mod walks;
mod windows;
