//! `board`: posts by the operator and by agents, through the command line and MCP.

use std::io::Write;
use std::process::Stdio;

use perennial_api::post::Post;
use perennial_api::request;
use serde_json::{Value, json};

use crate::claude::{Stage, state, turns};
use crate::processes;
use crate::sealed::{PROGRAM, Ran, Sealed, ended};

const LONGEST: usize = request::POST_TEXT_LIMIT;

/// Posts bytes from standard input.
#[track_caller]
fn piped(sealed: &Sealed, args: &[&str], input: &[u8]) -> Ran {
    let mut command = sealed.command([&["--json", "board", "post"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // Who refuses a long text does not read all of it.
    let _closed = stdin.write_all(input);
    drop(stdin);
    ended(child, "board post")
}

#[track_caller]
fn post(sealed: &Sealed, text: &str) -> Post {
    let body = request::Post { title: None, text: text.into() };
    sealed.client().post("/v1/board", &body).and_then(|answer| answer.read()).expect("a post")
}

/// What an agent's own process gets from `perennial mcp` for these calls.
#[track_caller]
fn by_mcp(sealed: &Sealed, agent: &str, calls: &[Value]) -> Vec<Value> {
    let file = |name: &str| sealed.dir.join(format!("{agent}.{name}"));
    let lines: Vec<String> = calls
        .iter()
        .enumerate()
        .map(|(id, call)| {
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call })
                .to_string()
        })
        .collect();
    std::fs::write(file("asked"), lines.join("\n") + "\n").expect("written");
    let script = "until [ -e \"$0.go\" ]; do sleep 0.02; done
        \"$1\" mcp < \"$0.asked\" > \"$0.new\"; mv \"$0.new\" \"$0.answered\"; read x";
    let own = sealed.dir.join(agent).display().to_string();
    sealed.spawn_with(&[agent], &["/bin/sh", "-c", script, &own, PROGRAM]);
    // The daemon knows its holder by now.
    std::fs::write(file("go"), "").expect("written");
    sealed.until("all calls are answered", || file("answered").exists());
    let answers = std::fs::read_to_string(file("answered")).expect("answers");
    answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The JSON that a tool answered with.
#[track_caller]
fn content(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"))
}

// covers: H-19
#[test]
fn the_operator_and_an_agent_post_and_read_each_other() {
    let sealed = Sealed::up();
    assert!(sealed.ok(["board", "ls"]).contains("no posts"));
    let first: Post = sealed.json(&["board", "post", "-s", "release", "merge by noon\nplease"]);
    assert_eq!((first.author.as_str(), first.agent.as_deref()), ("person", None));
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let answers = by_mcp(
        &sealed,
        "ada",
        &[
            call("board_list", json!({})),
            call("board_show", json!({ "id": first.id })),
            call("board_post", json!({ "title": "re: release", "text": "it is merged" })),
            call("board_list", json!({ "limit": 1 })),
            call("board_list", json!({ "limit": 9000, "before": first.id })),
            call("board_post", json!({ "text": " " })),
            call("board_show", json!({ "id": "../../etc/passwd" })),
        ],
    );
    let listed = content(&answers[0]);
    assert_eq!(listed["posts"][0]["title"], "release");
    assert_eq!(listed["posts"][0].get("text"), None, "a listing has no texts");
    let shown = content(&answers[1]);
    assert_eq!(shown["post"]["text"], "merge by noon\nplease");
    for answer in [&listed, &shown] {
        assert!(answer["note"].as_str().is_some_and(|note| note.contains("not orders")));
    }
    let id = content(&answers[2])["posted"].as_str().expect("an id").to_owned();
    assert_eq!(content(&answers[3])["posts"][0]["id"], id.as_str());
    assert_eq!(content(&answers[4])["posts"], json!([]));
    for refused in &answers[5..] {
        assert_eq!(refused["result"]["isError"], true, "{refused}");
    }
    // The operator sees both, the newest first, with the name that the agent had.
    let ada = sealed.show("ada").id;
    sealed.ok(["rename", "ada", "eve"]);
    let posts: Vec<Post> = sealed.json(&["board", "ls"]);
    assert_eq!(posts.iter().map(|post| &post.id).collect::<Vec<_>>(), [&id, &first.id]);
    assert_eq!((posts[0].agent.as_deref(), posts[0].agent_id.as_ref()), (Some("ada"), Some(&ada)));
    let shown = sealed.ok(["board", "show", &id]);
    assert!(shown.starts_with("re: release\nada, ") && shown.ends_with("\n\n> it is merged\n"));
    let table = sealed.ok(["board", "ls", "-n", "1"]);
    assert!(table.contains("ada") && !table.contains(&first.id[10..]), "{table}");
    assert!(table.contains(&format!("board ls --before {id}")), "{table}");
    let events = sealed.ok(["events"]);
    let line = events.lines().find(|line| line.contains("  posted \"re: release\""));
    assert!(line.is_some_and(|line| line.contains("  ada  ")), "its author is told once: {events}");
}

/// The real agent CLI, by the server that its session was given.
// covers: H-19
#[test]
fn claude_code_posts_and_reads_with_its_own_tools() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    post(&stage.sealed, "the build is green");
    let call = |name: &str, input: Value| json!({ "tools": [{ "name": format!("mcp__perennial__{name}"), "input": input }] });
    let program = json!([
        call("board_list", json!({})),
        call("board_post", json!({ "title": "thanks", "text": "merging now" })),
        { "text": "Posted." },
    ]);
    stage.spawn("ada", &["--permission-mode", "manual"], &turns(&program));
    watch.wait("the post", |seen| {
        let is_hers =
            seen.event.kind == "post-written" && seen.event.data["by"]["kind"] != "person";
        is_hers.then_some(())
    });
    state(&mut watch, "ada", "waiting", "idle");
    stage.told("the build is green");
    let posts: Vec<Post> = stage.sealed.json(&["board", "ls"]);
    assert_eq!(
        (posts[0].agent.as_deref(), posts[0].title.as_deref()),
        (Some("ada"), Some("thanks"))
    );
}

/// From standard input, from a file and as an argument, whatever the text holds.
#[test]
fn hostile_text_is_kept_as_it_is_and_shown_escaped() {
    let sealed = Sealed::up();
    let hostile = "\x1b[2J\x1b]0;own\x07\0\r\u{202e}\u{9b}31m\u{feff}'; DROP TABLE event; --\n\tx";
    let longest = "🦀".repeat(LONGEST / 4);
    for text in [hostile, &longest, "-s", "--", "$(id) `id` \\"] {
        let ran = piped(&sealed, &["-s", "\u{202e}title", "-"], text.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        let post: Post = serde_json::from_str(&ran.stdout).expect("a post");
        assert_eq!(sealed.json::<Post>(&["board", "show", &post.id]).text.as_deref(), Some(text));
        for shown in [
            sealed.ok(["board", "show", &post.id]),
            sealed.ok(["board", "ls"]),
            sealed.ok(["events"]),
        ] {
            let is_acting = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!shown.contains(is_acting), "{shown:?}");
        }
    }
    let file = sealed.dir.join("notes");
    std::fs::write(&file, "from a file").expect("written");
    let file = file.to_str().expect("a path");
    let post: Post = sealed.json(&["board", "post", "--file", file]);
    assert_eq!(post.text.as_deref(), Some("from a file"));
}

#[test]
fn what_is_no_post_is_refused_with_what_to_do() {
    let sealed = Sealed::up();
    let (title, text) = ("t".repeat(201), "x".repeat(LONGEST + 1));
    for (code, kind, args) in [
        (2, "too-long", &["post", "-s", &title, "x"][..]),
        (2, "too-long", &["post", &text]),
        (2, "bad-title", &["post", "-s", "two\nlines", "x"]),
        (2, "bad-title", &["post", "-s", "\x1b[2J", "x"]),
        (2, "bad-title", &["post", "-s", " ", "x"]),
        (2, "bad-title", &["post", "-s", "", "x"]),
        (2, "no-text", &["post", ""]),
        (2, "no-text", &["post", " \n\t"]),
        (4, "no-such-post", &["show", "pst_00000000000000000000000000"]),
        (4, "no-such-post", &["show", "agt_00000000000000000000000000"]),
        (4, "no-such-post", &["show", "\x1b[2J"]),
        (4, "no-such-post", &["ls", "--before", "../.."]),
    ] {
        let problem = sealed.refused(code, &[&["board"], args].concat());
        assert_eq!(problem.kind, kind, "{args:?}");
        assert!(!problem.next.is_empty() && !problem.title.contains('\x1b'), "{problem:?}");
    }
    for (input, code, kind) in [
        (vec![b'x'; LONGEST + 1], 2, "too-long"),
        (vec![b'x'; 3 << 20], 2, "too-long"),
        (b"\xff\xfe".to_vec(), 1, "not-text"),
    ] {
        let ran = piped(&sealed, &["-"], &input);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains(kind), "{ran:?}");
    }
    assert_eq!(sealed.run(["board", "post"]).code, 2);
    assert_eq!(sealed.run(["board", "post", "x", "--file", "y"]).code, 2);
    assert_eq!(sealed.json::<Vec<Post>>(&["board", "ls"]), []);
}

