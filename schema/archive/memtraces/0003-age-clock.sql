-- The archive of memory profiles, migration 3: the age clock. Forward only: a released migration is never edited.
--
-- The tables are as in the trace archive (schema/archive/0005-age-clock.sql). Each archive has an age clock of its own.

-- The last reading. One row; none before the first reading.
CREATE TABLE age_clock (
	id           INTEGER PRIMARY KEY CHECK (id = 0),
	began        INTEGER NOT NULL,        -- no stamp counts as older: the first value, or the end of the newest period that was deleted
	age          INTEGER NOT NULL,        -- the age clock
	boot         TEXT NOT NULL,           -- the kernel's boot id; '' = unknown
	boottime     INTEGER NOT NULL,        -- CLOCK_BOOTTIME
	real         INTEGER NOT NULL,        -- CLOCK_REALTIME
	-- The last reading at which the kernel said that CLOCK_REALTIME is synchronised. All NULL: there was none.
	sync_boot    TEXT,
	sync_real    INTEGER,
	sync_age     INTEGER
);

CREATE TABLE clock_periods (
	id          INTEGER PRIMARY KEY,      -- ascends with time
	boot        TEXT NOT NULL,
	began_mono  INTEGER NOT NULL,
	ended_mono  INTEGER NOT NULL,         -- of the newest period: the last reading that was stored
	real_offset INTEGER NOT NULL,         -- CLOCK_REALTIME minus CLOCK_MONOTONIC
	age_offset  INTEGER NOT NULL,         -- age clock minus CLOCK_MONOTONIC
	correction  INTEGER                   -- to be added to real stamps of the period when they are shown; NULL: not known
);
