//! The routes of the gateway: method, pattern, authentication and form of errors of each.
//!
//! Every vendor's endpoints are at the vendor's own paths and below `/{dialect}`. Where two vendors
//! share a path, the bare path belongs to the more common one, and the other needs the prefix.

use http::{HeaderMap, Method};
use toolwright_core::percent;
use toolwright_dialects::dialect::{self, Dialect};

use super::pattern::{Parameters, match_path};
use crate::approvals::routes as approvals;
use crate::catalog::routes::{PrefabEndpoint, files};
use crate::handles;
use crate::inputs::routes as inputs;
use crate::models::routes::{self as models, About};
use crate::plans::routes as plans;
use crate::proxy::endpoint::{Endpoint, PathTarget, Purpose};
use crate::responses::routes::Action;

/// A route.
#[derive(Debug)]
pub struct HttpRoute {
    /// The method
    pub verb: Verb,
    /// The pattern of the path, below a base
    pub pattern: &'static str,
    /// The bases of the path
    bare: &'static [&'static str],
    /// The bases of the path below the prefix of the dialect
    prefixed: &'static [&'static str],
    /// The form of errors
    pub errors: ErrorForm,
    /// What answers, and who may ask
    pub target: Target,
}

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `GET`, and `HEAD`
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
}

/// The form of the errors of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorForm {
    /// The form of a dialect
    Dialect(Dialect),
    /// The form of the dialect that the prefix of the path names, or else of the SDK that asks
    Client,
    /// `{"detail": …}`
    Detail,
}

/// The form of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultForm {
    /// The form of a dialect
    Dialect(Dialect),
    /// `{"detail": …}`
    Detail,
}

/// What answers a request, with the authentication that it requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An exchange with a model, for a client with a key. The stream flag, if the path decides it
    Exchange(Purpose, Option<bool>),
    /// An endpoint for clients with a key
    Client(ClientEndpoint),
    /// An endpoint without authentication
    Public(PublicEndpoint),
    /// An endpoint of the prefab interface, which authenticates its clients itself
    Prefab(PrefabEndpoint),
    /// The MCP server, which authenticates its clients itself
    Mcp,
}

/// An endpoint for clients with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEndpoint {
    /// A stored response
    StoredResponse(Action),
    /// Models, or the version of a vendor's API
    Listing(About),
    /// Metrics
    Metrics,
    /// The losses of an exchange
    Losses,
    /// Calls that wait for approval
    Approvals(approvals::Action),
    /// Questions of running tools
    Inputs(inputs::Action),
    /// Values behind handles
    Handles(handles::Action),
    /// Plans and their runs
    Plans(plans::Action),
}

/// An endpoint without authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicEndpoint {
    /// Whether the process is alive
    Health,
    /// Whether it accepts requests
    Readiness,
    /// The description of the endpoints
    OpenApi,
}

const ROOT: &[&str] = &[""];
const V1: &[&str] = &["/v1"];
const V1_OR_ROOT: &[&str] = &["/v1", ""];
const NONE: &[&str] = &[];

/// The bytes of a file.
const FILE_CONTENT: &str = "/internal/files/content/{tenant}/{id}/{name}";

/// The bases of Gemini's models; on Vertex the publisher precedes the models, and project and
/// location may precede the publisher.
const GEMINI: &[&str] = &[
    "/v1",
    "/v1beta",
    "/v1beta1",
    "/v1/publishers/{publisher}",
    "/v1beta/publishers/{publisher}",
    "/v1beta1/publishers/{publisher}",
    "/v1/projects/{project}/locations/{location}/publishers/{publisher}",
    "/v1beta/projects/{project}/locations/{location}/publishers/{publisher}",
    "/v1beta1/projects/{project}/locations/{location}/publishers/{publisher}",
];

