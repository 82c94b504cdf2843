//! Embeddings, in as many requests as the vendor's limits require.

use toolwright_core::{Fault, FaultClass, Usage};
use toolwright_dialects::embed::{EmbedFormat, EmbedRequest, Embeddings};

use super::attempt::{self, Failure};
use super::fault::invalid_response;
use super::{Outgoing, Remote};

impl Remote {
    /// Embeds texts, one vector each and in order. Without texts no request is sent.
    pub async fn embed(&self, request: EmbedRequest) -> Result<Embeddings, Fault> {
        let Some(format) = self.codec().embed_format() else {
            let message = format!("upstream `{}` has no embeddings; use another", self.id());
            return Err(Fault::new(FaultClass::NotFound, message));
        };
        let EmbedRequest { model, inputs, kind, dimensions } = request;
        let mut whole = Embeddings::default();
        for inputs in format.limits().split(&inputs) {
            let inputs = inputs.to_vec();
            let part = EmbedRequest { model: model.clone(), inputs, kind, dimensions };
            let outgoing = attempt::outgoing(format.encode(&part));
            let (sent, count) = (&outgoing, part.inputs.len());
            let part = attempt::with_retries(self, || attempt(self, format, sent, count)).await?;
            let lengths = [&whole, &part].map(|own| own.vectors.first().map(Vec::len));
            if lengths[0].is_some() && lengths[0] != lengths[1] {
                let what = "sent vectors of several lengths";
                return Err(invalid_response(self.label(), what));
            }
            whole.vectors.extend(part.vectors);
            if let Some(usage) = part.usage {
                whole.usage.get_or_insert_with(Usage::default).add(&usage);
            }
        }
        Ok(whole)
    }
}

async fn attempt(
    remote: &Remote,
    format: EmbedFormat,
    outgoing: &Outgoing,
    count: usize,
) -> Result<Embeddings, Failure> {
    let wire = attempt::document(remote, attempt::send(remote, outgoing).await?).await?;
    let read = format.decode(remote.codec().dialect(), wire.body.clone(), count);
    read.map_err(|error| attempt::unreadable(remote, wire, &error))
}
