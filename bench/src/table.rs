//! Aligned tables: text to the left, figures to the right.

/// Rows of cells.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    words: usize,
}

impl Table {
    /// Creates a table whose first `words` columns are text.
    pub(crate) fn new(words: usize, heads: &[&str]) -> Table {
        Table { rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()], words }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let cell = |(column, cell): (usize, &String)| match widths[column] {
            width if column < self.words => format!("{cell:<width$}"),
            width => format!("{cell:>width$}"),
        };
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cells.join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }

    /// Prints it.
    pub(crate) fn print(&self) {
        for line in self.lines() {
            println!("{line}");
        }
    }
}

/// Formats a figure with a readable number of digits.
pub(crate) fn figure(value: f64) -> String {
    match value {
        value if value.is_nan() => "–".into(),
        value if value.abs() >= 100.0 => format!("{value:.0}"),
        value if value.abs() >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_right_aligned() {
        let mut table = Table::new(1, &["route", "p50"]);
        table.row(vec!["direct".into(), figure(1234.5)]);
        table.row(vec!["bare".into(), figure(f64::NAN)]);
        assert_eq!(table.lines(), ["route    p50", "direct  1234", "bare       –"]);
    }
}
