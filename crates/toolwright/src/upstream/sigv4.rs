//! Requests to AWS are signed: what is signed is what botocore signs, no more.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};

use super::credential::{AwsKeys, sensitive};

/// The name that Bedrock has in signatures.
const SERVICE: &str = "bedrock";

/// Signs with one account's keys.
#[derive(Clone)]
pub(super) struct Signer {
    credentials: Credentials,
    region: String,
    settings: SigningSettings,
}

impl Signer {
    pub(super) fn new(keys: AwsKeys) -> Signer {
        let token = keys.session_token.map(|token| token.expose().clone());
        let secret = keys.secret_key.expose().clone();
        Signer {
            credentials: Credentials::new(keys.access_key, secret, token, None, "toolwright"),
            region: keys.region,
            settings: SigningSettings::default(),
        }
    }

    /// Adds the headers of a signature; `None` if the request cannot be signed. Signed are the
    /// host, the content type, the time and the token: hops in between may change all others.
    pub(super) fn sign(
        &self,
        uri: &str,
        host: &str,
        headers: &mut HeaderMap,
        body: &[u8],
        time: SystemTime,
    ) -> Option<()> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let signed = kind.map(|kind| (CONTENT_TYPE.as_str(), kind));
        let signed = signed.into_iter().chain([("host", host)]);
        let request = SignableRequest::new("POST", uri, signed, SignableBody::Bytes(body)).ok()?;
        let identity = self.credentials.clone().into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(time)
            .settings(self.settings.clone())
            .build()
            .ok()?;
        let (signature, _) = sign(request, &params.into()).ok()?.into_parts();
        for (name, value) in signature.headers() {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.insert(name, sensitive(value)?);
        }
        Some(())
    }
}
