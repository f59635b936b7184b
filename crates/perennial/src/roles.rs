//! Roles as they are declared: in the operator's `config.toml`, in the `perennial.toml` of a project, and built in.
//! Whose declaration counts is said in one place, `perennial_core::role::DeclaredIn`.
//!
//! A project's file is data that anybody may have written. Nothing of a role in it is run, and no path in it is
//! followed: a mandate's path is only told, and looked at to say that there is no such file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::name::{Name, NameKey};
use perennial_core::restart::Restart;
use perennial_core::role::{
    self, DeclaredIn, HANDOFF_AT_LEAST, HANDOFF_AT_MOST, Interesting, Mandate, RoleTerms, Span,
    Verify,
};
use perennial_core::work::RuleChanges;
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::span;

/// A mandate as a text, in full, goes into what a session is told at its start.
const MANDATE_BYTES_MAX: usize = 1024;
const PATH_BYTES_MAX: usize = 512;
const EVERY_MOST_S: u64 = 365 * 86_400;

/// The roles of one file, by their names.
pub type Declared = BTreeMap<RoleName, Declaration>;

/// One role of a file, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table with the keys of a role")]
pub struct Declaration {
    #[serde(skip_serializing_if = "Option::is_none")]
    mandate: Option<MandateText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mandate_file: Option<MandatePath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SpanWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overseer: Option<RoleName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<RestartWord>,
    single_holder: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "cycle")]
    cycle: Option<Cycle>,
    /// The share of the usable context window at which holders are handed off.
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff_at: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify: Option<VerifyWord>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_phase")]
    phase: Option<RuleChanges>,
}

/// When a holder's session gives way to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { after = 3, unit = \"assignment\" }")]
struct Cycle {
    /// Every unit but `operator` has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u32>,
    unit: CycleUnit,
    /// Events after which the session gives way at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interesting: Vec<InterestingWord>,
}

impl Cycle {
    fn rule(&self) -> role::Cycle {
        let interesting = self.interesting.iter().filter_map(InterestingWord::event).collect();
        role::Cycle { after: self.after, unit: self.unit.unit(), interesting }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CycleUnit {
    Assignment,
    Round,
    Interaction,
    Merge,
    /// The operator decides.
    Operator,
}

impl CycleUnit {
    fn unit(self) -> role::CycleUnit {
        match self {
            CycleUnit::Assignment => role::CycleUnit::Assignment,
            CycleUnit::Round => role::CycleUnit::Round,
            CycleUnit::Interaction => role::CycleUnit::Interaction,
            CycleUnit::Merge => role::CycleUnit::Merge,
            CycleUnit::Operator => role::CycleUnit::Operator,
        }
    }
}

impl InterestingWord {
    fn event(&self) -> Option<Interesting> {
        Interesting::ALL.into_iter().find(|it| it.word() == self.0)
    }
}

/// What a holder may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { tokens = 1000000 }")]
struct Budget {
    tokens: u64,
}

/// A name that a role can have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoleName(String);

impl RoleName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RoleName {
    type Error = String;

    fn try_from(text: String) -> Result<RoleName, String> {
        match text.parse::<Name>() {
            Ok(name) => Ok(RoleName(name.as_str().to_owned())),
            Err(_) => Err(format!("invalid role `{text}`: use letters, digits, - and _")),
        }
    }
}

impl From<RoleName> for String {
    fn from(name: RoleName) -> String {
        name.0
    }
}

/// Reads the roles of a file. What only several keys together show to be wrong is a mistake, too.
pub fn declared<'de, D: Deserializer<'de>>(from: D) -> Result<Declared, D::Error> {
    from.deserialize_map(DeclaredVisitor { place: DeclaredIn::Operator })
}

/// The same of a project's file.
pub fn declared_by_project<'de, D: Deserializer<'de>>(from: D) -> Result<Declared, D::Error> {
    from.deserialize_map(DeclaredVisitor { place: DeclaredIn::Project })
}

struct DeclaredVisitor {
    place: DeclaredIn,
}

impl<'de> Visitor<'de> for DeclaredVisitor {
    type Value = Declared;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table for each role")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Declared, A::Error> {
        let (mut seen, mut all) = (BTreeMap::new(), Declared::new());
        while let Some(name) = map.next_key_seed(NewRole(&mut seen))? {
            all.insert(name, map.next_value_seed(Coherent { place: self.place })?);
        }
        Ok(all)
    }
}

/// A role that no table before this one declares, whatever letters it is written in.
struct NewRole<'s>(&'s mut BTreeMap<NameKey, RoleName>);

