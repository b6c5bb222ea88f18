//! Blobs: by their digest, once.

use bytes::Bytes;

use super::Case;
use super::fixture::{
    Shared, assert_matches, bytes, entries, journal, me, putting, row, write, write_all,
};
use crate::{BlobId, Invalid, StoreError, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a blob is read back by the SHA-256 of its bytes",
        run: |store| Box::pin(read_back(store)),
    },
    Case {
        name: "a blob under a digest that is not its own is refused",
        run: |store| Box::pin(wrong_digest(store)),
    },
    Case {
        name: "large blobs, values and entries are kept to the byte",
        run: |store| Box::pin(large(store)),
    },
];

async fn read_back(store: Shared) {
    for content in [bytes("content"), Bytes::new()] {
        let id = BlobId::of(&content);
        assert_eq!(store.blob(&me(), &id).await.expect("it can be read"), None);
        for _ in 0..2 {
            let storing = Write::blob(me(), content.clone());
            write(&store, storing).await.expect("storing again changes nothing");
        }
        assert_eq!(store.blob(&me(), &id).await.expect("it can be read"), Some(content));
    }
}

async fn wrong_digest(store: Shared) {
    let id = BlobId::of(b"other");
    let result = write(&store, Write::Blob { account: me(), id, bytes: bytes("content") }).await;
    assert_matches!(
        result,
        Err(StoreError::Invalid(Invalid::BlobDigest { id: found })) if *found == id
    );
    assert_eq!(store.blob(&me(), &id).await.expect("it can be read"), None);
}

async fn large(store: Shared) {
    let pattern: Vec<u8> = (0..5_000_000_u32).map(|n| (n % 251) as u8).collect();
    let content = Bytes::from(pattern);
    let id = BlobId::of(&content);
    journal(&store, "run").await;
    let append = Write::Append {
        account: me(),
        journal: "run".into(),
        after: crate::Seq::ZERO,
        entries: vec![content.clone(), bytes("small"), content.clone()],
    };
    let mut put = putting(&me(), "large", "", crate::Expect::Any);
    if let Write::Put { value, .. } = &mut put {
        *value = content.clone();
    }
    write_all(&store, [append, put, Write::blob(me(), content.clone())]).await;
    let read: Vec<Bytes> =
        entries(&store, &me(), "run").await.into_iter().map(|entry| entry.bytes).collect();
    assert!(read == [content.clone(), bytes("small"), content.clone()]);
    assert!(row(&store, &me(), "large").await.is_some_and(|row| row.value == content));
    assert!(store.blob(&me(), &id).await.expect("it can be read") == Some(content));
}
