//! Redacts secrets in what a server sends: in the texts that people and models read. Schemas and identifiers of the
//! protocol stay as they are, because they are compared, opened or sent back.

use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::redact::known::KnownSecrets;

use super::message::{Message, Notification, Request, Response, RpcError};
use super::protocol::{ACKNOWLEDGED, ELICIT, PROGRESS, RESOURCE_UPDATED, URL_ELICITATION_REQUIRED};

/// Places in results that stay as they are. `*` stands for every item or member.
const RESULT: [&str; 13] = [
    "nextCursor",
    "requestState",
    "tools/*/name",
    "tools/*/inputSchema",
    "tools/*/outputSchema",
    "prompts/*/name",
    "prompts/*/arguments/*/name",
    "resources/*/uri",
    "resourceTemplates/*/uriTemplate",
    "contents/*/uri",
    "inputRequests/*/params/url",
    "inputRequests/*/params/elicitationId",
    "inputRequests/*/params/requestedSchema",
];

/// Redacts a message.
pub(super) fn message(known: &KnownSecrets, message: Message) -> Message {
    match message {
        Message::Request(Request { id, method, params }) => {
            let params = request(known, &method, params);
            Message::Request(Request { id, method, params })
        }
        Message::Notification(Notification { method, params }) => {
            let params = notification(known, &method, params);
            Message::Notification(Notification { method, params })
        }
        Message::Response(Response { id, result }) => {
            let result = result.map(|own| redact_result(known, own));
            let result = result.map_err(|error| redact_error(known, error));
            Message::Response(Response { id, result })
        }
    }
}

/// Redacts the parameters of a request.
pub(super) fn request(known: &KnownSecrets, method: &str, params: Object) -> Object {
    match method {
        ELICIT => members(known, params, &["url", "elicitationId", "requestedSchema"]),
        _ => known.object(params),
    }
}

/// Redacts the parameters of a notification.
pub(super) fn notification(known: &KnownSecrets, method: &str, params: Object) -> Object {
    match method {
        RESOURCE_UPDATED => members(known, params, &["uri"]),
        ACKNOWLEDGED => members(known, params, &["notifications/resourceSubscriptions"]),
        PROGRESS => members(known, params, &["progressToken", "progress", "total"]),
        _ => known.object(params),
    }
}

fn redact_result(known: &KnownSecrets, result: Object) -> Object {
    // The result of a tool is passed on with all of its members.
    if result.contains_key("content") || result.contains_key("structuredContent") {
        return known.object(result);
    }
    members(known, result, &RESULT)
}

fn redact_error(known: &KnownSecrets, RpcError { code, message, data }: RpcError) -> RpcError {
    let kept: &[&str] = match code {
        URL_ELICITATION_REQUIRED => &["elicitations/*/url", "elicitations/*/elicitationId"],
        _ => &[],
    };
    let data = data.map(|data| json(known, data, kept));
    RpcError { code, message: known.text(&message).into_owned(), data }
}

/// Redacts a value, except for the places in it that are kept. The empty place is the value itself.
fn json(known: &KnownSecrets, value: Json, kept: &[&str]) -> Json {
    if kept.contains(&"") {
        return value;
    }
    match value {
        value if kept.is_empty() => known.json(value),
        Json::Array(items) => {
            let kept = below(kept, "*");
            Json::Array(items.into_iter().map(|item| json(known, item, &kept)).collect())
        }
        Json::Object(own) => Json::Object(members(known, own, kept)),
        other => known.json(other),
    }
}

fn members(known: &KnownSecrets, members: Object, kept: &[&str]) -> Object {
    let mut out = Object::with_capacity(members.len());
    for (key, value) in members {
        let kept = below(kept, &key);
        let value = json(known, value, &kept);
        // The key of a place that is kept, or that has one in it, belongs to the protocol.
        out.push(if kept.is_empty() { known.text(&key).into_owned() } else { key.into() }, value);
    }
    out
}

