//! Static word vectors: the meaning of a text as the mean of the vectors of its words.

use std::collections::HashMap;

use serde_json::Value;

use crate::tokenize::visit_plain_words;

/// Names that files of word vectors have for their matrix.
const MATRIX_NAMES: [&str; 3] = ["embeddings", "embedding.weight", "0"];

/// Number of bytes of the length of the header.
const LENGTH_BYTES: usize = 8;

/// Maximum length of a vector.
const MAX_DIMENSIONS: usize = 8_192;

/// Share of the letters of a text that its pieces must have, so that the text has a vector. Pieces of one letter
/// do not count: an English vocabulary has most Chinese characters as such pieces, which mean little.
const MIN_COVERAGE: f32 = 0.5;

/// Marks of a piece that begins a word, in vocabularies of `SentencePiece` and of byte-level pieces.
const BEGINNINGS: [char; 2] = ['▁', 'Ġ'];

/// Mark of a piece that continues a word, in vocabularies of `WordPiece`.
const CONTINUATION: &str = "##";

/// Static word vectors, such as those of `model2vec`: a matrix in the safetensors format, of which the
/// `tokenizer.json` beside it names the rows.
///
/// A word that the vocabulary lacks is split into the longest pieces that it has. This finds the pieces of a
/// `WordPiece` tokenizer, and nearly those of others.
pub struct WordVectors {
    /// The file with the matrix
    bytes: Vec<u8>,
    /// Position of the matrix in the file
    start: usize,
    format: Format,
    dimensions: usize,
    /// Rows of pieces that begin a word
    beginnings: HashMap<Box<str>, u32>,
    /// Rows of pieces that continue a word
    continuations: HashMap<Box<str>, u32>,
    /// Length of the longest piece, in characters
    longest: usize,
    model: String,
}

/// Format of a number.
#[derive(Clone, Copy)]
enum Format {
    F16,
    BF16,
    F32,
}

/// The reason why files are not word vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WordVectorsError(String);

impl WordVectors {
    /// Reads a safetensors file and the `tokenizer.json` that belongs to it.
    pub fn parse(safetensors: Vec<u8>, tokenizer: &[u8]) -> Result<WordVectors, WordVectorsError> {
        let matrix = Matrix::find(&safetensors)?;
        let mut vectors = WordVectors {
            model: format!("words-{:08x}", crc32fast::hash(&safetensors)),
            start: matrix.start,
            format: matrix.format,
            dimensions: matrix.dimensions,
            bytes: safetensors,
            beginnings: HashMap::new(),
            continuations: HashMap::new(),
            longest: 0,
        };
        vectors.add_vocabulary(tokenizer, matrix.rows)?;
        Ok(vectors)
    }

    /// The identity of the vectors. Only vectors of one model can be compared.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The vector of a text. None if the vocabulary has few of its words, for example because it is in another
    /// language.
    #[allow(clippy::cast_precision_loss, reason = "texts are short")]
    pub fn embed(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; self.dimensions];
        let (mut covered, mut total) = (0, 0);
        visit_plain_words(text, |word| {
            total += word.chars().count();
            self.visit_pieces(word, |letters, row| {
                covered += letters;
                self.add_row(row, &mut sum);
            });
        });
        let is_covered = covered > 0 && covered as f32 >= MIN_COVERAGE * total as f32;
        (is_covered && sum.iter().any(|number| *number != 0.0)).then_some(sum)
    }

    /// Calls `visit` with the number of letters and the row of each piece of a word.
    fn visit_pieces(&self, word: &str, mut visit: impl FnMut(usize, u32)) {
        let ends: Vec<usize> =
            word.char_indices().map(|(at, _)| at).skip(1).chain([word.len()]).collect();
        if let Some(row) = self.beginnings.get(word) {
            return visit(ends.len(), *row);
        }
        let (mut start, mut first) = (0, 0);
        while first < ends.len() {
            // A sentence in Chinese is one word, so that not all of its ends are tried at each start.
            let limit = ends.len().min(first + self.longest);
            let found = (first..limit).rev().find_map(|last| {
                let piece = &word[start..ends[last]];
                let beginning = if first == 0 { self.beginnings.get(piece) } else { None };
                let row = beginning.or_else(|| self.continuations.get(piece))?;
                Some((last, *row))
            });
            let last = found.map_or(first, |(last, _)| last);
            if let Some((last, row)) = found
                && last > first
            {
                visit(last + 1 - first, row);
            }
            (start, first) = (ends[last], last + 1);
        }
    }

    fn add_row(&self, row: u32, into: &mut [f32]) {
        let size = self.format.size();
        let start = self.start + row as usize * self.dimensions * size;
        let numbers = self.bytes[start..].chunks_exact(size);
        for (sum, number) in into.iter_mut().zip(numbers) {
            let number = self.format.read(number);
            // NaN and infinities would spoil the sum.
            *sum += if number.is_finite() { number } else { 0.0 };
        }
    }

    fn add_vocabulary(&mut self, tokenizer: &[u8], rows: usize) -> Result<(), WordVectorsError> {
        let invalid = |why: &str| WordVectorsError(format!("tokenizer.json: {why}"));
        let tokenizer: Value = serde_json::from_slice(tokenizer)
            .map_err(|error| invalid(&format!("it is not valid JSON: {error}")))?;
        let tokens: Vec<(&str, usize)> = match &tokenizer["model"]["vocab"] {
            Value::Object(tokens) => {
                let row = |row: &Value| row.as_u64().and_then(|row| usize::try_from(row).ok());
                tokens.iter().map(|(token, at)| (token.as_str(), row(at).unwrap_or(rows))).collect()
            }
            // Tokenizers of the kind Unigram list tokens with their scores.
            Value::Array(tokens) => {
                let tokens = tokens.iter().map(|token| token[0].as_str().unwrap_or_default());
                tokens.zip(0..).collect()
            }
            _ => return Err(invalid("it has no `model.vocab`")),
        };
        if let Some((token, row)) = tokens.iter().find(|(_, row)| *row >= rows) {
            let why = format!(
                "the token {token:?} has the number {row}, but the matrix has {rows} rows; the two files \
                 must belong together, and the vocabulary must not be quantized"
            );
            return Err(invalid(&why));
        }
        let marks_beginnings = tokens.iter().any(|(token, _)| token.starts_with(BEGINNINGS));
        for (token, row) in tokens {
            let row = u32::try_from(row).map_err(|_| invalid("it has too many tokens"))?;
            let (pieces, text) = match token.strip_prefix(CONTINUATION) {
                Some(rest) if !marks_beginnings => (&mut self.continuations, rest),
                _ => match token.strip_prefix(BEGINNINGS) {
                    Some(rest) => (&mut self.beginnings, rest),
                    None if marks_beginnings => (&mut self.continuations, token),
                    None => (&mut self.beginnings, token),
                },
            };
            pieces.insert(text.into(), row);
            self.longest = self.longest.max(text.chars().count());
        }
        Ok(())
    }
}

