-- The tables of a file that `mprofctl export --to sqlite` writes. views.sql has its indices and views.
--
-- PRAGMA application_id is 0x6d70726f and PRAGMA user_version is 1. Tables, views and columns are added; a new meaning
-- of one raises user_version.
--
-- Times are nanoseconds of the guest's clock, from 0 to 2^63 - 1. A later time of the trace is stored as 2^63 - 1, and
-- `trace` has the number of such times. A column that ends in _ns holds a time or a duration in nanoseconds. Lives and
-- activations begin and end at the latest time that their stream had reached, so that they nest; all other rows have
-- the time of their event.
--
-- A text that is UTF-8 without a zero byte has the type TEXT. Any other text is a BLOB with the bytes of the trace.
--
-- Guests use the id of a thread again. So each life of a thread has a number of its own, which all tables use.

-- The trace as a whole.
CREATE TABLE trace (
	name           TEXT NOT NULL,        -- name of the trace on the command line
	events         INTEGER NOT NULL,     -- events in the file
	clamped_times  INTEGER NOT NULL,     -- times and durations later than 2^63 - 1, which are stored as 2^63 - 1
	refused_events INTEGER NOT NULL      -- events of threads or counters beyond the exporter's limits: see threads.origin
);

-- A stream of the trace. Thread ids of different streams have nothing to do with each other.
CREATE TABLE streams (
	stream       INTEGER PRIMARY KEY,    -- number of the stream, from 0
	name         TEXT NOT NULL,          -- name of the stream; of a single stream, the trace's name
	first_ns     INTEGER,                -- time of the first event; NULL without an event
	last_ns      INTEGER,                -- latest time of an event; NULL without an event
	events       INTEGER NOT NULL,
	packets      INTEGER NOT NULL,       -- packets with an event
	lost_packets INTEGER NOT NULL        -- missing packets: the sum of gaps.packets
);

-- A packet with an event. A packet that the daemon served in pieces has a row for each piece. A log of s-expressions
-- has no packets.
CREATE TABLE packets (
	packet        INTEGER PRIMARY KEY,   -- number of the packet in this file, from 1
	stream        INTEGER NOT NULL,      -- streams.stream
	sequence      INTEGER NOT NULL,      -- number of the packet in its stream, by the guest's count; may begin above 0
	offset        INTEGER NOT NULL,      -- offset of the packet's header in its input, bytes
	content_bytes INTEGER NOT NULL,      -- used bytes of the packet, header included
	packet_bytes  INTEGER NOT NULL,      -- size of the packet, header included
	events        INTEGER NOT NULL,      -- events of the packet in this file, at least 1
	first_ns      INTEGER NOT NULL,      -- earliest time of its events
	last_ns       INTEGER NOT NULL       -- latest time of its events
);

-- A life of a thread.
CREATE TABLE threads (
	thread     INTEGER PRIMARY KEY,      -- number of the life, above 0; numbers ascend, with holes, as lives begin
	stream     INTEGER NOT NULL,         -- streams.stream
	id         INTEGER,                  -- the guest's id of the thread; -1 for origin 'root', NULL for 'shared'
	type       TEXT NOT NULL,            -- type of the thread, such as 'Bind'; 'Unknown' without a creation
	-- 'created':  an event created the thread
	-- 'existing': the thread existed before the stream's first event
	-- 'root':     no thread of the program: its activations are the times in which nothing ran
	-- 'shared':   stands for all threads for which the exporter had no room (beyond four million at once)
	origin     TEXT NOT NULL,
	creator    INTEGER,                  -- threads.thread of the thread that created this one; NULL unless created
	created_ns INTEGER,                  -- creation, or for 'existing' the stream's first event; NULL for 'root' and 'shared'
	-- End of the life. If ENDING is NULL: a microsecond after the last event that names the thread, or for an expected
	-- thread the stream's last event. NULL for 'root' and 'shared'.
	ended_ns   INTEGER,
	-- The event that ended the life: 'fulfills', 'fails', 'becomes', or 'creates' if it gave the thread's id to another
	-- thread. NULL: the trace has no end of this life.
	ending     TEXT,
	resolver   INTEGER,                  -- threads.thread of the thread that fulfilled or failed this one; else NULL
	became     INTEGER,                  -- threads.thread that continues this thread, if ENDING is 'becomes'; else NULL
	failure    TEXT,                     -- reason, if ENDING is 'fails'; else NULL
	label      TEXT,                     -- first label that is not '__should_resolve' nor empty; NULL without one
	expected   INTEGER NOT NULL          -- 1 if the thread has the label '__should_resolve', or a thread that has it became this one; else 0
);

-- A time in which a thread ran. The root's activations are the times in which no thread ran.
CREATE TABLE activations (
	activation INTEGER PRIMARY KEY,      -- number of the activation in order of ends, from 1
	thread     INTEGER NOT NULL,         -- threads.thread
	start_ns   INTEGER NOT NULL,
	end_ns     INTEGER NOT NULL          -- at or after START_NS
);

