//! AWS Signature Version 4. The same headers are signed as by botocore.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use toolwright_transport::sensitive;

use super::credential::AwsKeys;

/// The service name of Bedrock in signatures.
const SERVICE: &str = "bedrock";

/// Signs requests with the keys of one account.
#[derive(Clone)]
pub(crate) struct Signer {
    credentials: Credentials,
    region: String,
    settings: SigningSettings,
}

impl PartialEq for Signer {
    fn eq(&self, other: &Signer) -> bool {
        self.credentials == other.credentials && self.region == other.region
    }
}

impl Signer {
    pub(crate) fn new(keys: AwsKeys) -> Signer {
        let token = keys.session_token.map(|token| token.expose().clone());
        let secret = keys.secret_key.expose().clone();
        Signer {
            credentials: Credentials::new(keys.access_key, secret, token, None, "toolwright"),
            region: keys.region,
            settings: SigningSettings::default(),
        }
    }

    /// Adds the signature headers; `None` if the request cannot be signed. Only the host, the content type,
    /// the time and the token are signed, since proxies may change other headers.
    pub(crate) fn sign(
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use http::{HeaderValue, Uri};
    use serde_json::Value;

    use super::*;

    /// What botocore signed at 2026-11-15T12:34:56Z.
    const SIGNED: &str = include_str!("../../../../../fixtures/bedrock/signed/botocore.json");
    const TIME: Duration = Duration::from_secs(1_794_746_096);

    #[test]
    fn signatures_equal_those_of_botocore() {
        let cases: Vec<Value> = serde_json::from_str(SIGNED).unwrap();
        assert_eq!(cases.len(), 5);
        for case in cases {
            let text = |key: &str| case[key].as_str().unwrap();
            let mut keys =
                AwsKeys::new(text("access_key"), text("secret_key").into(), text("region"));
            if let Some(token) = case["session_token"].as_str() {
                keys = keys.with_session_token(token.into());
            }
            let url: Uri = text("url").parse().unwrap();
            let host = url.authority().unwrap().as_str();
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let body = text("body").as_bytes();
            let time = UNIX_EPOCH + TIME;
            Signer::new(keys).sign(text("url"), host, &mut headers, body, time).unwrap();
            let wanted = case["headers"].as_object().unwrap();
            assert_eq!(headers.len(), wanted.len(), "{}", text("name"));
            for (name, value) in wanted {
                let name = name.as_str();
                assert_eq!(headers[name].to_str().ok(), value.as_str(), "{}", text("name"));
                assert!(name == "content-type" || headers[name].is_sensitive());
            }
        }
    }
}
