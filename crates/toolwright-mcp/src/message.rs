//! The messages of JSON-RPC 2.0.

use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::{Number, Object};

use super::protocol::{
    BATCH_VERSION, CALL_TOOL, GET_PROMPT, INITIALIZE, INTERNAL_ERROR, INVALID_PARAMS,
    INVALID_REQUEST, PARSE_ERROR, READ_RESOURCE, RESOURCE_NOT_FOUND, meta,
};

/// Maximum number of messages of a batch.
const MAX_BATCH: usize = 32;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Expects a response with its id
    Request(Request),
    /// Expects no response
    Notification(Notification),
    /// Answers a request
    Response(Response),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The id: a string or an integer
    pub id: Json,
    /// The method
    pub method: String,
    /// The parameters
    pub params: Object,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The method
    pub method: String,
    /// The parameters
    pub params: Object,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The id of the request; none if it could not be read
    pub id: Option<Json>,
    /// The result or the error
    pub result: Result<Object, RpcError>,
}

/// An error of JSON-RPC.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code
    pub code: i64,
    /// The message
    pub message: String,
    /// Further information
    pub data: Option<Json>,
}

impl RpcError {
    /// Creates an error without further information.
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// Creates the error of a request whose parameters are not valid.
    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }

    /// Creates the error of a request that fails for a reason of the server's own.
    pub fn internal(message: impl Into<String>) -> RpcError {
        RpcError::new(INTERNAL_ERROR, message)
    }

    /// Creates the error of a resource that does not exist.
    pub fn resource_not_found(uri: &str, era: Era) -> RpcError {
        let code = if era == Era::Stateless { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        RpcError::new(code, "Resource not found").with_data(object! {"uri": uri})
    }

    /// The same error in an era: the code of unknown resources differs.
    pub fn in_era(self, era: Era) -> RpcError {
        match (self.code, era) {
            (RESOURCE_NOT_FOUND, Era::Stateless) => RpcError { code: INVALID_PARAMS, ..self },
            _ => self,
        }
    }

    /// Adds further information.
    pub fn with_data(mut self, data: impl Into<Json>) -> RpcError {
        self.data = Some(data.into());
        self
    }

    fn decode(wire: &Json) -> Option<RpcError> {
        let Json::Number(code) = wire.get("code")? else { return None };
        Some(RpcError {
            code: code.as_str().parse().ok()?,
            message: wire.get("message").and_then(Json::as_str)?.to_owned(),
            data: wire.get("data").cloned(),
        })
    }

    fn to_json(&self) -> Json {
        let code = Number::parse(&self.code.to_string()).map_or(Json::Null, Json::Number);
        let mut error = object! {"code": code, "message": self.message.as_str()};
        error.insert_some("data", self.data.clone());
        error.into()
    }
}

/// Bytes that are no message: the response that says so, with the id if it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidMessage(pub Box<Response>);

impl InvalidMessage {
    fn new<M: Into<String>>(id: Option<Json>, code: i64, message: M) -> InvalidMessage {
        InvalidMessage(Box::new(Response { id, result: Err(RpcError::new(code, message)) }))
    }

    /// The refusal of a batch by a peer of a version, or without a session.
    pub fn batch(version: Option<&str>) -> InvalidMessage {
        let message = match version {
            Some(version) => format!(
                "Invalid request: only version {BATCH_VERSION} has batches, and the version of the session is \
                 {version}; send one message at a time"
            ),
            None => format!(
                "Invalid request: a batch needs a session of version {BATCH_VERSION}; send one message at a time"
            ),
        };
        InvalidMessage::new(None, INVALID_REQUEST, message)
    }
}

/// What arrives at once: a message, or a batch of them, which only the version 2025-03-26 has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// A message
    Message(Message),
    /// The messages of a batch, and what is none
    Batch(Vec<Result<Message, InvalidMessage>>),
}

impl Payload {
    /// Parses a message or a batch. A batch that is empty or has too many messages is refused.
    pub fn parse(bytes: &[u8]) -> Result<Payload, InvalidMessage> {
        match parse_json(bytes)? {
            Json::Array(items) if items.is_empty() => {
                let message = "Invalid request: the batch is empty";
                Err(InvalidMessage::new(None, INVALID_REQUEST, message))
            }
            Json::Array(items) if items.len() > MAX_BATCH => {
                let message = format!("Invalid request: a batch has at most {MAX_BATCH} messages");
                Err(InvalidMessage::new(None, INVALID_REQUEST, message))
            }
            Json::Array(items) => {
                Ok(Payload::Batch(items.into_iter().map(Message::from_json).collect()))
            }
            json => Message::from_json(json).map(Payload::Message),
        }
    }
}

fn parse_json(bytes: &[u8]) -> Result<Json, InvalidMessage> {
    let message = "Parse error: the message is not JSON";
    Json::parse_bytes(bytes).map_err(|_| InvalidMessage::new(None, PARSE_ERROR, message))
}

impl Message {
    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Message, InvalidMessage> {
        Message::from_json(parse_json(bytes)?)
    }

    /// Returns the response, if it is one.
    pub(super) fn into_response(self) -> Option<Response> {
        match self {
            Message::Response(response) => Some(response),
            Message::Request(_) | Message::Notification(_) => None,
        }
    }

    /// Refuses a message that may not be in a batch.
    pub fn in_batch(self) -> Result<Message, InvalidMessage> {
        match self {
            Message::Request(request) if request.method == INITIALIZE => {
                let message = "Invalid request: initialize may not be in a batch";
                Err(InvalidMessage::new(Some(request.id), INVALID_REQUEST, message))
            }
            message => Ok(message),
        }
    }

