//! A retry that comes due while a wake is being recorded, which then fails, is not lost with it.
//!
//! Whatever the jitter makes of the moment: the wake is tried at each step of the whole window.

use perennial_sim::play;

/// The retry after the third crash comes 2 to 2.4 s after it, at about 4.2 s.
fn wake_after(micros: u64) -> String {
    format!(
        "start daemon\nspawn bob program=exit:1@0s\nrun 3s\nprogram bob steady\n\
         expect bob crashed retrying\ndisk full\nrun {micros}us\nwake bob\ndisk ok\n\
         run 3s\nexpect bob working running session 4\n"
    )
}

#[test]
fn a_retry_is_not_lost_with_a_wake_that_was_not_recorded() {
    // A commit takes 500 us: steps of 200 us meet each moment of it.
    let mut refused = 0;
    for micros in (1_228_000..1_238_000).step_by(200) {
        match play(&wake_after(micros)) {
            Ok(story) => refused += usize::from(story.contains("not recorded")),
            Err(mistake) => panic!("the wake came after {micros} us: {mistake}"),
        }
    }
    assert!(refused > 10, "the window was not met: {refused}");
}
