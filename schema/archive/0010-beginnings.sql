-- The trace archive, migration 10: where a stream began. Forward only: a released migration is never edited.
--
-- Until the first packet of a stream is archived, nothing else tells packets that passed before mprofd saw the ring for the first time
-- from those that were lost since. A row that lacks or is damaged leaves that open.
CREATE TABLE beginnings (
	stream   INTEGER PRIMARY KEY, -- in streams
	sequence INTEGER NOT NULL,    -- the oldest packet that the ring had when mprofd attached it for the first time
	checksum BLOB                 -- as in migration 9, of stream and sequence
);
