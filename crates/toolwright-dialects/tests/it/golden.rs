//! The matrix: each chat dialect to each other, for a request, a response and a stream, as readable
//! files. `TOOLWRIGHT_GOLDEN=write cargo test` writes them again; review the difference.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolwright_core::json::Object;
use toolwright_core::loss::Severity;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::{FrameReader, Framing};
use toolwright_dialects::translate::{self, Options, Report, Translator};

use toolwright_testing::golden::compare;

use crate::fixtures;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// Compares with the file, or writes it.
fn check(kind: &str, from: Dialect, to: Dialect, suffix: &str, bytes: &[u8]) {
    compare(&root().join(kind).join(from.id()).join(format!("{to}{suffix}")), bytes);
}

pub(crate) fn context() -> ReplyContext {
    ReplyContext { created: 1_794_700_000, stream_usage: true, ..ReplyContext::default() }
}

/// Every pair, including each dialect with itself.
pub(crate) fn pairs() -> Vec<(&'static dyn ChatCodec, &'static dyn ChatCodec)> {
    let codecs = fixtures::codecs();
    codecs.iter().flat_map(|from| codecs.iter().map(|to| (*from, *to))).collect()
}

fn losses(report: &Report) -> Json {
    let lines = report.losses.iter();
    lines.map(|entry| format!("{} {entry}", entry.loss.severity.word())).collect::<Vec<_>>().into()
}

pub(crate) fn request_of(codec: &dyn ChatCodec) -> WireRequest {
    let record = fixtures::json(codec.dialect(), "synthetic/matrix_request.json");
    let path = record.get("path").and_then(Json::as_str).unwrap().to_owned();
    WireRequest { path, headers: vec![], body: record.get("body").cloned().unwrap() }
}

#[test]
fn matrix_of_requests() {
    let options = Options::default();
    let mut count = 0;
    for (from, to) in pairs() {
        let translated = Translator::new(from, to, &options).request(request_of(from)).unwrap();
        let document = object! {
            "path": translated.value.path.as_str(),
            "losses": losses(&translated.report),
            "body": translated.value.body,
        };
        let text = format!("{}\n", Json::Object(document).pretty());
        check("request", from.dialect(), to.dialect(), ".json", text.as_bytes());
        count += 1;
    }
    assert_eq!(count, 81);
}

#[test]
fn matrix_of_responses() {
    let (options, context) = (Options::default(), context());
    let mut count = 0;
    for (from, to) in pairs() {
        let wire = fixtures::json(from.dialect(), "synthetic/matrix_response.json");
        let translator = Translator::new(from, to, &options).with_reply_context(&context);
        let translated = translator.response(WireReply::ok(wire)).unwrap();
        let text = format!("{}\n", translated.value.body.pretty());
        check("response", from.dialect(), to.dialect(), ".json", text.as_bytes());
        count += 1;
    }
    assert_eq!(count, 81);
}

#[test]
fn matrix_of_streams() {
    let (options, context) = (Options::default(), context());
    let mut count = 0;
    for (from, to) in pairs() {
        let source = fixtures::matrix_stream(from.dialect());
        let translator = Translator::new(from, to, &options).with_reply_context(&context);
        let mut stream = translator.stream();
        let mut out = Vec::new();
        stream.push(&source, &mut out).unwrap();
        stream.finish(&mut out).unwrap();
        match to.framing() {
            Framing::Sse => check("stream", from.dialect(), to.dialect(), ".txt", &out),
            Framing::Ndjson => check("stream", from.dialect(), to.dialect(), ".ndjson", &out),
            Framing::Array => panic!("no dialect streams in an array unless it is asked to"),
            Framing::Aws => {
                check("stream", from.dialect(), to.dialect(), ".bin", &out);
                check(
                    "stream",
                    from.dialect(),
                    to.dialect(),
                    ".events.txt",
                    readable(&out).as_bytes(),
                );
            }
        }
        count += 1;
    }
    assert_eq!(count, 81);
}

/// The tools of the matrix's request, from every dialect to every other, including MCP as source
/// and target.
#[test]
fn matrix_of_tools() {
    let options = Options::default();
    let mut count = 0;
    for from in Dialect::ALL {
        for to in Dialect::ALL {
            let translated = translate::tools(
                dialect::tool_codec(from),
                dialect::tool_codec(to),
                tools_of(from),
                &options,
            )
            .unwrap();
            let text = format!("{}\n", translated.value.pretty());
            check("tools", from, to, ".json", text.as_bytes());
            count += 1;
        }
    }
    assert_eq!(count, 100);
}

fn tools_of(dialect: Dialect) -> Json {
    if dialect == Dialect::Mcp {
        let exchanges = fixtures::json(dialect, "accepted/mcp_modern.json");
        return exchanges.pointer("/tools~1list:/result").cloned().unwrap();
    }
    let request = fixtures::json(dialect, "synthetic/matrix_request.json");
    let tools = request.pointer("/body/tools").or(request.pointer("/body/toolConfig/tools"));
    tools.cloned().unwrap()
}

