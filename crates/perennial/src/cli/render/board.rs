//! Posts for reading in a terminal. Titles and texts are others' words: everything is escaped.

use perennial_api::post::Post;

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{OPERATOR, plain, quoted_lines};

/// The table of `board ls`; `is_end` says that there is nothing older, `is_later_page` that only
/// posts older than some post were asked for.
pub fn list(posts: &[Post], is_end: bool, is_later_page: bool, canvas: &Canvas<'_>) -> String {
    let Some(oldest) = posts.last() else {
        if is_later_page {
            return "no older posts\n".to_owned();
        }
        return "no posts\nwrite one:  perennial board post 'the build is green again'\n"
            .to_owned();
    };
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Post) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: posts.iter().map(cell).collect(),
    };
    let columns = vec![
        column("ID", 6, 30, Clip::Never, &|post| Cell::ink(plain(&post.id), Ink::Faint)),
        column("AGE", 7, 4, Clip::Never, &|post| Cell::new(canvas.clock.ago(&post.at))),
        column("BY", 8, 12, Clip::End, &|post| Cell::ink(author(post), Ink::Strong)),
        column("TITLE", 9, 16, Clip::End, &|post| {
            Cell::new(plain(post.title.as_deref().unwrap_or(&post.head)))
        }),
    ];
    let mut shown = table(columns, canvas.width, canvas.paint);
    if !is_end {
        let older = format!("older posts:  perennial board ls --before {}", plain(&oldest.id));
        shown.push_str(&canvas.paint.ink(Ink::Faint, &older));
        shown.push('\n');
    }
    shown
}

/// One post, each line of its text quoted.
pub fn show(post: &Post, canvas: &Canvas<'_>) -> String {
    let mut shown = String::new();
    if let Some(title) = &post.title {
        shown.push_str(&canvas.paint.ink(Ink::Strong, &plain(title)));
        shown.push('\n');
    }
    let by = format!(
        "{}, {} ({} ago), {}",
        author(post),
        canvas.clock.time(&post.at),
        canvas.clock.ago(&post.at),
        plain(&post.id)
    );
    shown.push_str(&canvas.paint.ink(Ink::Faint, &by));
    shown.push_str("\n\n");
    shown.push_str(&quoted_lines(post.text.as_deref().unwrap_or_default()));
    shown
}

/// No agent's name has a space or a parenthesis: nobody can pass for the operator or for Perennial.
fn author(post: &Post) -> String {
    match post.author.as_str() {
        "person" => OPERATOR.to_owned(),
        "perennial" => "(Perennial)".to_owned(),
        "agent" => plain(post.agent.as_ref().or(post.agent_id.as_ref()).map_or("", |name| name)),
        other => plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::text;
    use crate::cli::render::time::fixed;

    fn posts() -> Vec<Post> {
        let post = |id: &str, author: &str, agent: Option<&str>, title: Option<&str>| Post {
            id: id.into(),
            at: "2026-11-15T11:55:00Z".into(),
            author: author.into(),
            agent: agent.map(Into::into),
            agent_id: None,
            title: title.map(Into::into),
            head: "the head of the text, long enough to be cut somewhere…".into(),
            bytes: 9,
            text: Some("one\ttab\r\ntwo \x1b[2J\u{202e}\nthree".into()),
        };
        vec![
            post("pst_01jcnhrzjae008000000000002", "agent", Some("operator"), None),
            post("pst_01jcnhrzjae008000000000001", "person", None, Some("a\u{9b}31m title")),
        ]
    }

    #[test]
    fn a_list_fits_and_is_harmless() {
        let clock = fixed();
        let at = |width, is_end| {
            let canvas = Canvas { clock: &clock, paint: Paint::OFF, width, user: None };
            list(&posts(), is_end, false, &canvas)
        };
        insta::assert_snapshot!(at(Some(80), true), @r"
        ID                              AGE  BY            TITLE
        pst_01jcnhrzjae008000000000002  5m   operator      the head of the text, long e…
        pst_01jcnhrzjae008000000000001  5m   the operator  a\u{9b}31m title
        ");
        insta::assert_snapshot!(at(Some(30), false), @r"
        BY            TITLE
        operator      the head of the…
        the operator  a\u{9b}31m title
        older posts:  perennial board ls --before pst_01jcnhrzjae008000000000001
        ");
        for width in 60..120 {
            assert!(at(Some(width), true).lines().all(|line| text::width(line) <= width));
        }
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: None, user: None };
        insta::assert_snapshot!(list(&[], true, false, &canvas), @r"
        no posts
        write one:  perennial board post 'the build is green again'
        ");
        insta::assert_snapshot!(show(&posts()[1], &canvas), @r"
        a\u{9b}31m title
        the operator, 11:55:00.000 (5m ago), pst_01jcnhrzjae008000000000001

        > one    tab
        > two \u{1b}[2J\u{202e}
        > three
        ");
    }
}