/// The places within a member or item.
fn below<'k>(kept: &[&'k str], key: &str) -> Vec<&'k str> {
    let inner = kept.iter().filter_map(|place| {
        let (first, rest) = place.split_once('/').unwrap_or((place, ""));
        (first == key || first == "*").then_some(rest)
    });
    inner.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "eu-central-1";

    /// Redacts a message, whose secret is written as `KEY`.
    fn redacted(message: &str) -> String {
        let known = KnownSecrets::new([SECRET, "12345678"]);
        let bytes = format!("{{\"jsonrpc\":\"2.0\",{}}}", message.replace("KEY", SECRET));
        let message = super::message(&known, Message::parse(bytes.as_bytes()).unwrap());
        let inner = match message {
            Message::Request(request) => request.params,
            Message::Notification(notification) => notification.params,
            Message::Response(response) => match response.result {
                Ok(result) => result,
                Err(error) => error.data.as_ref().and_then(Json::as_object).unwrap().clone(),
            },
        };
        inner.compact().replace(SECRET, "KEY")
    }

    #[test]
    fn schemas_and_identifiers_stay_as_they_are() {
        let kept = [
            r#""id":1,"result":{"tools":[{"name":"KEY","inputSchema":{"enum":["KEY"]},"outputSchema":{"KEY":1}}],"nextCursor":"KEY"}"#,
            r#""id":1,"result":{"resources":[{"uri":"arn:aws:s3:KEY:1:b"}]}"#,
            r#""id":1,"result":{"resourceTemplates":[{"uriTemplate":"row://KEY/{id}"}]}"#,
            r#""id":1,"result":{"contents":[{"uri":"row://KEY"}]}"#,
            r#""id":1,"result":{"prompts":[{"name":"KEY","arguments":[{"name":"KEY"}]}]}"#,
            r#""id":1,"result":{"inputRequests":{"KEY":{"params":{"url":"https://KEY/"}}},"requestState":"KEY"}"#,
            r#""id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"url":"https://KEY/"}]}}"#,
            r#""id":1,"method":"elicitation/create","params":{"url":"https://KEY/","requestedSchema":{"enum":["KEY"]}}"#,
            r#""method":"notifications/progress","params":{"progress":12345678,"total":12345678}"#,
            r#""method":"notifications/resources/updated","params":{"uri":"note://KEY"}"#,
            r#""method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["note://KEY"]}}"#,
        ];
        for message in kept {
            let redacted = redacted(message);
            assert!(message.contains(&redacted), "{message}: {redacted}");
        }
    }

    #[test]
    fn texts_are_redacted_beside_them() {
        let tool = r#"{"name":"n","title":"KEY","description":"a KEY","_meta":{"uri":"KEY"}}"#;
        for message in [
            &format!(r#""id":1,"result":{{"tools":[{tool}]}}"#),
            r#""id":1,"result":{"resources":[{"uri":"u","name":"KEY"}]}"#,
            r#""id":1,"result":{"contents":[{"uri":"u","text":"KEY"}]}"#,
            r#""id":1,"result":{"content":[{"type":"text","text":"KEY"}],"nextCursor":"KEY","tools":[{"name":"KEY"}]}"#,
            r#""id":1,"result":{"structuredContent":{"uri":"KEY"},"requestState":"KEY"}"#,
            r#""id":1,"error":{"code":-1,"message":"m","data":{"url":"KEY"}}"#,
            r#""id":1,"method":"elicitation/create","params":{"message":"KEY","requestState":"KEY"}"#,
            r#""id":1,"method":"sampling/createMessage","params":{"url":"KEY"}"#,
            r#""method":"notifications/message","params":{"data":"KEY","uri":"KEY","requestState":"KEY"}"#,
            r#""method":"notifications/progress","params":{"message":"KEY","nextCursor":"KEY"}"#,
        ] {
            let redacted = redacted(message);
            assert!(redacted.contains("[redacted]"), "{message}: {redacted}");
            assert!(!redacted.contains("KEY"), "{message}: {redacted}");
        }
    }
}
