-- The trace archive, migration 6: checksums of the outbox. Forward only: a released migration is never edited.
--
-- A checksum is made as in migration 2, with no numbers beside the data. The data are the columns of the row but the checksum, in their
-- order: for an integer the byte 1 and the number, 64-bit little-endian; for NULL the byte 0; for anything else the byte 2, its bytes as
-- text, and the byte 0. A row without its checksum is not sent, and mprofd deletes it; NULL counts as a checksum in rows up to the
-- identifier `unchecked`, which a version wrote that knew no checksums, until mprofd has opened the archive once.
ALTER TABLE outbox ADD COLUMN checksum BLOB;

ALTER TABLE outbox_sums ADD COLUMN held INTEGER NOT NULL DEFAULT 0;      -- number of rows that the outbox must have
ALTER TABLE outbox_sums ADD COLUMN damaged INTEGER NOT NULL DEFAULT 0;   -- rows that were damaged or missing, since the archive was made
ALTER TABLE outbox_sums ADD COLUMN unchecked INTEGER NOT NULL DEFAULT 0; -- the largest identifier of rows that may lack a checksum
UPDATE outbox_sums SET held = (SELECT count(*) FROM outbox), unchecked = (SELECT coalesce(max(id), 0) FROM outbox);
