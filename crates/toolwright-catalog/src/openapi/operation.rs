//! A function from an operation.

use std::collections::HashMap;

use toolwright_core::schema::{Check, SchemaError};
use toolwright_core::{Json, object};
use toolwright_json::Object;

use super::Refusal;
use super::body::{self, BodySource};
use super::document::{Document, Format, Node, Operation, server_url};
use super::name::{identifier, shorten};
use super::parameter::{self, Arguments};
use super::schema::{Converter, Direction, Limits};
use super::security::Schemes;
use crate::binding::{Binding, Method};
use crate::runtime::http::is_json;

/// Maximum size of the schema of a function's arguments.
const INPUT_BYTES: usize = 32 << 10;
/// Maximum size of the schema of a function's result, which only describes it.
const OUTPUT_BYTES: usize = 8 << 10;
/// Maximum size of the schema of a function's arguments in dialects without references.
const MAX_EXPANDED_BYTES: usize = 256 << 10;
/// Maximum number of definitions within each other.
const MAX_NESTED_DEFINITIONS: usize = 32;
const MAX_DESCRIPTION: usize = 1_000;

pub(super) struct ImportedFunction {
    /// The name, which another function may have as well
    pub(super) name: String,
    /// The function in the manifest, without its name
    pub(super) definition: Object,
    pub(super) is_shortened: bool,
}

/// Arguments and their request.
struct Input {
    schema: Json,
    files: Object,
    binding: Binding,
    is_shortened: bool,
}

pub(super) fn import<'d>(
    document: &'d Document<'d>,
    operation: &Operation<'d>,
    use_servers: bool,
    schemes: &mut Schemes<'d>,
) -> Result<ImportedFunction, Refusal> {
    let node = &operation.node;
    let mut input = read_input(document, operation)?;
    if use_servers {
        input.binding.base_url = own_server(operation)?;
    }
    let (security, secrets) = schemes.require(node)?;
    input.binding.security = security;
    let binding = input.binding.to_json();
    Binding::parse(&binding).map_err(|faults| {
        let problems: Vec<String> = faults.into_iter().map(|fault| fault.problem).collect();
        node.refuse(problems.join("; "))
    })?;

    let name = match node.text("operationId").filter(|id| !id.trim().is_empty()) {
        Some(id) => identifier(id),
        None => identifier(&format!("{}_{}", operation.word, operation.path)),
    };
    let effect = match operation.method {
        Method::Get | Method::Head => "read-only",
        Method::Put | Method::Delete => "idempotent",
        Method::Post | Method::Patch => "once",
    };
    let mut definition = object! {"name": name.as_str(), "description": describe(operation)};
    definition.insert("input_schema", input.schema);
    definition.insert_filled("files", input.files);
    definition.insert_some("output_schema", read_output(document, node));
    definition.insert("effect", effect);
    definition.insert("secrets", secrets);
    definition.insert("http", binding);
    Ok(ImportedFunction { name, definition, is_shortened: input.is_shortened })
}

fn describe(operation: &Operation<'_>) -> String {
    let node = &operation.node;
    let text = |key| node.text(key).map(str::trim).filter(|text| !text.is_empty());
    let mut description = match (text("summary"), text("description")) {
        (Some(summary), Some(description)) if description.starts_with(summary) => {
            description.to_owned()
        }
        (Some(summary), Some(description)) => format!("{summary}\n\n{description}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => {
            format!("{} {}", operation.word.to_uppercase(), operation.path)
        }
    };
    if node.flag("deprecated") == Some(true) {
        description = format!("Deprecated. {description}");
    }
    shorten(&description, MAX_DESCRIPTION)
}

/// The server of an operation or its path, if they name one.
fn own_server(operation: &Operation<'_>) -> Result<Option<String>, Refusal> {
    let servers = operation.node.get("servers").or_else(|| operation.item.get("servers"));
    let Some(server) = servers.and_then(|servers| servers.items().next()) else { return Ok(None) };
    let url = server_url(&server);
    url.map(Some)
        .map_err(|reason| server.refuse(format!("{reason}; give the address with --base-url")))
}

/// Converts parameters and body, with less and less detail until the schema is within the limits.
fn read_input<'d>(document: &'d Document<'d>, operation: &Operation<'d>) -> Result<Input, Refusal> {
    let parameters = parameter::collect(document, operation)?;
    let source = body::find(document, operation, &parameters)?;
    let mut limits = Limits::new(INPUT_BYTES);
    loop {
        Converter::check(document, &operation.node)?;
        let input = try_input(document, operation, &parameters, source.as_ref(), limits)?;
        let is_open = match input.map(|input| (Check::compile(&input.schema), input)) {
            Some((Ok(_), input)) if expanded_size(&input.schema) <= MAX_EXPANDED_BYTES => {
                return Ok(input);
            }
            // A pattern may use what our checker does not support.
            Some((Err(SchemaError::Invalid { .. }), _)) if limits.patterns => {
                limits.patterns = false;
                true
            }
            Some((Err(error @ SchemaError::Invalid { .. }), _)) => {
                return Err(operation.node.refuse(format!("its schema is not valid: {error}")));
            }
            Some(_) => limits.reduce_definitions(),
            None => limits.reduce_depth(),
        };
        if !is_open {
            return Err(operation.node.refuse("its schema is too large"));
        }
    }
}

