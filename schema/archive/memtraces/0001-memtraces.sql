-- The archive of memory profiles, migration 1: <state>/memtraces/memtraces.db. Forward only: a released migration is never edited.
--
-- One writer (mprofd-sink), any number of readers in other processes.  page_size=65536, auto_vacuum=INCREMENTAL and
-- journal_mode=WAL are set before this runs; PRAGMA user_version is the number of the last migration.
--
-- Times: *_real are dom0's CLOCK_REALTIME, *_mono its CLOCK_MONOTONIC, both in nanoseconds.
-- Identifiers of recordings are given by the sink, ascend and are never reused.

-- The largest identifier ever given: rows go, their identifiers do not come again. One row.
CREATE TABLE identifiers (
	id        INTEGER PRIMARY KEY CHECK (id = 0),
	recording INTEGER NOT NULL
);
INSERT INTO identifiers VALUES (0, 0);

-- One memtrace stream: one TCP connection of a guest.
CREATE TABLE recordings (
	id         INTEGER PRIMARY KEY,
	run        INTEGER,                   -- run of the trace archive, if the collector knew it; a name across archives, no reference
	name       TEXT,                      -- the guest's name, NULL if unknown
	uuid       TEXT,
	domid      INTEGER,
	address    TEXT NOT NULL,             -- the peer's address, as text
	port       INTEGER NOT NULL,          -- 'listened': the peer's port; 'asked': the port that the sink connected to
	origin     TEXT NOT NULL,             -- 'listened': the guest connected; 'asked': the sink did
	state      TEXT NOT NULL,             -- 'recording', 'ended', or 'deleted': a few pieces at a time are removed
	reason     TEXT,                      -- why it ended: closed cut reset stopped damaged quota rate overrun disk restart shutdown
	began_real INTEGER NOT NULL,
	began_mono INTEGER NOT NULL,          -- the first packet arrived; the guest made it after connected_mono
	connected_mono INTEGER,               -- 'listened': the sink accepted; 'asked': the sink began to connect
	ended_real INTEGER,
	ended_mono INTEGER,
	bytes      INTEGER NOT NULL DEFAULT 0, -- bytes of whole packets: the sum of the pieces
	packets    INTEGER NOT NULL DEFAULT 0,
	dropped    INTEGER NOT NULL DEFAULT 0, -- bytes behind the last whole packet, which are not stored
	pinned     INTEGER NOT NULL DEFAULT 0,
	note       TEXT NOT NULL DEFAULT '',
	-- Fields of the stream's first packet: labels that the guest wrote, not to be trusted.
	version    INTEGER NOT NULL,          -- version of the format: 1, 2 or 3
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
