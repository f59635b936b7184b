//! Spans of time as people read and write them: in the history of an agent, and wherever the command line or a file
//! has one.

/// `90s`, `10m`, `2h`, `1d`, in seconds.
pub fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let count: u32 = text.strip_suffix(unit)?.parse().ok()?;
    Some(u64::from(count) * seconds)
}

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
