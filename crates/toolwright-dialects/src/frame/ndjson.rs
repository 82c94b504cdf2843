//! One JSON document per line, as Ollama streams.

use memchr::memchr;

use super::{Frame, FrameError, MAX_FRAME, cut_off, text};

/// Splits bytes at line feeds.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The bytes of an incomplete line
    partial: Vec<u8>,
}

impl Reader {
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        frames: &mut Vec<Frame>,
    ) -> Result<(), FrameError> {
        while let Some(at) = memchr(b'\n', bytes) {
            self.check_room(at)?;
            let head = &bytes[..at];
            if self.partial.is_empty() {
                deliver(head, frames)?;
            } else {
                self.partial.extend_from_slice(head);
                deliver(&self.partial, frames)?;
                self.partial.clear();
            }
            bytes = &bytes[at + 1..];
        }
        self.check_room(bytes.len())?;
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        let line = std::mem::take(&mut self.partial);
        deliver(&line, frames).map_err(|error| cut_off(&line, error))
    }

    pub(super) fn is_between(&self) -> bool {
        self.partial.is_empty()
    }

    fn check_room(&self, more: usize) -> Result<(), FrameError> {
        if self.partial.len() + more > MAX_FRAME { Err(FrameError::TooLarge) } else { Ok(()) }
    }
}

/// Delivers a line unless it is blank, without the carriage return of a CRLF.
fn deliver(line: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.trim_ascii().is_empty() {
        frames.push(Frame::data(text(line)?));
    }
    Ok(())
}

/// Appends a line. A line break within JSON is white space, so it is written as a space.
pub(super) fn write(frame: &Frame, out: &mut Vec<u8>) {
    out.extend(frame.data.bytes().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => other,
    }));
    out.push(b'\n');
}
