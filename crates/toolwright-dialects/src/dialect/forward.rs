//! The methods of codecs that only call a function of the dialect's own modules.

/// Implements methods of [`ToolCodec`](crate::codec::ToolCodec) or [`ChatCodec`](crate::codec::ChatCodec)
/// for a codec without fields: each calls the item of the same name in the modules beside the codec.
macro_rules! forward {
    (ToolCodec) => {
        fn profile(&self, target: &$crate::codec::Target<'_>) -> toolwright_core::profile::Profile {
            quirks::profile(target)
        }

        fn field_paths(&self) -> &'static [(&'static str, &'static str)] {
            wire::FIELD_PATHS
        }

        fn defaults(&self) -> $crate::codec::Defaults {
            wire::DEFAULTS
        }
    };
    (ChatCodec) => {
        fn encode_request(&self, request: toolwright_core::Request) -> $crate::codec::WireRequest {
            request::encode(request)
        }

        fn decode_request(
            &self,
            wire: $crate::codec::WireRequest,
        ) -> Result<toolwright_core::Request, $crate::codec::DecodeError> {
            request::decode(wire)
        }

        fn decode_response(
            &self,
            wire: $crate::codec::WireReply,
        ) -> Result<toolwright_core::Response, $crate::codec::DecodeError> {
            response::decode(wire)
        }

        fn encode_fault(&self, fault: &toolwright_core::Fault) -> $crate::codec::WireReply {
            fault::encode(fault)
        }

        fn decode_fault(&self, wire: $crate::codec::WireReply) -> toolwright_core::Fault {
            fault::decode(wire)
        }

        fn stream_decoder(&self) -> Box<dyn $crate::codec::StreamDecoder> {
            Box::new(stream::Decoder::default())
        }
    };
}

pub(super) use forward;
