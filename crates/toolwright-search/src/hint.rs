//! Advice for a query without hits.

use crate::index::Index;
use crate::options::Options;

impl Index {
    /// What to try if a query has no hits. It depends only on documents that the options accept.
    pub fn hint(&self, options: &Options<'_>) -> &'static str {
        let accepts_any =
            |options: &Options<'_>| self.entries.iter().flatten().any(|e| options.accepts(e));
        if accepts_any(options) {
            return "No function does this. Try other or fewer words: name the task, its input and \
                    its result, or the exact name of a function.";
        }
        let without_filters = Options { tags: Vec::new(), author: None, ..options.clone() };
        if accepts_any(&without_filters) {
            "No function has such a tag or author. Search without the filter, or with another one."
        } else {
            "The catalog has no functions yet. Publish a prefab, or ask for access to one."
        }
    }
}
