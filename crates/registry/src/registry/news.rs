//! Telling what happens.

use jiff::Timestamp;
use store::{Batch, Expect, Order, PageQuery, Table, Write};
use tokio::sync::watch;

use super::Registry;
use crate::RegistryError;
use crate::apply::Change;
use crate::news::{self, MOST_ROWS, NEWS, News, NewsAt, PUBLIC_NEWS, TOGETHER};

/// How many rows of news are read at once.
const ROWS: usize = 20;

/// How many rows that are too many are dropped with one change.
const DROPPED: usize = 50;

impl Registry {
    /// What happened after the news of a number, oldest first; what is not in it yet comes when asked
    /// for again, after the last that is.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`].
    pub async fn news(&self, after: u64) -> Result<NewsAt, RegistryError> {
        self.news_of(NEWS, after).await
    }

    /// What others are told of that, under numbers of its own.
    ///
    /// # Errors
    /// Those of [`Registry::news`].
    pub async fn public_news(&self, after: u64) -> Result<NewsAt, RegistryError> {
        self.news_of(PUBLIC_NEWS, after).await
    }

    async fn news_of(&self, table: Table, after: u64) -> Result<NewsAt, RegistryError> {
        let (last, _) = self.newest(table).await?;
        if after >= last {
            return Ok(NewsAt { news: Vec::new(), is_broken: after > last });
        }
        let mut query = PageQuery::new(Some(self.account.clone()), table);
        // The row that holds the next one may begin this much before.
        query.sort_from = Some(news::key((after + 1).saturating_sub(TOGETHER as u64 - 1)));
        query.limit = ROWS;
        let mut news = Vec::new();
        // Where each row holds one, the first rows may all be known.
        while news.is_empty() {
            let page = self.store.page(&query).await?;
            for row in page.rows {
                news.extend(News::of_row(&row)?.into_iter().filter(|it| it.seq > after));
            }
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => break,
            }
        }
        let is_broken = news.first().is_none_or(|first| first.seq != after + 1);
        Ok(NewsAt { news, is_broken })
    }

    /// The number of the latest news; 0 when there are none.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`].
    pub async fn last_news(&self) -> Result<u64, RegistryError> {
        Ok(self.newest(NEWS).await?.0)
    }

    /// The number of the latest of [`Registry::public_news`]; 0 when there are none.
    ///
    /// # Errors
    /// Those of [`Registry::last_news`].
    pub async fn last_public_news(&self) -> Result<u64, RegistryError> {
        Ok(self.newest(PUBLIC_NEWS).await?.0)
    }

    /// Says that there may be news. What other processes change is not noticed here.
    #[must_use]
    pub fn told(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }

    /// A batch, with what its changes mean to those who follow the directory.
    pub(super) async fn with_news(
        &self,
        mut batch: Batch,
        changes: &[Change],
    ) -> Result<Batch, RegistryError> {
        let (last, rows) = self.newest(NEWS).await?;
        let news = News::of(changes, &self.index(), last, Timestamp::now());
        self.add_news(&mut batch, NEWS, &news, rows).await?;
        let public: Vec<News> = news.into_iter().filter_map(News::for_others).collect();
        if !public.is_empty() {
            let (last, rows) = self.newest(PUBLIC_NEWS).await?;
            let counted = (last + 1..).zip(public).map(|(seq, news)| News { seq, ..news });
            let counted: Vec<News> = counted.collect();
            self.add_news(&mut batch, PUBLIC_NEWS, &counted, rows).await?;
        }
        Ok(batch)
    }

    /// Adds news to the rows that there are of a table, and drops the oldest of too many.
    async fn add_news(
        &self,
        batch: &mut Batch,
        table: Table,
        news: &[News],
        rows: u64,
    ) -> Result<(), RegistryError> {
        news::add(batch, table, news, &self.account);
        if rows > MOST_ROWS {
            let mut oldest = PageQuery::new(Some(self.account.clone()), table);
            oldest.limit = DROPPED.min(usize::try_from(rows - MOST_ROWS).unwrap_or(DROPPED));
            let oldest = self.store.page(&oldest).await?.rows;
            batch.writes.extend(oldest.into_iter().map(|row| Write::Delete {
                account: row.account,
                table,
                key: row.key,
                expect: Expect::Any,
            }));
        }
        Ok(())
    }

    /// The number of the latest news of a table, and how many rows it has.
    async fn newest(&self, table: Table) -> Result<(u64, u64), RegistryError> {
        let mut query = PageQuery::new(Some(self.account.clone()), table);
        (query.order, query.limit) = (Order::Descending, 1);
        let page = self.store.page(&query).await?;
        let last = page.rows.first().map(News::of_row).transpose()?;
        let last = last.and_then(|news| Some(news.last()?.seq)).unwrap_or_default();
        Ok((last, page.total))
    }
}

#[cfg(test)]
mod tests;
