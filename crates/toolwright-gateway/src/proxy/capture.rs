//! Stores the responses to which later requests of a client may refer. Implemented above, by the feature that stores
//! them.

use crate::conversation::ConversationId;

/// Stores the response to one request.
pub trait Capture: Send + Sync {
    /// Sets the conversation of the response.
    fn set_conversation(&mut self, conversation: ConversationId);

    /// Stores a complete response that the gateway encoded.
    fn answer(&self, response: &str);

    /// Stores the response in the last frames of a stream that the gateway encoded.
    fn end_of_stream(&self, bytes: &[u8]);

    /// Returns the observer of a response of an upstream that passes through.
    fn passing(&self, upstream: &str) -> Box<dyn PassingCapture>;
}

/// Observes a response that passes through.
pub trait PassingCapture: Send + Sync {
    /// Observes bytes of a stream.
    fn observe_chunk(&mut self, bytes: &[u8]);

    /// Observes a complete response.
    fn observe_response(&self, response: &[u8]);
}
