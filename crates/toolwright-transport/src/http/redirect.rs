//! Follows redirects: where the next request goes, and what it may carry.

use bytes::Bytes;
use fluent_uri::UriRef;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, LOCATION};
use http::uri::Scheme;
use http::{Method, Request, StatusCode, Uri};

use super::policy;

/// Turns a request into the one that a redirect asks for. `None` if the response is no redirect; an error says
/// why it is not followed.
pub(super) fn follow(
    mut request: Request<Bytes>,
    status: StatusCode,
    headers: &HeaderMap,
    is_within_origin: bool,
) -> Result<Option<Request<Bytes>>, &'static str> {
    let keeps_method = match status.as_u16() {
        301 | 302 => *request.method() != Method::POST,
        303 => *request.method() == Method::HEAD,
        307 | 308 => true,
        _ => return Ok(None),
    };
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let target = resolve(request.uri(), location.to_str().unwrap_or_default())
        .ok_or("sent a redirect to an invalid URL")?;
    check(&target).map_err(|_| "sent a redirect to an invalid URL")?;
    if request.uri().scheme() == Some(&Scheme::HTTPS) && target.scheme() != Some(&Scheme::HTTPS) {
        return Err("sent a redirect from https to http, which is not followed");
    }
    if origin(request.uri()) != origin(&target) {
        if is_within_origin {
            return Err("sent a redirect to another origin, which is not followed; use that URL");
        }
        remove_credentials(request.headers_mut());
    }
    if !keeps_method {
        *request.method_mut() = Method::GET;
        *request.body_mut() = Bytes::new();
        request.headers_mut().remove(CONTENT_TYPE);
    }
    *request.uri_mut() = target;
    Ok(Some(request))
}

/// Checks that a URL is absolute, of http or https, and without a user.
pub(super) fn check(uri: &Uri) -> Result<(), &'static str> {
    if uri.scheme() != Some(&Scheme::HTTPS) && uri.scheme() != Some(&Scheme::HTTP) {
        return Err("the URL must begin with https:// or http://");
    }
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err("the URL has a user or a password in it; leave them out");
    }
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || (uri.port_u16().is_none() && authority.len() > host.len()) {
        return Err("the URL has an invalid host or port");
    }
    Ok(())
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> (Option<&str>, Option<String>, u16) {
    (uri.scheme_str(), uri.host().map(str::to_ascii_lowercase), policy::port(uri))
}

/// Removes headers with credentials, by their names, and because they are marked as sensitive.
fn remove_credentials(headers: &mut HeaderMap) {
    headers.remove(AUTHORIZATION);
    headers.remove(COOKIE);
    let sensitive = headers.iter().filter(|(_, value)| value.is_sensitive());
    let sensitive: Vec<_> = sensitive.map(|(name, _)| name.clone()).collect();
    for name in sensitive {
        headers.remove(name);
    }
}

/// Resolves a reference against a base URL.
pub fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let base = fluent_uri::Uri::parse(base.to_string()).ok()?;
    let target = UriRef::parse(location).ok()?.resolve_against(&base).ok()?;
    Uri::try_from(target.as_str()).ok()
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    fn request(url: &str) -> Request<Bytes> {
        let mut secret = HeaderValue::from_static("hush");
        secret.set_sensitive(true);
        Request::post(url)
            .header("authorization", "Bearer hush")
            .header("cookie", "hush=1")
            .header("x-key", secret)
            .header("x-plain", "1")
            .header("content-type", "text/plain")
            .body(Bytes::from_static(b"body"))
            .unwrap()
    }

    fn to(url: &str, status: u16, location: &str) -> Result<Request<Bytes>, &'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_str(location).unwrap());
        let status = StatusCode::from_u16(status).unwrap();
        Ok(follow(request(url), status, &headers, false)?.unwrap())
    }

    #[test]
    fn references_are_resolved() {
        for (location, wanted) in [
            ("/x", "http://a.test:1/x"),
            ("x?y#z", "http://a.test:1/b/x?y"),
            ("../x", "http://a.test:1/x"),
            ("?q=1", "http://a.test:1/b/c?q=1"),
            ("//b.test/x", "http://b.test/x"),
            ("https://b.test", "https://b.test/"),
        ] {
            let found = to("http://a.test:1/b/c", 307, location).unwrap();
            assert_eq!(found.uri().to_string(), wanted, "{location}");
        }
        for location in
            ["http://u:p@b.test/", "ftp://b.test/", "http://", "http://b:99999/", "file:///etc"]
        {
            assert!(to("http://a.test/", 307, location).is_err(), "{location}");
        }
        assert!(to("https://a.test/", 307, "http://a.test/").is_err());
    }

    #[test]
    fn credentials_stay_within_the_origin() {
        let has_credentials = |request: &Request<Bytes>| {
            let has = |name| request.headers().contains_key(name);
            let all = ["authorization", "cookie", "x-key"].map(has);
            assert!(has("x-plain"));
            assert_eq!(all, [all[0]; 3]);
            all[0]
        };
        for (location, wanted) in [
            ("/x", true),
            ("http://A.test:80/x", true),
            ("http://a.test:81/x", false),
            ("https://a.test/x", false),
            ("http://b.test/x", false),
        ] {
            let found = to("http://a.test/", 307, location).unwrap();
            assert_eq!(has_credentials(&found), wanted, "{location}");
        }
    }

    #[test]
    fn the_status_decides_about_method_and_body() {
        for (status, method, body) in [
            (301, Method::GET, ""),
            (302, Method::GET, ""),
            (303, Method::GET, ""),
            (307, Method::POST, "body"),
            (308, Method::POST, "body"),
        ] {
            let found = to("http://a.test/", status, "/x").unwrap();
            assert_eq!((found.method(), &found.body()[..]), (&method, body.as_bytes()));
            assert_eq!(found.headers().contains_key("content-type"), !body.is_empty());
        }
        let none = follow(request("http://a.test/"), StatusCode::OK, &HeaderMap::new(), false);
        assert!(none.unwrap().is_none());
        let mut elsewhere = HeaderMap::new();
        elsewhere.insert(LOCATION, HeaderValue::from_static("http://b.test/"));
        assert!(follow(request("http://a.test/"), StatusCode::FOUND, &elsewhere, true).is_err());
    }
}
