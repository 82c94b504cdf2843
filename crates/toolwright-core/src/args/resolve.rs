//! Chooses, among the readings of what a model wrote, the one that its tool can run with.
//!
//! Hidden parameters are removed from each reading, and it is coerced if the check rejects it. The
//! cheapest reading that the check then accepts wins. Two different ones of the same cost are refused,
//! and so is one whose kinds of change together cost more than [`MAX_COST`], because it is too far from
//! what the model wrote. The winner is completed with defaults. Without a winner the best reading is
//! completed as well, so that the feedback names all that is missing, but it never runs.

use std::sync::Arc;

use toolwright_json::{Json, Object, Path, object};

use super::coerce::{Coercion, unwrap};
use super::complete::{Completed, Missing};
use super::parameters::Parameters;
use super::{Change, CoercionOptions, Op, Parsed, Reading, doubt, feedback};
use crate::schema::Violation;

/// Maximum cost of all kinds of change together, each kind counted once.
pub const MAX_COST: u32 = 20;

/// Maximum cost of a reading above that of the cheapest. A schema helps to choose among readings that are
/// about equally likely; it must not prefer an unlikely reading to a likely one that is invalid.
const MAX_EXTRA_COST: u32 = 3;

/// Arguments after all steps, whether the tool can run with them or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedArguments {
    tool: Arc<str>,
    /// `None` if the text could not be understood as arguments
    arguments: Option<Object>,
    completed: Completed,
    changes: Vec<Change>,
    errors: Vec<Violation>,
}

impl ResolvedArguments {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments, completed; empty if the text could not be understood.
    pub fn arguments(&self) -> &Object {
        const NONE: &Object = &Object::new();
        self.arguments.as_ref().unwrap_or(NONE)
    }

    /// Whether the text could be understood as arguments.
    pub fn is_understood(&self) -> bool {
        self.arguments.is_some()
    }

    /// The parameters without value and default, in the order of the schema.
    pub fn missing(&self) -> &[Missing] {
        &self.completed.missing
    }

    /// The parameters that got their default.
    pub fn defaulted(&self) -> &[Arc<str>] {
        &self.completed.defaulted
    }

    /// The differences from what the model wrote.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The remaining errors.
    pub fn errors(&self) -> &[Violation] {
        &self.errors
    }

    /// The remaining errors, so that the caller can remove what the model must not see.
    pub fn errors_mut(&mut self) -> &mut [Violation] {
        &mut self.errors
    }

    /// Whether the text was cut off and had to be closed. Such a call runs only if the model is known to
    /// have finished.
    pub fn is_closed(&self) -> bool {
        self.changes.iter().any(|change| change.op == Op::Close)
    }

    /// Whether the tool can run with the arguments.
    pub fn is_runnable(&self) -> bool {
        self.errors.is_empty() && self.arguments.is_some()
    }

    /// The error message for the model; `None` if the arguments are valid.
    pub fn feedback(&self) -> Option<String> {
        (!self.is_runnable()).then(|| feedback::write(self))
    }

    /// The report: arguments, missing parameters, changes and errors.
    pub fn to_json(&self) -> Object {
        let missing = &self.completed.missing;
        let names: Vec<&str> = missing.iter().map(|missing| &*missing.name).collect();
        let defaulted: Vec<&str> = self.defaulted().iter().map(|name| &**name).collect();
        object! {
            "tool_name": &*self.tool,
            "tool_args": self.arguments.clone(),
            "missing_tool_args": names,
            "missing": missing.iter().map(Missing::to_json).collect::<Vec<Object>>(),
            "defaulted": defaulted,
            "changes": self.changes.iter().map(Change::to_json).collect::<Vec<Object>>(),
            "errors": self.errors.iter().map(Violation::to_json).collect::<Vec<Object>>(),
        }
    }

    pub(super) fn into_parts(self) -> (Arc<str>, Object, Vec<Change>, Vec<Arc<str>>) {
        let ResolvedArguments { tool, arguments, completed, changes, .. } = self;
        (tool, arguments.unwrap_or_default(), changes, completed.defaulted)
    }
}

/// A reading after the check.
struct Candidate {
    reading: Reading,
    /// Its errors; empty if it is accepted
    errors: Vec<Violation>,
}

