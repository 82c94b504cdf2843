//! Compatibility of two versions of a prefab: whether callers of the earlier one can call the later one
//! unchanged.
//!
//! A function is compatible if it accepts all arguments that it accepted before, and returns nothing
//! that it did not return before. Both are questions of [`containment`].

use toolwright_core::schema::{Check, Containment, containment};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::manifest::{Function, Manifest};

/// The differences between two versions, as a caller sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compatibility {
    /// The functions of both versions, those of the later one first
    pub functions: Vec<FunctionCompatibility>,
}

/// The differences of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionCompatibility {
    /// The name of the function
    pub name: String,
    /// What happened to it
    pub change: FunctionChange,
}

/// What happened to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FunctionChange {
    /// Only the later version has it
    Added,
    /// Only the earlier version has it
    Removed,
    /// Both have it
    Kept {
        /// Whether the later version accepts all arguments of the earlier one
        input: Verdict,
        /// Whether the later version returns only what the earlier one may return
        output: Verdict,
    },
}

/// Whether a schema is compatible with an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It does not differ
    Same,
    /// It differs, and is compatible
    Compatible,
    /// It is not compatible
    Breaking {
        /// A value that shows it, if there is one: arguments that are no longer accepted, or a return
        /// value that was not possible before
        example: Option<Json>,
        /// What is wrong
        reason: String,
    },
    /// Neither could be shown
    Unknown {
        /// What could not be decided
        reason: String,
    },
}

impl Compatibility {
    /// Compares a version with an earlier one.
    pub fn compare(earlier: &Manifest, later: &Manifest) -> Compatibility {
        let kept = later.functions.iter().map(|function| {
            let change = match earlier.function(&function.name) {
                Some(before) => FunctionChange::Kept {
                    input: compare_inputs(before, function),
                    output: compare_outputs(before, function),
                },
                None => FunctionChange::Added,
            };
            FunctionCompatibility { name: function.name.clone(), change }
        });
        let removed = earlier.functions.iter().filter(|own| later.function(&own.name).is_none());
        let removed = removed.map(|function| FunctionCompatibility {
            name: function.name.clone(),
            change: FunctionChange::Removed,
        });
        Compatibility { functions: kept.chain(removed).collect() }
    }

    /// Whether a caller of the earlier version provably fails.
    pub fn is_breaking(&self) -> bool {
        self.functions.iter().any(|function| match &function.change {
            FunctionChange::Added => false,
            FunctionChange::Removed => true,
            FunctionChange::Kept { input, output } => input.is_breaking() || output.is_breaking(),
        })
    }

    /// Returns the functions that break callers, each with the reason.
    pub fn breaks(&self) -> Vec<String> {
        let mut breaks = Vec::new();
        for FunctionCompatibility { name, change } in &self.functions {
            match change {
                FunctionChange::Added => {}
                FunctionChange::Removed => breaks.push(format!("{name} was removed")),
                FunctionChange::Kept { input, output } => {
                    for (what, verdict) in [("arguments", input), ("return value", output)] {
                        if let Verdict::Breaking { reason, .. } = verdict {
                            breaks.push(format!("{what} of {name}: {reason}"));
                        }
                    }
                }
            }
        }
        breaks
    }

    /// Returns the report as JSON: `{"breaking", "functions": [{"name", "change", "input"?, "output"?}]}`.
    pub fn to_json(&self) -> Object {
        let functions: Vec<Object> =
            self.functions.iter().map(FunctionCompatibility::to_json).collect();
        object! {"breaking": self.is_breaking(), "functions": functions}
    }
}

impl FunctionCompatibility {
    fn to_json(&self) -> Object {
        let mut document = object! {"name": self.name.as_str()};
        match &self.change {
            FunctionChange::Added => document.push("change", "added"),
            FunctionChange::Removed => document.push("change", "removed"),
            FunctionChange::Kept { input, output } => {
                document.push("change", "kept");
                document.push("input", input.to_json());
                document.push("output", output.to_json());
            }
        }
        document
    }
}

