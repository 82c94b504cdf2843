//! Manifests of prefabs: `prefab.json`, or the same members as TOML.
//!
//! A manifest is read whole, and every fault is reported with its JSON Pointer, so that its author
//! corrects all of them at once. `function`, `binding` and `runtime` read their parts, `vocabulary` turns parameters,
//! files and returns into JSON Schemas, `definition` is what clients receive of a function, and `toml` converts TOML.

mod binding;
mod definition;
mod function;
mod runtime;
#[cfg(test)]
mod tests;
mod toml;
mod vocabulary;

use std::collections::HashSet;
use std::fmt;

use semver::Version;
use toolwright_core::Json;
use toolwright_core::document::{self, DocumentFault, Faults, positions};
use toolwright_json::Object;

pub use function::{Example, FILES, FileDirection, FileParameter, Function};
pub(super) use runtime::is_web_url;
pub use runtime::{McpServer, Runtime};

use function::Surroundings;

/// A value of a manifest.
type Node<'j> = document::Node<'j, ManifestFault>;
/// An object of a manifest.
type Fields<'j> = document::Fields<'j, ManifestFault>;

/// Maximum number of functions of a prefab.
pub const MAX_FUNCTIONS: usize = 10_000;

/// Maximum number of tags of a prefab.
const MAX_TAGS: usize = 10;

/// One version of a prefab.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Manifest {
    /// The id of the prefab
    pub id: PrefabId,
    /// The version
    pub version: Version,
    /// The name for people
    pub name: String,
    /// What the prefab does
    pub description: String,
    /// Tags for filters, in any language
    pub tags: Vec<String>,
    /// The author, if the manifest names one
    pub author: Option<String>,
    /// The address of its repository
    pub repo_url: Option<String>,
    /// The functions, in the order of the manifest
    pub functions: Vec<Function>,
    /// How its functions run
    pub runtime: Runtime,
    /// The secrets that its functions need
    pub secrets: Vec<SecretNeed>,
    /// Who may see it, if the manifest says so
    pub visibility: Option<Visibility>,
    /// The manifest as it was written
    pub document: Json,
}

/// A secret that a prefab needs from the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretNeed {
    /// The name, as in the configuration
    pub name: String,
    /// What it is for
    pub description: Option<String>,
    /// How to obtain it
    pub instructions: Option<String>,
}

toolwright_json::words! {
    /// Who may see a prefab.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Visibility: name, from_name {
        /// Everyone, also without a key
        Public = "public",
        /// Clients with a key
        Private = "private",
    }
}

/// A fault of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", if .pointer.is_empty() { "the manifest" } else { .pointer })]
#[non_exhaustive]
pub struct ManifestFault {
    /// JSON Pointer into the manifest
    pub pointer: String,
    /// The problem and the remedy
    pub problem: String,
}

impl From<DocumentFault> for ManifestFault {
    fn from(fault: DocumentFault) -> ManifestFault {
        let hint = fault.suggestion.map(|name| format!("; did you mean '{name}'?"));
        ManifestFault::new(fault.pointer, fault.problem + &hint.unwrap_or_default())
    }
}

impl ManifestFault {
    /// Creates a fault.
    pub fn new(pointer: impl Into<String>, problem: impl Into<String>) -> ManifestFault {
        ManifestFault { pointer: pointer.into(), problem: problem.into() }
    }
}

/// The id of a prefab: kebab-case, 3 to 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrefabId(String);