    fn from_json(json: Json) -> Result<Message, InvalidMessage> {
        let refuse = InvalidMessage::new::<&str>;
        let Json::Object(mut wire) = json else {
            let message = "Invalid request: a message is one JSON object";
            return Err(refuse(None, INVALID_REQUEST, message));
        };
        let id = wire.remove("id");
        let has_invalid_id = id.as_ref().is_some_and(|id| !is_id(id));
        let id = id.filter(is_id);
        if wire.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(refuse(id, INVALID_REQUEST, "Invalid request: 'jsonrpc' is not \"2.0\""));
        }
        if let Some(Json::String(method)) = wire.remove("method") {
            let method = method.into_string();
            if has_invalid_id {
                let message = "Invalid request: 'id' is neither a string nor an integer";
                return Err(refuse(None, INVALID_REQUEST, message));
            }
            let params = match wire.remove("params") {
                None => Object::new(),
                Some(Json::Object(params)) => params,
                Some(_) => {
                    let message = "Invalid request: 'params' is not an object";
                    return Err(refuse(id, INVALID_REQUEST, message));
                }
            };
            return Ok(match id {
                Some(id) => Message::Request(Request { id, method, params }),
                None => Message::Notification(Notification { method, params }),
            });
        }
        let result = match (wire.remove("result"), wire.remove("error")) {
            (Some(Json::Object(result)), None) => Some(Ok(result)),
            (None, Some(error)) => RpcError::decode(&error).map(Err),
            _ => None,
        };
        if let Some(result) = result {
            return Ok(Message::Response(Response { id, result }));
        }
        let message = "Invalid request: the message has no 'method', 'result' or 'error'";
        Err(refuse(id, INVALID_REQUEST, message))
    }

    /// Returns the message as text without line breaks.
    pub fn compact(&self) -> String {
        match self {
            Message::Request(request) => request.compact(),
            Message::Notification(Notification { method, params }) => {
                let mut text = r#"{"jsonrpc":"2.0","method":"#.to_owned();
                Json::from(method.as_str()).write_to(&mut text);
                if !params.is_empty() {
                    text.push_str(r#","params":"#);
                    params.write_to(&mut text);
                }
                text.push('}');
                text
            }
            Message::Response(Response { id, result }) => {
                let mut text = r#"{"jsonrpc":"2.0","id":"#.to_owned();
                id.as_ref().unwrap_or(&Json::Null).write_to(&mut text);
                match result {
                    Ok(result) => {
                        text.push_str(r#","result":"#);
                        result.write_to(&mut text);
                    }
                    Err(error) => {
                        text.push_str(r#","error":"#);
                        error.to_json().write_to(&mut text);
                    }
                }
                text.push('}');
                text
            }
        }
    }
}

impl Response {
    /// Returns the responses to a batch as text without line breaks.
    pub fn compact_batch(responses: impl IntoIterator<Item = Response>) -> String {
        let each = responses.into_iter().map(|response| Message::Response(response).compact());
        format!("[{}]", each.collect::<Vec<_>>().join(","))
    }
}

impl Request {
    /// Whether the request says that it needs no session.
    pub fn is_stateless(&self) -> bool {
        self.params.get(meta::META).is_some_and(|own| own.get(meta::VERSION).is_some())
    }

    /// The name of the tool or prompt, or the URI of the resource, which a header repeats.
    pub(super) fn target(&self) -> Option<&str> {
        let key = match self.method.as_str() {
            CALL_TOOL | GET_PROMPT => "name",
            READ_RESOURCE => "uri",
            _ => return None,
        };
        self.params.get(key).and_then(Json::as_str)
    }

    /// Returns the message as text without line breaks.
    pub(super) fn compact(&self) -> String {
        let mut text = r#"{"jsonrpc":"2.0","id":"#.to_owned();
        self.id.write_to(&mut text);
        text.push_str(r#","method":"#);
        Json::from(self.method.as_str()).write_to(&mut text);
        text.push_str(r#","params":"#);
        self.params.write_to(&mut text);
        text.push('}');
        text
    }
}

/// Whether a value may be the id of a request.
fn is_id(id: &Json) -> bool {
    match id {
        Json::String(_) => true,
        Json::Number(number) => number.is_integer(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":123456789012345678901234567890}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{"x":1e400}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":[1]}}"#,
        ] {
            assert_eq!(Message::parse(text.as_bytes()).unwrap().compact(), text);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        for (text, id, code) in [
            ("{", None, PARSE_ERROR),
            ("[]", None, INVALID_REQUEST),
            (r#"{"id":3,"method":"ping"}"#, Some(Json::from(3_u64)), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null}"#, None, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"result":3}"#, None, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":"a","params":[]}"#,
                Some("x".into()),
                INVALID_REQUEST,
            ),
        ] {
            let InvalidMessage(response) = Message::parse(text.as_bytes()).unwrap_err();
            assert_eq!(response.id, id, "{text}");
            assert_eq!(response.result.unwrap_err().code, code, "{text}");
        }
    }

    #[test]
    fn a_batch_is_read_message_by_message() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#;
        let Ok(Payload::Batch(items)) = Payload::parse(format!("[{ping},7]").as_bytes()) else {
            panic!("a batch");
        };
        assert_eq!(items[0].as_ref().unwrap().compact(), ping);
        let InvalidMessage(response) = items[1].clone().unwrap_err();
        assert_eq!(response.result.unwrap_err().code, INVALID_REQUEST);
        for batch in ["[]".to_owned(), format!("[{}]", vec![ping; MAX_BATCH + 1].join(","))] {
            let InvalidMessage(response) = Payload::parse(batch.as_bytes()).unwrap_err();
            assert_eq!(response.result.unwrap_err().code, INVALID_REQUEST);
        }
    }
}
