//! Maps a path to its dialect and purpose. First step of an exchange.
//!
//! Every dialect is available at its vendor's paths, and below `/{dialect}`. Where two vendors
//! share a path, the bare path belongs to the more common one, and the other needs the prefix.

use toolwright_core::dialect::{ChatCodec, Dialect};
use toolwright_core::frame::Framing;
use toolwright_core::percent;

/// The endpoint of a request.
#[derive(Clone)]
pub struct Endpoint {
    /// The client's dialect
    pub dialect: Dialect,
    /// The codec of the dialect
    pub codec: &'static dyn ChatCodec,
    /// The vendor's path, without the gateway's prefix and without the query
    pub path: String,
    /// The query without a credential, if there is one
    pub query: Option<String>,
    /// Model and stream flag, if the path contains them
    pub target: Option<PathTarget>,
    /// The purpose
    pub purpose: Purpose,
}

/// The purpose of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Generate a reply
    Generate,
    /// Count the tokens of a request
    CountTokens,
    /// Describe a model
    ShowModel,
}

impl Purpose {
    fn of(path: &str) -> Purpose {
        if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
            Purpose::CountTokens
        } else if path == "/api/show" {
            Purpose::ShowModel
        } else {
            Purpose::Generate
        }
    }
}

/// Values that a path contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTarget {
    /// The model, unescaped
    pub model: String,
    /// Whether the client asks for a stream
    pub stream: bool,
    /// The range of the model in the path
    place: (usize, usize),
}

/// Paths without a model, with their dialects, and whether they are available without a prefix.
const FIXED: &[(&str, Dialect, Alone)] = &[
    ("/v1/chat/completions", Dialect::OpenaiChat, Alone::Yes),
    ("/v1/responses", Dialect::OpenaiResponses, Alone::Yes),
    ("/v1/messages", Dialect::Anthropic, Alone::Yes),
    ("/v1/messages/count_tokens", Dialect::Anthropic, Alone::Yes),
    ("/api/chat", Dialect::Ollama, Alone::Yes),
    ("/api/show", Dialect::Ollama, Alone::Yes),
    ("/v2/chat", Dialect::Cohere, Alone::Yes),
    ("/v1/chat/completions", Dialect::Mistral, Alone::No),
    ("/chat/completions", Dialect::Deepseek, Alone::No),
    ("/v1/chat/completions", Dialect::Deepseek, Alone::No),
    ("/beta/chat/completions", Dialect::Deepseek, Alone::No),
    ("/chat/completions", Dialect::OpenaiChat, Alone::No),
    ("/responses", Dialect::OpenaiResponses, Alone::No),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    Yes,
    No,
}

impl Endpoint {
    /// Finds the endpoint of a path and its query; `None` if no dialect has it.
    pub fn find(path: &str, query: Option<&str>) -> Option<Endpoint> {
        if leads_elsewhere(path) {
            return None;
        }
        let (prefix, own) = split(path);
        let fixed = FIXED.iter().find(|(fixed, dialect, alone)| {
            *fixed == own && prefix.map_or(*alone == Alone::Yes, |prefix| prefix == *dialect)
        });
        let (dialect, target) = if let Some((_, dialect, _)) = fixed {
            (*dialect, None)
        } else {
            let (dialect, target) = bedrock(own).or_else(|| gemini(own))?;
            (dialect, Some(target))
        };
        if prefix.is_some_and(|prefix| prefix != dialect) {
            return None;
        }
        let query = query.map(without_key).filter(|query| !query.is_empty());
        let (codec, purpose) = (dialect.codec()?, Purpose::of(own));
        Some(Endpoint { dialect, codec, path: own.to_owned(), query, target, purpose })
    }

    /// Removes parameters from the query, by unescaped name and value.
    pub fn retain_query(&mut self, is_wanted: impl Fn(&str, &str) -> bool) {
        let query = self.query.take().map(|query| filtered(&query, is_wanted));
        self.query = query.filter(|query| !query.is_empty());
    }

    /// Returns the dialect for an error at a path: that of the path, or the one that its prefix or
    /// beginning suggests.
    pub fn nearest(path: &str) -> Dialect {
        if let Some(own) = Endpoint::find(path, None) {
            return own.dialect;
        }
        let (prefix, own) = split(path);
        let near = [
            ("/model/", Dialect::Bedrock),
            ("/v1beta", Dialect::Gemini),
            ("/v1/models/", Dialect::Gemini),
            ("/v1/messages", Dialect::Anthropic),
            ("/v1/responses", Dialect::OpenaiResponses),
            ("/api/", Dialect::Ollama),
            ("/v2/", Dialect::Cohere),
        ];
        let by_path = near.iter().find(|(start, _)| own.starts_with(start));
        prefix.or(by_path.map(|(_, dialect)| *dialect)).unwrap_or(Dialect::OpenaiChat)
    }

