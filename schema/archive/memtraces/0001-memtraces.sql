-- The archive of memory profiles, migration 1: <state>/memtraces/memtraces.db.  Forward only: a released migration is never edited.
--
-- One writer (mprofd-sink), any number of readers in other processes.  page_size=65536, auto_vacuum=INCREMENTAL and
-- journal_mode=WAL are set before this runs; PRAGMA user_version is the number of the last migration.
--
-- Times: *_real are dom0's CLOCK_REALTIME, *_mono its CLOCK_MONOTONIC, both in nanoseconds.
-- Identifiers of recordings are given by the sink, ascend and are never reused.

-- The largest identifier ever given: rows go, their identifiers do not come again.  One row.
CREATE TABLE identifiers (
	id        INTEGER PRIMARY KEY CHECK (id = 0),
	recording INTEGER NOT NULL
);
INSERT INTO identifiers VALUES (0, 0);

-- One memtrace stream: one TCP connection of a guest.
CREATE TABLE recordings (
	id         INTEGER PRIMARY KEY,
	run        INTEGER,                   -- of the trace archive, where the collector knew it; a name across archives, no reference
	name       TEXT,                      -- the guest's, NULL where it was not known
	uuid       TEXT,
	domid      INTEGER,
	address    TEXT NOT NULL,             -- the peer's, as text
	port       INTEGER NOT NULL,          -- 'listened': the peer's; 'asked': the one that was connected to
	origin     TEXT NOT NULL,             -- 'listened': the guest connected; 'asked': the sink did
	state      TEXT NOT NULL,             -- 'recording', 'ended', or 'deleted': it goes, a few pieces at a time
	reason     TEXT,                      -- why it ended: closed cut reset stopped damaged quota rate overrun disk restart shutdown
	began_real INTEGER NOT NULL,
	began_mono INTEGER NOT NULL,          -- its first packet came; the guest had made it since connected_mono
	connected_mono INTEGER,               -- 'listened': it was accepted; 'asked': we began to connect
	ended_real INTEGER,
	ended_mono INTEGER,
	bytes      INTEGER NOT NULL DEFAULT 0, -- of whole packets: what pieces add up to
	packets    INTEGER NOT NULL DEFAULT 0,
	dropped    INTEGER NOT NULL DEFAULT 0, -- bytes that came behind the last whole packet and are not kept
	pinned     INTEGER NOT NULL DEFAULT 0,
	note       TEXT NOT NULL DEFAULT '',
	-- What the stream's first packet says; labels, written by the guest and believed by nobody.
	version    INTEGER NOT NULL,          -- of the format: 1, 2 or 3
	program    TEXT,
	host       TEXT,
	pid        INTEGER,
	rate       REAL,                      -- probability per word to be sampled
	context    TEXT
);
CREATE INDEX recordings_now ON recordings (id) WHERE state = 'recording';
CREATE INDEX recordings_by_run ON recordings (run, id) WHERE run IS NOT NULL;

-- The stream's bytes in pieces of at most 1 MiB uncompressed, one behind the other from offset 0, each of whole packets.
CREATE TABLE pieces (
	id        INTEGER PRIMARY KEY,
	recording INTEGER NOT NULL,
	offset    INTEGER NOT NULL,
	length    INTEGER NOT NULL,           -- uncompressed bytes
	codec     INTEGER NOT NULL,           -- 0 raw, 1 one zstd frame that declares its content size
	data      BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_position ON pieces (recording, offset, length, codec);
