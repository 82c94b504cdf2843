//! Translates a stream between dialects as it arrives: bytes of the source's dialect or events in, bytes
//! of the target's dialect out.

use toolwright_core::event::think::ThinkFilter;
use toolwright_core::{Event, Fault, FaultClass};

use super::{Report, TranslateError};
use crate::codec::{ChatCodec, ReplyContext, ResponseSummary, StreamDecoder, StreamEncoder};
use crate::fit::restore::Restorer;
use crate::frame::{Frame, FrameReader, FrameWriter, Framing};

/// Translates one stream to bytes of another dialect, with the client's own names restored. It buffers at
/// most a frame, or a part where the target's dialect cannot send it in pieces.
///
/// The source is either bytes ([`Self::push`], [`Self::finish`]) or events ([`Self::write`]). Nothing is
/// appended after the end of the response.
#[must_use]
pub struct StreamTranslator {
    reader: StreamReader,
    restorer: Restorer,
    encoder: Box<dyn StreamEncoder>,
    framer: FrameWriter,
    field_paths: &'static [(&'static str, &'static str)],
    /// The fault that ends the stream at its first loss
    refusal: Option<Fault>,
    summary: ResponseSummary,
    /// Bytes of content that were written
    content_bytes: u64,
    /// Bytes of an incomplete frame
    unread: usize,
    /// Bytes of content that wait for the end of their part
    held: usize,
    events: Vec<Event>,
    restored: Vec<Event>,
    frames: Vec<Frame>,
}

impl StreamTranslator {
    pub(super) fn new(
        reader: StreamReader,
        restorer: Restorer,
        field_paths: &'static [(&'static str, &'static str)],
        to: &dyn ChatCodec,
        context: &ReplyContext,
    ) -> StreamTranslator {
        StreamTranslator {
            reader,
            restorer,
            encoder: to.stream_encoder(context),
            framer: FrameWriter::new(to.framing()),
            field_paths,
            refusal: None,
            summary: ResponseSummary::default(),
            content_bytes: 0,
            unread: 0,
            held: 0,
            events: Vec::new(),
            restored: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Sets another frame writer, for another framing or to continue a stream.
    pub fn with_framer(self, framer: FrameWriter) -> StreamTranslator {
        StreamTranslator { framer, ..self }
    }

    /// Ends the stream with a fault at its first major or minor loss.
    pub fn with_refusal(self, fault: Fault) -> StreamTranslator {
        StreamTranslator { refusal: Some(fault), ..self }
    }

    /// Reads bytes and appends the translation of what is complete. Frames of a kind that the source's
    /// dialect does not have are skipped.
    ///
    /// After an error nothing more may be pushed: the appended bytes end with a fault, so that a client
    /// that got half a response knows it.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.events);
        self.unread = if self.events.is_empty() { self.unread + bytes.len() } else { 0 };
        self.write_read(read, out)
    }

    /// Ends the stream after its last byte: an incomplete response ends with a fault. An error reaches the
    /// client as in [`Self::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), TranslateError> {
        let read = self.reader.finish(&mut self.events);
        self.unread = 0;
        self.write_read(read, out)
    }

    /// Appends the translation of events.
    pub fn write(&mut self, events: impl IntoIterator<Item = Event>, out: &mut Vec<u8>) {
        for event in events {
            if self.summary.is_over() {
                break;
            }
            self.write_event(event, out);
            // Checked for each event, because the end may arrive in the same frame.
            if let Some(fault) = self.refusal.take_if(|_| self.restorer.is_refused())
                && !self.summary.is_over()
            {
                self.write_event(Event::Fault(fault), out);
            }
        }
    }

    /// Ends the stream with a fault.
    pub fn fail(&mut self, fault: Fault, out: &mut Vec<u8>) {
        self.write([Event::Fault(fault)], out);
    }

    /// Summary of the response so far, before it was fitted to the client.
    pub fn summary(&self) -> &ResponseSummary {
        &self.summary
    }

    /// Estimated number of tokens so far.
    pub fn tokens(&self) -> u64 {
        self.content_bytes / BYTES_PER_TOKEN
    }

    /// Number of bytes that were received and not yet written.
    pub fn buffered_bytes(&self) -> usize {
        self.unread + self.held
    }

    /// Takes the losses so far, and the reasoning to cache.
    pub fn report(&mut self) -> Report {
        Report::of_answer(&mut self.restorer, self.field_paths)
    }

    /// Writes the decoded events, and a fault if the source could not be read.
    fn write_read(
        &mut self,
        read: Result<(), TranslateError>,
        out: &mut Vec<u8>,
    ) -> Result<(), TranslateError> {
        let mut events = std::mem::take(&mut self.events);
        self.write(events.drain(..), out);
        self.events = events;
        if let Err(error) = &read {
            let message = format!("The upstream's stream is damaged: {error}.");
            self.fail(Fault::new(FaultClass::Internal, message), out);
        }
        read
    }

    fn write_event(&mut self, event: Event, out: &mut Vec<u8>) {
        let (words, written) = (event.words().len(), out.len());
        self.content_bytes += words as u64;
        self.summary.update(&event);
        self.restorer.event(event, &mut self.restored);
        for event in self.restored.drain(..) {
            self.encoder.encode(event, &mut self.frames);
        }
        for frame in self.frames.drain(..) {
            self.framer.write(&frame, out);
        }
        if self.summary.is_over() {
            self.framer.end(out);
        }
        // Written events take more bytes than their content, and held content is written all at once.
        self.held = (self.held + words).saturating_sub(out.len() - written);
    }
}

/// Decodes bytes of one dialect to events.
#[must_use]
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
    pub fn with_think_tags(mut self, think_tags: bool) -> StreamReader {
        self.think = think_tags.then(ThinkFilter::default);
        self
    }

    /// Creates a reader for a [`ResponseSummary`], which skips most frames of content. The events are not
    /// for a [`StreamTranslator`].
    pub fn summarizing(from: &dyn ChatCodec) -> StreamReader {
        StreamReader { scope: Scope::Summary, ..StreamReader::new(from) }
    }

    /// Sets another framing than the dialect's default.
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
