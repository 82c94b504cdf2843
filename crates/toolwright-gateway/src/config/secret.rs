//! Secrets, which the file references as `env:NAME` or `file:PATH`. They are read together with the
//! file, so that a missing one fails at startup and not at the first request.

use std::fs::File;
use std::io::Read;

use toolwright_transport::secret::SecretString;

use super::error::Result;
use super::value::Value;

/// Maximum size of a file with a secret.
const LARGEST: u64 = 64 * 1024;

/// The hint for a secret in the configuration itself.
const ADVICE: &str = "keep it in a variable and write \"env:NAME\", or in a file and write \
    \"file:PATH\"";

/// Reads the secret that a value references.
pub(crate) fn fetch(value: &Value<'_>) -> Result<SecretString> {
    find(value)?.ok_or_else(|| {
        value.error("a secret is not written into the configuration itself").with_hint(ADVICE)
    })
}

/// Reads the secret that a value references, if it is a reference.
pub(crate) fn find(value: &Value<'_>) -> Result<Option<SecretString>> {
    let text = value.text()?;
    if let Some(name) = text.strip_prefix("env:") {
        variable(value, name).map(Some)
    } else if let Some(path) = text.strip_prefix("file:") {
        file(value, path).map(Some)
    } else {
        Ok(None)
    }
}

fn variable(value: &Value<'_>, name: &str) -> Result<SecretString> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    // An invalid name may be the secret itself, so it is not repeated.
    if name.is_empty() || !name.chars().all(legal) {
        return Err(value.error("what follows `env:` is not the name of a variable"));
    }
    match (value.file.env)(name) {
        None => Err(value
            .error(format!("the variable {name} is not set"))
            .with_hint(format!("set {name}, or remove what needs it"))),
        Some(text) => single_line(value, &text, &format!("the variable {name}")),
    }
}

fn file(value: &Value<'_>, path: &str) -> Result<SecretString> {
    if path.trim().is_empty() {
        return Err(value.error("a path must follow `file:`"));
    }
    let path = value.file.path(path);
    let name = path.display();
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(value.error(format!("{name}: {error}"))),
        Ok(length) if length as u64 > LARGEST => {
            Err(value.error(format!("{name} is larger than {LARGEST} bytes")))
        }
        Ok(_) => single_line(value, &text, &format!("the file {name}")),
    }
}

/// Removes the final newline that editors and shells add.
fn single_line(value: &Value<'_>, text: &str, source: &str) -> Result<SecretString> {
    let text = text.trim();
    if text.is_empty() {
        return Err(value.error(format!("{source} is empty")));
    }
    if text.chars().any(char::is_control) {
        return Err(value.error(format!("{source} holds more than one line")));
    }
    Ok(SecretString::from(text))
}
