//! Several nodes on one journal: explored, and shown that a broken one is noticed.

use perennial_sim::{NodeMutation, explore_nodes};

/// `PERENNIAL_NODE_SEEDS` explores more of them.
#[test]
fn nodes_that_share_a_journal_keep_the_properties() {
    let seeds = std::env::var("PERENNIAL_NODE_SEEDS").ok().and_then(|text| text.parse().ok());
    let summary =
        explore_nodes(0..seeds.unwrap_or(300), None).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{summary:?}");
    assert!(summary.conflicts > summary.seeds, "they meet: {summary:?}");
    assert!(summary.foreign_events > 0 && summary.names_refused > 0 && summary.deaths > 0);
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