-- An event in which one thread did something to another. Creations are in the table threads; the view relations has
-- both.
CREATE TABLE interactions (
	interaction INTEGER PRIMARY KEY,     -- number of the interaction in order of events, from 1
	time_ns     INTEGER NOT NULL,
	-- 'fulfills':        THREAD resolved OTHER
	-- 'fails':           THREAD resolved OTHER with the failure TEXT
	-- 'becomes':         OTHER continues THREAD
	-- 'read', 'read_later': THREAD reads OTHER, which is resolved; only with 'read' THREAD runs now
	-- 'try_read':        THREAD tried to read OTHER, which was not resolved, and waits
	-- 'signal', 'signal_noswitch': THREAD signalled (woke) OTHER
	-- 'creates':         THREAD created OTHER, which is 'shared', or NULL because the event gives the id -1
	kind        TEXT NOT NULL,
	thread      INTEGER NOT NULL,        -- threads.thread of the thread that acts
	other       INTEGER,                 -- threads.thread; NULL if the event gives the id -1 to create or read
	text        TEXT                     -- reason of a failure; NULL for other kinds
);

-- A label of a thread.
CREATE TABLE labels (
	label   INTEGER PRIMARY KEY,         -- number of the label in order of events, from 1
	time_ns INTEGER NOT NULL,
	thread  INTEGER NOT NULL,            -- threads.thread
	text    TEXT NOT NULL
);

-- A counter of a stream.
CREATE TABLE counters (
	counter INTEGER PRIMARY KEY,         -- number of the counter, above 0, with holes
	stream  INTEGER NOT NULL,            -- streams.stream
	name    TEXT NOT NULL,
	kind    TEXT                         -- 'gauge'; 'total', all so far; 'amount': sum the samples; NULL: not declared
);

-- A value of a counter.
CREATE TABLE samples (
	sample   INTEGER PRIMARY KEY,        -- number of the sample in order of events, from 1
	time_ns  INTEGER NOT NULL,
	counter  INTEGER NOT NULL,           -- counters.counter
	value    INTEGER NOT NULL,           -- value from now on, or an amount; a counter that only increases begins at 0; wraps at 64 bits
	increase INTEGER,                    -- change that the event gives, also negative; NULL if the event gives the value
	thread   INTEGER NOT NULL            -- threads.thread of the thread that set the counter
);

-- A garbage collection.
CREATE TABLE collections (
	collection  INTEGER PRIMARY KEY,     -- number of the collection in order of events, from 1
	stream      INTEGER NOT NULL,        -- streams.stream
	start_ns    INTEGER NOT NULL,        -- END_NS - DURATION_NS, but not before 0
	end_ns      INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL         -- duration that the event gives, which can be any number
);

-- A named duration, which ended at END_NS.
CREATE TABLE durations (
	duration    INTEGER PRIMARY KEY,     -- number of the duration in order of events, from 1
	stream      INTEGER NOT NULL,        -- streams.stream
	thread      INTEGER NOT NULL,        -- threads.thread
	start_ns    INTEGER NOT NULL,        -- END_NS - DURATION_NS, but not before 0
	end_ns      INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,        -- duration that the event gives, which can be any number
	name        TEXT                     -- BLOB if it is no UTF-8
);

-- Missing packets: the file has no event of STREAM between AFTER_NS and BEFORE_NS.
CREATE TABLE gaps (
	gap       INTEGER PRIMARY KEY,       -- number of the gap, from 1
	stream    INTEGER NOT NULL,          -- streams.stream
	after_ns  INTEGER,                   -- latest time before the gap; NULL if the stream has no event before
	before_ns INTEGER,                   -- time of the first event after the gap; NULL if there is none
	packets   INTEGER NOT NULL           -- missing packets, at least 1
);

-- Damage that was skipped.
CREATE TABLE damages (
	damage  INTEGER PRIMARY KEY,         -- number of the damage, from 1
	stream  INTEGER NOT NULL,            -- streams.stream
	time_ns INTEGER,                     -- latest time before the damage; NULL if the stream has no event before
	packet  INTEGER NOT NULL,            -- number of the packet (of the line, in a log) in the input, from 0
	offset  INTEGER NOT NULL,            -- position of the fault, bytes from the start of the input
	skipped INTEGER NOT NULL,            -- bytes skipped
	reason  TEXT NOT NULL                -- a sentence
);

-- Number of events in a second of the guest's clock. A second without events has no row.
CREATE TABLE seconds (
	stream INTEGER NOT NULL,             -- streams.stream
	second INTEGER NOT NULL,             -- seconds: events from SECOND * 10^9 ns to a nanosecond before the next second
	events INTEGER NOT NULL,             -- at least 1
	PRIMARY KEY (stream, second)
) WITHOUT ROWID;
