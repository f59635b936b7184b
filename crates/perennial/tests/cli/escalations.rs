//! `escalations`: the list, page by page, and who sees what of it.

use perennial_api::escalation::Escalation;

use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};

// covers: G-08
#[test]
fn the_list_is_paged_and_shows_an_agent_its_own() {
    let sealed = Sealed::up();
    assert!(sealed.ok(["escalations"]).contains("no escalations"));
    worker(&sealed, "ada", &[]);
    worker(&sealed, "eve", &[]);
    within(&sealed, "ada", &format!("{PROGRAM} escalate --to parent -s first -m words"));
    for subject in ["second", "third"] {
        sealed.ok(["escalate", "--to", "operator", "-s", subject]);
    }
    let subjects = |words: &[&str]| -> Vec<String> {
        let all: Vec<Escalation> = sealed.json(&[&["escalations"], words].concat());
        all.into_iter().map(|one| one.subject).collect()
    };
    assert_eq!(subjects(&[]), ["third", "second", "first"]);
    assert_eq!(subjects(&["-n", "1"]), ["third"]);
    let all: Vec<Escalation> = sealed.json(&["escalations"]);
    let page = sealed.ok(["escalations", "--open", "-n", "2"]);
    let more = format!("perennial escalations --open -n 2 --before {}\n", all[1].id);
    assert!(page.ends_with(&more), "{page}");
    assert!(!sealed.ok(["escalations", "-n", "3"]).contains("more:"));
    assert_eq!(subjects(&["--before", &all[1].id]), ["first"]);
    assert_eq!((all[2].from.as_str(), &all[2].steps[..]), ("ada", &["operator".to_owned()][..]));
    // Those of others are not for everybody.
    let of_ada = within(&sealed, "ada", &format!("{PROGRAM} escalations"));
    assert!(of_ada.contains("first") && !of_ada.contains("second"), "{of_ada}");
    assert!(within(&sealed, "eve", &format!("{PROGRAM} escalations")).contains("no escalations"));
    sealed.ok(["mail", "read", &all[0].mail]);
    assert_eq!(subjects(&["--open"]), ["second", "first"]);
    assert_eq!(sealed.refused(4, &["escalations", "--before", "esc_x"]).kind, "no-such-escalation");
}
