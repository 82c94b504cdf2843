//! JSON objects in one array that arrives piece by piece, as Gemini streams unless server-sent
//! events are requested.

use super::{Frame, FrameError, MAX_FRAME, text};

/// The position in an array after the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Position {
    /// Before its bracket
    #[default]
    Before,
    /// After its bracket
    Open,
    /// After a comma
    Comma,
    /// After an object
    Between,
    /// After its end
    Closed,
}

/// Splits the bytes of an array into its objects.
#[derive(Debug, Default)]
pub(super) struct Reader {
    position: Position,
    /// The bytes of an incomplete object
    partial: Vec<u8>,
    /// Number of open brackets in it
    depth: usize,
    text: Text,
}

/// The state within an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash
    Escaped,
}

impl Reader {
    pub(super) fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.depth == 0 {
                start = at;
                self.between(*byte)?;
            } else if self.within(*byte) {
                self.take(&bytes[start..=at])?;
                frames.push(Frame::data(text(&self.partial)?));
                self.partial.clear();
                let alone = self.position == Position::Before;
                self.position = if alone { Position::Closed } else { Position::Between };
            }
        }
        if self.depth == 0 { Ok(()) } else { self.take(&bytes[start..]) }
    }

    pub(super) fn finish(&self) -> Result<(), FrameError> {
        let whole = self.depth == 0 && matches!(self.position, Position::Before | Position::Closed);
        if whole { Ok(()) } else { Err(FrameError::Truncated) }
    }

    pub(super) fn is_between(&self) -> bool {
        self.depth == 0 && self.position != Position::Closed
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Processes a byte outside of all objects. A single object may come without an array, as in
    /// replies that are not a stream.
    fn between(&mut self, byte: u8) -> Result<(), FrameError> {
        self.position = match (self.position, byte) {
            (position, b' ' | b'\t' | b'\r' | b'\n') => position,
            (Position::Before, b'[') => Position::Open,
            (Position::Between, b',') => Position::Comma,
            (Position::Open | Position::Between, b']') => Position::Closed,
            (position @ (Position::Before | Position::Open | Position::Comma), b'{') => {
                self.depth = 1;
                position
            }
            _ => return Err(FrameError::Malformed),
        };
        Ok(())
    }

    /// Processes a byte of an object; returns whether it is the last.
    fn within(&mut self, byte: u8) -> bool {
        self.text = match (self.text, byte) {
            (Text::Outside, b'{' | b'[') => {
                self.depth += 1;
                Text::Outside
            }
            (Text::Outside, b'}' | b']') => {
                self.depth -= 1;
                Text::Outside
            }
            (Text::Outside, b'"') | (Text::Escaped, _) => Text::Inside,
            (Text::Inside, b'"') => Text::Outside,
            (Text::Inside, b'\\') => Text::Escaped,
            (text, _) => text,
        };
        self.depth == 0
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        if self.partial.len() + bytes.len() > MAX_FRAME {
            return Err(FrameError::TooLarge);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}

/// Appends an object and returns the new position.
pub(super) fn write(position: Position, frame: &Frame, out: &mut Vec<u8>) -> Position {
    match position {
        Position::Before => out.push(b'['),
        Position::Open | Position::Comma => {}
        // As Google sends it, so that clients without a JSON parser can split it.
        Position::Between => out.extend_from_slice(b"\n,\r\n"),
        Position::Closed => return position,
    }
    out.extend_from_slice(frame.data.as_bytes());
    Position::Between
}

/// Appends the end of the array.
pub(super) fn end(position: Position, out: &mut Vec<u8>) -> Position {
    match position {
        Position::Before => out.extend_from_slice(b"[]\n"),
        Position::Open | Position::Comma | Position::Between => out.extend_from_slice(b"\n]\n"),
        Position::Closed => {}
    }
    Position::Closed
}
