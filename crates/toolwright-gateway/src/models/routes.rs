//! Lists of models, in the form of each vendor.
//!
//! Several vendors use `/v1/models`: the dialect is that of the SDK that asks, unless the path has a
//! prefix.

use http::HeaderMap;
use toolwright_core::json::Object;
use toolwright_core::profile::Family;
use toolwright_core::{Dialect, Fault, FaultClass, Json, object};
use toolwright_runtime::upstream::X_GOOG_API_KEY;

/// The subject of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The models
    Models,
    /// The version of the API
    Version,
}

/// The version of Ollama whose API the gateway provides. Clients compare it with their minimum.
const OLLAMA_VERSION: &str = "0.12.0";

/// The creation time of models, which is unknown but required by SDKs.
const CREATED: u64 = 1_704_067_200;
const CREATED_AT: &str = "2024-01-01T00:00:00Z";

/// Returns a list of models in a dialect, or one entry, of the names that the client may use.
pub fn listing(
    dialect: Dialect,
    about: About,
    model: Option<&str>,
    names: &[String],
) -> Result<Json, Fault> {
    if about == About::Version {
        return Ok(Json::Object(object! {"version": OLLAMA_VERSION}));
    }
    let Some(model) = model else { return Ok(list(dialect, names)) };
    let found = names.iter().find(|name| *name == model);
    found.map(|name| entry(dialect, name)).ok_or_else(|| {
        let message = "This model is not listed. Models that are not listed can be requested as \
                       'upstream/model'.";
        Fault::new(FaultClass::NotFound, message)
    })
}

/// Returns the dialect of an SDK, by headers that it alone sends.
pub fn dialect_of_sdk(headers: &HeaderMap) -> Dialect {
    if headers.contains_key("anthropic-version") {
        Dialect::Anthropic
    } else if headers.contains_key(X_GOOG_API_KEY) || headers.contains_key("x-goog-api-client") {
        Dialect::Gemini
    } else {
        Dialect::OpenaiChat
    }
}

fn list(dialect: Dialect, names: &[String]) -> Json {
    let entries: Vec<Json> = names.iter().map(|name| entry(dialect, name)).collect();
    let object = match dialect {
        Dialect::Anthropic => object! {
            "data": entries,
            "has_more": false,
            "first_id": names.first().map(String::as_str),
            "last_id": names.last().map(String::as_str),
        },
        Dialect::Gemini | Dialect::Ollama | Dialect::Cohere => object! {"models": entries},
        _ => object! {"object": "list", "data": entries},
    };
    Json::Object(object)
}

fn entry(dialect: Dialect, name: &str) -> Json {
    let owner = name.split_once('/').map_or("toolwright", |(upstream, _)| upstream);
    let object = match dialect {
        Dialect::Anthropic => object! {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": CREATED_AT,
        },
        Dialect::Gemini => object! {
            "name": format!("models/{name}"),
            "displayName": name,
            "supportedGenerationMethods": Json::Array(vec![
                "generateContent".into(),
                "streamGenerateContent".into(),
            ]),
        },
        Dialect::Ollama => object! {
            "name": name,
            "model": name,
            "modified_at": CREATED_AT,
            "size": 0_u64,
            "digest": "",
            "details": details(owner),
        },
        Dialect::Cohere => object! {
            "name": name,
            "endpoints": Json::Array(vec!["chat".into()]),
        },
        _ => object! {"id": name, "object": "model", "created": CREATED, "owned_by": owner},
    };
    Json::Object(object)
}

/// Returns Ollama's `details` of a model.
fn details(family: &str) -> Object {
    object! {
        "parent_model": "",
        "format": "",
        "family": family,
        "families": Json::Array(vec![family.into()]),
        "parameter_size": "",
        "quantization_level": "",
    }
}

/// Describes a model of an upstream, which may accept images, in the form of Ollama's `/api/show`.
pub fn description(upstream: &str, model: &str, vision: bool) -> Json {
    let mut info = object! {"general.architecture": upstream};
    if let Some(window) = Family::find(model).and_then(|family| family.context_window) {
        info.push(format!("{upstream}.context_length"), window);
    }
    let capabilities = ["completion", "tools"].into_iter().chain(vision.then_some("vision"));
    Json::Object(object! {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": details(upstream),
        "model_info": info,
        "capabilities": Json::Array(capabilities.map(Json::from).collect()),
        "modified_at": CREATED_AT,
    })
}
