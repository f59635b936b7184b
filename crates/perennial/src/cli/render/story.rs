//! The output of `why`: state and evidence, what happens next, what the reader can do, history.

use perennial_api::answer::{Chapter, Message, Why};
use perennial_api::query::WHY_LIMIT;

use super::advice::advice;
use super::card::{self, WITHHELD, evidence};
use super::paint::{Ink, Paint};
use super::role;
use super::roster::{Canvas, headline, next, reason};
use super::text::{self, plain};

/// `target` is the agent as the reader named it.
pub fn story(why: &Why, target: &str, canvas: &Canvas<'_>) -> String {
    let agent = &why.agent;
    let (paint, width) = (canvas.paint, canvas.width);
    let headline = headline(agent, canvas);
    let plainly = Canvas { paint: Paint::OFF, ..*canvas };
    let label = text::width(&super::roster::headline(agent, &plainly)) + 2;
    let mut told = format!("{headline}: ");
    told.push_str(&text::wrapped(&reason(agent, canvas.clock), label, 2, width));
    told.push('\n');
    if !agent.evidence.fact.is_empty() {
        let evidence = text::wrapped(&evidence(agent, canvas), 10, 2, width);
        told.push_str(&format!("evidence: {evidence}\n"));
    }
    if why.withheld.iter().any(|member| member == "texts") && agent.texts_waiting > 0 {
        told.push_str(&format!("\nWaiting texts: {WITHHELD}\n"));
    }
    if !why.texts.is_empty() {
        told.push_str("\nWaiting texts:\n");
        why.texts.iter().for_each(|message| told.push_str(&waiting(message, canvas)));
    }
    if let Some(unread) = card::unread_mail(agent) {
        told.push_str(&format!("\nMail: {unread}\n"));
    }
    if let Some(next) = next(agent, canvas.clock) {
        let next = text::wrapped(&next, 19, 2, width);
        told.push_str(&format!("\nWhat happens next: {next}\n"));
    }
    if let Some(rounds) = &agent.rounds {
        let rounds = text::wrapped(&role::rounds(rounds, canvas.clock), 8, 2, width);
        told.push_str(&format!("Rounds: {rounds}\n"));
    }
    told.push_str(&what_you_can_do(&advice(why, target), paint, width));
    if !why.story.is_empty() {
        told.push_str("\nHistory, newest first:\n");
        why.story.iter().rev().for_each(|chapter| told.push_str(&line(chapter, canvas)));
        told.push_str(&earlier(why, target, canvas));
    }
    told
}

/// How much of the history is not told, and what tells it.
fn earlier(why: &Why, target: &str, canvas: &Canvas<'_>) -> String {
    let count = why.earlier;
    let target = plain(target);
    let command = match (why.story.len() as u64) < WHY_LIMIT {
        true => format!("perennial why {target} --all"),
        false => format!("perennial events --agent {target}"),
    };
    let text = match count {
        0 => return String::new(),
        1 => format!("1 earlier event: {command}"),
        _ => format!("{count} earlier events: {command}"),
    };
    format!("  {}\n", canvas.paint.ink(Ink::Faint, &text::wrapped(&text, 2, 2, canvas.width)))
}

