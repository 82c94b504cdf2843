//! Parameters outside of the body.

use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::Refusal;
use super::document::{Document, Format, Node, Operation};
use super::name::{self, Names, shorten};
use super::schema::{Converter, add_description, without_example};
use crate::binding::{Location, Parameter, Style, check_header, placeholders};
use crate::runtime::http::is_json;

/// Headers that are set by the body, the client or a security scheme.
const IGNORED_HEADERS: [&str; 4] = ["accept", "content-type", "authorization", "cookie"];

/// The arguments of a function, as far as they are known.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) properties: Object,
    pub(super) required: Vec<String>,
    /// Input files by their keys
    pub(super) files: Object,
    names: Names,
}

impl Arguments {
    /// Keeps a name from being used.
    pub(super) fn reserve(&mut self, name: &str) {
        self.names.add(name);
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name::argument(name))
    }

    /// Adds an argument. Returns its name, which ends with the place if the name is used already.
    pub(super) fn add(
        &mut self,
        name: &str,
        place: &str,
        mut schema: Json,
        is_required: bool,
    ) -> String {
        let own = self.name(name, place);
        without_example(name, &mut schema);
        if is_required {
            self.required.push(own.clone());
        }
        self.properties.insert(own.clone(), schema);
        own
    }

    fn name(&mut self, name: &str, place: &str) -> String {
        let mut own = name::argument(name);
        if self.names.contains(&own) {
            own = name::argument(&format!("{own}_{place}"));
        }
        self.names.add(&own)
    }

    /// Adds an input file, or a list of them. Returns its key.
    pub(super) fn add_file(
        &mut self,
        name: &str,
        node: &Node<'_>,
        is_list: bool,
        is_required: bool,
    ) -> String {
        let key = self.name(name, "file");
        let mut file = object! {"type": "array", "items": object! {"type": "InputFile"}};
        if !is_list {
            file.insert("maxItems", 1_u32);
        }
        if is_required {
            file.insert("minItems", 1_u32);
            file.insert("required", true);
        }
        file.insert_some("description", node.description());
        self.files.insert(key.clone(), file);
        key
    }
}

/// The parameters of an operation and of its path, resolved. Those of the operation replace others.
pub(super) fn collect<'d>(
    document: &Document<'d>,
    operation: &Operation<'d>,
) -> Result<Vec<Node<'d>>, Refusal> {
    let mut found: Vec<Node<'d>> = Vec::new();
    for owner in [&operation.item, &operation.node] {
        for parameter in owner.items_of("parameters") {
            let parameter = document.resolve(parameter)?;
            let key = |own: &Node<'d>| (own.text("name"), own.text("in"));
            match found.iter_mut().find(|own| key(own) == key(&parameter)) {
                Some(earlier) => *earlier = parameter,
                None => found.push(parameter),
            }
        }
    }
    Ok(found)
}

/// Reads a parameter, unless it belongs to the body or to the connection.
pub(super) fn read<'d>(
    document: &Document<'d>,
    node: &Node<'d>,
    converter: &mut Converter<'d>,
    arguments: &mut Arguments,
) -> Result<Option<Parameter>, Refusal> {
    let Some(name) = node.text("name").filter(|name| !name.is_empty()) else {
        return Err(node.refuse("the parameter has no name"));
    };
    let place = node.text("in").unwrap_or("nothing");
    if document.version == Format::Swagger && ["body", "formData"].contains(&place) {
        return Ok(None);
    }
    let location = Location::from_name(place).filter(|location| *location != Location::Body);
    let location = location.ok_or_else(|| {
        let place = shorten(place, 30);
        node.refuse(format!("the parameter '{name}' is in '{place}', which is not supported"))
    })?;
    if location == Location::Header {
        let lower = name.to_ascii_lowercase();
        if IGNORED_HEADERS.contains(&lower.as_str())
            || toolwright_transport::FRAMING.iter().any(|own| own == lower.as_str())
        {
            return Ok(None);
        }
        check_header(name).map_err(|why| node.refuse(format!("the header '{name}': {why}")))?;
    }
    let mut parameter = Parameter::new(name, location);
    let schema = if document.version == Format::Swagger {
        (parameter.style, parameter.explode) = collection(node, location);
        Some(node.clone())
    } else {
        (parameter.style, parameter.explode) = (style(node)?, node.flag("explode"));
        parameter.allow_reserved =
            location == Location::Query && node.flag("allowReserved") == Some(true);
        let content = node.get("content").and_then(|content| content.members().next());
        match content {
            Some((media, content)) => {
                parameter.content_type = Some(media.to_owned());
                content.get("schema").filter(|_| is_json(media))
            }
            None => node.get("schema"),
        }
    };
    let mut schema = match &schema {
        Some(schema) => converter.convert(schema)?,
        None => object! {"type": "string"}.into(),
    };
    add_description(&mut schema, node);
    let is_required = location == Location::Path || node.flag("required") == Some(true);
    let argument = arguments.add(name, place, schema, is_required);
    parameter.argument = (argument != name).then_some(argument);
    Ok(Some(parameter))
}

/// Parameters that only the path names: they are texts.
pub(super) fn undeclared(
    path: &str,
    bound: &[Parameter],
    arguments: &mut Arguments,
) -> Vec<Parameter> {
    let is_bound =
        |name: &str| bound.iter().any(|own| own.location == Location::Path && own.name == name);
    let mut found: Vec<Parameter> = Vec::new();
    for name in placeholders(path).filter(|name| !is_bound(name)) {
        if found.iter().all(|own| own.name != name) {
            let argument = arguments.add(name, "path", object! {"type": "string"}.into(), true);
            let mut parameter = Parameter::new(name, Location::Path);
            parameter.argument = (argument != name).then_some(argument);
            found.push(parameter);
        }
    }
    found
}

/// Reads a style of OpenAPI 3.
pub(super) fn style(node: &Node<'_>) -> Result<Option<Style>, Refusal> {
    let Some(style) = node.value.get("style") else { return Ok(None) };
    let known = style.as_str().and_then(Style::from_name).ok_or_else(|| {
        node.refuse(format!("the style {} is not known", shorten(&style.compact(), 30)))
    });
    known.map(Some)
}

/// Reads the format of an array of Swagger.
pub(super) fn collection(node: &Node<'_>, location: Location) -> (Option<Style>, Option<bool>) {
    if node.text("type") != Some("array") {
        return (None, None);
    }
    let joined = if matches!(location, Location::Path | Location::Header) {
        Style::Simple
    } else {
        Style::Form
    };
    match node.text("collectionFormat").unwrap_or("csv") {
        "multi" => (Some(Style::Form), Some(true)),
        "ssv" => (Some(Style::SpaceDelimited), Some(false)),
        "tsv" => (Some(Style::TabDelimited), Some(false)),
        "pipes" => (Some(Style::PipeDelimited), Some(false)),
        _ => (Some(joined), Some(false)),
    }
}
