//! `toolwright catalog search` and `recommend`.

use std::sync::Arc;

use clap::Args;
use toolwright_catalog::{Access, Catalog, FunctionHit, PrefabHit, SearchOptions};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::catalog::open_catalog;

use super::{Common, one_line};
use crate::exit::{self, Failure, Result};

#[derive(Debug, Args)]
pub(super) struct Search {
    /// Find prefabs with these words; without them, list all
    #[arg(default_value = "")]
    query: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Show at most this many prefabs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

#[derive(Debug, Args)]
pub(super) struct Recommend {
    /// Describe what is needed
    #[arg(required = true)]
    need: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Show at most this many prefabs
    #[arg(long, value_name = "N", default_value_t = 5)]
    top_k: usize,
}

#[derive(Debug, Args)]
struct Filters {
    /// Find only prefabs with this tag, or one of several
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Find only prefabs of this author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Show field, term and weight of each match
    #[arg(long)]
    explain: bool,
}

impl Search {
    pub(super) fn run(self, common: &Common) -> Result<()> {
        let catalog = open(common)?;
        let options = self.filters.options(self.limit);
        let hits = catalog.search(&Access::everything(), &self.query.join(" "), &options);
        write(common, &catalog, &hits.map_err(exit::failed)?)
    }
}

impl Recommend {
    pub(super) fn run(self, common: &Common) -> Result<()> {
        let catalog = open(common)?;
        let options = self.filters.options(self.top_k);
        let hits = catalog.recommend(&Access::everything(), &self.need.join(" "), &options);
        write(common, &catalog, &hits.map_err(exit::failed)?)
    }
}

/// Opens the catalog with the dictionary of the configuration. Without `--config`, searches go without it if it cannot
/// be loaded.
fn open(common: &Common) -> Result<Catalog> {
    let is_required = common.config.config.is_some();
    let settings = match common.config.load() {
        Ok(config) => config.catalog,
        Err(error) if is_required => return Err(error.into()),
        Err(error) => {
            Failure::from(error).warn("this search uses no dictionary");
            Arc::default()
        }
    };
    let (catalog, warning) =
        open_catalog(&common.config.data()?, &settings).map_err(exit::failed)?;
    if let Some(warning) = warning {
        if is_required {
            return Err(Failure::failed(warning));
        }
        exit::warn(&warning);
    }
    Ok(catalog)
}

impl Filters {
    fn options(&self, limit: usize) -> SearchOptions {
        SearchOptions::default()
            .with_tags(self.tags.iter().cloned())
            .with_author(self.author.clone())
            .with_limit(limit)
            .with_explanation(self.explain)
    }
}

fn write(common: &Common, catalog: &Catalog, hits: &[PrefabHit]) -> Result<()> {
    for warning in catalog.take_search_warnings() {
        exit::warn(&warning);
    }
    if hits.is_empty() && !common.json {
        let text = "nothing found; try other words, or `toolwright catalog list`";
        return exit::print(text);
    }
    let mut rows = Vec::new();
    for hit in hits {
        let manifest = &hit.prefab.manifest;
        let prefab = format!("{}@{}", manifest.id, manifest.version);
        if hit.functions.is_empty() {
            rows.push([prefab, "-".to_owned(), "-".to_owned(), one_line(&manifest.description)]);
            continue;
        }
        for (index, function) in hit.functions.iter().enumerate() {
            let prefab = if index == 0 { prefab.clone() } else { String::new() };
            let name = one_line(&function.name);
            let mark = if function.is_weak { " weak" } else { "" };
            let score = format!("{:.2}{mark}", function.score);
            rows.push([prefab, name, score, one_line(&function.description)]);
            let matches = function.matches.iter().map(|found| {
                let explained = format!("{:?} '{}' {:.2}", found.field, found.term, found.weight);
                [String::new(), String::new(), String::new(), explained.to_lowercase()]
            });
            rows.extend(matches);
        }
    }
    let document = || hits.iter().map(|hit| hit.to_json(function)).collect::<Vec<Object>>().into();
    common.write(document, ["PREFAB", "FUNCTION", "SCORE", "WHAT IT DOES"], &rows)
}

fn function(hit: &FunctionHit) -> Object {
    let mut document = hit.to_json();
    document.push("score", f64::from(hit.score));
    if !hit.matches.is_empty() {
        let matches = hit.matches.iter().map(|found| {
            Json::from(object! {
                "field": format!("{:?}", found.field).to_lowercase(),
                "term": found.term.as_str(),
                "weight": f64::from(found.weight),
            })
        });
        document.push("matches", Json::Array(matches.collect()));
    }
    document
}
