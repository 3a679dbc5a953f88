-- The trace archive, migration 4: the outbox. Forward only: a released migration is never edited.
--
-- The outbox lists what mprofd-forward sends to a hub. mprofd alone adds and deletes rows: a row is added in the transaction that
-- writes the bytes that it names, and goes when the hub has acknowledged them. Without a section [fleet] it is empty.
--
-- A row names positions (run, stream, sequence), never rows of other tables, because compaction replaces rows of chunks.
--
-- capture  the capture CAPTURE of RUN: its context, its ranges in capture_streams, and its tails. The bytes of a range are those of all
--          packets from first_sequence to last_sequence, of the last one the bytes below last_offset
-- packets  the complete packets of STREAM from FIRST_SEQUENCE to LAST_SEQUENCE that the archive has. A stream has one such row
-- lost     bytes that a row above named, and that went before they were acknowledged, for REASON. With CAPTURE the whole capture;
--          else PACKETS packets of STREAM from FIRST_SEQUENCE to LAST_SEQUENCE, all of one month (UTC). The hub may have got some of
--          them before
CREATE TABLE outbox (
	id             INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
	kind           TEXT NOT NULL,
	ready          INTEGER NOT NULL,           -- 0: the capture is not finished
	urgency        INTEGER NOT NULL,           -- 0 crash or watchdog, 1 other capture, 2 lost, 3 packets: the lower is sent first
	real           INTEGER NOT NULL,           -- time of the capture, or of the first packet: the older is sent first
	run            INTEGER NOT NULL,
	stream         INTEGER NOT NULL DEFAULT 0, -- identifier of the stream; 0: none
	capture        INTEGER NOT NULL DEFAULT 0, -- 0: none
	first_sequence INTEGER NOT NULL DEFAULT 0,
	last_sequence  INTEGER NOT NULL DEFAULT 0,
	packets        INTEGER NOT NULL DEFAULT 0, -- of lost rows
	bytes          INTEGER NOT NULL DEFAULT 0, -- of lost rows: content bytes that were deleted; 0: not known
	reason         TEXT                        -- of lost rows: 'quota' or 'deleted' (by a person)
);
CREATE INDEX outbox_by_order ON outbox (ready, urgency, real, id);
CREATE INDEX outbox_by_stream ON outbox (stream, kind) WHERE stream <> 0;
CREATE UNIQUE INDEX outbox_by_capture ON outbox (capture) WHERE capture <> 0;

-- Numbers of the losses before sending. One row.
CREATE TABLE outbox_sums (
	id       INTEGER PRIMARY KEY CHECK (id = 0),
	packets  INTEGER NOT NULL,            -- lost since the archive was made, declared or not
	captures INTEGER NOT NULL,
	untold   INTEGER NOT NULL             -- lost rows that were deleted for room, and never declared on the hub
);
INSERT INTO outbox_sums VALUES (0, 0, 0, 0);

-- The archive's UUID, as 32 hexadecimal digits. A new archive begins with run 1 again, so a hub names the archive, too.
ALTER TABLE identifiers ADD COLUMN archive TEXT;
UPDATE identifiers SET archive = lower(hex(randomblob(16)));
