//! The pages of the web view. Every address that is no file is the application's own.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};

include!(concat!(env!("OUT_DIR"), "/files.rs"));

const START: &str = "index.html";

pub(crate) async fn page(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if let Some(bytes) = find(path) {
        return file(path, bytes);
    }
    match find(START) {
        // What looks like a file is one that is missing.
        _ if path.contains('.') => StatusCode::NOT_FOUND.into_response(),
        Some(bytes) => file(START, bytes),
        None => Html(
            "<p>This program was built without the web view. Build it with <code>./x build</code>.",
        )
        .into_response(),
    }
}

fn find(path: &str) -> Option<&'static [u8]> {
    let file = FILES.iter().find(|file| file.0 == path)?;
    Some(file.1)
}

fn file(path: &str, bytes: &'static [u8]) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    // The names of these have a hash of what is in them.
    if path.starts_with("assets/") {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(CACHE_CONTROL, forever);
    }
    response
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
