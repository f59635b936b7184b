//! Signals for reading in a terminal. Payloads are others' words: everything is escaped.

use perennial_api::signal::{Signal, SignalList};
use perennial_core::signal::{FieldType, Need, SignalKind};
use serde_json::{Map, Value};

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, ids, table};
use super::text::plain;

/// The table of `signal ls`. `options` ask for the next page, up to the option that names where it begins.
pub fn list(list: &SignalList, options: &str, canvas: &Canvas<'_>) -> String {
    let signals = &list.signals;
    if signals.is_empty() {
        return "no signals\n".to_owned();
    }
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Signal) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: signals.iter().map(cell).collect(),
    };
    let columns = vec![
        ids(signals.iter().map(|one| one.id.as_str())),
        column("AGE", 7, 4, Clip::Never, &|one| Cell::new(canvas.clock.ago(&one.at))),
        column("KIND", 10, 12, Clip::End, &|one| Cell::ink(plain(&one.kind), Ink::Strong)),
        column("FROM", 9, 8, Clip::End, &|one| Cell::new(plain(&one.from))),
        column("TO", 8, 8, Clip::End, &|one| Cell::new(plain(&one.to))),
        column("PAYLOAD", 6, 16, Clip::End, &|one| Cell::new(fields(&one.payload, "  "))),
    ];
    let mut shown = table(columns, canvas.width, canvas.paint);
    if let Some(last) = signals.last().filter(|_| list.has_more) {
        let more = format!("more:  perennial signal ls {options} {}\n", plain(&last.id));
        shown.push_str(&canvas.paint.ink(Ink::Faint, &more));
    }
    shown
}

/// One signal, a line for each field.
pub fn one(signal: &Signal) -> String {
    let Signal { id, at, kind, from, to, .. } = signal;
    let [id, at, kind, from, to] = [id, at, kind, from, to].map(|part| plain(part));
    format!("{kind} from {from} to {to}, {at}, {id}\n{}\n", fields(&signal.payload, "\n"))
}

pub fn sent(signal: &Signal) -> String {
    let (kind, to, id) = (plain(&signal.kind), plain(&signal.to), plain(&signal.id));
    format!("sent {kind} to {to}: {id}\n")
}

fn fields(payload: &Map<String, Value>, between: &str) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    };
    let field = |(name, value): (&String, &Value)| format!("{}={}", plain(name), text(value));
    payload.iter().map(field).collect::<Vec<_>>().join(between)
}

/// All kinds with their fields.
pub fn kinds(canvas: &Canvas<'_>) -> String {
    let column = |title, importance, clip, cell: &dyn Fn(&SignalKind) -> Cell| Column {
        title,
        importance,
        narrowest: 12,
        clip,
        cells: SignalKind::ALL.iter().map(cell).collect(),
    };
    let columns = vec![
        column("KIND", 9, Clip::Never, &|kind| Cell::ink(kind.word().to_owned(), Ink::Strong)),
        column("SOURCE", 8, Clip::Never, &|kind| Cell::new(kind.table().source.word().to_owned())),
        column("TARGET", 7, Clip::Never, &|kind| Cell::new(kind.table().target.word().to_owned())),
        column("FIELDS", 6, Clip::End, &|kind| Cell::new(names(*kind))),
    ];
    table(columns, canvas.width, canvas.paint)
}

fn names(kind: SignalKind) -> String {
    let name = |field: &perennial_core::signal::Field| {
        let list = if matches!(field.holds, FieldType::List(..)) { "[]" } else { "" };
        let optional = if field.need == Need::Optional { "?" } else { "" };
        format!("{}{list}{optional}", field.name)
    };
    kind.table().fields.iter().map(name).collect::<Vec<_>>().join(" ")
}
