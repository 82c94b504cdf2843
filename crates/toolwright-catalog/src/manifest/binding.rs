//! Reads the member `http` of a function.

use http::HeaderValue;
use http::header::HeaderName;
use toolwright_core::Json;

use super::{Fields, ManifestFault, Node, read_document};
use crate::binding::{
    Binding, Body, Credential, Location, Method, Parameter, Style, check_header, is_token,
    placeholders,
};

/// Reads the members of a kind of credential.
type ReadCredential = fn(&mut Fields<'_>) -> Option<Credential>;

const CREDENTIALS: &[(&str, ReadCredential)] =
    &[("api_key", api_key), ("bearer", bearer), ("basic", basic), ("oauth2", oauth)];

impl Binding {
    /// Reads and checks a binding. Returns all faults, in the order of the document.
    pub fn parse(document: &Json) -> Result<Binding, Vec<ManifestFault>> {
        read_document(document, read)
    }
}

pub(super) fn read(node: Node<'_>) -> Option<Binding> {
    let mut fields = Fields::of(node)?;
    let methods = Method::ALL.map(|method| (method.name(), method));
    let method = fields.require("method").and_then(|node| node.one_of(&methods));
    let path = fields.require("path").and_then(|node| {
        let path = node.text()?;
        let is_path = path.starts_with('/') && !path.contains(['#', '\\']);
        let problem = "a path must begin with '/' and cannot have a fragment";
        node.some_or(is_path.then_some(path), problem)
    });
    let base_url = fields.optional_text("base_url");
    let checked = |node: Node<'_>| {
        let parameter = parameter(node.clone())?;
        check_parameter(&node, &parameter, path);
        Some(parameter)
    };
    let parameters = fields.take("parameters").map_or(Some(Vec::new()), |node| node.each(checked));
    if let (Some(path), Some(parameters)) = (path, &parameters) {
        let is_in_path = |name: &str| {
            let mut placed =
                parameters.iter().filter(|parameter| parameter.location == Location::Path);
            placed.any(|parameter| parameter.name == name)
        };
        for name in placeholders(path).filter(|name| !is_in_path(name)) {
            fields.node.fault_at("/path", format!("there is no parameter '{name}' in the path"));
        }
    }
    let body = fields.optional("body").map_or(Some(None), |node| body(node).map(Some));
    let security = fields
        .take("security")
        .map_or(Some(Vec::new()), |node| node.each(|set| set.each(credential)));
    fields.finish();
    let (path, parameters, body) = (path?.to_owned(), parameters?, body?);
    Some(Binding { method: method?, path, base_url, parameters, body, security: security? })
}

fn parameter(node: Node<'_>) -> Option<Parameter> {
    let mut fields = Fields::of(node)?;
    let name = fields.required_text("name");
    let argument = fields.optional_text("argument");
    let locations = Location::ALL.map(|location| (location.name(), location));
    let location = fields.take("in").map_or(Some(Location::Body), |node| node.one_of(&locations));
    let styles = Style::ALL.map(|style| (style.name(), style));
    let style = fields.optional("style").and_then(|node| node.one_of(&styles));
    let explode = fields.optional("explode").and_then(|node| node.flag());
    let allow_reserved = fields.take("allow_reserved").and_then(|node| node.flag());
    let content_type = fields.optional_text("content_type");
    let file = fields.optional_text("file");
    fields.finish();
    let (name, location) = (name?, location?);
    let allow_reserved = allow_reserved.unwrap_or_default();
    Some(Parameter { name, argument, location, style, explode, allow_reserved, content_type, file })
}

/// Checks a parameter that is not in the body.
fn check_parameter(node: &Node<'_>, parameter: &Parameter, path: Option<&str>) {
    let name = parameter.name.as_str();
    let is_in_path =
        || path.is_none_or(|path| placeholders(path).any(|placeholder| placeholder == name));
    let (member, problem) = match parameter.location {
        Location::Path if !is_in_path() => ("/name", Some("the path has no such name in braces")),
        Location::Header => ("/name", check_header(name).err()),
        Location::Cookie if !is_token(name) => {
            ("/name", Some("this is not a valid name of a cookie"))
        }
        Location::Body => ("/in", Some("a parameter is in: path, query, header or cookie")),
        _ => return,
    };
    if let Some(problem) = problem {
        node.fault_at(member, problem);
    }
}

fn body(node: Node<'_>) -> Option<Body> {
    let mut fields = Fields::of(node)?;
    let content_type = fields.require("content_type").and_then(|node| {
        let text = node.text()?;
        let is_valid = HeaderValue::from_str(text).is_ok();
        node.some_or(is_valid.then(|| text.to_owned()), "this is not a valid media type")
    });
    let required = fields.take("required").and_then(|node| node.flag()).unwrap_or_default();
    let (argument, file) = (fields.optional_text("argument"), fields.optional_text("file"));
    let properties =
        fields.take("properties").map_or(Some(Vec::new()), |node| node.each(parameter));
    let has_properties = properties.as_ref().is_some_and(|list| !list.is_empty());
    let sources = [argument.is_some(), file.is_some(), has_properties];
    if sources.into_iter().filter(|has| *has).count() > 1 {
        fields.node.fault("a body is an argument, a file or properties, not two of them");
    }
    fields.finish();
    let (content_type, properties) = (content_type?, properties?);
    Some(Body { content_type, required, argument, file, properties })
}

fn credential(node: Node<'_>) -> Option<Credential> {
    let mut fields = Fields::of(node)?;
    let read = fields.require("type")?.one_of(CREDENTIALS)?;
    let credential = read(&mut fields);
    fields.finish();
    credential
}

fn api_key(fields: &mut Fields<'_>) -> Option<Credential> {
    let places = [Location::Query, Location::Header, Location::Cookie];
    let places = places.map(|location| (location.name(), location));
    let location = fields.require("in").and_then(|node| node.one_of(&places));
    let [name, secret] = ["name", "secret"].map(|key| fields.required_text(key));
    let (location, name) = (location?, name?);
    let is_valid = match location {
        Location::Query => !name.is_empty(),
        Location::Header => HeaderName::from_bytes(name.as_bytes())
            .is_ok_and(|name| !toolwright_transport::FRAMING.contains(&name)),
        _ => is_token(&name),
    };
    if !is_valid {
        fields.node.fault_at(
            "/name",
            format!("this is not a valid name of an API key in the {}", location.name()),
        );
    }
    Some(Credential::ApiKey { location, name, secret: secret? })
}

fn bearer(fields: &mut Fields<'_>) -> Option<Credential> {
    fields.required_text("secret").map(|secret| Credential::Bearer { secret })
}

fn basic(fields: &mut Fields<'_>) -> Option<Credential> {
    let [username, password] = ["username", "password"].map(|key| fields.required_text(key));
    Some(Credential::Basic { username: username?, password: password? })
}

fn oauth(fields: &mut Fields<'_>) -> Option<Credential> {
    let keys = ["token_url", "client_id", "client_secret"];
    let [token_url, client_id, client_secret] = keys.map(|key| fields.required_text(key));
    let scopes = fields
        .take("scopes")
        .map_or(Some(Vec::new()), |node| node.each(|scope| scope.text().map(str::to_owned)));
    let (client_id, client_secret, scopes) = (client_id?, client_secret?, scopes?);
    Some(Credential::OAuth { token_url: token_url?, client_id, client_secret, scopes })
}