/// All routes. The first that matches answers.
pub static ROUTES: &[HttpRoute] = {
    use ClientEndpoint::{Approvals, Handles, Inputs, Plans};
    use Dialect::{
        Anthropic, Bedrock, Cohere, Deepseek, Gemini, Mistral, Ollama, OpenaiChat, OpenaiResponses,
    };
    use Purpose::{CountTokens, Generate, ShowModel};
    &[
        exchange(OpenaiChat, "/chat/completions", V1, V1_OR_ROOT, Generate, None),
        exchange(OpenaiResponses, "/responses", V1, V1_OR_ROOT, Generate, None),
        exchange(Anthropic, "/messages", V1, V1, Generate, None),
        exchange(Anthropic, "/messages/count_tokens", V1, V1, CountTokens, None),
        exchange(Mistral, "/chat/completions", NONE, V1, Generate, None),
        exchange(Deepseek, "/chat/completions", NONE, &["/v1", "", "/beta"], Generate, None),
        exchange(Ollama, "/api/chat", ROOT, ROOT, Generate, None),
        exchange(Ollama, "/api/show", ROOT, ROOT, ShowModel, None),
        exchange(Cohere, "/v2/chat", ROOT, ROOT, Generate, None),
        exchange(Bedrock, "/model/{model*}/converse", ROOT, ROOT, Generate, Some(false)),
        exchange(Bedrock, "/model/{model*}/converse-stream", ROOT, ROOT, Generate, Some(true)),
        gemini("/models/{model*}:generateContent", Generate, false),
        gemini("/models/{model*}:streamGenerateContent", Generate, true),
        gemini("/models/{model*}:countTokens", CountTokens, false),
        stored(Verb::Get, "/responses/{id}", Action::Retrieve),
        stored(Verb::Delete, "/responses/{id}", Action::Delete),
        stored(Verb::Get, "/responses/{id}/input_items", Action::InputItems),
        stored(Verb::Post, "/responses/{id}/cancel", Action::Cancel),
        listing(ErrorForm::Client, "/models", V1, V1_OR_ROOT, About::Models),
        listing(ErrorForm::Client, "/models/{model*}", V1, V1_OR_ROOT, About::Models),
        listing(ErrorForm::Dialect(Gemini), "/v1beta/models", ROOT, ROOT, About::Models),
        listing(ErrorForm::Dialect(Gemini), "/v1beta/models/{model*}", ROOT, ROOT, About::Models),
        listing(ErrorForm::Dialect(Ollama), "/api/tags", ROOT, ROOT, About::Models),
        listing(ErrorForm::Dialect(Ollama), "/api/ps", ROOT, ROOT, About::Models),
        listing(ErrorForm::Dialect(Ollama), "/api/version", ROOT, ROOT, About::Version),
        own("/healthz", Target::Public(PublicEndpoint::Health)),
        own("/readyz", Target::Public(PublicEndpoint::Readiness)),
        own("/openapi.json", Target::Public(PublicEndpoint::OpenApi)),
        own("/metrics", Target::Client(ClientEndpoint::Metrics)),
        own("/v1/losses/{id}", Target::Client(ClientEndpoint::Losses)),
        client(Verb::Get, "/v1/approvals", Approvals(approvals::Action::List)),
        client(Verb::Get, "/v1/approvals/{id}", Approvals(approvals::Action::Show)),
        client(Verb::Post, "/v1/approvals/{id}", Approvals(approvals::Action::Answer)),
        client(Verb::Get, "/v1/inputs", Inputs(inputs::Action::List)),
        client(Verb::Post, "/v1/inputs/{id}", Inputs(inputs::Action::Answer)),
        client(Verb::Put, "/v1/handles/{id}", Handles(handles::Action::Put)),
        client(Verb::Get, "/v1/handles/{id}", Handles(handles::Action::Get)),
        client(Verb::Get, "/v1/plans/schema", Plans(plans::Action::Schema)),
        client(Verb::Post, "/v1/plans/check", Plans(plans::Action::Check)),
        client(Verb::Post, "/v1/plans/view", Plans(plans::Action::View)),
        client(Verb::Post, "/v1/plans/record", Plans(plans::Action::Record)),
        client(Verb::Post, "/v1/plans", Plans(plans::Action::Start)),
        client(Verb::Get, "/v1/plans", Plans(plans::Action::List)),
        client(Verb::Get, "/v1/plans/{id}", Plans(plans::Action::Show)),
        client(Verb::Delete, "/v1/plans/{id}", Plans(plans::Action::Delete)),
        client(Verb::Get, "/v1/plans/{id}/plan", Plans(plans::Action::Plan)),
        client(Verb::Get, "/v1/plans/{id}/picture", Plans(plans::Action::Picture)),
        client(Verb::Get, "/v1/plans/{id}/events", Plans(plans::Action::Events)),
        client(Verb::Post, "/v1/plans/{id}/resume", Plans(plans::Action::Resume)),
        client(Verb::Post, "/v1/plans/{id}/cancel", Plans(plans::Action::Cancel)),
        client(Verb::Post, "/v1/plans/{id}/answer", Plans(plans::Action::Answer)),
        client(Verb::Post, "/v1/plans/{id}/fork", Plans(plans::Action::Fork)),
        prefab(Verb::Get, "/v1/public/prefabs/{id}/functions", PrefabEndpoint::Functions),
        prefab(Verb::Get, "/v1/public/prefabs/{id}/functions/{function}", PrefabEndpoint::Function),
        prefab(Verb::Post, "/v1/auth/convert_to_internal_token", PrefabEndpoint::ConvertToken),
        prefab(Verb::Post, "/v1/prefabs/{id}/execute", PrefabEndpoint::Execute),
        prefab(Verb::Post, "/v1/internal/run", PrefabEndpoint::Run),
        files(Verb::Post, "/internal/files/generate_upload_url", files::Action::GenerateUploadUrl),
        files(Verb::Post, "/internal/files/upload", files::Action::Upload),
        files(Verb::Post, "/internal/files/upload_temp", files::Action::UploadTemp),
        files(Verb::Get, "/internal/files/download", files::Action::Download),
        files(Verb::Get, "/internal/files/list", files::Action::List),
        files(Verb::Get, "/internal/files/list_temp", files::Action::ListTemp),
        files(Verb::Delete, "/internal/files/cleanup_temp", files::Action::CleanupTemp),
        prefab(Verb::Put, FILE_CONTENT, PrefabEndpoint::PutContent),
        prefab(Verb::Get, FILE_CONTENT, PrefabEndpoint::GetContent),
        mcp(Verb::Post, "/mcp"),
        mcp(Verb::Get, "/mcp"),
        mcp(Verb::Delete, "/mcp"),
        mcp(Verb::Post, "/mcp/{server}"),
        mcp(Verb::Get, "/mcp/{server}"),
        mcp(Verb::Delete, "/mcp/{server}"),
    ]
};

