//! How well work passes from one session to the next, for people: averages for roles, and each session of an agent.

use perennial_api::handoffs::{Handoff, Handoffs, RoleHandoffs};

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{counted, plain};

const NONE: &str = "nothing counted yet: an agent's sessions are counted from its second one on; those of bare commands \
                    are not, because they have no conversation\n";

/// A row for each role, each figure as an average of its sessions.
pub fn roles(told: &Handoffs, canvas: &Canvas<'_>) -> String {
    if told.roles.is_empty() {
        return unread(told, NONE.to_owned());
    }
    let column = |title, importance, cell: &dyn Fn(&RoleHandoffs) -> Cell| Column {
        title,
        importance,
        narrowest: 8,
        clip: Clip::Never,
        cells: told.roles.iter().map(cell).collect(),
    };
    let mean = |sum: u64, count: u64| {
        let tenths = (sum * 10 + count / 2).checked_div(count).unwrap_or(0);
        Cell::new(match tenths % 10 {
            0 => (tenths / 10).to_string(),
            tenth => format!("{}.{tenth}", tenths / 10),
        })
    };
    let columns = vec![
        column("ROLE", 9, &|one| match &one.role {
            Some(role) => Cell::ink(plain(role), Ink::Strong),
            None => Cell::ink("(none)", Ink::Faint),
        }),
        column("SESSIONS", 8, &|one| Cell::new(one.sessions.to_string())),
        column("CHANGED", 7, &|one| Cell::new(one.changed.to_string())),
        column("FILES AGAIN", 6, &|one| mean(one.files_read_again, one.sessions)),
        column("COMMANDS AGAIN", 5, &|one| mean(one.commands_run_again, one.sessions)),
        column("STEPS", 4, &|one| mean(one.steps, one.sessions)),
        column("TOKENS", 3, &|one| mean(one.tokens, one.sessions)),
    ];
    unread(told, table(columns, canvas.width, canvas.paint))
}

/// A row for each session.
pub fn sessions(told: &Handoffs, canvas: &Canvas<'_>) -> String {
    if told.sessions.is_empty() {
        return unread(told, NONE.to_owned());
    }
    let column = |title, importance, cell: &dyn Fn(&Handoff) -> Cell| Column {
        title,
        importance,
        narrowest: 8,
        clip: Clip::Never,
        cells: told.sessions.iter().map(cell).collect(),
    };
    let columns = vec![
        column("SESSION", 9, &|one| Cell::ink(one.session.to_string(), Ink::Strong)),
        column("AFTER", 8, &|one| Cell::new(plain(&one.after))),
        column("CONVERSATION", 2, &|one| Cell::new(if one.is_fresh { "new" } else { "resumed" })),
        column("FILES AGAIN", 6, &|one| Cell::new(one.files_read_again.to_string())),
        column("COMMANDS AGAIN", 5, &|one| Cell::new(one.commands_run_again.to_string())),
        column("STEPS", 4, &|one| Cell::new(one.steps.to_string())),
        column("TOKENS", 3, &|one| Cell::new(one.tokens.to_string())),
        column("CHANGED", 7, &|one| Cell::new(if one.has_changed { "yes" } else { "not yet" })),
    ];
    unread(told, table(columns, canvas.width, canvas.paint))
}

/// The same, with who is not counted.
fn unread(told: &Handoffs, shown: String) -> String {
    match told.unread.is_empty() {
        true => shown,
        false => {
            let names: Vec<String> = told.unread.iter().map(|name| plain(name)).collect();
            format!("{shown}not counted, their conversations can't be read: {}\n", names.join(", "))
        }
    }
}

/// The newest of them, as a line of `show`.
pub fn in_short(one: &Handoff) -> String {
    let until = if one.has_changed { "until its first change" } else { "so far, without a change" };
    format!(
        "session {} after {}: {} read again, {} run again; {}, {} {until}",
        one.session,
        plain(&one.after),
        counted(one.files_read_again, "file"),
        counted(one.commands_run_again, "command"),
        counted(one.steps, "step"),
        counted(one.tokens, "token"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::time::fixed;

    /// Without `CHANGED`, steps and tokens may be those so far, or those until the first change.
    #[test]
    fn a_narrow_table_says_whether_anything_has_changed() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(80), user: None };
        let after = "planned-end".to_owned();
        let session = Handoff { session: 2, after, tokens: 1600, ..Handoff::default() };
        let role = Some("worker".to_owned());
        let role =
            RoleHandoffs { role, sessions: 2, steps: 3, tokens: 440, ..RoleHandoffs::default() };
        let told = Handoffs { roles: vec![role], sessions: vec![session], ..Handoffs::default() };
        let (roles, sessions) = (roles(&told, &canvas), sessions(&told, &canvas));
        for shown in [&roles, &sessions] {
            assert!(shown.lines().next().is_some_and(|line| line.contains("CHANGED")), "{shown}");
        }
        assert!(roles.contains("1.5") && roles.contains("220") && !roles.contains(".0"), "{roles}");
    }
}
