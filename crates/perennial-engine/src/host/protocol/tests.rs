//! Frames in pieces, and words of another version.

use super::*;

#[test]
fn frames_survive_any_cut() {
    let mut wire = Vec::new();
    push_control(&mut wire, &Order::Release { number: 7 }).expect("fits");
    push_bytes(&mut wire, b"\x00\xff");
    push_bytes(&mut wire, b"");
    for cut in 0..wire.len() {
        let mut inbox = Inbox::new(CONTROL_BYTES_MAX);
        let mut frames = Vec::new();
        for part in [&wire[..cut], &wire[cut..]] {
            inbox.push(part);
            while let Some(frame) = inbox.next_frame().expect("well formed") {
                frames.push(frame);
            }
        }
        assert_eq!(frames.len(), 2, "an empty chunk makes no frame");
        assert_eq!(frames[1], Frame::Bytes(b"\x00\xff".to_vec()));
    }
}

#[test]
fn long_and_unknown_frames_are_refused_from_their_header() {
    let mut inbox = Inbox::new(CONTROL_BYTES_MAX);
    inbox.push(&[KIND_BYTES, 1, 0, 1, 0]);
    assert!(matches!(inbox.next_frame(), Err(FrameError::TooLong(65_537))));
    let mut inbox = Inbox::new(CONTROL_BYTES_MAX);
    inbox.push(&[9, 0, 0, 0, 0]);
    assert!(matches!(inbox.next_frame(), Err(FrameError::Kind(9))));
}

#[test]
fn unknown_fields_and_orders_of_a_newer_side_are_tolerated() {
    let order: Order = parse(br#"{"order":"release","number":3,"later":true}"#).expect("known");
    assert!(matches!(order, Order::Release { number: 3 }));
    let order: Order = parse(br#"{"order":"dance","number":3}"#).expect("tolerated");
    assert!(matches!(order, Order::Unknown));
    let hello: ClientHello =
        parse(br#"{"protocol":1,"role":"attach","ticket":"t","rows":5,"cols":9}"#).expect("hello");
    let Role::Attach { size, from, .. } = hello.role else { panic!("another role") };
    assert_eq!((size, from), (Size { rows: 5, cols: 9 }, None));
}
