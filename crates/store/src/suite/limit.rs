//! Limits: what is at most allowed is kept, and what is beyond is refused with its name.

use bytes::Bytes;

use super::Case;
use super::fixture::{
    Shared, appending, assert_matches, bytes, deleting, journal, lease, me, opening, putting, row,
    tagging, texts, write_all,
};
use crate::{
    Batch, BlobId, Expect, Invalid, MAX_ID_BYTES, MAX_KEY_BYTES, MAX_SORT_BYTES, MAX_TAG_BYTES,
    MAX_VALUE_BYTES, StoreError, Write,
};

pub(super) const CASES: &[Case] = &[
    Case { name: "the longest texts are kept, all at once", run: |store| Box::pin(longest(store)) },
    Case {
        name: "what is too long, too large or holds NUL is refused, whole",
        run: |store| Box::pin(beyond(store)),
    },
];

/// A text that is hard to compress and is its own.
fn long(seed: char, bytes: usize) -> String {
    (0..bytes as u32).map(|n| char::from(b'a' + (n * n % 25) as u8)).collect::<String>()
        [..bytes - 1]
        .chars()
        .chain([seed])
        .collect()
}

async fn longest(store: Shared) {
    let account = crate::AccountId::new(long('1', MAX_ID_BYTES));
    let name = long('2', MAX_ID_BYTES);
    let key = long('3', MAX_KEY_BYTES);
    let tags = ['4', '5', '6', '7'].map(|seed| long(seed, MAX_TAG_BYTES));
    let mine = lease(&store).await;
    let put = tagging(
        &account,
        &key,
        &long('8', MAX_SORT_BYTES),
        [&tags[0], &tags[1], &tags[2], &tags[3]],
    );
    write_all(&store, [opening(&account, &name, mine.incarnation), put]).await;
    let read = row(&store, &account, &key).await.expect("it was put");
    assert_eq!(read.tags, tags.map(Some));
    assert_eq!(read.sort, long('8', MAX_SORT_BYTES));
}

async fn beyond(store: Shared) {
    journal(&store, "run").await;
    let large = Bytes::from(vec![0; MAX_VALUE_BYTES + 1]);
    let id = long('x', MAX_ID_BYTES + 1);
    let mut put = putting(&me(), "key", "", Expect::Any);
    if let Write::Put { value, .. } = &mut put {
        *value = large.clone();
    }
    let append = Write::Append {
        account: me(),
        journal: "run".into(),
        after: crate::Seq::ZERO,
        entries: vec![bytes("small"), large.clone()],
    };
    let refused = [
        ("value", put),
        ("entry", append),
        ("blob", Write::Blob { account: me(), id: BlobId::of(b""), bytes: large }),
        ("account", putting(&id.as_str().into(), "key", "", Expect::Any)),
        ("journal", appending(&me(), &id, 0, &["x"])),
        ("key", putting(&me(), &long('x', MAX_KEY_BYTES + 1), "", Expect::Any)),
        ("key", deleting(&me(), "a\0b", Expect::Any)),
        ("sort key", tagging(&me(), "key", &long('x', MAX_SORT_BYTES + 1), [""; 4])),
        ("sort key", tagging(&me(), "key", "\0", [""; 4])),
        ("tag", tagging(&me(), "key", "", ["", "", "", &long('x', MAX_TAG_BYTES + 1)])),
        ("tag", tagging(&me(), "key", "", ["", "\0", "", ""])),
    ];
    for (named, write) in refused {
        let first = putting(&me(), "first", "", Expect::Any);
        let result = store.commit(Batch::new().write(first).write(write)).await;
        assert_matches!(
            result,
            Err(StoreError::Invalid(
                Invalid::TooLarge { what, .. } | Invalid::Nul { what, .. }
            )) if *what == named
        );
    }
    assert_eq!(row(&store, &me(), "first").await, None);
    assert_eq!(texts(&store, "run").await, [""; 0]);
}
