//! Several nodes on one journal: explored, and shown that a broken one is noticed.

use perennial_sim::{NodeMutation, explore_nodes};

/// `cargo xtask prove nodes` explores more of them.
#[test]
fn nodes_that_share_a_journal_keep_the_properties() {
    let summary = explore_nodes(0..300, None).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{summary:?}");
    assert!(summary.conflicts > summary.seeds, "they meet: {summary:?}");
    assert!(summary.foreign_events > 0 && summary.names_refused > 0 && summary.deaths > 0);
    assert!(summary.vacancies > summary.seeds, "roles fall vacant: {summary:?}");
}

#[test]
fn whatever_is_left_out_is_noticed() {
    for mutation in [
        NodeMutation::VersionsIgnored,
        NodeMutation::ClaimsIgnored,
        NodeMutation::ReadsIgnored,
        NodeMutation::DeafToOthers,
    ] {
        let found = explore_nodes(0..2000, Some(mutation));
        println!("{mutation:?}: {found:?}");
        assert!(found.is_err(), "{mutation:?} is not noticed: {found:?}");
    }
}
