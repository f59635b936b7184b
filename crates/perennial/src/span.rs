//! Spans of time as people read them: in the history of an agent, and wherever the command line shows
//! one.

/// `42s`, `12m`, `5h`, `3d`: two digits' worth.
pub fn brief(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// `in 12m`, or `now` for what is less than a second away.
pub fn ahead(seconds: u64) -> String {
    if seconds == 0 { "now".to_owned() } else { format!("in {}", brief(seconds)) }
}
