//! Translates a stream between dialects as its bytes arrive: a reader, then a writer.

use super::{Report, TranslateError};
use crate::codec::{ChatCodec, ReplyContext, ResponseSummary, StreamDecoder, StreamEncoder};
use crate::event::Event;
use crate::event::think::ThinkFilter;
use crate::fit::restore::Restorer;
use crate::frame::{Frame, FrameReader, FrameWriter, Framing};
use crate::model::fault::{Fault, FaultClass};

/// Translates bytes of one dialect to bytes of another. It buffers at most a frame, or a part where the
/// target's dialect cannot send it in pieces.
pub struct StreamTranslator {
    reader: StreamReader,
    writer: StreamWriter,
    events: Vec<Event>,
}

impl StreamTranslator {
    pub(super) fn new(reader: StreamReader, writer: StreamWriter) -> StreamTranslator {
        StreamTranslator { reader, writer, events: Vec::new() }
    }

    /// Reads bytes and appends the translation of what is complete. Frames of a kind that the source's
    /// dialect does not have are skipped.
    ///
    /// After an error nothing more may be pushed: the appended bytes end with a fault, so that a client
    /// that got half a response knows it.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.events);
        self.write(read, out)
    }

    /// Ends the stream. An error reaches the client as in [`Self::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Report, TranslateError> {
        let read = self.reader.finish(&mut self.events);
        self.write(read, out)?;
        Ok(self.writer.report())
    }

    /// Summary of the response so far.
    pub fn summary(&self) -> &ResponseSummary {
        self.writer.summary()
    }

    /// Writes the decoded events, and a fault if the source could not be read.
    fn write(
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

/// Decodes bytes of one dialect to events.
pub struct StreamReader {
    frames: FrameReader,
    decoder: Box<dyn StreamDecoder>,
    scope: Scope,
    skipped: Skipped,
    /// Bytes of content in decoded frames
    content_bytes: u64,
    frames_read: Vec<Frame>,
    /// Separates thinking from the text, if the vendor's models write it there
    think: Option<ThinkFilter>,
    decoded: Vec<Event>,
}

/// Which frames of a stream are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All of them
    Full,
    /// Those that a [`ResponseSummary`] needs
    Summary,
}

/// Approximate bytes of content per token.
const BYTES_PER_TOKEN: u64 = 4;

/// Number and size of frames that were not decoded, which hold content and little else.
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

    /// Estimates tokens: at least one per frame, and the bytes beyond the shortest frame as content.
    fn tokens(&self) -> u64 {
        let content = self.bytes.saturating_sub(self.frames.saturating_mul(self.shortest));
        self.frames.max(content / BYTES_PER_TOKEN)
    }
}

impl StreamReader {
    /// Creates a reader for one stream.
    pub fn new(from: &dyn ChatCodec) -> StreamReader {
        StreamReader {
            frames: FrameReader::new(from.framing()),
            decoder: from.stream_decoder(),
            scope: Scope::Full,
            skipped: Skipped::default(),
            content_bytes: 0,
            frames_read: Vec::new(),
            think: from.has_think_tags().then(ThinkFilter::default),
            decoded: Vec::new(),
        }
    }

    /// Sets whether a leading `<think>…</think>` is separated from the text, instead of the vendor's
    /// default.
    #[must_use]
    pub fn with_think_tags(mut self, think_tags: bool) -> StreamReader {
        self.think = think_tags.then(ThinkFilter::default);
        self
    }

    /// Creates a reader for a [`ResponseSummary`], which skips most frames of content. The events are not
    /// for a [`StreamWriter`].
    pub fn summarizing(from: &dyn ChatCodec) -> StreamReader {
        StreamReader { scope: Scope::Summary, ..StreamReader::new(from) }
    }

    /// Sets another framing than the dialect's default.
    #[must_use]
    pub fn framed(self, framing: Framing) -> StreamReader {
        StreamReader { frames: FrameReader::new(framing), ..self }
    }

    /// Reads bytes and appends the events that they complete. After an error nothing more may be
    /// pushed.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.frames.push(bytes, &mut self.frames_read);
        self.decode(events)?;
        Ok(read?)
    }

    /// A frame writer that continues after the bytes read so far.
    pub fn framer(&self) -> FrameWriter {
        FrameWriter::after(&self.frames)
    }

    /// Whether the bytes so far end at a frame boundary.
    pub fn is_between(&self) -> bool {
        self.frames.is_between()
    }

    /// Estimated number of tokens so far, in decoded and in skipped frames.
    pub fn tokens(&self) -> u64 {
        self.skipped.tokens().saturating_add(self.content_bytes / BYTES_PER_TOKEN)
    }

    /// Ends the stream.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.frames.finish(&mut self.frames_read);
        self.decode(events)?;
        read?;
        self.decoder.finish(&mut self.decoded);
        self.release(events);
        Ok(())
    }

    fn decode(&mut self, events: &mut Vec<Event>) -> Result<(), TranslateError> {
        let mut failed = None;
        for frame in self.frames_read.drain(..) {
            if self.scope == Scope::Summary && self.decoder.is_delta_only(&frame) {
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

    /// Moves decoded events to the caller.
    fn release(&mut self, events: &mut Vec<Event>) {
        let words: usize = self.decoded.iter().map(|event| event.words().len()).sum();
        self.content_bytes += words as u64;
        match &mut self.think {
            Some(think) => self.decoded.drain(..).for_each(|event| think.push(event, events)),
            None => events.append(&mut self.decoded),
        }
    }
}

/// Encodes events to bytes of one dialect, with the client's own names restored.
pub struct StreamWriter {
    restorer: Restorer,
    encoder: Box<dyn StreamEncoder>,
    framer: FrameWriter,
    field_paths: &'static [(&'static str, &'static str)],
    restored: Vec<Event>,
    frames: Vec<Frame>,
    summary: ResponseSummary,
}

impl StreamWriter {
    pub(super) fn new(
        to: &dyn ChatCodec,
        restorer: Restorer,
        field_paths: &'static [(&'static str, &'static str)],
        context: &ReplyContext,
    ) -> StreamWriter {
        StreamWriter {
            restorer,
            encoder: to.stream_encoder(context),
            framer: FrameWriter::new(to.framing()),
            field_paths,
            restored: Vec::new(),
            frames: Vec::new(),
            summary: ResponseSummary::default(),
        }
    }

    /// Sets another frame writer, for another framing or to continue a stream.
    #[must_use]
    pub fn with_framer(self, framer: FrameWriter) -> StreamWriter {
        StreamWriter { framer, ..self }
    }

    /// Encodes events and appends their bytes. Events after the end are ignored.
    pub fn write(&mut self, events: impl IntoIterator<Item = Event>, out: &mut Vec<u8>) {
        for event in events {
            if self.summary.is_over() {
                break;
            }
            self.summary.update(&event);
            self.restorer.event(event, &mut self.restored);
        }
        for event in self.restored.drain(..) {
            self.encoder.encode(event, &mut self.frames);
        }
        for frame in self.frames.drain(..) {
            self.framer.write(&frame, out);
        }
        if self.summary.is_over() {
            self.framer.end(out);
        }
    }

    /// Summary of the response, before it was fitted to the client.
    pub fn summary(&self) -> &ResponseSummary {
        &self.summary
    }

    /// Whether a strict translation must fail for the losses so far. Notes never make it fail.
    pub fn is_refused(&self) -> bool {
        self.restorer.is_refused()
    }

    /// Losses so far, and the reasoning to cache.
    pub fn report(&mut self) -> Report {
        Report::of_answer(&mut self.restorer, self.field_paths)
    }
}
