//! Parses CSV into a table.
//!
//! - Only UTF-8 is read, with or without a byte order mark.
//! - The first line names the columns: a column without a name is called by its number, and a
//!   repeated name gets a number as well. Every other line has the same number of fields.
//! - A field that is empty or a common word for a missing value ([`MISSING`]) is missing.
//! - A column all of whose fields are JSON numbers holds numbers, with the digits that they have;
//!   one of `true` and `false` alone holds booleans; any other holds text, so that `007` stays.
//! - Fields are separated by commas; in a file named `*.tsv` by tabs.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use toolwright_core::Json;
use toolwright_json::Number;

use super::root::{PathError, RelativePath, Root};
use super::table::Table;
use crate::handle::size;

/// Maximum size of a file, in bytes.
const FILE_MAX: u64 = 64 << 20;

/// Maximum number of columns. A cell takes much more memory than the comma that delimits it.
const COLUMNS_MAX: usize = 10_000;
const CELLS_MAX: usize = 5_000_000;

/// Values that mean "missing".
pub const MISSING: [&str; 13] =
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "空", "缺失"];

/// Why a file is not a table. It never contains the content of a field.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// The first line names too many columns
    #[error("the first line has more than {COLUMNS_MAX} columns, the most that are read")]
    TooManyColumns,
    /// There are too many cells
    #[error("the file has more than {CELLS_MAX} cells, the most that are read: split it first")]
    TooManyCells,
    /// The file is not UTF-8
    #[error(
        "line {0} is not UTF-8, and no other encoding is read: convert the file (from GBK, for \
         example) first"
    )]
    NotUtf8(u64),
    /// A line has another number of fields than the first
    #[error("line {line} has {found} fields where the header has {expected}: correct the file")]
    Ragged {
        /// The line number, from 1
        line: u64,
        /// Its number of fields
        found: u64,
        /// The number of fields of the header
        expected: u64,
    },
    /// The file has no header line
    #[error("the file is empty: its first line must name the columns")]
    Empty,
}

/// Reads a table from a file.
pub fn read(root: &Root, path: &str) -> Result<Table, CsvError> {
    let (file, length) = root.file(&RelativePath::parse(path)?)?;
    let too_large =
        |length: u64| CsvError::TooLarge(size(usize::try_from(length).unwrap_or(usize::MAX)));
    if length > FILE_MAX {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    // The file may have grown since.
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| CsvError::Read(error.kind()))?;
    if read as u64 > FILE_MAX {
        return Err(too_large(read as u64));
    }
    let is_tsv = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("tsv"));
    parse(&bytes, if is_tsv { b'\t' } else { b',' })
}

/// Parses a table. The bytes are read twice, first for the types of the columns and then for the
/// cells, because holding all fields at once would take many times the size of the file.
pub fn parse(bytes: &[u8], separator: u8) -> Result<Table, CsvError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let reader = || ReaderBuilder::new().delimiter(separator).has_headers(false).from_reader(bytes);
    let mut record = StringRecord::new();
    let mut first = reader();
    if !next(&mut first, &mut record)? {
        return Err(CsvError::Empty);
    }
    if record.len() > COLUMNS_MAX {
        return Err(CsvError::TooManyColumns);
    }
    let columns = columns(&record);
    let mut kinds = vec![Kind::Unknown; columns.len()];
    let mut rows = 0;
    while next(&mut first, &mut record)? {
        rows += 1;
        if rows * columns.len() > CELLS_MAX {
            return Err(CsvError::TooManyCells);
        }
        for (kind, field) in kinds.iter_mut().zip(&record) {
            *kind = kind.with(field);
        }
    }
    let mut second = reader();
    next(&mut second, &mut record)?;
    let mut table = Table { columns, rows: Vec::with_capacity(rows) };
    while next(&mut second, &mut record)? {
        let cells = record.iter().zip(&kinds).map(|(field, kind)| kind.cell(field));
        table.rows.push(cells.collect());
    }
    Ok(table)
}

/// Reads the next record; returns whether there is one.
fn next(reader: &mut Reader<&[u8]>, record: &mut StringRecord) -> Result<bool, CsvError> {
    reader.read_record(record).map_err(|error| explain(&error))
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

/// Returns the column names, made unique.
fn columns(header: &StringRecord) -> Vec<String> {
    let mut taken = HashSet::new();
    // The next number to try, because a name may occur thousands of times.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut columns = Vec::new();
    for (place, name) in header.iter().enumerate() {
        let name = match name.trim() {
            "" => format!("column_{}", place + 1),
            name => name.to_owned(),
        };
        let mut free = name.clone();
        while taken.contains(&free) {
            let number = numbers.entry(name.clone()).or_insert(1);
            *number += 1;
            free = format!("{name}_{number}");
        }
        taken.insert(free.clone());
        columns.push(free);
    }
    columns
}

fn is_missing(field: &str) -> bool {
    MISSING.contains(&field.trim())
}

/// The type of a column, by the fields seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Number,
    Boolean,
    Text,
}

impl Kind {
    /// Adds a field.
    fn with(self, field: &str) -> Kind {
        if self == Kind::Text || is_missing(field) {
            return self;
        }
        let found = match field.trim() {
            field if Number::parse(field).is_some() => Kind::Number,
            field if boolean(field).is_some() => Kind::Boolean,
            _ => Kind::Text,
        };
        if self == Kind::Unknown || self == found { found } else { Kind::Text }
    }

    fn cell(self, field: &str) -> Json {
        if is_missing(field) {
            return Json::Null;
        }
        let typed = match self {
            Kind::Number => Number::parse(field.trim()).map(Json::Number),
            Kind::Boolean => boolean(field.trim()).map(Json::Bool),
            Kind::Text | Kind::Unknown => None,
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
