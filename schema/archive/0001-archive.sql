-- The trace archive, migration 1. Forward only: a released migration is never edited.
--
-- One writer (mprofd), any number of readers in other processes.  page_size=65536, auto_vacuum=INCREMENTAL and
-- journal_mode=WAL are set before this runs; PRAGMA user_version is the number of the last migration.
--
-- Times: *_real are dom0's CLOCK_REALTIME, *_mono its CLOCK_MONOTONIC, both in nanoseconds; timestamps are the guest's
-- own nanoseconds, unsigned 64-bit stored as the signed integer of the same bits.
-- Identifiers of runs, streams and captures are given by the collector, ascend and are never reused.

-- The largest identifiers ever given: rows go, their identifiers do not come again. One row.
CREATE TABLE identifiers (
	id      INTEGER PRIMARY KEY CHECK (id = 0),
	run     INTEGER NOT NULL,
	stream  INTEGER NOT NULL,
	capture INTEGER NOT NULL
);
INSERT INTO identifiers VALUES (0, 0, 0, 0);

-- One life of a guest.
CREATE TABLE runs (
	id         INTEGER PRIMARY KEY,
	source     TEXT NOT NULL,             -- 'dir' or 'xen'
	key        TEXT NOT NULL,             -- the life's identity at its source, for resuming after a restart
	name       TEXT NOT NULL,             -- the domain's name
	uuid       TEXT,                      -- the domain's handle; NULL for a file
	domid      INTEGER,                   -- NULL for a file
	state      TEXT NOT NULL,             -- 'running', 'suspended' or 'ended'
	began_real INTEGER NOT NULL,
	ended_real INTEGER,
	reason     TEXT                       -- why it ended: a capture kind
);
CREATE INDEX runs_by_name ON runs (name, id);
CREATE INDEX runs_by_uuid ON runs (uuid, id) WHERE uuid IS NOT NULL;

-- One ring of a run. The counters speak of complete packets; the packet being filled is found in chunks.
CREATE TABLE streams (
	id              INTEGER PRIMARY KEY,
	run             INTEGER NOT NULL REFERENCES runs (id),
	number          INTEGER NOT NULL,     -- k of data/mprof/stream/<k>; 0 for the only one
	name            TEXT,
	ring_bytes      INTEGER NOT NULL,
	ring_packets    INTEGER NOT NULL,
	flags           INTEGER NOT NULL DEFAULT 0, -- 1 several writers, 2 its clock stepped back or stood still
	packets         INTEGER NOT NULL DEFAULT 0, -- complete packets ever archived
	bytes           INTEGER NOT NULL DEFAULT 0, -- their content bytes, headers included
	lost_packets    INTEGER NOT NULL DEFAULT 0, -- sum over gaps of kind 'lost'
	skipped_packets INTEGER NOT NULL DEFAULT 0, -- sum over gaps of kind 'skipped'
	deletions       INTEGER NOT NULL DEFAULT 0, -- goes up with each deletion of packets of this stream
	last_seen_real  INTEGER,                    -- when its newest complete packet was copied
	UNIQUE (run, number)
);

-- Content bytes of packets, in pieces of at most 1 MiB uncompressed. Within one packet the pieces lie one behind the other,
-- the first at offset 30. A piece has the list of chunk ends inside it: every chunk end is the end of an event, and only bytes up to the
-- last chunk end of a packet are served.
CREATE TABLE chunks (
	id              INTEGER PRIMARY KEY,
	stream          INTEGER NOT NULL,
	sequence        INTEGER NOT NULL,     -- 64-bit sequence number of the packet
	offset          INTEGER NOT NULL,     -- offset of the piece's first byte in the packet, header included: >= 30
	length          INTEGER NOT NULL,     -- uncompressed bytes; 0 only for an empty packet
	flags           INTEGER NOT NULL,     -- 1 the packet is complete and this is its last piece, 2 unproven (several writers), 4 clock
	first_timestamp INTEGER NOT NULL,     -- timestamp of the packet's first event
	packet_bytes    INTEGER NOT NULL,     -- the packet's room in the ring
	codec           INTEGER NOT NULL,     -- 0 raw, 1 one zstd frame that declares its content size
	ends            BLOB NOT NULL,        -- chunk ends: u32 offset, u64 mono, u64 real each, little-endian
	data            BLOB NOT NULL         -- last column, so that the others are read without it
);
-- Covers all columns of lists and overviews, which therefore never read a page of blobs.
CREATE INDEX chunks_by_position ON chunks (stream, sequence, offset, length, flags, first_timestamp, packet_bytes);

-- Missing packets, and the reason.
CREATE TABLE gaps (
	id             INTEGER PRIMARY KEY,
	stream         INTEGER NOT NULL,
	kind           TEXT NOT NULL,         -- 'lost' or 'skipped' (not wanted by policy)
	reason         TEXT NOT NULL,         -- 'lapped', 'queue', 'disk', 'restart', 'policy', 'damaged'
	after_sequence INTEGER NOT NULL,      -- the last archived byte before the gap is in this packet, below this offset
	after_offset   INTEGER NOT NULL,      -- 30 or less: the archive has no byte of that packet
	next_sequence  INTEGER NOT NULL,      -- the first packet behind the gap
	packets        INTEGER NOT NULL,      -- lost wholly or in part
	at_least       INTEGER NOT NULL,      -- 1: the number in packets, or that plus a multiple of 65,536
	real           INTEGER NOT NULL,      -- time at which the gap was found
	mono           INTEGER NOT NULL
);
CREATE INDEX gaps_by_position ON gaps (stream, after_sequence);

-- A named range of packets, and the reason for taking it.
CREATE TABLE captures (
	id      INTEGER PRIMARY KEY,
	run     INTEGER NOT NULL REFERENCES runs (id),
	kind    TEXT NOT NULL,                -- crash watchdog poweroff reboot suspend destroyed ended periodic manual trigger
	real    INTEGER NOT NULL,
	mono    INTEGER NOT NULL,
	pinned  INTEGER NOT NULL DEFAULT 0,
	note    TEXT NOT NULL DEFAULT '',
	context TEXT                          -- JSON, or NULL
);
CREATE INDEX captures_by_run ON captures (run, id);

CREATE TABLE capture_streams (
	capture        INTEGER NOT NULL REFERENCES captures (id) ON DELETE CASCADE,
	stream         INTEGER NOT NULL,
	first_sequence INTEGER NOT NULL,
	last_sequence  INTEGER NOT NULL,      -- sequence of the packet with the last proven byte
	last_offset    INTEGER NOT NULL,      -- end of the proven bytes in that packet
	PRIMARY KEY (capture, stream)
) WITHOUT ROWID;
CREATE INDEX capture_streams_by_stream ON capture_streams (stream, capture);

-- Bytes beyond the proven ones when a capture was taken: unproven, to be read event by event.
-- Pieces as in chunks.
CREATE TABLE tails (
	id              INTEGER PRIMARY KEY,
	capture         INTEGER NOT NULL REFERENCES captures (id) ON DELETE CASCADE,
	stream          INTEGER NOT NULL,
	sequence        INTEGER NOT NULL,
	offset          INTEGER NOT NULL,
	length          INTEGER NOT NULL,
	first_timestamp INTEGER NOT NULL,
	packet_bytes    INTEGER NOT NULL,
	codec           INTEGER NOT NULL,
	data            BLOB NOT NULL
);
CREATE INDEX tails_by_capture ON tails (capture, stream, sequence, offset);
