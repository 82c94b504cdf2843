//! Rejects requests that web pages send from a browser on this machine. A loopback port without keys is
//! open to every local program, but must not be open to web pages.
//!
//! `Origin` identifies a page of another site. A page whose host name resolves to this machine (DNS
//! rebinding) has the same origin as the gateway and is identified by `Host`.

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, Uri, header};
use toolwright_core::{Fault, FaultClass};

/// Refuses a request that a browser sends for a page of another site.
pub(crate) fn check_origin(headers: &HeaderMap) -> Result<(), Fault> {
    if !is_from_another_site(headers) {
        return Ok(());
    }
    let message = "A page of another site sent this request, and the gateway requires no key. \
                   Configure client keys to serve pages.";
    Err(Fault::new(FaultClass::Forbidden, message))
}

/// Whether a browser sent a request for a page of another site.
pub(crate) fn is_from_another_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    !origin.as_ref().and_then(Uri::host).is_some_and(is_local)
}

/// Refuses a request for another host than this machine. Browsers always send the host.
pub(crate) fn check_host(headers: &HeaderMap, uri: &Uri) -> Result<(), Fault> {
    let named = headers.get_all(header::HOST).iter();
    let is_fine = |host: &http::HeaderValue| {
        let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        authority.is_some_and(|own| is_local(own.host()))
    };
    // In HTTP/2 the target contains the host.
    if uri.host().is_none_or(is_local) && named.into_iter().all(is_fine) {
        return Ok(());
    }
    let message = "The header `Host` names another machine, and the gateway requires no key. Use \
                   localhost or 127.0.0.1, or configure client keys.";
    Err(Fault::new(FaultClass::Forbidden, message))
}

/// Whether a host can only mean this machine. Docker's name for it is in no public DNS.
fn is_local(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            matches!(&*host, "localhost" | "host.docker.internal") || host.ends_with(".localhost")
        }
    }
}
