//! The request of a function: the member `http` of its definition.

use std::ops::Not;

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderName};
use serde::Serialize;
use toolwright_core::Json;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Binding {
    /// The method
    pub method: Method,
    /// The path, with the names of parameters in braces. It may have a query
    pub path: String,
    /// The address that the path is appended to, if it is not that of the prefab
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The parameters outside of the body
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// The body, if it has one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Alternative sets of credentials. The first one whose secrets are configured is sent; an empty one means
    /// that no credential is required
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<Vec<Credential>>,
}

toolwright_json::words! {
    /// A method of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "UPPERCASE")]
    #[allow(missing_docs, reason = "their names are those of HTTP")]
    pub enum Method: name {
        Get = "GET",
        Head = "HEAD",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
        Delete = "DELETE",
    }
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

toolwright_json::words! {
    /// Where a value is sent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Location: name, from_name {
        /// In the path
        Path = "path",
        /// In the query
        Query = "query",
        /// As a header
        Header = "header",
        /// In the header `cookie`
        Cookie = "cookie",
        /// As a member of the body
        #[default]
        Body = "body",
    }
}

toolwright_json::words! {
    /// How an array or an object becomes text: the styles of OpenAPI, and the tabs of Swagger.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Style: name, from_name {
        /// `blue,black`
        Simple = "simple",
        /// `.blue.black`
        Label = "label",
        /// `;color=blue,black`
        Matrix = "matrix",
        /// `color=blue&color=black`
        Form = "form",
        /// `color=blue%20black`
        SpaceDelimited = "spaceDelimited",
        /// `color=blue%7Cblack`
        PipeDelimited = "pipeDelimited",
        /// `color=blue%09black`
        TabDelimited = "tabDelimited",
        /// `color%5BR%5D=100`
        DeepObject = "deepObject",
    }
}

/// A value of a request: a parameter, or a member of its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in the request
    pub name: String,
    /// The name of the argument, if it differs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Where it is sent
    #[serde(rename = "in", skip_serializing_if = "Location::is_body")]
    pub location: Location,
    /// How arrays and objects are written; by default `form` in queries, cookies and forms, `simple` elsewhere
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether each item or member is written separately; by default if the style is `form`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether reserved characters are sent as they are, in queries and forms
    #[serde(skip_serializing_if = "Not::not")]
    pub allow_reserved: bool,
    /// The media type of the value. JSON is written as its text, unless there is a style
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The input file that is the value, in a multipart body
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Body {
    /// The media type
    pub content_type: String,
    /// Whether a body is sent if none of its arguments is given
    #[serde(skip_serializing_if = "Not::not")]
    pub required: bool,
    /// The argument that is the body
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The input file that is the body
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The arguments that are members of the body
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Parameter>,
}

/// A credential, from secrets of the prefab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
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
        #[serde(skip_serializing_if = "Vec::is_empty")]
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
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && HeaderName::from_bytes(text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_they_are_read() {
        fn written(value: impl Serialize) -> String {
            Json::from_serialize(&value).unwrap().as_str().unwrap().to_owned()
        }
        assert_eq!(Method::ALL.map(written), Method::ALL.map(Method::name));
        assert_eq!(Location::ALL.map(written), Location::ALL.map(Location::name));
        assert_eq!(Style::ALL.map(written), Style::ALL.map(Style::name));
    }
}
