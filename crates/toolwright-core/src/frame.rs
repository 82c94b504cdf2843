//! Bytes of a stream to frames and back. Everything here works on any split of the bytes.

pub mod aws;
pub mod ndjson;
pub mod sse;

/// How a dialect cuts its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events
    Sse,
    /// AWS event stream: binary, with checksums
    Aws,
    /// A JSON document a line
    Ndjson,
}

/// One frame, in whichever framing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The event's name (`event:` in SSE, `:event-type` or `:exception-type` in AWS)
    pub name: Option<String>,
    /// Whether this is an AWS exception
    pub exception: bool,
    /// The payload, which need not be JSON (`[DONE]`)
    pub data: String,
}

impl Frame {
    /// A frame with nothing but a payload.
    pub fn data(data: impl Into<String>) -> Frame {
        Frame { data: data.into(), ..Frame::default() }
    }

    /// A frame with a name.
    pub fn named(name: impl Into<String>, data: impl Into<String>) -> Frame {
        Frame { name: Some(name.into()), exception: false, data: data.into() }
    }

    /// An AWS exception.
    pub fn exception(name: impl Into<String>, data: impl Into<String>) -> Frame {
        Frame { name: Some(name.into()), exception: true, data: data.into() }
    }
}

/// The largest frame that is read; what a vendor sends is far below it.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Why bytes are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame passes [`MAX_FRAME`]
    #[error("frame larger than {MAX_FRAME} bytes")]
    TooLarge,
    /// A frame is not UTF-8 where it must be
    #[error("frame is not UTF-8")]
    NotUtf8,
    /// A checksum is wrong
    #[error("checksum mismatch")]
    Checksum,
    /// Lengths or headers contradict each other
    #[error("malformed frame")]
    Malformed,
    /// The bytes ended inside a frame
    #[error("stream cut off inside a frame")]
    Truncated,
}
