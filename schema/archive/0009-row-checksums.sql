-- The trace archive, migration 9: checksums of runs, streams, gaps and captures. Forward only: a released migration is never edited.
--
-- A checksum is made as in migration 2, with no numbers beside the data. The data are columns of the row as in migration 6: for an integer the
-- byte 1 and the number, 64-bit little-endian; for NULL the byte 0; for anything else the byte 2, its bytes as text, and the byte 0.
--
-- runs              id, source, key, name, uuid, domid, state, began_real, ended_real, reason
-- streams           all columns but checksum, in the order of their migrations
-- gaps              id, stream, kind, reason, after_sequence, after_offset, next_sequence, packets, at_least, real, mono
-- captures          id, run, kind, real, mono, pinned, note, marks, version, context_checksum
-- context_checksum  id and context of the row of captures: lists do not read contexts
--
-- NULL counts as a checksum in rows up to the identifier `unchecked`, which a version wrote that knew none, until mprofd has opened the
-- archive once.
--
-- mprofd checks all rows when it begins, and each ten minutes. It gives a damaged row a new checksum only when answers say that the row was damaged:
-- a damaged gap is deleted, so the packets that it named are declared as `damaged`; the captures of a damaged stream, and a damaged capture, are not
-- complete (the flag of their lists in capture_lists), and a damaged context is deleted; a damaged run loses its name and UUID, because they say who
-- may read it.
ALTER TABLE runs ADD COLUMN checksum BLOB;
ALTER TABLE streams ADD COLUMN checksum BLOB;
ALTER TABLE gaps ADD COLUMN checksum BLOB;
ALTER TABLE captures ADD COLUMN checksum BLOB;
ALTER TABLE captures ADD COLUMN context_checksum BLOB;

CREATE TABLE row_sums (
	name      TEXT PRIMARY KEY,           -- of a table
	held      INTEGER NOT NULL,           -- number of rows that it must have
	unchecked INTEGER NOT NULL,           -- the largest identifier of rows that may lack a checksum
	damaged   INTEGER NOT NULL DEFAULT 0, -- rows that were damaged, since the archive was made
	lost      INTEGER NOT NULL DEFAULT 0  -- rows that were missing
);
INSERT INTO row_sums (name, held, unchecked) SELECT 'runs', count(*), coalesce(max(id), 0) FROM runs;
INSERT INTO row_sums (name, held, unchecked) SELECT 'streams', count(*), coalesce(max(id), 0) FROM streams;
INSERT INTO row_sums (name, held, unchecked) SELECT 'gaps', count(*), coalesce(max(id), 0) FROM gaps;
INSERT INTO row_sums (name, held, unchecked) SELECT 'captures', count(*), coalesce(max(id), 0) FROM captures;
