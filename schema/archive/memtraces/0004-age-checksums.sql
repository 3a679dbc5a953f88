-- The archive of memory profiles, migration 4: checksums of the age clock, as in the trace archive (schema/archive/0008-age-checksums.sql).
-- Forward only: a released migration is never edited.
ALTER TABLE age_clock ADD COLUMN checksum BLOB;
ALTER TABLE clock_periods ADD COLUMN checksum BLOB;
