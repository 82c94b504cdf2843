//! JSON objects in one array that arrives piece by piece, as Gemini streams unless it is asked for
//! server-sent events.

use super::{Frame, FrameError, MAX_FRAME, text};

/// Where in an array the bytes so far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
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
    place: Place,
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
                let alone = self.place == Place::Before;
                self.place = if alone { Place::Closed } else { Place::Between };
            }
        }
        if self.depth == 0 { Ok(()) } else { self.take(&bytes[start..]) }
    }

    pub(super) fn finish(&self) -> Result<(), FrameError> {
        let whole = self.depth == 0 && matches!(self.place, Place::Before | Place::Closed);
        if whole { Ok(()) } else { Err(FrameError::Truncated) }
    }

    pub(super) fn is_between(&self) -> bool {
        self.depth == 0 && self.place != Place::Closed
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// A byte outside of all objects. One object may stand without an array, as some answers that
    /// are no stream do.
    fn between(&mut self, byte: u8) -> Result<(), FrameError> {
        self.place = match (self.place, byte) {
            (place, b' ' | b'\t' | b'\r' | b'\n') => place,
            (Place::Before, b'[') => Place::Open,
            (Place::Between, b',') => Place::Comma,
            (Place::Open | Place::Between, b']') => Place::Closed,
            (place @ (Place::Before | Place::Open | Place::Comma), b'{') => {
                self.depth = 1;
                place
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
pub(super) fn write(place: Place, frame: &Frame, out: &mut Vec<u8>) -> Place {
    match place {
        Place::Before => out.push(b'['),
        Place::Open | Place::Comma => {}
        // As Google has it, so that it can be cut by whoever reads no JSON.
        Place::Between => out.extend_from_slice(b"\n,\r\n"),
        Place::Closed => return place,
    }
    out.extend_from_slice(frame.data.as_bytes());
    Place::Between
}

/// Appends the end of the array.
pub(super) fn end(place: Place, out: &mut Vec<u8>) -> Place {
    match place {
        Place::Before => out.extend_from_slice(b"[]\n"),
        Place::Open | Place::Comma | Place::Between => out.extend_from_slice(b"\n]\n"),
        Place::Closed => {}
    }
    Place::Closed
}
