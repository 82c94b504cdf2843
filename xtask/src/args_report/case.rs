//! One case, the answer to it, and the verdict.

use super::compare::{Members, members, same, same_members};

/// The expected result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Accepted unchanged
    Valid,
    /// Refused at a path, by a keyword
    Invalid,
    /// Coerced to the expected value
    Coercible,
    /// Accepted unchanged, although it looks coercible
    Control,
    /// Repaired to the expected value
    Malformed,
    /// Repaired to the expected value or refused: a structural character is misplaced
    Slip,
    /// Repaired to the expected value, although it looks like a slip
    Keep,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Valid => "valid",
            Kind::Invalid => "invalid",
            Kind::Coercible => "coercible",
            Kind::Control => "control",
            Kind::Malformed => "malformed",
            Kind::Slip => "slip",
            Kind::Keep => "keep",
        }
    }
}

/// The verdict on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As expected
    Right,
    /// Refused unexpectedly, or at another path than expected
    Refused,
    /// Accepted with another value than expected
    Wrong,
}

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) file: &'static str,
    pub(crate) kind: Kind,
    pub(crate) operator: String,
    tool: String,
    schema: String,
    /// The arguments, or the model's text as a JSON string
    arguments: String,
    /// The expected arguments
    expect: Option<String>,
    errors: Vec<(String, String)>,
}

impl Case {
    pub(crate) fn parse(file: &'static str, line: &str) -> Result<Case, String> {
        let fields = members(line).ok_or("not an object")?;
        let raw = |key: &str| fields.get(key).map(|raw| raw.get().to_owned());
        let text = |key: &str| raw(key).and_then(|raw| serde_json::from_str::<String>(&raw).ok());
        let kind = match (file, text("kind").as_deref()) {
            ("malformed", _) => Kind::Malformed,
            ("structural", _) if text("id").is_some_and(|id| id.starts_with("keep-")) => Kind::Keep,
            ("structural", _) => Kind::Slip,
            ("valid", _) => Kind::Valid,
            (_, Some("invalid")) => Kind::Invalid,
            (_, Some("coercible")) => Kind::Coercible,
            (_, Some("control")) => Kind::Control,
            (_, kind) => return Err(format!("kind {kind:?} is not known")),
        };
        let arguments = raw("raw").or_else(|| raw("args")).ok_or("neither raw nor args")?;
        let expect = match kind {
            Kind::Valid | Kind::Control => Some(arguments.clone()),
            Kind::Coercible | Kind::Malformed | Kind::Slip | Kind::Keep => {
                Some(raw("expect").ok_or("no expect")?)
            }
            Kind::Invalid => None,
        };
        let errors = raw("errors").map(|raw| places(&raw)).unwrap_or_default();
        if kind == Kind::Invalid && errors.is_empty() {
            return Err("invalid, without errors".into());
        }
        Ok(Case {
            id: text("id").unwrap_or_default(),
            file,
            kind,
            operator: text("op").unwrap_or_default(),
            tool: raw("tool").unwrap_or_else(|| "\"tool\"".into()),
            schema: raw("schema").unwrap_or_else(|| r#"{"type": "object"}"#.into()),
            arguments,
            expect,
            errors,
        })
    }

    /// The line for a batch.
    pub(crate) fn line(&self) -> String {
        self.line_with(&self.arguments)
    }

    /// The line for a batch, with other arguments.
    pub(crate) fn line_with(&self, arguments: &str) -> String {
        format!(
            r#"{{"tool": {{"name": {}, "parameters": {}}}, "args": {arguments}}}"#,
            self.tool, self.schema
        )
    }

    /// The model's text as a JSON string, if it is not JSON.
    pub(crate) fn malformed(&self) -> Option<&str> {
        matches!(self.kind, Kind::Malformed | Kind::Slip | Kind::Keep).then_some(&self.arguments)
    }

    /// Returns the verdict on an answer.
    pub(crate) fn verdict(&self, answer: &Answer) -> Verdict {
        let Some(expect) = &self.expect else {
            return match answer.errors.as_slice() {
                [] => Verdict::Wrong,
                found if self.errors.iter().all(|error| found.contains(error)) => Verdict::Right,
                _ => Verdict::Refused,
            };
        };
        if !answer.errors.is_empty() {
            return Verdict::Refused;
        }
        let untouched = matches!(self.kind, Kind::Valid | Kind::Control);
        let changed = untouched && answer.changes != "[]";
        if !changed && answer.gives(expect) { Verdict::Right } else { Verdict::Wrong }
    }
}

/// The answer of `toolwright args` to a case.
#[derive(Debug)]
pub(crate) struct Answer {
    arguments: String,
    defaulted: Vec<String>,
    changes: String,
    errors: Vec<(String, String)>,
}

impl Answer {
    pub(crate) fn parse(line: &str) -> Result<Answer, String> {
        let fields = members(line).ok_or("not an object")?;
        let raw = |key: &str| fields.get(key).map(|raw| raw.get()).ok_or(format!("no {key}"));
        Ok(Answer {
            arguments: raw("tool_args")?.to_owned(),
            defaulted: serde_json::from_str(raw("defaulted")?)
                .map_err(|error| error.to_string())?,
            changes: raw("changes")?.to_owned(),
            errors: places(raw("errors")?),
        })
    }

