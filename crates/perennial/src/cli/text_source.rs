//! A text that a verb takes: on the command line, from a file, or from standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use perennial_api::Problem;
use perennial_api::request::POST_TEXT_LIMIT;

use super::failure::Failure;
use super::problems;
use super::render::text::plain;

/// Where the text comes from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct TextSource {
    /// The text, or - to read it from standard input
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl TextSource {
    /// A text for the board, or one that an agent leaves.
    pub fn read(self) -> Result<String, Failure> {
        const POST: Kind = Kind {
            limit: POST_TEXT_LIMIT,
            missing: problems::nothing_to_post,
            too_long: problems::post_too_long,
            not_text: problems::post_not_text,
        };
        read(self.text, self.file, &POST)
    }
}

/// What is read, and what is said where it can't be.
#[derive(Debug)]
pub struct Kind {
    pub limit: usize,
    pub missing: fn() -> Problem,
    pub too_long: fn(&str) -> Problem,
    pub not_text: fn(&str) -> Problem,
}

pub fn read(text: Option<String>, file: Option<PathBuf>, kind: &Kind) -> Result<String, Failure> {
    match (text, file) {
        (Some(dash), _) if dash == "-" => bounded(io::stdin().lock(), "standard input", kind),
        (Some(text), _) => Ok(text),
        (None, Some(path)) => {
            let name = plain(&path.to_string_lossy());
            match File::open(path) {
                Ok(file) => bounded(file, &name, kind),
                Err(error) => Err(problems::post_unreadable(&name, &error).into()),
            }
        }
        (None, None) => Err((kind.missing)().into()),
    }
}

/// A text, of which no more is read than can be sent.
fn bounded(source: impl Read, name: &str, kind: &Kind) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut source = source.take(kind.limit as u64 + 1);
    source.read_to_end(&mut bytes).map_err(|error| problems::post_unreadable(name, &error))?;
    if bytes.len() > kind.limit {
        return Err((kind.too_long)(name).into());
    }
    String::from_utf8(bytes).map_err(|_| (kind.not_text)(name).into())
}
