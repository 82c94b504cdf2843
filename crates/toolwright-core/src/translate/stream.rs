//! A stream from one dialect to another, as its bytes arrive.

use super::{Report, TranslateError};
use crate::dialect::{Asked, ChatCodec, StreamDecoder, StreamEncoder};
use crate::event::Event;
use crate::fault::{Fault, FaultClass};
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
    /// Whether the answer is complete or broken off
    over: bool,
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
            over: false,
        }
    }

    /// Takes some bytes and appends what can be said by now. Frames of a kind that the source's
    /// dialect does not have are skipped.
    ///
    /// After an error nothing more may be pushed: what was appended ends with a fault, so that a
    /// client that has seen half an answer is told that it is half.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.incoming);
        let result = self.relay(out).and_then(|()| Ok(read?));
        self.told(result, out)
    }

    /// Takes the end of the bytes. An error is told to the client as in [`Self::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Report, TranslateError> {
        let read = self.reader.finish(&mut self.incoming);
        let result = self.relay(out).and_then(|()| Ok(read?));
        self.told(result, out)?;
        self.decoder.finish(&mut self.events);
        self.write(out);
        Ok(Report::of_losses(self.restorer.take_losses(), self.spelling))
    }

    /// Breaks the answer off where the source could not be read, unless it was complete by then.
    fn told(
        &mut self,
        result: Result<(), TranslateError>,
        out: &mut Vec<u8>,
    ) -> Result<(), TranslateError> {
        if result.is_err() && !self.over {
            let fault = Fault::new(FaultClass::Internal, "the upstream's stream is damaged");
            self.events.push(Event::Fault(fault));
            self.write(out);
        }
        result
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
            self.over |= matches!(event, Event::End | Event::Fault(_));
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
