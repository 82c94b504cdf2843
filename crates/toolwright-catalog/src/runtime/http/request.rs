//! A request from the arguments of a call.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderValue};
use http::{HeaderName, Request};
use toolwright_core::Json;
use toolwright_core::percent::decode;
use toolwright_json::Object;
use toolwright_runtime::ToolError;

use super::style::{self, Escape};
use super::{InputFile, body};
use crate::binding::{Binding, Location, Method, Parameter};

/// Media types of answers, in the order of preference.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.8");

/// Number of times that a value of the path is decoded for the check.
const MAX_DECODINGS: usize = 4;

/// The parts of a request, to which credentials are added.
pub(super) struct Draft {
    method: Method,
    url: String,
    query: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<(String, Bytes)>,
}

/// An error of the arguments: the request is not sent.
fn refused(message: impl Into<String>) -> ToolError {
    ToolError::new(message).with_kind("InvalidArguments")
}

/// Whether a server that decodes a value of the path once more, or takes `\` for `/`, would leave the segment. A `/`
/// itself is sent as one character of the value.
fn leaves_segment(value: &str) -> bool {
    let mut decoded = value.to_owned();
    for _ in 0..MAX_DECODINGS {
        decoded = decode(&decoded);
    }
    let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
    decoded != decode(&decoded)
        || decoded.contains('\\')
        || decoded.matches('/').count() != value.matches('/').count()
        || decoded.split('/').any(is_dots)
}

impl Draft {
    /// Writes the arguments as the binding says.
    pub(super) fn bound(
        base_url: &str,
        binding: &Binding,
        arguments: &Object,
        files: &[InputFile],
    ) -> Result<Draft, ToolError> {
        let base_url = binding.base_url.as_deref().unwrap_or(base_url);
        let (path, fixed_query) = binding.path.split_once('?').unwrap_or((&binding.path, ""));
        let mut path = path.to_owned();
        let mut draft = Draft::new(binding.method, String::new());
        draft.query.extend(fixed_query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        }));
        for parameter in &binding.parameters {
            let value = arguments.get(parameter.argument()).filter(|value| !value.is_null());
            match (parameter.location, value) {
                (Location::Path, value) => {
                    let text = value.map(|value| style::text(parameter, value));
                    let text = text.filter(|text| !text.is_empty());
                    let text = text.ok_or_else(|| {
                        refused(format!(
                            "`{}` is part of the path and cannot be empty",
                            parameter.argument()
                        ))
                    })?;
                    if leaves_segment(&decode(&text)) {
                        return Err(refused(format!(
                            "`{}` is one segment of the path and cannot have `\\`, the segments `.` and `..`, or \
                             escapes of `/`; write its value without escapes",
                            parameter.argument()
                        )));
                    }
                    path = path.replace(&format!("{{{}}}", parameter.name), &text);
                }
                (_, None) => {}
                (_, Some(value)) => draft.set(parameter, value)?,
            }
        }
        if path.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(refused("a path cannot have the segments `.` and `..`"));
        }
        draft.url = format!("{}{path}", base_url.trim_end_matches('/'));
        if let Some(body) = &binding.body {
            draft.body = body::write(body, arguments, files)?;
        }
        Ok(draft)
    }

    /// Writes all arguments as JSON, for a function without a binding.
    pub(super) fn plain(base_url: &str, function: &str, arguments: &Object) -> Draft {
        let url = format!("{}/{}", base_url.trim_end_matches('/'), Escape::All.apply(function));
        let body = Some(("application/json".to_owned(), Bytes::from(arguments.compact())));
        Draft { body, ..Draft::new(Method::Post, url) }
    }

    fn new(method: Method, url: String) -> Draft {
        let (query, cookies, headers) = Default::default();
        Draft { method, url, query, cookies, headers, body: None }
    }

    /// Sets a header, a cookie or a part of the query.
    fn set(&mut self, parameter: &Parameter, value: &Json) -> Result<(), ToolError> {
        match parameter.location {
            Location::Query => self.query.extend(style::pairs(parameter, value, Escape::All)),
            Location::Cookie => self.cookies.extend(style::pairs(parameter, value, Escape::All)),
            Location::Header => {
                self.set_header(&parameter.name, &style::text(parameter, value), false)
                    .ok_or_else(|| {
                        let name = parameter.argument();
                        refused(format!("`{name}` has characters that no header can have"))
                    })?;
            }
            Location::Path | Location::Body => {}
        }
        Ok(())
    }

    /// Sets a credential. None if it has characters that its place cannot have.
    pub(super) fn set_credential(
        &mut self,
        location: Location,
        name: &str,
        text: &str,
    ) -> Option<()> {
        match location {
            Location::Query => self.query.push((Escape::All.apply(name), Escape::All.apply(text))),
            Location::Cookie => {
                let is_legal =
                    text.bytes().all(|byte| byte.is_ascii_graphic() && !b",;\"\\".contains(&byte));
                is_legal.then(|| self.cookies.push((name.to_owned(), text.to_owned())))?;
            }
            _ => self.set_header(name, text, true)?,
        }
        Some(())
    }

    /// Sets a header, whose value may be UTF-8.
    pub(super) fn set_header(&mut self, name: &str, text: &str, is_secret: bool) -> Option<()> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let mut value = HeaderValue::from_bytes(text.as_bytes()).ok()?;
        value.set_sensitive(is_secret);
        self.headers.retain(|(own, _)| *own != name);
        self.headers.push((name, value));
        Some(())
    }

    /// The request.
    pub(super) fn finish(self) -> Result<Request<Bytes>, ToolError> {
        let join = |pairs: &[(String, String)], separator| {
            let pair = |(name, value): &(String, String)| format!("{name}={value}");
            pairs.iter().map(pair).collect::<Vec<_>>().join(separator)
        };
        let mut url = self.url;
        if !self.query.is_empty() {
            url = format!("{url}?{}", join(&self.query, "&"));
        }
        let mut request = Request::builder().method(self.method).uri(url);
        if let Some((content_type, _)) = &self.body {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if !self.cookies.is_empty() {
            let mut cookies = HeaderValue::from_str(&join(&self.cookies, "; "))
                .map_err(|_| refused("a cookie has characters that no header can have"))?;
            cookies.set_sensitive(true);
            request = request.header(COOKIE, cookies);
        }
        if let Some(headers) = request.headers_mut() {
            headers.insert(ACCEPT, ACCEPTED);
            headers.extend(self.headers);
        }
        let body = self.body.map(|(_, bytes)| bytes).unwrap_or_default();
        // The URL may hold a credential, so the error is not shown.
        request.body(body).map_err(|_| refused("the arguments do not form a valid URL"))
    }
}
