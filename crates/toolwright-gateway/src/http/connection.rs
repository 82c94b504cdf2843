//! Serves one connection: passes its requests to the service, sends the replies, and checks it with
//! the watchdog.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use http::{HeaderValue, Request, Response, Version, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use toolwright_core::{Fault, FaultClass};

use super::answer::Answer;
use super::body::RequestBody;
use super::budget::Budget;
use super::drain::{Phase, Watch};
use super::request::{HttpRequest, Service};
use super::settings::Settings;
use super::sniff::{HttpVersion, sniff};
use super::watchdog::{Finding, Watchdog};
use super::wire::Wire;

/// What all requests of a connection share: peer, settings, memory and watchdog.
#[derive(Debug)]
pub(super) struct ConnectionContext {
    pub(super) peer: SocketAddr,
    pub(super) secure: bool,
    pub(super) settings: Arc<Settings>,
    pub(super) budget: Arc<Budget>,
    pub(super) watchdog: Arc<Watchdog>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// Regularly, or because of the client
    Own,
    /// Aborted with a request in flight
    Cut,
}

/// Serves a connection until it ends, over TLS if there is a certificate.
pub(super) async fn open<S: Service>(
    socket: TcpStream,
    context: ConnectionContext,
    service: Arc<S>,
    mut watch: Watch,
) -> ConnectionEnd {
    let settings = Arc::clone(&context.settings);
    let Some(tls) = &settings.tls else {
        return serve(Either::Left(socket), context, service, watch).await;
    };
    let patience = Instant::now() + settings.limits.header_timeout;
    let shaken = tokio::select! {
        shaken = timeout_at(patience, tls.acceptor().accept(socket)) => shaken,
        () = watch.reached(Phase::Draining) => return ConnectionEnd::Own,
    };
    match shaken {
        Ok(Ok(socket)) => serve(Either::Right(Box::new(socket)), context, service, watch).await,
        Ok(Err(_)) | Err(_) => ConnectionEnd::Own,
    }
}

/// The byte stream of a client, with or without TLS. One type, so that HTTP is compiled once for both.
type ClientStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

async fn serve<S: Service>(
    mut io: ClientStream,
    context: ConnectionContext,
    service: Arc<S>,
    mut watch: Watch,
) -> ConnectionEnd {
    let settings = Arc::clone(&context.settings);
    let watchdog = Arc::clone(&context.watchdog);
    let patience = Instant::now() + settings.limits.header_timeout;
    // A client that has sent nothing when the server stops has no request in flight.
    let sniffed = tokio::select! {
        biased;
        sniffed = timeout_at(patience, sniff(&mut io)) => sniffed,
        () = watch.reached(Phase::Draining) => return ConnectionEnd::Own,
    };
    let Ok(Ok((version, first))) = sniffed else { return ConnectionEnd::Own };
    if first.is_empty() {
        return ConnectionEnd::Own;
    }
    watchdog.heard();
    let wire = TokioIo::new(Wire::new(io, first, Arc::clone(&watchdog), version));
    let context = Arc::new(context);
    let answers = service_fn(move |request| {
        let (service, context) = (Arc::clone(&service), Arc::clone(&context));
        async move { Ok::<_, Infallible>(answer(service, context, request).await) }
    });
    match version {
        HttpVersion::Http1 => {
            let connection = settings.http1.serve_connection(wire, answers);
            drive(connection, &settings, &watchdog, version, watch).await
        }
        HttpVersion::Http2 => {
            let connection = settings.http2.serve_connection(wire, answers);
            drive(connection, &settings, &watchdog, version, watch).await
        }
    }
}

/// Drives a connection until it ends, is stopped, or is stuck. Errors are ignored, because they are
/// the client's.
async fn drive<C: GracefulConnection>(
    connection: C,
    settings: &Settings,
    watchdog: &Watchdog,
    version: HttpVersion,
    mut watch: Watch,
) -> ConnectionEnd {
    let mut connection = pin!(connection);
    let mut patrol = pin!(sleep_until(Instant::now() + settings.limits.header_timeout));
    let mut closing = false;
    if watch.now() != Phase::Open {
        connection.as_mut().graceful_shutdown();
    }
    loop {
        tokio::select! {
            biased;
            // First, so that a ready reply already announces the close.
            phase = watch.changed() => match phase {
                Phase::Cut => return ConnectionEnd::Cut,
                Phase::Open | Phase::Draining => connection.as_mut().graceful_shutdown(),
            },
            _ = connection.as_mut() => return ConnectionEnd::Own,
            () = patrol.as_mut() => match watchdog.inspect(&settings.limits, version) {
                Finding::Well(next) => patrol.as_mut().reset(next),
                Finding::Idle if !closing => {
                    connection.as_mut().graceful_shutdown();
                    closing = true;
                    patrol.as_mut().reset(Instant::now() + settings.limits.header_timeout);
                }
                Finding::Idle | Finding::Stuck => return ConnectionEnd::Own,
            },
        }
    }
}

/// Answers one request.
async fn answer<S: Service>(
    service: Arc<S>,
    context: Arc<ConnectionContext>,
    request: Request<Incoming>,
) -> Response<Answer> {
    let busy = context.watchdog.begin();
    let (mut head, body) = request.into_parts();
    let http1 = head.version < Version::HTTP_2;
    let body = RequestBody::new(body, &head, Arc::clone(&context));
    let most = context.settings.limits.headers;
    let mut reply = if head.headers.len() > most {
        service.fail(&head.uri, too_many(most))
    } else {
        let uri = head.uri.clone();
        // HTTP/2 has the host in the address.
        if let (false, Some(host)) = (head.headers.contains_key(header::HOST), uri.authority())
            && let Ok(host) = HeaderValue::from_str(host.as_str())
        {
            head.headers.insert(header::HOST, host);
        }
        let request = HttpRequest {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            peer: context.peer,
            secure: context.secure,
            body,
            budget: Arc::clone(&context.budget),
            started: std::time::Instant::now(),
            client: Arc::default(),
        };
        // Boxed, because a connection would otherwise reserve space for it from its first request to
        // its end. A panic fails this request and no other; the panic hook has logged it.
        let answered = AssertUnwindSafe(Box::pin(service.answer(request))).catch_unwind().await;
        answered.unwrap_or_else(|_| service.fail(&uri, broken()))
    };
    // The remaining body is not read, so the next request on the connection cannot be found.
    if http1 && context.watchdog.is_unread() {
        reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    reply.map(|body| Answer::new(body, busy))
}

fn too_many(most: usize) -> Fault {
    let message = format!("The request has more than {most} headers. Send fewer.");
    Fault { status: Some(431), ..Fault::new(FaultClass::Invalid, message) }
}

fn broken() -> Fault {
    let message = "The gateway failed on this request. Its log says more.";
    Fault::new(FaultClass::Internal, message)
}
