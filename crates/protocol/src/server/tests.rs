mod card;
mod golden;
mod grpc;
mod older;
mod operations;
mod requests;
mod rest;
mod streams;

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    echo::{self, Echo, Running},
    limits::ServerLimits,
};

/// How long a test waits for what must come.
const SOON: Duration = Duration::from_secs(10);

async fn agent() -> Running {
    echo::serve(std::sync::Arc::new(Echo::default()), ServerLimits::default()).await
}

/// Posts a body with the headers an A2A client sends.
async fn post(agent: &Running, body: &str) -> String {
    post_with(agent, "/", "A2A-Version: 1.0\r\nContent-Type: application/json\r\n", body).await
}

async fn post_with(agent: &Running, path: &str, headers: &str, body: &str) -> String {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    exchange(agent, &format!("{head}{body}")).await
}

/// Sends raw bytes and returns the raw answer, less what changes by the day.
async fn exchange(agent: &Running, request: &str) -> String {
    let exchange = async {
        let mut socket = TcpStream::connect(&agent.address).await.expect("the agent listens");
        socket.write_all(request.as_bytes()).await.expect("the agent reads");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.expect("the agent answers");
        String::from_utf8(answer).expect("the answers are UTF-8")
    };
    let answer = tokio::time::timeout(SOON, exchange).await.expect("the agent answers in time");
    let is_dated = |line: &&str| line.starts_with("date: ") || line.starts_with("last-modified: ");
    answer.split("\r\n").filter(|line| !is_dated(line)).collect::<Vec<_>>().join("\n")
}

/// The JSON of an answer, less its head.
async fn json(agent: &Running, body: &str) -> String {
    let answer = post(agent, body).await;
    answer.split_once("\n\n").map(|(_, body)| body.to_owned()).unwrap_or(answer)
}