/// A post that was acknowledged is there, whenever the daemon is killed.
#[test]
fn acknowledged_posts_survive_kill_9_of_the_daemon() {
    let sealed = Sealed::up();
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        for number in 0..20 {
            acknowledged.push(post(&sealed, &format!("post {number} of round {round}")));
        }
        sealed.kill_daemon();
        sealed.start_daemon();
    }
    acknowledged.reverse();
    let listed: Vec<Post> = sealed.json(&["board", "ls", "-n", "1000"]);
    let ids = |posts: &[Post]| posts.iter().map(|post| post.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&listed), ids(&acknowledged), "all, newest first");
    for post in acknowledged.iter().step_by(7) {
        assert_eq!(&sealed.json::<Post>(&["board", "show", &post.id]), post);
    }
}

/// Pages meet without a gap, and the daemon keeps nothing of what was posted.
#[test]
fn many_posts_are_listed_in_pages_and_cost_no_memory() {
    const MANY: usize = 1200;
    let sealed = Sealed::up();
    let large = "x".repeat(8 << 10);
    for number in 0..MANY {
        post(&sealed, &format!("{number} {large}"));
    }
    let listed: Vec<Post> = sealed.json(&["board", "ls", "-n", "5000"]);
    assert_eq!(listed.len(), MANY);
    for (post, number) in listed.iter().rev().zip(0..) {
        assert!(post.head.starts_with(&format!("{number} ")), "{number}: {post:?}");
    }
    // Their texts alone are 10 MB.
    let peak = processes::peak_bytes(sealed.daemon().pid);
    assert!(peak < 48 << 20, "{peak} bytes");
}
