//! The OpenAPI document: well formed, the same as the router, and true of what the daemon answers.

use std::collections::BTreeSet;

use perennial_api::route::{Method, Route};
use serde_json::{Value, json};

use crate::callers::{Who, ask};
use crate::problems::exchange;
use crate::schema;
use crate::sealed::Sealed;

fn document(sealed: &Sealed) -> Value {
    let answer = sealed.client().get("/v1/openapi.json").expect("the document");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.read().expect("JSON")
}

/// The schema of what a route answers with this status.
fn answer_of<'a>(document: &'a Value, path: &str, method: &str, status: &str) -> &'a Value {
    let content = &document["paths"][path][method]["responses"][status]["content"];
    let schema = &content["application/json"]["schema"];
    assert!(!schema.is_null(), "{method} {path} {status}");
    schema
}

#[track_caller]
fn assert_fits(document: &Value, schema: &Value, value: &Value) {
    if let Err(why) = schema::check(document, schema, value) {
        panic!("{why}\n{value:#}");
    }
}

#[test]
fn it_has_every_route_of_the_router_and_no_other() {
    let sealed = Sealed::up();
    let document = document(&sealed);
    let mut listed = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        listed.extend(
            operations.as_object().expect("operations").keys().map(|it| (it.clone(), path.clone())),
        );
    }
    let method = |route: Route| match route.method() {
        Method::Get => "get".to_owned(),
        Method::Post => "post".to_owned(),
    };
    let routed = Route::ALL.into_iter().map(|route| (method(route), route.path().to_owned()));
    assert_eq!(listed, routed.collect());
    // The router is made from the same table: each path is there, with these methods and no other.
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let named = path.replace("{target}", "nobody").replace("{id}", "nothing");
        let is_refused = |method: &str| {
            let head = format!("{method} {named} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            exchange(&sealed, head.as_bytes()).starts_with("HTTP/1.1 405 ")
        };
        assert!(is_refused("DELETE"), "{path}");
        for method in ["get", "post"].into_iter().filter(|it| operations.get(it).is_none()) {
            assert!(is_refused(&method.to_ascii_uppercase()), "{method} {path}");
        }
    }
}

#[test]
fn it_is_well_formed() {
    let sealed = Sealed::up();
    let document = document(&sealed);
    assert!(document["openapi"].as_str().expect("a version").starts_with("3.1."));
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        assert!(path.starts_with("/v1/"), "{path}");
        for operation in operations.as_object().expect("operations").values() {
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id.to_owned()), "{id} twice");
            assert!(operation["summary"].as_str().is_some_and(|it| !it.is_empty()), "{id}");
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.contains_key("default"), "{id}: errors are problems");
            for (status, response) in responses {
                let is_described =
                    response["description"].is_string() || response["$ref"].is_string();
                assert!(is_described, "{id} {status}");
            }
            let mut named = BTreeSet::new();
            for parameter in operation["parameters"].as_array().expect("parameters") {
                let place = parameter["in"].as_str().expect("a place");
                assert!(
                    ["path", "query"].contains(&place) && parameter["schema"].is_object(),
                    "{id}"
                );
                assert!(place != "path" || parameter["required"] == true, "{id}");
                named.insert(parameter["name"].as_str().expect("a name").to_owned());
            }
            let variables =
                path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
            assert!(variables.into_iter().all(|it| named.contains(it)), "{id}: {named:?}");
        }
    }
    refer(&document, &document);
}

/// Every reference leads to something.
fn refer(document: &Value, value: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get("$ref") {
                let found = document.pointer(target.strip_prefix('#').expect("within it"));
                assert!(found.is_some(), "{target}");
            }
            members.values().for_each(|member| refer(document, member));
        }
        Value::Array(parts) => parts.iter().for_each(|part| refer(document, part)),
        _ => {}
    }
}