impl Verdict {
    /// Returns the verdict in one word: `same`, `compatible`, `breaking` or `unknown`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Compatible => "compatible",
            Verdict::Breaking { .. } => "breaking",
            Verdict::Unknown { .. } => "unknown",
        }
    }

    /// Returns the reason, unless it is compatible.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Breaking { reason, .. } | Verdict::Unknown { reason } => Some(reason),
            Verdict::Same | Verdict::Compatible => None,
        }
    }

    fn is_breaking(&self) -> bool {
        matches!(self, Verdict::Breaking { .. })
    }

    fn to_json(&self) -> Object {
        let mut document = object! {"verdict": self.word()};
        document.insert_some("reason", self.reason());
        if let Verdict::Breaking { example, .. } = self {
            document.insert_some("example", example.clone());
        }
        document
    }

    fn breaking(reason: String) -> Verdict {
        Verdict::Breaking { example: None, reason }
    }
}

fn compare_inputs(before: &Function, after: &Function) -> Verdict {
    let (earlier, later) = (before.visible_schema(), after.visible_schema());
    if earlier.same(&later) {
        return Verdict::Same;
    }
    // A caller sends the parameters that are declared, so a new one breaks nothing.
    contained(&closed(&earlier), &later, "no longer accepted")
}

fn compare_outputs(before: &Function, after: &Function) -> Verdict {
    let has_file = |key: &str| after.output_files().any(|file| file.key == key);
    if let Some(file) = before.output_files().find(|file| !has_file(&file.key)) {
        return Verdict::breaking(format!("the file '{}' is no longer returned", file.key));
    }
    match (&before.output_schema, &after.output_schema) {
        (None, None) => Verdict::Same,
        (None, Some(_)) => Verdict::Compatible,
        (Some(_), None) => {
            Verdict::Unknown { reason: "the return value is no longer described".to_owned() }
        }
        (Some(earlier), Some(later)) if earlier.same(later) => Verdict::Same,
        (Some(earlier), Some(later)) => contained(later, earlier, "not possible before"),
    }
}

/// Whether every value of `inner` is a value of `outer`.
fn contained(inner: &Json, outer: &Json, problem: &str) -> Verdict {
    let (Ok(inner), Ok(outer)) = (Check::compile(inner), Check::compile(outer)) else {
        return Verdict::Unknown { reason: "a schema does not compile".to_owned() };
    };
    match containment(&inner, &outer) {
        Containment::Contained => Verdict::Compatible,
        Containment::NotContained(witness) => {
            let path = Some(&witness.violation.path).filter(|path| !path.is_empty());
            let at = path.map(|path| format!(" at '{path}'")).unwrap_or_default();
            let reason = format!("a value{at} is {problem}: {}", witness.violation.message);
            Verdict::Breaking { example: Some(witness.value), reason }
        }
        Containment::Unknown { schema_path } => {
            Verdict::Unknown { reason: format!("'{schema_path}' could not be decided") }
        }
        _ => Verdict::Unknown { reason: "it could not be decided".to_owned() },
    }
}

/// Returns a schema whose objects have no members that it does not declare.
fn closed(schema: &Json) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    let mut out = Object::with_capacity(object.len() + 1);
    for (key, value) in object.iter() {
        let value = match (key, value) {
            ("properties", Json::Object(properties)) => {
                let mut closed_properties = Object::with_capacity(properties.len());
                for (name, property) in properties.iter() {
                    closed_properties.push(name.to_owned(), closed(property));
                }
                Json::Object(closed_properties)
            }
            ("items", items) => closed(items),
            (_, value) => value.clone(),
        };
        out.push(key.to_owned(), value);
    }
    // Members that another schema adds must stay possible.
    let is_alone =
        !["$ref", "allOf", "anyOf", "oneOf", "additionalProperties", "patternProperties"]
            .iter()
            .any(|key| out.contains_key(key));
    if out.contains_key("properties") && is_alone {
        out.push("additionalProperties", false);
    }
    Json::Object(out)
}
