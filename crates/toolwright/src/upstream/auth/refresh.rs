//! Keys that others renew: read again when their files have changed, or when AWS refuses them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, StatusCode};

use super::aws_profile::{AwsProfile, ProfileError};
use super::sigv4::Signer;

/// How often files are looked at, at most. A look takes some microseconds.
const PAUSE: Duration = Duration::from_secs(1);
/// How AWS says that keys have had their time, or are keys no more.
const REFUSALS: [&str; 3] = ["ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId"];

/// A signer whose keys are in a profile.
pub(crate) struct Renewed {
    profile: AwsProfile,
    state: Mutex<State>,
}

struct State {
    signer: Arc<Signer>,
    stamps: [Option<(SystemTime, u64)>; 2],
    looked: Instant,
}

impl Renewed {
    pub(crate) fn new(profile: AwsProfile) -> Result<Renewed, ProfileError> {
        // The stamps first: what changes while we read is then read again.
        let stamps = profile.stamps();
        let signer = Arc::new(Signer::new(profile.read()?));
        let state = Mutex::new(State { signer, stamps, looked: Instant::now() });
        Ok(Renewed { profile, state })
    }

    /// Signs with the keys that are in the files now, or were a moment ago.
    pub(crate) fn signer(&self) -> Arc<Signer> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= PAUSE {
            state.looked = Instant::now();
            let stamps = self.profile.stamps();
            if stamps != state.stamps {
                self.read(&mut state, stamps);
            }
        }
        Arc::clone(&state.signer)
    }

    /// Signs with other keys than those that were refused, if there are others by now.
    pub(crate) fn other(&self, refused: &Signer) -> Option<Arc<Signer>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state.signer == *refused {
            let stamps = self.profile.stamps();
            self.read(&mut state, stamps);
        }
        (*state.signer != *refused).then(|| Arc::clone(&state.signer))
    }

    fn read(&self, state: &mut State, stamps: [Option<(SystemTime, u64)>; 2]) {
        // A file that is being written has nothing to read for a moment: then it stays as it was.
        if let Ok(keys) = self.profile.read() {
            state.signer = Arc::new(Signer::new(keys));
            state.stamps = stamps;
        }
    }
}

impl PartialEq for Renewed {
    fn eq(&self, other: &Renewed) -> bool {
        self.profile == other.profile
    }
}

/// Whether a reply says that keys have had their time.
pub(crate) fn is_refusal(status: StatusCode, headers: &HeaderMap) -> bool {
    let refused = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let said = headers.get("x-amzn-errortype").and_then(|kind| kind.to_str().ok());
    refused.contains(&status)
        && said.is_some_and(|said| REFUSALS.iter().any(|refusal| said.starts_with(refusal)))
}
