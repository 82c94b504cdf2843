//! The whole way from one dialect to another: the only file in which two dialects meet.
//!
//! ```text
//! request:  decode(from) → fit(profile of to) → encode(to)
//! response: decode(from) → restore(aliases, profile of to) → encode(to)
//! stream:   frames → events(from) → restore → events → frames(to)
//! ```

mod report;
mod stream;
mod vendor;

use std::borrow::Cow;
use std::sync::Arc;

use toolwright_core::event::think;
use toolwright_core::profile::Overrides;
use toolwright_core::{Call, Request, Response};
use toolwright_json::{Json, Path};

pub use report::{Entry, Report};
pub use stream::{StreamReader, StreamTranslator};
pub use vendor::{VendorCodec, VendorStreamDecoder};

use crate::codec::{
    ChatCodec, DecodeError, DecodeErrorKind, ReplyContext, Result, Target, ToolCodec, WireReply,
    WireRequest,
};
use crate::dialect::is_same;
use crate::fit::restore::{self, Restorer};
use crate::fit::{Aliases, Refusal, fit};
use crate::frame::FrameError;
use crate::reasoning_cache::{self, CachedReasoning};

/// Options for a translation, beyond its source and target dialects: what the caller chooses.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Fail if the translation has a major or minor loss
    pub strict: bool,
    /// Run `fit` even if source and target are the same dialect, because the request was edited after
    /// decoding
    pub changed: bool,
    /// The model to request, instead of the one in the request
    pub model: Option<String>,
    /// Whether a leading `<think>…</think>` of a reply is reasoning; `None` is the default of the
    /// source's vendor
    pub think_tags: Option<bool>,
    /// The target's API version, if rules depend on it
    pub version: Option<String>,
    /// Overrides configured for the upstream
    pub overrides: Overrides,
}

/// A translated value, and what is to be said about it.
#[derive(Debug, Clone)]
pub struct Translated<T> {
    /// The value in the target's dialect
    pub value: T,
    /// Losses, additions and aliases
    pub report: Report,
}

/// Why there is no translation.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// The source is not what its dialect says
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The bytes of a stream are damaged
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// Something would be lost, and that was forbidden
    #[error("refused: {} would be lost, first {}", .0.count(), .0.first())]
    Refused(Box<Report>),
    /// The request depends on something that the target lacks, or a part of it is malformed
    #[error("{pointer}: {what}")]
    Unsupported {
        /// The JSON Pointer in the source document
        pointer: String,
        /// What is wrong, and what to do
        what: String,
    },
}

/// One direction between two dialects.
#[must_use]
#[derive(Clone, Copy)]
pub struct Translator<'c> {
    from: &'c dyn ChatCodec,
    to: &'c dyn ChatCodec,
    options: &'c Options,
    aliases: Option<&'c Aliases>,
    reply_context: Option<&'c ReplyContext>,
}

