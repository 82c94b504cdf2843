//! Splits the bytes of a stream into frames, and writes frames. All readers accept any split of the
//! bytes.
//!
//! The readers buffer bytes, not text, until a line or a message is complete, so that a character
//! that is split across reads is not damaged. Each byte is examined once, and at most [`MAX_FRAME`]
//! bytes are buffered.

mod array;
mod aws;
mod ndjson;
mod sse;

use std::time::Duration;

/// The framing of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events
    Sse,
    /// AWS event stream: binary, with checksums
    Aws,
    /// One JSON document per line
    Ndjson,
    /// JSON objects in one array
    Array,
}

impl Framing {
    /// All framings.
    pub const ALL: [Framing; 4] = [Framing::Sse, Framing::Aws, Framing::Ndjson, Framing::Array];

    /// Returns the value of `content-type` for this framing.
    pub const fn content_type(self) -> &'static str {
        match self {
            Framing::Sse => "text/event-stream",
            Framing::Aws => "application/vnd.amazon.eventstream",
            Framing::Ndjson => "application/x-ndjson",
            Framing::Array => "application/json",
        }
    }
}

/// One frame, in any framing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The name of the event (`event:` in SSE, `:event-type` or `:exception-type` in AWS)
    pub name: Option<String>,
    /// Whether this is an AWS exception
    pub exception: bool,
    /// The payload, which need not be JSON (`[DONE]`)
    pub data: String,
}

impl Frame {
    /// Creates a frame with a payload only.
    pub fn data(data: impl Into<String>) -> Frame {
        Frame { data: data.into(), ..Frame::default() }
    }

    /// Creates a frame with a name.
    pub fn named(name: impl Into<String>, data: impl Into<String>) -> Frame {
        Frame { name: Some(name.into()), exception: false, data: data.into() }
    }

    /// Whether this is the end mark of OpenAI-compatible streams.
    pub fn is_done(&self) -> bool {
        self.data.trim() == DONE
    }

    /// Creates an AWS exception.
    pub fn exception(name: impl Into<String>, data: impl Into<String>) -> Frame {
        Frame { name: Some(name.into()), exception: true, data: data.into() }
    }
}

/// The payload that ends OpenAI-compatible streams.
pub const DONE: &str = "[DONE]";

/// Maximum size of a frame, in bytes. Frames of vendors are far below it.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Why bytes are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A frame exceeds [`MAX_FRAME`]
    #[error("frame larger than {MAX_FRAME} bytes")]
    TooLarge,
    /// A frame is not UTF-8
    #[error("frame is not UTF-8")]
    NotUtf8,
    /// A checksum does not match
    #[error("checksum mismatch")]
    Checksum,
    /// Lengths or headers contradict each other
    #[error("malformed frame")]
    Malformed,
    /// The bytes ended inside a frame
    #[error("stream cut off inside a frame")]
    Truncated,
}

/// Splits the bytes of one stream into frames as they arrive.
///
/// After an error the start of the next frame is unknown, so the reader returns the same error for
/// all further input. Complete frames before the error are delivered.
#[derive(Debug)]
pub struct FrameReader {
    cutter: Cutter,
    failed: Option<FrameError>,
}

#[derive(Debug)]
enum Cutter {
    Sse(sse::Reader),
    Aws(aws::Reader),
    Ndjson(ndjson::Reader),
    Array(array::Reader),
}

impl FrameReader {
    /// Creates a reader for a stream.
    pub fn new(framing: Framing) -> FrameReader {
        let cutter = match framing {
            Framing::Sse => Cutter::Sse(sse::Reader::default()),
            Framing::Aws => Cutter::Aws(aws::Reader::default()),
            Framing::Ndjson => Cutter::Ndjson(ndjson::Reader::default()),
            Framing::Array => Cutter::Array(array::Reader::default()),
        };
        FrameReader { cutter, failed: None }
    }

