//! The entity graph as tables, as JSON and as dot.
//!
//! Names, roles and summaries are agents' own words: in dot they are quoted strings and nothing else, whatever they hold.

use std::collections::BTreeMap;

use perennial_api::graph::{Belonging, GraphSession};
use serde::Serialize;

use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table as drawn};
use super::text::{plain, wrapped};

/// The graph as nodes and edges.
#[derive(Debug, Default, Serialize)]
pub struct Exported {
    /// By their ids.
    pub entities: Vec<Entity>,
    /// Of the oldest session first.
    pub belongings: Vec<Edge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entity {
    pub id: String,
    /// `situation`, `agent`, `person`, `role` or `identity`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What people call it.
    pub label: String,
    /// How many sessions it belongs to; of a session, how many belong to it.
    pub belongings: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    pub belongs_to: String,
    pub quality: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Exported {
    /// `sessions` are those that began last first.
    pub fn of(sessions: &[GraphSession]) -> Exported {
        let mut entities: BTreeMap<String, Entity> = BTreeMap::new();
        let mut belongings = Vec::new();
        let mut lineage: BTreeMap<String, String> = BTreeMap::new();
        for session in sessions.iter().rev() {
            let name = format!("{} {}", session.agent, number(session));
            count(&mut entities, &session.entity, &name, session.belongings.len() as u64);
            if let Some(parent) = &session.parent_id {
                lineage.insert(session.agent_id.clone(), parent.clone());
            }
            for one in &session.belongings {
                if let Some(id) = &one.entity {
                    let label = match one.quality.as_str() {
                        "identity" => session.agent.as_str(),
                        _ => id.split_once(':').map_or(id.as_str(), |(_, name)| name),
                    };
                    count(&mut entities, id, label, 1);
                }
                belongings.push(edge(session, one));
            }
        }
        for (child, parent) in lineage {
            let (child, parent) = (format!("identity:{child}"), format!("identity:{parent}"));
            let label = parent.split_once(':').map_or("", |(_, id)| id).to_owned();
            count(&mut entities, &parent, &label, 0);
            belongings.push(Edge {
                entity: Some(child),
                text: None,
                belongs_to: parent,
                quality: "child".to_owned(),
                since: None,
                until: None,
            });
        }
        Exported { entities: entities.into_values().collect(), belongings }
    }
}

fn count(entities: &mut BTreeMap<String, Entity>, id: &str, label: &str, belongings: u64) {
    let kind = id.split_once(':').map_or("", |(kind, _)| kind);
    let entity = entities.entry(id.to_owned()).or_insert_with(|| Entity {
        id: id.to_owned(),
        kind: kind.to_owned(),
        label: label.to_owned(),
        belongings: 0,
    });
    entity.belongings += belongings;
    // An agent is called what it was called last.
    if kind == "identity" && belongings > 0 {
        label.clone_into(&mut entity.label);
    }
}

fn edge(session: &GraphSession, one: &Belonging) -> Edge {
    // What has no time of its own belonged for as long as the session lasted.
    let of_session = one.since.is_none();
    let since = if of_session { Some(session.since.clone()) } else { one.since.clone() };
    let until = if of_session { session.until.clone() } else { one.until.clone() };
    Edge {
        entity: one.entity.clone(),
        text: one.text.clone(),
        belongs_to: session.entity.clone(),
        quality: one.quality.clone(),
        since,
        until,
    }
}

/// The number of a session, from its id.
fn number(session: &GraphSession) -> &str {
    session.session.rsplit_once('.').map_or("", |(_, number)| number)
}

pub fn json(exported: &Exported) -> String {
    serde_json::to_string_pretty(exported).unwrap_or_default()
}

/// For Graphviz.
pub fn dot(exported: &Exported) -> String {
    let mut text = "digraph perennial {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for entity in &exported.entities {
        let shape = match entity.kind.as_str() {
            "situation" => "box",
            "role" => "hexagon",
            "person" => "house",
            "identity" => "ellipse",
            _ => "oval",
        };
        let (id, label) = (quoted(&entity.id), quoted(&entity.label));
        text.push_str(&format!("  {id} [label={label}, shape={shape}];\n"));
    }
    let edges = exported.belongings.iter();
    for (edge, entity) in edges.filter_map(|edge| Some((edge, edge.entity.as_ref()?))) {
        let (from, to) = (quoted(entity), quoted(&edge.belongs_to));
        text.push_str(&format!("  {from} -> {to} [label={}];\n", quoted(&edge.quality)));
    }
    text.push_str("}\n");
    text
}

/// A quoted string of dot: nothing in it ends it, and no backslash of its own means anything.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// Every entity, with how many sessions it belongs to.
pub fn entities(exported: &Exported, canvas: &Canvas<'_>) -> String {
    let column = |title, importance, clip, cell: &dyn Fn(&Entity) -> String| Column {
        title,
        importance,
        narrowest: 8,
        clip,
        cells: exported.entities.iter().map(|entity| Cell::new(cell(entity))).collect(),
    };
    if exported.entities.is_empty() {
        return "no sessions yet\n".to_owned();
    }
    let columns = vec![
        column("ENTITY", 9, Clip::Never, &|entity| plain(&entity.id)),
        column("LABEL", 7, Clip::End, &|entity| plain(&entity.label)),
        column("BELONGINGS", 8, Clip::Never, &|entity| entity.belongings.to_string()),
    ];
    drawn(columns, canvas.width, canvas.paint)
}

/// One line for each session.
pub fn table(sessions: &[GraphSession], canvas: &Canvas<'_>) -> String {
    if sessions.is_empty() {
        return "no matching sessions\n".to_owned();
    }
    let column = |title, importance, clip, cell: &dyn Fn(&GraphSession) -> String| Column {
        title,
        importance,
        narrowest: 8,
        clip,
        cells: sessions.iter().map(|session| Cell::new(cell(session))).collect(),
    };
    let until = |session: &GraphSession| {
        session.until.as_deref().map(|until| canvas.clock.time(until)).unwrap_or_default()
    };
    let columns = vec![
        column("SESSION", 8, Clip::Never, &|session| plain(&session.session)),
        column("AGENT", 9, Clip::End, &|session| plain(&session.agent)),
        column("ROLE", 9, Clip::End, &|session| names(session, "method")),
        column("ACTOR", 7, Clip::End, &|session| models(session)),
        column("SITUATION", 6, Clip::End, &|session| names(session, "domain")),
        column("STATE", 6, Clip::Never, &|session| plain(&session.state)),
        column("SINCE", 5, Clip::Never, &|session| canvas.clock.time(&session.since)),
        column("UNTIL", 5, Clip::Never, &until),
        column("SUMMARY", 4, Clip::End, &|session| plain(description(session))),
    ];
    drawn(columns, canvas.width, canvas.paint)
}

/// Each session with all that belongs to it.
pub fn belongings(sessions: &[GraphSession], canvas: &Canvas<'_>) -> String {
    let mut text = String::new();
    for session in sessions {
        let until = session.until.as_deref().map(|until| canvas.clock.time(until));
        let until = until.unwrap_or_else(|| "now".to_owned());
        let (entity, since) = (plain(&session.entity), canvas.clock.time(&session.since));
        text.push_str(&format!("{entity}  {since} to {until}\n"));
        for one in &session.belongings {
            let what = plain(one.entity.as_deref().or(one.text.as_deref()).unwrap_or_default());
            let what = match one.quality.as_str() {
                "identity" => format!("{what} ({})", plain(&session.agent)),
                _ => what,
            };
            let what = wrapped(&what, 15, 15, canvas.width);
            text.push_str(&format!("  {:<12} {what}\n", plain(&one.quality)));
        }
    }
    text
}

fn entities_of<'a>(
    session: &'a GraphSession,
    quality: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let of = session.belongings.iter().filter(move |one| one.quality == quality);
    of.filter_map(|one| one.entity.as_deref()?.split_once(':'))
}

