//! The connection to a Temporal server.

use std::time::Duration;

use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};

use super::TemporalError;

/// Where a Temporal server is.
#[derive(Debug, Clone)]
pub struct Address {
    target: String,
    namespace: String,
    api_key: Option<String>,
}

impl Address {
    /// A server at `HOST:PORT`, with the namespace `default`. An address that starts with `https://` is reached by TLS.
    pub fn new(target: impl Into<String>) -> Address {
        Address { target: target.into(), namespace: "default".to_owned(), api_key: None }
    }

    /// Sets the namespace.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Address {
        self.namespace = namespace.into();
        self
    }

    /// Sets the API key. The server is reached by TLS then.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Address {
        self.api_key = Some(key.into());
        self
    }
}

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Connects to a server.
pub(super) async fn connect(address: &Address) -> Result<Client, TemporalError> {
    let target = &address.target;
    let url = if target.contains("://") { target.clone() } else { format!("http://{target}") };
    let url = url.parse::<temporalio_client::Url>().map_err(|error| {
        TemporalError(format!(
            "'{target}' is not the address of a server, such as 127.0.0.1:7233: {error}"
        ))
    })?;
    let failed = |error: &dyn std::fmt::Display| {
        TemporalError(format!("no Temporal server answers at {target}: {error}"))
    };
    let options = ConnectionOptions::new(url)
        .identity("toolwright")
        .connect_timeout(CONNECT)
        .maybe_api_key(address.api_key.clone())
        .build();
    let connection = tokio::time::timeout(CONNECT, Connection::connect(options))
        .await
        .map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))?;
    Client::new(connection, ClientOptions::new(address.namespace.clone()).build())
        .map_err(|error| failed(&error))
}
