//! Pages: filters, order, cursors that hold under change, totals.

use super::Case;
use super::fixture::{
    Shared, TABLE, assert_matches, deleting, me, query, tagging, write, write_all, you,
};
use crate::{AccountId, Cursor, Expect, Invalid, Order, PageQuery, StoreError, Table, Write};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pages run through sort key, then key, both ways, bytewise",
        run: |store| Box::pin(ordered(store)),
    },
    Case {
        name: "pages of any size give every row once, and the same total",
        run: |store| Box::pin(walked(store)),
    },
    Case {
        name: "rows put, moved and deleted between pages neither hide nor repeat the others",
        run: |store| Box::pin(stable(store)),
    },
    Case {
        name: "every tag filters, alone and with others",
        run: |store| Box::pin(filtered(store)),
    },
    Case {
        name: "a key prefix filters, whatever characters it has",
        run: |store| Box::pin(prefixed(store)),
    },
    Case {
        name: "a least sort key filters, both ways, and counts in the total",
        run: |store| Box::pin(bounded(store)),
    },
    Case {
        name: "a row that changed its tags is found under the new ones only",
        run: |store| Box::pin(retagged(store)),
    },
    Case {
        name: "a cursor of another query is refused, and so is nonsense",
        run: |store| Box::pin(foreign_cursor(store)),
    },
    Case { name: "a page of no rows counts", run: |store| Box::pin(counted(store)) },
    Case {
        name: "without an account rows of all are paged, each once, with their account",
        run: |store| Box::pin(everybody(store)),
    },
    Case { name: "tables do not mix", run: |store| Box::pin(apart(store)) },
];

async fn keys(store: &Shared, query: &PageQuery) -> Vec<String> {
    let page = store.page(query).await.expect("a page can be read");
    page.rows.into_iter().map(|row| row.key).collect()
}

/// Reads all pages and returns (account, key) of every row.
async fn walk(store: &Shared, mut query: PageQuery) -> Vec<(AccountId, String)> {
    let mut seen = Vec::new();
    loop {
        let page = store.page(&query).await.expect("a page can be read");
        assert!(page.rows.len() <= query.limit);
        seen.extend(page.rows.into_iter().map(|row| (row.account, row.key)));
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return seen,
        }
    }
}

fn rows(sorted: &[(&str, &str)]) -> Vec<Write> {
    sorted.iter().map(|(key, sort)| tagging(&me(), key, sort, [""; 4])).collect()
}

async fn ordered(store: Shared) {
    let written =
        [("b", "2"), ("a", "2"), ("c", "1"), ("Z", "2"), ("ä", "2"), ("d", "10"), ("e", "")];
    write_all(&store, rows(&written)).await;
    let forward = ["e", "c", "d", "Z", "a", "b", "ä"];
    assert_eq!(keys(&store, &query()).await, forward);
    let mut backward = keys(&store, &PageQuery { order: Order::Descending, ..query() }).await;
    backward.reverse();
    assert_eq!(backward, forward);
}

async fn bounded(store: Shared) {
    write_all(&store, rows(&[("a", "1"), ("b", "2"), ("c", "2"), ("d", "3")])).await;
    for order in [Order::Ascending, Order::Descending] {
        let bounded = PageQuery { sort_from: Some("2".to_owned()), order, limit: 2, ..query() };
        let page = store.page(&bounded).await.expect("a page can be read");
        assert_eq!(page.total, 3);
        let mut seen = walk(&store, bounded).await;
        seen.sort();
        let keys: Vec<&str> = seen.iter().map(|(_, key)| key.as_str()).collect();
        assert_eq!(keys, ["b", "c", "d"]);
    }
}

async fn walked(store: Shared) {
    let names: Vec<String> = (0..23).map(|n| format!("{n:02}")).collect();
    write_all(&store, names.iter().map(|key| tagging(&me(), key, &key[..1], [""; 4]))).await;
    for limit in [1, 2, 7, 23, 24, usize::MAX] {
        for order in [Order::Ascending, Order::Descending] {
            let query = PageQuery { limit, order, ..query() };
            let total = store.page(&query).await.expect("a page can be read").total;
            assert_eq!(total, 23);
            let mut seen: Vec<_> = walk(&store, query).await.into_iter().map(|(_, k)| k).collect();
            if order == Order::Descending {
                seen.reverse();
            }
            assert_eq!(seen, names, "by {limit}");
        }
    }
}

async fn stable(store: Shared) {
    let sorted = ["b", "d", "f", "h", "j"];
    write_all(&store, rows(&sorted.map(|key| (key, key)))).await;
    let first = PageQuery { limit: 2, ..query() };
    let page = store.page(&first).await.expect("a page can be read");
    assert_eq!(keys(&store, &first).await, ["b", "d"]);
    // Before the cursor, at it, after it; the row it stands on goes; one moves from behind to front.
    write_all(&store, rows(&[("a", "a"), ("e", "e"), ("k", "k"), ("j", "0")])).await;
    write(&store, deleting(&me(), "d", Expect::Any)).await.expect("it can be deleted");
    let second = PageQuery { cursor: page.next, limit: 9, ..query() };
    let page = store.page(&second).await.expect("a page can be read");
    assert_eq!(keys(&store, &second).await, ["e", "f", "h", "k"]);
    assert_eq!((page.next, page.total), (None, 7));
}

