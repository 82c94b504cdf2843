//! The request of a function: the member `http` of its definition.

use std::ops::Not;

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderName};
use serde::{Deserialize, Serialize};
use toolwright_core::Json;
use toolwright_json::SerdeError;

/// How arguments become a request.
///
/// ```
/// use toolwright_core::Json;
/// use toolwright_catalog::binding::Binding;
///
/// let binding = r#"{
///     "method": "PUT",
///     "path": "/pets/{id}",
///     "parameters": [
///         {"name": "id", "in": "path"},
///         {"name": "X-Trace", "argument": "trace", "in": "header"},
///         {"name": "tags", "in": "query", "explode": false}
///     ],
///     "body": {"content_type": "application/json", "properties": [{"name": "name"}]},
///     "security": [[{"type": "bearer", "secret": "token"}]]
/// }"#;
/// let binding = Binding::parse(&Json::parse(binding).unwrap()).unwrap();
/// assert_eq!(binding.parameters[1].argument(), "trace");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Binding {
    /// The method
    pub method: Method,
    /// The path, with the names of parameters in braces. It may have a query
    pub path: String,
    /// The address that the path is appended to, if it is not that of the prefab
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The parameters outside of the body
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// The body, if it has one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Alternative sets of credentials. The first one whose secrets are configured is sent; an empty one means
    /// that no credential is required
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<Vec<Credential>>,
}

/// A method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "their names are those of HTTP")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// Whether a repeated request has no further effect (RFC 9110 §9.2).
    pub(crate) fn is_repeatable(self) -> bool {
        !matches!(self, Method::Post | Method::Patch)
    }
}

impl From<Method> for http::Method {
    fn from(method: Method) -> http::Method {
        match method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        }
    }
}

/// Where a value is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// In the path
    Path,
    /// In the query
    Query,
    /// As a header
    Header,
    /// In the header `cookie`
    Cookie,
    /// As a member of the body
    #[default]
    Body,
}

/// How an array or an object becomes text: the styles of OpenAPI, and the tabs of Swagger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `blue,black`
    Simple,
    /// `.blue.black`
    Label,
    /// `;color=blue,black`
    Matrix,
    /// `color=blue&color=black`
    Form,
    /// `color=blue%20black`
    SpaceDelimited,
    /// `color=blue%7Cblack`
    PipeDelimited,
    /// `color=blue%09black`
    TabDelimited,
    /// `color%5BR%5D=100`
    DeepObject,
}

/// A value of a request: a parameter, or a member of its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in the request
    pub name: String,
    /// The name of the argument, if it differs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Where it is sent
    #[serde(rename = "in", default, skip_serializing_if = "Location::is_body")]
    pub location: Location,
    /// How arrays and objects are written; by default `form` in queries, cookies and forms, `simple` elsewhere
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether each item or member is written separately; by default if the style is `form`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether reserved characters are sent as they are, in queries and forms
    #[serde(default, skip_serializing_if = "Not::not")]
    pub allow_reserved: bool,
    /// The media type of the value. JSON is written as its text, unless there is a style
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The input file that is the value, in a multipart body
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Body {
    /// The media type
    pub content_type: String,
    /// Whether a body is sent if none of its arguments is given
    #[serde(default, skip_serializing_if = "Not::not")]
    pub required: bool,
    /// The argument that is the body
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The input file that is the body
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The arguments that are members of the body
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Parameter>,
}

/// A credential, from secrets of the prefab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Credential {
    /// A secret as a parameter
    ApiKey {
        /// Where it is sent
        #[serde(rename = "in")]
        location: Location,
        /// The name in the request
        name: String,
        /// The name of the secret
        secret: String,
    },
    /// A secret as a bearer token
    Bearer {
        /// The name of the secret
        secret: String,
    },
    /// A user name and a password
    Basic {
        /// The name of the secret that is the user name
        username: String,
        /// The name of the secret that is the password
        password: String,
    },
    /// A token that is obtained with client credentials (OAuth 2.0), and refreshed
    #[serde(rename = "oauth2")]
    OAuth {
        /// The token endpoint
        token_url: String,
        /// The name of the secret that is the client's id
        client_id: String,
        /// The name of the secret that is the client's secret
        client_secret: String,
        /// The scopes that the function needs
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scopes: Vec<String>,
    },
}

impl Location {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_body(&self) -> bool {
        *self == Location::Body
    }
}

impl Parameter {
    /// Creates a parameter with the default style of its location.
    pub fn new(name: impl Into<String>, location: Location) -> Parameter {
        Parameter {
            name: name.into(),
            argument: None,
            location,
            style: None,
            explode: None,
            allow_reserved: false,
            content_type: None,
            file: None,
        }
    }

    /// Whether it is written in a style, in place of its media type.
    pub(crate) fn has_style(&self) -> bool {
        self.style.is_some() || self.explode.is_some() || self.allow_reserved
    }

    /// Returns the name of the argument.
    pub fn argument(&self) -> &str {
        self.argument.as_ref().unwrap_or(&self.name)
    }
}

impl Credential {
    /// Returns the names of the secrets that it needs.
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Credential::ApiKey { secret, .. } | Credential::Bearer { secret } => vec![secret],
            Credential::Basic { username, password } => vec![username, password],
            Credential::OAuth { client_id, client_secret, .. } => vec![client_id, client_secret],
        }
    }
}

