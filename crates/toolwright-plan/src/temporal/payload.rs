//! JSON documents as payloads of Temporal. Numbers keep their digits.

use std::collections::HashMap;

use temporalio_common::data_converters::{
    PayloadConversionError, SerializationContext, TemporalDeserializable, TemporalSerializable,
};
use temporalio_common::protos::temporal::api::common::v1::Payload;
use toolwright_core::Json;

use crate::run::journal::record::parse;

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
        let text = std::str::from_utf8(&payload.data);
        let text = text.map_err(|error| PayloadConversionError::EncodingError(error.into()))?;
        let parsed = parse(text);
        parsed.map(Document).map_err(|error| PayloadConversionError::EncodingError(error.into()))
    }
}

impl<J: Into<Json>> From<J> for Document {
    fn from(document: J) -> Document {
        Document(document.into())
    }
}

#[cfg(test)]
mod tests {
    use temporalio_common::data_converters::{PayloadConverter, SerializationContextData};
    use toolwright_json::MAX_DEPTH;

    use super::*;

    #[test]
    fn a_document_may_contain_values_of_the_maximum_depth() {
        let converter = PayloadConverter::default();
        let context = SerializationContext::new(&SerializationContextData::None, &converter);
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        let value = Json::parse(&deep).unwrap();
        let document = Document::from(toolwright_core::object! {"output": value});
        let payload = document.to_payload(&context).unwrap();
        assert_eq!(Document::from_payload(&context, payload).unwrap().0, document.0);
    }
}
