//! Signed links. A link allows its holder to upload or download one file until it expires.

use std::time::{Duration, SystemTime};

use toolwright_core::percent;

use super::{FileUrl, Files, seconds};

/// Maximum lifetime of a link.
const MAX_LIFETIME: Duration = Duration::from_hours(7 * 24);

toolwright_json::words! {
    /// What a link allows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LinkPurpose: name {
        /// To write the bytes of the file
        Upload = "file upload",
        /// To read the file
        Download = "file download",
    }
}

/// Why a link is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The link was not made here, or was changed
    #[error("the signature of the link is invalid")]
    Invalid,
    /// The link has expired
    #[error("the link has expired")]
    Expired,
}

impl Files {
    /// Creates a link to a file for a caller, by its id: the key of the file with a query, to append to the address of
    /// the files. Its lifetime is at most a week.
    pub fn link(
        &self,
        purpose: LinkPurpose,
        url: &FileUrl,
        caller: &str,
        lifetime: Duration,
        now: SystemTime,
    ) -> String {
        let key = url.key();
        let expires = (seconds(now) + lifetime.min(MAX_LIFETIME).as_secs()).to_string();
        let signature = self.signing_key().sign(purpose.name(), &[&key, &expires, caller]);
        let caller = percent::encode(caller);
        format!("{key}?expires={expires}&caller={caller}&signature={signature}")
    }

    /// Checks the key and the query of a link, and returns the file that it allows to use, with the id of the caller
    /// that it was created for.
    pub fn check_link(
        &self,
        purpose: LinkPurpose,
        key: &str,
        query: &str,
        now: SystemTime,
    ) -> Result<(FileUrl, String), LinkError> {
        let field = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
        };
        let (expires, signature) =
            field("expires").zip(field("signature")).ok_or(LinkError::Invalid)?;
        let caller = field("caller").map(percent::decode).unwrap_or_default();
        let url = FileUrl::from_key(key).map_err(|_| LinkError::Invalid)?;
        if !self.signing_key().verify(purpose.name(), &[&url.key(), expires, &caller], signature) {
            return Err(LinkError::Invalid);
        }
        let expires: u64 = expires.parse().map_err(|_| LinkError::Invalid)?;
        if seconds(now) < expires { Ok((url, caller)) } else { Err(LinkError::Expired) }
    }
}