/// The size of a schema with its references replaced by what they refer to, as some dialects need it. A reference
/// to an enclosing definition counts as nothing.
fn expanded_size(schema: &Json) -> usize {
    Expansion { root: schema, known: HashMap::new(), depth: 0 }.size(schema)
}

struct Expansion<'s> {
    root: &'s Json,
    /// The sizes of definitions
    known: HashMap<&'s str, usize>,
    /// Number of definitions that enclose this place
    depth: usize,
}

impl<'s> Expansion<'s> {
    fn size(&mut self, value: &'s Json) -> usize {
        match value {
            Json::Object(object) => {
                if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
                    return self.reference(reference);
                }
                let members = object.iter().filter(|(key, _)| *key != "$defs");
                let members =
                    members.map(|(key, value)| self.size(value).saturating_add(key.len() + 4));
                members.fold(2, usize::saturating_add)
            }
            Json::Array(items) => {
                items.iter().map(|item| self.size(item)).fold(2, usize::saturating_add)
            }
            Json::String(text) => text.len() + 2,
            _ => 5,
        }
    }

    fn reference(&mut self, reference: &'s str) -> usize {
        if let Some(size) = self.known.get(reference) {
            return *size;
        }
        if self.depth > MAX_NESTED_DEFINITIONS {
            return usize::MAX;
        }
        self.known.insert(reference, 0);
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        self.depth += 1;
        let size = target.map_or(0, |target| self.size(target));
        self.depth -= 1;
        self.known.insert(reference, size);
        size
    }
}

fn try_input<'d>(
    document: &'d Document<'d>,
    operation: &Operation<'d>,
    parameters: &[Node<'d>],
    source: Option<&BodySource<'d>>,
    limits: Limits,
) -> Result<Option<Input>, Refusal> {
    let mut converter = Converter::new(document, Direction::Request, limits);
    let mut arguments = Arguments::default();
    if source.is_some_and(|source| source.has_files(document)) {
        arguments.reserve("files");
    }
    let mut bound = Vec::new();
    for node in parameters {
        bound.extend(parameter::read(document, node, &mut converter, &mut arguments)?);
    }
    bound.extend(parameter::undeclared(operation.path, &bound, &mut arguments));
    let body = source.map(|body| body::read(document, body, &mut converter, &mut arguments));
    let mut binding = Binding::new(operation.method, operation.path);
    (binding.parameters, binding.body) = (bound, body.transpose()?.flatten());
    let Arguments { properties, required, files, .. } = arguments;
    let mut schema = object! {"type": "object", "properties": properties};
    schema.insert_filled("required", required);
    schema.insert("additionalProperties", false);
    let finished = converter.finish(schema)?;
    Ok(finished.map(|(schema, is_shortened)| Input { schema, files, binding, is_shortened }))
}

/// The schema of the first successful response, if it is JSON.
fn read_output<'d>(document: &'d Document<'d>, node: &Node<'d>) -> Option<Json> {
    let responses = node.get("responses")?;
    let successes = responses.members().filter(|(status, _)| status.starts_with('2'));
    let (_, response) = successes.min_by_key(|(status, _)| *status)?;
    // What only describes the result is no reason to refuse a function.
    let response = document.resolve(response).ok()?;
    let schema = if document.version == Format::Swagger {
        response.get("schema")
    } else {
        let mut types = response.members_of("content").into_iter();
        types.find(|(name, _)| is_json(name)).and_then(|(_, media)| media.get("schema"))
    };
    let schema = document.resolve(schema?).ok()?;
    let mut limits = Limits { patterns: false, ..Limits::new(OUTPUT_BYTES) };
    loop {
        let mut converter = Converter::new(document, Direction::Response, limits);
        let Ok(Json::Object(root)) = converter.convert(&schema) else { return None };
        let is_open = match converter.finish(root) {
            Ok(Some((schema, _))) if Check::compile(&schema).is_ok() => return Some(schema),
            Ok(Some(_)) => limits.reduce_definitions(),
            Ok(None) => limits.reduce_depth(),
            Err(_) => false,
        };
        if !is_open {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_definition_is_converted_few_times() {
        let properties = (0..2_000).map(|index| format!(r#""p{index}":{{"type":"string"}}"#));
        let large = properties.collect::<Vec<_>>().join(",");
        let body = r##"{"content":{"application/json":{"schema":{"type":"object",
            "properties":{"a":{"$ref":"#/components/schemas/Large"}}}}}}"##;
        let paths = (0..100).map(|index| {
            format!(
                r#""/{index}":{{"post":{{"requestBody":{body},"responses":{{"200":{body}}}}}}}"#
            )
        });
        let text = format!(
            r#"{{"openapi":"3.1.0","paths":{{{}}},
                "components":{{"schemas":{{"Large":{{"type":"object","properties":{{{large}}}}}}}}}}}"#,
            paths.collect::<Vec<_>>().join(",")
        );
        let root = Json::parse(&text).unwrap();
        let document = Document::open(&root).unwrap();
        let mut schemes = Schemes::new(&document, &[]);
        for operation in document.operations() {
            import(&document, &operation.unwrap(), true, &mut schemes).unwrap();
        }
        let converted = document.conversions.borrow().schemas;
        assert!(converted < 10_000, "{converted}");
        document.conversions.borrow_mut().schemas = usize::MAX;
        let operation = document.operations().next().unwrap().unwrap();
        let refused = import(&document, &operation, true, &mut schemes).err().unwrap();
        assert!(refused.reason.contains("schemas"), "{refused}");
    }
}