impl<'de> DeserializeSeed<'de> for NewRole<'_> {
    type Value = RoleName;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<RoleName, D::Error> {
        let name = RoleName::deserialize(from)?;
        match self.0.insert(NameKey::of(name.as_str()), name.clone()) {
            None => Ok(name),
            Some(other) => {
                let words = format!("`{}` and `{}` are the same role", other.0, name.0);
                Err(D::Error::custom(words))
            }
        }
    }
}

/// A declaration whose keys go together.
struct Coherent {
    place: DeclaredIn,
}

impl<'de> DeserializeSeed<'de> for Coherent {
    type Value = Declaration;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Declaration, D::Error> {
        let declaration = Declaration::deserialize(from)?;
        declaration.is_coherent(self.place).map_err(D::Error::custom)?;
        Ok(declaration)
    }
}

/// What the phases of work are recognised by, within its bounds.
pub fn phase<'de, D: Deserializer<'de>>(from: D) -> Result<RuleChanges, D::Error> {
    let changes = RuleChanges::deserialize(from)?;
    match changes.mistake() {
        None => Ok(changes),
        Some(mistake) => Err(D::Error::custom(mistake)),
    }
}

fn optional_phase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<RuleChanges>, D::Error> {
    phase(from).map(Some)
}

fn cycle<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cycle>, D::Error> {
    let cycle = Cycle::deserialize(from)?;
    match (cycle.after, cycle.unit) {
        (Some(_), _) | (None, CycleUnit::Operator) => Ok(Some(cycle)),
        (
            None,
            CycleUnit::Assignment | CycleUnit::Round | CycleUnit::Interaction | CycleUnit::Merge,
        ) => Err(D::Error::custom("cycle needs a number (after), unless its unit is operator")),
    }
}

/// A value that is checked when it is read.
macro_rules! checked_text {
    ($name:ident, $check:expr) => {
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        struct $name(String);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<$name, String> {
                let check: fn(&str) -> Result<(), String> = $check;
                check(&text).map(|()| $name(text))
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.0
            }
        }
    };
}

checked_text!(MandateText, |text| bounded(text, MANDATE_BYTES_MAX, "mandate"));
checked_text!(MandatePath, |text| bounded(text, PATH_BYTES_MAX, "mandate_file"));
checked_text!(SpanWord, |text| one_of(text, "span", &Span::ALL.map(Span::word)));
checked_text!(InterestingWord, |text| one_of(
    text,
    "interesting",
    &Interesting::ALL.map(Interesting::word)
));
checked_text!(VerifyWord, |text| one_of(text, "verify", &Verify::ALL.map(Verify::word)));
checked_text!(RestartWord, |text| one_of(text, "restart", &RESTARTS.map(|(_, word)| word)));
checked_text!(Interval, |text| match span::seconds(text) {
    Some(1..=EVERY_MOST_S) => Ok(()),
    Some(_) | None =>
        Err("every must be a span such as \"90s\", \"30m\", \"12h\" or \"1d\"".to_owned()),
});

const RESTARTS: [(Restart, &str); 3] =
    [(Restart::Never, "never"), (Restart::OnCrash, "on-crash"), (Restart::Always, "always")];

fn bounded(text: &str, most: usize, key: &str) -> Result<(), String> {
    match (text.trim().is_empty(), text.len() <= most) {
        (false, true) => Ok(()),
        (true, _) => Err(format!("{key} is empty")),
        (false, false) => Err(format!("{key} may have at most {most} bytes")),
    }
}

fn one_of(text: &str, key: &str, words: &[&str]) -> Result<(), String> {
    match words.contains(&text) {
        true => Ok(()),
        false => Err(format!("{key} must be one of {}", words.join(", "))),
    }
}