impl Parameters {
    /// Resolves the readings of what a model wrote.
    pub fn resolve(&self, parsed: Parsed, options: &CoercionOptions) -> ResolvedArguments {
        let mut best: Option<Candidate> = None;
        let cheapest = parsed.readings.first().map_or(0, Reading::cost);
        for reading in parsed.readings {
            if reading.cost() > cheapest + MAX_EXTRA_COST {
                break;
            }
            let is_late =
                |best: &Candidate| best.errors.is_empty() && best.reading.cost() < reading.cost();
            if best.as_ref().is_some_and(is_late) {
                break;
            }
            best = Some(better(best, self.check_reading(reading, *options)));
        }
        match best {
            Some(best) => self.conclude(best),
            None => self.unreadable(),
        }
    }

    /// Checks the first reading as it is: nothing is coerced or removed. Every violation is an error, and so are
    /// repeated keys and hidden parameters. Valid arguments are completed with defaults.
    ///
    /// ```
    /// use toolwright_core::args::{Parameters, parse_exact};
    /// use toolwright_core::{Arguments, Json, Tool};
    ///
    /// let schema = Json::parse(r#"{"properties": {"days": {"type": "integer", "default": 3}}}"#)?;
    /// let parameters = Parameters::compile(&Tool::function("forecast", schema), &[])?;
    /// let check = |text: &str| parameters.resolve_exact(parse_exact(&Arguments::from_text(text)));
    ///
    /// assert_eq!(check("{}").arguments().compact(), r#"{"days":3}"#);
    /// assert_eq!(check(r#"{"days": "2"}"#).errors()[0].path, "/days");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve_exact(&self, parsed: Parsed) -> ResolvedArguments {
        let Some(Reading { mut value, changes }) = parsed.readings.into_iter().next() else {
            return self.unreadable();
        };
        if self.takes_free_text() && value.as_str().is_some() {
            value = Json::Object(object! {"input": value});
        }
        let mut errors = self.check().violations(&value);
        find_repeated_keys(&value, &Path::ROOT, &mut errors);
        let Json::Object(arguments) = value else {
            return ResolvedArguments { changes, errors, ..self.unreadable() };
        };
        for name in self.hidden().iter().filter(|name| arguments.contains_key(name)) {
            let message = "is supplied by the host and must not be given";
            errors.push(Violation::new(Path::ROOT.key(name).pointer(), "hidden", message));
        }
        self.completed(arguments, changes, errors)
    }

    /// Coerces and checks a reading.
    fn check_reading(&self, mut reading: Reading, options: CoercionOptions) -> Candidate {
        if self.takes_free_text() && reading.value.as_str().is_some() {
            reading.value = Json::Object(object! {"input": std::mem::take(&mut reading.value)});
        }
        let mut errors = Vec::new();
        remove_repeated_keys(&mut reading.value, &Path::ROOT, &mut reading.changes, &mut errors);
        errors.extend(doubt::swallowed(self, &reading));
        errors.extend(self.unwrap(&mut reading));
        errors.extend(doubt::invented(self, &reading));
        self.hide(&mut reading);
        if !errors.is_empty() {
            return Candidate { reading, errors };
        }
        let coercion = Coercion::new(self.check()).with_options(options).for_tool(self.tool());
        let Reading { value, mut changes } = reading;
        let (coerced, errors) = match coercion.apply(value) {
            Ok(coerced) => (coerced, errors),
            Err(unmended) => (unmended.reading, unmended.errors),
        };
        changes.extend(coerced.changes);
        let mut reading = Reading { value: coerced.value, changes };
        // Unwrapping another object can reveal hidden parameters.
        self.hide(&mut reading);
        Candidate { reading, errors }
    }

    /// Extracts the arguments if the model wrote a call in their place. A call of another tool is an
    /// error.
    fn unwrap(&self, reading: &mut Reading) -> Option<Violation> {
        let is_declared = |key: &str| self.iter().any(|parameter| &*parameter.name == key);
        if let Some(inner) = unwrap::evident(&reading.value, self.tool(), is_declared) {
            reading.changes.push(Change::new("", Op::Unwrap));
            reading.value = inner;
            return None;
        }
        let other = unwrap::other_tool(&reading.value, self.tool(), is_declared)?;
        let other = crate::schema::describe::quote(other);
        Some(Violation::new("", "tool", format!("is a call of another tool, {other}")))
    }

    /// Removes parameters that only the host may supply.
    fn hide(&self, reading: &mut Reading) {
        let Json::Object(arguments) = &mut reading.value else { return };
        for name in self.hidden() {
            if arguments.remove(name).is_some() {
                let path = Path::ROOT.key(name).pointer();
                reading.changes.push(Change::new(path, Op::Hide));
            }
        }
    }

    fn conclude(&self, best: Candidate) -> ResolvedArguments {
        let Candidate { reading, mut errors } = best;
        if errors.is_empty() && cost_by_kind(&reading.changes) > MAX_COST {
            errors.push(Violation::new("", "repair", "differs too much from what is accepted"));
        }
        let Json::Object(arguments) = reading.value else {
            if errors.is_empty() {
                errors.push(Violation::new("", "type", "must be an object, not another value"));
            }
            return ResolvedArguments { changes: reading.changes, errors, ..self.unreadable() };
        };
        self.completed(arguments, reading.changes, errors)
    }

    /// Completes arguments with defaults.
    fn completed(
        &self,
        mut arguments: Object,
        changes: Vec<Change>,
        errors: Vec<Violation>,
    ) -> ResolvedArguments {
        let completed = if errors.is_empty() {
            self.complete_accepted(&mut arguments)
        } else {
            self.complete(&mut arguments, &[])
        };
        let (tool, arguments) = (self.shared_tool(), Some(arguments));
        ResolvedArguments { tool, arguments, completed, changes, errors }
    }

    fn unreadable(&self) -> ResolvedArguments {
        let mut nothing = Object::new();
        let mut completed = self.complete(&mut nothing, &[]);
        completed.defaulted.clear();
        let message = format!("Invalid JSON input for tool {}", self.tool());
        ResolvedArguments {
            tool: self.shared_tool(),
            arguments: None,
            completed,
            changes: Vec::new(),
            errors: vec![Violation::new("", "json", message)],
        }
    }
}

