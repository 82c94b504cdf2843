//! Keys that other tools refresh: read again when their files change, or when AWS refuses them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;

use super::aws_profile::{AwsProfile, ProfileError};
use super::sigv4::Signer;

/// Minimum time between two checks of the files. A check takes some microseconds.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Error types of AWS for expired or revoked keys.
const EXPIRED_KEY_ERRORS: [&str; 3] =
    ["ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId"];

/// A signer with the keys of an AWS profile.
pub(crate) struct RefreshingSigner {
    profile: AwsProfile,
    state: Mutex<State>,
}

struct State {
    signer: Arc<Signer>,
    stamps: [Option<(SystemTime, u64)>; 2],
    checked_at: Instant,
}

impl RefreshingSigner {
    pub(crate) fn new(profile: AwsProfile) -> Result<RefreshingSigner, ProfileError> {
        // Stamps first, so that a change during the read is detected later.
        let stamps = profile.stamps();
        let signer = Arc::new(Signer::new(profile.read()?));
        let state = Mutex::new(State { signer, stamps, checked_at: Instant::now() });
        Ok(RefreshingSigner { profile, state })
    }

    /// The signer with the current keys, at most a second old.
    pub(crate) fn signer(&self) -> Arc<Signer> {
        let mut state = self.state.lock();
        if state.checked_at.elapsed() >= CHECK_INTERVAL {
            state.checked_at = Instant::now();
            let stamps = self.profile.stamps();
            if stamps != state.stamps {
                self.read(&mut state, stamps);
            }
        }
        Arc::clone(&state.signer)
    }

    /// A signer with other keys than the refused ones, if the files have others by now.
    pub(crate) fn other(&self, refused: &Signer) -> Option<Arc<Signer>> {
        let mut state = self.state.lock();
        if *state.signer == *refused {
            let stamps = self.profile.stamps();
            self.read(&mut state, stamps);
        }
        (*state.signer != *refused).then(|| Arc::clone(&state.signer))
    }

    fn read(&self, state: &mut State, stamps: [Option<(SystemTime, u64)>; 2]) {
        // A file that is being written may be empty for a moment; the old keys stay then.
        if let Ok(keys) = self.profile.read() {
            state.signer = Arc::new(Signer::new(keys));
            state.stamps = stamps;
        }
    }
}

impl PartialEq for RefreshingSigner {
    fn eq(&self, other: &RefreshingSigner) -> bool {
        self.profile == other.profile
    }
}

/// Whether a response says that the keys have expired or were revoked.
pub(crate) fn is_expired_key(status: StatusCode, headers: &HeaderMap) -> bool {
    let refused = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    let said = headers.get("x-amzn-errortype").and_then(|kind| kind.to_str().ok());
    refused.contains(&status)
        && said
            .is_some_and(|said| EXPIRED_KEY_ERRORS.iter().any(|refusal| said.starts_with(refusal)))
}
