//! `/internal/files`: files of the client's tenant, and the links that need no token.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, header};
use http_body::{Body, Frame, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};
use toolwright_catalog::files::{
    FileFilter, FileLimits, FilePage, FileUrl, Files, Lifetime, LinkError, LinkPurpose, MAX_PAGE,
    MAX_SESSION_BYTES, StoredFile, Upload,
};
use toolwright_core::{Json, object, percent};

use super::refusal::Refusal;
use crate::catalog::FILE_CONTENT;
use crate::fault;
use crate::http::{Form, FormItem, HttpRequest, PartHead, Reply, ReplyBody};
use crate::key::{Client, Keys};
use crate::query::Query;

/// Default lifetime of a temporary file.
const TEMPORARY: Duration = Duration::from_hours(24);

/// Lifetime of a link to upload a file, and default lifetime of a link to download one.
const LINK: Duration = Duration::from_hours(1);

/// Maximum lifetime of a link.
const MAX_LINK: Duration = Duration::from_hours(7 * 24);

/// Default number of files on a page.
const PAGE: usize = 100;

/// Maximum size of a field of a form in bytes, and of everything in a form besides the file.
const MAX_FIELD: usize = 4 << 10;
const MAX_FORM: u64 = 256 << 10;

/// What a request with a token does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reserves a file and returns a link for its bytes
    GenerateUploadUrl,
    /// Stores a file
    Upload,
    /// Stores a file for some time
    UploadTemp,
    /// Returns a link to a file
    Download,
    /// Lists permanent files
    List,
    /// Lists temporary files
    ListTemp,
    /// Removes the temporary files of a session
    CleanupTemp,
}

/// A client's files.
pub(super) struct ClientFiles<'a> {
    pub(super) files: &'a Files,
    pub(super) tenant: &'a str,
    /// The name of the client
    pub(super) client: &'a str,
    /// The address that links begin with
    pub(super) base: String,
}

