//! Imports OpenAPI documents and calls functions of them, for `cargo xtask openapi-report`, which passes their files.
//!
//! For each document it prints what was imported and what was refused. Every function must be valid in a manifest,
//! its schema legal and bounded in every dialect. Then one function for each way to encode arguments is called with
//! generated arguments, and a server that records requests must receive them. It panics at the first failure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed check ends the program, which prints a report"
)]

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use toolwright::catalog::openapi::{ImportError, ImportOptions, import};
use toolwright::catalog::runtime::http::{
    HttpCall, HttpRuntime, InputFile, Location, Parameter, Style,
};
use toolwright::catalog::{Function, Manifest};
use toolwright::json::Object;
use toolwright::schema::Check;
use toolwright::transport::{AddressPolicy, HttpClient};
use toolwright::{Json, Request, SecretString, Tool};
use toolwright_core::Dialect;
use toolwright_core::dialect::Target;

/// Maximum size of a tool in any dialect, as JSON.
const MAX_TOOL_BYTES: usize = 1 << 20;
/// Refusals and reasons that are printed.
const PRINTED: usize = 6;

#[tokio::main]
async fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let is_quiet = files.len() > 20;
    let mut totals = BTreeMap::<String, usize>::new();
    for file in &files {
        let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let document = Json::parse_bytes(&bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
        let start = Instant::now();
        let (address, mut requests) = echo().await;
        let mut imported = import(&document, &ImportOptions::new());
        let needs_url = matches!(imported, Err(ImportError::BaseUrl { .. }));
        if let Err(error @ ImportError::BaseUrl { .. }) = &imported {
            println!("{file}: {error}");
            let options = ImportOptions::new().with_base_url("https://api.example");
            imported = import(&document, &options);
        }
        let imported = match imported {
            Ok(imported) => imported,
            Err(error) => {
                println!("{file}: {error}");
                *totals.entry("documents refused".to_owned()).or_default() += 1;
                continue;
            }
        };
        let (took, report) = (start.elapsed(), &imported.report);
        let manifest = Manifest::parse(&imported.manifest);
        let manifest = manifest.unwrap_or_else(|faults| panic!("{file}: {}", faults[0]));
        let size = imported.manifest.compact().len();
        println!(
            "{file}: {} {} (OpenAPI {}): {} of {} operations, {} refused, {} shortened; {} KiB to {} KiB in {} ms{}",
            manifest.id,
            manifest.version,
            report.format,
            report.functions,
            report.operations,
            report.refusals.len(),
            report.shortened,
            bytes.len() >> 10,
            size >> 10,
            took.as_millis(),
            if needs_url { ", with --base-url" } else { "" },
        );
        for refusal in report.refusals.iter().take(PRINTED) {
            println!("  refused: {refusal}");
        }
        for (what, count) in [
            ("documents", 1),
            ("operations", report.operations),
            ("functions", report.functions),
            ("refused", report.refusals.len()),
            ("shortened", report.shortened),
        ] {
            *totals.entry(what.to_owned()).or_default() += count;
        }
        let largest = manifest.functions.iter().map(check_dialects).max();
        println!("  largest schema in a dialect: {} bytes", largest.unwrap_or_default());
        let options = ImportOptions::new().with_base_url(&address);
        let local = import(&document, &options).unwrap();
        let local = Manifest::parse(&local.manifest).unwrap();
        for (kind, function) in samples(&local) {
            let sent = call(&address, function, &mut requests).await;
            if !is_quiet {
                println!("  {kind}: {} {sent}", function.name);
            }
        }
    }
    println!("{totals:?}");
}

/// Fits a function to every dialect. Returns the size of the largest schema.
fn check_dialects(function: &Function) -> usize {
    let codecs = Dialect::ALL.into_iter().filter_map(Dialect::codec);
    let sizes = codecs.map(|codec| {
        let tool = Tool::function(&*function.name, function.input_schema.clone())
            .with_description(&*function.description);
        let request = Request { tools: vec![tool], ..Request::default() };
        let profile = codec.profile(&Target::default());
        let fitted = toolwright_core::fit::fit_made(request, &profile);
        let schema = fitted.request.tools[0].parameters().expect("a function has a schema");
        Check::compile(schema)
            .unwrap_or_else(|error| panic!("{} for {}: {error}", function.name, codec.dialect()));
        let size = schema.compact().len();
        assert!(size < MAX_TOOL_BYTES, "{} for {}: {size} bytes", function.name, codec.dialect());
        size
    });
    sizes.max().unwrap_or_default()
}

