//! Credentials in a manifest, which every client that may see the prefab could read.

use toolwright_core::Json;
use toolwright_json::pointer;
use toolwright_runtime::redact;

use super::manifest::ManifestFault;

/// Members that give a parameter a value. Examples show the form of one, and are judged by their own form.
const VALUES: [&str; 2] = ["default", "const"];

/// Finds the credentials in a document: texts with the form of one, and values of headers and
/// parameters whose names are those of secrets.
pub(super) fn credentials(document: &Json) -> Vec<ManifestFault> {
    let mut found = Vec::new();
    visit(document, "", &mut found);
    found
}

fn visit(value: &Json, at: &str, found: &mut Vec<ManifestFault>) {
    match value {
        // A regular expression that matches credentials is not a credential.
        Json::String(_) if at.ends_with("/pattern") => {}
        Json::String(text) if redact::has_credential(text) => report(at, found),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(item, &format!("{at}/{index}"), found);
            }
        }
        Json::Object(object) => {
            let name = object.get("name").and_then(Json::as_str);
            let holds_secret = name.is_some_and(redact::is_secret_name);
            for (key, member) in object.iter() {
                let below = format!("{at}/{}", pointer::escape(key));
                let is_header = at.ends_with("/headers") && redact::is_secret_name(key);
                let is_value = holds_secret && VALUES.contains(&key);
                let is_property = at.ends_with("/properties") && redact::is_secret_name(key);
                if redact::has_credential(key) || (is_header || is_value) && has_literal(member) {
                    report(&below, found);
                    continue;
                }
                // Several values are a choice, and no credential.
                let is_choice = |values: &Json| values.as_array().is_some_and(|own| own.len() > 1);
                let has_value = |key: &&str| {
                    let value = member.get(key);
                    value.is_some_and(|own| {
                        has_literal(own) && !(**key == *"enum" && is_choice(own))
                    })
                };
                if is_property && VALUES.iter().any(has_value) {
                    report(&below, found);
                    continue;
                }
                visit(member, &below, found);
            }
        }
        _ => {}
    }
}

fn report(at: &str, found: &mut Vec<ManifestFault>) {
    let problem = "this looks like a credential; declare it in 'secrets', and put the value into the \
                   configuration";
    found.push(ManifestFault::new(at, problem));
}

/// Whether a value is a text that is not a placeholder.
fn has_literal(value: &Json) -> bool {
    value.as_str().is_some_and(|text| {
        let is_placeholder = text.contains(['{', '<', '$', '*', '…']) || text.contains("...");
        text.len() >= 6 && !is_placeholder
    })
}
