//! Security schemes as secrets of the prefab.

use toolwright_core::{Json, object};

use super::Refusal;
use super::document::{Document, Format, Node};
use super::name::{identifier, shorten};
use crate::binding::{Credential, Location};

/// Maximum number of alternatives of one operation.
const MAX_ALTERNATIVES: usize = 16;

/// The schemes of a document, and the secrets that its functions need.
pub(super) struct Schemes<'d> {
    document: &'d Document<'d>,
    /// Headers of all operations, with their secrets
    headers: &'d [(String, String)],
    /// The secrets that are used, with their instructions
    secrets: Vec<(String, String)>,
}

/// One way to satisfy a scheme: a credential, with the instructions for each of its secrets.
type Way = (Credential, Vec<(String, String)>);

impl<'d> Schemes<'d> {
    pub(super) fn new(document: &'d Document<'d>, headers: &'d [(String, String)]) -> Schemes<'d> {
        Schemes { document, headers, secrets: Vec::new() }
    }

    /// The alternative credentials of an operation, and the secrets that each call needs.
    pub(super) fn require(
        &mut self,
        operation: &Node<'d>,
    ) -> Result<(Vec<Vec<Credential>>, Vec<String>), Refusal> {
        let required = operation.get("security").or_else(|| self.document.get("security"));
        let (mut alternatives, mut problem) = (Vec::new(), None);
        for requirement in required.iter().flat_map(Node::items) {
            match self.combine(&requirement) {
                Ok(sets) => alternatives.extend(sets),
                Err(refusal) => problem = problem.or(Some(refusal)),
            }
        }
        if let (true, Some(problem)) = (alternatives.is_empty(), problem) {
            return Err(problem);
        }
        alternatives.truncate(MAX_ALTERNATIVES);
        if alternatives.is_empty() && !self.headers.is_empty() {
            alternatives.push(Vec::new());
        }
        for set in &mut alternatives {
            set.extend(self.headers.iter().map(|(name, secret)| {
                let about = format!("The value of the header '{name}'");
                api_key(Location::Header, name, secret, about)
            }));
        }
        for (_, secrets) in alternatives.iter().flatten() {
            for secret in secrets {
                if self.secrets.iter().all(|(name, _)| *name != secret.0) {
                    self.secrets.push(secret.clone());
                }
            }
        }
        let alternatives: Vec<Vec<Credential>> = alternatives
            .into_iter()
            .map(|set| set.into_iter().map(|(own, _)| own).collect())
            .collect();
        let needed = match &alternatives[..] {
            [only] => only.iter().flat_map(Credential::secrets).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        Ok((alternatives, needed))
    }

    /// The sets of credentials that satisfy a requirement: one of each scheme.
    fn combine(&self, requirement: &Node<'d>) -> Result<Vec<Vec<Way>>, Refusal> {
        let mut sets: Vec<Vec<Way>> = vec![Vec::new()];
        for (name, scopes) in requirement.entries() {
            let scopes = scopes.value.as_array().unwrap_or_default().iter();
            let scopes = scopes.filter_map(Json::as_str).map(str::to_owned).collect();
            let options = self.scheme(name, scopes, requirement)?;
            sets = sets
                .iter()
                .flat_map(|set| {
                    options.iter().map(|option| {
                        let mut set = set.clone();
                        set.push(option.clone());
                        set
                    })
                })
                .take(MAX_ALTERNATIVES)
                .collect();
        }
        Ok(sets)
    }

    /// The credentials that satisfy a scheme, the preferred one first.
    fn scheme(&self, name: &str, scopes: Vec<String>, at: &Node<'d>) -> Result<Vec<Way>, Refusal> {
        let schemes = match self.document.version {
            Format::Swagger => self.document.get("securityDefinitions"),
            _ => self.document.get("components").and_then(|own| own.get("securitySchemes")),
        };
        let scheme = schemes.and_then(|own| own.get(name));
        let scheme = scheme.ok_or_else(|| {
            at.refuse(format!("there is no security scheme '{}'", shorten(name, 60)))
        })?;
        let scheme = self.document.resolve(scheme)?;
        let secret: String = identifier(name).chars().take(48).collect();
        let about = scheme.text("description").map(|text| shorten(text, 600)).unwrap_or_default();
        let with = |what: &str| {
            if about.is_empty() { what.to_owned() } else { format!("{what}. {about}") }
        };
        let kind = (
            scheme.text("type").unwrap_or_default(),
            scheme.text("scheme").unwrap_or_default().to_ascii_lowercase(),
        );
        let bearer = |what: &str| {
            (Credential::Bearer { secret: secret.clone() }, vec![(secret.clone(), with(what))])
        };
        Ok(match (kind.0, kind.1.as_str()) {
            ("apiKey", _) => {
                let [place, name] = ["in", "name"].map(|key| scheme.text(key).unwrap_or_default());
                let location = Location::from_name(place)
                    .filter(|location| !matches!(location, Location::Path | Location::Body));
                let problem = "an API key is in a header, the query or a cookie";
                let location = location.ok_or_else(|| scheme.refuse(problem))?;
                let what = format!("The value of the {place} '{name}'");
                vec![api_key(location, name, &secret, with(&what))]
            }
            ("http", "bearer") => vec![bearer("A bearer token")],
            ("http", "basic") | ("basic", _) => {
                let [username, password] =
                    ["username", "password"].map(|part| format!("{secret}_{part}"));
                let secrets = vec![
                    (username.clone(), with("The user name")),
                    (password.clone(), with("The password")),
                ];
                vec![(Credential::Basic { username, password }, secrets)]
            }
            ("oauth2", _) => {
                let own_token = token_url(&scheme).map(|token_url| {
                    let [client_id, client_secret] =
                        ["client_id", "client_secret"].map(|part| format!("{secret}_{part}"));
                    let secrets = vec![
                        (client_id.clone(), with("The id of an OAuth client")),
                        (client_secret.clone(), with("The secret of an OAuth client")),
                    ];
                    (Credential::OAuth { token_url, client_id, client_secret, scopes }, secrets)
                });
                own_token.into_iter().chain([bearer("An OAuth access token")]).collect()
            }
            ("openIdConnect", _) => vec![bearer("An access token of the OpenID provider")],
            (kind, detail) => {
                let reason = format!(
                    "the security scheme '{}' ({}) is not supported",
                    shorten(name, 60),
                    shorten(&format!("{kind} {detail}"), 40).trim()
                );
                return Err(scheme.refuse(reason));
            }
        })
    }

    /// The secrets, as the manifest declares them.
    pub(super) fn finish(self) -> Vec<Json> {
        let secrets = self.secrets.into_iter();
        secrets.map(|(name, about)| object! {"name": name, "instructions": about}.into()).collect()
    }
}

fn api_key(location: Location, name: &str, secret: &str, about: String) -> Way {
    let (name, secret) = (name.to_owned(), secret.to_owned());
    (Credential::ApiKey { location, name, secret: secret.clone() }, vec![(secret, about)])
}

/// The token endpoint of the client credentials grant, if there is one that can be reached.
fn token_url(scheme: &Node<'_>) -> Option<String> {
    let url = match scheme.text("flow") {
        Some("application") => scheme.text("tokenUrl"),
        Some(_) => None,
        None => scheme.value.pointer("/flows/clientCredentials/tokenUrl").and_then(Json::as_str),
    }?;
    let is_absolute = url.starts_with("https://") || url.starts_with("http://");
    is_absolute.then(|| url.to_owned())
}
