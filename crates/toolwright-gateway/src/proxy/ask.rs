//! A request as it came, and as much of it as routing needs. It is read as a whole only if somebody
//! must change it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use toolwright::upstream::ClientCredential;
use toolwright_core::dialect::{Dialect, WireRequest};
use toolwright_core::json::{Member, peek, peek_and_weigh};
use toolwright_core::{Fault, FaultClass, Json, Request};

use super::endpoint::{Endpoint, Purpose};
use super::headers;
use super::responses::state::{Members, State};
use super::weight::{SMALL, grown, weight};
use crate::key::{Carrier, Client, Found};
use crate::telemetry::RequestId;

/// One request of a client.
pub struct Ask {
    /// Our id of it
    pub id: RequestId,
    /// Where it was posted to
    pub endpoint: Endpoint,
    /// Its headers
    pub headers: HeaderMap,
    /// Its body, whole, with references to stored answers resolved
    pub body: Bytes,
    /// Its body as it came
    pub received: Bytes,
    /// Whose it is
    pub client: Arc<Client>,
    /// What it showed for it, for upstreams that are asked in the client's own name
    pub credential: Option<ClientCredential>,
    /// Which model it names
    pub model: String,
    /// Whether it wants a stream
    pub stream: bool,
    /// Whether it would rather be refused than lose anything
    pub strict: bool,
    /// What it refers to of earlier answers
    pub state: State,
    /// Where the body names the model, if it does so once
    model_place: Option<Range<usize>>,
    /// The weight of the body's tree, where it is known
    tree_weight: Option<usize>,
}

impl Ask {
    /// Looks at a request. The body must be one JSON object; more of it is not read here.
    pub fn new(
        id: RequestId,
        endpoint: Endpoint,
        headers: HeaderMap,
        body: Bytes,
        found: Found,
    ) -> Result<Ask, Fault> {
        // The weight of a small body is computed only on demand.
        let looked = if body.len() > SMALL {
            peek_and_weigh(&body, &MEMBERS).map(|(found, tree)| (found, Some(tree)))
        } else {
            peek(&body, &MEMBERS).map(|found| (found, None))
        };
        let (members, tree_weight) = looked.map_err(|error| {
            invalid(format!("The body is not a JSON object: {error}. Send one, whole."))
        })?;
        let [named, old_name, streamed, input, previous, store, background, conversation, prompt] =
            members;
        let generates = endpoint.purpose == Purpose::Generate;
        // Old clients of Ollama write `name` where they ask for a model's description.
        let named = if generates { named } else { named.or(old_name) };
        let (model, stream) = match &endpoint.said {
            Some(said) => (said.model.clone(), said.stream),
            None if generates => {
                (model(named.as_ref())?, stream(streamed.as_ref(), endpoint.dialect)?)
            }
            None => (model(named.as_ref())?, false),
        };
        check(&model)?;
        let members = Members { input, previous, store, background, conversation, prompt };
        let state = match endpoint.dialect {
            Dialect::OpenaiResponses => State::read(&body, &members, found.carrier.is_none())?,
            _ => State::default(),
        };
        let model_place = named.filter(|own| !own.is_repeated()).map(|own| own.span());
        let strict = headers.get("toolwright-strict").is_some_and(|value| value == "true");
        let Found { client, carrier } = found;
        let credential = credential(&headers, carrier);
        Ok(Ask {
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
            state,
            model_place,
            tree_weight,
        })
    }

    /// How many bytes it takes to read the body and to write it anew.
    pub fn weight(&self) -> usize {
        self.tree_weight.map_or_else(|| weight(&self.body), grown)
    }

    /// Reads it whole. The wish for a stream is said, whatever the dialect's default is.
    pub fn read(&self) -> Result<Request, Fault> {
        let body = Json::parse_bytes(&self.body)
            .map_err(|error| invalid(format!("The body is not JSON: {error}.")))?;
        let (path, body) = match self.endpoint.purpose {
            Purpose::Generate => (self.endpoint.address(), body),
            // The codecs know only the path that generates.
            _ => (String::new(), unwrapped(body)),
        };
        let wire = WireRequest { path, headers: headers::meant(&self.headers), body };
        let mut request = self.endpoint.codec.decode_request(wire).map_err(|error| {
            let mut fault = invalid(error.to_string());
            fault.param = Some(error.pointer);
            fault
        })?;
        request.stream = Some(self.stream);
        Ok(request)
    }

