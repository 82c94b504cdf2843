//! Secrets, which the file names and does not hold: `env:NAME` or `file:PATH`. They are fetched when
//! the file is read, so that a missing one is told at the start and not by a request.

use std::fs::File;
use std::io::Read;

use toolwright::SecretString;

use super::error::ConfigError;
use super::value::Value;

/// The largest file that holds a secret.
const LARGEST: u64 = 64 * 1024;

/// What to do about a secret that is in the configuration itself.
const ADVICE: &str = "keep it in a variable and write \"env:NAME\", or in a file and write \
    \"file:PATH\"";

/// Fetches the secret that a value names.
pub(super) fn fetch(value: &Value<'_>) -> Result<SecretString, ConfigError> {
    find(value)?.ok_or_else(|| {
        value.error("a secret is not written into the configuration itself").with_hint(ADVICE)
    })
}

/// Fetches the secret that a value names, if it names one.
pub(super) fn find(value: &Value<'_>) -> Result<Option<SecretString>, ConfigError> {
    let text = value.text()?;
    if let Some(name) = text.strip_prefix("env:") {
        variable(value, name).map(Some)
    } else if let Some(path) = text.strip_prefix("file:") {
        file(value, path).map(Some)
    } else {
        Ok(None)
    }
}

fn variable(value: &Value<'_>, name: &str) -> Result<SecretString, ConfigError> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    // What is no name of a variable may be the secret itself, so it is not repeated.
    if name.is_empty() || !name.chars().all(legal) {
        return Err(value.error("what follows `env:` is not the name of a variable"));
    }
    match (value.file.env)(name) {
        None => Err(value
            .error(format!("the variable {name} is not set"))
            .with_hint(format!("set {name}, or remove what needs it"))),
        Some(text) => whole(value, &text, &format!("the variable {name}")),
    }
}

fn file(value: &Value<'_>, path: &str) -> Result<SecretString, ConfigError> {
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
        Ok(_) => whole(value, &text, &format!("the file {name}")),
    }
}

/// The text without the line's end that editors and shells leave behind it.
fn whole(value: &Value<'_>, text: &str, source: &str) -> Result<SecretString, ConfigError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(value.error(format!("{source} is empty")));
    }
    if text.chars().any(char::is_control) {
        return Err(value.error(format!("{source} holds more than one line")));
    }
    Ok(SecretString::from(text))
}
