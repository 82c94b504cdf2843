//! The JSON form of [`Nulls`], so that the report of a request can be used for the reply.

use toolwright_json::{Json, Object, object};

use super::{Location, Null, Nulls, Property};

const WORDS: [(Null, &str); 3] =
    [(Null::Injected, "injected"), (Null::Meant, "meant"), (Null::Impossible, "impossible")];

impl Nulls {
    /// Returns the JSON form.
    pub fn to_json(&self) -> Json {
        let property = |own: &Property| {
            let word = WORDS.iter().find(|(null, _)| *null == own.null).map(|(_, word)| *word);
            let mut object = object! {"name": own.name.as_str(), "null": word};
            object.insert_some("place", own.place);
            object
        };
        let place = |own: &Location| {
            let properties: Vec<Object> = own.properties.iter().map(property).collect();
            let mut object = object! {"properties": properties};
            object.insert_some("items", own.items);
            object.insert("same", own.same.clone());
            object
        };
        self.places.iter().map(place).collect::<Vec<Object>>().into()
    }

    /// Reads the JSON form; `None` if it is invalid.
    pub fn from_json(value: &Json) -> Option<Nulls> {
        let places = value.as_array()?.iter().map(place).collect::<Option<_>>()?;
        Some(Nulls { places })
    }
}

fn place(value: &Json) -> Option<Location> {
    Some(Location {
        properties: value
            .get("properties")?
            .as_array()?
            .iter()
            .map(property)
            .collect::<Option<_>>()?,
        items: value.get("items").and_then(index),
        same: value.get("same")?.as_array()?.iter().map(index).collect::<Option<_>>()?,
    })
}

fn property(value: &Json) -> Option<Property> {
    let word = value.get("null")?.as_str()?;
    Some(Property {
        name: value.get("name")?.as_str()?.to_owned(),
        null: WORDS.iter().find(|(_, own)| *own == word)?.0,
        place: value.get("place").and_then(index),
    })
}

fn index(value: &Json) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}
