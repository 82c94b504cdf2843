//! Requests to one vendor and its replies, without a second dialect: the caller creates canonical
//! requests and receives canonical responses.
//!
//! ```text
//! request:  fit(profile) → encode
//! response: decode → restore
//! stream:   frames → events → restore
//! ```

use toolwright_core::profile::Profile;
use toolwright_core::{Event, Request, Response};

use super::{Report, StreamReader, TranslateError, Translated, decode_response};
use crate::codec::{ChatCodec, Target, WireReply, WireRequest};
use crate::fit::restore::Restorer;
use crate::fit::{Aliases, fit_made};

/// Encodes requests to one vendor and decodes its replies.
#[must_use]
#[derive(Clone, Copy)]
pub struct VendorCodec<'c> {
    codec: &'c dyn ChatCodec,
    version: Option<&'c str>,
    think_tags: bool,
}

impl<'c> VendorCodec<'c> {
    /// Creates a codec for a vendor of one dialect.
    pub fn new(codec: &'c dyn ChatCodec) -> VendorCodec<'c> {
        VendorCodec { codec, version: None, think_tags: codec.has_think_tags() }
    }

    /// Sets the version of the vendor's API, if rules depend on it.
    pub fn with_version(mut self, version: Option<&'c str>) -> VendorCodec<'c> {
        self.version = version;
        self
    }

    /// Sets whether a leading `<think>…</think>` is separated from the text, instead of the vendor's
    /// default.
    pub fn with_think_tags(mut self, think_tags: bool) -> VendorCodec<'c> {
        self.think_tags = think_tags;
        self
    }

    /// Fits a request and encodes it. Paths of losses point into the canonical request. Decoding the
    /// reply needs the aliases of the report.
    pub fn encode_request(&self, request: Request) -> Translated<WireRequest> {
        let request = request.placed();
        let model = request.model.clone();
        let target = Target { model: model.as_deref(), version: self.version };
        let fitted = fit_made(request, &self.codec.profile(&target));
        let (request, mut report) = Report::of_request(fitted, &[]);
        let mut value = self.codec.encode_request(request);
        self.codec.ask_for_usage(&mut value);
        report.path = Some(value.path.clone());
        Translated { value, report }
    }

    /// Decodes a response and restores it.
    pub fn decode_response(
        &self,
        wire: WireReply,
        aliases: &Aliases,
    ) -> Result<Translated<Response>, TranslateError> {
        let mut restorer = self.restorer(aliases);
        let value = restorer.response(decode_response(self.codec, wire, self.think_tags)?);
        Ok(Translated { value, report: Report::of_losses(restorer.take_losses(), &[]) })
    }

    /// Decodes a response as its bytes arrive.
    pub fn decode_stream(&self, aliases: &Aliases) -> VendorStreamDecoder {
        VendorStreamDecoder {
            reader: StreamReader::new(self.codec).with_think_tags(self.think_tags),
            restorer: self.restorer(aliases),
            events: Vec::new(),
        }
    }

    fn restorer(&self, aliases: &Aliases) -> Restorer {
        let profile = Profile::canonical(self.codec.dialect());
        Restorer::new(aliases.clone(), &profile.clone(), profile)
    }
}

/// Decodes bytes of one dialect to events, with the names of the request restored.
pub struct VendorStreamDecoder {
    reader: StreamReader,
    restorer: Restorer,
    events: Vec<Event>,
}

impl VendorStreamDecoder {
    /// Reads bytes and appends the events that they complete. After an error nothing more may be
    /// pushed.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.events);
        self.restore(out);
        read
    }

    /// Ends the stream.
    pub fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.reader.finish(&mut self.events);
        self.restore(out);
        read
    }

    /// Losses since the last report.
    pub fn report(&mut self) -> Report {
        Report::of_losses(self.restorer.take_losses(), &[])
    }

    fn restore(&mut self, out: &mut Vec<Event>) {
        for event in self.events.drain(..) {
            self.restorer.event(event, out);
        }
    }
}