impl ClientFiles<'_> {
    pub(super) async fn answer(
        &self,
        action: Action,
        request: HttpRequest,
    ) -> Result<Reply, Refusal> {
        let query = Query::new(request.uri.query());
        let document = match action {
            Action::GenerateUploadUrl => self.generate_upload_url(request).await?,
            Action::Upload => self.upload(request, false).await?,
            Action::UploadTemp => self.upload(request, true).await?,
            Action::Download => self.download(&query).await?,
            Action::List => self.list(FileFilter::Permanent, &query).await?,
            Action::ListTemp => {
                let session = query.get("session_id").map(session_id).transpose()?;
                self.list(FileFilter::Temporary(session), &query).await?
            }
            Action::CleanupTemp => {
                let given = query.get("session_id").ok_or_else(|| missing("session_id"))?;
                let session = session_id(given)?;
                let removed = self.files.remove_session(self.tenant, &session, SystemTime::now());
                Json::Object(object! {"deleted_count": removed.await?})
            }
        };
        Ok(fault::document(&document))
    }

    async fn generate_upload_url(&self, request: HttpRequest) -> Result<Json, Refusal> {
        let (body, _share) = request.body.read_document().await?;
        let document = super::json_object(&body)?;
        let filename = super::text(&document, "filename")?.filter(|own| !own.trim().is_empty());
        let filename = filename.ok_or_else(|| missing("filename"))?;
        let content_type = super::text(&document, "content_type")?.map(media_type).transpose()?;
        let now = SystemTime::now();
        let url = self.files.reserve(self.tenant, filename, content_type, now).await?;
        let link = self.files.link(LinkPurpose::Upload, &url, self.client, LINK, now);
        Ok(Json::Object(object! {
            "upload_url": format!("{}{FILE_CONTENT}{link}", self.base),
            "s3_url": url.to_string(),
        }))
    }

    async fn upload(&self, request: HttpRequest, is_temporary: bool) -> Result<Json, Refusal> {
        let limits = self.files.limits();
        let chunks = request.body.chunks(limits.file_bytes.saturating_add(MAX_FORM))?;
        let mut form = Form::new(&request.headers, chunks)?;
        let (mut upload, mut fields) = (None::<Upload>, Vec::<(String, Vec<u8>)>::new());
        let mut is_file = false;
        while let Some(item) = form.next().await? {
            match item {
                FormItem::Part(head) if head.name == "file" => {
                    if upload.is_some() {
                        return Err(Refusal::invalid("The form has two parts `file`."));
                    }
                    upload = Some(self.start(head).await?);
                    is_file = true;
                }
                FormItem::Part(head) => {
                    fields.push((head.name, Vec::new()));
                    is_file = false;
                }
                FormItem::Data(data) if is_file => {
                    if let Some(upload) = &mut upload {
                        upload.write(&data).await?;
                    }
                }
                FormItem::Data(data) => {
                    if let Some((name, value)) = fields.last_mut() {
                        if value.len() + data.len() > MAX_FIELD {
                            let message = format!("`{name}` is longer than {MAX_FIELD} bytes.");
                            return Err(Refusal::invalid(message));
                        }
                        value.extend_from_slice(&data);
                    }
                }
            }
        }
        let upload = upload.ok_or_else(|| missing("file"))?;
        let lifetime = if is_temporary { temporary(&fields, limits)? } else { Lifetime::Permanent };
        let file = upload.finish(lifetime, SystemTime::now()).await?;
        Ok(Json::Object(object! {
            "success": true,
            "s3_url": file.url.to_string(),
            "filename": file.url.name(),
            "size": file.size,
        }))
    }

    async fn start(&self, head: PartHead) -> Result<Upload, Refusal> {
        let PartHead { filename, content_type, .. } = head;
        let content_type = content_type.as_deref().map(media_type).transpose()?;
        let filename = filename.unwrap_or_default();
        let now = SystemTime::now();
        Ok(self.files.upload(self.tenant, &filename, content_type, now).await?)
    }

    async fn download(&self, query: &Query) -> Result<Json, Refusal> {
        let url = query.get("s3_url").ok_or_else(|| missing("s3_url"))?;
        if query.get("mode").is_some_and(|mode| mode != "presigned") {
            return Err(Refusal::invalid("`mode` must be `presigned`."));
        }
        let lifetime =
            query.number("expires_in", 1, MAX_LINK.as_secs()).map_err(Refusal::invalid)?;
        let lifetime = lifetime.map_or(LINK, Duration::from_secs);
        let now = SystemTime::now();
        let file = self.files.find(self.tenant, url, now).await?;
        let link = self.files.link(LinkPurpose::Download, &file.url, self.client, lifetime, now);
        Ok(Json::Object(object! {"presigned_url": format!("{}{FILE_CONTENT}{link}", self.base)}))
    }

    async fn list(&self, filter: FileFilter, query: &Query) -> Result<Json, Refusal> {
        let limit = query.number("limit", 1, MAX_PAGE as u64).map_err(Refusal::invalid)?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE);
        let after = query.number("continuation_token", 0, u64::MAX).map_err(Refusal::invalid)?;
        let now = SystemTime::now();
        let FilePage { files, next, .. } =
            self.files.list(self.tenant, filter, limit, after, now).await?;
        let files: Vec<Json> = files.iter().map(entry).collect();
        let mut page = object! {"files": files};
        if let Some(next) = next {
            page.push("next_token", next.to_string());
        }
        Ok(Json::Object(page))
    }
}

/// An entry of a list.
fn entry(file: &StoredFile) -> Json {
    Json::Object(object! {
        "key": file.url.key(),
        "size": file.size,
        "last_modified": file.last_modified(),
        "s3_url": file.url.to_string(),
    })
}

fn temporary(fields: &[(String, Vec<u8>)], limits: FileLimits) -> Result<Lifetime, Refusal> {
    let field = |name: &str| {
        let (_, value) = fields.iter().find(|(own, _)| own == name)?;
        Some(String::from_utf8_lossy(value).trim().to_owned())
    };
    let max = limits.lifetime.as_secs();
    let lifetime = match field("ttl") {
        None => TEMPORARY.min(limits.lifetime),
        Some(text) => match text.parse() {
            Ok(seconds) if (1..=max).contains(&seconds) => Duration::from_secs(seconds),
            _ => {
                let message = format!("`ttl` must be a number of seconds from 1 to {max}.");
                return Err(Refusal::invalid(message));
            }
        },
    };
    let session = field("session_id").filter(|own| !own.is_empty());
    let session = session.as_deref().map(session_id).transpose()?;
    Ok(Lifetime::Temporary { lifetime, session })
}

