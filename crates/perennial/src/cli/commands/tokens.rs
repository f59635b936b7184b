//! `tokens`: the tokens of all conversations of an agent CLI, by model.
//!
//! Reads the vendor's own transcripts in this process, without a daemon, and independently of agents.
//! `show` has what one agent used.

use std::path::PathBuf;

use perennial_api::ExitCode;
use perennial_api::agent::Usage;
use perennial_engine::harness::{Preset, conversation, preset};
use perennial_engine::transcript::account::Figures;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::survey::Survey;
use serde::Serialize;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;
use crate::cli::render::paint::Paint;
use crate::cli::render::table::{Cell, Clip, Column, table};
use crate::cli::render::text::plain;

/// Count the tokens of all conversations of an agent CLI
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial tokens
          perennial tokens --json

This counts every conversation on this machine, no matter who began it, and each message once. \
`perennial show` shows what one agent has used.")]
pub struct Args {
    /// The agent CLI, by preset name
    #[arg(long, value_name = "NAME", default_value = preset::usual())]
    harness: String,
}

/// What is printed as JSON.
#[derive(Debug, Serialize)]
struct Totals {
    harness: String,
    files: usize,
    models: Vec<Model>,
    total: Usage,
}

#[derive(Debug, Serialize)]
struct Model {
    model: String,
    #[serde(flatten)]
    usage: Usage,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let preset = Preset::load(&context.home.config, &args.harness)
        .map_err(|error| problems::preset_unusable(&error))?;
    let home =
        std::env::var_os("HOME").map(PathBuf::from).ok_or_else(problems::no_home_variable)?;
    let variables: Vec<_> = std::env::vars_os().collect();
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| key == name)?;
        Some(found.1.as_os_str())
    };
    let vendor_home = conversation::home(&preset.conversation, &home, variable);
    let files = conversation::all(&preset, &vendor_home);
    let mut survey = Survey::new(Prices::built_in());
    for file in &files {
        survey.add(preset.dialect, file.path.clone(), &file.conversation);
    }
    let unread = survey.update();
    for error in &unread {
        eprintln!("note: not counted: {}", plain(&error.to_string()));
    }
    let account = survey.account();
    let model = |(name, figures): (&str, Figures)| Model {
        model: name.to_owned(),
        usage: used(&figures, false),
    };
    let totals = Totals {
        harness: args.harness.clone(),
        files: files.len(),
        models: account.by_model().into_iter().map(model).collect(),
        total: used(&account.total(), !unread.is_empty()),
    };
    if context.json {
        context.print_json(serde_json::to_string(&totals).unwrap_or_default().as_bytes())?;
    } else {
        context.print(&context.draw(|canvas| drawn(&totals, canvas.width, canvas.paint)))?;
    }
    Ok(ExitCode::Done)
}

fn used(figures: &Figures, is_partial: bool) -> Usage {
    let has_price = figures.messages > figures.unpriced_messages;
    Usage {
        input: figures.tokens.input,
        output: figures.tokens.output,
        cache_read: figures.tokens.cache_read,
        cache_write: figures.tokens.cache_write(),
        cost_usd: has_price.then(|| figures.cost.microdollars() as f64 / 1e6),
        partial: is_partial || figures.is_cost_partial(),
    }
}

fn drawn(totals: &Totals, width: Option<usize>, paint: Paint) -> String {
    if totals.models.is_empty() {
        return format!("no conversations of {} yet\n", plain(&totals.harness));
    }
    let models = totals.models.iter().map(|model| (model.model.as_str(), &model.usage));
    let rows: Vec<(&str, &Usage)> = models.chain([("total", &totals.total)]).collect();
    let column = |title, importance, cell: &dyn Fn(&Usage) -> String| Column {
        title,
        importance,
        narrowest: 0,
        clip: Clip::Never,
        cells: rows.iter().map(|(_, usage)| Cell::new(cell(usage))).collect(),
    };
    let cost = |usage: &Usage| {
        let least = if usage.partial { "at least " } else { "" };
        usage.cost_usd.map_or_else(|| "unknown".to_owned(), |cost| format!("{least}${cost:.2}"))
    };
    let names = Column {
        title: "MODEL",
        importance: 9,
        narrowest: 12,
        clip: Clip::End,
        cells: rows.iter().map(|(name, _)| Cell::new(plain(name))).collect(),
    };
    let columns = vec![
        names,
        column("INPUT", 5, &|usage| usage.input.to_string()),
        column("OUTPUT", 6, &|usage| usage.output.to_string()),
        column("CACHE READ", 4, &|usage| usage.cache_read.to_string()),
        column("CACHE WRITE", 3, &|usage| usage.cache_write.to_string()),
        column("COST", 8, &cost),
    ];
    table(columns, width, paint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::text::width;

    #[test]
    fn totals_fit_a_terminal() {
        let usage = |cost_usd, partial| Usage {
            input: 12_345_678,
            output: 2_345_678,
            cache_read: 1_234_567_890,
            cache_write: 98_765_432,
            cost_usd,
            partial,
        };
        let model = |name: &str, usage| Model { model: name.to_owned(), usage };
        let totals = Totals {
            harness: "any".to_owned(),
            files: 3,
            models: vec![
                model("a-model-1", usage(Some(812.5), false)),
                model("an\u{1b}other", usage(None, true)),
            ],
            total: usage(Some(812.5), true),
        };
        let shown = drawn(&totals, Some(80), Paint::OFF);
        assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
        insta::assert_snapshot!(shown, @r"
        MODEL          INPUT     OUTPUT   CACHE READ  CACHE WRITE  COST
        a-model-1      12345678  2345678  1234567890  98765432     $812.50
        an\u{1b}other  12345678  2345678  1234567890  98765432     unknown
        total          12345678  2345678  1234567890  98765432     at least $812.50
        ");
        let nothing = Totals { models: Vec::new(), ..totals };
        assert_eq!(drawn(&nothing, None, Paint::OFF), "no conversations of any yet\n");
    }
}
