//! Exploration finds nothing wrong in the real core and supervisor, and something in broken ones.

use perennial_sim::explore;

#[test]
fn a_thousand_worlds_hold_every_property() {
    match explore(0..1000) {
        Ok(summary) => println!("{summary}"),
        Err(violation) => panic!("{violation}"),
    }
}