impl Format {
    fn size(self) -> usize {
        match self {
            Format::F16 | Format::BF16 => 2,
            Format::F32 => 4,
        }
    }

    fn read(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Format::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Format::BF16, &[a, b]) => f32::from_le_bytes([0, 0, a, b]),
            (Format::F16, &[a, b]) => half_to_f32(u16::from_le_bytes([a, b])),
            _ => 0.0,
        }
    }
}

/// Converts a number of half precision.
fn half_to_f32(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(fraction) * 2_f32.powi(-24),
        0x1f => f32::NAN,
        _ => (1.0 + f32::from(fraction) / 1024.0) * 2_f32.powi(i32::from(exponent) - 15),
    };
    if sign == 0 { magnitude } else { -magnitude }
}

/// A matrix of a safetensors file.
struct Matrix {
    start: usize,
    format: Format,
    rows: usize,
    dimensions: usize,
}

impl Matrix {
    /// Finds the matrix of word vectors. The file is the length of a header, the header, which is a JSON object with
    /// the format, shape and place of each tensor, and the numbers.
    fn find(file: &[u8]) -> Result<Matrix, WordVectorsError> {
        let invalid = |why: &str| WordVectorsError(format!("this is no safetensors file: {why}"));
        let (length, rest) =
            file.split_first_chunk::<LENGTH_BYTES>().ok_or_else(|| invalid("it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (header, numbers) =
            rest.split_at_checked(length).ok_or_else(|| invalid("its header is cut off"))?;
        let header: Value = serde_json::from_slice(header)
            .map_err(|error| invalid(&format!("its header is not valid JSON: {error}")))?;
        let tensor = MATRIX_NAMES.iter().find_map(|name| header.get(name)).ok_or_else(|| {
            let names = header.as_object().into_iter().flat_map(|tensors| tensors.keys());
            let names: Vec<&str> = names.map(String::as_str).take(5).collect();
            WordVectorsError(format!(
                "no tensor is named {}, but: {}; use a file of static word vectors, such as one of model2vec",
                MATRIX_NAMES.join(" or "),
                names.join(", "),
            ))
        })?;
        let format = match tensor["dtype"].as_str() {
            Some("F16") => Format::F16,
            Some("BF16") => Format::BF16,
            Some("F32") => Format::F32,
            other => {
                let other = other.unwrap_or("none");
                let why = format!("the format {other} is not supported; convert it to F16 or F32");
                return Err(WordVectorsError(why));
            }
        };
        let number = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
        let (shape, offsets) = (&tensor["shape"], &tensor["data_offsets"]);
        let shape = shape.as_array().filter(|shape| shape.len() == 2);
        let shape = shape.and_then(|shape| Some((number(&shape[0])?, number(&shape[1])?)));
        let (rows, dimensions) = shape
            .filter(|shape| shape.0 > 0 && (1..=MAX_DIMENSIONS).contains(&shape.1))
            .ok_or_else(|| invalid("its tensor is not a matrix"))?;
        let size = rows.checked_mul(dimensions).and_then(|count| count.checked_mul(format.size()));
        let start = number(&offsets[0])
            .zip(number(&offsets[1]))
            .filter(|(start, end)| *end <= numbers.len() && end.checked_sub(*start) == size);
        let (start, _) = start.ok_or_else(|| invalid("its numbers are cut off"))?;
        Ok(Matrix { start: LENGTH_BYTES + length + start, format, rows, dimensions })
    }
}
