//! Values that are too large for a payload: they are stored behind handles, and the workflow has a stand-in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_runtime::handle::{Handle, HandleStore, Owner};
use toolwright_runtime::output::Content;

use crate::plan::StepError;
use crate::plan::stored::{Needs, handles, has_handles, put_values};

/// Maximum number of bytes of a value in a payload, if there is a store.
pub(super) const INLINE_BYTES: usize = 100_000;

/// Number of bytes that the outputs of a run may have in its workflow, together. Temporal limits the input of a
/// workflow to 2 MB, also that of one that continues another.
const RUN_BYTES: usize = 1_000_000;

/// Maximum number of bytes of a document in a payload. Temporal allows 2 MB.
pub(super) const PAYLOAD_BYTES: usize = 1_800_000;

/// Number of attempts to store the output of a call, which has had its effect already.
const ATTEMPTS: u32 = 6;

/// Returns the maximum number of bytes of an output, for a run of so many calls.
pub(super) fn inline_bytes(calls: usize) -> usize {
    (RUN_BYTES / calls.max(1)).clamp(100, INLINE_BYTES)
}

/// The store of large values, if there is one.
#[derive(Clone, Default)]
pub(super) struct Values(pub(super) Option<Arc<dyn HandleStore>>);

impl Values {
    /// Returns the value itself if it is small, else what stands for it. The error says why it cannot be passed.
    pub(super) async fn put(
        &self,
        owner: &Owner,
        value: Json,
        needs: &Needs,
        inline: usize,
    ) -> Result<Json, StepError> {
        let bytes = value.compact().len();
        let max = if self.0.is_some() { inline } else { RUN_BYTES };
        if bytes <= max && !has_handles(&value) {
            return Ok(value);
        }
        let too_large = |message: String| Err(StepError::new("too_large", message));
        let Some(store) = &self.0 else {
            return too_large(format!(
                "the value has {bytes} bytes, and on Temporal more than {RUN_BYTES} pass only by handle: start the \
                 workers with --gateway"
            ));
        };
        let value = Arc::new(value);
        let id = self.store(&**store, owner, &value).await?;
        let stand_in = needs.stand_in(&id, &value);
        let bytes = stand_in.compact().len();
        if bytes > INLINE_BYTES {
            return too_large(format!(
                "conditions and items of later steps need {bytes} bytes of the value, and on Temporal they get at most \
                 {INLINE_BYTES}"
            ));
        }
        Ok(stand_in)
    }

    async fn store(
        &self,
        store: &dyn HandleStore,
        owner: &Owner,
        value: &Arc<Json>,
    ) -> Result<String, StepError> {
        let mut attempt = 0;
        loop {
            let error = match store.put(owner, Content::Json(Arc::clone(value))).await {
                Ok(id) => return Ok(Handle::from(id).to_string()),
                Err(error) => error,
            };
            attempt += 1;
            if attempt == ATTEMPTS {
                let message = format!("the value could not be stored behind a handle: {error}");
                return Err(StepError::new("not_stored", message));
            }
            tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
        }
    }

    /// Puts stored values in the places of what stands for them.
    pub(super) async fn get(&self, owner: &Owner, value: &mut Json) -> Result<(), StepError> {
        let ids = handles(value);
        if ids.is_empty() {
            return Ok(());
        }
        let Some(store) = &self.0 else {
            let message = "a value is stored behind a handle, and there is no gateway to read it from: pass --gateway";
            return Err(StepError::new("not_readable", message));
        };
        let mut values = BTreeMap::new();
        for id in ids {
            let unreadable = |why: String| {
                StepError::new("not_readable", format!("the stored value {id}: {why}"))
            };
            let handle: Handle = id.parse().map_err(|_| unreadable("not a handle".to_owned()))?;
            match store.find(owner, handle.id).await {
                Ok(Content::Json(stored)) => drop(values.insert(id, (*stored).clone())),
                Ok(Content::Bytes(_) | Content::Media(_)) => {
                    return Err(unreadable("not JSON".to_owned()));
                }
                Err(error) => return Err(unreadable(error.to_string())),
            }
        }
        put_values(value, &values).map_err(|pointer| {
            let message = format!("there is no value at '{pointer}', and no '$default'");
            StepError::new("missing_value", message)
        })
    }
}
