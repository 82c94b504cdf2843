//! Redacts secrets that a server received and sends back.

use std::collections::VecDeque;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use toolwright_runtime::redact::known::{KnownSecrets, MIN_SECRET};
use toolwright_transport::oauth::Token;
use toolwright_transport::secret::SecretString;

use super::Address;
use crate::message::Message;
use crate::redaction;

/// Number of access tokens that are remembered: the present one, and those that it replaced.
const MAX_TOKENS: usize = 4;

/// The secrets that a server received over a connection.
#[derive(Default)]
pub(super) struct SentSecrets {
    /// Values of the environment or of headers
    configured: Vec<SecretString>,
    tokens: Mutex<Tokens>,
}

#[derive(Default)]
struct Tokens {
    latest: VecDeque<Arc<Token>>,
    /// All secrets; computed when they are needed
    known: Option<Arc<KnownSecrets>>,
}

impl SentSecrets {
    /// Collects what every connection to an address sends.
    pub(super) fn of(address: &Address) -> SentSecrets {
        let mut configured = Vec::new();
        match address {
            Address::Command(command) => {
                configured.extend(command.environment.iter().map(|(_, value)| value.clone()));
            }
            Address::Url(url) => {
                let headers = url.http.headers().iter().filter(|(_, value)| value.is_sensitive());
                for (name, value) in headers {
                    let Ok(value) = value.to_str() else { continue };
                    configured.push(value.into());
                    // A server may repeat a token without the scheme before it.
                    let token = value.split_once(' ').filter(|_| *name == AUTHORIZATION);
                    configured.extend(token.map(|(_, token)| token.trim().into()));
                }
            }
        }
        SentSecrets { configured, tokens: Mutex::default() }
    }

    /// Adds an access token.
    pub(super) fn add(&self, token: &Arc<Token>) {
        let mut tokens = self.tokens.lock();
        if tokens.latest.iter().any(|known| Arc::ptr_eq(known, token)) {
            return;
        }
        tokens.latest.push_front(token.clone());
        tokens.latest.truncate(MAX_TOKENS);
        tokens.known = None;
    }

    /// Redacts a message of the server.
    pub(super) fn message(&self, message: Message) -> Message {
        redaction::message(&self.known(), message)
    }

    /// Redacts a text of the server.
    pub(super) fn text(&self, text: &str) -> String {
        self.known().text(text).into_owned()
    }

    fn known(&self) -> Arc<KnownSecrets> {
        let mut tokens = self.tokens.lock();
        let Tokens { latest, known } = &mut *tokens;
        let compute = || {
            let access = latest.iter().map(|token| token.access());
            // Redacting a shorter one would damage texts that have it by chance.
            let secrets = self.configured.iter().chain(access).map(|own| own.expose().as_str());
            Arc::new(KnownSecrets::new(secrets.filter(|secret| secret.len() >= MIN_SECRET)))
        };
        known.get_or_insert_with(compute).clone()
    }
}
