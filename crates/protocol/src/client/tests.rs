mod answers;
mod bindings;
mod calls;
mod dialects;
mod golden;
mod grpc;
mod load;
mod peer;
mod rest;
mod streams;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use super::{Client, Interface};
use crate::{
    card::Binding,
    error::ErrorKind,
    limits::ClientLimits,
    outbound::{Outbound, Policy},
};

/// How long a test waits for what must come.
const SOON: Duration = Duration::from_secs(10);

/// Whether an error means that nothing can have happened, so that another interface may be called.
fn is_untaken(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound)
}

fn interface(url: &str) -> Interface {
    Interface {
        url: url.to_owned(),
        binding: Binding::JsonRpc,
        tenant: String::new(),
        version: "1.0".to_owned(),
    }
}

fn client(url: &str) -> Client {
    client_with(url, ClientLimits::default())
}

fn client_with(url: &str, limits: ClientLimits) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    Client::with_limits(outbound, interface(url), limits).expect("the interface is spoken")
}

/// A server that says what it is told to, byte by byte.
struct Canned {
    url: String,
    /// The requests it got.
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
    /// Told when the rest of an answer may be sent.
    rest: Notify,
}

/// How an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The connection stays open for the next request.
    Open,
    /// The connection is closed.
    Closed,
}

impl Canned {
    fn of(listener: &TcpListener) -> Canned {
        let address = listener.local_addr().expect("a bound socket has an address");
        let (requests, connections) = (Mutex::default(), AtomicUsize::new(0));
        Canned { url: format!("http://{address}/"), requests, connections, rest: Notify::new() }
    }

    /// Answers every request with the same pieces; between two of them it waits for `rest`.
    async fn new(pieces: &[&str], end: End) -> Arc<Canned> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let canned = Arc::new(Canned::of(&listener));
        let pieces: Arc<[String]> = pieces.iter().map(|&piece| piece.to_owned()).collect();
        let server = canned.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                server.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(server.clone().converse(socket, pieces.clone(), end));
            }
        });
        canned
    }

    /// Answers every request with a status line, headers and a body.
    async fn answer(status: &str, headers: &str, body: &str) -> Arc<Canned> {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        Canned::new(&[&format!("{head}{body}")], End::Open).await
    }

    /// Answers the first request with the first answer, and so on; the last for ever. Where an answer
    /// is empty, the connection is closed instead.
    async fn in_turn(answers: &[&str]) -> Arc<Canned> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let canned = Arc::new(Canned::of(&listener));
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        let server = canned.clone();
        tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((mut socket, _)) = listener.accept().await {
                while let Some(request) = read_request(&mut socket).await {
                    server.requests.lock().expect("no test panics in here").push(request);
                    let answer = &answers[turn.min(answers.len() - 1)];
                    turn += 1;
                    if answer.is_empty() {
                        break;
                    }
                    socket.write_all(answer.as_bytes()).await.expect("the client reads");
                }
            }
        });
        canned
    }

    /// Answers every request with a JSON body.
    async fn json(body: &str) -> Arc<Canned> {
        Canned::answer("200 OK", "Content-Type: application/json\r\n", body).await
    }

    async fn converse(self: Arc<Canned>, mut socket: TcpStream, pieces: Arc<[String]>, end: End) {
        while let Some(request) = read_request(&mut socket).await {
            self.requests.lock().expect("no test panics in here").push(request);
            for (index, piece) in pieces.iter().enumerate() {
                if index > 0 {
                    self.rest.notified().await;
                }
                if socket.write_all(piece.as_bytes()).await.is_err() {
                    return;
                }
            }
            if end == End::Closed {
                return;
            }
        }
    }

    fn last_request(&self) -> String {
        self.requests
            .lock()
            .expect("no test panics in here")
            .last()
            .cloned()
            .expect("it was called")
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase().strip_prefix("content-length: ")?.parse().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text.replace("\r\n", "\n"));
            }
        }
        let mut piece = [0; 4096];
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(length) => read.extend_from_slice(&piece[..length]),
        }
    }
}