/// A function for each way to encode arguments.
fn samples(manifest: &Manifest) -> BTreeMap<String, &Function> {
    let mut found = BTreeMap::new();
    for function in &manifest.functions {
        let binding = function.http.as_ref().unwrap();
        let parameter = |own: &Parameter, place: &str| {
            let style = own.style.map(|style| Json::from_serialize(&style).unwrap().compact());
            let style =
                style.map(|style| format!(" {}", style.trim_matches('"'))).unwrap_or_default();
            let explode = own.explode.map(|own| format!(" explode={own}")).unwrap_or_default();
            format!("{place}{style}{explode}")
        };
        let mut kinds: Vec<String> = Vec::new();
        for own in &binding.parameters {
            let place = Json::from_serialize(&own.location).unwrap().compact();
            kinds.push(parameter(own, place.trim_matches('"')));
        }
        if let Some(body) = &binding.body {
            kinds.push(match (&body.argument, &body.file) {
                (Some(_), _) => format!("body {}", body.content_type),
                (_, Some(_)) => format!("file {}", body.content_type),
                _ => format!("members {}", body.content_type),
            });
            for own in body.properties.iter().filter(|own| own.style.is_some()) {
                kinds.push(parameter(own, "member"));
            }
        }
        for kind in kinds {
            found.entry(kind).or_insert(function);
        }
    }
    found
}

/// Calls a function with generated arguments, and compares them with what the server received.
async fn call(
    address: &str,
    function: &Function,
    requests: &mut UnboundedReceiver<(String, Vec<u8>)>,
) -> String {
    let binding = function.http.as_ref().unwrap();
    let schema = &function.input_schema;
    let Json::Object(mut arguments) = value(schema, schema, 0) else { panic!("{}", function.name) };
    arguments.remove("files");
    let files: Vec<InputFile> = binding.files().map(file).collect();
    let runtime = HttpRuntime::new(client());
    let secrets = |name: &str| Some(SecretString::from(format!("secret-{name}").as_str()));
    let call = HttpCall {
        base_url: address,
        headers: &[],
        function: &function.name,
        binding: Some(binding),
        arguments: &arguments,
        files: &files,
        secrets: &secrets,
    };
    // A token endpoint of the document is not called.
    let uses_oauth = binding.security.iter().flatten().any(|own| own.secrets().len() == 2);
    if uses_oauth && !binding.to_json().compact().contains("\"basic\"") {
        return "(needs a token)".to_owned();
    }
    let answer = runtime.call(call).await;
    answer.unwrap_or_else(|error| panic!("{}: {error:?} {}", function.name, arguments.compact()));
    let (head, body) = requests.recv().await.unwrap();
    let line = head.lines().next().unwrap();
    let query = line.split(' ').nth(1).unwrap().split_once('?').unwrap_or_default().1;
    for own in &binding.parameters {
        let Some(Json::String(text)) = arguments.get(own.argument()) else { continue };
        let is_received = match own.location {
            Location::Path => line.contains(&percent(text)),
            Location::Query => decoded(query).any(|pair| pair == (own.name.clone(), text.clone())),
            Location::Header => head.to_ascii_lowercase().contains(&format!(
                "{}: {}",
                own.name.to_ascii_lowercase(),
                text.to_ascii_lowercase()
            )),
            _ => head.contains(&percent(text)),
        };
        let is_styled = own.content_type.is_some() || own.style == Some(Style::DeepObject);
        assert!(is_received || is_styled, "{}: {} of {head}", function.name, own.name);
    }
    if let Some(own) = &binding.body {
        let text = String::from_utf8_lossy(&body).into_owned();
        for property in own.properties.iter().filter(|own| own.file.is_none()) {
            let Some(Json::String(sent)) = arguments.get(property.argument()) else { continue };
            let is_form = own.content_type.contains("urlencoded");
            let is_received = if is_form {
                decoded(&text).any(|pair| pair.1 == *sent)
            } else {
                text.contains(&property.name) && text.contains(sent.as_str())
            };
            assert!(is_received, "{}: {} of {text}", function.name, property.name);
        }
    }
    let shown: String = String::from_utf8_lossy(&body).chars().take(60).collect();
    format!("{} {}", line.chars().take(100).collect::<String>(), shown.replace("\r\n", " "))
}

fn percent(text: &str) -> String {
    toolwright_core::percent::encode(text)
}

fn decoded(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    pairs.into_iter()
}

fn client() -> HttpClient {
    let policy = AddressPolicy::public().with_allowed("127.0.0.1").unwrap();
    HttpClient::new("the API").unwrap().with_policy(policy)
}

fn file(key: &str) -> InputFile {
    InputFile {
        key: key.to_owned(),
        name: "a.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        bytes: Bytes::from_static(b"content of a file"),
    }
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

/// A server that records requests.
async fn echo() -> (String, UnboundedReceiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let (mut bytes, mut more) = (Vec::new(), [0; 8192]);
                loop {
                    let count = stream.read(&mut more).await.unwrap_or(0);
                    bytes.extend_from_slice(&more[..count]);
                    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
                    let Some(end) = end.map(|end| end + 4) else {
                        if count == 0 {
                            return;
                        }
                        continue;
                    };
                    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                    let length = head.lines().find_map(|own| own.strip_prefix("content-length: "));
                    let length: usize = length.map_or(0, |own| own.parse().unwrap());
                    if bytes.len() < end + length {
                        continue;
                    }
                    let body = bytes[end..end + length].to_vec();
                    bytes.drain(..end + length);
                    sender.send((head, body)).unwrap();
                    let reply = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    stream.write_all(reply).await.unwrap();
                }
            });
        }
    });
    (address, receiver)
}