/// A fleet with something of each kind: a death, a crash, a rename, a text, a post, a child.
fn lively() -> Sealed {
    let sealed = Sealed::up();
    sealed.spawn("ada", "read x");
    sealed.spawn_with(&["bob", "--parent", "ada", "--role", "builder"], &["/bin/cat"]);
    sealed.spawn_with(&["cid", "--restart", "never"], &["/bin/sh", "-c", "exit 3"]);
    sealed.watch().moved("cid", "sleeping", "crashed-restart-off");
    sealed.ok(["rename", "ada", "eve"]);
    sealed.ok(["send", "bob", "hello", "--wait"]);
    sealed.ok(["board", "post", "-s", "title", "text"]);
    sealed.ok(["stop", "eve"]);
    sealed.ok(["bury", "eve", "--summary", "done"]);
    sealed
}

#[test]
fn what_the_daemon_answers_is_as_it_says() {
    let sealed = lively();
    let document = document(&sealed);
    let sent: Value = sealed.json(&["sent", "bob"]);
    let message = sent[0]["id"].as_str().expect("an id").to_owned();
    let posts: Value = sealed.json(&["board", "ls"]);
    let post = posts[0]["id"].as_str().expect("an id").to_owned();
    let other = sealed.show("cid");
    let asked = [
        ("/v1/agents", "/v1/agents?all=true".to_owned()),
        ("/v1/agents/{target}", "/v1/agents/bob".to_owned()),
        ("/v1/agents/{target}", "/v1/agents/eve".to_owned()),
        ("/v1/agents/{target}/why", "/v1/agents/eve/why".to_owned()),
        ("/v1/agents/{target}/why", "/v1/agents/cid/why".to_owned()),
        ("/v1/events", "/v1/events".to_owned()),
        ("/v1/agents/{target}/sent", "/v1/agents/bob/sent".to_owned()),
        ("/v1/messages/{id}", format!("/v1/messages/{message}")),
        ("/v1/board", "/v1/board".to_owned()),
        ("/v1/board/{id}", format!("/v1/board/{post}")),
        ("/v1/health", "/v1/health".to_owned()),
    ];
    let paths: Vec<&str> = asked.iter().map(|(_, path)| path.as_str()).collect();
    let problem = &document["components"]["schemas"]["Problem"];
    for who in [Who::Person, Who::Agent(&other), Who::Viewer] {
        for ((route, path), answer) in asked.iter().zip(ask(&sealed, who, &paths)) {
            let schema = match answer.status {
                200 => answer_of(&document, route, "get", "200"),
                _ => problem,
            };
            println!("{who:?} {path}: {}", answer.status);
            assert_fits(&document, schema, &answer.body);
        }
    }
    // Of the verbs, too.
    let client = sealed.client();
    let verb = |route: &str, path: &str, body: Value, status: &str| {
        let answer = client.post(path, &body).expect("it is done");
        assert_eq!(answer.status().to_string(), status);
        let schema = answer_of(&document, route, "post", status);
        assert_fits(&document, schema, &answer.read().expect("JSON"));
    };
    verb("/v1/agents/{target}/wake", "/v1/agents/cid/wake", json!({}), "200");
    verb("/v1/agents/{target}/send", "/v1/agents/bob/send", json!({ "text": "x" }), "200");
    verb("/v1/agents/{target}/ticket", "/v1/agents/bob/ticket", json!({ "mode": "watch" }), "200");
    verb("/v1/agents/{target}/rename", "/v1/agents/bob/rename", json!({ "name": "zoe" }), "200");
    verb("/v1/board", "/v1/board", json!({ "text": "y" }), "201");
    verb("/v1/agents/{target}/stop", "/v1/agents/zoe/stop", json!({}), "200");
    verb("/v1/agents/{target}/bury", "/v1/agents/zoe/bury", json!({ "summary": "z" }), "200");
    verb("/v1/stop-all", "/v1/stop-all", json!({}), "200");
    verb("/v1/down", "/v1/down", json!({}), "200");
}