impl PrefabId {
    /// Reads an id; none if it is not valid.
    pub fn parse(text: &str) -> Option<PrefabId> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let is_id = (3..=64).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.split('-').all(is_word);
        is_id.then(|| PrefabId(text.to_owned()))
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PrefabId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Manifest {
    /// Reads a manifest, and compiles the schemas of its functions. Returns all faults, in the order of
    /// the document.
    pub fn parse(document: &Json) -> Result<Manifest, Vec<ManifestFault>> {
        Manifest::parse_with_progress(document, |_| ())
    }

    /// Reads a manifest as [`parse`](Manifest::parse) does. `progress` is called with the number of functions that
    /// are read.
    pub fn parse_with_progress(
        document: &Json,
        mut progress: impl FnMut(usize),
    ) -> Result<Manifest, Vec<ManifestFault>> {
        read_document(document, |root| read(root, Form::Manifest, true, &mut progress))
    }

    /// Reads a manifest that is written as TOML. The pointers of faults are those of the same members in
    /// JSON.
    pub fn from_toml(text: &str) -> Result<Manifest, Vec<ManifestFault>> {
        Manifest::parse(&toml::parse(text).map_err(|fault| vec![fault])?)
    }

    /// Reads an entry of an index: a prefab that is listed without its functions, because they are
    /// published elsewhere.
    pub fn parse_listing(document: &Json) -> Result<Manifest, Vec<ManifestFault>> {
        read_document(document, |root| read(root, Form::Listing, false, &mut |_| ()))
    }

    /// Reads a manifest or an entry of an index that was checked when it was published.
    pub(super) fn parse_published(document: &Json) -> Result<Manifest, Vec<ManifestFault>> {
        let form = if document.get("runtime").is_some() { Form::Manifest } else { Form::Listing };
        read_document(document, |root| read(root, form, false, &mut |_| ()))
    }

    /// Returns a function by its name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

/// What a document is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A manifest
    Manifest,
    /// An entry of an index
    Listing,
}

/// Reads a document, and returns its content or all faults in the order of the document.
fn read_document<T>(
    document: &Json,
    read: impl FnOnce(Node<'_>) -> Option<T>,
) -> Result<T, Vec<ManifestFault>> {
    let faults = Faults::default();
    let root = Node::root(document, &faults);
    refuse_repeated_keys(&root);
    let content = read(root);
    let mut faults = faults.take();
    match content {
        Some(content) if faults.is_empty() => Ok(content),
        _ => {
            faults.sort_by_cached_key(|fault| positions(document, &fault.pointer));
            faults.dedup();
            Err(faults)
        }
    }
}

/// Reports keys that occur twice in an object, at any depth.
fn refuse_repeated_keys(node: &Node<'_>) {
    node.refuse_repeated_keys();
    let items = node.value.as_array().into_iter().flatten().enumerate();
    items.for_each(|(index, item)| refuse_repeated_keys(&node.below(&index.to_string(), item)));
    let members = node.value.as_object().into_iter().flat_map(Object::iter);
    members.for_each(|(key, value)| refuse_repeated_keys(&node.below(key, value)));
}

fn read(
    root: Node<'_>,
    form: Form,
    checks_schemas: bool,
    progress: &mut dyn FnMut(usize),
) -> Option<Manifest> {
    let document = root.value;
    let mut fields = Fields::of(root)?;
    fields.ignore(&["$schema"]);
    let id = fields.require("id").and_then(|node| {
        let rule = "an id has 3 to 64 characters: words of a-z and 0-9 that are joined by '-', and a \
                    letter first";
        node.text().and_then(|text| node.some_or(PrefabId::parse(text), rule))
    });
    let version = fields.require("version").and_then(|node| {
        let text = node.text()?;
        let problem = |error| format!("'{text}' is not a semantic version such as 1.2.3: {error}");
        Version::parse(text).map_err(|error| node.fault(problem(error))).ok()
    });
    let name = fields.require("name").and_then(|node| node.text_of(1, 200));
    let description = fields.require("description").and_then(|node| node.text_of(10, 500));
    let tags = fields.take("tags").and_then(|node| tags(&node)).unwrap_or_default();
    let author = fields.take("author").and_then(|node| node.text_of(1, 200));
    let repo_url = fields.take("repo_url").and_then(|node| {
        let url = node.text_of(1, 2000)?;
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        node.some_or(is_web.then_some(url), "this must be an http or https URL")
    });
    let visibility = fields
        .take("visibility")
        .and_then(|node| node.one_of(&Visibility::ALL.map(|value| (value.name(), value))));
    let (secrets, runtime, functions) = match form {
        Form::Listing => (Vec::new(), Some(Runtime::Listed), Some(Vec::new())),
        Form::Manifest => {
            let secrets =
                fields.take("secrets").and_then(|node| secrets(&node)).unwrap_or_default();
            let runtime = fields.require("runtime").and_then(|node| runtime::read(&node));
            let names: Vec<String> = secrets.iter().map(|need| need.name.clone()).collect();
            let around =
                Surroundings { runtime: runtime.as_ref(), secrets: &names, checks_schemas };
            let functions =
                fields.require("functions").and_then(|node| functions(&node, around, progress));
            (secrets, runtime, functions)
        }
    };
    fields.finish();
    Some(Manifest {
        id: id?,
        version: version?,
        name: name?,
        description: description?,
        tags,
        author,
        repo_url,
        functions: functions?,
        runtime: runtime?,
        secrets,
        visibility,
        document: document.clone(),
    })
}

fn tags(node: &Node<'_>) -> Option<Vec<String>> {
    let items = node.items()?;
    if items.len() > MAX_TAGS {
        node.fault(format!("{} tags, and at most {MAX_TAGS} are allowed", items.len()));
    }
    let mut tags: Vec<String> = Vec::with_capacity(items.len());
    for item in &items {
        let Some(tag) = item.text_of(1, 50) else { continue };
        if tags.contains(&tag) {
            item.fault("this tag is repeated");
        }
        if tag.contains(char::is_control) {
            item.fault("a tag is one line of text");
        }
        tags.push(tag);
    }
    Some(tags)
}

fn secrets(node: &Node<'_>) -> Option<Vec<SecretNeed>> {
    let mut needs: Vec<SecretNeed> = Vec::new();
    for item in node.items()? {
        let Some(mut fields) = Fields::of(item) else { continue };
        let name = fields.require("name").and_then(|node| {
            let name = node.text()?;
            let is_name = (1..=64).contains(&name.len())
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let rule = "the name of a secret has up to 64 letters, digits and underscores";
            let name = node.some_or(is_name.then(|| name.to_owned()), rule)?;
            if needs.iter().any(|need| need.name == name) {
                node.fault("this secret is declared twice");
            }
            Some(name)
        });
        let description = fields.take("description").and_then(|node| node.text_of(1, 2000));
        let instructions = fields.take("instructions").and_then(|node| node.text_of(1, 2000));
        fields.finish();
        needs.extend(name.map(|name| SecretNeed { name, description, instructions }));
    }
    Some(needs)
}

fn functions(
    node: &Node<'_>,
    around: Surroundings<'_>,
    progress: &mut dyn FnMut(usize),
) -> Option<Vec<Function>> {
    let items = node.items()?;
    if items.is_empty() {
        node.fault("a prefab has at least one function");
    }
    if items.len() > MAX_FUNCTIONS {
        node.fault(format!("{} functions, and at most {MAX_FUNCTIONS} are allowed", items.len()));
    }
    let mut names = HashSet::new();
    let mut functions = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        if let Some(name) = item.value.get("name").and_then(Json::as_str)
            && !names.insert(name)
        {
            item.below("name", &Json::Null).fault("another function has this name");
        }
        functions.extend(function::read(item, around));
        progress(index + 1);
    }
    Some(functions)
}
