//! `service`: runs the daemon as a systemd user service. Writes one unit file, and never touches one that
//! somebody else wrote.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use perennial_api::{ExitCode, Home};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::installed::program;
use crate::cli::person;
use crate::cli::problems;

/// Run the daemon as a systemd user service
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial service install
          perennial service status
          perennial service uninstall

systemd starts your user services when you log in, and ends them when you log out. To keep agents \
running without a login, and start the daemon at boot: loginctl enable-linger")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Status(StatusArgs),
}

/// Write the unit, enable it and start the daemon by it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial service install
          perennial service install --print")]
struct InstallArgs {
    /// Print the unit instead of installing it
    #[arg(long)]
    print: bool,
}

/// Disable the unit and remove it; sessions keep running
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial service uninstall")]
struct UninstallArgs {}

/// Show whether the unit is installed, enabled and running
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial service status")]
struct StatusArgs {}

const UNIT: &str = "perennial.service";
/// A unit that begins so is ours.
const FIRST_LINE: &str =
    "# Written by `perennial service install`; edits are lost when it is run again.";

pub fn run(args: &Args, context: &Context) -> VerbResult {
    match &args.verb {
        Verb::Install(InstallArgs { print: true }) => {
            let text = unit(&own_program()?, &context.home)?;
            match context.json {
                true => context.print_json(json!({ "text": text }).to_string().as_bytes())?,
                false => context.print(&text)?,
            }
            Ok(ExitCode::Done)
        }
        Verb::Install(_) => install(context),
        Verb::Uninstall(_) => uninstall(context),
        Verb::Status(_) => status(context),
    }
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| problems::own_program_unknown(&error).into())
}

