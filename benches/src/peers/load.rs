//! The load: connections that each send a request, wait for the whole answer, and send the next.
//!
//! One thread, so that it takes the same share of the machine from every server, and the least an
//! HTTP client can do: bytes in, bytes out, a look for the words that an answer must hold.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode, Uri,
    client::conn::http1::{SendRequest, handshake},
    header,
};
use hyper_util::rt::TokioIo;
use memchr::memmem;
use tokio::{net::TcpStream, runtime, task::LocalSet};

use super::asked::Ask;

/// How long an answer may take; a server that needs longer is broken, not slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to send, and how.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The request.
    pub ask: Ask,
    /// Connections at once, each with one request under way.
    pub connections: usize,
    /// When to stop: no request is begun after this.
    pub time: Duration,
    /// The most requests of one connection.
    pub most: usize,
}

/// What came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Requests whose answer ended with a completed Task.
    pub completed: usize,
    /// Those whose answer ended otherwise.
    pub broken: usize,
    /// Chunks that were asked for and did not come.
    pub lost: usize,
    /// From the first request to the last answer.
    pub wall: Duration,
}

impl Answered {
    fn add(&mut self, other: Self) {
        self.completed += other.completed;
        self.broken += other.broken;
        self.lost += other.lost;
    }

    fn note(&mut self, ask: Ask, body: &[u8]) {
        let has = |words: &str| memmem::find(body, words.as_bytes()).is_some();
        let chunks = memmem::find_iter(body, b"\"artifactUpdate\"").count();
        self.lost += ask.chunks().saturating_sub(chunks);
        match has("\"TASK_STATE_COMPLETED\"") {
            true => self.completed += 1,
            false => self.broken += 1,
        }
    }
}

impl Load {
    /// Puts the load on a server.
    ///
    /// # Errors
    /// When a connection fails, or an answer is none of HTTP 200.
    pub fn put(&self, url: &str) -> Result<Answered> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.on(url.parse()?))
    }

    async fn on(self, url: Uri) -> Result<Answered> {
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            connections.push(connect(&url).await.with_context(|| format!("calling {url}"))?);
        }
        let start = Instant::now();
        let until = start + self.time;
        let asking = connections.into_iter().map(|connection| {
            let url = url.clone();
            tokio::task::spawn_local(self.keep_asking(connection, url, until))
        });
        let mut answered = Answered::default();
        for asking in asking.collect::<Vec<_>>() {
            answered.add(asking.await??);
        }
        Ok(Answered { wall: start.elapsed(), ..answered })
    }

    async fn keep_asking(
        self,
        mut connection: SendRequest<Full<Bytes>>,
        url: Uri,
        until: Instant,
    ) -> Result<Answered> {
        let mut answered = Answered::default();
        let mut body = Vec::new();
        for _ in 0..self.most {
            if Instant::now() >= until {
                break;
            }
            body.clear();
            let exchange = exchange(&mut connection, &url, self.ask.body(), &mut body);
            tokio::time::timeout(PATIENCE, exchange)
                .await
                .with_context(|| format!("{url} took longer than {PATIENCE:?}"))??;
            answered.note(self.ask, &body);
        }
        Ok(answered)
    }
}

async fn connect(url: &Uri) -> Result<SendRequest<Full<Bytes>>> {
    let authority = url.authority().context("a URL without a host")?;
    let socket = TcpStream::connect(authority.as_str()).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}

/// Sends a request and reads its answer to the end.
async fn exchange(
    connection: &mut SendRequest<Full<Bytes>>,
    url: &Uri,
    request: Bytes,
    body: &mut Vec<u8>,
) -> Result<()> {
    connection.ready().await?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(url.path())
        .header(header::HOST, url.authority().context("a URL without a host")?.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header("A2A-Version", "1.0")
        .body(Full::new(request))?;
    let mut response = connection.send_request(request).await?;
    let status = response.status();
    while let Some(frame) = response.body_mut().frame().await {
        if let Ok(data) = frame?.into_data() {
            body.extend_from_slice(&data);
        }
    }
    let said = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    ensure!(status == StatusCode::OK, "{url} answered {status}: {}", said());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_lacks_is_counted() {
        let mut answered = Answered::default();
        answered.note(Ask::Chunks(3), br#"{"artifactUpdate":1}{"artifactUpdate":2}"#);
        answered.note(Ask::Chunks(1), br#"{"artifactUpdate":1}"TASK_STATE_COMPLETED""#);
        answered.note(Ask::Echo, br#""TASK_STATE_COMPLETED""#);
        let expected = Answered { completed: 2, broken: 1, lost: 1, wall: Duration::ZERO };
        assert_eq!(answered, expected);
    }
}