fn session_id(text: &str) -> Result<String, Refusal> {
    if (1..=MAX_SESSION_BYTES).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    let message = format!("`session_id` must have 1 to {MAX_SESSION_BYTES} bytes.");
    Err(Refusal::invalid(message))
}

/// Checks a media type: it becomes a header when the file is downloaded.
fn media_type(text: &str) -> Result<&str, Refusal> {
    let is_valid = text.len() <= 255 && text.is_ascii() && HeaderValue::try_from(text).is_ok();
    if is_valid { Ok(text) } else { Err(Refusal::invalid("The content type is invalid.")) }
}

fn missing(name: &str) -> Refusal {
    Refusal::invalid(format!("`{name}` is required."))
}

/// Stores the bytes that a client sends to a link.
pub(super) async fn put(
    files: &Files,
    keys: &Keys,
    key: &str,
    request: HttpRequest,
) -> Result<Reply, Refusal> {
    let (url, client) = check(files, keys, LinkPurpose::Upload, key, &request)?;
    let mut chunks = request.body.chunks(files.limits().file_bytes)?;
    let mut upload = files.upload_reserved(url, SystemTime::now()).await?;
    loop {
        let chunk = tokio::select! {
            biased;
            () = client.removed() => return Err(Refusal::forbidden(KEY_REMOVED)),
            chunk = chunks.next() => chunk?,
        };
        let Some(chunk) = chunk else { break };
        upload.write(&chunk).await?;
    }
    upload.finish(Lifetime::Permanent, SystemTime::now()).await?;
    Ok(Reply::new(ReplyBody::empty()))
}

/// Returns the bytes of the file of a link.
pub(super) async fn get(
    files: &Files,
    keys: &Keys,
    key: &str,
    request: HttpRequest,
) -> Result<Reply, Refusal> {
    let (url, client) = check(files, keys, LinkPurpose::Download, key, &request)?;
    let found = files.find_any(&url, SystemTime::now()).await?;
    // The file may expire between the two.
    let file = File::open(&found.path).await.map_err(|_| Refusal::not_found("File not found"))?;
    let body = FileBody { file, left: found.size };
    let mut reply = Reply::new(ReplyBody::stream(body).until(client.removed()));
    let content_type = found.content_type.as_deref().unwrap_or("application/octet-stream");
    let name = percent::encode(url.name());
    let headers = [
        (header::CONTENT_TYPE, content_type),
        // Files come from clients: a browser must not show them as pages of the gateway.
        (header::CONTENT_DISPOSITION, &format!("attachment; filename*=UTF-8''{name}")),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
        (header::CACHE_CONTROL, "private, no-store"),
    ];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            reply.headers_mut().insert(name, value);
        }
    }
    Ok(reply)
}

fn check(
    files: &Files,
    keys: &Keys,
    purpose: LinkPurpose,
    key: &str,
    request: &HttpRequest,
) -> Result<(FileUrl, Arc<Client>), Refusal> {
    let query = request.uri.query().unwrap_or_default();
    let checked = files.check_link(purpose, key, query, SystemTime::now());
    let refused = |error: LinkError| Refusal::forbidden(format!("{error}. Ask for a new link."));
    let (url, caller) = checked.map_err(refused)?;
    let client = keys.named(&caller).filter(|client| url.belongs_to(client.tenant()));
    let client = client.ok_or_else(|| Refusal::forbidden(KEY_REMOVED))?;
    Ok((url, client))
}

/// The message for a link of a client that no longer exists.
const KEY_REMOVED: &str = "the key that the link was created with was removed. Ask for a new link.";

/// Size of a frame of a file in bytes.
const FRAME: usize = 64 << 10;

/// The bytes of a file as a body.
struct FileBody {
    file: File,
    /// Bytes that are still to be sent
    left: u64,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let length = usize::try_from(self.left).unwrap_or(FRAME).min(FRAME);
        let mut bytes = BytesMut::zeroed(length);
        let mut buffer = ReadBuf::new(&mut bytes);
        match Pin::new(&mut self.file).poll_read(context, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
            Poll::Ready(Ok(())) => {}
        }
        let read = buffer.filled().len();
        if read == 0 {
            // Shorter than announced: the connection must end early.
            return Poll::Ready(Some(Err(std::io::ErrorKind::UnexpectedEof.into())));
        }
        bytes.truncate(read);
        self.left -= read as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
