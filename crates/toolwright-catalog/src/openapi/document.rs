//! A document: its version, its operations, its servers, and its references.

use std::cell::RefCell;
use std::collections::HashMap;

use toolwright_core::{Json, percent};
use toolwright_json::{Object, pointer};

use super::name::shorten;
use super::schema::{Direction, MAX_DESCRIPTION};
use super::{ImportError, Refusal};
use crate::binding::{Method, placeholders};
use crate::manifest::is_web_url;

/// Maximum number of references from one to the next.
const MAX_CHAIN: usize = 32;
const MAX_TAGS: usize = 10;

/// The versions whose rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Swagger 2.0
    Swagger,
    /// OpenAPI 3.0
    V30,
    /// OpenAPI 3.1, whose schemas are JSON Schemas
    V31,
}

pub(super) struct Document<'d> {
    pub(super) root: &'d Json,
    pub(super) version: Format,
    /// The version as it is written
    pub(super) format: String,
    /// What conversions of schemas have learned
    pub(super) conversions: RefCell<Conversions>,
}

/// What conversions of schemas have learned.
#[derive(Debug, Default)]
pub(super) struct Conversions {
    /// Number of schemas and values of enums that were converted
    pub(super) schemas: usize,
    /// The sizes of converted definitions
    pub(super) sizes: HashMap<ConversionKey, usize>,
}

/// A definition and how it was converted: its pointer, the direction, the depth, and whether it has patterns.
pub(super) type ConversionKey = (String, Direction, usize, bool);

/// A value of the document, with its pointer.
#[derive(Debug, Clone)]
pub(super) struct Node<'d> {
    pub(super) value: &'d Json,
    pub(super) pointer: String,
}

/// An operation, before it is read.
pub(super) struct Operation<'d> {
    pub(super) method: Method,
    /// The method as it is written
    pub(super) word: &'d str,
    pub(super) path: &'d str,
    pub(super) item: Node<'d>,
    pub(super) node: Node<'d>,
}

impl<'d> Node<'d> {
    /// A member, if it is present.
    pub(super) fn get(&self, key: &str) -> Option<Node<'d>> {
        self.value.get(key).map(|value| self.below(key, value))
    }

    pub(super) fn text(&self, key: &str) -> Option<&'d str> {
        self.value.get(key).and_then(Json::as_str)
    }

    /// The description, shortened, unless it is empty.
    pub(super) fn description(&self) -> Option<String> {
        let text = self.text("description").filter(|text| !text.trim().is_empty());
        text.map(|text| shorten(text, MAX_DESCRIPTION))
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.value.get(key).and_then(Json::as_bool)
    }

    pub(super) fn below(&self, key: &str, value: &'d Json) -> Node<'d> {
        Node { value, pointer: format!("{}/{}", self.pointer, pointer::escape(key)) }
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Node<'d>> {
        let items = self.value.as_array().unwrap_or_default().iter().enumerate();
        items.map(|(index, value)| self.below(&index.to_string(), value))
    }

    /// The members of an object, whose keys are names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'d str, Node<'d>)> {
        let members = self.value.as_object().into_iter().flat_map(Object::iter);
        members.map(|(key, value)| (key, self.below(key, value)))
    }

    /// The members of an object, without extensions.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'d str, Node<'d>)> {
        self.entries().filter(|(key, _)| !key.starts_with("x-"))
    }

    /// The members of an object that is a member.
    pub(super) fn members_of(&self, key: &str) -> Vec<(&'d str, Node<'d>)> {
        self.get(key).map(|own| own.members().collect()).unwrap_or_default()
    }

    /// The items of an array that is a member.
    pub(super) fn items_of(&self, key: &str) -> Vec<Node<'d>> {
        self.get(key).map(|own| own.items().collect()).unwrap_or_default()
    }

    pub(super) fn refuse(&self, reason: impl Into<String>) -> Refusal {
        Refusal::new(&self.pointer, reason)
    }
}

