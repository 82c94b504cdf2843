//! Maps names that the target rejects to legal ones and back (cases 9 and 13).
//!
//! A legal name is kept. Any other is rewritten with a hash of the original: stable across
//! processes, reversible through the map, and distinct from every other name of the request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toolwright_core::profile::{Charset, IdRule, NameRule, Profile};
use toolwright_core::schema::Nulls;
use toolwright_core::tool::{flat_name, split_name};
use toolwright_core::{Body, Message, Part, ToolChoice, ToolKind, hash};
use toolwright_json::{Json, Object, object};

use super::Work;

/// Renamed names and ids, and what restoring the reply must undo or enforce.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Aliases {
    /// Tool names: alias and original
    pub names: Vec<(String, String)>,
    /// Call ids: alias and original
    pub ids: Vec<(String, String)>,
    /// Parameters that strict rewriting made nullable, by the tool's original name: a null there
    /// means absent (case 24)
    pub nulled: Vec<(String, Nulls)>,
    /// Free-text tools that became functions, by original name
    pub free: Vec<String>,
    /// Whether only the first call of a reply is kept
    pub single_call: bool,
    /// Whether a placeholder replaces the tools; its calls are dropped
    pub placeholder: bool,
    /// Whether the format of the reply replaces a forced call, so that its text is one
    pub forced: bool,
}

/// The keys of aliases in a report.
const KEYS: [&str; 7] = ["names", "ids", "nulled", "free", "single_call", "placeholder", "forced"];

impl Aliases {
    /// Returns the original name of a tool.
    pub fn name<'a>(&'a self, alias: &'a str) -> &'a str {
        find(&self.names, alias)
    }

    /// Returns the original id of a call.
    pub fn id<'a>(&'a self, alias: &'a str) -> &'a str {
        find(&self.ids, alias)
    }

    /// Returns the nullable parameters of a tool, by its original name.
    pub fn nulled(&self, name: &str) -> Option<&Nulls> {
        self.nulled.iter().find(|(own, _)| own == name).map(|(_, nulls)| nulls)
    }

    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        *self == Aliases::default()
    }

    /// Returns the JSON form for a report.
    pub fn to_json(&self) -> Json {
        let map = |pairs: &[(String, String)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(alias, name)| (alias.clone().into(), name.as_str().into()))
                .collect::<Object>()
        };
        let nulled = self.nulled.iter();
        let nulled: Object =
            nulled.map(|(tool, nulls)| (tool.clone().into(), nulls.to_json())).collect();
        Json::Object(object! {
            "names": map(&self.names),
            "ids": map(&self.ids),
            "nulled": nulled,
            "free": self.free.clone(),
            "single_call": self.single_call,
            "placeholder": self.placeholder,
            "forced": self.forced,
        })
    }

    /// Reads the JSON form of a report; `None` if it is invalid.
    pub fn from_json(value: &Json) -> Option<Aliases> {
        let strings = |value: &Json| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let pairs = |key: &str| -> Option<Vec<(String, String)>> {
            let Some(value) = value.get(key) else { return Some(Vec::new()) };
            let members = value.as_object()?.iter();
            members
                .map(|(alias, name)| Some((alias.to_owned(), name.as_str()?.to_owned())))
                .collect()
        };
        let nulled = match value.get("nulled") {
            None => Vec::new(),
            Some(nulled) => {
                let members = nulled.as_object()?.iter();
                members
                    .map(|(tool, nulls)| Some((tool.to_owned(), Nulls::from_json(nulls)?)))
                    .collect::<Option<_>>()?
            }
        };
        // An unknown key may be a restriction that must not be ignored.
        if !value.as_object()?.keys().all(|key| KEYS.contains(&key)) {
            return None;
        }
        let flag = |key| value.get(key).map_or(Some(false), Json::as_bool);
        Some(Aliases {
            names: pairs("names")?,
            ids: pairs("ids")?,
            nulled,
            free: value.get("free").map_or(Some(Vec::new()), strings)?,
            single_call: flag("single_call")?,
            placeholder: flag("placeholder")?,
            forced: flag("forced")?,
        })
    }
}

fn find<'a>(pairs: &'a [(String, String)], alias: &'a str) -> &'a str {
    pairs.iter().find(|(own, _)| own == alias).map_or(alias, |(_, original)| original)
}

