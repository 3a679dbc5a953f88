-- The archive of memory profiles, migration 2: checksums. Forward only: a released migration is never edited.
--
-- A checksum is as in the trace archive (schema/archive/0002-checksums.sql); the row's numbers are recording, offset, length, codec.
-- NULL: a version wrote the row that knew no checksums. Only rows up to the identifier in the table unchecked may have NULL.
ALTER TABLE pieces ADD COLUMN checksum BLOB;

-- Number of bytes out of service: those damaged on the disk, and all behind them. NULL: none. If set,
-- bytes is the offset of the first one, and no byte is appended any more.
ALTER TABLE recordings ADD COLUMN damaged INTEGER;

-- The largest identifier of a piece that may lack a checksum. One row.
CREATE TABLE unchecked (
	id     INTEGER PRIMARY KEY CHECK (id = 0),
	pieces INTEGER NOT NULL
);
INSERT INTO unchecked SELECT 0, coalesce((SELECT max(id) FROM pieces), 0);
