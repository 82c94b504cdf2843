//! A stream from one dialect to another, as its bytes arrive.

use super::{Report, TranslateError};
use crate::dialect::{Asked, ChatCodec, StreamDecoder, StreamEncoder};
use crate::event::Event;
use crate::fit::restore::Restorer;
use crate::frame::{self, Frame, FrameReader, Framing};

/// Takes bytes of one dialect and gives bytes of another. It holds back no more than a frame, or
/// a part where the target's dialect cannot say half of it.
pub struct StreamTranslator {
    reader: FrameReader,
    decoder: Box<dyn StreamDecoder>,
    restorer: Restorer,
    encoder: Box<dyn StreamEncoder>,
    framing: Framing,
    spelling: &'static [(&'static str, &'static str)],
    incoming: Vec<Frame>,
    outgoing: Vec<Frame>,
    events: Vec<Event>,
    restored: Vec<Event>,
}

impl StreamTranslator {
    pub(super) fn new(
        from: &dyn ChatCodec,
        to: &dyn ChatCodec,
        restorer: Restorer,
        asked: &Asked,
    ) -> StreamTranslator {
        StreamTranslator {
            reader: FrameReader::new(from.framing()),
            decoder: from.stream_decoder(),
            restorer,
            encoder: to.stream_encoder(asked),
            framing: to.framing(),
            spelling: from.spelling(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            events: Vec::new(),
            restored: Vec::new(),
        }
    }

    /// Takes some bytes and appends what can be said by now. Frames of a kind that the source's
    /// dialect does not have are skipped.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.incoming);
        self.relay(out)?;
        Ok(read?)
    }

    /// Takes the end of the bytes.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Report, TranslateError> {
        let read = self.reader.finish(&mut self.incoming);
        self.relay(out)?;
        read?;
        self.decoder.finish(&mut self.events);
        self.write(out);
        Ok(Report::of_losses(self.restorer.losses(), self.spelling))
    }

    fn relay(&mut self, out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let mut frames = std::mem::take(&mut self.incoming);
        for frame in frames.drain(..) {
            self.decoder.decode(&frame, &mut self.events)?;
            self.write(out);
        }
        self.incoming = frames;
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        for event in self.events.drain(..) {
            self.restorer.event(event, &mut self.restored);
        }
        for event in self.restored.drain(..) {
            self.encoder.encode(event, &mut self.outgoing);
        }
        for frame in self.outgoing.drain(..) {
            frame::write(self.framing, &frame, out);
        }
    }
}
