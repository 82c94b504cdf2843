//! Bytes of a stream to frames and back. Everything here works on any split of the bytes.
//!
//! The readers keep bytes, never text, until a line or a message is whole: a character that is cut
//! in two by the network arrives undamaged. Each looks at a byte once, and holds no more than
//! [`MAX_FRAME`] of them.

mod array;
mod aws;
mod ndjson;
mod sse;

/// How a dialect cuts its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events
    Sse,
    /// AWS event stream: binary, with checksums
    Aws,
    /// A JSON document a line
    Ndjson,
    /// JSON objects in one array
    Array,
}

impl Framing {
    /// All framings.
    pub const ALL: [Framing; 4] = [Framing::Sse, Framing::Aws, Framing::Ndjson, Framing::Array];

    /// The value of `content-type` for a stream in this framing.
    pub fn content_type(self) -> &'static str {
        match self {
            Framing::Sse => "text/event-stream",
            Framing::Aws => "application/vnd.amazon.eventstream",
            Framing::Ndjson => "application/x-ndjson",
            Framing::Array => "application/json",
        }
    }
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

    /// Whether this is the mark with which OpenAI, and servers that follow it, end a stream.
    pub fn is_done(&self) -> bool {
        self.data.trim() == DONE
    }

    /// An AWS exception.
    pub fn exception(name: impl Into<String>, data: impl Into<String>) -> Frame {
        Frame { name: Some(name.into()), exception: true, data: data.into() }
    }
}

/// The payload that ends a stream, where a vendor ends it so.
pub const DONE: &str = "[DONE]";

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

/// Cuts the bytes of one stream into frames, as they arrive.
///
/// After an error there is no telling where the next frame starts, so the reader gives the same
/// error for whatever follows. Frames that were whole before the error are delivered.
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
    /// A reader at the start of a stream.
    pub fn new(framing: Framing) -> FrameReader {
        let cutter = match framing {
            Framing::Sse => Cutter::Sse(sse::Reader::default()),
            Framing::Aws => Cutter::Aws(aws::Reader::default()),
            Framing::Ndjson => Cutter::Ndjson(ndjson::Reader::default()),
            Framing::Array => Cutter::Array(array::Reader::default()),
        };
        FrameReader { cutter, failed: None }
    }

    /// Takes the next bytes and appends the frames that they complete.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.guarded(|cutter| match cutter {
            Cutter::Sse(reader) => reader.push(bytes, frames),
            Cutter::Aws(reader) => reader.push(bytes, frames),
            Cutter::Ndjson(reader) => reader.push(bytes, frames),
            Cutter::Array(reader) => reader.push(bytes, frames),
        })
    }

    /// Takes the end of the bytes and appends a last frame that only lacked its terminator.
    pub fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.guarded(|cutter| match cutter {
            Cutter::Sse(reader) => reader.finish(frames),
            Cutter::Aws(reader) => reader.finish(),
            Cutter::Ndjson(reader) => reader.finish(frames),
            Cutter::Array(reader) => reader.finish(),
        })
    }

    /// Whether the bytes so far end where a frame ends, so that a frame of somebody else may follow.
    pub fn is_between(&self) -> bool {
        self.failed.is_none()
            && match &self.cutter {
                Cutter::Sse(reader) => reader.is_between(),
                Cutter::Aws(reader) => reader.is_between(),
                Cutter::Ndjson(reader) => reader.is_between(),
                Cutter::Array(reader) => reader.is_between(),
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

/// Writes the frames of one stream. What a framing has no place for is left out: names in NDJSON and
/// arrays, the mark of an exception in all but AWS's.
#[derive(Debug, Clone)]
pub struct FrameWriter {
    framing: Framing,
    /// Where an array is
    position: array::Position,
}

impl FrameWriter {
    /// A writer at the start of a stream.
    pub fn new(framing: Framing) -> FrameWriter {
        FrameWriter { framing, position: array::Position::default() }
    }

    /// A writer that goes on where the frames of somebody else have been read so far.
    pub fn after(reader: &FrameReader) -> FrameWriter {
        let (framing, position) = match &reader.cutter {
            Cutter::Sse(_) => (Framing::Sse, array::Position::default()),
            Cutter::Aws(_) => (Framing::Aws, array::Position::default()),
            Cutter::Ndjson(_) => (Framing::Ndjson, array::Position::default()),
            Cutter::Array(reader) => (Framing::Array, reader.position()),
        };
        FrameWriter { framing, position }
    }

    /// Appends a frame's bytes.
    pub fn write(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match self.framing {
            Framing::Sse => sse::write(frame, out),
            Framing::Aws => aws::write(frame, out),
            Framing::Ndjson => ndjson::write(frame, out),
            Framing::Array => self.position = array::write(self.position, frame, out),
        }
    }

    /// Appends what a stream ends with, once.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.framing == Framing::Array {
            self.position = array::end(self.position, out);
        }
    }
}

/// The text of a whole line or payload.
fn text(bytes: &[u8]) -> Result<&str, FrameError> {
    std::str::from_utf8(bytes).map_err(|_| FrameError::NotUtf8)
}

/// The error of a last line that has no terminator: bytes that stop inside a character were cut
/// off, they are not wrong.
fn cut_off(line: &[u8], error: FrameError) -> FrameError {
    match std::str::from_utf8(line) {
        Err(fault) if fault.error_len().is_none() => FrameError::Truncated,
        _ => error,
    }
}
