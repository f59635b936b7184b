//! Keys, and what becomes of the draft.

use std::time::Duration;

use super::super::modes::Caret;
use super::*;

mod hint;

const SLOW: Duration = Duration::from_secs(1);

/// Whether there is a draft after these keys, a second apart.
fn kept(keys: &[&[u8]]) -> bool {
    let mut draft = Draft { keys: Vec::new(), stash: None, ..claude() };
    for (second, keys) in (0..).zip(keys) {
        draft.typed(keys, SLOW * second);
    }
    draft.is_kept()
}

#[test]
fn words_are_a_draft_until_they_are_sent() {
    for sent in [&b"\r"[..], b"\x1bOM", b"\x1b[13u", b"\x1b[13;1u"] {
        assert!(kept(&[b"words"]) && !kept(&[b"words", sent]), "{sent:?}");
        assert!(kept(&[b"words", sent, b"m"]), "{sent:?}");
    }
    for more in [&b"\\\r"[..], b"\x1b\r", b"\n", b"\x1b[13;2u", b"\x1b[27;2;13~"] {
        assert!(kept(&[b"words", more]), "{more:?} is a line more");
    }
    assert!(kept(&[b"\x1b[200~one\rtwo", b"\r\x1b[201~"]), "a paste is not sent");
    assert!(!kept(&[b"\x1b[200~one\rtwo", b"\r\x1b[201~", b"\r"]));
}

#[test]
fn words_are_taken_back() {
    for back in [&b"\x03"[..], b"\x15", b"\x1b\x1b", b"\x1b[99;5u", b"\x1b[27;5;117~"] {
        assert!(!kept(&["wörd".as_bytes(), back]), "{back:?}");
    }
    assert!(!kept(&["wörd".as_bytes(), b"\x7f\x7f\x7f\x7f"]));
    assert!(kept(&["wörd".as_bytes(), b"\x7f\x7f\x7f"]));
    assert!(kept(&[b"word", b"\x1b", b"\x1b"]), "too slow");
    assert!(kept(&[b"word", b"\x1b[D", b"\x15"]), "the cursor is not at its end");
    assert!(kept(&[b"word\x1b\rword", b"\x15"]), "there is a line before");
}

#[test]
fn what_makes_a_new_line_of_enter_is_the_programs() {
    let is_kept = |newline_sign: Option<char>, typed: &str| {
        let mut draft = drawn(&InputRules { newline_sign, ..rules() });
        draft.typed(typed.as_bytes(), SLOW);
        draft.is_kept()
    };
    for sign in ['\\', '+', '\u{23ce}'] {
        assert!(is_kept(Some(sign), &format!("words{sign}\r")), "{sign}");
        assert!(is_kept(Some(sign), &format!("\u{1b}[200~words{sign}\u{1b}[201~\r")), "{sign}");
        assert!(!is_kept(Some(sign), &format!("{sign}words\r")), "{sign}");
        assert!(!is_kept(None, &format!("words{sign}\r")), "{sign}");
    }
}

#[test]
fn two_escapes_take_a_draft_back_where_the_program_says_so() {
    for (double_escape_ms, is_kept) in [(Some(500), false), (None, true)] {
        let mut draft = drawn(&InputRules { double_escape_ms, ..rules() });
        draft.typed(b"words\x1b\x1b", SLOW);
        assert_eq!(draft.is_kept(), is_kept, "{double_escape_ms:?}");
    }
}

#[test]
fn how_long_an_interruption_may_put_words_back_is_the_programs() {
    for (put_back_ms, is_kept) in [(1500, true), (500, false)] {
        let mut draft = drawn(&InputRules { put_back_ms, ..rules() });
        shown(&mut draft, FIRST);
        draft.typed(b"\x03", SLOW);
        shown(&mut draft, FIRST);
        // One key in an empty line, and what takes it back.
        draft.typed(b"x\x7f", SLOW * 2);
        assert_eq!(draft.is_kept(), is_kept, "{put_back_ms}");
    }
}

