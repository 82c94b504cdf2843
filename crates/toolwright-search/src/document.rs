//! Documents of the index: functions as the rankers see them.

use std::sync::Arc;

/// A function to be found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique id, such as `weather/get_forecast`
    pub id: String,
    /// Name of the function
    pub name: String,
    /// What the function does
    pub description: String,
    /// Parameters
    pub parameters: Vec<Parameter>,
    /// The prefab that contains the function
    pub prefab: Arc<Prefab>,
}

impl Document {
    /// The text whose vector is that of the document: its name and its description.
    pub fn vector_text(&self) -> String {
        format!("{} {}", self.name, self.description)
    }

    /// The first sentence or line of the description.
    pub(crate) fn summary(&self) -> &str {
        let text = self.description.trim_start();
        let ends = ["\n", ". ", "! ", "? ", "。"].iter().filter_map(|end| text.find(end));
        &text[..ends.min().unwrap_or(text.len())]
    }
}

/// A parameter of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Name
    pub name: String,
    /// What the parameter means
    pub description: String,
}

/// A package of functions. Before the functions of another revision are added,
/// [`Index::remove_prefab`](crate::Index::remove_prefab) removes those of the revision before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefab {
    /// Unique id
    pub id: String,
    /// Name for people
    pub name: String,
    /// What the functions are for
    pub description: String,
    /// Tags
    pub tags: Vec<String>,
    /// Author
    pub author: String,
    /// Revision of the prefab, such as a digest. It is not searched;
    /// [`Index::prefabs`](crate::Index::prefabs) returns it, so that the owner of the documents finds what
    /// changed since they were added.
    pub revision: String,
}

/// Part of a document that is weighted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Field {
    /// Name of the function
    Name,
    /// Description of the function
    Description,
    /// Names and descriptions of the parameters
    Parameters,
    /// Id, name, description, tags and author of the prefab
    Prefab,
}

/// Number of fields.
pub(crate) const FIELDS: usize = 4;

impl Field {
    /// All fields, in the order of their indexes.
    pub(crate) const ALL: [Field; FIELDS] =
        [Field::Name, Field::Description, Field::Parameters, Field::Prefab];

    /// Calls `visit` with every text of the field.
    pub(crate) fn visit_texts<'d>(self, document: &'d Document, mut visit: impl FnMut(&'d str)) {
        match self {
            Field::Name => visit(&document.name),
            Field::Description => visit(&document.description),
            Field::Parameters => {
                for parameter in &document.parameters {
                    visit(&parameter.name);
                    visit(&parameter.description);
                }
            }
            Field::Prefab => {
                let prefab = &*document.prefab;
                visit(&prefab.id);
                visit(&prefab.name);
                visit(&prefab.description);
                prefab.tags.iter().for_each(|tag| visit(tag));
                visit(&prefab.author);
            }
        }
    }
}
