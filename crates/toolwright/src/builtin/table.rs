//! A table: columns with names, rows of cells. As JSON it is `{"columns": […], "rows": [[…], …]}`.

use std::fmt::{self, Write};

use toolwright_core::suggest;
use toolwright_core::{Json, object};

use crate::handle::names;

/// Columns with names, rows of cells. A cell that is missing is `null`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The names of the columns
    pub columns: Vec<String>,
    /// The rows, each with a cell for each column
    pub rows: Vec<Vec<Json>>,
}

/// Why a value is no table, or a table not what was asked for. It never has a cell in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The value has another form
    #[error(
        "not a table: one is an object with \"columns\", an array of names, and \"rows\", an array \
         of arrays"
    )]
    Form,
    /// A row has not a cell for each column
    #[error("row {row} (from 0) of the table has {cells} cells where there are {columns} columns")]
    Ragged {
        /// The row, from 0
        row: usize,
        /// How many cells it has
        cells: usize,
        /// How many columns there are
        columns: usize,
    },
    /// A column that is not there
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
            Json::String(name) => Ok(name),
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

    /// The JSON form.
    pub fn into_json(self) -> Json {
        object! {"columns": self.columns, "rows": self.rows}.into()
    }

    /// Takes out the rows in which a cell is missing, and tells how many. If columns are named, only
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

    /// The place of a column. The name may come from data, so it is not said again.
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

    /// What a model may know of it: how large it is, its columns, how many cells are missing.
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
    // Cells have no place in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        write!(formatter, "Table({rows} rows, {columns} columns)")
    }
}
