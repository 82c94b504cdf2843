//! A client's request made ready for one upstream: as the bytes that it came in where the upstream
//! speaks the client's dialect, otherwise fitted and written anew.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolwright_core::json::{SchemaCache, guess_string};
use toolwright_core::{Fault, FaultClass, Request};
use toolwright_dialects::dialect::{
    ChatCodec, ConversationDigest, Dialect, ReplyContext, Target, is_same,
};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::translate::{Options, Report, TranslateError, Translated, Translator};
use toolwright_runtime::upstream::Remote;

use super::endpoint::Endpoint;
use super::headers;
use super::inbound::{InboundRequest, Reading};
use super::reasoning_cache::ReasoningCache;
use super::send::Failure;
use super::weight::{UNWEIGHED_BYTES, weight_at_most};
use crate::http::Share;
use crate::models::route::{Backend, Candidate, Routes};
use crate::telemetry::{RequestId, losses};

/// A request to an upstream, and how its reply becomes the client's.
pub struct Prepared {
    /// The path with its query
    pub path: String,
    /// Headers that the upstream understands
    pub headers: HeaderMap,
    /// The body
    pub body: Bytes,
    /// How the upstream's reply becomes the client's
    pub reply_mode: ReplyMode,
}

impl Prepared {
    /// Returns its size in bytes: the body, and the translation that is held until the exchange ends.
    pub fn weight(&self) -> usize {
        match &self.reply_mode {
            ReplyMode::Passthrough => self.body.len(),
            ReplyMode::Translated(own) => self.body.len() + own.weight(&own.report),
        }
    }
}

/// How the reply of an upstream becomes the client's.
pub enum ReplyMode {
    /// It is passed through unchanged
    Passthrough,
    /// It is translated
    Translated(Box<Translation>),
}

/// The translation of one exchange, for the request and the reply.
pub struct Translation {
    /// The upstream's codec
    pub upstream: &'static dyn ChatCodec,
    /// The client's codec
    pub client: &'static dyn ChatCodec,
    /// Options for both directions
    pub options: Options,
    /// Aliases of the fitted request
    pub aliases: Aliases,
    /// Facts about the request that encoding the reply depends on
    pub reply_context: ReplyContext,
    /// Losses of the request
    pub report: Report,
}

impl Translation {
    /// Creates the translation of a reply that the gateway makes itself, from the dialect of `upstream`.
    pub fn local(
        upstream: &'static dyn ChatCodec,
        client: &'static dyn ChatCodec,
        strict: bool,
        reply_context: ReplyContext,
    ) -> Translation {
        let options = Options { strict, ..Options::default() };
        let (aliases, report) = (Aliases::default(), Report::default());
        Translation { upstream, client, options, aliases, reply_context, report }
    }

    /// How many bytes it takes until the exchange ends, with what the way out reported. The aliases are
    /// there twice.
    pub fn weight(&self, report: &Report) -> usize {
        2 * losses::weight(report) + self.reply_context.echo.weight()
    }

    /// From the upstream to the client.
    pub fn back(&self) -> Translator<'_> {
        Translator::new(self.upstream, self.client, &self.options)
            .with_aliases(&self.aliases)
            .with_reply_context(&self.reply_context)
    }
}

/// What a request probably needs, before its body was read.
pub struct Guess<'s> {
    /// The model
    pub model: Option<String>,
    /// The candidates for the model; none if there is no such model
    pub candidates: Vec<Candidate>,
    /// How to read the body
    pub reading: Reading<'s>,
}

/// Guesses the model from the first bytes of a body, and chooses how to read the body: as a whole, if it will probably
/// be translated and the memory budget allows it. A wrong guess costs only time.
pub fn guess<'s>(
    endpoint: &Endpoint,
    body: &[u8],
    routes: &Routes,
    schema_cache: &'s SchemaCache,
    share: &mut Share,
) -> Guess<'s> {
    let target = endpoint.target.as_ref().map(|target| target.model.as_str());
    let model = target.or_else(|| guess_string(body, "model")).map(str::to_owned);
    let candidates = model.as_deref().and_then(|model| routes.find(model).ok()).unwrap_or_default();
    let translates = candidates.first().is_some_and(|first| match &first.backend {
        Backend::Offline => true,
        Backend::Remote(remote) => !has_same_dialect(endpoint, remote, first),
    });
    let fits =
        |share: &mut Share| body.len() <= UNWEIGHED_BYTES || share.try_resize(weight_at_most(body));
    let reading =
        if translates && fits(share) { Reading::Whole(schema_cache) } else { Reading::Members };
    Guess { model, candidates, reading }
}

/// Whether an upstream takes requests of an endpoint unchanged.
fn has_same_dialect(endpoint: &Endpoint, remote: &Remote, candidate: &Candidate) -> bool {
    is_same(endpoint.codec, remote.codec()) && candidate.overrides.is_empty()
}

