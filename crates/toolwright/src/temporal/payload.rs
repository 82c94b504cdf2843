//! JSON documents as payloads of Temporal. Numbers keep their digits.

use std::collections::HashMap;

use temporalio_common::data_converters::{
    PayloadConversionError, SerializationContext, TemporalDeserializable, TemporalSerializable,
};
use temporalio_common::protos::temporal::api::common::v1::Payload;
use toolwright_core::Json;

/// A JSON document, as the input or the result of workflows and activities.
#[derive(Debug, Clone, Default)]
pub struct Document(pub(super) Json);

impl TemporalSerializable for Document {
    fn to_payload(&self, _: &SerializationContext<'_>) -> Result<Payload, PayloadConversionError> {
        let encoding = ("encoding".to_owned(), b"json/plain".to_vec());
        Ok(Payload {
            metadata: HashMap::from([encoding]),
            data: self.0.compact().into_bytes(),
            ..Payload::default()
        })
    }
}

impl TemporalDeserializable for Document {
    fn from_payload(
        _: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Document, PayloadConversionError> {
        let parsed = Json::parse_bytes(&payload.data);
        parsed.map(Document).map_err(|error| PayloadConversionError::EncodingError(error.into()))
    }
}

impl<J: Into<Json>> From<J> for Document {
    fn from(document: J) -> Document {
        Document(document.into())
    }
}
