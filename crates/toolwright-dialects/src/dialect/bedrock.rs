//! AWS Bedrock, Converse and `ConverseStream`: `POST /model/{modelId}/converse[-stream]`.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::{Dialect, Response};

use crate::codec::{ChatCodec, ReplyContext, StreamEncoder, ToolCodec, WireReply};
use crate::dialect::forward::forward;
use crate::frame::Framing;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bedrock;

impl ToolCodec for Bedrock {
    fn dialect(&self) -> Dialect {
        Dialect::Bedrock
    }

    forward!(ToolCodec);
    forward!(Tool);
    forward!(Tools);
    forward!(Parts);
}

impl ChatCodec for Bedrock {
    forward!(ChatCodec);

    fn framing(&self) -> Framing {
        Framing::Aws
    }

    fn encode_response(&self, response: Response, _: &ReplyContext) -> WireReply {
        response::encode(response)
    }

    fn stream_encoder(&self, _: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::default())
    }
}