/// Whether an upstream takes the bytes of a request unchanged, apart from the name of the model.
pub fn is_native(inbound: &InboundRequest, remote: &Remote, candidate: &Candidate) -> bool {
    let same = has_same_dialect(&inbound.endpoint, remote, candidate);
    let model = &candidate.model;
    let renames = inbound.model == *model || inbound.can_rename();
    same && !inbound.state.edited && speaks_version(inbound, remote) && renames
}

/// Prepares the request with its bytes unchanged.
pub fn untouched(inbound: &InboundRequest, model: &str) -> Prepared {
    Prepared {
        path: inbound.endpoint.address_for(model),
        headers: headers::onward(&inbound.headers),
        body: inbound.body_for(model),
        reply_mode: ReplyMode::Passthrough,
    }
}

/// Fits a request to an upstream and encodes it in its dialect. `changed` says that the request was
/// edited after decoding.
pub fn translated(
    inbound: &InboundRequest,
    mut request: Request,
    remote: &Remote,
    candidate: &Candidate,
    keep: &ReasoningCache,
    changed: bool,
) -> Result<Prepared, Box<Failure>> {
    let client = inbound.endpoint.codec;
    let reply_context = asked(inbound, &request);
    request.model = Some(candidate.model.clone());
    let options = Options {
        strict: inbound.strict,
        changed,
        model: None,
        think_tags: Some(remote.has_think_tags()),
        version: remote.version().map(str::to_owned),
        overrides: candidate.overrides.clone(),
    };
    let upstream = remote.codec();
    let translator = Translator::new(client, upstream, &options);
    keep.recall(inbound.client.name(), &translator, &mut request, Instant::now());
    let Translated { mut value, report } = translator.send(request).map_err(unfit)?;
    upstream.ask_for_usage(&mut value);
    let aliases = report.aliases.clone();
    let headers = value.headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    });
    // Most bodies are about as long in one dialect as in the other.
    let mut body = String::with_capacity(inbound.body.len());
    value.body.write_to(&mut body);
    Ok(Prepared {
        path: value.path,
        headers: headers.collect(),
        body: Bytes::from(body),
        reply_mode: ReplyMode::Translated(Box::new(Translation {
            upstream,
            client,
            options,
            aliases,
            reply_context,
            report,
        })),
    })
}

/// What the reply must know of a request.
pub fn asked(inbound: &InboundRequest, request: &Request) -> ReplyContext {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Calls that a client may return without ids are identified by the conversation before them.
    let nameless = !inbound.endpoint.codec.profile(&Target::default()).ids.required;
    let conversation =
        (nameless && !request.tools.is_empty()).then(|| ConversationDigest::of(request));
    let mut asked = inbound.endpoint.codec.reply_context(request);
    // The request no longer says it once it is resolved.
    if let Some(previous) = &inbound.state.previous {
        asked.echo.insert("previous_response_id", previous.as_str());
    }
    ReplyContext {
        conversation,
        model: Some(inbound.model.clone()),
        created: since.as_secs(),
        id: Some(reply_id(inbound.endpoint.dialect, inbound.id)),
        ..asked
    }
}

/// Why a request is not sent. What this upstream's dialect cannot say, another's may.
fn unfit(error: TranslateError) -> Box<Failure> {
    match error {
        error @ (TranslateError::Refused(_) | TranslateError::Unsupported { .. }) => {
            Failure::unfit(refused(error))
        }
        error => refused(error).into(),
    }
}

/// What a client reads where something would be lost that must not be, or cannot be read.
pub fn refused(error: TranslateError) -> Fault {
    let mut fault = Fault::new(FaultClass::Invalid, error.to_string());
    if let TranslateError::Unsupported { pointer, .. } = error {
        fault.param = Some(pointer);
    }
    fault
}

/// The id of a reply that has none of its vendor's, by the dialect's fashion. Ids of calls that a
/// vendor does not give are made from it, so no two exchanges may share one.
fn reply_id(dialect: Dialect, id: RequestId) -> String {
    let start = match dialect {
        Dialect::OpenaiChat | Dialect::Deepseek => "chatcmpl-",
        Dialect::OpenaiResponses => "resp_",
        Dialect::Anthropic => "msg_",
        _ => "",
    };
    format!("{start}{:032x}", id.bits())
}

/// Whether an upstream takes the version that the client speaks.
fn speaks_version(inbound: &InboundRequest, remote: &Remote) -> bool {
    let spoken = inbound.headers.get("anthropic-version").and_then(|value| value.to_str().ok());
    match (spoken, remote.version()) {
        (Some(spoken), Some(own)) => spoken == own,
        _ => true,
    }
}
