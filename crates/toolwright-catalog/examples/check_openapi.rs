//! Imports OpenAPI documents and calls functions of them, for `cargo xtask openapi-report`, which passes their files
//! and starts a server that decodes requests.
//!
//! For each document it prints what was imported and what was refused. The manifest must be published, and the
//! schema of every function legal and bounded in every dialect. Then one function for each way to encode arguments is
//! called with generated arguments, which the server must find in the request. It panics at the first failure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed check ends the program, which prints a report"
)]

use std::collections::BTreeMap;
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use toolwright_catalog::binding::{Credential, Location, Method, Parameter, Style};
use toolwright_catalog::openapi::{ImportError, ImportOptions, import};
use toolwright_catalog::runtime::http::{HttpCall, HttpRuntime, InputFile};
use toolwright_catalog::{Catalog, Function, Manifest, Package, PublishOptions};
use toolwright_core::Dialect;
use toolwright_core::schema::Check;
use toolwright_core::{Json, Request, Tool};
use toolwright_dialects::dialect::{self, Target};
use toolwright_json::Object;
use toolwright_runtime::Context;
use toolwright_runtime::output::{Content, Piece};
use toolwright_transport::secret::SecretString;
use toolwright_transport::{AddressPolicy, HttpClient};

/// Maximum size of a schema in any dialect, as JSON.
const MAX_SCHEMA_BYTES: usize = 1 << 20;
/// Number of refusals that are printed.
const PRINTED: usize = 6;
const CONTENT: &str = "content of a file";

#[tokio::main]
async fn main() {
    let address = std::env::var("TOOLWRIGHT_ECHO").expect("`cargo xtask openapi-report` sets it");
    let data = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(data.path()).unwrap();
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let document = Json::parse_bytes(&bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
        println!("{file}");
        let start = Instant::now();
        let mut imported = import(&document, &ImportOptions::new());
        if let Err(error @ ImportError::BaseUrl { .. }) = &imported {
            println!("  {error}");
            imported =
                import(&document, &ImportOptions::new().with_base_url("https://api.example"));
        }
        let took = start.elapsed().as_millis();
        let imported = match imported {
            Ok(imported) => imported,
            Err(error) => {
                println!("  {error}");
                continue;
            }
        };
        let manifest = Manifest::parse(&imported.manifest);
        let manifest = manifest.unwrap_or_else(|faults| panic!("{file}: {}", faults[0]));
        let published = catalog.publish(Package::new(manifest.clone()), PublishOptions::default());
        published.unwrap_or_else(|error| panic!("{file}: {error}"));
        let (report, size) = (&imported.report, imported.manifest.compact().len());
        println!(
            "  OpenAPI {} as {} {}: {} KiB to {} KiB in {took} ms",
            report.format,
            manifest.id,
            manifest.version,
            bytes.len() >> 10,
            size >> 10,
        );
        println!(
            "  {} operations: {} functions, {} refused; {} with arguments that are described in part",
            report.operations,
            report.functions,
            report.refusals.len(),
            report.shortened,
        );
        for refusal in report.refusals.iter().take(PRINTED) {
            println!("  refused: {refusal}");
        }
        let largest = manifest.functions.iter().map(check_dialects).max();
        println!("  largest schema in a dialect: {} bytes", largest.unwrap_or_default());
        let local = import(&document, &ImportOptions::new().with_base_url(&address)).unwrap();
        let local = Manifest::parse(&local.manifest).unwrap();
        for (kind, function) in samples(&local) {
            call(&address, function).await;
            println!("  called: {kind}: {}", function.name);
        }
    }
}

/// Fits a function to every dialect. Returns the size of the largest schema.
fn check_dialects(function: &Function) -> usize {
    let codecs = Dialect::ALL.into_iter().filter_map(dialect::codec);
    let sizes = codecs.map(|codec| {
        let tool = Tool::function(&*function.name, function.input_schema.clone())
            .with_description(&*function.description);
        let request = Request { tools: vec![tool], ..Request::default() };
        let profile = codec.profile(&Target::default());
        let fitted = toolwright_dialects::fit::fit_made(request, &profile);
        let schema = fitted.request.tools[0].parameters().expect("a function has a schema");
        Check::compile(schema)
            .unwrap_or_else(|error| panic!("{} for {}: {error}", function.name, codec.dialect()));
        let size = schema.compact().len();
        assert!(size < MAX_SCHEMA_BYTES, "{} for {}: {size} bytes", function.name, codec.dialect());
        size
    });
    sizes.max().unwrap_or_default()
}

