//! The layer in front of the bindings: finds out who calls, and says on refusals over HTTP how to be let in.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
};

use futures_util::{StreamExt as _, stream};
use protocol::service::EventStream;

use super::{Access, AccessError, Principal};
use crate::error::refused;

/// Who has made a request, for whoever answers it.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Result<Arc<Principal>, AccessError>);

/// Puts the layer around routes. It refuses nothing itself: some routes are open to everybody.
pub(crate) fn guard(router: Router, access: &Access) -> Router {
    if access.is_open() {
        return router;
    }
    router.layer(middleware::from_fn_with_state(access.clone(), answer))
}

async fn answer(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    let caller = access.identify(request.headers()).await;
    request.extensions_mut().insert(Caller(caller.map(Arc::new)));
    let mut response = next.run(request).await;
    // RFC 9110 §11.6.1, RFC 6750 §3. API keys are taken as bearer tokens too.
    let challenge = match response.status() {
        StatusCode::UNAUTHORIZED => "Bearer realm=\"convoke\"",
        StatusCode::FORBIDDEN => "Bearer realm=\"convoke\", error=\"insufficient_scope\"",
        _ => return response,
    };
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// Lets events through for as long as the credentials hold that they are asked for with: a key that is revoked gets no
/// further one.
pub(crate) fn while_it_holds(
    access: Access,
    caller: Arc<Principal>,
    events: EventStream,
) -> EventStream {
    if access.is_open() {
        return events;
    }
    let state = Some((access, caller, events));
    let checked = stream::unfold(state, async |state| {
        let (access, caller, mut events) = state?;
        let event = events.next().await?;
        if access.still_holds(&caller).await {
            return Some((event, Some((access, caller, events))));
        }
        let ended = AccessError::BadCredentials(
            "the credentials that this stream was asked for with are good no more".to_owned(),
        );
        Some((Err(refused(&ended)), None))
    });
    checked.boxed()
}