/// A fault of a binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {problem}")]
#[non_exhaustive]
pub struct BindingError {
    /// JSON Pointer into the binding
    pub pointer: String,
    /// The problem and the remedy
    pub problem: String,
}

impl From<SerdeError> for BindingError {
    fn from(error: SerdeError) -> BindingError {
        BindingError { pointer: error.path().to_owned(), problem: error.message().to_owned() }
    }
}

impl Body {
    /// Creates a body without content.
    pub fn new(content_type: impl Into<String>) -> Body {
        let (argument, file, properties) = Default::default();
        Body { content_type: content_type.into(), required: false, argument, file, properties }
    }
}

impl Binding {
    /// Creates the binding of a request without parameters.
    pub fn new(method: Method, path: impl Into<String>) -> Binding {
        let (base_url, parameters, body, security) = Default::default();
        Binding { method, path: path.into(), base_url, parameters, body, security }
    }

    /// Reads and checks a binding.
    pub fn parse(document: &Json) -> Result<Binding, BindingError> {
        let binding: Binding = document.to()?;
        binding.check().map_err(|(pointer, problem)| BindingError { pointer, problem })?;
        Ok(binding)
    }

    /// Returns the binding as JSON.
    pub fn to_json(&self) -> Json {
        Json::from_serialize(self).unwrap_or_default()
    }

    /// Returns the arguments that it reads.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let body = self.body.iter();
        let whole = body.clone().filter_map(|body| body.argument.as_deref());
        let properties = body.flat_map(|body| &body.properties);
        let properties = properties.filter(|own| own.file.is_none()).map(Parameter::argument);
        self.parameters.iter().map(Parameter::argument).chain(whole).chain(properties)
    }

    /// Returns the keys of the input files that it sends.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let body = self.body.iter();
        let parts = body.clone().flat_map(|body| &body.properties);
        let parts = parts.filter_map(|own| own.file.as_deref());
        body.filter_map(|body| body.file.as_deref()).chain(parts)
    }

    fn check(&self) -> Result<(), (String, String)> {
        let fault = |pointer: String, problem: &str| Err((pointer, problem.to_owned()));
        if !self.path.starts_with('/') || self.path.contains(['#', '\\']) {
            return fault("/path".into(), "a path must begin with '/' and cannot have a fragment");
        }
        for name in placeholders(&self.path) {
            let is_parameter = |own: &Parameter| own.location == Location::Path && own.name == name;
            if !self.parameters.iter().any(is_parameter) {
                let problem = format!("there is no parameter '{name}' in the path");
                return Err(("/path".into(), problem));
            }
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            let (at, name) = (format!("/parameters/{index}"), parameter.name.as_str());
            match parameter.location {
                Location::Path if !placeholders(&self.path).any(|own| own == name) => {
                    return fault(at + "/name", "the path has no such name in braces");
                }
                Location::Header => check_header(name).or_else(|why| fault(at + "/name", why))?,
                Location::Body => {
                    return fault(at, "a parameter is in: path, query, header or cookie");
                }
                Location::Cookie if !is_token(name) => {
                    return fault(at + "/name", "this is not a valid name of a cookie");
                }
                _ => {}
            }
        }
        for (index, set) in self.security.iter().enumerate() {
            for (inner, credential) in set.iter().enumerate() {
                let Credential::ApiKey { location, name, .. } = credential else { continue };
                let is_valid = match location {
                    Location::Query => !name.is_empty(),
                    Location::Header => HeaderName::from_bytes(name.as_bytes())
                        .is_ok_and(|name| !toolwright_transport::FRAMING.contains(&name)),
                    Location::Cookie => is_token(name),
                    Location::Path | Location::Body => false,
                };
                if !is_valid {
                    let problem =
                        "an API key is in a header, the query or a cookie, with a valid name";
                    return fault(format!("/security/{index}/{inner}"), problem);
                }
            }
        }
        let Some(body) = &self.body else { return Ok(()) };
        let sources = [body.argument.is_some(), body.file.is_some(), !body.properties.is_empty()];
        if sources.into_iter().filter(|has| *has).count() > 1 {
            return fault(
                "/body".into(),
                "a body is an argument, a file or properties, not two of them",
            );
        }
        if http::HeaderValue::from_str(&body.content_type).is_err() {
            return fault("/body/content_type".into(), "this is not a valid media type");
        }
        Ok(())
    }
}

/// Returns the names in braces.
pub(crate) fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// Whether a function may set a header. Those of the connection are the transport's.
pub(crate) fn check_header(name: &str) -> Result<(), &'static str> {
    const OWNED: [HeaderName; 3] = [AUTHORIZATION, CONTENT_TYPE, COOKIE];
    let name = HeaderName::from_bytes(name.as_bytes());
    let name = name.map_err(|_| "this is not a valid header name")?;
    if OWNED.contains(&name) || toolwright_transport::FRAMING.contains(&name) {
        return Err(
            "this header is not a parameter: it belongs to the connection, the body or security",
        );
    }
    Ok(())
}

/// Whether a text is a token of HTTP (RFC 9110 §5.6.2), as names of cookies are.
fn is_token(text: &str) -> bool {
    !text.is_empty() && HeaderName::from_bytes(text.as_bytes()).is_ok()
}