/// Commands with what each is for, in a column beside them or, where that gets too narrow, below them.
fn what_you_can_do(
    commands: &[(String, &'static str)],
    paint: Paint,
    width: Option<usize>,
) -> String {
    const NARROWEST: usize = 24;
    let widest = commands.iter().map(|(command, _)| text::width(command)).max().unwrap_or(0);
    let is_beside = width.is_none_or(|width| 2 + widest + 2 + NARROWEST <= width);
    let mut told = String::new();
    for (command, what) in commands {
        let padding = " ".repeat(widest - text::width(command));
        let command = paint.ink(Ink::Strong, &(command.clone() + &padding));
        let (gap, indent) = match is_beside {
            true => ("  ".to_owned(), 2 + widest + 2),
            false => ("\n      ".to_owned(), 6),
        };
        let what = text::wrapped(what, indent, indent, width);
        told.push_str(&format!(
            "  {}{gap}{what}\n",
            if is_beside { &command } else { command.trim_end() }
        ));
    }
    match told.is_empty() {
        true => told,
        false => format!("What you can do:\n{told}"),
    }
}

/// A text that waits, since when, and below it for what.
fn waiting(message: &Message, canvas: &Canvas<'_>) -> String {
    let ago = canvas.clock.ago(&message.recorded_at);
    let label = format!("  {}  for {ago}  ", plain(&message.id));
    let room = canvas.width.map(|width| width.saturating_sub(text::width(&label)));
    let head = plain(&message.head);
    let head = room.map_or_else(|| head.clone(), |room| text::clip_end(&head, room));
    let why = plain(message.why.as_deref().unwrap_or_default());
    format!("{label}{head}\n    {}\n", text::wrapped(&why, 4, 4, canvas.width))
}

fn line(chapter: &Chapter, canvas: &Canvas<'_>) -> String {
    let time = canvas.clock.time(&chapter.at);
    let indent = time.len() + 4;
    let told = text::wrapped(&plain(&chapter.text), indent, indent, canvas.width);
    format!("  {}  {told}\n", canvas.paint.ink(Ink::Faint, &time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::roster::sample;
    use crate::cli::render::time::fixed;

    fn crash() -> Why {
        let chapter = |seq, at: &str, text: &str| Chapter {
            seq,
            at: at.into(),
            text: text.into(),
            kind: "moved".into(),
            ..Chapter::default()
        };
        let texts = vec![Message {
            id: "msg_01k9zq5v2r7m3x8c4t6b0d1f2g".into(),
            head: "run all of the tests again, please, and then the benchmarks".into(),
            why: Some("somebody has text in the input line".into()),
            recorded_at: "2026-11-15T11:57:00Z".into(),
            ..Message::default()
        }];
        Why {
            texts,
            withheld: Vec::new(),
            earlier: 180,
            agent: sample::crashed(),
            story: vec![
                chapter(1, "2026-11-14T10:00:00Z", "hatched: make watch"),
                chapter(2, "2026-11-15T11:54:59.990Z", "session 5 ended: exit code 1"),
                chapter(3, "2026-11-15T11:55:00Z", "a hostile\x1b[2Jtext"),
                chapter(4, "2026-11-15T11:55:00Z", &"a long text ".repeat(10)),
            ],
        }
    }

    fn drawn(width: Option<usize>) -> String {
        let clock = fixed();
        story(&crash(), "bob", &Canvas { clock: &clock, paint: Paint::OFF, width, user: None })
    }

    #[test]
    fn a_crash_told() {
        insta::assert_snapshot!(drawn(None));
    }

    #[test]
    fn advice_that_is_too_long_for_its_line_is_indented() {
        let clock = fixed();
        let mut why = crash();
        why.texts[0].needs_you = true;
        for (width, below) in [(80, 0), (60, 3)] {
            let canvas =
                Canvas { clock: &clock, paint: Paint::OFF, width: Some(width), user: None };
            let drawn = story(&why, "bob", &canvas);
            assert!(drawn.lines().all(|line| text::width(line) <= width), "{drawn}");
            let (_, advice) = drawn.split_once("What you can do:\n").expect("advice");
            let (advice, _) = advice.split_once("\n\nHistory").expect("a history");
            assert!(advice.lines().all(|line| line.starts_with("  ")), "{advice}");
            let is_below = |line: &&str| line.starts_with("      ") && line.trim().len() > 15;
            assert!(advice.lines().filter(is_below).count() >= below, "{advice}");
        }
    }

    #[test]
    fn it_fits_a_terminal() {
        let drawn = drawn(Some(80));
        assert!(drawn.lines().all(|line| text::width(line) <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }
}
