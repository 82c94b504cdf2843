//! A policy as a document, and back. What is not understood is refused: a misspelt rule must not
//! become a wider one.

use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::{Condition, Glob, Policy, Rule, Test, Verdict};

/// Why a document is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("policy, at {}: {problem}", if path.is_empty() { "the top" } else { path })]
pub struct PolicyError {
    /// JSON Pointer into the document
    pub path: String,
    /// What is wrong there, and what is accepted
    pub problem: String,
}

impl Verdict {
    /// The word in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Deny => "deny",
            Verdict::Ask => "ask",
        }
    }
}

impl Policy {
    /// Reads a document of the form that the module describes.
    pub fn from_json(document: &Json) -> Result<Policy, PolicyError> {
        let object = members(document, "", &["default", "rules"])?;
        let default = match object.get("default") {
            Some(word) => verdict(word, "/default")?,
            None => Verdict::default(),
        };
        let rules = match object.get("rules") {
            Some(rules) => array(rules, "/rules")?
                .iter()
                .enumerate()
                .map(|(index, rule)| read_rule(rule, &format!("/rules/{index}")))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Policy { rules, default })
    }

    /// The document.
    pub fn to_json(&self) -> Json {
        let rules: Vec<Json> = self.rules.iter().map(write_rule).collect();
        object! {"default": self.default.as_str(), "rules": rules}.into()
    }
}

fn read_rule(rule: &Json, path: &str) -> Result<Rule, PolicyError> {
    const FIELDS: &[&str] = &["effect", "tools", "callers", "tenants", "arguments", "reason"];
    let object = members(rule, path, FIELDS)?;
    let Some(effect) = object.get("effect") else {
        return Err(wrong(path, "a rule needs an \"effect\": \"allow\", \"deny\" or \"ask\""));
    };
    let globs = |field: &str| match object.get(field) {
        Some(names) => read_globs(names, &format!("{path}/{field}")),
        None => Ok(Vec::new()),
    };
    let arguments = match object.get("arguments") {
        Some(conditions) => array(conditions, &format!("{path}/arguments"))?
            .iter()
            .enumerate()
            .map(|(index, condition)| {
                read_condition(condition, &format!("{path}/arguments/{index}"))
            })
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let reason = match object.get("reason") {
        Some(reason) => Some(string(reason, &format!("{path}/reason"))?.to_owned()),
        None => None,
    };
    Ok(Rule {
        effect: verdict(effect, &format!("{path}/effect"))?,
        tools: globs("tools")?,
        callers: globs("callers")?,
        tenants: globs("tenants")?,
        arguments,
        reason,
    })
}

/// A list of names. An empty one would match everything, which nobody means who writes it.
fn read_globs(names: &Json, path: &str) -> Result<Vec<Glob>, PolicyError> {
    let names = array(names, path)?;
    if names.is_empty() {
        return Err(wrong(path, "the list is empty; leave it out to match everything"));
    }
    names
        .iter()
        .enumerate()
        .map(|(index, name)| Ok(Glob::new(string(name, &format!("{path}/{index}"))?)))
        .collect()
}

fn read_condition(condition: &Json, path: &str) -> Result<Condition, PolicyError> {
    const FIELDS: &[&str] = &["path", "equals", "one_of", "prefix", "glob", "absent"];
    let object = members(condition, path, FIELDS)?;
    let Some(pointer) = object.get("path") else {
        return Err(wrong(path, "a condition needs a \"path\", a JSON Pointer"));
    };
    let pointer = string(pointer, &format!("{path}/path"))?;
    if !pointer.starts_with('/') {
        return Err(wrong(&format!("{path}/path"), "a JSON Pointer starts with /"));
    }
    let mut tests = object.iter().filter(|(field, _)| *field != "path");
    let (Some((field, value)), None) = (tests.next(), tests.next()) else {
        return Err(wrong(path, "a condition has exactly one test beside its path"));
    };
    let at = format!("{path}/{field}");
    let test = match field {
        "equals" => Test::Equals(value.clone()),
        "one_of" => Test::OneOf(array(value, &at)?.to_vec()),
        "prefix" => Test::Prefix(string(value, &at)?.to_owned()),
        "glob" => Test::Glob(Glob::new(string(value, &at)?)),
        _ => match value.as_bool() {
            Some(true) => Test::Absent,
            Some(false) => Test::Present,
            None => return Err(wrong(&at, "true or false belongs here")),
        },
    };
    Ok(Condition { path: pointer.to_owned(), test })
}

fn write_rule(rule: &Rule) -> Json {
    let mut out = object! {"effect": rule.effect.as_str()};
    for (field, globs) in
        [("tools", &rule.tools), ("callers", &rule.callers), ("tenants", &rule.tenants)]
    {
        if !globs.is_empty() {
            let names: Vec<Json> = globs.iter().map(|glob| Json::from(glob.as_str())).collect();
            out.insert(field, names);
        }
    }
    if !rule.arguments.is_empty() {
        let conditions: Vec<Json> = rule.arguments.iter().map(write_condition).collect();
        out.insert("arguments", conditions);
    }
    out.insert_some("reason", rule.reason.as_deref());
    out.into()
}

fn write_condition(condition: &Condition) -> Json {
    let mut out = object! {"path": condition.path.as_str()};
    match &condition.test {
        Test::Equals(value) => out.insert("equals", value.clone()),
        Test::OneOf(values) => out.insert("one_of", values.clone()),
        Test::Prefix(prefix) => out.insert("prefix", prefix.as_str()),
        Test::Glob(glob) => out.insert("glob", glob.as_str()),
        Test::Absent => out.insert("absent", true),
        Test::Present => out.insert("absent", false),
    }
    out.into()
}

fn verdict(word: &Json, path: &str) -> Result<Verdict, PolicyError> {
    [Verdict::Allow, Verdict::Deny, Verdict::Ask]
        .into_iter()
        .find(|verdict| word.as_str() == Some(verdict.as_str()))
        .ok_or_else(|| wrong(path, "\"allow\", \"deny\" or \"ask\" belongs here"))
}

/// The members of an object that has no others than these, each once.
fn members<'d>(value: &'d Json, path: &str, known: &[&str]) -> Result<&'d Object, PolicyError> {
    let Some(object) = value.as_object() else {
        return Err(wrong(path, "an object belongs here"));
    };
    for (index, key) in object.keys().enumerate() {
        if !known.contains(&key) {
            let problem = format!("unknown field \"{key}\"; known are {}", known.join(", "));
            return Err(wrong(path, &problem));
        }
        if object.keys().take(index).any(|other| other == key) {
            return Err(wrong(path, &format!("the field \"{key}\" is there twice")));
        }
    }
    Ok(object)
}

fn array<'d>(value: &'d Json, path: &str) -> Result<&'d [Json], PolicyError> {
    value.as_array().ok_or_else(|| wrong(path, "a list belongs here"))
}

fn string<'d>(value: &'d Json, path: &str) -> Result<&'d str, PolicyError> {
    value.as_str().ok_or_else(|| wrong(path, "a string belongs here"))
}

fn wrong(path: &str, problem: &str) -> PolicyError {
    PolicyError { path: path.to_owned(), problem: problem.to_owned() }
}