/// A function for each way to encode arguments. Functions that need an access token are left out, since their token
/// endpoint is not this server.
fn samples(manifest: &Manifest) -> BTreeMap<String, &Function> {
    let mut found = BTreeMap::new();
    for function in &manifest.functions {
        let binding = function.http.as_ref().expect("an imported function has a binding");
        let is_oauth = |own: &Credential| matches!(own, Credential::OAuth { .. });
        if binding.method == Method::Head || binding.security.iter().flatten().any(is_oauth) {
            continue;
        }
        let mut kinds: Vec<String> = Vec::new();
        kinds.extend(binding.parameters.iter().map(describe));
        if let Some(body) = &binding.body {
            let content = match (&body.argument, &body.file) {
                (Some(_), _) => "argument",
                (_, Some(_)) => "file",
                _ => "members",
            };
            kinds.push(format!("{} {content}", body.content_type));
            let styled = body.properties.iter().filter(|own| own.style.is_some());
            kinds.extend(styled.map(|own| format!("{} {}", body.content_type, describe(own))));
        }
        for kind in kinds {
            found.entry(kind).or_insert(function);
        }
    }
    found
}

fn describe(own: &Parameter) -> String {
    let place = format!("{:?}", own.location).to_lowercase();
    let style = own.style.map(|style| format!(" {style:?}")).unwrap_or_default();
    let explode = own.explode.map(|own| format!(" explode={own}")).unwrap_or_default();
    format!("{place}{style}{explode}")
}

/// Calls a function with generated arguments, and compares them with what the server decoded.
async fn call(address: &str, function: &Function) {
    let binding = function.http.as_ref().unwrap();
    let schema = &function.input_schema;
    let Json::Object(mut arguments) = value(schema, schema, 0) else { panic!("{}", function.name) };
    if binding.files().next().is_some() {
        arguments.remove("files");
    }
    let file = |key: &str| InputFile {
        key: key.to_owned(),
        name: "a.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        bytes: Bytes::from_static(CONTENT.as_bytes()),
    };
    let files: Vec<InputFile> = binding.files().map(file).collect();
    let policy = AddressPolicy::public().with_allowed("127.0.0.1").unwrap();
    let runtime = HttpRuntime::new(HttpClient::new("the API").unwrap().with_policy(policy));
    let call = HttpCall {
        base_url: address,
        headers: &[],
        function: &function.name,
        binding: Some(binding),
        arguments: &arguments,
        files: &files,
        secrets: &|name| Some(SecretString::from(format!("secret-{name}").as_str())),
        filled: &[],
        context: &Context::default(),
    };
    let output =
        runtime.call(call).await.unwrap_or_else(|error| panic!("{}: {error:?}", function.name));
    let [Piece { content: Content::Json(found), .. }] = &output.pieces[..] else {
        panic!("{output:?}")
    };
    let assert_found = |is_found: bool, own: &Parameter| {
        assert!(is_found, "{}: {} of {}", function.name, own.name, found.pretty());
    };
    for own in &binding.parameters {
        let Some(value) = arguments.get(own.argument()) else { continue };
        let is_found = match own.location {
            Location::Path => {
                let segments = found.get("path").and_then(Json::as_array).unwrap();
                segments.iter().any(|own| own.as_str().unwrap().contains(&text(value)))
            }
            Location::Query => has_pairs(found.get("query").unwrap(), own, value),
            Location::Header => {
                let name = own.name.to_ascii_lowercase();
                let header = found.get("headers").and_then(|own| own.get(&name));
                header.and_then(Json::as_str).is_some_and(|own| is_latin1(own, &text(value)))
            }
            Location::Cookie => {
                let cookie = found.get("cookies").and_then(|cookies| cookies.get(&own.name));
                cookie.and_then(Json::as_str) == Some(&text(value))
            }
            Location::Body => false,
        };
        assert_found(is_found || value.is_null() || !is_plain(value), own);
    }
    let Some(body) = &binding.body else { return };
    let sent = found.get("body").unwrap();
    if let Some(argument) = &body.argument {
        let value = arguments.get(argument).unwrap();
        let is_same = sent.get("json").is_some_and(|own| own.equals(value))
            || sent.get("text").and_then(Json::as_str) == Some(&text(value));
        assert!(is_same, "{}: {}", function.name, sent.pretty());
    }
    if body.file.is_some() {
        assert_eq!(sent.get("text").and_then(Json::as_str), Some(CONTENT), "{}", function.name);
    }
    for own in &body.properties {
        let value = arguments.get(own.argument()).cloned().unwrap_or_default();
        let parts = sent.get("parts").and_then(Json::as_array).unwrap_or_default();
        let mut parts =
            parts.iter().filter(|part| part.get("name").unwrap().as_str() == Some(&own.name));
        let is_found = if own.file.is_some() {
            parts.any(|part| {
                content(part) == CONTENT && part.get("filename").unwrap().as_str() == Some("a.txt")
            })
        } else if let Some(json) = sent.get("json") {
            json.get(&own.name).is_some_and(|own| own.equals(&value))
        } else if let Some(form) = sent.get("form") {
            has_pairs(form, own, &value)
        } else {
            parts.any(|part| content(part) == text(&value))
        };
        assert_found(
            is_found || value.is_null() || (!is_plain(&value) && sent.get("json").is_none()),
            own,
        );
    }
}

