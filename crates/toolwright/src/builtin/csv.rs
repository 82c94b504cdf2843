//! CSV becomes a table.
//!
//! - Only UTF-8 is read, with or without a byte order mark.
//! - The first line names the columns: one without a name is called by its number, one whose name
//!   is taken gets a number as well. Every other line has as many fields.
//! - A field that is empty or a usual word for nothing ([`MISSING`]) is missing.
//! - A column all of whose fields are JSON numbers holds numbers, with the digits that they have;
//!   one of `true` and `false` alone holds booleans; any other holds text, so that `007` stays.
//! - Fields are separated by commas; in a file named `*.tsv` by tabs.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use ::csv::{ErrorKind, ReaderBuilder, StringRecord};
use toolwright_core::Json;
use toolwright_core::json::Number;

use super::root::{PathError, Place, Root};
use super::table::Table;
use crate::handle::size;

/// The largest file that is read.
const FILE_MAX: u64 = 64 << 20;

/// What stands for nothing.
pub const MISSING: [&str; 13] =
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "空", "缺失"];

/// Why a file is no table. It never has a field in it.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The path cannot be used
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file cannot be read
    #[error("the file cannot be read: {0}")]
    Read(std::io::ErrorKind),
    /// The file is too large
    #[error("the file has {0}, and at most {most} are read", most = size(usize::try_from(FILE_MAX).unwrap_or(usize::MAX)))]
    TooLarge(String),
    /// The file is not UTF-8
    #[error(
        "line {0} is not UTF-8, and no other encoding is read: convert the file (from GBK, for \
         example) first"
    )]
    NotUtf8(u64),
    /// A line has not as many fields as the first
    #[error("line {line} has {found} fields where the header has {expected}: correct the file")]
    Ragged {
        /// The line, from 1
        line: u64,
        /// Its fields
        found: u64,
        /// The fields of the header
        expected: u64,
    },
    /// There is no first line
    #[error("the file is empty: its first line must name the columns")]
    Empty,
}

/// Reads a table from a file.
pub fn read(root: &Root, path: &str) -> Result<Table, CsvError> {
    let (file, length) = root.file(&Place::parse(path)?)?;
    let too_large =
        |length: u64| CsvError::TooLarge(size(usize::try_from(length).unwrap_or(usize::MAX)));
    if length > FILE_MAX {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    // It may have grown since.
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| CsvError::Read(error.kind()))?;
    if read as u64 > FILE_MAX {
        return Err(too_large(read as u64));
    }
    let is_tsv = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("tsv"));
    parse(&bytes, if is_tsv { b'\t' } else { b',' })
}

/// Reads a table from bytes.
pub fn parse(bytes: &[u8], separator: u8) -> Result<Table, CsvError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader =
        ReaderBuilder::new().delimiter(separator).has_headers(false).from_reader(bytes);
    let mut records = reader.records();
    let header = match records.next() {
        Some(header) => header.map_err(|error| explain(&error))?,
        None => return Err(CsvError::Empty),
    };
    let columns = columns(&header);
    let records = records.collect::<Result<Vec<StringRecord>, _>>();
    let records = records.map_err(|error| explain(&error))?;
    let kinds: Vec<Kind> =
        (0..columns.len()).map(|place| Kind::of(fields(&records, place))).collect();
    let row = |record: &StringRecord| {
        record.iter().zip(&kinds).map(|(field, kind)| kind.cell(field)).collect()
    };
    Ok(Table { columns, rows: records.iter().map(row).collect() })
}

fn fields(records: &[StringRecord], place: usize) -> impl Iterator<Item = &str> + Clone {
    records.iter().map(move |record| record.get(place).unwrap_or_default())
}

fn explain(error: &::csv::Error) -> CsvError {
    let line = error.position().map_or(1, ::csv::Position::line);
    match error.kind() {
        ErrorKind::Utf8 { .. } => CsvError::NotUtf8(line),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            CsvError::Ragged { line, found: *len, expected: *expected_len }
        }
        ErrorKind::Io(error) => CsvError::Read(error.kind()),
        _ => CsvError::Read(std::io::ErrorKind::InvalidData),
    }
}

/// The names of the columns, each once.
fn columns(header: &StringRecord) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut columns = Vec::new();
    for (place, name) in header.iter().enumerate() {
        let name = match name.trim() {
            "" => format!("column_{}", place + 1),
            name => name.to_owned(),
        };
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        columns.push(name);
    }
    columns
}

fn is_missing(field: &str) -> bool {
    MISSING.contains(&field.trim())
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Boolean,
    Text,
}

impl Kind {
    fn of<'f>(fields: impl Iterator<Item = &'f str> + Clone) -> Kind {
        let there = || fields.clone().filter(|field| !is_missing(field)).map(str::trim);
        match () {
            () if there().all(|field| Number::parse(field).is_some()) => Kind::Number,
            () if there().all(|field| boolean(field).is_some()) => Kind::Boolean,
            () => Kind::Text,
        }
    }

    fn cell(self, field: &str) -> Json {
        if is_missing(field) {
            return Json::Null;
        }
        let typed = match self {
            Kind::Number => Number::parse(field.trim()).map(Json::Number),
            Kind::Boolean => boolean(field.trim()).map(Json::Bool),
            Kind::Text => None,
        };
        typed.unwrap_or_else(|| field.into())
    }
}

fn boolean(field: &str) -> Option<bool> {
    match field {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}
