//! Who may ask: pages of this server with the token of this run. Other sites that a browser has
//! open can send requests here too, so Host and Origin are checked before anything else.

use std::io;
use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Nothing but the server's own files runs; styles of elements are set by scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Clone)]
pub(crate) struct Guard {
    token: String,
    hosts: Vec<String>,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let token = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{}", address.port()));
        }
        Ok(Guard { token, hosts })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        let Some(host) = text(headers, &HOST).filter(|host| self.is_own(host)) else {
            return Some((StatusCode::MISDIRECTED_REQUEST, "wrong host"));
        };
        if let Some(origin) = headers.get(ORIGIN) {
            let own = format!("http://{host}");
            if origin.as_bytes() != own.as_bytes() {
                return Some((
                    StatusCode::FORBIDDEN,
                    "requests from other sites are not allowed",
                ));
            }
        }
        let open = !request.uri().path().starts_with("/api/");
        let bearer = text(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if open || bearer.is_some_and(|token| self.is_token(token)) {
            return None;
        }
        Some((
            StatusCode::UNAUTHORIZED,
            "the token is missing or from an earlier run; open the address that `anthill open` \
            printed",
        ))
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// Takes equally long wherever the difference is.
    fn is_token(&self, token: &str) -> bool {
        let pairs = token.bytes().zip(self.token.bytes());
        let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
        token.len() == self.token.len() && difference == 0
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some((status, message)) => {
            let error = serde_json::json!({ "error": { "message": message } });
            (status, axum::Json(error)).into_response()
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
