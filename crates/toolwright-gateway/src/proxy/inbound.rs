//! A client's request and the members of it that routing needs. The body is parsed as a whole at once if
//! it will probably be translated, otherwise only where it must be changed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use toolwright_core::json::{Member, SchemaCache, peek};
use toolwright_core::{Fault, FaultClass, Json, Request, wire_json};
use toolwright_dialects::dialect::{Dialect, WireRequest};
use toolwright_runtime::upstream::ClientCredential;

use super::endpoint::{Endpoint, Purpose};
use super::references::{Members, StateReferences};
use super::weight::weight;
use super::{headers, named, tokens};
use crate::conversation::ConversationId;
use crate::fault;
use crate::key::{AuthenticatedClient, Client, Reservation};
use crate::telemetry::RequestId;

/// A request that a client sent to an endpoint.
pub struct InboundRequest {
    /// Request id assigned by the gateway
    pub id: RequestId,
    /// The endpoint that it was sent to
    pub endpoint: Endpoint,
    /// Its headers
    pub headers: HeaderMap,
    /// Its body, with references to stored responses resolved
    pub body: Bytes,
    /// Its body as it was received
    pub received: Bytes,
    /// The authenticated client
    pub client: Arc<Client>,
    /// The client's own credential, for upstreams that get it
    pub credential: Option<ClientCredential>,
    /// The model that it asks for
    pub model: String,
    /// Whether the client asked for a stream
    pub stream: bool,
    /// Whether to refuse it rather than lose anything
    pub strict: bool,
    /// The conversation that it continues, by its header or the previous response
    pub conversation: Option<ConversationId>,
    /// References to earlier responses
    pub state: StateReferences,
    /// The parsed body, if it was parsed to find its members
    pub parsed: Option<Json>,
    /// Where the body names the model, if it does so once
    model_place: Option<Range<usize>>,
}

/// How the body of a request is read at first.
#[derive(Debug, Clone, Copy)]
pub enum Reading<'s> {
    /// Validated, to find the members that routing needs
    Members,
    /// Parsed in the same pass, except for schemas in the cache
    Whole(&'s SchemaCache),
}

impl InboundRequest {
    /// Reads the members that routing needs. The headers must hold no key of this gateway, the body must be
    /// one JSON object.
    pub fn new(
        id: RequestId,
        endpoint: Endpoint,
        headers: HeaderMap,
        body: Bytes,
        authenticated: AuthenticatedClient,
        reading: Reading<'_>,
    ) -> Result<InboundRequest, Fault> {
        let looked = match reading {
            Reading::Members => peek(&body, &MEMBERS).map(|members| (members, None)),
            Reading::Whole(schema_cache) => {
                wire_json::peek_and_parse(&body, &MEMBERS, schema_cache)
                    .map(|(members, parsed)| (members, Some(parsed)))
            }
        };
        let (members, parsed) = looked.map_err(|error| {
            invalid(format!("The body is not a JSON object: {error}. Send a complete one."))
        })?;
        let [named, old_name, streamed, input, previous, store, background, conversation, prompt] =
            members;
        let generates = endpoint.purpose == Purpose::Generate;
        // Old clients of Ollama use `name` to request the description of a model.
        let named = if generates { named } else { named.or(old_name) };
        let (model, stream) = match &endpoint.target {
            Some(said) => (said.model.clone(), said.stream),
            None if generates => {
                (model(named.as_ref())?, stream(streamed.as_ref(), endpoint.dialect)?)
            }
            None => (model(named.as_ref())?, false),
        };
        check(&model)?;
        if authenticated.client.has_allowed_models() {
            named::check(&body, &endpoint, &model)?;
        }
        let members = Members { input, previous, store, background, conversation, prompt };
        let state = match endpoint.dialect {
            Dialect::OpenaiResponses => {
                StateReferences::read(&body, &members, authenticated.carrier.is_none())?
            }
            _ => StateReferences::default(),
        };
        let model_place = named.filter(|own| !own.is_repeated()).map(|own| own.span());
        let conversation = ConversationId::named(&headers)?;
        let strict = headers.get("toolwright-strict").is_some_and(|value| value == "true");
        let client = authenticated.client;
        let credential = ClientCredential::from_headers(&headers);
        Ok(InboundRequest {
            id,
            endpoint,
            headers,
            received: body.clone(),
            body,
            client,
            credential,
            model,
            stream,
            strict,
            conversation,
            state,
            parsed,
            model_place,
        })
    }

    /// Reserves the tokens that it may use, if it generates and its client's are limited.
    pub fn reserve(&self, now: Instant) -> Result<Option<Reservation>, Fault> {
        if self.endpoint.purpose != Purpose::Generate || !self.client.has_token_limit() {
            return Ok(None);
        }
        self.client.reserve(tokens::expected(&self.body), now).map(Some)
    }

    /// Bytes of memory that it takes to decode and encode the body.
    pub fn weight(&self) -> usize {
        weight(&self.body)
    }