/// The better of two readings: accepted before rejected, then the cheaper one. Different accepted ones of
/// the same cost are both refused, because it is unknown which one was meant.
fn better(best: Option<Candidate>, other: Candidate) -> Candidate {
    let Some(mut best) = best else { return other };
    let (own, others) = (best.reading.cost(), other.reading.cost());
    match (best.errors.is_empty(), other.errors.is_empty()) {
        (true, true) if own == others => {
            if !best.reading.value.equals(&other.reading.value) {
                let message = "can be understood in more than one way";
                best.errors.push(Violation::new("", "ambiguous", message));
            }
            best
        }
        (true, true) if others < own => other,
        (false, true) if !is_ambiguous(&best) || others < own => other,
        _ => best,
    }
}

fn is_ambiguous(candidate: &Candidate) -> bool {
    candidate.errors.iter().any(|error| error.keyword == "ambiguous")
}

/// Total cost of the kinds of change, each by its most expensive change.
fn cost_by_kind(changes: &[Change]) -> u32 {
    let mut kinds: Vec<(Op, u32)> = changes.iter().map(|change| (change.op, change.cost)).collect();
    kinds.sort_unstable_by(|a, b| b.cmp(a));
    kinds.dedup_by_key(|(op, _)| *op);
    kinds.into_iter().map(|(_, cost)| cost).sum()
}

/// Reports repeated keys, of which a tool would see only the last.
fn find_repeated_keys(value: &Json, at: &Path<'_>, errors: &mut Vec<Violation>) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_repeated_keys(item, &at.index(index), errors);
            }
        }
        Json::Object(object) => {
            for (name, ..) in object.repeated() {
                let name = crate::schema::describe::quote(name);
                let message = format!("{name} is given more than once");
                errors.push(Violation::new(at.pointer(), "repeated", message));
            }
            for (name, item) in object.iter() {
                find_repeated_keys(item, &at.key(name), errors);
            }
        }
        _ => {}
    }
}

/// Removes repeated keys. If the values differ, it is unknown which one was meant.
fn remove_repeated_keys(
    value: &mut Json,
    at: &Path<'_>,
    changes: &mut Vec<Change>,
    errors: &mut Vec<Violation>,
) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                remove_repeated_keys(item, &at.index(index), changes, errors);
            }
        }
        Json::Object(object) => {
            let repeated = object.repeated();
            if !repeated.is_empty() {
                let differs = |(_, value, next): &&(&str, &Json, &Json)| !value.equals(next);
                if let Some((name, ..)) = repeated.iter().find(differs) {
                    let name = crate::schema::describe::quote(name);
                    let message = format!("{name} is given more than once, with different values");
                    errors.push(Violation::new(at.pointer(), "repeated", message));
                }
                changes.push(Change::new(at.pointer(), Op::Repeat));
                object.remove_repeated_keys();
            }
            for (name, item) in object.iter_mut() {
                remove_repeated_keys(item, &at.key(name), changes, errors);
            }
        }
        _ => {}
    }
}
