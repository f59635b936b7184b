//! `paths`: where this home's files are. Asks no daemon, and looks at no file.

use std::path::{Path, PathBuf};

use perennial_api::ExitCode;
use perennial_engine::harness::preset;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;
use crate::cli::render::text::{self, plain};
use crate::config;
use crate::similar::similar;

/// Show where Perennial keeps its files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial paths
          perennial paths --json
          tail \"$(perennial paths log)\"

The paths depend on PERENNIAL_HOME, otherwise on the XDG variables and HOME. A file that is listed need \
not exist yet.")]
pub struct Args {
    /// Print only this path, by its name in the list
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let paths = paths(context);
    if let Some(name) = &args.name {
        let Some((_, path, _)) = paths.iter().find(|(known, ..)| known == name) else {
            let known: Vec<&str> = paths.iter().map(|(known, ..)| *known).collect();
            return Err(problems::no_such_path(name, &similar(name, known)).into());
        };
        return print_one(path, context);
    }
    if context.json {
        let all = paths.iter().map(|(name, path, _)| {
            ((*name).to_owned(), path.to_string_lossy().into_owned().into())
        });
        let all = serde_json::Value::Object(all.collect());
        context.print_json(all.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    context.print(&context.draw(|canvas| drawn(&paths, canvas.width)))?;
    Ok(ExitCode::Done)
}

/// Names that scripts may use, each with its path and what is there.
pub fn paths(context: &Context) -> Vec<(&'static str, PathBuf, &'static str)> {
    let home = &context.home;
    let mut paths = vec![
        ("config", config::path(&home.config), "the configuration"),
        ("harnesses", preset::directory(&home.config), "your own presets"),
        ("data", home.data.clone(), "what has to last: back this up"),
        ("journal", home.journal(), "every event"),
        ("conversations", home.conversations(), "copies of conversations"),
        ("state", home.state.clone(), "what belongs to this machine"),
        ("socket", home.socket(), "where the daemon listens"),
        ("lock", home.lock(), "held by the running daemon"),
        ("log", home.daemon_log(), "the daemon's log"),
        ("holders", home.holders(), "sessions and their recordings"),
        ("jobs", home.jobs(), "commands that Perennial runs"),
        ("snapshots", home.snapshots(), "snapshots of work trees, as git repositories"),
        ("mirror", home.mirror(), "what the daemon knows, as JSON files, for other programs"),
        ("graph", home.graph(), "the entity graph, made from the journal"),
    ];
    if let Some(root) = &home.root {
        paths.insert(0, ("home", root.clone(), "PERENNIAL_HOME, which has all of it"));
    }
    if let Ok(program) = std::env::current_exe() {
        paths.push(("program", program, "this executable"));
    }
    paths
}

/// One path alone: its bytes as they are, so that a shell can use them.
fn print_one(path: &Path, context: &Context) -> VerbResult {
    use std::os::unix::ffi::OsStrExt;
    match context.json {
        true => {
            context.print_json(serde_json::json!(path.to_string_lossy()).to_string().as_bytes())?;
        }
        false => context.print_bytes(&[path.as_os_str().as_bytes(), b"\n"].concat())?,
    }
    Ok(ExitCode::Done)
}

/// Name, path, what is there; in a narrow terminal the explanations are left out. A path is never cut.
fn drawn(paths: &[(&'static str, PathBuf, &'static str)], width: Option<usize>) -> String {
    let shown: Vec<_> = paths
        .iter()
        .map(|(name, path, what)| (name, plain(&path.to_string_lossy()), what))
        .collect();
    let widest = |column: &dyn Fn(usize) -> usize| (0..shown.len()).map(column).max().unwrap_or(0);
    let names = widest(&|row| shown[row].0.len());
    let longest = widest(&|row| text::width(&shown[row].1));
    let explanations = widest(&|row| shown[row].2.len());
    let has_room = width.is_none_or(|width| names + 2 + longest + 2 + explanations <= width);
    let mut lines = String::new();
    for (name, path, what) in shown {
        let padding = " ".repeat(longest - text::width(&path));
        match has_room {
            true => lines.push_str(&format!("{name:names$}  {path}{padding}  {what}\n")),
            false => lines.push_str(&format!("{name:names$}  {path}\n")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_never_cut() {
        let paths = [
            ("data", PathBuf::from("/home/eve/\x1bdata"), "what lasts"),
            ("log", "/l".into(), "x"),
        ];
        assert_eq!(
            drawn(&paths, None),
            "data  /home/eve/\\u{1b}data  what lasts\nlog   /l                    x\n"
        );
        assert_eq!(drawn(&paths, Some(20)), "data  /home/eve/\\u{1b}data\nlog   /l\n");
    }
}