impl<'d> Document<'d> {
    pub(super) fn open(root: &'d Json) -> Result<Document<'d>, ImportError> {
        let declared = root.get("openapi").or_else(|| root.get("swagger"));
        let declared = declared.ok_or(ImportError::NotOpenApi)?;
        let format = declared.as_str().map_or_else(|| declared.compact(), str::to_owned);
        let version = match format.as_str() {
            "2.0" => Format::Swagger,
            own if own == "3.0" || own.starts_with("3.0.") => Format::V30,
            own if own == "3.1" || own.starts_with("3.1.") => Format::V31,
            _ => return Err(ImportError::Version { version: shorten(&format, 20) }),
        };
        Ok(Document { root, version, format, conversions: RefCell::default() })
    }

    fn root_node(&self) -> Node<'d> {
        Node { value: self.root, pointer: String::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'d>> {
        self.root_node().get(key)
    }

    /// Follows the references of a value, if it is one.
    pub(super) fn resolve(&self, node: Node<'d>) -> Result<Node<'d>, Refusal> {
        let mut here = node.clone();
        for _ in 0..MAX_CHAIN {
            match here.text("$ref") {
                None => return Ok(here),
                Some(reference) => here = self.find(reference, &here)?,
            }
        }
        Err(node.refuse("the reference refers to itself"))
    }

    /// Returns the value that a reference names.
    pub(super) fn find(&self, reference: &str, at: &Node<'d>) -> Result<Node<'d>, Refusal> {
        let shown = shorten(reference, 200);
        let Some(fragment) = reference.strip_prefix('#') else {
            let reason = format!(
                "'{shown}' refers to another document, and nothing is fetched; bundle them into one"
            );
            return Err(at.refuse(reason));
        };
        let pointer = percent::decode(fragment);
        match self.root.pointer(&pointer) {
            Some(value) => Ok(Node { value, pointer }),
            None => Err(at.refuse(format!("'{shown}' is not in the document"))),
        }
    }

    /// The operations, in the order of the document.
    pub(super) fn operations(&self) -> impl Iterator<Item = Result<Operation<'d>, Refusal>> {
        self.root_node().members_of("paths").into_iter().flat_map(|(path, item)| {
            let item = match self.resolve(item) {
                Ok(item) => item,
                Err(refusal) => return vec![Err(refusal)],
            };
            let operations = item.members().filter(|(_, node)| node.value.as_object().is_some());
            let operations = operations.filter_map(|(word, node)| {
                let is_named = |method: &Method| method.name().to_ascii_lowercase() == word;
                match Method::ALL.into_iter().find(is_named) {
                    Some(method) => {
                        Some(Ok(Operation { method, word, path, item: item.clone(), node }))
                    }
                    None if ["options", "trace"].contains(&word) => Some(Err(
                        node.refuse(format!("{word} describes a server and is not called"))
                    )),
                    None => None,
                }
            });
            operations.collect()
        })
    }

    /// The names of the tags, as many as a prefab may have.
    pub(super) fn tags(&self) -> Vec<String> {
        let mut tags: Vec<String> = Vec::new();
        for tag in self.root_node().items_of("tags") {
            let name = tag.text("name").map(|name| shorten(name, 50)).unwrap_or_default();
            if !name.is_empty() && !tags.contains(&name) && tags.len() < MAX_TAGS {
                tags.push(name);
            }
        }
        tags
    }

    /// The address of the document's server.
    pub(super) fn base_url(&self) -> Result<String, ImportError> {
        let problem = |reason: String| ImportError::BaseUrl { reason };
        if self.version == Format::Swagger {
            let root = self.root_node();
            let Some(host) = root.text("host") else {
                return Err(problem("the document has no host".to_owned()));
            };
            let schemes = root.items_of("schemes");
            let schemes: Vec<&str> = schemes.iter().filter_map(|own| own.value.as_str()).collect();
            let scheme = if schemes.contains(&"http") && !schemes.contains(&"https") {
                "http"
            } else {
                "https"
            };
            let path = root.text("basePath").unwrap_or_default().trim_end_matches('/');
            return absolute(&format!("{scheme}://{host}{path}")).map_err(problem);
        }
        let server = self.get("servers").and_then(|servers| servers.items().next());
        let server = server.ok_or_else(|| problem("the document names no server".to_owned()))?;
        server_url(&server).map_err(problem)
    }
}

/// The address of a server object.
pub(super) fn server_url(server: &Node<'_>) -> Result<String, String> {
    let url = server.text("url").unwrap_or_default();
    let variables: Vec<&str> = placeholders(url).collect();
    if variables.is_empty() {
        return absolute(url);
    }
    let filled = variables.iter().fold(url.to_owned(), |url, name| {
        let default =
            server.value.pointer(&format!("/variables/{}/default", pointer::escape(name)));
        let default = default.and_then(Json::as_str).unwrap_or("…");
        url.replace(&format!("{{{name}}}"), default)
    });
    let (url, names) = (shorten(url, 200), variables.join(", "));
    Err(format!("the server {url} has variables ({names}), for example {}", shorten(&filled, 200)))
}

fn absolute(url: &str) -> Result<String, String> {
    let shown = shorten(url, 200);
    let uri = fluent_uri::Uri::parse(url)
        .map_err(|_| format!("the server '{shown}' is a relative URL or none"))?;
    if is_web_url(&uri) && uri.query().is_none() {
        Ok(url.trim_end_matches('/').to_owned())
    } else {
        Err(format!("the server '{shown}' is not an http or https URL without user name and query"))
    }
}
