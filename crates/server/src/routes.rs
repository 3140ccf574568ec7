//! The addresses of the API and what is behind them.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router, middleware};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::compress::compress;
use crate::document::Document;
use crate::events::Events;
use crate::guard::{self, Guard};
use crate::jobs::{Jobs, Watched};
use crate::notes::{self, LONGEST_REQUEST, Wish};
use crate::questions::Question;
use crate::reply::{Error, Piece, Reply};
use crate::sources::Sources;
use crate::{openapi, pages};

/// How a page names the work it waits for.
const JOB: &str = "x-anthill-job";
/// Pieces of an answer that wait for a slow reader.
const WAITING: usize = 8;

#[derive(Clone)]
struct Server {
    open: Arc<Sources>,
    events: Events,
    jobs: Arc<Jobs>,
}

pub(crate) fn router(open: Arc<Sources>, published: Events, guard: Guard) -> Router {
    let server = Server {
        open,
        events: published,
        jobs: Arc::default(),
    };
    Router::new()
        .route("/api/v1/sources", get(sources))
        .route("/api/v1/sources/{source}/{question}", get(answer))
        .route(
            "/api/v1/sources/{source}/notes",
            get(notes).put(keep_note).delete(delete_note),
        )
        .route("/api/v1/events", get(events))
        .route("/api/v1/jobs/{job}", delete(cancel))
        .route("/api/v1/openapi.json", get(description))
        .route("/api/{*rest}", get(unknown))
        .fallback(pages::page)
        .layer(middleware::from_fn(compress))
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .with_state(server)
}

async fn sources(State(server): State<Server>) -> Response {
    Json(server.open.list()).into_response()
}

async fn description(State(server): State<Server>) -> Response {
    Json(openapi::description(Some(server.open.len()))).into_response()
}

async fn events(State(server): State<Server>) -> Response {
    server.events.stream().into_response()
}

async fn unknown() -> Response {
    let message = "not found; /api/v1/openapi.json lists all paths";
    failed(Error::NotFound(message.to_owned()))
}

/// What an address names, unless it is no text.
type Named<T> = Result<Path<T>, PathRejection>;

fn unreadable() -> Response {
    failed(Error::bad_request("the address is not valid UTF-8"))
}

async fn cancel(State(server): State<Server>, job: Named<String>) -> Response {
    let Ok(Path(job)) = job else {
        return unreadable();
    };
    match server.jobs.cancel(&job) || server.open.cancel(&job) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => failed(Error::NotFound(format!("unknown job `{job}`"))),
    }
}

async fn notes(
    State(server): State<Server>,
    source: Named<String>,
    RawQuery(query): RawQuery,
) -> Response {
    grant(server, source, options_of(query), Wish::List).await
}

async fn keep_note(
    State(server): State<Server>,
    source: Named<String>,
    RawQuery(query): RawQuery,
    body: Body,
) -> Response {
    let Ok(body) = to_bytes(body, LONGEST_REQUEST).await else {
        return failed(Error::bad_request("the note is too long"));
    };
    match serde_json::from_slice(&body) {
        Ok(note) => grant(server, source, options_of(query), Wish::Keep(note)).await,
        Err(error) => failed(Error::bad_request(format!("not a note: {error}"))),
    }
}

async fn delete_note(
    State(server): State<Server>,
    source: Named<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut options = options_of(query);
    match Wish::deleting(&mut options) {
        Ok(wish) => grant(server, source, options, wish).await,
        Err(error) => failed(error),
    }
}

async fn grant(
    server: Server,
    source: Named<String>,
    options: Vec<(String, String)>,
    wish: Wish,
) -> Response {
    let Ok(Path(source)) = source else {
        return unreadable();
    };
    let Ok(number) = source.parse() else {
        return failed(Error::NotFound(format!("unknown source {source}")));
    };
    let done =
        tokio::task::spawn_blocking(move || notes::grant(&server.open, number, &options, wish));
    match done.await {
        Ok(Ok(notes)) => Json(notes).into_response(),
        Ok(Err(error)) => failed(error),
        Err(_) => failed(Error::Internal("no response".to_owned())),
    }
}

fn options_of(query: Option<String>) -> Vec<(String, String)> {
    let query = query.unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

async fn answer(
    State(server): State<Server>,
    named: Named<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Ok(Path((source, name))) = named else {
        return unreadable();
    };
    let Ok(source) = source.parse() else {
        return failed(Error::NotFound(format!("unknown source {source}")));
    };
    let question = Question {
        source,
        name,
        options: options_of(query),
    };
    let document = question.document();
    let job = headers.get(JOB).and_then(|job| job.to_str().ok());
    let watched = server.jobs.begin(job.unwrap_or_default());
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let job = watched.job.clone();
    tokio::task::spawn_blocking(move || {
        let reply = Reply::new(sender.clone());
        if let Err(error) = server.open.answer(&question, &job, reply) {
            // Nobody is left to tell.
            let _ = sender.blocking_send(Piece::Failed(error));
        }
    });
    match receiver.recv().await {
        Some(Piece::Bytes(first)) => stream(first, receiver, watched, document),
        Some(Piece::Failed(error)) => failed(error),
        None => failed(Error::Internal("no response".to_owned())),
    }
}

/// The first piece and those that follow; when the reader goes away, the work is cancelled.
fn stream(
    first: Vec<u8>,
    receiver: mpsc::Receiver<Piece>,
    watched: Watched,
    document: Option<Document>,
) -> Response {
    let first = tokio_stream::once(Piece::Bytes(first));
    let pieces = first.chain(ReceiverStream::new(receiver));
    let bytes = pieces.map(move |piece| {
        let _until_then = &watched;
        match piece {
            Piece::Bytes(bytes) => Ok(Bytes::from(bytes)),
            // Too late for another status: the connection breaks off.
            Piece::Failed(_) => Err(io::Error::from(io::ErrorKind::Interrupted)),
        }
    });
    let media_type = document.map_or("application/json", |document| document.media_type);
    let mut response = Body::from_stream(bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if document.is_some() {
        // Saved and never shown: its texts are from a heap, and this origin has the token.
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    response
}

fn failed(error: Error) -> Response {
    let (status, message, advice) = match error {
        Error::BadRequest { message, advice } => (StatusCode::BAD_REQUEST, message, Some(advice)),
        Error::NotFound(message) => (StatusCode::NOT_FOUND, message, None),
        Error::Cancelled => (StatusCode::CONFLICT, "it was cancelled".to_owned(), None),
        Error::Internal(message) => (StatusCode::INTERNAL_SERVER_ERROR, message, None),
    };
    let error = json!({ "error": { "message": message, "advice": advice } });
    (status, Json(error)).into_response()
}
