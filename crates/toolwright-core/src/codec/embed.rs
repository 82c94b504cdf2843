//! How a vendor embeds texts: the form of its requests and replies, and the limits of one request.

/// How a vendor says it. The shapes are those of the files in `fixtures/<dialect>/embed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `{"model", "input"}` to `{"data": [{"index", "embedding"}]}`, as `OpenAI` has it
    Listed {
        /// The path
        path: &'static str,
        /// The key of the wanted length
        dimensions: &'static str,
        /// The most at once
        most: Most,
    },
    /// `:batchEmbedContents`, as Gemini has it
    Batched,
    /// `/v2/embed`, as Cohere has it
    Typed,
    /// `/api/embed`, as Ollama has it
    Plain,
}

impl Form {
    /// `OpenAI`'s own. "Any array must be 2048 dimensions or less", and "all embedding models enforce
    /// a maximum of 300,000 tokens summed across all inputs", say its SDKs.
    pub const OPENAI: Form = Form::Listed {
        path: "/v1/embeddings",
        dimensions: "dimensions",
        most: Most::texts(2048).with_bytes(300_000),
    };

    /// The most that one request may have. The page on vendors has the evidence.
    pub fn most(self) -> Most {
        match self {
            Form::Listed { most, .. } => most,
            // 400 "at most 100 requests can be in one batch".
            Form::Batched => Most::texts(100),
            // "Maximum number of texts per call is 96", says the SDK.
            Form::Typed => Most::texts(96),
            // Ollama has no bound of its own; ours keeps one request from running for hours.
            Form::Plain => Most::texts(512),
        }
    }
}

/// The most that one request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Texts
    pub texts: usize,
    /// Bytes of all texts together. Vendors bound tokens; a token has a byte or more, so that texts
    /// of so many bytes have no more tokens.
    pub bytes: usize,
}

impl Most {
    /// So many texts, of any length.
    pub const fn texts(texts: usize) -> Most {
        Most { texts, bytes: usize::MAX }
    }

    /// With so many bytes.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Most {
        Most { bytes, ..self }
    }

    /// Cuts texts into requests, in order. A text that is too long by itself goes alone: whether it
    /// is refused is the vendor's to say.
    pub fn cut(self, mut texts: &[String]) -> impl Iterator<Item = &[String]> {
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

    fn sizes(most: Most, texts: &[&str]) -> Vec<usize> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let cut: Vec<&[String]> = most.cut(&texts).collect();
        assert_eq!(cut.concat(), texts);
        cut.into_iter().map(<[String]>::len).collect()
    }

    #[test]
    fn texts_are_cut_by_number_and_by_size() {
        let most = Most::texts(3).with_bytes(10);
        assert_eq!(sizes(most, &[]), [0; 0]);
        assert_eq!(sizes(most, &["a"; 7]), [3, 3, 1]);
        assert_eq!(sizes(most, &["aaaaa"; 5]), [2, 2, 1]);
        assert_eq!(sizes(most, &["a", "aaaaaaaaaaaa", "a", "a"]), [1, 1, 2]);
        assert_eq!(sizes(Most::texts(0), &["a", "b"]), [1, 1]);
    }
}
