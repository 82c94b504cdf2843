//! A table with named columns. Its JSON form is `{"columns": […], "rows": [[…], …]}`.

use std::fmt::{self, Write};

use toolwright_core::{Json, object, suggest};

use crate::handle::names;

/// A table with named columns. A missing cell is `null`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The names of the columns
    pub columns: Vec<String>,
    /// The rows, each with one cell per column
    pub rows: Vec<Vec<Json>>,
}

/// Why a value is not a table, or lacks a column. It never contains the content of a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The value has another form
    #[error(
        "not a table: one is an object with \"columns\", an array of names, and \"rows\", an array \
         of arrays"
    )]
    Form,
    /// A row has another number of cells than there are columns
    #[error("row {row} (from 0) of the table has {cells} cells where there are {columns} columns")]
    Ragged {
        /// The row index, from 0
        row: usize,
        /// Its number of cells
        cells: usize,
        /// The number of columns
        columns: usize,
    },
    /// The column does not exist
    #[error("{0}")]
    NoColumn(String),
}

impl Table {
    /// Reads a table from its JSON form.
    pub fn from_json(value: Json) -> Result<Table, TableError> {
        let Json::Object(mut value) = value else { return Err(TableError::Form) };
        let (Some(Json::Array(columns)), Some(Json::Array(rows))) =
            (value.remove("columns"), value.remove("rows"))
        else {
            return Err(TableError::Form);
        };
        let columns = columns.into_iter().map(|name| match name {
            Json::String(name) => Ok(name.into_string()),
            _ => Err(TableError::Form),
        });
        let columns: Vec<String> = columns.collect::<Result<_, _>>()?;
        let rows = rows.into_iter().enumerate().map(|(row, cells)| match cells {
            Json::Array(cells) if cells.len() == columns.len() => Ok(cells),
            Json::Array(cells) => {
                let (cells, columns) = (cells.len(), columns.len());
                Err(TableError::Ragged { row, cells, columns })
            }
            _ => Err(TableError::Form),
        });
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Table { columns, rows })
    }

    /// Returns the JSON form.
    pub fn into_json(self) -> Json {
        object! {"columns": self.columns, "rows": self.rows}.into()
    }

    /// Removes the rows with a missing cell and returns their number. If columns are named, only
    /// their cells count.
    pub fn drop_missing(&mut self, columns: &[String]) -> Result<usize, TableError> {
        let places = columns.iter().enumerate().map(|(item, name)| self.place(item, name));
        let places: Vec<usize> = places.collect::<Result<_, _>>()?;
        let before = self.rows.len();
        self.rows.retain(|row| match places.as_slice() {
            [] => !row.iter().any(Json::is_null),
            places => !places.iter().any(|place| row.get(*place).is_none_or(Json::is_null)),
        });
        Ok(before - self.rows.len())
    }

    /// Returns the index of a column. The name may come from data, so the error does not repeat it.
    fn place(&self, item: usize, name: &str) -> Result<usize, TableError> {
        let own = || self.columns.iter().map(String::as_str);
        own().position(|column| column == name).ok_or_else(|| {
            let known = names(own());
            let mut text = format!(
                "item {item} (from 0) is no column of the table, whose columns are {known}"
            );
            if let Some(suggestion) = suggest(name, own()) {
                let _ = write!(text, ". Did you mean {suggestion:?}?");
            }
            TableError::NoColumn(text)
        })
    }

    /// Returns a description for the model: size, columns, number of missing cells.
    pub fn about(&self) -> String {
        let count = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        let missing: Vec<String> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, name)| {
                (name, self.rows.iter().filter(|row| row[place].is_null()).count())
            })
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let missing = match missing.as_slice() {
            [] => "no cell is missing".to_owned(),
            _ => format!("missing cells: {}", names(missing.iter().map(String::as_str))),
        };
        format!(
            "{}, {} ({}); {missing}",
            count(self.rows.len(), "row"),
            count(self.columns.len(), "column"),
            names(self.columns.iter().map(String::as_str)),
        )
    }
}

impl fmt::Debug for Table {
    // Does not print cells.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        write!(formatter, "Table({rows} rows, {columns} columns)")
    }
}