fn names(session: &GraphSession, quality: &str) -> String {
    let names = entities_of(session, quality).map(|(_, name)| plain(name));
    names.collect::<Vec<_>>().join(", ")
}

fn models(session: &GraphSession) -> String {
    let models = entities_of(session, "actor").filter(|(kind, _)| *kind == "agent");
    models.map(|(_, name)| plain(name)).collect::<Vec<_>>().join(", ")
}

fn description(session: &GraphSession) -> &str {
    let described = session.belongings.iter().find(|one| one.quality == "description");
    described.and_then(|one| one.text.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::paint::Paint;
    use crate::cli::render::time::fixed;

    fn session(agent: &str, number: u32, summary: &str) -> GraphSession {
        let entity = |quality: &str, entity: &str| Belonging {
            quality: quality.to_owned(),
            entity: Some(entity.to_owned()),
            ..Belonging::default()
        };
        let described = Belonging {
            quality: "description".to_owned(),
            text: Some(summary.to_owned()),
            ..Belonging::default()
        };
        GraphSession {
            entity: format!("situation:session-agt_1.{number}"),
            session: format!("agt_1.{number}"),
            agent_id: "agt_1".to_owned(),
            agent: agent.to_owned(),
            parent_id: Some("agt_0".to_owned()),
            state: "dead".to_owned(),
            since: "2026-11-01T12:00:00Z".to_owned(),
            until: Some("2026-11-01T13:00:00Z".to_owned()),
            belongings: vec![
                entity("identity", "identity:agt_1"),
                entity("actor", "agent:opus"),
                entity("actor", "person:operator"),
                entity("method", "role:architect"),
                described,
            ],
        }
    }

    #[test]
    fn what_is_shown() {
        let clock = fixed();
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(100), user: None };
        let sessions = [session("bob", 2, "the plan is drawn"), session("ada", 1, "looked around")];
        insta::assert_snapshot!(table(&sessions, &canvas));
        insta::assert_snapshot!(belongings(&sessions[..1], &canvas));
        insta::assert_snapshot!(dot(&Exported::of(&sessions)));
        insta::assert_snapshot!(entities(&Exported::of(&sessions), &canvas));
    }

    #[test]
    fn hostile_words_stay_inside_their_quotes() {
        let hostile = "\"]; evil [label=\"x\\\" \n\u{1b}[31m<b>";
        let mut one = session("bob", 1, hostile);
        one.agent = hostile.to_owned();
        one.belongings[1].entity = Some(format!("agent:{hostile}"));
        let exported = Exported::of(&[one]);
        let drawn = dot(&exported);
        for line in drawn.lines().skip(3).filter(|line| *line != "}") {
            // Without what is quoted, nothing is left but our own words.
            let (mut outside, mut is_quoted, mut is_escaped) = (String::new(), false, false);
            for letter in line.chars() {
                match (letter, is_quoted, is_escaped) {
                    ('\\', true, false) => is_escaped = true,
                    ('"', _, false) => is_quoted = !is_quoted,
                    (_, true, _) => is_escaped = false,
                    (letter, false, _) => outside.push(letter),
                }
            }
            assert!(!is_quoted, "{line}");
            let is_ours = |word: &str| {
                let word = word.trim_matches(|c: char| "[];,=".contains(c));
                ["", "->", "label", "shape"].contains(&word) || word.starts_with("shape=")
            };
            assert!(outside.split_whitespace().all(is_ours), "{outside}: {line}");
        }
        assert!(!drawn.contains('\u{1b}'));
        let read: serde_json::Value = serde_json::from_str(&json(&exported)).expect("JSON");
        let texts = read["belongings"].as_array().expect("a list").iter();
        assert!(texts.into_iter().any(|one| one["text"] == hostile), "whole in JSON");
    }
}
