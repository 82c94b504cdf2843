//! Bodies of requests: their members become arguments, where that is possible.

use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::document::{Document, Format, Node, Operation};
use super::parameter::{Arguments, collection, style};
use super::schema::{Converter, add_description};
use super::{Refusal, name};
use crate::binding::{Body, Location, Parameter};
use crate::runtime::http::{is_form, is_json, is_multipart, is_text};

/// The argument of a body whose members are no arguments.
const BODY: &str = "body";

/// Keywords of an object whose members can be arguments; another one constrains the object as a whole.
const FLAT: [&str; 11] = [
    "type",
    "properties",
    "required",
    "title",
    "description",
    "example",
    "examples",
    "default",
    "externalDocs",
    "xml",
    "additionalProperties",
];

/// A body, before it is read.
pub(super) struct BodySource<'d> {
    node: Node<'d>,
    content_type: String,
    is_required: bool,
    content: Content<'d>,
}

enum Content<'d> {
    /// A schema, if there is one, and the encodings of its properties
    Schema(Option<Node<'d>>, Option<Node<'d>>),
    /// The form parameters of Swagger
    Form(Vec<Node<'d>>),
}

/// A property of a form or an object.
struct Property<'d> {
    name: &'d str,
    schema: Node<'d>,
    is_required: bool,
    encoding: Option<Node<'d>>,
}

/// Finds the body of an operation, and chooses its media type.
pub(super) fn find<'d>(
    document: &Document<'d>,
    operation: &Operation<'d>,
    parameters: &[Node<'d>],
) -> Result<Option<BodySource<'d>>, Refusal> {
    if document.version == Format::Swagger {
        return Ok(find_swagger(document, operation, parameters));
    }
    let Some(node) = operation.node.get("requestBody") else { return Ok(None) };
    let node = document.resolve(node)?;
    let content = node.members_of("content");
    let Some((media, chosen)) = content.into_iter().min_by_key(|(media, _)| rank(media)) else {
        return Ok(None);
    };
    let content_type = concrete(media);
    let is_required = node.flag("required") == Some(true);
    let content = Content::Schema(chosen.get("schema"), chosen.get("encoding"));
    Ok(Some(BodySource { node, content_type, is_required, content }))
}

fn find_swagger<'d>(
    document: &Document<'d>,
    operation: &Operation<'d>,
    parameters: &[Node<'d>],
) -> Option<BodySource<'d>> {
    let consumes = operation.node.get("consumes").or_else(|| document.get("consumes"));
    let media = consumes.map(|own| own.items().collect::<Vec<_>>()).unwrap_or_default();
    let media: Vec<&str> = media.iter().filter_map(|own| own.value.as_str()).collect();
    if let Some(node) = parameters.iter().find(|own| own.text("in") == Some("body")) {
        let media = media.into_iter().min_by_key(|media| rank(media)).unwrap_or("application/json");
        return Some(BodySource {
            node: node.clone(),
            content_type: concrete(media),
            is_required: node.flag("required") == Some(true),
            content: Content::Schema(node.get("schema"), None),
        });
    }
    let fields: Vec<Node<'d>> =
        parameters.iter().filter(|own| own.text("in") == Some("formData")).cloned().collect();
    let first = fields.first()?.clone();
    let has_files = fields.iter().any(|field| field.text("type") == Some("file"));
    let is_multipart = has_files
        || (media.contains(&"multipart/form-data") && !media.iter().any(|own| is_form(own)));
    let content_type =
        if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let is_required = fields.iter().any(|field| field.flag("required") == Some(true));
    let content = Content::Form(fields);
    Some(BodySource { node: first, content_type: content_type.to_owned(), is_required, content })
}

/// The order in which media types are preferred.
fn rank(media: &str) -> usize {
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media.as_str() {
        "application/json" => 0,
        "application/merge-patch+json" => 1,
        own if is_json(own) => 2,
        own if is_form(own) => 3,
        own if is_multipart(own) => 4,
        "*/*" => 5,
        own if is_text(own) => 6,
        _ => 7,
    }
}

/// A media type for a range.
fn concrete(media: &str) -> String {
    match media.trim() {
        "*/*" | "application/*" => "application/json".to_owned(),
        "text/*" => "text/plain".to_owned(),
        "multipart/*" => "multipart/form-data".to_owned(),
        media => media.to_owned(),
    }
}

/// Whether the value of a schema is a file, and whether it is a list of them.
fn file<'d>(document: &Document<'d>, schema: &Node<'d>) -> Option<bool> {
    let own = document.resolve(schema.clone()).ok()?;
    let is_binary = match own.text("type") {
        Some("file") => true,
        Some("string") => own.text("format") == Some("binary"),
        None if document.version == Format::V31 => {
            // A schema that says nothing about the value is binary.
            let is_silent = own.value.as_object().is_some_and(|own| {
                own.keys().all(|key| ["description", "title", "contentMediaType"].contains(&key))
            });
            let media = own.text("contentMediaType");
            is_silent && media.is_none_or(|media| !is_text(media) && !is_json(media))
        }
        _ => false,
    };
    if is_binary {
        return Some(false);
    }
    let items = own.get("items").filter(|_| own.text("type") == Some("array"))?;
    let items = document.resolve(items).ok()?;
    (items.text("type") == Some("string") && items.text("format") == Some("binary")).then_some(true)
}

