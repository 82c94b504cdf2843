//! URLs of files: `s3://toolwright/<tenant>/<id>/<name>`.

use std::fmt;
use std::str::FromStr;

use toolwright_core::percent;

/// What every URL begins with.
const PREFIX: &str = "s3://toolwright/";

/// Length of the folder of a tenant and of an id, in hexadecimal digits.
const DIGITS: usize = 32;

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The name of a file whose name has nothing to keep.
const UNNAMED: &str = "file";

/// The URL of a file. It contains a hash of the tenant, a random id and the name of the file, and nothing
/// of the place where the bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileUrl {
    tenant: String,
    id: String,
    name: String,
}

/// The error for a text that is not the URL of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the URL of a file")]
pub struct InvalidFileUrl;

impl FileUrl {
    /// Creates the URL of a new file. The name loses its folders and control characters.
    pub(super) fn new(tenant: &str, name: &str) -> Result<FileUrl, getrandom::Error> {
        let id = random_digits()?;
        Ok(FileUrl { tenant: tenant_folder(tenant), id, name: clean_name(name) })
    }

    /// Returns the key: tenant, id and percent-encoded name, separated by slashes.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.tenant, self.id, percent::encode(&self.name))
    }

    /// Parses a key.
    pub fn from_key(key: &str) -> Result<FileUrl, InvalidFileUrl> {
        let mut segments = key.splitn(3, '/');
        let mut next = || segments.next().ok_or(InvalidFileUrl);
        let (tenant, id, name) = (next()?, next()?, percent::decode(next()?));
        let is_id = |text: &str| {
            text.len() == DIGITS && text.bytes().all(|own| matches!(own, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !is_id(tenant) || !is_id(id) || clean_name(&name) != name {
            return Err(InvalidFileUrl);
        }
        Ok(FileUrl { tenant: tenant.to_owned(), id: id.to_owned(), name })
    }

    /// Returns the name of the file, which is safe as the name of a file in a folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the random id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the file belongs to a tenant.
    pub fn belongs_to(&self, tenant: &str) -> bool {
        self.tenant == tenant_folder(tenant)
    }

    pub(super) fn tenant(&self) -> &str {
        &self.tenant
    }

    pub(super) fn from_parts(tenant: String, id: String, name: String) -> FileUrl {
        FileUrl { tenant, id, name }
    }
}

impl fmt::Display for FileUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.key())
    }
}

impl FromStr for FileUrl {
    type Err = InvalidFileUrl;

    fn from_str(text: &str) -> Result<FileUrl, InvalidFileUrl> {
        FileUrl::from_key(text.strip_prefix(PREFIX).ok_or(InvalidFileUrl)?)
    }
}

/// Returns 128 random bits as digits.
pub(super) fn random_digits() -> Result<String, getrandom::Error> {
    let mut bytes = [0; DIGITS / 2];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Returns the folder of a tenant, from which its name cannot be read.
pub(super) fn tenant_folder(tenant: &str) -> String {
    let mut digits = blake3::Hasher::new_derive_key("toolwright: the folder of a tenant's files")
        .update(tenant.as_bytes())
        .finalize()
        .to_hex()
        .to_string();
    digits.truncate(DIGITS);
    digits
}

/// Removes folders, control characters and what exceeds the maximum length.
fn clean_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean = String::new();
    // Bidirectional overrides make a name look like one of another type.
    let is_kept = |own: &char| {
        !own.is_control() && !matches!(own, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for letter in name.chars().filter(is_kept) {
        if clean.len() + letter.len_utf8() > MAX_NAME_BYTES {
            break;
        }
        clean.push(letter);
    }
    match clean.trim() {
        "" | "." | ".." => UNNAMED.to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_back_and_names_no_folder() {
        for (name, kept) in [
            ("report.pdf", "report.pdf"),
            ("报告 1.pdf", "报告 1.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\secret\\a.txt", "a.txt"),
            ("..", "file"),
            ("a\r\nb\0", "ab"),
            ("x%2Fy?z#", "x%2Fy?z#"),
            ("", "file"),
            ("exe\u{202e}fdp", "exefdp"),
        ] {
            let url = FileUrl::new("tenant", name).unwrap();
            assert_eq!(url.name(), kept);
            assert_eq!(url.to_string().parse(), Ok(url.clone()), "{url}");
            assert!(url.belongs_to("tenant") && !url.belongs_to("other"));
            assert!(!url.to_string().contains("tenant"), "{url}");
        }
        let long = FileUrl::new("tenant", &"长".repeat(200)).unwrap();
        assert_eq!(long.name().len(), 255);
    }

    #[test]
    fn another_text_is_no_url() {
        let url = FileUrl::new("tenant", "a.txt").unwrap().to_string();
        for text in [
            "",
            "s3://toolwright/",
            "s3://toolwright/../../etc/passwd",
            "file:///etc/passwd",
            &url.replace("toolwright", "bucket"),
            &url.replace("a.txt", "..%2Fa.txt"),
            &url.replace("a.txt", "b/a.txt"),
            &url.replace("a.txt", ""),
            &url.to_uppercase(),
        ] {
            assert_eq!(text.parse::<FileUrl>(), Err(InvalidFileUrl), "{text}");
        }
    }
}