/// The losses between any two dialects, in one document: a table of counts, and each loss with the
/// pairs that have it.
#[test]
fn matrix_of_losses() {
    let (options, context) = (Options::default(), context());
    let mut text =
        "# Losses between dialects\n\nThe request and the response of the matrix, from each \
                    dialect (rows) to each (columns), as\n`major.minor.note`.\n"
            .to_owned();
    for kind in ["Requests", "Responses"] {
        let reports = pairs().into_iter().map(|(from, to)| {
            let translator = Translator::new(from, to, &options).with_reply_context(&context);
            let report = if kind == "Requests" {
                translator.request(request_of(from)).unwrap().report
            } else {
                let wire = fixtures::json(from.dialect(), "synthetic/matrix_response.json");
                translator.response(WireReply::ok(wire)).unwrap().report
            };
            (from.dialect(), to.dialect(), report)
        });
        write_losses(kind, &reports.collect::<Vec<_>>(), &mut text);
    }
    compare(&root().join("losses.md"), text.as_bytes());
}

fn write_losses(kind: &str, reports: &[(Dialect, Dialect, Report)], out: &mut String) {
    use std::fmt::Write as _;
    let dialects: Vec<&str> = fixtures::codecs().iter().map(|own| own.dialect().id()).collect();
    let _ = writeln!(out, "\n## {kind}\n\n| from \\ to | {} |", dialects.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(dialects.len()));
    let mut pairs: BTreeMap<_, BTreeMap<Dialect, Vec<&str>>> = BTreeMap::new();
    for row in reports.chunks(dialects.len()) {
        let _ = write!(out, "| {} |", row[0].0);
        for (from, to, report) in row {
            let count = |severity| {
                report.losses.iter().filter(|entry| entry.loss.severity == severity).count()
            };
            let [note, minor, major] = Severity::ALL.map(count);
            let _ = write!(out, " {major}.{minor}.{note} |");
            for entry in &report.losses {
                let key = (Reverse(entry.loss.severity), &entry.loss.what, &entry.loss.why);
                let targets = pairs.entry(key).or_default().entry(*from).or_default();
                if targets.last() != Some(&to.id()) {
                    targets.push(to.id());
                }
            }
        }
        out.push('\n');
    }
    out.push_str("\n| severity | what | why | between |\n|---|---|---|---|\n");
    for ((Reverse(severity), what, why), between) in pairs {
        let between: Vec<String> =
            between.iter().map(|(from, to)| format!("{from} → {}", to.join(", "))).collect();
        let cell = |text: &str| text.replace('|', "\\|");
        let (what, why) = (cell(what), cell(why));
        let _ = writeln!(out, "| {} | {what} | {why} | {} |", severity.word(), between.join("; "));
    }
}

/// An error of each vendor, for a client of each dialect.
#[test]
fn matrix_of_faults() {
    let options = Options::default();
    let mut count = 0;
    for (from, to) in pairs() {
        let reply = Translator::new(from, to, &options).fault(fault_of(from.dialect()));
        let headers: Object = reply
            .headers
            .iter()
            .map(|(name, value)| (name.clone().into(), value.as_str().into()))
            .collect();
        let status = u64::from(reply.status);
        let document = object! {"status": status, "headers": headers, "body": reply.body};
        let text = format!("{}\n", Json::Object(document).pretty());
        check("fault", from.dialect(), to.dialect(), ".json", text.as_bytes());
        count += 1;
    }
    assert_eq!(count, 81);
}

fn fault_of(dialect: Dialect) -> WireReply {
    let (home, file, status) = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Deepseek => {
            (Dialect::OpenaiChat, "openai_error_429", 429)
        }
        Dialect::Anthropic => (dialect, "anthropic_error_429", 429),
        Dialect::Bedrock => (dialect, "bedrock_error_429", 429),
        Dialect::Gemini => (dialect, "gemini_error_429", 429),
        Dialect::Mistral => (dialect, "mistral_error_429", 429),
        Dialect::Ollama => (dialect, "ollama_error_400", 400),
        Dialect::Cohere => (dialect, "cohere_error_400", 400),
        Dialect::Mcp => panic!("{dialect} has no recorded fault"),
    };
    let headers = match dialect {
        Dialect::Bedrock => vec![("x-amzn-errortype".to_owned(), "ThrottlingException".to_owned())],
        _ => vec![],
    };
    WireReply { status, headers, body: fixtures::json(home, &format!("accepted/{file}.json")) }
}

/// Formats AWS frames, one per line.
fn readable(bytes: &[u8]) -> String {
    let mut reader = FrameReader::new(Framing::Aws);
    let mut frames = Vec::new();
    reader.push(bytes, &mut frames).unwrap();
    reader.finish(&mut frames).unwrap();
    let mut out = String::new();
    for frame in &frames {
        out.push_str(frame.name.as_deref().unwrap_or_default());
        out.push(' ');
        out.push_str(&frame.data);
        out.push('\n');
    }
    out
}