impl<'c> Translator<'c> {
    /// From one dialect to another.
    pub fn new(
        from: &'c dyn ChatCodec,
        to: &'c dyn ChatCodec,
        options: &'c Options,
    ) -> Translator<'c> {
        Translator { from, to, options, aliases: None, reply_context: None }
    }

    /// Sets the aliases of the fitted request, which are undone on the way back.
    pub fn with_aliases(self, aliases: &'c Aliases) -> Translator<'c> {
        Translator { aliases: Some(aliases), ..self }
    }

    /// Sets the facts about the request that encoding its reply depends on.
    pub fn with_reply_context(self, context: &'c ReplyContext) -> Translator<'c> {
        Translator { reply_context: Some(context), ..self }
    }

    fn reply_context(&self) -> Cow<'c, ReplyContext> {
        self.reply_context.map(Cow::Borrowed).unwrap_or_default()
    }

    /// Whether there is nothing to change but what was asked for.
    fn is_same(&self) -> bool {
        let options = self.options;
        let as_read = !options.changed && options.version.is_none() && options.overrides.is_empty();
        as_read && is_same(self.from, self.to)
    }

    fn has_think_tags(&self) -> bool {
        self.options.think_tags.unwrap_or_else(|| self.from.has_think_tags())
    }

    fn target<'t>(&'t self, model: Option<&'t str>) -> Target<'t> {
        Target { model, version: self.options.version.as_deref() }
    }

    /// Translates a request: [`Self::read`], then [`Self::send`].
    pub fn request(&self, wire: WireRequest) -> Result<Translated<WireRequest>, TranslateError> {
        self.send(self.read(wire)?)
    }

    /// Reads a request, in its own names and with the model that is meant.
    pub fn read(&self, wire: WireRequest) -> Result<Request, TranslateError> {
        let mut request = self.from.decode_request(wire)?;
        if let Some(aliases) = self.aliases {
            request = restore::request(request, aliases);
        }
        if let Some(model) = &self.options.model {
            request.model = Some(model.clone());
        }
        Ok(request)
    }

    /// Reinjects cached reasoning of earlier replies into a decoded request, see [`reasoning_cache`].
    /// `find` looks up the cache entry of a call.
    pub fn reinject(
        &self,
        request: &mut Request,
        find: impl Fn(&Call) -> Option<Arc<CachedReasoning>>,
    ) {
        let profile = self.to.profile(&self.target(request.model.as_deref()));
        reasoning_cache::reinject(request, &profile, find);
    }

    /// Fits a request that was read and writes it.
    pub fn send(&self, request: Request) -> Result<Translated<WireRequest>, TranslateError> {
        let model = request.model.clone();
        if self.is_same() {
            let value = self.to.encode_request(request);
            let report = Report { path: Some(value.path.clone()), ..Report::default() };
            return Ok(Translated { value, report });
        }
        let mut profile = self.to.profile(&self.target(model.as_deref()));
        profile.overrides = self.options.overrides.clone();
        let mut fitted = fit(request, self.from.dialect(), &profile);
        if let Some(Refusal { site, what }) = fitted.refusal.take() {
            let pointer = site.pointer(self.from.field_paths());
            return Err(TranslateError::Unsupported { pointer, what });
        }
        let (request, mut report) = Report::of_request(fitted, self.from.field_paths());
        let mut value = self.to.encode_request(request);
        self.to.ask_for_usage(&mut value);
        report.model = model.filter(|_| value.body.get("model").is_none());
        report.path = Some(value.path.clone());
        self.refuse_if_lossy(value, report)
    }

    /// Translates a response: reads it, then [`Self::answer`].
    pub fn response(&self, wire: WireReply) -> Result<Translated<WireReply>, TranslateError> {
        self.answer(decode_response(self.from, wire, self.has_think_tags())?)
    }

    /// Restores a response that was read and writes it.
    pub fn answer(&self, response: Response) -> Result<Translated<WireReply>, TranslateError> {
        let mut restorer = self.restorer();
        let response = restorer.response(response);
        let report = Report::of_answer(&mut restorer, self.from.field_paths());
        self.refuse_if_lossy(self.to.encode_response(response, &self.reply_context()), report)
    }

    /// Translates a failure; that always succeeds.
    pub fn fault(&self, wire: WireReply) -> WireReply {
        self.to.encode_fault(&self.from.decode_fault(wire))
    }

    /// Translates a stream, as its bytes or its events arrive.
    pub fn stream(&self) -> StreamTranslator {
        let reader = StreamReader::new(self.from).with_think_tags(self.has_think_tags());
        let (field_paths, context) = (self.from.field_paths(), self.reply_context());
        StreamTranslator::new(reader, self.restorer(), field_paths, self.to, &context)
    }

    fn restorer(&self) -> Restorer {
        let profile = self.to.profile(&self.target(None));
        let source = self.from.profile(&self.target(None));
        let aliases = self.aliases.cloned().unwrap_or_default();
        let restorer = Restorer::new(aliases, &source, profile);
        match self.reply_context {
            None => restorer,
            Some(context) => {
                restorer.with_id(context.id.clone()).with_conversation(context.conversation)
            }
        }
    }

    fn refuse_if_lossy<T>(
        &self,
        value: T,
        report: Report,
    ) -> Result<Translated<T>, TranslateError> {
        refuse_if_lossy(value, report, self.options.strict)
    }
}

/// Reads a response, and separates a leading `<think>…</think>` from its text if `think_tags` says
/// so.
pub fn decode_response(
    from: &dyn ChatCodec,
    wire: WireReply,
    think_tags: bool,
) -> Result<Response> {
    let response = from.decode_response(wire)?;
    Ok(if think_tags { think::separate(response) } else { response })
}

fn refuse_if_lossy<T>(
    value: T,
    report: Report,
    strict: bool,
) -> Result<Translated<T>, TranslateError> {
    if strict && report.is_refused() {
        return Err(TranslateError::Refused(Box::new(report)));
    }
    Ok(Translated { value, report })
}

/// Translates a list of tools: an array, an object with `tools`, or one tool.
pub fn tools(
    from: &dyn ToolCodec,
    to: &dyn ToolCodec,
    wire: Json,
    options: &Options,
) -> Result<Translated<Json>, TranslateError> {
    let (items, place) = match wire {
        Json::Array(items) => (items, ""),
        Json::Object(mut object) => match object.remove("tools") {
            Some(Json::Array(items)) => (items, "/tools"),
            Some(_) => return Err(not_a_list(from, &Path::ROOT.key("tools"))),
            None => (vec![Json::Object(object)], ""),
        },
        _ => return Err(not_a_list(from, &Path::ROOT)),
    };
    let mut tools = from.decode_tools(items).map_err(|error| error.below(place))?;
    for tool in &mut tools {
        tool.origin.prefix(place);
    }
    let profile = to
        .profile(&Target { model: options.model.as_deref(), version: options.version.as_deref() });
    let mut fitted = fit(Request { tools, ..Request::default() }, from.dialect(), &profile);
    fitted.additions.clear();
    let (request, report) = Report::of_request(fitted, from.field_paths());
    refuse_if_lossy(Json::Array(to.encode_tools(&request.tools)), report, options.strict)
}

fn not_a_list(from: &dyn ToolCodec, path: &Path<'_>) -> TranslateError {
    let kind = DecodeErrorKind::Expected("a tool or a list of tools");
    DecodeError::new(from.dialect(), path, kind).into()
}
