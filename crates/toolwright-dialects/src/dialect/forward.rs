//! The methods of codecs that only call a function of the dialect's own modules.

/// Implements methods of [`ToolCodec`](crate::codec::ToolCodec) or [`ChatCodec`](crate::codec::ChatCodec)
/// for a codec without fields: each calls the item of the same name in the modules beside the codec. `Tool`, `Tools`
/// and `Parts` are for those dialects that encode tools, lists of tools and calls in the usual way.
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
    // One definition for each tool.
    (Tool) => {
        fn encode_tool(&self, tool: &toolwright_core::Tool) -> toolwright_json::Json {
            tool::encode(tool)
        }

        fn decode_tool(
            &self,
            wire: toolwright_json::Json,
        ) -> Result<toolwright_core::Tool, $crate::codec::DecodeError> {
            tool::decode(wire, toolwright_json::Path::ROOT)
        }
    };
    // Definitions that share an entry.
    (Tools) => {
        fn encode_tools(&self, tools: &[toolwright_core::Tool]) -> Vec<toolwright_json::Json> {
            tool::encode_all(tools)
        }

        fn decode_tools(
            &self,
            wire: Vec<toolwright_json::Json>,
        ) -> Result<Vec<toolwright_core::Tool>, $crate::codec::DecodeError> {
            tool::decode_all(wire, toolwright_json::Path::ROOT)
        }
    };
    // Calls and outcomes that are parts like any other.
    (Parts) => {
        fn encode_call(&self, part: &toolwright_core::Part) -> toolwright_json::Json {
            part::encode(part).unwrap_or_default()
        }

        fn decode_call(
            &self,
            wire: toolwright_json::Json,
        ) -> Result<toolwright_core::Part, $crate::codec::DecodeError> {
            part::decode(wire, toolwright_json::Path::ROOT)
        }

        fn encode_outcome(&self, part: &toolwright_core::Part) -> toolwright_json::Json {
            part::encode(part).unwrap_or_default()
        }

        fn decode_outcome(
            &self,
            wire: toolwright_json::Json,
        ) -> Result<toolwright_core::Part, $crate::codec::DecodeError> {
            part::decode(wire, toolwright_json::Path::ROOT)
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
