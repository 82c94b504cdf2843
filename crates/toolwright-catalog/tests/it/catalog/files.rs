//! Files of tenants: who sees them, how long they exist, and how much they may take.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolwright_catalog::files::{
    FileError, FileFilter, FileLimits, FileUrl, Files, Lifetime, LinkError, LinkPurpose, StoredFile,
};

const NOW: SystemTime = SystemTime::UNIX_EPOCH;
const HOUR: Duration = Duration::from_hours(1);

fn open(data: &Path) -> Files {
    let mut limits = FileLimits::default();
    limits.file_bytes = 1_000;
    limits.tenant_bytes = 1_500;
    limits.tenant_files = 10;
    Files::open(data, limits).unwrap()
}

async fn store(
    files: &Files,
    tenant: &str,
    bytes: &[u8],
    lifetime: Lifetime,
) -> Result<StoredFile, FileError> {
    let mut upload = files.upload(tenant, "a.txt", Some("text/plain"), NOW).await?;
    for chunk in bytes.chunks(100) {
        upload.write(chunk).await?;
    }
    upload.finish(lifetime, NOW).await
}

fn temporary(session: Option<&str>) -> Lifetime {
    Lifetime::Temporary { lifetime: HOUR, session: session.map(str::to_owned) }
}

/// The files below a folder.
fn stored(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(stored(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test]
async fn a_file_exists_for_its_tenant_alone_and_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let file = store(&open(data.path()), "a", b"hello", Lifetime::Permanent).await.unwrap();
    assert_eq!((file.size, file.last_modified().as_str()), (5, "1970-01-01T00:00:00Z"));
    let files = open(data.path());
    let url = file.url.to_string();
    let found = files.find("a", &url, NOW).await.unwrap();
    assert_eq!(found, file);
    assert_eq!(fs::read(&found.path).unwrap(), b"hello");
    assert!(found.path.starts_with(data.path()));
    for (tenant, url) in
        [("b", url.as_str()), ("a", &url.replace("a.txt", "b.txt")), ("a", "s3://other/x/y/z")]
    {
        let error = files.find(tenant, url, NOW).await.unwrap_err();
        assert!(matches!(error, FileError::NotFound), "{tenant} {url}: {error}");
    }
    let page = files.list("b", FileFilter::Permanent, 10, None, NOW).await.unwrap();
    assert!(page.files.is_empty());
    #[cfg(unix)]
    for path in stored(data.path()) {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[tokio::test]
async fn an_upload_that_is_dropped_or_too_large_leaves_nothing() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    let mut upload = files.upload("a", "a.txt", None, NOW).await.unwrap();
    upload.write(b"part").await.unwrap();
    let url = upload.url().to_string();
    assert!(matches!(files.find("a", &url, NOW).await, Err(FileError::NotFound)));
    drop(upload);
    let error = store(&files, "a", &[0; 1_001], Lifetime::Permanent).await.unwrap_err();
    assert!(matches!(error, FileError::TooLarge { max: 1_000 }), "{error}");
    assert_eq!(stored(&data.path().join("files")), Vec::<PathBuf>::new());
    let page = files.list("a", FileFilter::Permanent, 10, None, NOW).await.unwrap();
    assert!(page.files.is_empty());
}

#[tokio::test]
async fn the_files_of_a_tenant_are_limited_in_size_and_number() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    store(&files, "a", &[0; 1_000], temporary(None)).await.unwrap();
    // Uploads that are under way count.
    let mut first = files.upload("a", "b", None, NOW).await.unwrap();
    let mut second = files.upload("a", "c", None, NOW).await.unwrap();
    first.write(&[0; 400]).await.unwrap();
    let error = second.write(&[0; 400]).await.unwrap_err();
    let FileError::Quota { unit: "bytes", limit: 1_500, used: 1_400 } = error else {
        panic!("{error}")
    };
    drop(first);
    second.write(&[0; 400]).await.unwrap();
    let mut first = files.upload("a", "b", None, NOW).await.unwrap();
    second.finish(Lifetime::Permanent, NOW).await.unwrap();
    assert!(first.write(&[0; 101]).await.is_err(), "the finished one still counts");
    drop(first);
    // Another process has its own uploads.
    let other = open(data.path());
    let mut first = files.upload("a", "b", None, NOW).await.unwrap();
    first.write(&[0; 100]).await.unwrap();
    let mut third = other.upload("a", "b", None, NOW).await.unwrap();
    third.write(&[0; 100]).await.unwrap();
    let third = third.finish(Lifetime::Permanent, NOW).await.unwrap();
    let error = first.finish(Lifetime::Permanent, NOW).await.unwrap_err();
    assert!(matches!(error, FileError::Quota { unit: "bytes", used: 1_500, .. }), "{error}");
    // Bytes that are replaced do not count, and a refused upload replaces nothing.
    let mut again = files.upload_reserved(third.url.clone(), NOW).await.unwrap();
    again.write(&[1; 100]).await.unwrap();
    assert!(again.write(&[1]).await.is_err());
    drop(again);
    let mut again = files.upload_reserved(third.url.clone(), NOW).await.unwrap();
    again.write(&[1; 100]).await.unwrap();
    let bytes = || fs::read(&third.path).unwrap();
    assert_eq!(bytes(), [0; 100]);
    let again = again.finish(Lifetime::Permanent, NOW).await.unwrap();
    assert_eq!((again.size, bytes()), (100, vec![1; 100]));
    let error = store(&files, "a", &[0; 101], Lifetime::Permanent).await.unwrap_err();
    assert!(matches!(error, FileError::Quota { unit: "bytes", .. }), "{error}");
    assert_eq!(stored(&data.path().join("files")).len(), 3);
    store(&files, "b", &[0; 1_000], Lifetime::Permanent).await.unwrap();
    // What has expired does not count.
    let later = NOW + HOUR;
    let mut upload = files.upload("a", "d", None, later).await.unwrap();
    upload.write(&[0; 900]).await.unwrap();
    upload.finish(Lifetime::Permanent, later).await.unwrap();
    for _ in 0..20 {
        if let Err(error) = files.reserve("a", "e", None, NOW).await {
            assert!(matches!(error, FileError::Quota { unit: "files", limit: 10, .. }), "{error}");
            return;
        }
    }
    panic!("no limit");
}

#[tokio::test]
async fn a_refused_upload_keeps_the_earlier_bytes() {
    let data = tempfile::tempdir().unwrap();
    let (files, other) = (open(data.path()), open(data.path()));
    let first = store(&files, "a", &[0; 500], Lifetime::Permanent).await.unwrap();
    let mut again = files.upload_reserved(first.url.clone(), NOW).await.unwrap();
    again.write(&[1; 600]).await.unwrap();
    store(&other, "a", &[0; 1_000], Lifetime::Permanent).await.unwrap();
    let error = again.finish(Lifetime::Permanent, NOW).await.unwrap_err();
    assert!(matches!(error, FileError::Quota { unit: "bytes", .. }), "{error}");
    let kept = files.find("a", &first.url.to_string(), NOW).await.unwrap();
    assert_eq!((kept.size, fs::read(kept.path).unwrap()), (500, vec![0; 500]));
}

#[tokio::test]
async fn temporary_files_end_with_their_session_or_time() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    let kept = store(&files, "a", b"1", Lifetime::Permanent).await.unwrap();
    store(&files, "a", b"2", temporary(Some("s"))).await.unwrap();
    store(&files, "a", b"3", temporary(Some("s"))).await.unwrap();
    let other = store(&files, "a", b"4", temporary(Some("t"))).await.unwrap();
    store(&files, "b", b"5", temporary(Some("s"))).await.unwrap();
    let list = async |filter, now| files.list("a", filter, 10, None, now).await.unwrap().files;
    assert_eq!(list(FileFilter::Permanent, NOW).await, std::slice::from_ref(&kept));
    assert_eq!(list(FileFilter::Temporary(None), NOW).await.len(), 3);
    assert_eq!(list(FileFilter::Temporary(Some("s".into())), NOW).await.len(), 2);
    assert_eq!(files.remove_session("a", "s", NOW).await.unwrap(), 2);
    assert_eq!(files.remove_session("a", "s", NOW).await.unwrap(), 0);
    assert_eq!(list(FileFilter::Temporary(None), NOW).await, std::slice::from_ref(&other));
    assert!(list(FileFilter::Temporary(None), NOW + HOUR).await.is_empty());
    let expired = files.find("a", &other.url.to_string(), NOW + HOUR).await;
    assert!(matches!(expired, Err(FileError::NotFound)));
    assert_eq!(files.sweep(NOW).await.unwrap(), 0);
    assert_eq!(files.sweep(NOW + HOUR).await.unwrap(), 2, "of both tenants");
    assert_eq!(stored(&data.path().join("files")), [kept.path]);
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    let mut expected = Vec::new();
    for number in 0..5 {
        expected.push(store(&files, "a", &[number], Lifetime::Permanent).await.unwrap());
        store(&files, "b", &[number], Lifetime::Permanent).await.unwrap();
    }
    let (mut found, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let page = files.list("a", FileFilter::Permanent, 2, after, NOW).await.unwrap();
        sizes.push(page.files.len());
        found.extend(page.files);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((found, sizes), (expected, vec![2, 2, 1]));
    let beyond = files.list("a", FileFilter::Permanent, 2, Some(u64::MAX), NOW).await.unwrap();
    assert!(beyond.files.is_empty());
}

#[tokio::test]
async fn a_link_allows_one_thing_with_one_file_until_it_expires() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    let url = files.reserve("a", "报告.pdf", None, NOW).await.unwrap();
    let link = files.link(LinkPurpose::Upload, &url, "a b&c", HOUR, NOW);
    let (key, query) = link.split_once('?').unwrap();
    let check = |purpose, key: &str, query: &str, now| files.check_link(purpose, key, query, now);
    assert_eq!(check(LinkPurpose::Upload, key, query, NOW), Ok((url.clone(), "a b&c".to_owned())));
    let late = check(LinkPurpose::Upload, key, query, NOW + HOUR);
    assert_eq!(late, Err(LinkError::Expired));
    let other = files.reserve("a", "b.pdf", None, NOW).await.unwrap();
    for (purpose, key, query) in [
        (LinkPurpose::Download, key, query),
        (LinkPurpose::Upload, &*other.key(), query),
        (LinkPurpose::Upload, &key.replace("pdf", "exe"), query),
        (LinkPurpose::Upload, key, &query.replace("expires=3600", "expires=9999")),
        (LinkPurpose::Upload, key, &query.replace("caller=a", "caller=b")),
        (LinkPurpose::Upload, key, "expires=3600"),
        (LinkPurpose::Upload, key, ""),
        (LinkPurpose::Upload, "../signing.key", query),
    ] {
        assert_eq!(check(purpose, key, query, NOW), Err(LinkError::Invalid), "{key} {query}");
    }
    // A retry replaces the bytes of the first attempt.
    for bytes in [b"first", b"again"] {
        let mut upload = files.upload_reserved(url.clone(), NOW).await.unwrap();
        upload.copy(&bytes[..]).await.unwrap();
        let file = upload.finish(Lifetime::Permanent, NOW).await.unwrap();
        assert_eq!(fs::read(file.path).unwrap(), bytes);
    }
    let unknown = FileUrl::from_key(&key.replace(url.id(), &"0".repeat(32))).unwrap();
    assert!(matches!(files.upload_reserved(unknown, NOW).await, Err(FileError::NotFound)));
}

#[tokio::test]
async fn what_a_kill_leaves_behind_is_swept() {
    let data = tempfile::tempdir().unwrap();
    let files = open(data.path());
    let mut upload = files.upload("a", "a.txt", None, NOW).await.unwrap();
    upload.write(b"part").await.unwrap();
    // A killed process drops nothing.
    std::mem::forget(upload);
    assert_eq!(stored(&data.path().join("files")).len(), 1);
    let tomorrow = SystemTime::now() + Duration::from_hours(25);
    assert_eq!(files.sweep(tomorrow).await.unwrap(), 1, "the reserved file");
    assert_eq!(stored(&data.path().join("files")), Vec::<PathBuf>::new());
}
