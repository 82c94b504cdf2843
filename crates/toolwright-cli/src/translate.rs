//! `toolwright translate`: translates a document between dialects and reports losses.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use toolwright_core::Json;
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, ToolCodec, WireReply, WireRequest,
};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::translate::{self, Options, Report, TranslateError, Translator};

use super::exit::{self, Failure, Result};
use super::input;

/// Number of bytes of a stream that are read at a time.
const CHUNK: usize = 16 * 1024;

/// Arguments of `translate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Dialects: openai-chat openai-responses anthropic bedrock deepseek gemini ollama mistral cohere,
mcp (tools only), and the names of OpenAI-compatible vendors (moonshot, zhipu, qwen, groq, …).

A request is a body, or {\"path\": …, \"body\": …} where a vendor keeps the model in the path.
Losses go to stderr, a line each, and in full to the report.

Example:
  echo '[{\"name\": \"now\", \"description\": \"The time\", \"parameters\": {}}]' |
    toolwright translate --from openai-chat --to anthropic --kind tools")]
pub(crate) struct Translate {
    /// Read this dialect
    #[arg(long, value_name = "DIALECT")]
    from: String,
    /// Write this dialect
    #[arg(long, value_name = "DIALECT")]
    to: String,
    /// Read a document of this kind
    #[arg(long, value_enum)]
    kind: Kind,
    /// Refuse (exit 3) instead of losing anything
    #[arg(long)]
    strict: bool,
    /// Write losses, additions and aliases to a file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Name this model in the output
    #[arg(long)]
    model: Option<String>,
    /// Write for this API version of the target (anthropic: 2023-06-01, 2026-10-21)
    #[arg(long, value_name = "DATE")]
    api_version: Option<String>,
    /// Undo the aliases of this report, which translating the request wrote
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Read this file [default: stdin]
    file: Option<PathBuf>,
}

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A list of tools
    Tools,
    /// A request
    Request,
    /// A whole response
    Response,
    /// A streamed response
    Stream,
}

impl Translate {
    /// Runs the translation.
    pub(crate) fn run(self) -> Result<()> {
        let options = Options {
            strict: self.strict,
            model: self.model.clone(),
            version: self.api_version.clone(),
            ..Options::default()
        };
        let report = match self.kind {
            Kind::Tools => self.tools(&options),
            kind => self.chat(kind, &options),
        };
        self.conclude(&report?)
    }

    /// Converts an error. The losses of a refused translation are written first.
    fn failed(&self, error: TranslateError) -> Failure {
        if let TranslateError::Refused(report) = &error
            && let Err(failure) = self.conclude(report)
        {
            return failure;
        }
        error.into()
    }

    fn read_aliases(&self) -> Result<Aliases> {
        let Some(path) = &self.aliases else { return Ok(Aliases::default()) };
        let document = input::json(Some(path))?;
        let aliases = document.get("aliases").unwrap_or(&document);
        Aliases::from_json(aliases)
            .ok_or_else(|| Failure::failed(format!("{}: no aliases", path.display())))
    }

    fn tools(&self, options: &Options) -> Result<Report> {
        let (from, to) = (tool_codec("--from", &self.from)?, tool_codec("--to", &self.to)?);
        let document = input::json(self.file.as_deref())?;
        let translated = translate::tools(from, to, document, options);
        let translated = translated.map_err(|error| self.failed(error))?;
        exit::print_json(translated.value)?;
        Ok(translated.report)
    }

    fn chat(&self, kind: Kind, options: &Options) -> Result<Report> {
        let (from, to) = (chat_codec("--from", &self.from)?, chat_codec("--to", &self.to)?);
        let aliases = self.read_aliases()?;
        let context = ReplyContext { stream_usage: true, ..ReplyContext::default() };
        let translator =
            Translator::new(from, to, options).with_aliases(&aliases).with_reply_context(&context);
        match kind {
            Kind::Request => {
                let wire = wire_request(input::json(self.file.as_deref())?);
                let translated = translator.request(wire).map_err(|error| self.failed(error))?;
                let WireRequest { path, body, .. } = translated.value;
                let has_model = body.get("model").is_some();
                exit::print_json(body)?;
                if !has_model && !path.is_empty() {
                    say_path(&path);
                }
                Ok(translated.report)
            }
            Kind::Response => {
                let document = input::json(self.file.as_deref())?;
                let translated = translator.response(WireReply::ok(document));
                let translated = translated.map_err(|error| self.failed(error))?;
                exit::print_json(translated.value.body)?;
                Ok(translated.report)
            }
            Kind::Stream | Kind::Tools => self.stream(translator, options.strict),
        }
    }

