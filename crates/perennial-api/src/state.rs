//! The words for an agent's state on the wire. A newer daemon may know more of them.

pub const HATCHING: &str = "hatching";
pub const WAKING: &str = "waking";
pub const WORKING: &str = "working";
pub const WAITING: &str = "waiting";
pub const UNKNOWN: &str = "unknown";
pub const HANDING_OFF: &str = "handing-off";
pub const CRASHED: &str = "crashed";
pub const SLEEPING: &str = "sleeping";
pub const HIBERNATING: &str = "hibernating";
pub const FROZEN: &str = "frozen";
pub const DEAD: &str = "dead";
pub const EXPIRED: &str = "expired";

pub const ALL: [&str; 12] = [
    HATCHING,
    WAKING,
    WORKING,
    WAITING,
    UNKNOWN,
    HANDING_OFF,
    CRASHED,
    SLEEPING,
    HIBERNATING,
    FROZEN,
    DEAD,
    EXPIRED,
];
