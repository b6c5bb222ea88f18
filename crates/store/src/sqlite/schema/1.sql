CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    openings INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES (1, 0);

CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE journals (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    name TEXT NOT NULL,
    last INTEGER NOT NULL,  -- sequence of the last entry, 0 without entries
    owner BLOB,             -- incarnation; none once closed
    epoch INTEGER NOT NULL,
    open INTEGER NOT NULL,  -- 1 while it needs a driver
    UNIQUE (account, name)
) STRICT;
CREATE INDEX journals_open ON journals (open) WHERE open = 1;

CREATE TABLE entries (
    id INTEGER PRIMARY KEY, -- journal << 32 | sequence
    at INTEGER NOT NULL,    -- microseconds since 1970
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE leases (
    incarnation BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL -- microseconds since 1970
) STRICT, WITHOUT ROWID;

CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    tbl INTEGER NOT NULL,
    key TEXT NOT NULL,
    sort TEXT NOT NULL,
    tag0 TEXT, tag1 TEXT, tag2 TEXT, tag3 TEXT,
    version INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (account, tbl, key)
) STRICT;
CREATE INDEX rows_of_account ON rows (account, tbl, sort, key);
CREATE INDEX rows_of_all ON rows (tbl, sort, key, account);
CREATE INDEX rows_tag0 ON rows (account, tbl, tag0, sort, key) WHERE tag0 IS NOT NULL;
CREATE INDEX rows_tag1 ON rows (account, tbl, tag1, sort, key) WHERE tag1 IS NOT NULL;
CREATE INDEX rows_tag2 ON rows (account, tbl, tag2, sort, key) WHERE tag2 IS NOT NULL;
CREATE INDEX rows_tag3 ON rows (account, tbl, tag3, sort, key) WHERE tag3 IS NOT NULL;

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (account, hash)
) STRICT;
