//! Numbers on the command line: what may be given is told as people say it.

/// A whole number within bounds, as clap reads it.
pub fn within<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("give a whole number from {LEAST} to {MOST}"))
}

/// The number of a checkpoint, a snapshot or a session, as clap reads it.
pub fn counted(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "give a number such as 3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_what_may_be_given() {
        assert_eq!((within::<1, 10>("1"), within::<1, 10>("10")), (Ok(1), Ok(10)));
        for bad in ["0", "11", "-1", "x", "", "1.5", "99999999999999999999999"] {
            let told = within::<1, 10>(bad).expect_err(bad);
            assert_eq!(told, "give a whole number from 1 to 10", "{bad}");
        }
    }
}
