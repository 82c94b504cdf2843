//! A stream from one dialect to another, as its bytes arrive: a reader, then a writer.

use super::{Report, TranslateError};
use crate::codec::Watch;
use crate::codec::{ChatCodec, ReplyContext, StreamDecoder, StreamEncoder};
use crate::event::Event;
use crate::event::think::ThinkFilter;
use crate::fit::restore::Restorer;
use crate::frame::{Frame, FrameReader, FrameWriter, Framing};
use crate::model::fault::{Fault, FaultClass};

/// Takes bytes of one dialect and gives bytes of another. It holds back no more than a frame, or
/// a part where the target's dialect cannot say half of it.
pub struct StreamTranslator {
    reader: StreamReader,
    writer: StreamWriter,
    events: Vec<Event>,
}

impl StreamTranslator {
    pub(super) fn new(reader: StreamReader, writer: StreamWriter) -> StreamTranslator {
        StreamTranslator { reader, writer, events: Vec::new() }
    }

    /// Takes some bytes and appends what can be said by now. Frames of a kind that the source's
    /// dialect does not have are skipped.
    ///
    /// After an error nothing more may be pushed: what was appended ends with a fault, so that a
    /// client that has seen half an answer is told that it is half.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.events);
        self.told(read, out)
    }

    /// Takes the end of the bytes. An error is told to the client as in [`Self::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Report, TranslateError> {
        let read = self.reader.finish(&mut self.events);
        self.told(read, out)?;
        Ok(self.writer.report())
    }

    /// What was seen of the answer so far.
    pub fn watch(&self) -> &Watch {
        self.writer.watch()
    }

    /// Writes what was read, and breaks the answer off where the source could not be read.
    fn told(
        &mut self,
        read: Result<(), TranslateError>,
        out: &mut Vec<u8>,
    ) -> Result<(), TranslateError> {
        self.writer.write(self.events.drain(..), out);
        if read.is_err() {
            let fault = Fault::new(FaultClass::Internal, "the upstream's stream is damaged");
            self.writer.write([Event::Fault(fault)], out);
        }
        read
    }
}

/// Takes bytes of one dialect and gives events.
pub struct StreamReader {
    frames: FrameReader,
    decoder: Box<dyn StreamDecoder>,
    interest: Interest,
    skipped: Skipped,
    /// How many bytes of words were read
    words: u64,
    whole: Vec<Frame>,
    /// Separates thinking from the text, if the vendor's models write it there
    think: Option<ThinkFilter>,
    decoded: Vec<Event>,
}

/// Which frames of a stream are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interest {
    /// All of them
    Everything,
    /// Those that a [`Watch`] notes something of
    Notes,
}

/// Bytes of words that are about a token.
const BYTES_PER_TOKEN: u64 = 4;

/// The size of frames that were not read, which hold words of the model and little else.
#[derive(Debug, Default)]
struct Skipped {
    frames: u64,
    bytes: u64,
    shortest: u64,
}

impl Skipped {
    fn push(&mut self, frame: &Frame) {
        let size = frame.data.len() as u64;
        self.shortest = if self.frames == 0 { size } else { self.shortest.min(size) };
        self.frames += 1;
        self.bytes += size;
    }

    /// A frame has a token at least. What it has beyond the shortest frame is words.
    fn tokens(&self) -> u64 {
        let words = self.bytes.saturating_sub(self.frames.saturating_mul(self.shortest));
        self.frames.max(words / BYTES_PER_TOKEN)
    }
}

impl StreamReader {
    /// At the start of a stream.
    pub fn new(from: &dyn ChatCodec) -> StreamReader {
        StreamReader {
            frames: FrameReader::new(from.framing()),
            decoder: from.stream_decoder(),
            interest: Interest::Everything,
            skipped: Skipped::default(),
            words: 0,
            whole: Vec::new(),
            think: from.has_think_tags().then(ThinkFilter::default),
            decoded: Vec::new(),
        }
    }

    /// Separates a leading `<think>…</think>` from the text, or does not, whatever is usual behind
    /// this vendor.
    #[must_use]
    pub fn with_think_tags(mut self, think_tags: bool) -> StreamReader {
        self.think = think_tags.then(ThinkFilter::default);
        self
    }