impl Declaration {
    /// What holders of the role are bound by, as the file at `file` declares it.
    pub fn terms(&self, file: &Path) -> RoleTerms {
        let text = self.mandate.as_ref().map(|text| Mandate::Text(text.0.clone()));
        let path = self.mandate_path(file);
        let path = path.map(|path| Mandate::Path(path.to_string_lossy().into_owned()));
        let restart = self.restart.as_ref().map(|word| word.0.as_str());
        RoleTerms {
            mandate: path.or(text).unwrap_or_default(),
            span: self.span(),
            overseer: self.overseer.as_ref().map(|role| role.0.clone()),
            restart: RESTARTS.iter().find(|(_, word)| restart == Some(word)).map(|(it, _)| *it),
            is_single: self.single_holder,
            every: self
                .every
                .as_ref()
                .and_then(|every| span::seconds(&every.0))
                .map(Duration::from_secs),
            is_declared: true,
            verify: self.verify(),
            cycle: self.cycle.as_ref().map(Cycle::rule),
            handoff_at: self.handoff_at,
        }
    }

    /// The file of the mandate: a relative path starts where the file is that declares it.
    fn mandate_path(&self, file: &Path) -> Option<PathBuf> {
        let path = self.mandate_file.as_ref()?;
        Some(file.parent().unwrap_or(Path::new("/")).join(&path.0))
    }

    /// The mandate's path, if no file is there.
    pub fn missing_mandate(&self, file: &Path) -> Option<PathBuf> {
        self.mandate_path(file).filter(|path| !path.is_file())
    }

    fn is_coherent(&self, place: DeclaredIn) -> Result<(), String> {
        let every_least_s = place.every_least_s();
        let every_s = self.every.as_ref().and_then(|every| span::seconds(&every.0));
        if self.mandate.is_some() && self.mandate_file.is_some() {
            Err("give mandate or mandate_file, not both".to_owned())
        } else if every_s.is_some_and(|every_s| every_s < every_least_s) {
            Err(format!("every must be at least {}", span::brief(every_least_s)))
        } else if self
            .handoff_at
            .is_some_and(|it| !(HANDOFF_AT_LEAST..=HANDOFF_AT_MOST).contains(&it))
        {
            Err(format!("handoff_at must be from {HANDOFF_AT_LEAST} to {HANDOFF_AT_MOST}"))
        } else if self.cycles_too_often(place) {
            Err(format!(
                "a cycle by rounds or interactions needs after = {} or more",
                place.cycle_least()
            ))
        } else if !place.may_trust() && self.verify() == Verify::Trust {
            Err("only config.toml may say verify = \"trust\"".to_owned())
        } else if !place.may_trust() && self.phase.is_some() {
            Err("only config.toml may say what a role's phases are recognised by".to_owned())
        } else {
            Ok(())
        }
    }

    fn cycles_too_often(&self, place: DeclaredIn) -> bool {
        self.cycle.as_ref().is_some_and(|cycle| match cycle.unit {
            CycleUnit::Round | CycleUnit::Interaction => {
                cycle.after.is_some_and(|after| after < place.cycle_least())
            }
            CycleUnit::Assignment | CycleUnit::Merge => cycle.after == Some(0),
            CycleUnit::Operator => false,
        })
    }

    fn verify(&self) -> Verify {
        let word = self.verify.as_ref().map(|word| word.0.as_str());
        Verify::ALL.into_iter().find(|it| word == Some(it.word())).unwrap_or_default()
    }

    fn span(&self) -> Span {
        let word = self.span.as_ref().map(|word| word.0.as_str());
        Span::ALL.into_iter().find(|span| word == Some(span.word())).unwrap_or_default()
    }

    /// When a holder's session gives way to the next, for people.
    pub fn cycle(&self) -> Option<String> {
        let Cycle { after, unit, interesting } = self.cycle.as_ref()?;
        let plural = if *after == Some(1) { "" } else { "s" };
        let listed: Vec<&str> = interesting.iter().map(|it| it.0.as_str()).collect();
        let early = match listed.is_empty() {
            true => String::new(),
            false => format!(", or after: {}", listed.join(", ")),
        };
        let unit = unit.unit();
        Some(match after.filter(|_| unit != role::CycleUnit::Operator) {
            Some(after) => format!("a new session after {after} {}{plural}{early}", unit.word()),
            None => format!("a new session only when the operator decides{early}"),
        })
    }

