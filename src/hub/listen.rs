//! The sockets, and how long a connection may keep anybody waiting.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::{Sleep, sleep};

use super::guard::Door;
use super::metrics::Count;
use super::shared::{Hub, Phase};

const MOST_CONNECTIONS: u64 = 2048;
/// Also how long a connection may be idle between two requests.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// A peer that takes nothing for this long is gone or too slow.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// Bounds the head of a request and what is buffered of an answer.
const BUFFER: usize = 64 * 1024;
/// How long a connection may finish what it does when the hub closes.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Takes connections until the hub closes.
pub(super) async fn serve(hub: Arc<Hub>, listener: Listener, door: Door, app: Router) {
    let app = app.layer(Extension(door));
    let mut phase = hub.phase.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => return,
        };
        let stream = match accepted {
            Ok(Some(stream)) => stream,
            Ok(None) => continue,
            Err(_) => {
                // Out of file descriptors, most likely: others have to close first.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(open) = hub.metrics.connections.enter(MOST_CONNECTIONS) else { continue };
        let (hub, app) = (Arc::clone(&hub), app.clone());
        tokio::spawn(async move {
            let _open = open;
            converse(&hub, stream, app).await;
        });
    }
}

/// A connection; nothing for one that is refused before a byte is read.
async fn accept(listener: &Listener) -> io::Result<Option<Box<dyn Connection>>> {
    match listener {
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let own = rustix::process::geteuid().as_raw();
            let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0);
            Ok(is_own.then(|| Box::new(stream) as Box<dyn Connection>))
        }
        Listener::Tcp(listener) => Ok(Some(Box::new(accept_tcp(listener).await?))),
    }
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    // An event is one small write that somebody waits for.
    stream.set_nodelay(true)?;
    Ok(stream)
}

trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

async fn converse(hub: &Hub, stream: Box<dyn Connection>, app: Router) {
    let service = TowerToHyperService::new(app);
    let stream = Impatient { stream, waiting: None, broken_off: hub.metrics.slow_readers.clone() };
    let mut phase = hub.phase.subscribe();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(BUFFER)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Errors are about a peer that broke off.
        _ = &mut connection => return,
        _ = phase.wait_for(|phase| *phase == Phase::Closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(CLOSE_LIMIT, connection).await;
}

/// A connection that breaks off when its peer takes nothing for too long.
struct Impatient {
    stream: Box<dyn Connection>,
    /// Set while a write waits for the peer.
    waiting: Option<Pin<Box<Sleep>>>,
    broken_off: Count,
}

impl Impatient {
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let limit = self.waiting.get_or_insert_with(|| Box::pin(sleep(WRITE_LIMIT)));
        let over = limit.as_mut().poll(context).is_ready();
        if !over {
            return Poll::Pending;
        }
        self.waiting = None;
        self.broken_off.add(1);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.limited(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.limited(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limited(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_writes_are_sent_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, _client) = tokio::join!(accept_tcp(&listener), TcpStream::connect(address));
        assert!(accepted.unwrap().nodelay().unwrap());
    }
}
