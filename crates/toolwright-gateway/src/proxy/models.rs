//! What models there are, in the form in which each vendor lists them.
//!
//! Several vendors list theirs under `/v1/models`: who asks is told by the headers of his SDK, or by
//! the dialect's id before the path.

use http::HeaderMap;
use toolwright_core::json::Object;
use toolwright_core::profile::Family;
use toolwright_core::{Dialect, Fault, FaultClass, Json, object};

/// A list that is asked for, or one entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// In whose form
    pub dialect: Dialect,
    /// The one model that is asked for
    pub model: Option<String>,
    /// What it tells of
    pub about: About,
}

/// What a listing tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The models
    Models,
    /// The version of the API
    Version,
}

/// The version of Ollama whose API the gateway answers. Clients compare it with what they need.
const OLLAMA_VERSION: &str = "0.12.0";

/// Models have no date of their own here; SDKs want one.
const CREATED: u64 = 1_704_067_200;
const CREATED_AT: &str = "2024-01-01T00:00:00Z";

impl Listing {
    /// What a path asks for; `None` if no vendor lists models there.
    pub fn find(path: &str, headers: &HeaderMap) -> Option<Listing> {
        let rest = path.strip_prefix('/')?;
        let prefixed = rest.split_once('/').and_then(|(id, rest)| Some((id.parse().ok()?, rest)));
        let (dialect, rest): (Option<Dialect>, &str) = match prefixed {
            Some((dialect, rest)) => (Some(dialect), rest),
            None => (None, rest),
        };
        let (version, rest) = match rest.split_once('/') {
            Some((version @ ("v1" | "v1beta" | "v2" | "api"), rest)) => (Some(version), rest),
            _ => (None, rest),
        };
        let (noun, model) = match rest.split_once('/') {
            Some((noun, model)) if !model.is_empty() => (noun, Some(model)),
            Some(_) => return None,
            None => (rest, None),
        };
        let dialect = match (dialect, version, noun) {
            (None | Some(Dialect::Ollama), Some("api"), "tags" | "ps" | "version")
                if model.is_none() =>
            {
                let about = if noun == "version" { About::Version } else { About::Models };
                return Some(Listing { dialect: Dialect::Ollama, model: None, about });
            }
            (None, Some("v1"), "models") => by_headers(headers),
            (None | Some(Dialect::Gemini), Some("v1beta"), "models") => Dialect::Gemini,
            (Some(own), Some("v1") | None, "models") if own.codec().is_some() => own,
            _ => return None,
        };
        let model = model.map(toolwright_core::percent::decode);
        Some(Listing { dialect, model, about: About::Models })
    }

    /// The document, of names that the client may use.
    pub fn document(&self, names: &[String]) -> Result<Json, Fault> {
        if self.about == About::Version {
            return Ok(Json::Object(object! {"version": OLLAMA_VERSION}));
        }
        let Some(model) = &self.model else { return Ok(list(self.dialect, names)) };
        let found = names.iter().find(|name| *name == model);
        found.map(|name| entry(self.dialect, name)).ok_or_else(|| {
            let message = "No such model is listed. A model that is not listed may be asked for \
                           as 'upstream/model' all the same.";
            Fault::new(FaultClass::NotFound, message)
        })
    }
}

/// Who asks for `/v1/models`, by what only his SDK sends.
fn by_headers(headers: &HeaderMap) -> Dialect {
    if headers.contains_key("anthropic-version") {
        Dialect::Anthropic
    } else if headers.contains_key("x-goog-api-key") || headers.contains_key("x-goog-api-client") {
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

/// Ollama's `details` of a model.
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

/// What is known of a model at an upstream.
pub struct Description<'d> {
    /// The upstream's id
    pub upstream: &'d str,
    /// The model's name there
    pub model: &'d str,
    /// Whether it takes images
    pub vision: bool,
}

impl Description<'_> {
    /// The document, in the form of Ollama's `/api/show`.
    pub fn document(&self) -> Json {
        let mut info = object! {"general.architecture": self.upstream};
        if let Some(window) = Family::find(self.model).and_then(|family| family.context_window) {
            info.push(format!("{}.context_length", self.upstream), window);
        }
        let capabilities =
            ["completion", "tools"].into_iter().chain(self.vision.then_some("vision"));
        Json::Object(object! {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": details(self.upstream),
            "model_info": info,
            "capabilities": Json::Array(capabilities.map(Json::from).collect()),
            "modified_at": CREATED_AT,
        })
    }
}
