//! The JSON form of a policy. Unknown fields are refused, because a misspelt condition would widen
//! its rule.

use toolwright_core::document::{DocumentError, ObjectReader, items, text};
use toolwright_core::{Json, object};

use super::{Condition, Glob, Policy, Rule, Test, Verdict};

impl Policy {
    /// Reads a policy from its JSON form.
    pub fn from_json(document: &Json) -> Result<Policy, DocumentError> {
        let fields = ObjectReader::only(document, &["default", "rules"])?;
        Ok(Policy {
            rules: fields.optional_list("rules", read_rule)?,
            default: fields.present("default", read_verdict)?.unwrap_or_default(),
        })
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> Json {
        let rules: Vec<Json> = self.rules.iter().map(write_rule).collect();
        object! {"default": self.default.as_str(), "rules": rules}.into()
    }
}

fn read_rule(rule: &Json) -> Result<Rule, DocumentError> {
    let known = ["effect", "tools", "callers", "tenants", "arguments", "reason"];
    let fields = ObjectReader::only(rule, &known)?;
    let globs = |field| Ok(fields.present(field, read_globs)?.unwrap_or_default());
    Ok(Rule {
        effect: fields.required("effect", read_verdict)?,
        tools: globs("tools")?,
        callers: globs("callers")?,
        tenants: globs("tenants")?,
        arguments: fields.optional_list("arguments", read_condition)?,
        reason: fields.present("reason", text)?.map(str::to_owned),
    })
}

/// Reads a list of patterns. An empty list is refused: it would match everything.
fn read_globs(names: &Json) -> Result<Vec<Glob>, DocumentError> {
    let globs = items(names, |name| Ok(Glob::new(text(name)?)))?;
    if globs.is_empty() {
        let expected = "at least one name; leave the list out to match everything";
        return Err(DocumentError::new(expected));
    }
    Ok(globs)
}

fn read_condition(condition: &Json) -> Result<Condition, DocumentError> {
    let known = ["path", "equals", "one_of", "prefix", "glob", "absent"];
    let fields = ObjectReader::only(condition, &known)?;
    let path = fields.word("path", "a JSON Pointer, which starts with /", |path| {
        path.starts_with('/').then(|| path.to_owned())
    })?;
    let mut tests = fields.as_object().iter().filter(|(field, _)| *field != "path");
    let (Some((field, value)), None) = (tests.next(), tests.next()) else {
        return Err(DocumentError::new("exactly one test beside the path"));
    };
    let test = match field {
        "equals" => Ok(Test::Equals(value.clone())),
        "one_of" => items(value, |value| Ok(value.clone())).map(Test::OneOf),
        "prefix" => text(value).map(|prefix| Test::Prefix(prefix.to_owned())),
        "glob" => text(value).map(|glob| Test::Glob(Glob::new(glob))),
        _ => match value.as_bool() {
            Some(true) => Ok(Test::Absent),
            Some(false) => Ok(Test::Present),
            None => Err(DocumentError::new("true or false")),
        },
    };
    Ok(Condition { path, test: test.map_err(|error| error.within(field))? })
}

fn write_rule(rule: &Rule) -> Json {
    let mut out = object! {"effect": rule.effect.as_str()};
    for (field, globs) in
        [("tools", &rule.tools), ("callers", &rule.callers), ("tenants", &rule.tenants)]
    {
        out.insert_filled(field, globs.iter().map(Glob::as_str).collect::<Vec<&str>>());
    }
    out.insert_filled("arguments", rule.arguments.iter().map(write_condition).collect::<Vec<_>>());
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

fn read_verdict(word: &Json) -> Result<Verdict, DocumentError> {
    let expected = "\"allow\", \"deny\" or \"ask\"";
    word.as_str().and_then(Verdict::from_name).ok_or_else(|| DocumentError::new(expected))
}
