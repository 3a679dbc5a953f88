-- The trace archive, migration 2: checksums. Forward only: a released migration is never edited.
--
-- A checksum is 16 bytes: two XXH3 (64 bit, seed 0), little-endian.
--   bytes 0 to 7   of the column data, as it is stored
--   bytes 8 to 15  of the row: the numbers named below as 64-bit little-endian integers, then bytes 0 to 7, then the column ends
-- chunks           stream, sequence, offset, length, flags, first_timestamp, packet_bytes, codec
-- tails            capture, stream, sequence, offset, length, first_timestamp, packet_bytes, codec; ends and what else is absent count as
--                  empty
-- capture_streams  capture, stream, first_sequence, last_sequence, last_offset, tail_bytes, reached; no data
--
-- NULL: a version wrote the row that knew no checksums. Only rows up to the identifiers in the table unchecked may have NULL;
-- `mprofd --fsck` gives them checksums and sets those identifiers to 0.
ALTER TABLE chunks ADD COLUMN checksum BLOB;
ALTER TABLE tails ADD COLUMN checksum BLOB;
ALTER TABLE capture_streams ADD COLUMN tail_bytes INTEGER;  -- sum of length over the capture's tails of this stream
ALTER TABLE capture_streams ADD COLUMN reached INTEGER;     -- end of the rows of packet last_sequence at the time of the capture, at most last_offset
ALTER TABLE capture_streams ADD COLUMN checksum BLOB;

-- The rows that a stream must have, so that lost rows are noticed. The one exception is the newest
-- row of an incomplete packet of a run that goes on: without that row the archive is the one of the
-- commit before. NULL: not known.
ALTER TABLE streams ADD COLUMN oldest INTEGER;              -- no packet above this one may be the stream's first in chunks
ALTER TABLE streams ADD COLUMN newest INTEGER;              -- no packet below this one may be the stream's last in chunks
ALTER TABLE streams ADD COLUMN held INTEGER;                -- complete packets in chunks
ALTER TABLE streams ADD COLUMN damaged_packets INTEGER NOT NULL DEFAULT 0; -- taken out of service, wholly or in part

-- The largest identifiers of rows that may lack a checksum. One row.
CREATE TABLE unchecked (
	id       INTEGER PRIMARY KEY CHECK (id = 0),
	chunks   INTEGER NOT NULL,
	tails    INTEGER NOT NULL,
	captures INTEGER NOT NULL
);
INSERT INTO unchecked SELECT 0, coalesce((SELECT max(id) FROM chunks), 0), coalesce((SELECT max(id) FROM tails), 0),
	coalesce((SELECT max(id) FROM captures), 0);
