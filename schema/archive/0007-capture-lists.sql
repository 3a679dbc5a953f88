-- The trace archive, migration 7: which streams a capture has. Forward only: a released migration is never edited.
--
-- A row of capture_streams that is gone is noticed by the list of its capture, and written again by it. The list is written in the
-- transaction that writes the range; an empty one in the transaction that writes the row of captures.
--
-- ranges    little-endian: u64 flags (1: the list was damaged once, so the capture may lack streams); then for each range, in the order of
--           the streams: u64 stream, u32 number of the stream in its run, u32 last_offset, u64 first_sequence, u64 last_sequence,
--           u64 tail_bytes, u64 reached
-- checksum  as in migration 2: the number is that of the capture, the data are the ranges
CREATE TABLE capture_lists (
	capture  INTEGER PRIMARY KEY REFERENCES captures (id) ON DELETE CASCADE,
	ranges   BLOB NOT NULL,
	checksum BLOB NOT NULL
);

-- The largest identifier of captures that may lack a list; an earlier version wrote them. `mprofd --fsck` gives them lists.
ALTER TABLE unchecked ADD COLUMN lists INTEGER NOT NULL DEFAULT 0;
UPDATE unchecked SET lists = coalesce((SELECT max(id) FROM captures), 0);
