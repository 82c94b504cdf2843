//! One vendor, spoken to in canonical words: the way of a request that was made and not read, and
//! of an answer that goes to the library and to no second dialect.
//!
//! ```text
//! request:  fit(profile) → encode
//! response: decode → restore
//! stream:   frames → events → restore
//! ```

use super::{Report, StreamReader, TranslateError, Translated, decode_response};
use crate::codec::{ChatCodec, Target, WireReply, WireRequest};
use crate::event::Event;
use crate::fit::restore::Restorer;
use crate::fit::{Aliases, fit_made};
use crate::model::request::Request;
use crate::model::response::Response;
use crate::profile::Profile;

/// Speaks to one vendor.
#[derive(Clone, Copy)]
pub struct Speaker<'c> {
    codec: &'c dyn ChatCodec,
    version: Option<&'c str>,
    think_tags: bool,
}

impl<'c> Speaker<'c> {
    /// To a vendor of one dialect.
    pub fn new(codec: &'c dyn ChatCodec) -> Speaker<'c> {
        Speaker { codec, version: None, think_tags: codec.has_think_tags() }
    }

    /// By one version of its API, where rules depend on it.
    #[must_use]
    pub fn with_version(mut self, version: Option<&'c str>) -> Speaker<'c> {
        self.version = version;
        self
    }

    /// Separates a leading `<think>…</think>` from the text, or does not, whatever is usual behind
    /// this vendor.
    #[must_use]
    pub fn with_think_tags(mut self, think_tags: bool) -> Speaker<'c> {
        self.think_tags = think_tags;
        self
    }

    /// Fits a request and writes it. Losses are named by their place in the canonical request. The
    /// aliases of the report are needed for the way back.
    pub fn request(&self, request: Request) -> Translated<WireRequest> {
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

    /// Reads an answer and restores it.
    pub fn response(
        &self,
        wire: WireReply,
        aliases: &Aliases,
    ) -> Result<Translated<Response>, TranslateError> {
        let mut restorer = self.restorer(aliases);
        let value = restorer.response(decode_response(self.codec, wire, self.think_tags)?);
        Ok(Translated { value, report: Report::of_losses(restorer.take_losses(), &[]) })
    }

    /// Reads an answer as its bytes arrive.
    pub fn stream(&self, aliases: &Aliases) -> StreamListener {
        StreamListener {
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

/// Takes bytes of one dialect and gives events in the names that the request had.
pub struct StreamListener {
    reader: StreamReader,
    restorer: Restorer,
    events: Vec<Event>,
}

impl StreamListener {
    /// Takes some bytes and appends the events that they complete. After an error nothing more may
    /// be pushed.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.reader.push(bytes, &mut self.events);
        self.restore(out);
        read
    }

    /// Takes the end of the bytes.
    pub fn finish(&mut self, out: &mut Vec<Event>) -> Result<(), TranslateError> {
        let read = self.reader.finish(&mut self.events);
        self.restore(out);
        read
    }

    /// What the answer lost since this was last asked.
    pub fn report(&mut self) -> Report {
        Report::of_losses(self.restorer.take_losses(), &[])
    }

    fn restore(&mut self, out: &mut Vec<Event>) {
        for event in self.events.drain(..) {
            self.restorer.event(event, out);
        }
    }
}
