//! `a2a-protocol-server`, an independent implementation.

use std::sync::Arc;

use a2a_protocol_server::{
    EventEmitter, JsonRpcDispatcher, RequestHandlerBuilder, Server, agent_executor,
};
use a2a_protocol_types::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TaskState,
};
use anyhow::Result;

use crate::asked::{ARTIFACT, Asked, chunk, pause};

struct Echo;

agent_executor!(Echo, |context, queue| async {
    let emit = EventEmitter::new(context, queue);
    let text: String = context.message.parts.iter().filter_map(Part::text_content).collect();
    match Asked::read(&text) {
        Asked::Echo(text) => {
            emit.artifact(ARTIFACT, vec![Part::text(text)], None, Some(true)).await?;
        }
        Asked::Chunks { count, yields } => {
            emit.status(TaskState::Working).await?;
            for index in 0..count {
                let parts = vec![Part::text(chunk(index))];
                let is_last = index + 1 == count;
                emit.artifact(ARTIFACT, parts, Some(index > 0), Some(is_last)).await?;
                pause(yields).await;
            }
        }
    }
    emit.status(TaskState::Completed).await
});

pub(crate) async fn serve() -> Result<()> {
    let server = Server::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", server.local_addr()?);
    let card = AgentCard::new("echo", "1.0.0", AgentInterface::jsonrpc(&url))
        .with_description("Says what it hears.")
        .with_capabilities(AgentCapabilities::none().with_streaming(true))
        .with_skill(AgentSkill::new("echo", "Echo", "Says what it hears.").with_tags(["echo"]));
    let handler = RequestHandlerBuilder::new(Echo).with_agent_card(card).build()?;
    println!("{url}");
    let dispatcher = JsonRpcDispatcher::new(Arc::new(handler));
    server.serve_with_shutdown(dispatcher, std::future::pending()).await;
    Ok(())
}
