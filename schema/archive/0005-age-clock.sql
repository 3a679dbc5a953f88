-- The trace archive, migration 5: the age clock. Forward only: a released migration is never edited.
--
-- Limits of age never compare stamps with CLOCK_REALTIME, which may be wrong. The archive has a clock of its own, the age clock, in ns.
-- It advances with CLOCK_BOOTTIME while the host runs, and never goes back. Its value has no meaning but for differences.
--
-- Stamps (columns *_real and *_mono) stay as the clocks were read. A period says where they lie on the age clock: while it lasts, neither
-- CLOCK_REALTIME nor CLOCK_BOOTTIME steps against CLOCK_MONOTONIC. A stamp belongs to the newest period that has its mono, and a
-- real_offset that differs from its real - mono by at most 2 s; if no such period has that real_offset, to the newest that has its mono.
-- A stamp with a mono that no period has is of an earlier version, and counts as taken at age_clock.began.

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
