//! Exploration finds nothing wrong in the real core and supervisor, and something in broken ones.

use perennial_sim::{explore, explore_mail};

/// Worlds in which a property was once broken.
const ONCE_BROKEN: [u64; 17] = [
    321, 123, 11_391, 15_777, 22_637, 28_386, 33_842, 55_207, 82_200, 83_953, 85_797, 89_487,
    221_907, 223_329, 229_283, 236_208, 303_986,
];

#[test]
fn a_thousand_worlds_hold_every_property() {
    match explore(0..1000) {
        Ok(summary) => println!("{summary}"),
        Err(violation) => panic!("{violation}"),
    }
}

#[test]
fn worlds_that_were_once_broken_hold_every_property() {
    for seed in ONCE_BROKEN {
        if let Err(violation) = explore(seed..seed + 1) {
            panic!("{violation}");
        }
    }
}

/// The world of `--example mail`, in small.
#[test]
fn a_world_with_much_mail_holds_every_property() {
    match explore_mail(1, 30, 500) {
        Ok(summary) => assert!(summary.sessions >= 30 && summary.mails_listed > 0, "{summary}"),
        Err(violation) => panic!("{violation}"),
    }
}