    /// At the start of a stream of which only a [`Watch`] is kept: of the words of the model, most
    /// frames are not read. The events are not for a [`StreamWriter`].
    pub fn watching(from: &dyn ChatCodec) -> StreamReader {
        StreamReader { interest: Interest::Notes, ..StreamReader::new(from) }
    }

    /// In another framing than the dialect's usual one.
    #[must_use]
    pub fn framed(self, framing: Framing) -> StreamReader {
        StreamReader { frames: FrameReader::new(framing), ..self }
    }

    /// Takes some bytes and appends the events that they complete. After an error nothing more may
    /// be pushed.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.frames.push(bytes, &mut self.whole);
        self.decode(events)?;
        Ok(read?)
    }

    /// A writer of frames that goes on where these bytes are.
    pub fn framer(&self) -> FrameWriter {
        FrameWriter::after(&self.frames)
    }

    /// Whether the bytes so far end where a frame ends.
    pub fn is_between(&self) -> bool {
        self.frames.is_between()
    }

    /// About how many tokens have come, in frames that were read and in those that were not.
    pub fn tokens(&self) -> u64 {
        self.skipped.tokens().saturating_add(self.words / BYTES_PER_TOKEN)
    }

    /// Takes the end of the bytes.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.frames.finish(&mut self.whole);
        self.decode(events)?;
        read?;
        self.decoder.finish(&mut self.decoded);
        self.release(events);
        Ok(())
    }

    fn decode(&mut self, events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let mut failed = None;
        for frame in self.whole.drain(..) {
            if self.interest == Interest::Notes && self.decoder.is_mere_piece(&frame) {
                self.skipped.push(&frame);
                continue;
            }
            if let Err(error) = self.decoder.decode(&frame, &mut self.decoded) {
                failed = Some(error);
                break;
            }
        }
        self.release(events);
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Gives out the events that were decoded.
    fn release(&mut self, events: &mut Vec<Event>) {
        let words: usize = self.decoded.iter().map(|event| event.words().len()).sum();
        self.words += words as u64;
        match &mut self.think {
            Some(think) => self.decoded.drain(..).for_each(|event| think.push(event, events)),
            None => events.append(&mut self.decoded),
        }
    }
}

/// Takes events and gives bytes of one dialect, in the client's own names.
pub struct StreamWriter {
    restorer: Restorer,
    encoder: Box<dyn StreamEncoder>,
    framer: FrameWriter,
    spelling: &'static [(&'static str, &'static str)],
    restored: Vec<Event>,
    frames: Vec<Frame>,
    watch: Watch,
}

impl StreamWriter {
    pub(super) fn new(
        to: &dyn ChatCodec,
        restorer: Restorer,
        spelling: &'static [(&'static str, &'static str)],
        context: &ReplyContext,
    ) -> StreamWriter {
        StreamWriter {
            restorer,
            encoder: to.stream_encoder(context),
            framer: FrameWriter::new(to.framing()),
            spelling,
            restored: Vec::new(),
            frames: Vec::new(),
            watch: Watch::default(),
        }
    }

    /// In another framing than the dialect's usual one, or going on where somebody else is.
    #[must_use]
    pub fn with_framer(self, framer: FrameWriter) -> StreamWriter {
        StreamWriter { framer, ..self }
    }

    /// Takes events and appends what can be said by now. After the end nothing more is said.
    pub fn write(&mut self, events: impl IntoIterator<Item = Event>, out: &mut Vec<u8>) {
        for event in events {
            if self.watch.is_over() {
                break;
            }
            self.watch.see(&event);
            self.restorer.event(event, &mut self.restored);
        }
        for event in self.restored.drain(..) {
            self.encoder.encode(event, &mut self.frames);
        }
        for frame in self.frames.drain(..) {
            self.framer.write(&frame, out);
        }
        if self.watch.is_over() {
            self.framer.end(out);
        }
    }

    /// What was seen of the answer, before it was fitted to the client.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Whether a strict translation must be refused for what was lost so far. Notes never refuse.
    pub fn is_refused(&self) -> bool {
        self.restorer.is_refused()
    }

    /// Losses so far, and the reasoning to cache.
    pub fn report(&mut self) -> Report {
        Report::of_answer(&mut self.restorer, self.spelling)
    }
}
