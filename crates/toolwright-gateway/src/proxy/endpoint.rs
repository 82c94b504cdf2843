//! The endpoint of an exchange: the dialect, the purpose, and the vendor's path.

use std::ops::Range;

use toolwright_core::percent;
use toolwright_dialects::dialect::{self, ChatCodec, Dialect};
use toolwright_dialects::frame::Framing;

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

/// Values that a path contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTarget {
    /// The model, unescaped
    pub model: String,
    /// Whether the client asks for a stream
    pub stream: bool,
    /// The range of the model in the path
    place: Range<usize>,
}

impl PathTarget {
    /// Reads the model at a range of a path.
    pub fn new(path: &str, place: Range<usize>, stream: bool) -> Option<PathTarget> {
        let model = percent::decode(path.get(place.clone())?);
        Some(PathTarget { model, stream, place })
    }
}

impl Endpoint {
    /// Creates the endpoint of a vendor's path, without the gateway's prefix; `None` if no codec has the
    /// dialect.
    pub fn new(
        dialect: Dialect,
        purpose: Purpose,
        path: &str,
        query: Option<&str>,
        target: Option<PathTarget>,
    ) -> Option<Endpoint> {
        let query = query.map(without_key).filter(|query| !query.is_empty());
        Some(Endpoint {
            dialect,
            codec: dialect::codec(dialect)?,
            path: path.to_owned(),
            query,
            target,
            purpose,
        })
    }

    /// Removes parameters from the query, by unescaped name and value.
    pub fn retain_query(&mut self, is_wanted: impl Fn(&str, &str) -> bool) {
        let query = self.query.take().map(|query| filtered(&query, is_wanted));
        self.query = query.filter(|query| !query.is_empty());
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
                let (before, after) =
                    (&self.path[..target.place.start], &self.path[target.place.end..]);
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

/// Removes the credential that Google's clients may put into a query.
pub(crate) fn without_key(query: &str) -> String {
    filtered(query, |name, _| !name.eq_ignore_ascii_case("key"))
}

/// Returns the parameters of a query that are accepted, by unescaped name and value.
pub(crate) fn filtered(query: &str, is_wanted: impl Fn(&str, &str) -> bool) -> String {
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        is_wanted(&percent::decode(name), &percent::decode(value))
    };
    query.split('&').filter(is_kept).collect::<Vec<_>>().join("&")
}