/// The unit. With `KillMode=process`, systemd ends the daemon only, and no session. `Delegate` gives sessions
/// cgroups of their own.
fn unit(program: &Path, home: &Home) -> Result<String, Failure> {
    let program = quoted(program)?;
    let environment = match &home.root {
        Some(root) => {
            format!("Environment={}\n", quoted_text(&format!("PERENNIAL_HOME={}", text(root)?)))
        }
        None => String::new(),
    };
    Ok(format!(
        "{FIRST_LINE}\n\
         [Unit]\n\
         Description=Perennial, which keeps AI coding agents alive\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={program} up --foreground\n\
         {environment}\
         KillMode=process\n\
         Delegate=yes\n\
         Restart=on-failure\n\
         RestartSec=1\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    ))
}

fn text(path: &Path) -> Result<&str, Failure> {
    let is_plain = |text: &&str| !text.chars().any(char::is_control);
    path.to_str().filter(is_plain).ok_or_else(|| problems::house::path_not_for_a_unit(path).into())
}

fn quoted(path: &Path) -> Result<String, Failure> {
    Ok(quoted_text(text(path)?))
}

/// As systemd reads it: within quotes, with `%` and `$` doubled, backslashes and quotes escaped.
fn quoted_text(text: &str) -> String {
    let escaped =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

/// Where systemd looks for a user's own units.
fn unit_path() -> Result<PathBuf, Failure> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let config = config.ok_or_else(problems::no_home_variable)?;
    Ok(config.join("systemd/user").join(UNIT))
}

/// The unit that is there, if it is ours to change.
fn installed(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.starts_with(FIRST_LINE) => Ok(Some(text)),
        Ok(_) => Err(problems::house::foreign_unit(path).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problems::house::unit_unusable(path, &error).into()),
    }
}

fn install(context: &Context) -> VerbResult {
    person::required("install a service", context)?;
    let path = unit_path()?;
    let text = unit(&own_program()?, &context.home)?;
    let before = installed(&path)?;
    manager()?;
    let unusable = |error: io::Error| problems::house::unit_unusable(&path, &error);
    if before.as_deref() != Some(&*text) {
        let new = path.with_extension("service.new");
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(unusable)?;
        std::fs::write(&new, &text)
            .and_then(|()| std::fs::rename(&new, &path))
            .map_err(unusable)?;
    }
    systemctl(&["daemon-reload"])?;
    systemctl(&["enable", UNIT])?;
    // One that runs already, however it was started, is left alone: it has the home.
    let is_running = context.client.get(&perennial_api::client::path(&["health"], &[])).is_ok();
    if !is_running {
        systemctl(&["start", UNIT])?;
    }
    let running = match is_running {
        true => "a daemon is running already; systemd starts the next one\n",
        false => "",
    };
    told("installed", &path, &format!("{running}{LINGER}"), context)
}

const LINGER: &str =
    "to keep agents running after you log out, and to start at boot: loginctl enable-linger\n";

fn uninstall(context: &Context) -> VerbResult {
    person::required("uninstall a service", context)?;
    let path = unit_path()?;
    if installed(&path)?.is_none() {
        return Err(problems::house::no_unit(&path).into());
    }
    manager()?;
    // Not stopped: that is `down`, and the operator's to say.
    systemctl(&["disable", UNIT])?;
    std::fs::remove_file(&path).map_err(|error| problems::house::unit_unusable(&path, &error))?;
    systemctl(&["daemon-reload"])?;
    told("uninstalled", &path, "a daemon that runs keeps running\n", context)
}

fn status(context: &Context) -> VerbResult {
    let path = unit_path()?;
    let unit = installed(&path)?;
    let ask = |word: &str| match manager() {
        Ok(()) => answer_of(&[word, UNIT]),
        Err(_) => "unknown: no systemd user manager answers".to_owned(),
    };
    let (enabled, active) = (ask("is-enabled"), ask("is-active"));
    let is_current = unit.as_ref().map(|text| {
        own_program().and_then(|own| self::unit(&own, &context.home)).is_ok_and(|new| new == *text)
    });
    if context.json {
        let body = json!({
            "unit": path, "installed": unit.is_some(), "current": is_current,
            "enabled": enabled, "active": active,
        });
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let installed = match is_current {
        None => "not installed: perennial service install",
        Some(true) => "installed",
        Some(false) => {
            "installed for another program or home: perennial service install updates it"
        }
    };
    context.print(&format!(
        "unit      {}\n          {installed}\nenabled   {enabled}\nactive    {active}\n",
        path.display()
    ))?;
    Ok(ExitCode::Done)
}

fn told(what: &str, path: &Path, notes: &str, context: &Context) -> VerbResult {
    match context.json {
        true => {
            context.print_json(json!({ "unit": path, "result": what }).to_string().as_bytes())?;
        }
        false => context.print(&format!("{what} {}\n{notes}", path.display()))?,
    }
    Ok(ExitCode::Done)
}

/// Refuses where no systemd of this user answers.
fn manager() -> Result<(), Failure> {
    if program("systemctl").is_none() {
        return Err(problems::house::no_systemd("systemctl was not found in PATH").into());
    }
    let asked = Command::new("systemctl").args(["--user", "show", "--property=Version"]).output();
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(problems::house::no_systemd(said.trim()).into())
        }
        Err(error) => Err(problems::house::no_systemd(&error.to_string()).into()),
    }
}

fn systemctl(words: &[&str]) -> Result<(), Failure> {
    let ran = Command::new("systemctl").arg("--user").args(words).output();
    match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(problems::house::systemctl_failed(words, said.trim()).into())
        }
        Err(error) => Err(problems::house::systemctl_failed(words, &error.to_string()).into()),
    }
}

/// The one word that systemctl answers, whatever its exit code.
fn answer_of(words: &[&str]) -> String {
    let ran = Command::new("systemctl").arg("--user").args(words).output();
    let said = ran.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let said = said.unwrap_or_default();
    if said.is_empty() { "unknown".to_owned() } else { crate::cli::render::text::plain(&said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_as_it_is_written() {
        let home = Home::at("/srv/50% \"x\"/$h");
        insta::assert_snapshot!(unit(Path::new("/usr/bin/perennial"), &home).expect("a unit"));
    }

    #[test]
    fn a_path_that_would_break_the_unit_is_refused() {
        assert!(unit(Path::new("/a\nExecStartPre=/bin/x"), &Home::at("/h")).is_err());
        assert!(unit(Path::new("/p"), &Home::at("/h\nKillMode=mixed")).is_err());
    }

    #[test]
    fn a_unit_of_somebody_else_is_not_ours_to_change() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(UNIT);
        assert!(installed(&path).expect("nothing there").is_none());
        std::fs::write(&path, "[Service]\n").expect("written");
        assert!(installed(&path).is_err());
        std::fs::write(&path, format!("{FIRST_LINE}\n[Service]\n")).expect("written");
        assert!(installed(&path).expect("ours").is_some());
    }
}