async fn filtered(store: Shared) {
    let mut writes = Vec::new();
    for n in 0..16 {
        let tags = [0, 1, 2, 3].map(|bit| if n >> bit & 1 == 1 { "on" } else { "off" });
        writes.push(tagging(&me(), &format!("{n:02}"), "", tags));
    }
    writes.push(tagging(&me(), "none", "", [""; 4]));
    write_all(&store, writes).await;
    for n in 0..16_usize {
        let tags = [0, 1, 2, 3].map(|bit| (n >> bit & 1 == 1).then(|| "on".to_owned()));
        let page = store.page(&PageQuery { tags, ..query() }).await.expect("it can be read");
        let expected: Vec<String> =
            (0..16).filter(|m| m & n == n).map(|m| format!("{m:02}")).collect();
        let mut found: Vec<_> = page.rows.into_iter().map(|row| row.key).collect();
        if n == 0 {
            assert_eq!(found.pop().as_deref(), Some("none"));
        }
        assert_eq!(found, expected);
    }
}

async fn prefixed(store: Shared) {
    let all = ["a", "a%", "a/", "a/1", "a/2", "a0", "a_", "ab", "b", "a\u{10ffff}", "a\u{10ffff}x"];
    write_all(&store, rows(&all.map(|key| (key, "")))).await;
    for prefix in ["", "a", "a/", "a%", "a_", "a\u{10ffff}", "\u{10ffff}", "zz"] {
        let query = PageQuery { key_prefix: prefix.to_owned(), ..query() };
        let mut expected: Vec<_> = all.into_iter().filter(|key| key.starts_with(prefix)).collect();
        expected.sort_unstable();
        let page = store.page(&query).await.expect("a page can be read");
        assert_eq!(page.total, expected.len() as u64);
        let found: Vec<_> = page.rows.into_iter().map(|row| row.key).collect();
        assert_eq!(found, expected, "under {prefix:?}");
        let small: Vec<_> = walk(&store, PageQuery { limit: 1, ..query }).await;
        assert_eq!(small.len(), expected.len());
    }
}

async fn retagged(store: Shared) {
    let tagged =
        |tag: &str| PageQuery { tags: [Some(tag.to_owned()), None, None, None], ..query() };
    write(&store, tagging(&me(), "key", "", ["old", "", "", ""])).await.expect("it can be put");
    write(&store, tagging(&me(), "key", "", ["new", "", "", ""])).await.expect("it can be put");
    assert_eq!(keys(&store, &tagged("old")).await, [""; 0]);
    assert_eq!(keys(&store, &tagged("new")).await, ["key"]);
    write(&store, tagging(&me(), "key", "", [""; 4])).await.expect("it can be put");
    assert_eq!(keys(&store, &tagged("new")).await, [""; 0]);
}

async fn foreign_cursor(store: Shared) {
    write_all(&store, rows(&["a", "b", "c"].map(|key| (key, "")))).await;
    let one = PageQuery { limit: 1, ..query() };
    let cursor = store.page(&one).await.expect("a page can be read").next;
    let cursor = cursor.expect("two rows are left");
    let others = [
        PageQuery { account: Some(you()), ..query() },
        PageQuery { account: None, ..query() },
        PageQuery { table: Table::new("other"), ..query() },
        PageQuery { order: Order::Descending, ..query() },
        PageQuery { key_prefix: "a".to_owned(), ..query() },
        PageQuery { tags: [None, None, None, Some("x".to_owned())], ..query() },
    ];
    for other in others {
        let result = store.page(&PageQuery { cursor: Some(cursor.clone()), ..other }).await;
        assert_matches!(result, Err(StoreError::Invalid(Invalid::Cursor)));
    }
    for nonsense in ["", "0", "zz", "7b7d", "ü"] {
        let cursor = Some(Cursor::new(nonsense));
        let result = store.page(&PageQuery { cursor, ..query() }).await;
        assert_matches!(result, Err(StoreError::Invalid(Invalid::Cursor)));
    }
    let same = PageQuery { cursor: Some(Cursor::new(cursor.as_str())), limit: 9, ..query() };
    assert_eq!(keys(&store, &same).await, ["b", "c"]);
}

async fn counted(store: Shared) {
    write_all(&store, rows(&["a", "b", "c"].map(|key| (key, "")))).await;
    let page = store.page(&PageQuery { limit: 0, ..query() }).await.expect("it can be read");
    assert_eq!((page.rows.len(), page.next, page.total), (0, None, 3));
    let unknown = PageQuery::new(Some("nobody".into()), Table::new("nothing"));
    let page = store.page(&unknown).await.expect("it can be read");
    assert_eq!((page.rows.len(), page.next, page.total), (0, None, 0));
}

async fn everybody(store: Shared) {
    let both = |key: &str, sort: &str| [me(), you()].map(|who| tagging(&who, key, sort, [""; 4]));
    write_all(&store, both("same", "1").into_iter().chain(both("first", "0"))).await;
    write_all(&store, [tagging(&you(), "last", "2", [""; 4])]).await;
    let all = PageQuery::new(None, TABLE);
    let page = store.page(&all).await.expect("a page can be read");
    assert_eq!(page.total, 5);
    for order in [Order::Ascending, Order::Descending] {
        let mut seen = walk(&store, PageQuery { limit: 1, order, ..all.clone() }).await;
        let first = if order == Order::Ascending { "first" } else { "last" };
        assert_eq!(seen[0].1, first);
        seen.sort();
        let pairs: Vec<_> = seen.iter().map(|(who, key)| (who.as_str(), key.as_str())).collect();
        let expected =
            [("me", "first"), ("me", "same"), ("you", "first"), ("you", "last"), ("you", "same")];
        assert_eq!(pairs, expected);
    }
}

async fn apart(store: Shared) {
    write_all(&store, rows(&[("a", "")])).await;
    let other = Table::new("other");
    assert_eq!(store.row(&me(), other, "a").await.expect("it can be read"), None);
    assert_eq!(keys(&store, &PageQuery { table: other, ..query() }).await, [""; 0]);
}
