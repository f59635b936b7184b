//! The words that stand only in an empty line (D11), and frames from before a person's keys (D9).

use super::*;

/// D11. Codex takes an Enter right behind quick keys for a new row, in whose first column the caret is then.
#[test]
fn without_its_hint_a_caret_in_the_first_column_is_in_a_new_row() {
    let mut draft = claude();
    draft.hint(Some(true));
    shown(&mut draft, FIRST);
    draft.typed(b"words\r", SLOW);
    shown(&mut draft, FIRST);
    draft.hint(Some(false));
    shown(&mut draft, FIRST);
    assert!(draft.is_kept(), "the Enter made a new row");
    draft.typed(b"\r", SLOW * 2);
    draft.hint(Some(true));
    shown(&mut draft, FIRST);
    assert!(!draft.is_kept(), "sent");
}

/// D11.
#[test]
fn a_hint_shows_that_a_draft_is_gone_however_it_was_erased() {
    for erased in [&b"\x7f"[..], b"\x1b[3~", b"\x17"] {
        let mut draft = claude();
        draft.hint(Some(true));
        shown(&mut draft, FIRST);
        draft.typed(b"\x1b[200~x\x1b[201~", SLOW);
        draft.hint(Some(false));
        shown(&mut draft, FIRST + 1);
        draft.typed(erased, SLOW * 2);
        assert!(draft.is_kept(), "{erased:?} is not followed");
        draft.hint(Some(true));
        shown(&mut draft, FIRST);
        assert!(!draft.is_kept(), "{erased:?}");
    }
}

/// D9 goes before D11.
#[test]
fn a_hint_from_before_the_keys_tells_nothing() {
    let mut draft = claude();
    draft.hint(Some(true));
    shown(&mut draft, FIRST);
    draft.typed(b"\x1b[200~x\x1b[201~", SLOW);
    shown(&mut draft, FIRST);
    assert!(draft.is_kept(), "the program has not read the key yet");
}

/// D9. Seen with Gemini CLI on a busy machine: the draft was forgotten, and texts waited for another reason.
#[test]
fn words_are_not_gone_because_a_busy_program_goes_on_to_draw_its_hint() {
    let caret = Some(Caret { column: FIRST, rows_up: 2 });
    let mut draft = claude();
    draft.hint(Some(true));
    draft.see(caret, FIRST, SLOW);
    draft.typed(b"half a line", SLOW);
    for tenths in 1..20 {
        draft.see(caret, FIRST, SLOW + Duration::from_millis(100) * tenths);
        assert!(draft.is_kept(), "{tenths}");
    }
    let read_at = SLOW + Duration::from_secs(2);
    draft.read(read_at);
    draft.see(caret, FIRST, read_at + Duration::from_millis(900));
    assert!(draft.is_kept(), "read just now");
    draft.see(caret, FIRST, read_at + Duration::from_secs(1));
    assert!(!draft.is_kept(), "they changed nothing");
}
