//! Keys that are numbers, each within the bounds that the table gives.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{KEYS, Kind};

pub fn silent_after_s<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("silent_after_s", from)
}

pub fn record_limit_mib<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("record_limit_mib", from)
}

pub fn keep_recordings_days<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("keep_recordings_days", from)
}

pub fn keep_snapshots<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("keep_snapshots", from)
}

pub fn keep_snapshots_days<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("keep_snapshots_days", from)
}

pub fn keep_asked_snapshots<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("keep_asked_snapshots", from)
}

pub fn children_max<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("children_max", from)
}

pub fn depth_max<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("depth_max", from)
}

pub fn max_running<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("max_running", from)
}

pub fn handoff_deadline_s<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("handoff_deadline_s", from)
}

pub fn escalate_after_s<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("escalate_after_s", from)
}

pub fn raise_loops_after_s<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number("raise_loops_after_s", from)
}

/// A number within the bounds that the table gives.
fn number<'de, D: Deserializer<'de>>(name: &str, from: D) -> Result<u64, D::Error> {
    let kind = KEYS.iter().find(|key| key.name == name).map(|key| key.kind);
    let Some(Kind::Number { least, most }) = kind else { return u64::deserialize(from) };
    let value = u64::deserialize(from).ok().filter(|value| (least..=most).contains(value));
    let wrong = || D::Error::custom(format!("{name} must be a number from {least} to {most}"));
    value.ok_or_else(wrong)
}