const fn exchange(
    dialect: Dialect,
    pattern: &'static str,
    bare: &'static [&'static str],
    prefixed: &'static [&'static str],
    purpose: Purpose,
    stream: Option<bool>,
) -> HttpRoute {
    let (errors, target) = (ErrorForm::Dialect(dialect), Target::Exchange(purpose, stream));
    HttpRoute { verb: Verb::Post, pattern, bare, prefixed, errors, target }
}

const fn gemini(pattern: &'static str, purpose: Purpose, stream: bool) -> HttpRoute {
    exchange(Dialect::Gemini, pattern, GEMINI, GEMINI, purpose, Some(stream))
}

const fn stored(verb: Verb, pattern: &'static str, action: Action) -> HttpRoute {
    let errors = ErrorForm::Dialect(Dialect::OpenaiResponses);
    let target = Target::Client(ClientEndpoint::StoredResponse(action));
    HttpRoute { verb, pattern, bare: V1, prefixed: V1_OR_ROOT, errors, target }
}

const fn listing(
    errors: ErrorForm,
    pattern: &'static str,
    bare: &'static [&'static str],
    prefixed: &'static [&'static str],
    about: About,
) -> HttpRoute {
    let target = Target::Client(ClientEndpoint::Listing(about));
    HttpRoute { verb: Verb::Get, pattern, bare, prefixed, errors, target }
}

/// A route of the gateway alone.
const fn own(pattern: &'static str, target: Target) -> HttpRoute {
    let errors = ErrorForm::Dialect(Dialect::OpenaiChat);
    HttpRoute { verb: Verb::Get, pattern, bare: ROOT, prefixed: NONE, errors, target }
}

const fn client(verb: Verb, pattern: &'static str, endpoint: ClientEndpoint) -> HttpRoute {
    HttpRoute { verb, ..own(pattern, Target::Client(endpoint)) }
}

const fn prefab(verb: Verb, pattern: &'static str, endpoint: PrefabEndpoint) -> HttpRoute {
    HttpRoute { verb, errors: ErrorForm::Detail, ..own(pattern, Target::Prefab(endpoint)) }
}

const fn mcp(verb: Verb, pattern: &'static str) -> HttpRoute {
    HttpRoute { verb, ..own(pattern, Target::Mcp) }
}

const fn files(verb: Verb, pattern: &'static str, action: files::Action) -> HttpRoute {
    prefab(verb, pattern, PrefabEndpoint::Files(action))
}

/// A route that a path matched.
#[derive(Debug)]
pub struct RouteMatch<'p> {
    /// The route
    pub route: &'static HttpRoute,
    /// The dialect of the path's prefix
    pub prefix: Option<Dialect>,
    /// The path without the prefix
    pub path: &'p str,
    /// The parameters in the path
    pub parameters: Parameters,
}

