//! Losses of a translation, with place, reason and severity.

use std::borrow::Cow;
use std::fmt;

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Object};

use crate::model::origin::Origin;
use crate::model::part::CacheMark;

/// A part of the source that does not reach the target unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Its place in the source
    pub site: Site,
    /// What happened to it
    pub what: Cow<'static, str>,
    /// Why the target cannot express it
    pub why: Cow<'static, str>,
    /// Its severity
    pub severity: Severity,
}

toolwright_json::words! {
    /// The severity of a loss.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity: word, from_word {
        /// Expressed in another way; equivalent for the model
        Note = "note",
        /// A hint is gone (a cache breakpoint, a title)
        Minor = "minor",
        /// The model receives less, or a guarantee is enforced by other means
        Major = "major",
    }
}

/// A place in the source document: the origin of a canonical value, and a field of that value.
#[derive(Debug, Clone)]
pub struct Site {
    /// The value
    pub origin: Origin,
    /// The canonical field, or the key of an extra one; empty for the value itself
    pub field: Cow<'static, str>,
    /// A JSON Pointer inside the field
    pub below: String,
}

/// Fields that only some dialects have: token counts without cached or reasoning tokens, schema and
/// kind of a response format, the cause of a stop or a failure, the tool kind of an outcome. A
/// dialect whose field paths do not list one does not have it.
const OPTIONAL_FIELDS: [&str; 8] = [
    "uncached_input",
    "uncached_total",
    "unthought_output",
    "format_schema",
    "format_kind",
    "cause",
    "failure",
    "kind",
];

/// Prefix of the key of an extra field, which may have the name of a canonical field.
const EXTRA_PREFIX: &str = "+";

impl Site {
    /// Creates the site of an extra field of a value.
    pub fn extra(origin: &Origin, key: &str) -> Site {
        Site::field(origin, [EXTRA_PREFIX, key].concat())
    }

    /// Creates the site of a value as a whole.
    pub fn of(origin: &Origin) -> Site {
        Site { origin: origin.clone(), field: Cow::Borrowed(""), below: String::new() }
    }

    /// Creates the site of a field of a value.
    pub fn field(origin: &Origin, field: impl Into<Cow<'static, str>>) -> Site {
        Site { origin: origin.clone(), field: field.into(), below: String::new() }
    }

    /// Creates the site of a cache breakpoint on a value.
    pub fn cache(holder: &Origin, mark: &CacheMark) -> Site {
        match mark.origin.pointer() {
            Some(_) => Site::of(&mark.origin),
            None => Site::field(holder, "cache"),
        }
    }

    /// Extends the site with a pointer into the field.
    #[must_use]
    pub fn below(mut self, pointer: impl Into<String>) -> Site {
        self.below = pointer.into();
        self
    }

    /// Whether a dialect with these field paths has the field.
    pub fn exists(&self, field_paths: &[(&str, &str)]) -> bool {
        let field = self.field.as_ref();
        !OPTIONAL_FIELDS.contains(&field) || field_paths.iter().any(|(own, _)| *own == field)
    }

    /// Returns the JSON Pointer in the source document, by the field paths of the source dialect.
    pub fn pointer(&self, field_paths: &[(&str, &str)]) -> String {
        let (base, below) = (self.origin.pointer().unwrap_or_default(), self.below.as_str());
        // A name with a slash is a field of the document itself, for names that nested values have
        // as well: `id` of a response and of a call.
        let is_own = |name: &str| base.is_empty() && name.strip_prefix('/') == Some(&self.field);
        let own = field_paths.iter().find(|(canonical, _)| is_own(canonical));
        let listed =
            own.or_else(|| field_paths.iter().find(|(canonical, _)| *canonical == self.field));
        let pointer = match listed {
            // The value is a bare string or number.
            Some(&(_, "")) => [base, below].concat(),
            Some((_, wire)) => [base, "/", wire, below].concat(),
            None if self.field.is_empty() => [base, below].concat(),
            None => {
                let key = self.field.strip_prefix(EXTRA_PREFIX).unwrap_or(&self.field);
                [base, "/", &escape(key), below].concat()
            }
        };
        resolve_parents(pointer)
    }
}

/// Resolves each `..`, because a field may be a sibling of the object that is the origin of its
/// value.
fn resolve_parents(pointer: String) -> String {
    if !pointer.contains("/../") {
        return pointer;
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in pointer.split('/') {
        if step == ".." {
            steps.truncate(steps.len().saturating_sub(1).max(1));
        } else {
            steps.push(step);
        }
    }
    steps.join("/")
}

impl PartialEq for Site {
    fn eq(&self, other: &Site) -> bool {
        self.origin.pointer() == other.origin.pointer()
            && self.field == other.field
            && self.below == other.below
    }
}

impl Eq for Site {}

impl Loss {
    /// Creates a loss.
    pub fn new(
        severity: Severity,
        site: Site,
        what: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) -> Loss {
        Loss { site, what: what.into(), why: why.into(), severity }
    }

    /// Returns the JSON form, with its path by the field paths of the source dialect.
    pub fn to_json(&self, field_paths: &[(&str, &str)]) -> Object {
        toolwright_json::object! {
            "path": self.site.pointer(field_paths),
            "what": self.what.as_ref(),
            "why": self.why.as_ref(),
            "severity": self.severity.word(),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({})", self.site.pointer(&[]), self.what, self.why)
    }
}

/// Returns a list of losses as JSON.
pub fn report(losses: &[Loss], field_paths: &[(&str, &str)]) -> Json {
    Json::Array(losses.iter().map(|loss| Json::Object(loss.to_json(field_paths))).collect())
}