    /// Decodes it, from the parsed body where there is one. `stream` is set, whatever the dialect's
    /// default is.
    pub fn read(&self, parsed: Option<Json>) -> Result<Request, Fault> {
        let body = parsed.map_or_else(|| wire_json::parse_bytes(&self.body), Ok);
        let body = body.map_err(|error| invalid(format!("The body is not JSON: {error}.")))?;
        let (path, body) = match self.endpoint.purpose {
            Purpose::Generate => (self.endpoint.address(), body),
            // The codecs know only the generating path.
            _ => (String::new(), unwrapped(body)),
        };
        let wire = WireRequest { path, headers: headers::meant(&self.headers), body };
        let request = self.endpoint.codec.decode_request(wire);
        let mut request =
            request.map_err(|error| fault::invalid(&error.pointer, error.to_string()))?;
        request.stream = Some(self.stream);
        Ok(request)
    }

    /// Replaces the body by one in which references are resolved.
    pub(crate) fn edit(&mut self, body: Bytes) {
        self.body = body;
        self.parsed = None;
        self.model_place = None;
        self.state.edited = true;
    }

    /// The body with another model where it names one, otherwise untouched.
    pub fn body_for(&self, model: &str) -> Bytes {
        match self.renamed(model) {
            Some((place, name)) => self.splice(&place, &name),
            None => self.body.clone(),
        }
    }

    /// Bytes that a copy of the body for a model takes; 0 if the model need not be replaced.
    pub fn copied_for(&self, model: &str) -> usize {
        self.renamed(model).map_or(0, |(_, name)| self.body.len() + name.len())
    }

    /// The range of the model in the body and its replacement, if it must be replaced.
    fn renamed(&self, model: &str) -> Option<(Range<usize>, String)> {
        if self.model == model {
            return None;
        }
        match &self.model_place {
            Some(place) if self.endpoint.target.is_none() => {
                Some((place.clone(), model.to_owned()))
            }
            _ if self.endpoint.purpose == Purpose::CountTokens => {
                Some((wrapped_model(&self.body)?, format!("models/{model}")))
            }
            _ => None,
        }
    }

    /// The body with a text in place of the value at a range.
    fn splice(&self, place: &Range<usize>, text: &str) -> Bytes {
        let text = Json::from(text).compact();
        let (before, after) = (&self.body[..place.start], &self.body[place.end..]);
        Bytes::from([before, text.as_bytes(), after].concat())
    }

    /// Whether the model can be replaced without decoding the body.
    pub fn can_rename(&self) -> bool {
        self.endpoint.target.is_some() || self.model_place.is_some()
    }
}

/// The member of Gemini's `countTokens` that holds a whole request, with its model.
const WRAPPED: &str = "generateContentRequest";

/// The request whose tokens are counted.
fn unwrapped(mut body: Json) -> Json {
    let wrapped = body.as_object_mut().and_then(|body| body.remove(WRAPPED));
    wrapped.unwrap_or(body)
}

/// Where a wrapped request names its model.
fn wrapped_model(body: &[u8]) -> Option<Range<usize>> {
    let [wrapped] = peek(body, &[WRAPPED]).ok()?;
    let wrapped = wrapped?;
    let [model] = peek(wrapped.text().as_bytes(), &["model"]).ok()?;
    let (start, place) = (wrapped.span().start, model?.span());
    Some(start + place.start..start + place.end)
}

/// The members of a body that are looked at: three of most dialects, the rest of the Responses API.
const MEMBERS: [&str; 9] = [
    "model",
    "name",
    "stream",
    "input",
    "previous_response_id",
    "store",
    "background",
    "conversation",
    "prompt",
];

fn model(member: Option<&Member<'_>>) -> Result<String, Fault> {
    let named = member.and_then(Member::as_str).filter(|model| !model.is_empty());
    let missing = || fault::invalid("model", "The body names no model. Set `model` to a text.");
    named.map(Cow::into_owned).ok_or_else(missing)
}

/// Maximum length of a model name in bytes. Bedrock's may be the name of a resource.
const MAX_MODEL_NAME: usize = 2048;

/// Refuses an invalid name. The name appears in paths, logs and the ledger, where it must not change the
/// path or break a line.
fn check(model: &str) -> Result<(), Fault> {
    let steps = model.split('/').any(|step| matches!(step, "." | ".."));
    if model.len() <= MAX_MODEL_NAME && !steps && !model.contains(char::is_control) {
        return Ok(());
    }
    let message = format!(
        "The model name is invalid: it is longer than {MAX_MODEL_NAME} bytes, or contains a \
         control character or the path segment `..`. Use the form 'upstream/model'."
    );
    Err(fault::invalid("model", message))
}

/// Whether to stream. Ollama streams by default, all other dialects do not.
fn stream(member: Option<&Member<'_>>, dialect: Dialect) -> Result<bool, Fault> {
    match member.map(|own| (own.text(), own.as_bool())) {
        None | Some(("null", _)) => Ok(dialect == Dialect::Ollama),
        Some((_, Some(stream))) => Ok(stream),
        Some((_, None)) => Err(fault::invalid("stream", "`stream` must be true or false.")),
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultClass::Invalid, message)
}
