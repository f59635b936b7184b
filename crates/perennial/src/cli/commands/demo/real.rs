//! The scene with a real agent CLI, where one is installed: it is killed in a tool call.
//!
//! It speaks to a scripted model of ours on loopback, from a home of its own below the stage: no
//! account is used, nobody is asked over the network, and the user's own files are not touched.
//! Nothing of the user's environment but `PATH` reaches it. What is the vendor's about that, its preset
//! says (`[conformance]`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use perennial_api::Agent;
use perennial_api::request::Spawn;
use perennial_engine::harness::conformance::{Conformance, ShellTool, Surroundings};
use perennial_engine::harness::{Preset, conversation, preset};
use understudy::{Kind, Record, Repeat, Script, Turn, Understudy};

use super::stage::Stage;
use super::{Break, Scene, pid_of, watch};
use crate::cli::installed::{self, Installed, Version};

const NAME: &str = "margaret";
const PROMPT: &str = "Count the lines of the parser, then run the long test.";
/// By which the second tool call is known in a transcript.
const MARK: &str = "tool.unfinished";
/// A real client starts here, perhaps on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays the scene, or says why not. The model answers for as long as it is kept.
pub fn play(stage: &mut Stage<'_>) -> Result<Option<Understudy>, Break> {
    let preset = Preset::load(&stage.home.config, preset::usual());
    let preset = preset.map_err(|error| Break::Untrue(error.to_string()))?;
    let place = Workspace::below(&stage.root(), preset)?;
    let version = match version(&place) {
        Ok(version) => version,
        Err(missing) => {
            stage.tell(&format!("\n(Skipped: the scene with a real agent CLI; {missing})"))?;
            return Ok(None);
        }
    };
    stage.heading("A real agent CLI is killed in a tool call")?;
    let program = &place.preset.program;
    stage.tell(&format!(
        "{program} {version} from your PATH, with its own home and a scripted model:"
    ))?;
    let model = Understudy::start(script(&place.scripted.shell))
        .map_err(|error| Break::Untrue(format!("the scripted model did not start: {error}")))?;
    let tool = begin(stage, &place, &model)?;
    let before = stage.agent(NAME)?;
    kill(stage, pid_of(&before)?, tool)?;
    resume(stage, &before, &place.preset.resume_prompt, &model)?;
    Ok(Some(model))
}

/// Until she is in the middle of her second tool call; the pid of that tool.
fn begin(stage: &mut Stage<'_>, place: &Workspace, model: &Understudy) -> Result<u32, Break> {
    let harness = preset::usual();
    stage.command(&format!("spawn {NAME} --harness {harness} --prompt '{PROMPT}'"))?;
    stage.order(&Spawn {
        name: Some(NAME.to_owned()),
        role: Some("tester".to_owned()),
        dir: place.work.to_string_lossy().into_owned(),
        env: place.environment(&model.url()),
        harness: Some(harness.to_owned()),
        prompt: Some(PROMPT.to_owned()),
        // What the scripted model asks for is known, and happens below the stage.
        permission_mode: place.preset.permission.modes.last().map(|mode| mode.word.clone()),
        trust: true,
        ..Spawn::default()
    })?;
    let mut tool = None;
    let said = place.work.join("tool");
    stage.wait_for("her second tool call did not begin", PATIENCE, |_| {
        tool = std::fs::read_to_string(&said).ok().and_then(|pid| pid.trim().parse().ok());
        Ok(tool.is_some())
    })?;
    // The client writes its conversation down a moment later; killed before, it would not know of
    // the call.
    stage.wait_for("her conversation was not written", PATIENCE, |_| Ok(place.has_call()))?;
    let (calls, tool) = (main_requests(model).len(), tool.unwrap_or_default());
    stage.expect(calls == 2, || format!("the model was asked {calls} times"))?;
    stage.tell("one tool call is done, and the next one is running")?;
    Ok(tool)
}

fn kill(stage: &mut Stage<'_>, pid: u32, tool: u32) -> Scene {
    stage.shell(&format!("kill -9 {pid}"))?;
    stage.kill(pid)?;
    stage.wait_for("her second session did not begin", PATIENCE, |stage| {
        Ok(stage.agent(NAME)?.session.is_some_and(|session| session.number == 2))
    })?;
    stage.expect(!watch::is_alive(tool), || {
        format!("her tool process {tool} outlived her session")
    })?;
    stage.tell("the processes of her tool call were ended with her session")
}

fn resume(stage: &mut Stage<'_>, before: &Agent, told: &str, model: &Understudy) -> Scene {
    let took = stage.wait_for("she did not finish her turn", PATIENCE, |stage| {
        let now = stage.agent(NAME)?;
        Ok(now.state == "waiting" && now.reason == "idle")
    })?;
    let after = stage.agent(NAME)?;
    let conversation = before.conversations.first().cloned().unwrap_or_default();
    let is_same = !conversation.is_empty() && after.conversations.first() == Some(&conversation);
    stage.expect(is_same, || format!("her conversation {conversation} did not continue"))?;
    let seen = main_requests(model).pop();
    let knows = |words: &str| seen.as_ref().is_some_and(|one| one.request.contains(words));
    stage.expect(knows(PROMPT) && knows("41 lines"), || "the model forgot her work".to_owned())?;
    stage.expect(knows(told.trim()), || "she was not told that she was interrupted".to_owned())?;
    stage.tell(&format!(
        "{:.1} s later, session 2 has finished the turn in the same conversation:",
        took.as_secs_f64()
    ))?;
    stage.tell("the model saw her prompt, her first result, and that she was interrupted")
}