#[test]
fn of_a_bare_command_only_enter_is_known() {
    for (typed, is_kept) in [("ls\r", false), ("ls \\\r", true), ("ls\u{1b}\u{1b}", true)] {
        let mut draft = Draft::bare();
        draft.typed(typed.as_bytes(), SLOW);
        assert_eq!(draft.is_kept(), is_kept, "{typed:?}");
    }
}

#[test]
fn what_nobody_typed_is_no_draft() {
    let own = [
        &b"\x1b[<35;10;5M"[..],
        b"\x1b[<0;10;5m",
        b"\x1b[M !!",
        b"\x1b[I",
        b"\x1b[O",
        b"\x1b[?62;22c",
        b"\x1b[?997;1n",
        b"\x1b[12;40R",
        b"\x1b[6;16;8t",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1bP>|xterm\x1b\\",
        b"\x1b_Gi=31;OK\x1b\\",
        b"\x1b[C\x1b[H\x1b[6~\x01\x0c\x7f",
        b"\x1b",
    ];
    for bytes in own {
        assert!(!kept(&[bytes]), "{bytes:?}");
        assert!(kept(&[bytes, b"x"]), "{bytes:?}");
    }
    assert!(!kept(&[b"\x1b[<35;1", b"0;5M"]), "in two pieces");
    assert!(kept(&[b"\x1b]", b"x"]), "a key with Alt");
    for history in [&b"\x1b[A"[..], b"\x1bOA", b"\x10", b"\x12", b"\t"] {
        assert!(kept(&[history]), "{history:?} may bring words");
    }
}

#[test]
fn keys_for_a_dialog_leave_the_draft_as_it_was() {
    for (before, is_kept) in [(&b""[..], false), (b"word", true)] {
        let mut draft = claude();
        draft.typed(before, SLOW);
        draft.focus(Focus::Dialog);
        draft.see(None, FIRST, Moment::ZERO);
        draft.typed(b"\x1b[B2\r\x1b\x1b\x03", SLOW);
        draft.focus(Focus::Turn);
        draft.typed(b"\x1b\x1b", SLOW);
        assert_eq!(draft.is_kept(), is_kept);
    }
}

/// As Claude Code's preset has it, once the line is drawn.
fn claude() -> Draft {
    drawn(&rules())
}

fn rules() -> InputRules {
    let key = |key, escapes| DoubtKey {
        key,
        escapes,
        is_toggle: false,
        is_interruptible: false,
        in_empty_line: false,
    };
    let doubt = vec![
        DoubtKey { in_empty_line: true, ..key(Key::Left, 4) },
        DoubtKey { is_interruptible: true, ..key(Key::Control(b'r'), 1) },
        DoubtKey { is_toggle: true, is_interruptible: true, ..key(Key::Control(b'o'), 1) },
        key(Key::Control(b'g'), 0),
        key(Key::Alt(b'p'), 1),
    ];
    InputRules {
        first_column: FIRST,
        right_margin: 3,
        placeholder: None,
        clear: String::new(),
        erase_row: String::new(),
        stash: Some(Key::Control(b's')),
        doubt,
        newline_sign: Some('\\'),
        double_escape_ms: Some(500),
        put_back_ms: 1000,
        enter_after_ms: 0,
        enter_again_ms: 0,
        echo_ms_per_kb: 0,
        frame_end: crate::host::delivery::FrameEnd::Corner,
        is_caret_upward: false,
        hints: Vec::new(),
    }
}

fn drawn(rules: &InputRules) -> Draft {
    Draft { room: 75, is_unread: false, ..Draft::with(rules) }
}

/// Draft and doubt after these keys, a second apart.
fn state(keys: &[&[u8]]) -> (bool, bool) {
    let mut draft = claude();
    for (second, keys) in (0..).zip(keys) {
        draft.typed(keys, SLOW * second);
    }
    (draft.is_kept(), draft.is_in_doubt())
}

