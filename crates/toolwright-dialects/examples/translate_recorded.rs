//! Translates a directory of recorded vendor traffic into every dialect, for `cargo xtask
//! recorded`.
//!
//! Usage: `translate_recorded DIR OUT [--only DIALECT.KIND] [--to DIALECT]`. For each line of
//! `DIR/<dialect>.<kind>.jsonl` and each target, it writes one JSON line to `OUT`: the translated
//! document with its report, or the error. It does not judge the result.

#![allow(clippy::print_stderr, reason = "a command reports errors to its terminal")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use toolwright_core::json::{Json, Key, Object};
use toolwright_core::object;
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::Framing;
use toolwright_dialects::translate::{
    Options, Report, StreamReader, TranslateError, Translated, Translator,
};

/// Status assigned to recorded error bodies, because the recordings do not contain it.
const FAULT_STATUS: u16 = 400;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Plan::parse(&arguments).and_then(|plan| plan.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The options of a run.
struct Plan {
    directory: PathBuf,
    out: PathBuf,
    /// Limits the run to a dialect, or to a dialect and a kind
    only: Option<String>,
    /// Limits the run to one target
    to: Option<String>,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Plan, String> {
        let [directory, out, options @ ..] = arguments else {
            return Err("usage: translate_recorded DIR OUT [--only X] [--to X]".into());
        };
        let mut plan = Plan { directory: directory.into(), out: out.into(), only: None, to: None };
        for pair in options.chunks(2) {
            match pair {
                [name, value] if name == "--only" => plan.only = Some(value.clone()),
                [name, value] if name == "--to" => plan.to = Some(value.clone()),
                _ => return Err(format!("unknown option {}", pair[0])),
            }
        }
        Ok(plan)
    }

    fn run(&self) -> Result<(), String> {
        let files = self.files()?;
        let targets = self.targets()?;
        let mut out = fs::File::create(&self.out).map(std::io::BufWriter::new).map_err(shown)?;
        let halves = files.len().div_ceil(parallelism());
        let texts = std::thread::scope(|scope| {
            let translate = |files: &[Recording]| -> Vec<String> {
                files.iter().flat_map(|file| file.translate(&targets)).collect()
            };
            let threads: Vec<_> = files
                .chunks(halves.max(1))
                .map(|some| scope.spawn(move || translate(some)))
                .collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for text in texts {
            for line in text.map_err(|_| "a translation panicked".to_owned())? {
                writeln!(out, "{line}").map_err(shown)?;
            }
        }
        out.flush().map_err(shown)
    }

    /// Returns the target dialects.
    fn targets(&self) -> Result<Vec<(&'static str, &'static dyn ChatCodec)>, String> {
        let every = Dialect::ALL.into_iter();
        let every = every.filter_map(|dialect| Some((dialect.id(), dialect::codec(dialect)?)));
        let chosen = |id: &str| self.to.as_deref().is_none_or(|wanted| wanted == id);
        let targets: Vec<_> = every.filter(|(id, _)| chosen(id)).collect();
        if targets.is_empty() { Err("--to: no such dialect".into()) } else { Ok(targets) }
    }

    /// Reads every selected recording of the directory.
    fn files(&self) -> Result<Vec<Recording>, String> {
        let named = |error| format!("{}: {error}", self.directory.display());
        let entries = fs::read_dir(&self.directory).map_err(named)?;
        let entries: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = entries.map_err(named)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let wanted = self.only.as_deref().is_none_or(|only| {
                stem == only || stem.strip_prefix(only).is_some_and(|rest| rest.starts_with('.'))
            });
            if wanted {
                files.push(Recording::read(&path, stem)?);
            }
        }
        if files.is_empty() {
            let which = self.only.as_deref().unwrap_or("<dialect>.<kind>");
            return Err(format!("{}: no {which}.jsonl", self.directory.display()));
        }
        // Sorted by size and distributed round-robin, because one large chunk would keep one thread
        // busy while the others idle.
        Ok(dealt(files, parallelism()))
    }
}

/// Orders files so that equal chunks of them take about the same time.
fn dealt(mut files: Vec<Recording>, hands: usize) -> Vec<Recording> {
    files.sort_by_key(|file| std::cmp::Reverse(file.size));
    let mut piles: Vec<Vec<Recording>> = (0..hands.max(1)).map(|_| Vec::new()).collect();
    for (index, file) in files.into_iter().enumerate() {
        piles[index % hands.max(1)].push(file);
    }
    piles.into_iter().flatten().collect()
}

fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn shown(error: std::io::Error) -> String {
    error.to_string()
}

/// The kind of the documents in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Response,
    Fault,
    Stream(Option<Framing>),
}

/// One file: documents of one dialect or vendor preset, and of one kind.
struct Recording {
    name: String,
    id: String,
    codec: &'static dyn ChatCodec,
    kind: Kind,
    size: usize,
    documents: Vec<Document>,
}

/// A line of a file.
enum Document {
    Body(Json),
    Bytes(Vec<u8>),
}

impl Recording {
    fn read(path: &Path, name: String) -> Result<Recording, String> {
        let place = path.display();
        let (id, kind) = name.rsplit_once('.').ok_or(format!("{place}: no kind in its name"))?;
        let codec =
            dialect::lookup(id).ok_or(format!("{place}: no dialect or vendor is named '{id}'"))?;
        let kind = match kind {
            "request" => Kind::Request,
            "response" => Kind::Response,
            "fault" => Kind::Fault,
            "stream" => Kind::Stream(None),
            "streamarray" => Kind::Stream(Some(Framing::Array)),
            other => return Err(format!("{place}: '{other}' is not a kind of document")),
        };
        let text = fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
        let mut documents = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let document = Document::read(line, kind);
            documents.push(document.map_err(|why| format!("{place}:{}: {why}", index + 1))?);
        }
        let id = id.to_owned();
        Ok(Recording { name, id, codec, kind, size: text.len(), documents })
    }

    /// Translates every document to every target, one line each, starting with its own dialect.
    fn translate(&self, targets: &[(&'static str, &'static dyn ChatCodec)]) -> Vec<String> {
        let own = (self.id.as_str(), self.codec);
        let others = targets.iter().filter(|(id, _)| *id != self.id);
        let targets: Vec<_> = std::iter::once(own).chain(others.copied()).collect();
        let mut lines = Vec::new();
        for (index, document) in self.documents.iter().enumerate() {
            for (id, codec) in &targets {
                let mut line = object! {
                    "file": self.name.as_str(),
                    "line": (index + 1) as u64,
                    "to": *id,
                };
                self.one(document, *codec, &mut line);
                lines.push(Json::Object(line).compact());
            }
        }
        lines
    }

    /// Translates one document to one target.
    fn one(&self, document: &Document, to: &dyn ChatCodec, line: &mut Object) {
        let (options, context) = (Options::default(), context());
        let translator = Translator::new(self.codec, to, &options).with_reply_context(&context);
        let result = match (self.kind, document) {
            (Kind::Request, Document::Body(body)) => self.request(wire_request(body), to, line),
            (Kind::Response, Document::Body(body)) => translator
                .response(WireReply::ok(body.clone()))
                .map(|Translated { value, report }| {
                    reply(value, line);
                    line.insert("report", report.to_json());
                }),
            (_, Document::Body(body)) => {
                let wire =
                    WireReply { status: FAULT_STATUS, headers: Vec::new(), body: body.clone() };
                reply(translator.fault(wire), line);
                Ok(())
            }
            (kind, Document::Bytes(bytes)) => stream(self.codec, translator, kind, bytes, line),
        };
        if let Err(error) = result {
            line.insert("error", error.to_string());
        }
    }

    /// Translates a request to the target, and the result back.
    fn request(
        &self,
        wire: WireRequest,
        to: &dyn ChatCodec,
        line: &mut Object,
    ) -> Result<(), TranslateError> {
        let lenient = Options::default();
        let strict = Options { strict: true, ..Options::default() };
        let passed = Translator::new(self.codec, to, &strict).request(wire.clone());
        line.insert("strict", passed.is_ok());
        let Translated { value, report } = match passed {
            Err(TranslateError::Refused(_)) => {
                Translator::new(self.codec, to, &lenient).request(wire)?
            }
            passed => passed?,
        };
        line.insert("path", value.path.as_str());
        line.insert("body", value.body.clone());
        line.insert("report", report.to_json());
        if !dialect::is_same(self.codec, to) {
            let back = Translator::new(to, self.codec, &lenient).with_aliases(&report.aliases);
            let back = match back.request(value) {
                Ok(Translated { value, report }) => object! {
                    "path": value.path,
                    "body": value.body,
                    "report": report.to_json(),
                },
                Err(error) => object! {"error": error.to_string()},
            };
            line.insert("back", back);
        }
        Ok(())
    }
}

