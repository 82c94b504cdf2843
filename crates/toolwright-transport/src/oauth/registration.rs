//! Dynamic registration of clients (RFC 7591).

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::client::{ClientAuthentication, OAuthClient};
use super::error::OAuthError;
use super::metadata::ServerMetadata;
use super::request::Requester;
use crate::http::HttpClient;
use crate::secret::SecretString;

#[derive(Serialize)]
struct RegistrationRequest<'a> {
    client_name: &'a str,
    redirect_uris: &'a [&'a str],
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
}

#[derive(Deserialize)]
struct RegistrationAnswer {
    client_id: String,
    client_secret: Option<SecretString>,
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client on the user's machine for logins of users: a public one, or one with a secret if the server
/// wants or gives one.
pub async fn register(
    http: &HttpClient,
    server: ServerMetadata,
    name: &str,
    redirect_uris: &[&str],
) -> Result<OAuthClient, OAuthError> {
    let Some(url) = &server.registration_endpoint else {
        let why = "does not register clients; register one with it and configure its id";
        return Err(OAuthError::Unsupported { issuer: server.issuer, why });
    };
    let document = RegistrationRequest {
        client_name: name,
        redirect_uris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: method(&server),
        application_type: "native",
    };
    // Strings can always be written.
    let body = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
    let requester = Requester::new(http);
    let answer: RegistrationAnswer =
        requester.post(url, "application/json", None, body, &[]).await?;
    let authentication = match (answer.client_secret, answer.token_endpoint_auth_method.as_deref())
    {
        (None, _) | (_, Some("none")) => ClientAuthentication::None,
        (Some(secret), None) => ClientAuthentication::with_secret(secret, &server),
        (Some(secret), Some("client_secret_basic")) => ClientAuthentication::Basic(secret),
        (Some(secret), Some("client_secret_post")) => ClientAuthentication::Post(secret),
        _ => {
            let why = "wants neither client_secret_basic nor client_secret_post; configure a client that has one";
            return Err(OAuthError::Unsupported { issuer: server.issuer, why });
        }
    };
    Ok(OAuthClient::new(http, server, answer.client_id).with_authentication(authentication))
}

/// How a client authenticates that has no secret yet.
fn method(server: &ServerMetadata) -> &'static str {
    let supported = &server.token_endpoint_auth_methods_supported;
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    let mut known = methods.into_iter().filter(|method| supported.iter().any(|own| own == method));
    known.next().unwrap_or("none")
}
