//! The journal's contract, checked on every implementation, and what is promised of the SQLite file
//! beyond it: damage, kills, full disks. Real files in temporary directories.

mod damage;
mod disk;
mod events;
mod everywhere;
mod form;
mod golden;
mod golden_handoffs;
mod golden_signals;
mod graph;
mod kill;
mod load;
mod memory;
mod migration;
mod random;
mod signals;
mod snapshots;
mod tasks;
mod texts;
mod torn;