    /// Whether the arguments are the expected ones, apart from defaults.
    fn gives(&self, expect: &str) -> bool {
        let (Some(mut own), Some(expect)) = (members(&self.arguments), members(expect)) else {
            return same(&self.arguments, expect);
        };
        own.retain(|key, _| expect.contains_key(key) || !self.defaulted.contains(key));
        same_members(&own, &expect)
    }

    /// Describes an answer for the list.
    pub(crate) fn told(&self, verdict: Verdict) -> String {
        if verdict == Verdict::Wrong {
            let arguments: String = self.arguments.chars().take(200).collect();
            return format!("silently wrong: {arguments}");
        }
        let errors = self.errors.iter().take(4);
        let errors: Vec<String> =
            errors.map(|(path, keyword)| format!("{path} {keyword}")).collect();
        format!("refused: {}", errors.join(", "))
    }
}

/// The paths and keywords of errors; `/` is the root, like the empty pointer.
fn places(errors: &str) -> Vec<(String, String)> {
    let list: Vec<Members> = serde_json::from_str(errors).unwrap_or_default();
    let text = |error: &Members, key: &str| {
        error.get(key).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
    };
    list.iter()
        .map(|error| (text(error, "path"), text(error, "keyword")))
        .map(|(path, keyword)| (path.unwrap_or_default(), keyword.unwrap_or_default()))
        .map(|(path, keyword)| (if path == "/" { String::new() } else { path }, keyword))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Answer, Case, Verdict};

    fn verdict(file: &'static str, case: &str, answer: &str) -> Verdict {
        Case::parse(file, case).unwrap().verdict(&Answer::parse(answer).unwrap())
    }

    #[test]
    fn verdicts_depend_on_the_kind_of_the_case() {
        let fine = r#"{"tool_args":{"a":1,"b":2},"defaulted":["b"],"changes":[],"errors":[]}"#;
        let changed = r#"{"tool_args":{"a":1},"defaulted":[],"changes":[{}],"errors":[]}"#;
        let refused = r#"{"tool_args":{},"defaulted":[],"changes":[],"errors":[{"path":"","keyword":"required"}]}"#;
        let valid = r#"{"id":"v","args":{"a":1},"schema":{}}"#;
        assert_eq!(verdict("valid", valid, fine), Verdict::Right);
        assert_eq!(verdict("valid", valid, changed), Verdict::Wrong);
        assert_eq!(verdict("valid", valid, refused), Verdict::Refused);
        let coercible = r#"{"kind":"coercible","args":{"a":"1"},"expect":{"a":1.0}}"#;
        assert_eq!(verdict("mutated", coercible, changed), Verdict::Right);
        let other = r#"{"kind":"coercible","args":{"a":"1"},"expect":{"a":1,"b":3}}"#;
        assert_eq!(verdict("mutated", other, fine), Verdict::Wrong);
        let invalid =
            r#"{"kind":"invalid","args":{},"errors":[{"path":"/","keyword":"required"}]}"#;
        assert_eq!(verdict("mutated", invalid, refused), Verdict::Right);
        assert_eq!(verdict("mutated", invalid, fine), Verdict::Wrong);
        let elsewhere = r#"{"kind":"invalid","args":{},"errors":[{"path":"/a","keyword":"type"}]}"#;
        assert_eq!(verdict("mutated", elsewhere, refused), Verdict::Refused);
    }
}