impl<'d> BodySource<'d> {
    fn is_form(&self) -> bool {
        is_form(&self.content_type) || is_multipart(&self.content_type)
    }

    /// Whether the body is one file.
    fn is_file(&self) -> bool {
        !self.is_form() && !is_json(&self.content_type) && !is_text(&self.content_type)
    }

    /// Whether it has input files.
    pub(super) fn has_files(&self, document: &Document<'d>) -> bool {
        let is_file = |own: &Property<'d>| file(document, &own.schema).is_some();
        self.is_file()
            || (is_multipart(&self.content_type)
                && self.properties(document).is_some_and(|own| own.iter().any(is_file)))
    }

    /// The members of the body, if each of them can be an argument.
    fn properties(&self, document: &Document<'d>) -> Option<Vec<Property<'d>>> {
        let (schema, encodings) = match &self.content {
            Content::Form(fields) => {
                let property = |field: &Node<'d>| {
                    let is_required = field.flag("required") == Some(true);
                    let (schema, encoding) = (field.clone(), Some(field.clone()));
                    Some(Property { name: field.text("name")?, schema, is_required, encoding })
                };
                return Some(fields.iter().filter_map(property).collect());
            }
            Content::Schema(schema, encodings) => (schema.clone()?, encodings),
        };
        if !self.is_form() && !is_json(&self.content_type) {
            return None;
        }
        let schema = document.resolve(schema).ok()?;
        let object = schema.value.as_object()?;
        let properties = schema.get("properties").filter(|own| own.value.as_object().is_some())?;
        let required = schema.value.get("required").and_then(Json::as_array).unwrap_or_default();
        if !self.is_form() {
            let is_flat = object.keys().all(|key| FLAT.contains(&key) || key.starts_with("x-"));
            let is_closed = schema
                .value
                .get("additionalProperties")
                .is_none_or(|own| own.as_bool() == Some(false));
            let is_object = schema.text("type").is_none_or(|own| own == "object");
            // An optional body with required members is there as a whole or not at all.
            let is_free = self.is_required || required.is_empty();
            let is_empty = properties.value.as_object().is_none_or(Object::is_empty);
            if !(is_flat && is_closed && is_object && is_free) || is_empty {
                return None;
            }
        }
        let property = |(name, schema): (&'d str, Node<'d>)| Property {
            name,
            schema,
            is_required: self.is_required && required.iter().any(|own| own.as_str() == Some(name)),
            encoding: encodings.as_ref().and_then(|own| own.get(name)),
        };
        Some(properties.entries().map(property).collect())
    }
}

/// Reads a body, and adds its arguments and files.
pub(super) fn read<'d>(
    document: &Document<'d>,
    source: &BodySource<'d>,
    converter: &mut Converter<'d>,
    arguments: &mut Arguments,
) -> Result<Option<Body>, Refusal> {
    let mut body = Body::new(&source.content_type);
    body.required = source.is_required;
    if source.is_file() {
        body.file = Some(arguments.add_file(BODY, &source.node, false, source.is_required));
        return Ok(Some(body));
    }
    let properties = source.properties(document).filter(|own| {
        let mut names = name::Names::default();
        let mut is_unique = |own: &Property<'d>| {
            let argument = name::argument(own.name);
            names.add(&argument) == argument && !arguments.contains(own.name)
        };
        source.is_form() || own.iter().all(&mut is_unique)
    });
    let Some(properties) = properties else {
        let mut schema = match &source.content {
            Content::Schema(Some(schema), _) if is_json(&source.content_type) || source.is_form() => {
                converter.convert(schema)?
            }
            _ if is_json(&source.content_type) => Json::Object(Object::new()),
            _ => object! {"type": "string", "description": format!("The content, as {}", source.content_type)}.into(),
        };
        add_description(&mut schema, &source.node);
        body.argument = Some(arguments.add(BODY, "content", schema, source.is_required));
        return Ok(Some(body));
    };
    if properties.is_empty() && !source.is_required {
        return Ok(None);
    }
    for property in properties {
        if converter.is_omitted(&property.schema) {
            continue;
        }
        let mut own = Parameter::new(property.name, Location::Body);
        if source.is_form() {
            encode(document, source, &property, &mut own)?;
        }
        let file = file(document, &property.schema);
        if let Some(is_list) = file.filter(|_| is_multipart(&source.content_type)) {
            let Property { name, schema, is_required, .. } = &property;
            own.file = Some(arguments.add_file(name, schema, is_list, *is_required));
        } else {
            let schema = converter.convert(&property.schema)?;
            let argument = arguments.add(property.name, BODY, schema, property.is_required);
            own.argument = (argument != property.name).then_some(argument);
        }
        body.properties.push(own);
    }
    Ok(Some(body))
}

/// Reads how a property of a form is written.
fn encode<'d>(
    document: &Document<'d>,
    source: &BodySource<'d>,
    property: &Property<'d>,
    own: &mut Parameter,
) -> Result<(), Refusal> {
    let Some(encoding) = &property.encoding else { return Ok(()) };
    if document.version == Format::Swagger {
        (own.style, own.explode) = collection(encoding, Location::Body);
        return Ok(());
    }
    own.style = style(encoding)?;
    own.explode = encoding.flag("explode");
    own.allow_reserved =
        encoding.flag("allowReserved") == Some(true) && is_form(&source.content_type);
    own.content_type = encoding.text("contentType").map(str::to_owned);
    Ok(())
}
