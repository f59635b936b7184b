//! What every verb uses: the home, a client, the output and how to draw on it.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use perennial_api::{Client, Home};
use serde::de::DeserializeOwned;

use super::failure::Failure;
use super::listener;
use super::pager::{LongOutput, Pager};
use super::problems;
use super::render::paint::Paint;
use super::render::roster::Canvas;
use super::render::text::{json, plain};
use super::render::time::LocalTime;
use super::terminal;
use crate::config::{Config, Loaded, Mistake};

/// What a person is told of a mistake in the configuration.
pub fn config_note(mistake: &Mistake) -> String {
    let mistake = plain(&mistake.to_string());
    format!("the configuration has a mistake and is ignored: {mistake}: perennial config edit")
}

#[derive(Debug)]
pub struct Context {
    pub home: Home,
    pub client: Client,
    /// Results and problems as JSON.
    pub json: bool,
    pub paint: Paint,
    /// What shows long output on a terminal; nothing if it is not wanted.
    pub pager: Option<Pager>,
}

impl Context {
    pub fn from_env(json: bool, no_pager: bool) -> Result<Context, Failure> {
        let home = Home::from_env().map_err(|error| problems::no_home(&error))?;
        home.check().map_err(|why| why.problem())?;
        let client = listener::trusting(Client::new(&home));
        let paint = Paint::choose(io::stdout().is_terminal(), |name| std::env::var(name).ok());
        let pager = Pager::choose(|name| std::env::var(name).ok());
        let pager = pager.filter(|_| !json && !no_pager);
        Ok(Context { home, client, json, paint, pager })
    }

    /// The configuration as this command uses it. A mistake in it is told, and ends nothing.
    pub fn config(&self) -> Loaded {
        let loaded = Config::for_command_line(&self.home.config, |name| std::env::var(name).ok());
        if let Some(mistake) = loaded.mistake.as_ref().filter(|_| !self.json) {
            eprintln!("note: {}", config_note(mistake));
        }
        loaded
    }

    /// Writes to standard output, all at once.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.print_bytes(text.as_bytes())
    }

    /// JSON, ended by a line end; nothing in it acts on a terminal.
    pub fn print_json(&self, body: &[u8]) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        out.write_all(json(&String::from_utf8_lossy(body)).as_bytes())?;
        if body.last() != Some(&b'\n') {
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }

    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }

    /// What an answer says: passed through as JSON, or drawn by `draw`.
    pub fn show<T: DeserializeOwned>(
        &self,
        answer: &perennial_api::Response,
        draw: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return self.print_json(&answer.body);
        }
        self.print_long(&draw(&answer.read()?))
    }

    /// Writes to standard output, or to a pager if it does not fit the screen.
    pub fn print_long(&self, text: &str) -> Result<(), Failure> {
        let mut out = self.long_output();
        out.write_all(text.as_bytes())?;
        Ok(out.finish()?)
    }

    /// For output that comes piece by piece.
    pub fn long_output(&self) -> LongOutput {
        LongOutput::begin(self.pager.clone())
    }

    /// Draws with the terminal's width and colours, at this moment.
    pub fn draw(&self, draw: impl FnOnce(&Canvas<'_>) -> String) -> String {
        let clock = LocalTime::system();
        let user = std::env::var_os("HOME").map(PathBuf::from);
        draw(&Canvas {
            clock: &clock,
            paint: self.paint,
            width: terminal::output_width(),
            user: user.as_deref(),
        })
    }
}