/// One short tool call, one that never ends, and whatever is asked after that.
fn script(tool: &ShellTool) -> Script {
    let shell = |command: &str| Turn::tool(&tool.tool, tool.call(command));
    // Written whole or not at all: somebody looks whether it is there.
    let endless = format!("sh -c 'echo $$ > {MARK}; mv {MARK} tool; exec sleep 300'");
    let after = "The long test was cut off. The parser has 41 lines.";
    Script::new([shell("echo 41 lines"), shell(&endless), Turn::text(after).repeat(Repeat::ALWAYS)])
}

fn main_requests(model: &Understudy) -> Vec<std::sync::Arc<Record>> {
    let all = model.requests().into_iter();
    all.filter(|record| record.request.kind == Kind::Main).collect()
}

/// Which version is installed; otherwise, in words, why the scene can't be played.
fn version(place: &Workspace) -> Result<String, String> {
    let preset = &place.preset;
    let asked = |command: &mut Command| {
        let environment = place.environment("http://127.0.0.1:9");
        command.env_clear().envs(environment).current_dir(&place.work);
    };
    let Some(Installed { path, version }) = installed::agent_cli(preset, asked) else {
        return Err(format!("{} not found in PATH", preset.program));
    };
    let (path, measured) = (path.display(), &preset.measured);
    match version {
        Version::Said(version) if is_known(&version, measured) => Ok(version),
        Version::Said(version) => {
            Err(format!("it was tested with {measured}, but {path} is '{version}'"))
        }
        Version::Unsaid => {
            Err(format!("it was tested with {measured}, but {path} tells no version"))
        }
        Version::Late => {
            let seconds = installed::PATIENCE.as_secs();
            Err(format!("{path} did not tell its version within {seconds} s"))
        }
    }
}

/// Later versions of the series that was measured are taken, too.
fn is_known(version: &str, measured: &str) -> bool {
    let numbers = |text: &str| text.split('.').flat_map(str::parse).collect::<Vec<u32>>();
    let (version, measured) = (numbers(version), numbers(measured));
    version.len() == 3 && version[..2] == measured[..2] && version >= measured
}

/// Where the client lives and works, all below the stage.
#[derive(Debug)]
struct Workspace {
    preset: Preset,
    scripted: Conformance,
    home: PathBuf,
    work: PathBuf,
}

impl Workspace {
    /// With what a person would have answered at the first start.
    fn below(root: &Path, preset: Preset) -> Result<Workspace, Break> {
        let make = || -> io::Result<Workspace> {
            let root = root.canonicalize()?;
            let (home, work) = (root.join("agent-cli-home"), root.join("agent-cli-work"));
            std::fs::create_dir_all(home.join("tmp"))?;
            std::fs::create_dir_all(&work)?;
            let scripted = preset.conformance.clone().ok_or(io::ErrorKind::Unsupported)?;
            let place = Workspace { preset, scripted, home, work };
            for (path, text) in place.surroundings("").files(&place.scripted) {
                std::fs::write(place.home.join(path), text)?;
            }
            Ok(place)
        };
        make().map_err(|error| {
            Break::Untrue(format!("can't create a home for the agent CLI: {error}"))
        })
    }

    fn surroundings<'a>(&'a self, model_url: &'a str) -> Surroundings<'a> {
        let Workspace { preset, scripted: _, home, work } = self;
        Surroundings { preset, home, work, model_url }
    }

    /// Whether a transcript holds the second tool call.
    fn has_call(&self) -> bool {
        let vendor_home = conversation::home(&self.preset.conversation, &self.home, |_| None);
        let files = conversation::all(&self.preset, &vendor_home).into_iter();
        let mut texts = files.flat_map(|file| std::fs::read_to_string(file.path));
        texts.any(|text| text.contains(MARK))
    }

    fn environment(&self, model_url: &str) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.home.to_string_lossy().into_owned();
        let temporary = self.home.join("tmp").to_string_lossy().into_owned();
        let variables = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("TMPDIR", &temporary),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let own = self.surroundings(model_url).environment(&self.scripted);
        variables.into_iter().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_series_that_was_seen_are_taken() {
        for (version, known) in [
            ("2.1.325", true),
            ("2.1.400", true),
            ("2.1.197", false),
            ("2.2.0", false),
            ("3.1.325", false),
            ("2.1", false),
            ("", false),
        ] {
            assert_eq!(is_known(version, "2.1.325"), known, "{version}");
        }
    }
}