    /// What is declared and has no effect yet, for people.
    pub fn not_in_force(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let is_by_merges = |cycle: &&Cycle| cycle.unit == CycleUnit::Merge;
        if self.cycle.as_ref().filter(is_by_merges).is_some() {
            sentences.push("merges are not counted yet: nothing lands branches".to_owned());
        }
        sentences.extend(self.budget.map(|budget| format!("at most {} tokens", budget.tokens)));
        sentences
    }
}

/// The roles that are built in, with the numbers of the systems that they come from.
pub fn built_in() -> Declared {
    toml::from_str::<BuiltIn>(include_str!("roles/built_in.toml")).expect("it is tested").role
}

#[derive(Deserialize)]
struct BuiltIn {
    #[serde(deserialize_with = "declared")]
    role: Declared,
}

/// What decisions go by, of the roles that the file at `file` declares.
pub fn terms(declared: &Declared, file: &Path) -> BTreeMap<NameKey, RoleTerms> {
    let terms =
        |(role, it): (&RoleName, &Declaration)| (NameKey::of(role.as_str()), it.terms(file));
    declared.iter().map(terms).collect()
}

/// The roles that say what the phases of their holders' work are recognised by.
pub fn phases(declared: &Declared) -> BTreeMap<NameKey, RuleChanges> {
    let changes = |(role, it): (&RoleName, &Declaration)| {
        Some((NameKey::of(role.as_str()), it.phase.clone()?))
    };
    declared.iter().filter_map(changes).collect()
}

/// The declaration of a role, whatever letters it is written in.
pub fn find<'d>(declared: &'d Declared, role: &NameKey) -> Option<&'d Declaration> {
    declared.iter().find(|(name, _)| NameKey::of(name.as_str()) == *role).map(|(_, found)| found)
}

/// What is wrong outside the file that declares these roles: a sentence for each mandate without a file.
pub fn missing_mandates(declared: &Declared, file: &Path) -> Vec<String> {
    let missing = |(role, it): (&RoleName, &Declaration)| {
        let path = it.missing_mandate(file)?;
        Some(format!(
            "the mandate of the role {} is missing: there is no file {}",
            role.0,
            path.display()
        ))
    };
    declared.iter().filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mistake was once told with the names of our own types.
    #[test]
    fn a_wrong_form_is_told_with_the_right_one() {
        for (key, form) in [
            ("budget = 5", "expected a table such as { tokens = 1000000 }"),
            ("cycle = 5", "expected a table such as { after = 3, unit = \"assignment\" }"),
        ] {
            let file = format!("[role.scribe]\n{key}\n");
            let error = toml::from_str::<BuiltIn>(&file).err().expect("a mistake");
            assert!(error.message().contains(form), "{error}");
        }
    }

    /// G-03: the seed's numbers.
    #[test]
    fn the_built_in_roles_have_their_numbers() {
        let roles = built_in();
        let told: Vec<(&str, &str, String)> = roles
            .iter()
            .map(|(name, role)| {
                (name.as_str(), role.span().word(), role.cycle().unwrap_or_default())
            })
            .collect();
        let rows = [
            ("crew", "persistent", "a new session only when the operator decides"),
            ("mayor", "persistent", "a new session only when the operator decides"),
            (
                "patrol",
                "persistent",
                "a new session after 20 rounds, or after: lifecycle-request, remediation, escalation",
            ),
            (
                "refinery",
                "persistent",
                "a new session after 20 merges, or after: complex-rebase, conflict",
            ),
            ("witness", "persistent", "a new session after 15 interactions"),
            ("worker", "mortal", "a new session after 1 assignment"),
        ];
        assert_eq!(told, rows.map(|(name, span, rest)| (name, span, rest.to_owned())));
        let at = |role: &str| {
            let found = find(&roles, &NameKey::of(role)).expect("a role");
            found.terms(Path::new("/")).hands_off_at()
        };
        assert_eq!(["crew", "mayor"].map(at), [None, None]);
        assert_eq!(["patrol", "refinery", "witness", "worker"].map(at), [Some(80); 4]);
        let worker = find(&roles, &NameKey::of("Worker")).expect("a role").terms(Path::new("/"));
        assert_eq!(worker.overseer.as_deref(), Some("witness"));
    }
}
