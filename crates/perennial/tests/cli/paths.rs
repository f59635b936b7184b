//! `paths`: where everything is, without a daemon.

use std::collections::BTreeMap;

use crate::sealed::Sealed;

#[test]
fn paths_are_told_without_a_daemon_and_are_those_of_the_home() {
    let sealed = Sealed::new();
    let paths: BTreeMap<String, String> = sealed.json(&["paths"]);
    for (name, path) in [
        ("home", sealed.root.clone()),
        ("journal", sealed.home.journal()),
        ("socket", sealed.home.socket()),
        ("log", sealed.home.daemon_log()),
        ("mirror", sealed.home.mirror()),
        ("harnesses", sealed.home.config.join("harness")),
    ] {
        assert_eq!(paths[name], path.display().to_string(), "{name}");
        assert_eq!(sealed.ok(["paths", name]), format!("{}\n", path.display()));
    }
    assert!(!sealed.root.exists(), "looking creates nothing");
    let listed = sealed.ok(["paths"]);
    assert!(paths.iter().all(|(name, path)| listed.contains(name) && listed.contains(path)));
    let problem = sealed.refused(4, &["paths", "journl"]);
    assert_eq!(problem.detail, "did you mean journal?");
    assert!(!Sealed::xdg().json::<BTreeMap<String, String>>(&["paths"]).contains_key("home"));
}
