//! Documents of the index: functions as the rankers see them.

/// A function to be found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique id
    pub id: String,
    /// Name of the function
    pub name: String,
    /// What the function does
    pub description: String,
    /// Parameters
    pub parameters: Vec<Parameter>,
    /// Tags of the prefab
    pub tags: Vec<String>,
    /// Author of the prefab
    pub author: String,
    /// Id of the prefab that contains the function
    pub prefab: String,
}

/// A parameter of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Name
    pub name: String,
    /// What the parameter means
    pub description: String,
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
    /// Tags, author and id of the prefab
    Tags,
}

/// Number of fields.
pub(crate) const FIELDS: usize = 4;

impl Field {
    /// All fields, in the order of their indexes.
    pub(crate) const ALL: [Field; FIELDS] =
        [Field::Name, Field::Description, Field::Parameters, Field::Tags];

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
            Field::Tags => {
                document.tags.iter().for_each(|tag| visit(tag));
                visit(&document.author);
                visit(&document.prefab);
            }
        }
    }
}
