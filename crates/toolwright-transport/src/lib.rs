//! The client side of HTTP: connections, proxies, TLS, deadlines, limits, an OAuth client, and secrets.
//!
//! - [`HttpClient`] sends requests to one host or to many, through a [`Proxy`] if there is one, to the addresses that
//!   an [`AddressPolicy`] allows, within [`Deadlines`]. [`Incoming`] is its response.
//! - [`oauth`] gets, stores and refreshes access tokens.
//! - [`Secret`](secret::Secret) is a value that cannot be printed; [`private_file`] writes files that only their
//!   owner may read, and [`key_file`] keeps random keys in such files.
//! - [`environment`] looks variables up by a function, so that a test can replace them.
//!
//! ```
//! # #[cfg(not(feature = "http"))]
//! # fn main() {}
//! # #[cfg(feature = "http")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::Request;
//! use toolwright_transport::secret::SecretString;
//! use toolwright_transport::{Deadlines, HttpClient};
//!
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let url = format!("http://{}/forecast", listener.local_addr()?);
//! # let server = std::thread::spawn(move || {
//! #     use std::io::{Read, Write};
//! #     let (mut connection, _) = listener.accept().unwrap();
//! #     let mut request = [0; 1000];
//! #     let read = connection.read(&mut request).unwrap();
//! #     connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nsunny").unwrap();
//! #     String::from_utf8_lossy(&request[..read]).to_lowercase()
//! # });
//! let token = SecretString::from("hunter2");
//! let client = HttpClient::new("the forecast")?
//!     .with_deadlines(Deadlines::new().with_first_byte(Duration::from_secs(10)))
//!     .with_header("authorization", &format!("Bearer {}", token.expose()))?;
//!
//! let response = client.send(Request::get(&url).body(Bytes::new())?).await?;
//! assert_eq!(response.status, 200);
//! // At most this many bytes are read.
//! assert_eq!(response.body.collect(1 << 20).await?, "sunny");
//! assert_eq!(format!("{token:?}"), "Secret(…)");
//! # assert!(server.join().unwrap().contains("authorization: bearer hunter2"));
//! # Ok(())
//! # }
//! ```
//!
//! The crate knows neither tools nor vendors. It promises no stability of its own: depend on `toolwright`, which
//! exports it.
//!
//! # Features
//!
//! - `http`: the HTTP client
//! - `oauth`: the OAuth client, over the HTTP client

pub mod environment;
#[cfg(feature = "http")]
mod http;
pub mod key_file;
#[cfg(feature = "oauth")]
pub mod oauth;
pub mod private_file;
pub mod secret;

#[cfg(feature = "http")]
pub use http::{
    AGENT, AddressPolicy, Addresses, BodyObserver, Deadlines, FRAMING, HttpClient, HttpFault,
    HttpFaultKind, IDENTITY, Incoming, IncomingBody, Proxy, Resolve, TransportError, Trust,
    begins_with, fault, remove_connection_headers, resolve_reference, sensitive,
};
