//! Upstreams over HTTP, against servers that write raw bytes.

mod again;
mod answer;
mod body;
mod cancel;
mod credential;
mod embed;
mod head;
mod limit;
mod profile;
mod providers;
mod proxy;
mod replay;
mod tls;

use std::time::Duration;

use bytes::Bytes;
use toolwright_core::Fault;
use toolwright_dialects::dialect::{ChatCodec, lookup};
use toolwright_runtime::upstream::{Credential, Deadlines, Outgoing, Remote};

/// Short enough to wait for, long enough for a server to meet.
const SHORT: Duration = Duration::from_millis(200);

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
    Outgoing::new("/v1/chat/completions?secret=hush", Bytes::from_static(b"{}"))
}

/// Deadlines that are not reached, except for those that a test shortens.
fn long() -> Deadlines {
    let long = Duration::from_mins(1);
    Deadlines::new().with_connect(long).with_first_byte(long).with_idle(long)
}

/// The code and message of a fault, which never contain an address or a query.
fn told(fault: &Fault) -> (&str, &str) {
    for hidden in ["127.0.0.1", "localhost", "hush", "secret="] {
        assert!(!fault.message.contains(hidden), "{}", fault.message);
    }
    (fault.code.as_deref().unwrap_or_default(), &fault.message)
}