pub(super) fn pass(work: &mut Work<'_>) {
    let rule = work.profile.names;
    let mut names: Vec<&str> = Vec::new();
    let function = |kind: &ToolKind| !matches!(kind, ToolKind::Hosted(_));
    let offered = work.request.tools.iter().filter(|tool| function(&tool.kind));
    names.extend(offered.map(|tool| tool.name.as_str()));
    for part in work.request.messages.iter().flat_map(|message| &message.parts) {
        match &part.body {
            Body::Call(call) => names.push(&call.name),
            Body::Outcome(outcome) => names.extend(outcome.name.as_deref()),
            _ => {}
        }
    }
    let namespaces = work.profile.tools.namespaces;
    let is_legal = |name: &str| match split_name(name) {
        (None, name) => is_legal_name(&rule, name),
        (Some(namespace), own) => {
            let legal = |name| is_legal_name(&rule, name);
            namespaces && (namespace.is_empty() || legal(namespace)) && legal(own)
        }
    };
    work.aliases.names = assign(&names, is_legal, |name, round| candidate(&rule, name, round));
    if work.aliases.names.is_empty() {
        return;
    }
    let aliases = by_original(&work.aliases.names);
    let alias = |name: &mut String| rename(&aliases, name);
    for tool in &mut work.request.tools {
        if function(&tool.kind) {
            alias(&mut tool.name);
        }
    }
    match &mut work.request.tool_choice {
        Some(ToolChoice::Tool(name)) => alias(name),
        Some(ToolChoice::Allowed { names, .. }) => names.iter_mut().for_each(alias),
        _ => {}
    }
    each_part(&mut work.request.messages, |part| match &mut part.body {
        Body::Call(call) => alias(&mut call.name),
        Body::Outcome(outcome) => outcome.name.iter_mut().for_each(alias),
        _ => {}
    });
}

/// Returns the aliases by their originals.
pub(super) fn by_original(pairs: &[(String, String)]) -> BTreeMap<&str, &str> {
    pairs.iter().map(|(alias, original)| (original.as_str(), alias.as_str())).collect()
}

/// Replaces an original by its alias.
pub(super) fn rename(aliases: &BTreeMap<&str, &str>, original: &mut String) {
    if let Some(alias) = aliases.get(original.as_str()) {
        *original = (*alias).to_owned();
    }
}

/// Visits every part of a conversation.
pub(super) fn each_part(messages: &mut [Message], visit: impl FnMut(&mut Part)) {
    messages.iter_mut().flat_map(|message| &mut message.parts).for_each(visit);
}

/// Assigns a unique alias to each illegal original.
pub(super) fn assign(
    originals: &[&str],
    is_legal: impl Fn(&str) -> bool,
    candidate: impl Fn(&str, usize) -> String,
) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut illegal = originals.iter().filter(|original| !is_legal(original)).peekable();
    if illegal.peek().is_none() {
        return pairs;
    }
    let mut taken: BTreeSet<Cow<'_, str>> = originals.iter().copied().map(Cow::from).collect();
    let mut seen = BTreeSet::new();
    for original in illegal.filter(|original| seen.insert(**original)) {
        // Each taken name excludes at most one round.
        let mut rounds = (0..=taken.len()).map(|round| candidate(original, round));
        if let Some(alias) = rounds.find(|alias| !taken.contains(alias.as_str())) {
            taken.insert(alias.clone().into());
            pairs.push((alias, (*original).to_owned()));
        }
    }
    pairs
}

/// Whether a target accepts a name.
pub fn is_legal_name(rule: &NameRule, name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|first| !rule.letter_first || first.is_ascii_alphabetic() || first == '_')
        && length(name) <= rule.max
        && rule.charset.contains_all(name)
}

/// Returns a name that a target accepts and that is not taken: the name itself, or its legal part with a hash of the
/// whole.
pub fn legal_name(rule: &NameRule, name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if is_legal_name(rule, name) && !is_taken(name) {
        return name.to_owned();
    }
    let mut round = 0;
    loop {
        let candidate = shorten(rule, name, round);
        if !is_taken(&candidate) {
            return candidate;
        }
        round += 1;
    }
}

/// Whether a target accepts an id.
pub fn is_legal_id(rule: &IdRule, id: &str) -> bool {
    (rule.min..=rule.max).contains(&length(id)) && rule.charset.contains_all(id)
}

/// Returns the number of characters; most names are ASCII.
fn length(name: &str) -> usize {
    if name.is_ascii() { name.len() } else { name.chars().count() }
}

/// Whether clients of a dialect return the id of a call unchanged.
pub fn is_kept_by_clients(profile: &Profile, id: &str) -> bool {
    !profile.reply.legal_call_ids || is_legal_id(&profile.ids, id)
}

/// Returns an alias for a name: that of a tool in a namespace is flattened if the result is legal
/// and unused.
fn candidate(rule: &NameRule, name: &str, round: usize) -> String {
    let flat = flat_name(name);
    if round == 0 && flat != name && is_legal_name(rule, &flat) {
        return flat;
    }
    shorten(rule, &flat, round)
}

/// Returns the legal part of a name with a hash of the whole.
fn shorten(rule: &NameRule, name: &str, round: usize) -> String {
    const HASH: usize = 8;
    let seed = if round == 0 { name.to_owned() } else { format!("{name}\u{0}{round}") };
    let keep = rule.max.saturating_sub(HASH + 1);
    let mut out: String = name
        .chars()
        .map(|character| if Charset::Word.contains(character) { character } else { '_' })
        .take(keep)
        .collect();
    if rule.letter_first
        && !out.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    {
        out.insert(0, '_');
        out.truncate(keep);
    }
    out.push('_');
    out.push_str(&hash::alphanumeric(&seed, HASH));
    out
}
