//! The addresses of the API and what is behind them.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router, middleware};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::answers::{Answers, Piece, Question, Refusal, Reply};
use crate::events::Board;
use crate::guard::{self, Guard};
use crate::jobs::{Jobs, Watched};
use crate::pages;

/// How a page names the work it waits for.
const JOB: &str = "x-anthill-job";
/// Pieces of an answer that wait for a slow reader.
const WAITING: usize = 8;

#[derive(Clone)]
struct Server {
    answers: Arc<dyn Answers>,
    board: Board,
    jobs: Arc<Jobs>,
}

pub fn router(answers: Arc<dyn Answers>, board: Board, guard: Guard) -> Router {
    let server = Server {
        answers,
        board,
        jobs: Arc::default(),
    };
    Router::new()
        .route("/api/v1/sources", get(sources))
        .route("/api/v1/sources/{source}/{command}", get(answer))
        .route("/api/v1/events", get(events))
        .route("/api/v1/jobs/{job}", delete(cancel))
        .route("/api/v1/openapi.json", get(description))
        .route("/api/{*rest}", get(unknown))
        .fallback(pages::page)
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .with_state(server)
}

fn of_json(bytes: impl Into<Body>) -> Response {
    ([(CONTENT_TYPE, "application/json")], bytes.into()).into_response()
}

async fn sources(State(server): State<Server>) -> Response {
    of_json(server.answers.sources())
}

async fn description(State(server): State<Server>) -> Response {
    of_json(server.answers.description())
}

async fn events(State(server): State<Server>) -> Response {
    server.board.stream().into_response()
}

async fn unknown() -> Response {
    let message = "there is nothing at this address; /api/v1/openapi.json lists what there is";
    refused(Refusal::NothingFound(message.to_owned()))
}

async fn cancel(State(server): State<Server>, Path(job): Path<String>) -> Response {
    match server.jobs.cancel(&job) || server.answers.cancel(&job) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => refused(Refusal::NothingFound(format!("no work is called `{job}`"))),
    }
}

async fn answer(
    State(server): State<Server>,
    Path((source, command)): Path<(usize, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let options = form_urlencoded::parse(query.as_bytes()).into_owned();
    let question = Question {
        source,
        command,
        options: options.collect(),
    };
    let name = headers.get(JOB).and_then(|name| name.to_str().ok());
    let watched = server.jobs.begin(name.unwrap_or_default());
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let job = watched.job.clone();
    tokio::task::spawn_blocking(move || {
        let reply = Reply::new(sender.clone());
        if let Err(refusal) = server.answers.clone().answer(&question, &job, reply) {
            // Nobody is left to tell.
            let _ = sender.blocking_send(Piece::Refused(refusal));
        }
    });
    match receiver.recv().await {
        Some(Piece::Bytes(first)) => stream(first, receiver, watched),
        Some(Piece::Refused(refusal)) => refused(refusal),
        None => refused(Refusal::Failed("there was no answer".to_owned())),
    }
}

/// The first piece and those that follow; when the reader goes away, the work is cancelled.
fn stream(first: Vec<u8>, receiver: mpsc::Receiver<Piece>, watched: Watched) -> Response {
    let first = tokio_stream::once(Piece::Bytes(first));
    let pieces = first.chain(ReceiverStream::new(receiver));
    let bytes = pieces.map(move |piece| {
        let _until_then = &watched;
        match piece {
            Piece::Bytes(bytes) => Ok(Bytes::from(bytes)),
            // Too late for another status: the connection breaks off.
            Piece::Refused(_) => Err(io::Error::from(io::ErrorKind::Interrupted)),
        }
    });
    of_json(Body::from_stream(bytes))
}

fn refused(refusal: Refusal) -> Response {
    let (status, message, advice) = match refusal {
        Refusal::Unusable { message, advice } => (StatusCode::BAD_REQUEST, message, Some(advice)),
        Refusal::NothingFound(message) => (StatusCode::NOT_FOUND, message, None),
        Refusal::Cancelled => (StatusCode::CONFLICT, "it was cancelled".to_owned(), None),
        Refusal::Failed(message) => (StatusCode::INTERNAL_SERVER_ERROR, message, None),
    };
    let error = json!({ "error": { "message": message, "advice": advice } });
    (status, Json(error)).into_response()
}
