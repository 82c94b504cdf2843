//! AWS profiles: keys and regions in the files of the AWS tools.
//!
//! Only long-term and temporary keys in these files are read. For profiles that say how to obtain keys
//! (`role_arn`, `sso_session`, `credential_process`), `aws configure export-credentials` writes keys out.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use toolwright_transport::environment::{self, Environment};
use toolwright_transport::secret::SecretString;

use super::AwsKeys;

const NAMES: &[&str] = &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];
const CREDENTIALS: &[&str] = &["AWS_SHARED_CREDENTIALS_FILE"];
const CONFIG: &[&str] = &["AWS_CONFIG_FILE"];
/// Variables that name a region of AWS; the first that is set counts.
pub const REGIONS: &[&str] = &["AWS_REGION", "AWS_DEFAULT_REGION"];
const HOMES: &[&str] = &["HOME", "USERPROFILE"];
/// Settings that say how to obtain keys.
const INDIRECT_SETTINGS: [&str; 5] =
    ["sso_session", "sso_start_url", "role_arn", "credential_process", "web_identity_token_file"];

/// A profile in the files of the AWS tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsProfile {
    name: String,
    /// Whether a variable names it
    named: bool,
    credentials: Option<PathBuf>,
    config: Option<PathBuf>,
    region: Option<String>,
}

/// Why a profile has no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No file has this profile
    #[error("there is no profile `{0}` in ~/.aws/credentials or ~/.aws/config")]
    NoProfile(String),
    /// The profile has no keys
    #[error("the profile `{0}` has no aws_access_key_id with an aws_secret_access_key")]
    NoKeys(String),
    /// The profile says how to obtain keys
    #[error(
        "the profile `{0}` has `{1}` and no keys, and only keys are read; write them out with \
         `aws configure export-credentials`"
    )]
    Indirect(String, &'static str),
    /// The profile has no region
    #[error("the profile `{0}` has no region; set AWS_REGION")]
    NoRegion(String),
}

impl AwsProfile {
    /// The profile that `AWS_PROFILE` names, or `default`, in the files that `AWS_SHARED_CREDENTIALS_FILE`
    /// and `AWS_CONFIG_FILE` name, or in those below `~/.aws`.
    pub fn from_env(variables: Environment<'_>) -> AwsProfile {
        let set = |names| environment::first(names, variables).map(|(_, value)| value);
        let file = |names, name: &str| {
            let home = || Some(Path::new(&set(HOMES)?).join(".aws").join(name));
            set(names).map(PathBuf::from).or_else(home)
        };
        let name = set(NAMES);
        AwsProfile {
            named: name.is_some(),
            name: name.unwrap_or_else(|| "default".to_owned()),
            credentials: file(CREDENTIALS, "credentials"),
            config: file(CONFIG, "config"),
            region: environment::first(REGIONS, variables).map(|(_, region)| region),
        }
    }

    /// Whether a variable names it, so that it must exist.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// The region of the variables, or else of the profile.
    pub fn region(&self) -> Option<String> {
        self.region.clone().or_else(|| Found::in_files(self).region)
    }

    /// Reads the keys from the files.
    pub fn read(&self) -> Result<AwsKeys, ProfileError> {
        let found = Found::in_files(self);
        let name = || self.name.clone();
        let (Some(access), Some(secret)) = (found.access, found.secret) else {
            return Err(match found.way {
                _ if !found.any => ProfileError::NoProfile(name()),
                Some(way) => ProfileError::Indirect(name(), way),
                None => ProfileError::NoKeys(name()),
            });
        };
        let region = self.region.clone().or(found.region);
        let region = region.ok_or_else(|| ProfileError::NoRegion(name()))?;
        let keys = AwsKeys::new(access, secret, region);
        Ok(match found.token {
            Some(token) => keys.with_session_token(token),
            None => keys,
        })
    }

    /// Modification times and sizes of the files, to detect changes.
    pub(crate) fn stamps(&self) -> [Option<(SystemTime, u64)>; 2] {
        [&self.credentials, &self.config].map(|file| {
            let about = fs::metadata(file.as_ref()?).ok()?;
            Some((about.modified().ok()?, about.len()))
        })
    }
}

/// The settings of a profile.
#[derive(Default)]
struct Found {
    any: bool,
    access: Option<String>,
    secret: Option<SecretString>,
    token: Option<SecretString>,
    region: Option<String>,
    way: Option<&'static str>,
}