#[test]
fn a_key_that_opens_something_is_a_doubt_until_its_way_back() {
    type Row<'a> = (&'a [&'a [u8]], (bool, bool));
    let table: &[Row<'_>] = &[
        (&[b"\x12"], (false, true)),
        (&[b"\x1b[114;5u"], (false, true)),
        (&[b"\x12", b"\x1b"], (false, false)),
        (&[b"\x12", b"filter", b"\x1b"], (false, false)),
        (&[b"\x12", b"\r"], (false, true)),
        (&[b"\x12", b"\r", b"\x1b"], (true, false)),
        (&[b"word", b"\x12", b"\x1b"], (true, false)),
        (&[b"\x0f", b"\x0f"], (false, false)),
        (&[b"\x1bp"], (false, true)),
        (&[b"\x1b[112;3u"], (false, true)),
        (&[b"\x1bp", b"\x1b"], (false, false)),
        (&[b"\x1b[D", b"\x1b", b"\x1b", b"\x1b"], (false, true)),
        (&[b"\x1bOD", b"\x1b", b"\x1b", b"\x1b", b"\x1b"], (false, false)),
        (&[b"word", b"\x1b[D"], (true, false)),
        (&[b"\x07", b"\x1b", b"\x1b"], (false, true)),
        (&[b"\x1b[200~\x12\x1b[201~"], (true, false)),
    ];
    for (keys, expected) in table {
        assert_eq!(state(keys), *expected, "{keys:?}");
    }
}

#[test]
fn a_prompt_that_was_taken_ends_the_doubt_that_it_followed() {
    let mut draft = claude();
    draft.typed(b"prompt\r", SLOW);
    draft.typed(b"\x07", SLOW);
    draft.heard();
    assert!(draft.is_in_doubt(), "the prompt was entered before");
    draft.typed(b":wq\r", SLOW);
    draft.typed(b"\rm", SLOW);
    draft.heard();
    assert!(!draft.is_in_doubt() && draft.is_kept(), "what was typed since is a draft");
}

#[test]
fn what_was_put_aside_comes_back_after_the_next_prompt() {
    assert_eq!(state(&[b"word", b"\x13", b"prompt", b"\r"]), (true, false));
    assert_eq!(state(&[b"word", b"\x13", b"prompt", b"\r", b"\r"]), (false, false));
}

#[test]
fn a_row_is_erased_and_no_more() {
    assert!(kept(&[&[b'x'; 80], b"\x15"]), "there is a row before");
    assert!(!kept(&[&[b'x'; 70], b"\x15"]));
    assert!(kept(&["\u{4e16}".repeat(40).as_bytes(), b"\x15"]), "wide ones");
}

#[test]
fn keys_for_a_suspended_program_wait_and_are_a_draft() {
    let mut draft = claude();
    draft.unread(true);
    draft.typed(b"fg\r", SLOW);
    draft.unread(false);
    assert!(draft.is_kept());
    draft.typed(b"\r", SLOW);
    assert!(!draft.is_kept());
}

#[test]
fn our_own_text_is_nobodys_draft_until_somebody_touches_it() {
    for (keys, is_kept) in [
        (&b"\x1b[I\x1b[<0;1;1M"[..], false),
        (b"\r", false),
        (b"\x03", false),
        (b"x", true),
        (b"\x7f", true),
        (b"\x15", true),
        (b"\x1b[D", true),
    ] {
        let mut draft = claude();
        draft.pasted();
        assert!(draft.is_ours() && !draft.is_kept());
        draft.typed(keys, SLOW);
        assert_eq!(draft.is_kept(), is_kept, "{keys:?}");
    }
}

#[test]
fn our_text_that_was_taken_does_not_come_back_with_the_line() {
    let mut draft = claude();
    draft.pasted();
    draft.typed(b"\x12", SLOW);
    draft.emptied(EmptyBy::Shown);
    draft.typed(b"\x1b", SLOW);
    assert!(!draft.is_ours() && !draft.is_kept() && !draft.is_in_doubt());
}

const FIRST: u16 = 3;
const IN_LINE: u16 = 2;

/// A frame ended with the caret in this column of the input line.
fn shown(draft: &mut Draft, column: u16) {
    draft.see(Some(Caret { column, rows_up: IN_LINE }), FIRST, Moment::ZERO);
}

/// A line that the program has shown to be empty.
fn empty() -> Draft {
    let mut draft = claude();
    shown(&mut draft, FIRST);
    draft
}

#[test]
fn a_key_in_a_line_that_the_program_filled_leaves_a_draft() {
    for key in [&b"\x1b[H"[..], b"\x01", b"\x15", b"\x7f", b"\x0b", b"\x1b[D", b"x", b"\x1b[3~"] {
        let mut draft = empty();
        shown(&mut draft, 20);
        assert!(!draft.is_kept(), "nobody has typed anything");
        draft.typed(key, SLOW);
        shown(&mut draft, FIRST);
        assert!(draft.is_kept() && !draft.is_in_doubt(), "{key:?}");
        draft.typed(b"\x03", SLOW);
        assert!(!draft.is_kept(), "{key:?}");
    }
}

#[test]
fn a_caret_that_comes_back_by_itself_shows_an_empty_line_again() {
    let mut draft = empty();
    draft.see(None, FIRST, Moment::ZERO);
    shown(&mut draft, 20);
    shown(&mut draft, FIRST);
    draft.typed(b"\x1b[H\x15\x7f", SLOW);
    assert!(!draft.is_kept());
}

/// Frames from before the interruption show an empty line still.
#[test]
fn keys_right_behind_an_interruption_leave_a_draft() {
    for interruption in [&b"\x1b"[..], b"\x03"] {
        for focus in [Focus::Line, Focus::Turn] {
            let mut draft = empty();
            draft.focus(focus);
            draft.typed(interruption, SLOW);
            shown(&mut draft, FIRST);
            assert!(!draft.is_kept());
            draft.typed(b"\x1b[H", SLOW);
            assert!(draft.is_kept(), "{interruption:?} {focus:?}");
        }
        let mut draft = empty();
        draft.typed(interruption, SLOW);
        shown(&mut draft, FIRST);
        draft.typed(b"\x1b[H", SLOW * 3);
        assert!(!draft.is_kept(), "nothing was put back");
    }
}

#[test]
fn without_a_caret_an_interrupted_turn_leaves_a_draft() {
    let mut draft = claude();
    draft.focus(Focus::Turn);
    draft.typed(b"\x1b", SLOW);
    assert!(draft.is_kept());
    draft.typed(b"\r", SLOW);
    assert!(!draft.is_kept());
}

#[test]
fn an_enter_that_did_not_send_leaves_a_draft_with_the_next_key() {
    let mut draft = empty();
    draft.typed(b"look at @mod\r", SLOW);
    shown(&mut draft, 22);
    draft.typed(b"\x01", SLOW * 3);
    shown(&mut draft, FIRST);
    assert!(draft.is_kept());
}

#[test]
fn words_that_were_erased_key_by_key_are_gone_though_the_caret_is_late() {
    let mut draft = empty();
    draft.typed(b"ab", SLOW);
    shown(&mut draft, 5);
    draft.typed(b"\x7f\x7f\x7f\x7f", SLOW);
    shown(&mut draft, 4);
    draft.typed(b"\x7f\x15", SLOW);
    assert!(!draft.is_kept());
    draft.typed(b"c", SLOW);
    draft.typed(b"\x7f", SLOW);
    assert!(!draft.is_kept());
}

#[test]
fn in_a_turn_an_interruption_leaves_the_words() {
    for (focus, is_kept) in [(Focus::Line, false), (Focus::Turn, true)] {
        let mut draft = empty();
        draft.focus(focus);
        draft.typed(b"word\x1b\r", SLOW);
        draft.typed(b"\x03", SLOW);
        assert_eq!(draft.is_kept(), is_kept, "{focus:?}");
    }
}

#[test]
fn a_pasted_backslash_makes_a_new_line_of_enter_too() {
    assert!(kept(&[b"\x1b[200~C:\\\x1b[201~", b"\r"]));
}

#[test]
fn words_in_the_line_are_a_draft_whatever_the_daemon_last_said() {
    let mut draft = empty();
    draft.focus(Focus::Dialog);
    draft.typed(b"1", SLOW);
    assert!(!draft.is_kept(), "it is not drawn yet");
    draft.see(Some(Caret { column: 10, rows_up: 20 }), FIRST, Moment::ZERO);
    draft.typed(b"2\x1b[B", SLOW);
    assert!(!draft.is_kept(), "the menu is open");
    draft.typed(b"\x1b", SLOW);
    shown(&mut draft, FIRST);
    draft.typed(b"word", SLOW);
    shown(&mut draft, 7);
    draft.typed(b"\n", SLOW);
    assert!(draft.is_kept(), "it was closed, and nobody told");
    draft.typed(b"\r\x03", SLOW);
    assert!(draft.is_kept(), "an Enter may have answered another");
}

#[test]
fn a_dialog_is_nobodys_word_once_the_daemon_has_left() {
    let in_dialog = |draft: &mut Draft| {
        draft.focus(Focus::Dialog);
        draft.typed(b"2", SLOW);
        draft.abandon();
    };
    let mut draft = claude();
    in_dialog(&mut draft);
    assert!(!draft.is_kept());
    draft.typed(b"word", SLOW);
    assert!(draft.is_kept());
    // An Enter may answer the dialog.
    draft.typed(b"\r", SLOW);
    assert!(draft.is_kept());
    draft.focus(Focus::Line);
    draft.typed(b"\r", SLOW);
    assert!(!draft.is_kept());
}

#[test]
fn what_is_not_alone_in_the_line_is_not_ours_to_erase() {
    let mut alone = empty();
    alone.pasted();
    alone.leave(false);
    assert!(alone.is_ours());
    alone.pasted();
    alone.leave(true);
    assert!(alone.is_kept(), "it was seen among words");
    let mut unseen = empty();
    unseen.typed(b"word\r", SLOW);
    unseen.pasted();
    unseen.leave(false);
    assert!(unseen.is_kept() && !unseen.is_ours());
}

#[test]
fn ctrl_c_leads_back_where_the_program_takes_it_for_that() {
    for (key, is_in_doubt) in [(&b"\x12"[..], false), (b"\x0f", false), (b"\x1bp", true)] {
        assert_eq!(state(&[key, b"\x03"]), (false, is_in_doubt), "{key:?}");
        assert_eq!(state(&[b"word", key, b"\x03"]), (true, is_in_doubt), "{key:?}");
    }
    assert_eq!(state(&[b"\x12", b"\r", b"\x03"]), (true, false), "an old prompt is in the line");
}

/// D9: that the first keys were read says nothing of those behind them.
#[test]
fn each_key_is_to_be_read_anew() {
    let at = Moment::from_secs;
    let mut draft = empty();
    draft.typed(b"a", at(2));
    draft.read(at(2));
    assert!(draft.is_behind_keys(at(2)) && !draft.is_behind_keys(at(3)));
    draft.typed(b"b\r", at(3));
    assert!(draft.is_behind_keys(at(9)), "nobody has read these");
    draft.read(at(9));
    assert!(draft.is_behind_keys(at(9)) && !draft.is_behind_keys(at(10)));
    draft.heard();
    assert!(!draft.is_behind_keys(at(3)));
}

/// D10: a prompt that a hook blocked comes back.
#[test]
fn words_that_the_program_put_back_are_nobodys_unless_a_person_typed() {
    let mut draft = empty();
    shown(&mut draft, 20);
    assert!(draft.is_put_back(false), "the prompt that it was started with");
    let mut draft = empty();
    draft.typed(b"\x1b", SLOW);
    shown(&mut draft, 20);
    assert!(!draft.is_put_back(false), "a person interrupted, and may want the prompt");
    shown(&mut draft, FIRST);
    draft.pasted();
    draft.entered();
    draft.emptied(EmptyBy::Shown);
    shown(&mut draft, FIRST);
    draft.see(Some(Caret { column: 20, rows_up: IN_LINE + 4 }), FIRST, Moment::ZERO);
    assert!(!draft.is_put_back(false), "that is a dialog");
    shown(&mut draft, 20);
    assert!(draft.is_put_back(false));
    draft.typed(b"x", SLOW * 3);
    assert!(!draft.is_put_back(false) && draft.is_kept());
    // It came back in the frame that would have shown an empty line.
    let mut draft = empty();
    draft.pasted();
    draft.entered();
    shown(&mut draft, 20);
    draft.emptied(EmptyBy::Erased);
    assert!(!draft.is_put_back(false) && draft.is_put_back(true));
    draft.typed(b"x", SLOW * 3);
    assert!(!draft.is_put_back(true));
}
