//! Upstreams over HTTP, against servers that write bytes by hand.

mod body;
mod head;
mod server;

use bytes::Bytes;
use toolwright::dialect::{ChatCodec, lookup};
use toolwright::upstream::{Credential, Outgoing, Remote};

/// A codec by its id.
fn codec(id: &str) -> &'static dyn ChatCodec {
    lookup(id).expect("a codec of that id")
}

/// A remote without a credential.
fn remote(base: &str) -> Remote {
    Remote::new("there", codec("openai-chat"), base, Credential::None).expect("a remote")
}

/// A small request.
fn ask() -> Outgoing {
    Outgoing::new("/v1/chat/completions", Bytes::from_static(b"{}"))
}