    /// Returns the framing of a stream. Gemini's is a JSON array unless events are requested.
    pub fn framing(&self) -> Framing {
        let query = self.query.as_deref().unwrap_or_default();
        let asked = || query.split('&').any(|own| matches!(own, "alt=sse" | "$alt=sse"));
        if self.dialect == Dialect::Gemini && !asked() {
            Framing::Array
        } else {
            self.codec.framing()
        }
    }

    /// Returns the name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self.dialect {
            _ if self.purpose == Purpose::CountTokens => "count_tokens",
            _ if self.purpose == Purpose::ShowModel => "show_model",
            Dialect::OpenaiResponses => "responses",
            Dialect::Anthropic => "messages",
            Dialect::Bedrock => "converse",
            Dialect::Gemini => "generate_content",
            _ => "chat",
        }
    }

    /// Returns the path with its query.
    pub fn address(&self) -> String {
        self.with_query(self.path.clone())
    }

    /// Returns the path with its query, with another model if the path contains one.
    pub fn address_for(&self, model: &str) -> String {
        match &self.target {
            Some(target) if target.model != model => {
                let (start, end) = target.place;
                let (before, after) = (&self.path[..start], &self.path[end..]);
                self.with_query(format!("{before}{}{after}", percent::encode(model)))
            }
            _ => self.address(),
        }
    }

    fn with_query(&self, path: String) -> String {
        match &self.query {
            Some(query) => format!("{path}?{query}"),
            None => path,
        }
    }
}

/// Splits a path into its dialect prefix, if there is one, and the remaining path.
fn split(path: &str) -> (Option<Dialect>, &str) {
    let first = path.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    match first.and_then(|(first, _)| Some((first, Dialect::from_id(first)?))) {
        Some((first, dialect)) => (Some(dialect), &path[first.len() + 1..]),
        None => (None, path),
    }
}

/// `/model/{model}/converse[-stream]`
fn bedrock(path: &str) -> Option<(Dialect, PathTarget)> {
    const START: &str = "/model/";
    let (model, verb) = path.strip_prefix(START)?.rsplit_once('/')?;
    let stream = match verb {
        "converse" => false,
        "converse-stream" => true,
        _ => return None,
    };
    Some((Dialect::Bedrock, target(model, START.len(), stream)?))
}

/// `/{version}/models/{model}:generateContent`, `:streamGenerateContent` or `:countTokens`; on
/// Vertex the publisher precedes `models`, and project and location precede the publisher.
fn gemini(path: &str) -> Option<(Dialect, PathTarget)> {
    const BEFORE: &str = "models/";
    const VERSIONS: [&str; 3] = ["/v1/", "/v1beta/", "/v1beta1/"];
    let version = VERSIONS.iter().find(|version| path.starts_with(**version))?;
    let (rest, verb) = path.rsplit_once(':')?;
    let stream = match verb {
        "generateContent" | "countTokens" => false,
        "streamGenerateContent" => true,
        _ => return None,
    };
    let start = rest.find(BEFORE)? + BEFORE.len();
    if !is_resource(rest.get(version.len()..start - BEFORE.len())?) {
        return None;
    }
    Some((Dialect::Gemini, target(&rest[start..], start, stream)?))
}

/// Whether a path is empty, or a Vertex publisher with project and location.
fn is_resource(path: &str) -> bool {
    let is_name = |step: &str| {
        let is_plain = |own: char| own.is_ascii_alphanumeric() || "-_.:".contains(own);
        !step.is_empty() && step.chars().all(is_plain)
    };
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [""] => true,
        ["publishers", publisher, ""] => is_name(publisher),
        ["projects", project, "locations", location, "publishers", publisher, ""] => {
            [project, location, publisher].into_iter().all(|own| is_name(own))
        }
        _ => false,
    }
}

/// Maximum number of times that escapes are decoded: each server in a chain may decode them once.
const MAX_DECODES: usize = 4;

/// Whether a path contains a segment such as `..`, with which it could reach another endpoint of
/// the vendor. It is decoded repeatedly before the check.
pub(super) fn leads_elsewhere(path: &str) -> bool {
    let is_dots = |step: &str| {
        // Some servers end a segment at a semicolon.
        matches!(step.split(';').next().map(str::trim), Some("." | ".."))
    };
    let mut path = path.to_owned();
    for _ in 0..MAX_DECODES {
        if path.split(['/', '\\']).any(is_dots) {
            return true;
        }
        let decoded = percent::decode(&path);
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

fn target(model: &str, start: usize, stream: bool) -> Option<PathTarget> {
    let place = (start, start + model.len());
    (!model.is_empty()).then(|| PathTarget { model: percent::decode(model), stream, place })
}

/// Removes the credential that Google's clients may put into a query.
pub(super) fn without_key(query: &str) -> String {
    filtered(query, |name, _| !name.eq_ignore_ascii_case("key"))
}

/// Returns the parameters of a query that are accepted, by unescaped name and value.
pub(super) fn filtered(query: &str, is_wanted: impl Fn(&str, &str) -> bool) -> String {
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        is_wanted(&percent::decode(name), &percent::decode(value))
    };
    query.split('&').filter(is_kept).collect::<Vec<_>>().join("&")
}
