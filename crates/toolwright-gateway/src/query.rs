//! The query of a request, as a form encodes it.

use toolwright_core::Fault;

use crate::fault::invalid;

/// Default and maximum number of entries on a page.
const PAGE: usize = 20;
const MAX_PAGE: u64 = 100;

/// The parameters of a query.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn new(query: Option<&str>) -> Query {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Query(pairs.into_owned().collect())
    }

    /// Returns the first value of a parameter that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values =
            self.0.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        values.find(|value| !value.is_empty())
    }

    /// Reads a number in a range, if the parameter is present.
    pub(crate) fn number(&self, name: &str, min: u64, max: u64) -> Result<Option<u64>, String> {
        let Some((_, text)) = self.0.iter().find(|(own, _)| own == name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(format!("`{name}` must be a number from {min} to {max}.")),
        }
    }

    /// Reads `limit`, the number of entries on a page.
    pub(crate) fn limit(&self) -> Result<usize, Fault> {
        let limit = self.number("limit", 1, MAX_PAGE);
        let limit = limit.map_err(|message| invalid("limit", message))?;
        Ok(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE))
    }
}
