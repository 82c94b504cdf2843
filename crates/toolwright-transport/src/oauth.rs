//! An OAuth 2.1 client: gets, stores and refreshes the tokens that functions and servers ask for.
//!
//! ```text
//! ResourceMetadata::discover → ServerMetadata::discover → OAuthClient → TokenSource → access token
//! ```
//!
//! [`ResourceMetadata`] (RFC 9728) names the authorization server of a protected resource,
//! [`ServerMetadata`] (RFC 8414) its endpoints. An [`OAuthClient`] logs a user in by the authorization code grant
//! with PKCE ([`OAuthClient::authorize`], [`LoopbackListener`], [`OAuthClient::finish`]), or itself by client
//! credentials; [`register`](registration::register) registers it first (RFC 7591). A [`TokenSource`] hands out
//! access tokens: it refreshes each of them once, however many calls wait for it, and keeps them in a
//! [`TokenStore`], in memory or in encrypted files.
//!
//! The [`HttpClient`](crate::http::HttpClient) of the caller decides which addresses are reached: with an
//! [`AddressPolicy`](crate::http::AddressPolicy), if the URLs come from a server and not from the operator.

mod challenge;
mod client;
mod error;
mod listener;
pub mod metadata;
mod pkce;
pub mod registration;
mod request;
mod source;
mod store;
mod token;

pub use challenge::Challenge;
pub use client::{ClientAuthentication, OAuthClient, PendingLogin};
pub use error::OAuthError;
pub use listener::LoopbackListener;
pub use metadata::{ResourceMetadata, ServerMetadata};
pub use source::TokenSource;
pub use store::{
    EncryptedTokens, MemoryTokens, TokenFuture, TokenKey, TokenStore, TokenStoreError,
};
pub use token::Token;
