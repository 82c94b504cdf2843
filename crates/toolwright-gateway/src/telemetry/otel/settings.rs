//! Settings of traces, by OpenTelemetry's environment variables.
//!
//! | variable | meaning |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector, as `http://127.0.0.1:4318`; without it there are no traces |
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the full URL for traces; takes precedence |
//! | `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS` | `name=value,…`, percent-encoded |
//! | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | resource attributes; the service is `toolwright` by default |
//! | `OTEL_SDK_DISABLED` | `true` disables traces |

use http::Uri;
use http::uri::{PathAndQuery, Scheme};
use toolwright_core::percent;

use crate::config::Env;

/// Settings of the exporter.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The URL of the collector for traces
    pub url: Uri,
    /// Headers, which may be credentials
    pub headers: Vec<(String, String)>,
    /// Resource attributes, including `service.name`
    pub resource: Vec<(String, String)>,
}

/// The value of a variable is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is not {wanted}")]
pub struct SettingsError {
    variable: &'static str,
    wanted: &'static str,
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";

impl Settings {
    /// Reads the environment; `None` if it names no collector.
    pub fn of(env: Env<'_>) -> Result<Option<Settings>, SettingsError> {
        let said = |name| env(name).filter(|value| !value.trim().is_empty());
        if said("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let (variable, address, below) = match (said(TRACES_ENDPOINT), said(ENDPOINT)) {
            (Some(whole), _) => (TRACES_ENDPOINT, whole, ""),
            (None, Some(base)) => (ENDPOINT, base, "/v1/traces"),
            (None, None) => return Ok(None),
        };
        let wrong = SettingsError {
            variable,
            wanted: "a URL that begins with http:// or https://, without a user",
        };
        let mut parts = address.trim().parse::<Uri>().map_err(|_| wrong.clone())?.into_parts();
        let is_http = matches!(parts.scheme.as_ref().map(Scheme::as_str), Some("http" | "https"));
        let has_user = parts.authority.as_ref().is_none_or(|own| own.as_str().contains('@'));
        if !is_http || has_user {
            return Err(wrong);
        }
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let path = [path.trim_end_matches('/'), below].concat();
        let path = if path.is_empty() { "/" } else { &path };
        parts.path_and_query = Some(path.parse().map_err(|_| wrong.clone())?);
        let url = Uri::from_parts(parts).map_err(|_| wrong)?;
        let mut headers = pairs(HEADERS, said(HEADERS))?;
        headers.extend(pairs(TRACES_HEADERS, said(TRACES_HEADERS))?);
        let mut resource = pairs(RESOURCE, said(RESOURCE))?;
        let named = resource.iter().position(|(name, _)| name == "service.name");
        let named = named.map(|place| resource.remove(place).1);
        let name = said("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| "toolwright".to_owned());
        resource.insert(0, ("service.name".to_owned(), name));
        Ok(Some(Settings { url, headers, resource }))
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers may be credentials.
        formatter.debug_struct("Settings").field("url", &self.url).finish_non_exhaustive()
    }
}

fn pairs(
    variable: &'static str,
    text: Option<String>,
) -> Result<Vec<(String, String)>, SettingsError> {
    let text = text.unwrap_or_default();
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or(SettingsError { variable, wanted: "a list such as name=value,name=value" })?;
        Ok((percent::decode(name.trim()), percent::decode(value.trim())))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<Settings>, SettingsError> {
        Settings::of(&|name| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_a_collector_there_are_no_traces() {
        assert_eq!(settings(&[]), Ok(None));
        assert_eq!(settings(&[(ENDPOINT, "")]), Ok(None));
        let off = [(ENDPOINT, "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "True")];
        assert_eq!(settings(&off), Ok(None));
    }

    #[test]
    fn the_address_is_that_of_the_collector_or_that_of_traces() {
        for (variables, url) in [
            (&[(ENDPOINT, "http://127.0.0.1:4318")][..], "http://127.0.0.1:4318/v1/traces"),
            (&[(ENDPOINT, "https://a.example/otlp/")], "https://a.example/otlp/v1/traces"),
            (
                &[(ENDPOINT, "http://b"), (TRACES_ENDPOINT, "https://a.example/my/traces")],
                "https://a.example/my/traces",
            ),
            (&[(TRACES_ENDPOINT, "https://a.example")], "https://a.example/"),
        ] {
            let found = settings(variables).unwrap().unwrap();
            assert_eq!(found.url, url);
        }
        for wrong in
            ["127.0.0.1:4318", "collector", "http://", "ftp://a.example", "http://me:hush@b"]
        {
            assert!(settings(&[(ENDPOINT, wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_and_resource_are_lists() {
        let found = settings(&[
            (ENDPOINT, "http://127.0.0.1:4318"),
            (HEADERS, "authorization=Bearer%20hunter2, x-team = a"),
            (RESOURCE, "service.name=other,deployment.environment=test"),
        ]);
        let found = found.unwrap().unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.headers, [pair("authorization", "Bearer hunter2"), pair("x-team", "a")]);
        let environment = pair("deployment.environment", "test");
        assert_eq!(found.resource, [pair("service.name", "other"), environment]);
        assert!(!format!("{found:?}").contains("hunter2"));
        assert!(settings(&[(ENDPOINT, "http://a"), (HEADERS, "what")]).is_err());
    }
}
