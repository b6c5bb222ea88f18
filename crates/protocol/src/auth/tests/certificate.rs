//! Client certificates.

use std::path::PathBuf;

use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
    },
};

use super::*;
use crate::{
    client::{Delivery, FailureClass},
    v1::MutualTlsSecurityScheme,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// An agent on TLS that asks for a certificate of its authority.
async fn agent() -> String {
    let one = |name| CertificateDer::from_pem_file(file(name)).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(one("authority.pem")).expect("an authority");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let key = PrivateKeyDer::from_pem_file(file("agent.key")).expect("a key");
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_client_cert_verifier(verifier.expect("roots"))
        .with_single_cert(vec![one("agent.pem")], key)
        .expect("they belong together");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let service = TowerToHyperService::new(server::router(Arc::new(Echo::default())));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, service) = (acceptor.clone(), service.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    format!("https://{address}/")
}

fn certificate(certificate: &str, key: &str) -> Credential {
    let from = |name: &str| SecretSource::File(file(name));
    credential(Method::Certificate {
        certificate: from(certificate),
        key: from(key),
        authorities: Some(from("authority.pem")),
    })
}

fn interface(url: &str, binding: Binding) -> Interface {
    let listed = server::interface(binding, url);
    // An address without a scheme means h2c.
    let url = if binding == Binding::Grpc { url.to_owned() } else { listed.url.clone() };
    Interface { url, ..Interface::of(&listed).expect("a known binding") }
}

#[tokio::test]
async fn a_certificate_is_shown_over_every_binding() {
    let url = agent().await;
    let card = card(vec![("tls", Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default()))]);
    let origins: Vec<Origin> = vec![url.parse().expect("an origin")];
    let keyring = |credentials| {
        let given = (credentials, origins.clone());
        Keyring::new(&outbound(), "it", given, Some(&card), Vault::none())
    };
    for binding in Binding::ALL {
        let client = Client::new(outbound(), interface(&url, binding)).expect("it can be called");
        let with =
            client.clone().with_keyring(keyring(vec![certificate("client.pem", "client.key")]));
        call(&with).await.unwrap_or_else(|error| panic!("{binding}: {error}"));
        let without = client.with_keyring(keyring(vec![]));
        call(&without).await.expect_err("nobody is let in without");
    }
    let fetched = crate::card::fetch_with_keyring(
        &keyring(vec![certificate("client.pem", "client.key")]),
        &url,
    )
    .await;
    assert_eq!(fetched.expect("a card").card.name, "echo");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_shown_is_told_and_not_quoted() {
    let card = AgentCard::default();
    let plain = Guarded::open().await;
    let keyring = plain.keyring(vec![certificate("client.pem", "client.key")], &card);
    let error =
        call(&plain.client(Binding::JsonRpc, &keyring)).await.expect_err("it is plain http");
    assert_eq!((error.class, error.delivery), (FailureClass::Unauthorized, Delivery::NotSent));
    assert!(error.to_string().contains("over https alone"), "{error}");
    assert_eq!(plain.count(), 0);
    let url: url::Url = "https://127.0.0.1:1/".parse().expect("a URL");
    let given =
        (vec![certificate("client.pem", "client.pem")], vec![Origin::of(&url).expect("one")]);
    let keyring = Keyring::new(&outbound(), "it", given, Some(&card), Vault::none());
    let error = keyring.proof(&url).await.expect_err("there is no key").to_string();
    assert!(
        error.contains("its client certificate cannot be used") && !error.contains("MII"),
        "{error}"
    );
}
