//! `convoke send`

use protocol::v1::SendMessageRequest;

use crate::{
    agent,
    args::{Args, SendArgs},
    failure::{Exit, Failure},
    interrupts::until_interrupted,
    message, output,
    reply::Reply,
};

pub(crate) async fn run(args: &Args, send: &SendArgs) -> Result<Exit, Failure> {
    let request = message::request(send)?;
    // The Task goes on at the agent.
    until_interrupted(exchange(args, send, request)).await
}

async fn exchange(
    args: &Args,
    send: &SendArgs,
    request: SendMessageRequest,
) -> Result<Exit, Failure> {
    let agent = agent::find(args, &send.to).await?;
    let reply = Reply::new(args, &agent, send.out.as_deref()).with_history(send.history);
    if send.stream {
        let events = agent.peer.send_streaming_message(request, agent.timeout).await?;
        return reply.follow(events).await;
    }
    let answer = agent.peer.send_message(request, agent.timeout).await?;
    if args.json {
        output::json(&answer)?;
    }
    reply.only(answer.into()).await
}