/// The content of a part.
fn content(part: &Json) -> String {
    let bytes = BASE64_STANDARD.decode(part.get("content").unwrap().as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Whether a value, and each item of an array that is written item by item, is among the pairs.
fn has_pairs(pairs: &Json, own: &Parameter, value: &Json) -> bool {
    let pairs = pairs.as_array().unwrap();
    let has = |name: &str, value: &Json| {
        let pair = Json::Array(vec![Json::from(name), Json::from(text(value))]);
        pairs.contains(&pair)
    };
    match value {
        Json::Array(items) if own.style == Some(Style::DeepObject) => {
            let mut items = items.iter().enumerate().filter(|(_, item)| is_plain(item));
            items.all(|(index, item)| has(&format!("{}[{index}]", own.name), item))
        }
        Json::Object(members) if own.style == Some(Style::DeepObject) => {
            let mut members =
                members.iter().filter(|(_, value)| is_plain(value) && !value.is_null());
            members.all(|(key, value)| has(&format!("{}[{key}]", own.name), value))
        }
        Json::Array(items) if own.explode != Some(false) => {
            items.iter().all(|item| has(&own.name, item))
        }
        value => has(&own.name, value),
    }
}

/// Whether a header was received that Python decodes as Latin-1.
fn is_latin1(received: &str, sent: &str) -> bool {
    let bytes: Option<Vec<u8>> = received.chars().map(|own| u8::try_from(own).ok()).collect();
    bytes.is_some_and(|bytes| bytes == sent.as_bytes())
}

fn is_plain(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}

/// A value of a schema: everything that is required, and optional members of the root.
fn value(schema: &Json, root: &Json, depth: usize) -> Json {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        return match root.pointer(&reference[1..]) {
            Some(schema) if depth < 8 => value(schema, root, depth + 1),
            _ => Json::Object(Object::new()),
        };
    }
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        return values[0].clone();
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some([first, ..]) = schema.get(union).and_then(Json::as_array) {
            return value(first, root, depth + 1);
        }
    }
    let kind = match schema.get("type") {
        Some(Json::Array(kinds)) => kinds[0].as_str(),
        kind => kind.and_then(Json::as_str),
    };
    match kind {
        Some("object") => {
            let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
            let members = schema.get("properties").and_then(Json::as_object);
            let members = members.into_iter().flat_map(Object::iter);
            let is_written =
                |name: &str| depth == 0 || required.iter().any(|own| own.as_str() == Some(name));
            let members = members.filter(|(name, _)| is_written(name) && depth < 8);
            let members =
                members.map(|(name, own)| (name.to_owned().into(), value(own, root, depth + 1)));
            Json::Object(members.collect())
        }
        Some("array") => {
            let item = schema.get("items").map(|own| value(own, root, depth + 1));
            Json::Array(vec![item.unwrap_or_else(|| Json::from("a b"))])
        }
        Some("integer") => Json::from(7_u32),
        Some("number") => Json::from(1.5),
        Some("boolean") => Json::from(true),
        Some("null") => Json::Null,
        _ => Json::from("ä b/c&d=e"),
    }
}
