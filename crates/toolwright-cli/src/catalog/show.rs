//! `toolwright catalog list`, `versions`, `functions`, `details` and `diff`.

use clap::Args;
use toolwright_catalog::{Access, Catalog, Compatibility, PrefabSummary, Visibility};
use toolwright_core::json::Object;
use toolwright_core::{Json, date, object};

use super::add::compatibility_lines;
use super::figures::Figures;
use super::{Common, find, not_found, one_line};
use crate::exit::{self, Result};

/// Number of digits of a digest in a table.
const SHOWN_DIGITS: usize = 12;

#[derive(Debug, Args)]
pub(super) struct Versions {
    /// The id of the prefab
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct Functions {
    /// The prefab
    #[arg(value_name = "PREFAB")]
    prefab: String,
}

#[derive(Debug, Args)]
pub(super) struct Details {
    /// The prefab
    #[arg(value_name = "PREFAB")]
    prefab: String,
    /// The name of the function
    function: String,
}

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// The id of the prefab
    id: String,
    /// The earlier version
    earlier: String,
    /// The later version [default: the latest]
    later: Option<String>,
}

/// Lists the latest version of each prefab, or a version that is marked if none is deployed.
pub(super) fn list(common: &Common, catalog: &Catalog) -> Result<()> {
    let all = Access::everything();
    let mut found = catalog.prefabs(&all).map_err(exit::failed)?;
    found.extend(catalog.undeployed(&all).map_err(exit::failed)?);
    found.sort_by(|a, b| a.id.cmp(&b.id));
    let row = |own: &PrefabSummary| {
        let mark = match (own.is_latest, &own.yanked) {
            (true, _) => "",
            (false, Some(_)) => " (yanked)",
            (false, None) => " (pre-release)",
        };
        [
            own.id.clone(),
            format!("{}{mark}", own.version),
            own.functions.len().to_string(),
            own.visibility.map_or("default", Visibility::name).to_owned(),
            one_line(&own.description),
        ]
    };
    let rows: Vec<[String; 5]> = found.iter().map(row).collect();
    let heading = ["PREFAB", "VERSION", "FUNCTIONS", "VISIBILITY", "WHAT IT DOES"];
    common.write(|| found.iter().map(document).collect::<Vec<_>>().into(), heading, &rows)
}

impl Versions {
    pub(super) fn run(self, common: &Common, catalog: &Catalog) -> Result<()> {
        let found = catalog.versions(&Access::everything(), &self.id).map_err(exit::failed)?;
        if found.is_empty() {
            // For the names that are similar.
            find(catalog, &self.id)?;
        }
        let row = |own: &PrefabSummary| {
            [
                own.version.clone(),
                status(own),
                format!("{}Z", date::write(own.published)),
                own.functions.len().to_string(),
                own.digest.chars().take(SHOWN_DIGITS).collect(),
            ]
        };
        let rows: Vec<[String; 5]> = found.iter().map(row).collect();
        let heading = ["VERSION", "STATUS", "PUBLISHED", "FUNCTIONS", "DIGEST"];
        common.write(|| found.iter().map(document).collect::<Vec<_>>().into(), heading, &rows)
    }
}

fn status(own: &PrefabSummary) -> String {
    let mut words = Vec::new();
    if own.is_latest {
        words.push("latest".to_owned());
    }
    if let Some(message) = &own.deprecated {
        words.push(format!("deprecated: {}", one_line(message)));
    }
    if let Some(reason) = &own.yanked {
        words.push(format!("yanked: {}", one_line(reason)));
    }
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn document(own: &PrefabSummary) -> Object {
    object! {
        "id": own.id.as_str(),
        "version": own.version.as_str(),
        "name": own.name.as_str(),
        "description": own.description.as_str(),
        "tags": own.tags.clone(),
        "author": own.author.as_deref(),
        "functions": own.functions.clone(),
        "visibility": own.visibility.map(Visibility::name),
        "latest": own.is_latest,
        "deprecated": own.deprecated.as_deref(),
        "yanked": own.yanked.as_deref(),
        "digest": own.digest.as_str(),
        "published": format!("{}Z", date::write(own.published)),
    }
}

impl Functions {
    pub(super) fn run(self, common: &Common, catalog: &Catalog) -> Result<()> {
        let prefab = find(catalog, &self.prefab)?;
        let functions = &prefab.manifest.functions;
        let rows: Vec<[String; 2]> = functions
            .iter()
            .map(|function| [one_line(&function.name), one_line(&function.description)])
            .collect();
        let document = || {
            let function = |own: &toolwright_catalog::Function| object! {"name": own.name.as_str(), "description": own.description.as_str()};
            functions.iter().map(function).collect::<Vec<Object>>().into()
        };
        common.write(document, ["FUNCTION", "WHAT IT DOES"], &rows)
    }
}

impl Details {
    pub(super) fn run(self, common: &Common, catalog: &Catalog) -> Result<()> {
        let prefab = find(catalog, &self.prefab)?;
        let function = prefab.function(&Access::everything(), &self.function).map_err(not_found)?;
        let mut definition = function.definition.clone();
        let id = prefab.manifest.id.as_str();
        let figures = Figures::read(&common.config.data()?, id, &function.name);
        let figures = figures.unwrap_or_else(|failure| {
            failure.warn("the figures of calls are left out");
            None
        });
        if let (true, Some(figures), Json::Object(members)) =
            (common.json, &figures, &mut definition)
        {
            members.insert("figures", figures.document());
        }
        let mut text = definition.pretty();
        if let Some(figures) = figures.filter(|_| !common.json) {
            text = format!("{text}\n\n{}", figures.line());
        }
        exit::print(&text)
    }
}

impl Diff {
    pub(super) fn run(self, common: &Common, catalog: &Catalog) -> Result<()> {
        let all = Access::everything();
        let report: Compatibility = catalog
            .compare(&all, &self.id, &self.earlier, self.later.as_deref())
            .map_err(not_found)?;
        if common.json {
            return exit::print_json(report.to_json());
        }
        exit::print(&compatibility_lines(&self.earlier, &report))
    }
}
