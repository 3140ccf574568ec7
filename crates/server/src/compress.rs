//! Answers and pages travel compressed to whoever takes that: most of a JSON text is the same few words. Knows nothing of what is
//! in them.

use std::io::{self, Write};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio_stream::StreamExt;

/// What is shorter fits into one packet as it is.
const LEAST: u64 = 1400;

pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let takes = takes_gzip(request.headers());
    let response = next.run(request).await;
    let small = response.body().size_hint().upper();
    match takes && is_text(response.headers()) && small.is_none_or(|size| size >= LEAST) {
        true => gzipped(response),
        false => response,
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    lists.filter_map(|list| list.to_str().ok()).any(|list| {
        list.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            let is_gzip = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            // `gzip;q=0` refuses it.
            is_gzip
                && parts
                    .all(|part| part.strip_prefix("q=").and_then(|q| q.parse().ok()) != Some(0.0))
        })
    })
}

/// Images and fonts are compressed already, and events must not wait for more of them.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    matches!(
        kind,
        "application/json"
            | "image/svg+xml"
            | "text/css"
            | "text/html"
            | "text/javascript"
            | "text/markdown"
    )
}

/// The same response, compressed piece by piece as it comes.
fn gzipped(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts
        .headers
        .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts
        .headers
        .append(VARY, HeaderValue::from_static("accept-encoding"));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let pieces = body
        .into_data_stream()
        .map(Some)
        .chain(tokio_stream::once(None));
    let packed = pieces.map(move |piece| -> io::Result<Bytes> {
        match piece {
            Some(piece) => encoder.write_all(&piece.map_err(io::Error::other)?)?,
            None => encoder.try_finish()?,
        }
        Ok(Bytes::from(std::mem::take(encoder.get_mut())))
    });
    let packed = packed.filter(|piece| !piece.as_ref().is_ok_and(Bytes::is_empty));
    Response::from_parts(parts, Body::from_stream(packed))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::body::to_bytes;
    use flate2::read::GzDecoder;

    use super::*;

    fn accepting(list: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(list))])
    }

    fn body_of(response: Response) -> Result<Bytes, axum::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(to_bytes(response.into_body(), usize::MAX))
    }

    #[test]
    fn only_who_takes_it_gets_it_compressed() {
        for taking in ["gzip", "deflate, GZIP;q=0.5, br", "br,gzip"] {
            assert!(takes_gzip(&accepting(taking)), "{taking}");
        }
        for refusing in ["", "identity", "br, gzip;q=0", "gzip; q=0.0", "xgzip"] {
            assert!(!takes_gzip(&accepting(refusing)), "{refusing}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn texts_are_compressed_and_neither_fonts_nor_events() {
        let of = |kind| HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        assert!(is_text(&of("application/json")));
        assert!(is_text(&of("text/html; charset=utf-8")));
        assert!(!is_text(&of("text/event-stream")));
        assert!(!is_text(&of("font/woff2")));
    }

    #[test]
    fn pieces_become_one_compressed_text() {
        let pieces = ["{\"a\":", "[1, 1, 1]", "}"].map(|piece| io::Result::Ok(Bytes::from(piece)));
        let body = Body::from_stream(tokio_stream::iter(pieces));
        let response = gzipped(Response::new(body));
        assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
        let packed = body_of(response).unwrap();
        let mut text = String::new();
        GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "{\"a\":[1, 1, 1]}");
    }

    #[test]
    fn an_answer_that_breaks_off_does_not_look_complete() {
        let pieces = [
            Ok(Bytes::from("{")),
            Err(io::Error::from(io::ErrorKind::Interrupted)),
        ];
        let body = Body::from_stream(tokio_stream::iter(pieces));
        assert!(body_of(gzipped(Response::new(body))).is_err());
    }
}
