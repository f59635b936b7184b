//! The story of `why`: what is, on what evidence, how it came to that, what comes next.

use perennial_api::answer::{Chapter, Why};

use super::advice::advice;
use super::card::evidence;
use super::paint::{Ink, state_ink};
use super::roster::{Canvas, name, reason};
use super::text::plain;

pub fn story(why: &Why, canvas: &Canvas<'_>) -> String {
    let agent = &why.agent;
    let paint = canvas.paint;
    let mut text = format!(
        "{} is {} for {}: {}\n",
        paint.ink(Ink::Strong, &name(agent)),
        paint.ink(state_ink(&agent.state), &plain(&agent.state)),
        canvas.clock.ago(&agent.since),
        reason(agent, canvas.clock),
    );
    if !agent.evidence.fact.is_empty() {
        text.push_str(&format!("evidence: {}\n", evidence(agent, canvas)));
    }
    if !why.story.is_empty() {
        text.push_str("\nhow it came to that:\n");
        for chapter in &why.story {
            text.push_str(&line(chapter, canvas));
        }
    }
    let told = advice(agent, canvas.clock);
    text.push_str(&format!("\nby itself: {}\n", told.by_itself));
    let widest = told.commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, what) in told.commands {
        let command = paint.ink(Ink::Strong, &format!("{command:<widest$}"));
        text.push_str(&format!("you can:   {command}  {what}\n"));
    }
    text
}

fn line(chapter: &Chapter, canvas: &Canvas<'_>) -> String {
    let time = canvas.paint.ink(Ink::Faint, &canvas.clock.time(&chapter.at));
    format!("  {time}  {}\n", plain(&chapter.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::roster::sample;
    use crate::cli::render::time::fixed;

    #[test]
    fn a_crash_told() {
        let chapter = |seq, at: &str, text: &str| Chapter {
            seq,
            at: at.into(),
            text: text.into(),
            kind: "moved".into(),
        };
        let why = Why {
            agent: sample::crashed(),
            story: vec![
                chapter(1, "2026-11-14T10:00:00Z", "hatched: make watch"),
                chapter(2, "2026-11-15T11:54:59.990Z", "session 5 ended: exit code 1"),
                chapter(3, "2026-11-15T11:55:00Z", "a hostile\x1b[2Jtext"),
            ],
        };
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None };
        insta::assert_snapshot!(story(&why, &canvas));
    }
}
