//! Reads an upstream's reply to its end within the memory budget.

use bytes::{Bytes, BytesMut};
use toolwright_core::{Fault, wire_json};
use toolwright_dialects::dialect::WireReply;
use toolwright_runtime::upstream::{Incoming, IncomingBody, Remote, fault_of};

use super::headers;
use super::weight::weight;
use super::whole::{content_type, no_answer};
use crate::http::{Full, Share, append};

/// Maximum size in bytes of a reply that is read.
pub const MAX_REPLY_BYTES: usize = 64 << 20;

/// Reads the remaining body of a reply. Memory is reserved for its bytes as they arrive, and for
/// decoding them if they exceed a small size.
pub async fn collect(
    remote: &Remote,
    incoming: Incoming,
    few: usize,
    share: &mut Share,
) -> Result<WireReply, Fault> {
    let Incoming { status, headers, body } = incoming;
    let no_room = |full| no_room(remote.id(), full);
    let bytes = bytes(body, share).await?.map_err(no_room)?;
    if bytes.len() > few {
        share.resize(bytes.len() + weight(&bytes)).await.map_err(no_room)?;
    }
    let Ok(body) = wire_json::parse_bytes(&bytes) else {
        return Err(not_json(remote.id(), content_type(&headers)));
    };
    Ok(WireReply { status: status.as_u16(), headers: headers::for_codec(&headers), body })
}

/// Reads all bytes of a body; the error says that there is no memory.
async fn bytes(mut body: IncomingBody, share: &mut Share) -> Result<Result<Bytes, Full>, Fault> {
    let announced = body.announced().and_then(|size| usize::try_from(size).ok());
    let most = announced.unwrap_or(MAX_REPLY_BYTES);
    if most > MAX_REPLY_BYTES {
        return Ok(Err(Full::Ever));
    }
    let (mut whole, mut first, mut size) = (BytesMut::new(), Bytes::new(), 0);
    while let Some(piece) = body.next().await.transpose().map_err(fault_of)? {
        size += piece.len();
        if size > MAX_REPLY_BYTES {
            return Ok(Err(Full::Ever));
        }
        if let Err(full) = share.reach(size, most).await {
            return Ok(Err(full));
        }
        // Most replies arrive in one frame, which is used without a copy.
        if size == piece.len() {
            first = piece;
            continue;
        }
        append(&mut whole, &std::mem::take(&mut first), most);
        append(&mut whole, &piece, most);
    }
    Ok(Ok(if whole.is_empty() { first } else { whole.freeze() }))
}

fn no_room(upstream: &str, full: Full) -> Fault {
    match full {
        Full::Now => full.into(),
        Full::Ever => no_answer(format!(
            "Upstream '{upstream}' sent a reply that is too large: at most {MAX_REPLY_BYTES} \
             bytes are read, and the decoded reply must fit in limits.memory."
        )),
    }
}

/// Describes a reply that is not JSON, by its content type.
fn not_json(upstream: &str, kind: &str) -> Fault {
    let kind: String = kind.chars().filter(char::is_ascii_graphic).take(60).collect();
    no_answer(match kind.as_str() {
        "application/json" => format!("Upstream '{upstream}' sent damaged JSON."),
        _ => format!(
            "Upstream '{upstream}' sent {} instead of JSON. Check its base_url: something else \
             may be listening there.",
            if kind.is_empty() { "something" } else { &kind }
        ),
    })
}