impl Found {
    fn in_files(profile: &AwsProfile) -> Found {
        let mut found = Found::default();
        let text = |file: &Option<PathBuf>| fs::read_to_string(file.as_ref()?).ok();
        // The credentials file has precedence, and its three keys belong together.
        for (file, is_config) in [(&profile.credentials, false), (&profile.config, true)] {
            let Some(text) = text(file) else { continue };
            let text = zeroize::Zeroizing::new(text);
            let mut keys = Found::default();
            for (key, value) in entries(&text, &profile.name, is_config) {
                found.any = true;
                match key {
                    "aws_access_key_id" => keys.access = Some(value.to_owned()),
                    "aws_secret_access_key" => keys.secret = Some(value.into()),
                    "aws_session_token" => keys.token = Some(value.into()),
                    "region" => found.region = Some(value.to_owned()),
                    _ => {
                        let indirect = INDIRECT_SETTINGS.into_iter().find(|way| *way == key);
                        found.way = found.way.or(indirect);
                    }
                }
            }
            if found.access.is_none() && keys.access.is_some() && keys.secret.is_some() {
                (found.access, found.secret, found.token) = (keys.access, keys.secret, keys.token);
            }
        }
        found
    }
}

/// The settings of a profile: lines `key = value` below `[name]`, or below `[profile name]` in the config
/// file. Indented lines are nested settings, which are ignored.
fn entries<'t>(
    text: &'t str,
    profile: &str,
    is_config: bool,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_meant = move |section: &str| {
        let bare = section.trim();
        let named = bare.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t', '"']));
        let name = match named {
            Some(name) if is_config => name,
            None if !is_config || bare == "default" => bare,
            _ => return false,
        };
        name.trim().trim_matches('"') == profile
    };
    let mut within = false;
    text.trim_start_matches('\u{feff}').lines().filter_map(move |line| {
        if line.starts_with(['#', ';', ' ', '\t']) {
            return None;
        }
        if let Some(rest) = line.strip_prefix('[') {
            within = rest.split_once(']').is_some_and(|(section, _)| is_meant(section));
            return None;
        }
        let (key, value) = line.split_once('=').filter(|_| within)?;
        // A value is one word; a comment may follow.
        let value = value.split_whitespace().next().filter(|word| !word.starts_with(['#', ';']));
        Some((key.trim(), value?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "\u{feff}# of old\n[default]\naws_access_key_id = AKDEFAULT\n\
        aws_secret_access_key=s/+=1\n\n[work]\r\naws_access_key_id = AKWORK ; mine\r\n\
        aws_secret_access_key = s2\r\naws_session_token = t2\r\n[half]\naws_access_key_id = AK\n";
    const CONFIG: &str = "[default]\nregion = us-east-1\ns3 =\n  region = nowhere\n\
        [profile work]\nregion = eu-west-1\n[profile \"two words\"]\nregion=eu-west-2\n\
        aws_access_key_id = AKTWO\naws_secret_access_key = s3\n\
        [profile far]\nsso_session = corp\n[work]\nregion = wrong\n[sso-session corp]\nregion = x\n";

    fn profile(folder: &Path, name: Option<&str>, region: Option<&str>) -> AwsProfile {
        let home = folder.to_str().map(str::to_owned);
        let variables = |variable: &str| match variable {
            "HOME" => home.clone(),
            "AWS_PROFILE" => name.map(str::to_owned),
            "AWS_DEFAULT_REGION" => region.map(str::to_owned),
            _ => None,
        };
        AwsProfile::from_env(&variables)
    }

    #[test]
    fn keys_and_regions_are_read_as_the_aws_tools_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        fs::create_dir(home.join(".aws")).unwrap();
        fs::write(home.join(".aws/credentials"), CREDENTIALS).unwrap();
        fs::write(home.join(".aws/config"), CONFIG).unwrap();
        let read = |name, region| {
            let read = profile(home, name, region).read().map(|keys| {
                let token = keys.session_token.map(|token| token.expose().clone());
                (keys.access_key, keys.secret_key.expose().clone(), token, keys.region)
            });
            read.map_err(|error| error.to_string())
        };
        let keys = |access: &str, secret: &str, token: Option<&str>, region: &str| {
            let own = str::to_owned;
            Ok((own(access), own(secret), token.map(own), own(region)))
        };
        assert_eq!(read(None, None), keys("AKDEFAULT", "s/+=1", None, "us-east-1"));
        assert_eq!(read(Some("work"), None), keys("AKWORK", "s2", Some("t2"), "eu-west-1"));
        assert_eq!(read(Some("work"), Some("x")), keys("AKWORK", "s2", Some("t2"), "x"));
        assert_eq!(read(Some("two words"), None), keys("AKTWO", "s3", None, "eu-west-2"));
        let refused = |name| read(Some(name), None).unwrap_err();
        assert!(refused("far").contains("has `sso_session` and no keys"), "{}", refused("far"));
        assert!(refused("half").contains("has no aws_access_key_id"), "{}", refused("half"));
        assert!(refused("none").contains("there is no profile `none`"), "{}", refused("none"));
        fs::remove_file(home.join(".aws/config")).unwrap();
        assert!(refused("work").contains("set AWS_REGION"), "{}", refused("work"));
        assert!(profile(Path::new("/no/such"), None, None).read().is_err());
    }
}