/// Why no route answers a request.
#[derive(Debug)]
pub enum NoRoute {
    /// No route has the path
    Path,
    /// Routes have the path, with other methods: the form of errors, and the methods
    Method(FaultForm, Vec<&'static str>),
}

impl Verb {
    fn accepts(self, method: &Method) -> bool {
        method.as_str() == self.name() || (self == Verb::Get && *method == Method::HEAD)
    }

    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

impl HttpRoute {
    fn match_path(&self, prefix: Option<Dialect>, path: &str) -> Option<Parameters> {
        let bases = match (prefix, self.errors) {
            (None, _) => self.bare,
            (Some(prefix), ErrorForm::Dialect(own)) if prefix != own => return None,
            (Some(_), _) => self.prefixed,
        };
        bases.iter().find_map(|base| match_path(base, self.pattern, path))
    }
}

impl RouteMatch<'_> {
    /// The dialect of the route's errors, for a client with these headers.
    pub fn dialect(&self, headers: &HeaderMap) -> Dialect {
        match self.route.errors {
            ErrorForm::Dialect(dialect) => dialect,
            ErrorForm::Client => self.prefix.unwrap_or_else(|| models::dialect_of_sdk(headers)),
            ErrorForm::Detail => Dialect::OpenaiChat,
        }
    }

    /// The form of the route's errors, for a client with these headers.
    pub fn form(&self, headers: &HeaderMap) -> FaultForm {
        match self.route.errors {
            ErrorForm::Detail => FaultForm::Detail,
            ErrorForm::Dialect(_) | ErrorForm::Client => FaultForm::Dialect(self.dialect(headers)),
        }
    }

    /// The endpoint, if the route is an exchange and the parameters are valid in the vendor's path.
    pub fn endpoint(&self, query: Option<&str>) -> Option<Endpoint> {
        let HttpRoute {
            target: Target::Exchange(purpose, stream),
            errors: ErrorForm::Dialect(dialect),
            ..
        } = *self.route
        else {
            return None;
        };
        let is_plain = |own: char| own.is_ascii_alphanumeric() || "-_.:".contains(own);
        let mut resources = self.parameters.iter(self.path).filter(|(name, _)| *name != "model");
        if !resources.all(|(_, text)| text.chars().all(is_plain)) {
            return None;
        }
        let place = self.parameters.range("model");
        let target =
            stream.zip(place).and_then(|(stream, place)| PathTarget::new(self.path, place, stream));
        Endpoint::new(dialect, purpose, self.path, query, target)
    }
}

/// Finds the route of a request.
pub fn find<'p>(
    method: &Method,
    path: &'p str,
    headers: &HeaderMap,
) -> Result<RouteMatch<'p>, NoRoute> {
    let mut other = NoRoute::Path;
    for found in matches(path) {
        if found.route.verb.accepts(method) {
            return Ok(found);
        }
        match &mut other {
            NoRoute::Path => {
                other = NoRoute::Method(found.form(headers), vec![found.route.verb.name()]);
            }
            NoRoute::Method(_, allowed) => allowed.push(found.route.verb.name()),
        }
    }
    Err(other)
}

/// The form of an error at a path: that of its route, or the one that its prefix or beginning
/// suggests.
pub fn nearest_form(path: &str) -> FaultForm {
    if let Some(found) = matches(path).next() {
        return found.form(&HeaderMap::new());
    }
    let (prefix, own) = split_prefix(path);
    let prefabs = ["/internal/", "/v1/internal/", "/v1/prefabs", "/v1/public/", "/v1/auth/"];
    if prefix.is_none() && prefabs.iter().any(|start| own.starts_with(start)) {
        return FaultForm::Detail;
    }
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
    let dialect = prefix.or(by_path.map(|(_, dialect)| *dialect));
    FaultForm::Dialect(dialect.unwrap_or(Dialect::OpenaiChat))
}

/// The routes that have a path.
fn matches(path: &str) -> impl Iterator<Item = RouteMatch<'_>> {
    let routes = if leads_elsewhere(path) { &[] } else { ROUTES };
    let (prefix, path) = split_prefix(path);
    routes.iter().filter_map(move |route| {
        let parameters = route.match_path(prefix, path)?;
        Some(RouteMatch { route, prefix, path, parameters })
    })
}

/// Splits a path into its dialect prefix, if there is one, and the remaining path.
fn split_prefix(path: &str) -> (Option<Dialect>, &str) {
    let first = path.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    // MCP has no endpoint of a vendor.
    let dialect = |id| Dialect::from_id(id).filter(|dialect| dialect::codec(*dialect).is_some());
    match first.and_then(|(first, _)| Some((first, dialect(first)?))) {
        Some((first, dialect)) => (Some(dialect), &path[first.len() + 1..]),
        None => (None, path),
    }
}

/// Maximum number of times that escapes are decoded: each server in a chain may decode them once.
const MAX_DECODES: usize = 4;

/// Whether a path contains a segment such as `..`, with which it could reach another endpoint of
/// the vendor. It is decoded repeatedly before the check.
fn leads_elsewhere(path: &str) -> bool {
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
