//! How a vendor embeds texts: the format of its requests and replies, and the limits of one request.

/// The format of embedding requests and replies. Examples are in `fixtures/<dialect>/embed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedFormat {
    /// `{"model", "input"}` to `{"data": [{"index", "embedding"}]}`, as `OpenAI` has it
    Openai {
        /// The path
        path: &'static str,
        /// The key of the vector length
        dimensions: &'static str,
        /// The limits of one request
        limits: EmbedLimits,
    },
    /// `:batchEmbedContents`, as Gemini has it
    Gemini,
    /// `/v2/embed`, as Cohere has it
    Cohere,
    /// `/api/embed`, as Ollama has it
    Ollama,
}

impl EmbedFormat {
    /// `OpenAI`'s own. "Any array must be 2048 dimensions or less", and "all embedding models enforce
    /// a maximum of 300,000 tokens summed across all inputs", say its SDKs.
    pub const OPENAI: EmbedFormat = EmbedFormat::Openai {
        path: "/v1/embeddings",
        dimensions: "dimensions",
        limits: EmbedLimits::texts(2048).with_bytes(300_000),
    };

    /// Returns the limits of one request. `docs/dialects/vendors.md` has the evidence.
    pub fn limits(self) -> EmbedLimits {
        match self {
            EmbedFormat::Openai { limits, .. } => limits,
            // 400 "at most 100 requests can be in one batch".
            EmbedFormat::Gemini => EmbedLimits::texts(100),
            // "Maximum number of texts per call is 96", says the SDK.
            EmbedFormat::Cohere => EmbedLimits::texts(96),
            // Ollama has no limit; this one bounds the duration of a request.
            EmbedFormat::Ollama => EmbedLimits::texts(512),
        }
    }
}

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbedLimits {
    /// Maximum number of texts
    pub texts: usize,
    /// Maximum bytes of all texts together. Vendors limit tokens; a token has at least one byte, so this
    /// limits tokens as well.
    pub bytes: usize,
}

impl EmbedLimits {
    /// Limits the number of texts, of any length.
    pub const fn texts(texts: usize) -> EmbedLimits {
        EmbedLimits { texts, bytes: usize::MAX }
    }

    /// Limits the bytes of all texts together.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> EmbedLimits {
        EmbedLimits { bytes, ..self }
    }

    /// Splits texts into requests, in order. A text that exceeds the limit alone is a separate
    /// request, which the vendor may refuse.
    pub fn split(self, mut texts: &[String]) -> impl Iterator<Item = &[String]> {
        std::iter::from_fn(move || {
            let mut bytes = 0usize;
            let fits = |text: &&String| {
                bytes = bytes.saturating_add(text.len());
                bytes <= self.bytes
            };
            let count = texts.iter().take(self.texts).take_while(fits).count().max(1);
            let (front, rest) = texts.split_at_checked(count)?;
            texts = rest;
            Some(front)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(limits: EmbedLimits, texts: &[&str]) -> Vec<usize> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let split: Vec<&[String]> = limits.split(&texts).collect();
        assert_eq!(split.concat(), texts);
        split.into_iter().map(<[String]>::len).collect()
    }

    #[test]
    fn texts_are_split_by_number_and_by_size() {
        let limits = EmbedLimits::texts(3).with_bytes(10);
        assert_eq!(sizes(limits, &[]), [0; 0]);
        assert_eq!(sizes(limits, &["a"; 7]), [3, 3, 1]);
        assert_eq!(sizes(limits, &["aaaaa"; 5]), [2, 2, 1]);
        assert_eq!(sizes(limits, &["a", "aaaaaaaaaaaa", "a", "a"]), [1, 1, 2]);
        assert_eq!(sizes(EmbedLimits::texts(0), &["a", "b"]), [1, 1]);
    }
}
