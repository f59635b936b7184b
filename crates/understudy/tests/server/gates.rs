//! Turns that are held, released early or late, and left by their client.

use serde_json::json;
use understudy::{End, PATIENCE, Script, Turn, Understudy};

use crate::client::{call, get, post, prompt, text};

#[test]
fn a_turn_is_held_before_its_first_byte_until_released() {
    let server = Understudy::start(Script::new([Turn::text("at last").gate("g")])).unwrap();
    let held = call(&server, "/v1/messages", &[], &prompt("hi"));
    server.wait_until_held("g").unwrap();
    assert_eq!(get(&server, "/gates"), json!({ "g": 1 }));
    assert_eq!(server.requests()[0].end, None);
    assert_eq!(post(&server, "/release/g", &json!(null)).status, 204);
    assert_eq!(text(&held.response()), "at last");
    assert!(server.gates().is_empty());
}

#[test]
fn a_turn_is_held_in_the_middle_of_its_stream() {
    let turn = Turn::text("one two three four, and so on and on").gate_in_the_middle("g");
    let server = Understudy::start(Script::new([turn])).unwrap();
    let mut held = call(&server, "/v1/messages", &[], &prompt("hi"));
    server.wait_until_held("g").unwrap();
    held.read_until("one two three");
    server.release("g");
    assert_eq!(text(&held.response()), "one two three four, and so on and on");
}

#[test]
fn one_release_lets_one_turn_pass_and_cannot_come_too_early() {
    let turns = [Turn::text("a").gate("g"), Turn::text("b").gate("g")];
    let server = Understudy::start(Script::new(turns)).unwrap();
    server.release("g");
    assert_eq!(text(&post(&server, "/v1/messages", &prompt("hi"))), "a");
    let second = call(&server, "/v1/messages", &[], &prompt("hi"));
    server.wait_until_held("g").unwrap();
    server.release("g");
    assert_eq!(text(&second.response()), "b");
}

#[test]
fn a_client_that_goes_away_is_no_longer_held() {
    for turn in [Turn::text("a b c d").gate("g"), Turn::text("a b c d").gate_in_the_middle("g")] {
        let server = Understudy::start(Script::new([turn, Turn::text("next").gate("g")])).unwrap();
        let call_of_the_dead = call(&server, "/v1/messages", &[], &prompt("hi"));
        server.wait_until_held("g").unwrap();
        drop(call_of_the_dead);
        server.wait_for(|record| record.end == Some(End::ClientGone), PATIENCE).unwrap();
        assert!(server.gates().is_empty());
        // It took no release with it.
        server.release("g");
        assert_eq!(text(&post(&server, "/v1/messages", &prompt("hi"))), "next");
    }
}