    /// Replaces the body by one in which references are resolved.
    pub(super) fn edit(&mut self, body: Bytes) {
        self.body = body;
        self.tree_weight = None;
        self.model_place = None;
        self.state.edited = true;
    }

    /// The body with another model where it names one, otherwise untouched.
    pub fn body_for(&self, model: &str) -> Bytes {
        match &self.model_place {
            Some(place) if self.endpoint.said.is_none() && self.model != model => {
                self.splice(place, model)
            }
            _ if self.endpoint.purpose == Purpose::CountTokens && self.model != model => {
                match wrapped_model(&self.body) {
                    Some(place) => self.splice(&place, &format!("models/{model}")),
                    None => self.body.clone(),
                }
            }
            _ => self.body.clone(),
        }
    }

    /// The body with a text in place of the value at a range.
    fn splice(&self, place: &Range<usize>, text: &str) -> Bytes {
        let text = Json::from(text).compact();
        let (before, after) = (&self.body[..place.start], &self.body[place.end..]);
        Bytes::from([before, text.as_bytes(), after].concat())
    }

    /// Whether the model can be replaced without reading the whole body.
    pub fn can_rename(&self) -> bool {
        self.endpoint.said.is_some() || self.model_place.is_some()
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

/// What a client showed besides the key that is for us.
pub(crate) fn credential(
    headers: &HeaderMap,
    carrier: Option<Carrier>,
) -> Option<ClientCredential> {
    let ours = match carrier {
        Some(Carrier::Bearer | Carrier::AccessKey) => Some(header::AUTHORIZATION),
        Some(Carrier::ApiKey) => Some(HeaderName::from_static("x-api-key")),
        Some(Carrier::GoogApiKey) => Some(HeaderName::from_static("x-goog-api-key")),
        Some(Carrier::Own | Carrier::Query) | None => None,
    };
    match ours {
        None => ClientCredential::from_headers(headers),
        Some(ours) => {
            let mut rest = headers.clone();
            rest.remove(ours);
            ClientCredential::from_headers(&rest)
        }
    }
}

fn model(member: Option<&Member<'_>>) -> Result<String, Fault> {
    let named = member.and_then(Member::as_str).filter(|model| !model.is_empty());
    named.map(Cow::into_owned).ok_or_else(|| {
        let mut fault = invalid("The body names no model. Set `model` to a text.".to_owned());
        fault.param = Some("model".to_owned());
        fault
    })
}

/// The longest name of a model: Bedrock's, which may be that of a resource.
const LONGEST: usize = 2048;

/// Refuses a name that is none. It stands in paths, logs and the ledger: there it must not be a step
/// to another path, or a line of its own.
fn check(model: &str) -> Result<(), Fault> {
    let steps = model.split('/').any(|step| matches!(step, "." | ".."));
    if model.len() <= LONGEST && !steps && !model.contains(char::is_control) {
        return Ok(());
    }
    let message = format!(
        "The model's name is none: it has more than {LONGEST} bytes, a control character, or a \
         step of a path (`..`). Name it as 'upstream/model'."
    );
    let mut fault = invalid(message);
    fault.param = Some("model".to_owned());
    Err(fault)
}

/// Ollama streams unless told otherwise, all others only if told.
fn stream(member: Option<&Member<'_>>, dialect: Dialect) -> Result<bool, Fault> {
    match member.map(|own| (own.text(), own.as_bool())) {
        None | Some(("null", _)) => Ok(dialect == Dialect::Ollama),
        Some((_, Some(stream))) => Ok(stream),
        Some((_, None)) => {
            let mut fault = invalid("`stream` must be true or false.".to_owned());
            fault.param = Some("stream".to_owned());
            Err(fault)
        }
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultClass::Invalid, message)
}
