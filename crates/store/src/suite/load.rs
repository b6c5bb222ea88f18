//! Many at once: every journal stays in order, and one writer's failure is nobody else's.

use super::Case;
use super::fixture::{
    Shared, append, appending, entries, journal, lease, me, open, putting, query, row, texts,
    write, write_all,
};
use crate::{Batch, Conflict, Expect, Seq, StoreError};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "many writers to many journals leave each without a gap",
        run: |store| Box::pin(many(store)),
    },
    Case {
        name: "writers that race for one journal append each entry once",
        run: |store| Box::pin(racing(store)),
    },
    Case {
        name: "batches that fail beside others do not harm them",
        run: |store| Box::pin(neighbours(store)),
    },
    Case { name: "a reader never sees half a batch", run: |store| Box::pin(never_half(store)) },
];

async fn many(store: Shared) {
    const JOURNALS: u64 = 40;
    const APPENDS: u64 = 10;
    let mine = lease(&store).await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..JOURNALS {
        let (store, mine) = (store.clone(), mine.clone());
        writers.spawn(async move {
            let name = format!("run {number}");
            let owned = open(&store, &mine, &name).await;
            for turn in 0..APPENDS {
                let batch = Batch::new()
                    .fence(owned.clone())
                    .write(appending(&me(), &name, turn * 2, &["x", "y"]))
                    .write(putting(&me(), &name, &turn.to_string(), Expect::Any));
                store.commit(batch).await.expect("nobody else writes this journal");
            }
            name
        });
    }
    while let Some(name) = writers.join_next().await {
        let name = name.expect("the writer did not panic");
        let all = entries(&store, &me(), &name).await;
        assert_eq!(all.len() as u64, APPENDS * 2);
        assert!((1..).zip(&all).all(|(seq, entry)| entry.seq == Seq(seq)));
        assert!(all.is_sorted_by_key(|entry| entry.at));
    }
}

async fn racing(store: Shared) {
    journal(&store, "run").await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..10 {
        let store = store.clone();
        writers.spawn(async move {
            let text = number.to_string();
            let mut after = 0;
            loop {
                match append(&store, "run", after, &[&text]).await {
                    Ok(()) => return,
                    Err(StoreError::Conflict(Conflict::JournalMoved { found, .. })) => {
                        assert!(found.0 > after, "a conflict names a later end");
                        after = found.0;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    writers.join_all().await;
    let mut all = texts(&store, "run").await;
    all.sort();
    assert_eq!(all, (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn neighbours(store: Shared) {
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        writers.spawn(async move {
            // The second write of every odd batch fails, in an account that no batch before it has
            // made known.
            let who = crate::AccountId::from(format!("account {number}"));
            let expect = if number % 2 == 0 { Expect::Any } else { Expect::Absent };
            let batch = Batch::new()
                .write(putting(&who, "key", "x", Expect::Absent))
                .write(putting(&who, "key", "y", expect));
            let result = store.commit(batch).await;
            (number, who, result)
        });
    }
    for (number, who, result) in writers.join_all().await {
        let is_good = number % 2 == 0;
        assert_eq!(result.is_ok(), is_good, "{result:?}");
        assert_eq!(row(&store, &who, "key").await.is_some(), is_good);
        // Whatever was remembered of a batch that failed must not spoil the next of its account.
        write(&store, putting(&who, "later", "z", Expect::Absent)).await.expect("it is absent");
        assert!(row(&store, &who, "later").await.is_some());
    }
}

async fn never_half(store: Shared) {
    let write_pairs = {
        let store = store.clone();
        tokio::spawn(async move {
            for turn in 0..100 {
                let value = turn.to_string();
                let pair = ["a", "b"].map(|key| putting(&me(), key, &value, Expect::Any));
                write_all(&store, pair).await;
            }
        })
    };
    while !write_pairs.is_finished() {
        let page = store.page(&query()).await.expect("a page can be read");
        assert_eq!(page.total, page.rows.len() as u64);
        if let [a, b] = &page.rows[..] {
            assert_eq!(a.value, b.value);
        } else {
            assert!(page.rows.is_empty(), "half a batch: {page:?}");
        }
    }
    write_pairs.await.expect("the writer did not panic");
}
