-- The trace archive, migration 8: checksums of the age clock. Forward only: a released migration is never edited.
--
-- A checksum is made as in migration 2. Either no row of both tables has one, as an earlier version wrote them, or all have.
--
-- age_clock      numbers: began, age, boottime, real, sync_real, sync_age, the smallest id of clock_periods, the number of its rows (NULL
--                counts as 0); data: boot, a line feed, sync_boot
-- clock_periods  numbers: id, began_mono, ended_mono, real_offset, age_offset, 1 if there is a correction (else 0), correction; data: boot
ALTER TABLE age_clock ADD COLUMN checksum BLOB;
ALTER TABLE clock_periods ADD COLUMN checksum BLOB;
