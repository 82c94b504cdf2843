//! Names of upstreams, aliases and keys. They appear in model names, paths and patterns, so
//! characters with a meaning there are not allowed.

use super::error::Result;
use super::value::Value;

/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 128;

/// Maximum length of the name of an MCP server or of a tool set: the names of tools begin with it.
pub const MAX_LABEL: usize = 32;

/// Whether a text may be the name of an MCP server or of a tool set.
pub fn is_label(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    !name.is_empty() && name.len() <= MAX_LABEL && name.chars().all(is_plain)
}

/// Checks the name of an entry.
pub(crate) fn check(name: &str, entry: &Value<'_>) -> Result<()> {
    fault(name).map_or(Ok(()), |what| Err(entry.error(what)))
}

/// Returns the problem with a name.
pub fn fault(name: &str) -> Option<String> {
    let legal = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | ':');
    if name.is_empty() {
        Some("the name is empty".to_owned())
    } else if name.chars().count() > MAX_NAME_BYTES {
        Some(format!("the name is longer than {MAX_NAME_BYTES} characters"))
    } else {
        let letter = name.chars().find(|letter| !legal(*letter))?;
        Some(format!("{letter:?} is not legal in a name; letters, digits and `-_.:` are"))
    }
}

/// Writes a TOML key: bare if possible.
pub fn quoted(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { text(name) }
}

/// Writes a TOML string.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                out.extend(format!("\\u{:04X}", u32::from(letter)).chars());
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_nothing_that_means_something_elsewhere() {
        for name in ["claude", "gpt-4o", "qwen2.5:7b", "助手"] {
            assert_eq!(fault(name), None, "{name}");
        }
        for name in ["", "a/b", "a b", "a*", "a?b", "a%20", "a\nb"] {
            assert!(fault(name).is_some(), "{name}");
        }
        assert!(fault(&"a".repeat(129)).is_some());
    }

    #[test]
    fn a_written_text_is_read_back() {
        for name in ["plain", "qwen2.5:7b", "助手", "a\"b\\c\n", ""] {
            let document = format!("{} = {}", quoted(name), text(name));
            let table: toml::Table = document.parse().unwrap();
            assert_eq!(table[name].as_str(), Some(name), "{document}");
        }
    }
}
