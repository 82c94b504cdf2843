//! JSON objects in one array that arrives piece by piece, as Gemini streams unless it is asked for
//! server-sent events.

use super::{Frame, FrameError, MAX_FRAME, text};

/// Where in an array the bytes so far end.
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

/// Cuts bytes where an object of the array ends.
#[derive(Debug, Default)]
pub(super) struct Reader {
    position: Position,
    /// The bytes so far of an object that has not ended
    partial: Vec<u8>,
    /// How many brackets are open within it
    depth: usize,
    text: Text,
}

/// Where a byte is, within an object.
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

    /// A byte outside of all objects. One object may stand without an array, as some answers that
    /// are no stream do.
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

    /// A byte of an object; whether it is the last.
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

/// Appends an object where the array is; gives where it is then.
pub(super) fn write(position: Position, frame: &Frame, out: &mut Vec<u8>) -> Position {
    match position {
        Position::Before => out.push(b'['),
        Position::Open | Position::Comma => {}
        // As Google has it, so that it can be cut by whoever reads no JSON.
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