    /// Translates a stream as it arrives. With `--strict` nothing is written before the end.
    fn stream(&self, translator: Translator<'_>, strict: bool) -> Result<Report> {
        let mut source = input::open(self.file.as_deref())?;
        let mut stream = translator.stream();
        let mut stdout = io::stdout().lock();
        let (mut chunk, mut ready) = (vec![0; CHUNK], Vec::new());
        loop {
            let count = source.read(&mut chunk).map_err(exit::io("input"))?;
            if count == 0 {
                break;
            }
            let pushed = stream.push(&chunk[..count], &mut ready);
            if !strict {
                stdout.write_all(&ready).map_err(exit::io("stdout"))?;
                ready.clear();
            }
            pushed.map_err(|error| self.failed(error))?;
        }
        // A fault of the vendor ends a stream too.
        let was_over = stream.summary().is_over();
        let finished = stream.finish(&mut ready);
        if finished.is_err() && !strict {
            stdout.write_all(&ready).map_err(exit::io("stdout"))?;
        }
        finished.map_err(|error| self.failed(error))?;
        let report = stream.report();
        let is_whole = was_over || stream.summary().is_complete();
        if !is_whole && strict {
            ready.clear();
        }
        if is_whole && strict && report.is_refused() {
            return Err(self.failed(TranslateError::Refused(Box::new(report))));
        }
        stdout.write_all(&ready).map_err(exit::io("stdout"))?;
        if !is_whole {
            let what = format!("the input is not a whole stream of {}", self.from);
            let hint = "it is empty, cut off, or of another dialect";
            return Err(Failure::failed(what).with_hint(hint));
        }
        Ok(report)
    }

    /// Writes the report, and each loss to stderr.
    #[allow(clippy::print_stderr)]
    fn conclude(&self, report: &Report) -> Result<()> {
        for entry in &report.losses {
            eprintln!("{}: {entry}", entry.loss.severity.word());
        }
        if let Some(path) = &self.report {
            let text = format!("{}\n", report.to_json().pretty());
            std::fs::write(path, text).map_err(exit::io(&path.display().to_string()))?;
        }
        Ok(())
    }
}

fn wire_request(document: Json) -> WireRequest {
    let path = document.get("path").and_then(Json::as_str).map(str::to_owned);
    match (document, path) {
        (Json::Object(mut object), Some(path)) if object.contains_key("body") => {
            let body = object.remove("body").unwrap_or_default();
            WireRequest { path, headers: vec![], body }
        }
        (body, _) => WireRequest { path: String::new(), headers: vec![], body },
    }
}

fn chat_codec(option: &str, id: &str) -> Result<&'static dyn ChatCodec> {
    if id == Dialect::Mcp.id() {
        return Err(Failure::usage(format!("{option}: mcp has tools only, no conversations"))
            .with_hint("use --kind tools"));
    }
    dialect::lookup(id).ok_or_else(|| unknown(option, id))
}

fn tool_codec(option: &str, id: &str) -> Result<&'static dyn ToolCodec> {
    match Dialect::from_id(id) {
        Some(dialect) => Ok(dialect::tool_codec(dialect)),
        None => dialect::lookup(id).map(|codec| codec as _).ok_or_else(|| unknown(option, id)),
    }
}

fn unknown(option: &str, id: &str) -> Failure {
    let known: Vec<&str> = Dialect::ALL.into_iter().map(Dialect::id).collect();
    Failure::usage(format!("{option}: no dialect or vendor is named '{id}'"))
        .with_hint(format!("dialects: {}", known.join(" ")))
}

/// Prints the path, which carries model and stream flag for some vendors.
#[allow(clippy::print_stderr)]
fn say_path(path: &str) {
    eprintln!("path: {path}");
}