/// A context in which streams report usage and the output is the same in every run.
fn context() -> ReplyContext {
    ReplyContext { created: 1_794_700_000, stream_usage: true, ..ReplyContext::default() }
}

fn reply(value: WireReply, line: &mut Object) {
    let headers =
        value.headers.into_iter().map(|(name, value)| (Key::from(name), Json::from(value)));
    line.insert("status", u64::from(value.status));
    line.insert("headers", headers.collect::<Object>());
    line.insert("body", value.body);
}

/// Translates a stream. Its bytes are written as text, one character for each byte.
fn stream(
    from: &dyn ChatCodec,
    translator: Translator<'_>,
    kind: Kind,
    bytes: &[u8],
    line: &mut Object,
) -> Result<(), TranslateError> {
    let mut reader = StreamReader::new(from);
    if let Kind::Stream(Some(framing)) = kind {
        reader = reader.framed(framing);
    }
    let (mut events, mut out, mut stream) = (Vec::new(), Vec::new(), translator.stream());
    let read = reader.push(bytes, &mut events).and_then(|()| reader.finish(&mut events));
    stream.write(events, &mut out);
    let report: Report = stream.report();
    line.insert("latin1", out.into_iter().map(char::from).collect::<String>());
    line.insert("report", report.to_json());
    read
}

fn wire_request(document: &Json) -> WireRequest {
    match (document.get("path").and_then(Json::as_str), document.get("body")) {
        (Some(path), Some(body)) => {
            WireRequest { path: path.to_owned(), headers: Vec::new(), body: body.clone() }
        }
        _ => WireRequest { path: String::new(), headers: Vec::new(), body: document.clone() },
    }
}

impl Document {
    fn read(line: &str, kind: Kind) -> Result<Document, String> {
        let line = Json::parse(line).map_err(|error| error.to_string())?;
        let text = |key| line.get(key).and_then(Json::as_str);
        match kind {
            Kind::Stream(_) => match (text("text"), text("base64")) {
                (Some(text), _) => Ok(Document::Bytes(text.as_bytes().to_vec())),
                (None, Some(text)) => base64(text).map(Document::Bytes).ok_or("bad base64".into()),
                (None, None) => Err("a stream has no member 'text' or 'base64'".into()),
            },
            _ => line.get("body").cloned().map(Document::Body).ok_or("no member 'body'".into()),
        }
    }
}

/// Decodes base64 in the standard alphabet.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut bits) = (0_u32, 0);
    for letter in text.trim_end_matches('=').chars() {
        group = group << 6 | u32::try_from(ALPHABET.find(letter)?).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(group >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}
