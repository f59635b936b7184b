//! The core from outside: exhaustive walks of short sequences, properties of folding, and single
//! cases that exploration found.

mod ending;
mod fold;
mod hearing;
mod held;
mod line;
mod listener;
mod messages;
mod recording;
mod replay;
mod signs;
mod told;
mod turns;
mod walks;