    /// Reads bytes and appends the frames that they complete.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.guarded(|cutter| match cutter {
            Cutter::Sse(reader) => reader.push(bytes, frames),
            Cutter::Aws(reader) => reader.push(bytes, frames),
            Cutter::Ndjson(reader) => reader.push(bytes, frames),
            Cutter::Array(reader) => reader.push(bytes, frames),
        })
    }

    /// Ends the input and appends a last frame that lacks only its terminator.
    pub fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.guarded(|cutter| match cutter {
            Cutter::Sse(reader) => reader.finish(frames),
            Cutter::Aws(reader) => reader.finish(),
            Cutter::Ndjson(reader) => reader.finish(frames),
            Cutter::Array(reader) => reader.finish(),
        })
    }

    /// Whether the input so far ends at the end of a frame, so that another writer may continue.
    pub fn is_between(&self) -> bool {
        self.failed.is_none()
            && match &self.cutter {
                Cutter::Sse(reader) => reader.is_between(),
                Cutter::Aws(reader) => reader.is_between(),
                Cutter::Ndjson(reader) => reader.is_between(),
                Cutter::Array(reader) => reader.is_between(),
            }
    }

    /// Returns the last event id of an SSE stream, with which a client continues the stream after it broke.
    pub fn last_event_id(&self) -> Option<&str> {
        match &self.cutter {
            Cutter::Sse(reader) => reader.last_id.as_deref().filter(|id| !id.is_empty()),
            _ => None,
        }
    }

    /// Returns how long a client of an SSE stream waits before it continues it.
    pub fn reconnection_time(&self) -> Option<Duration> {
        match &self.cutter {
            Cutter::Sse(reader) => reader.retry_ms.map(Duration::from_millis),
            _ => None,
        }
    }

    fn guarded(
        &mut self,
        step: impl FnOnce(&mut Cutter) -> Result<(), FrameError>,
    ) -> Result<(), FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let result = step(&mut self.cutter);
        self.failed = result.err();
        result
    }
}

/// Writes the frames of one stream. Fields that a framing lacks are left out: names in NDJSON and
/// arrays, the exception flag in all but AWS.
#[derive(Debug, Clone)]
pub struct FrameWriter {
    framing: Framing,
    /// The position in an array
    position: array::Position,
}

impl FrameWriter {
    /// Creates a writer for a stream.
    pub fn new(framing: Framing) -> FrameWriter {
        FrameWriter { framing, position: array::Position::default() }
    }

    /// Creates a writer that continues a stream after the frames that were read.
    pub fn after(reader: &FrameReader) -> FrameWriter {
        let (framing, position) = match &reader.cutter {
            Cutter::Sse(_) => (Framing::Sse, array::Position::default()),
            Cutter::Aws(_) => (Framing::Aws, array::Position::default()),
            Cutter::Ndjson(_) => (Framing::Ndjson, array::Position::default()),
            Cutter::Array(reader) => (Framing::Array, reader.position()),
        };
        FrameWriter { framing, position }
    }

    /// Appends the bytes of a frame.
    pub fn write(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match self.framing {
            Framing::Sse => sse::write(frame, out),
            Framing::Aws => aws::write(frame, out),
            Framing::Ndjson => ndjson::write(frame, out),
            Framing::Array => self.position = array::write(self.position, frame, out),
        }
    }

    /// Appends the end of the stream, once.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.framing == Framing::Array {
            self.position = array::end(self.position, out);
        }
    }
}

/// Returns the text of a complete line or payload.
fn text(bytes: &[u8]) -> Result<&str, FrameError> {
    std::str::from_utf8(bytes).map_err(|_| FrameError::NotUtf8)
}

/// Returns the error of a last line without a terminator: bytes that end within a character are
/// truncated, not invalid.
fn cut_off(line: &[u8], error: FrameError) -> FrameError {
    match std::str::from_utf8(line) {
        Err(fault) if fault.error_len().is_none() => FrameError::Truncated,
        _ => error,
    }
}
