//! What a parameter takes, by its schema and its name.

use std::collections::HashSet;

use toolwright_core::schema::expand;
use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::pieces::{Kind, has};
use super::vocabulary::words;

/// A parameter.
#[derive(Debug)]
pub(super) struct Parameter<'t> {
    /// Its name
    pub(super) name: &'t str,
    /// The words of its name
    pub(super) words: Vec<String>,
    /// Its description
    pub(super) about: Option<&'t str>,
    /// Whether it is required
    pub(super) is_required: bool,
    /// What it takes
    pub(super) takes: Takes<'t>,
}

/// What a parameter takes.
#[derive(Debug)]
pub(super) enum Takes<'t> {
    /// One of some values
    OneOf(&'t [Json]),
    /// A number
    Number,
    /// A text
    Text(&'static Role),
    /// A list of texts
    Texts,
    /// Data, which can only be passed as a handle
    Data,
}

/// What a text is.
#[derive(Debug)]
pub(super) struct Role {
    /// Words in names of such parameters
    names: &'static str,
    /// Words before it in a message
    pub(super) leads: &'static str,
    /// What it can be without them, in order of preference
    pub(super) kinds: &'static [Kind],
}

/// The roles, and that of all other texts. The first role whose names match decides.
static ROLES: [Role; 5] = [
    Role { names: "date", leads: "", kinds: &[Kind::Date] },
    Role { names: "origin", leads: "from 从 自", kinds: &[] },
    Role { names: "destination", leads: "to 到 去 飞往 飞到 前往 至", kinds: &[] },
    Role { names: "location", leads: "in at of for near 在", kinds: &[Kind::Name, Kind::Quoted] },
    Role { names: "path file directory", leads: "", kinds: &[Kind::Path, Kind::Quoted] },
];
static OTHER: Role = Role { names: "", leads: "", kinds: &[Kind::Quoted] };

/// Maximum number of parameters of a tool that are considered.
const MAX_PARAMETERS: usize = 64;

/// Maximum number of bytes of a name that are read.
pub(super) const READ_NAME: usize = 256;

/// Returns the parameters of a tool, the required ones first, since they choose first.
pub(super) fn parameters(tool: &Tool) -> Vec<Parameter<'_>> {
    let Some(root) = tool.parameters() else { return Vec::new() };
    let required = root.get("required").and_then(Json::as_array).unwrap_or_default();
    let required: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    let properties = root.get("properties").and_then(Json::as_object);
    let all = properties.into_iter().flat_map(Object::iter).take(MAX_PARAMETERS);
    let all = all.map(|(name, schema)| {
        let words = words(cut(name, READ_NAME));
        let about = schema.get("description").and_then(Json::as_str);
        let takes = takes(root, schema, &words);
        Parameter { name, words, about, is_required: required.contains(name), takes }
    });
    let mut parameters: Vec<Parameter<'_>> = all.collect();
    parameters.sort_by_key(|parameter| !parameter.is_required);
    parameters
}

/// What a schema takes, by the first form that it allows; a text if it does not say.
fn takes<'t>(root: &'t Json, schema: &'t Json, words: &[String]) -> Takes<'t> {
    let is_role = |role: &&Role| words.iter().any(|word| has(role.names, word));
    let role = ROLES.iter().find(is_role).unwrap_or(&OTHER);
    let form = |form: &'t Json| {
        if let Some(accepted) = form.get("enum").and_then(Json::as_array) {
            return Some(Takes::OneOf(accepted));
        }
        let listed = form.get("type")?;
        let mut types = listed.as_array().unwrap_or(std::slice::from_ref(listed)).iter();
        let first = types.find_map(|kind| kind.as_str().filter(|kind| *kind != "null"))?;
        let items = form.pointer("/items/type").and_then(Json::as_str);
        Some(match (first, items) {
            ("string", _) => Takes::Text(role),
            ("integer" | "number", _) => Takes::Number,
            ("array", Some("string")) => Takes::Texts,
            _ => Takes::Data,
        })
    };
    expand(root, vec![schema]).into_iter().find_map(form).unwrap_or(Takes::Text(role))
}
