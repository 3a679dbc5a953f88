-- Indices and views of a file that `mprofctl export --to sqlite` writes. They are made when all rows of tables.sql are
-- there.

CREATE INDEX threads_by_id ON threads (id);
CREATE INDEX threads_by_became ON threads (became) WHERE became IS NOT NULL;
CREATE INDEX activations_by_thread ON activations (thread);
CREATE INDEX interactions_by_thread ON interactions (thread);
CREATE INDEX interactions_by_other ON interactions (other);
CREATE INDEX labels_by_thread ON labels (thread);
CREATE INDEX samples_by_counter ON samples (counter);

-- The threads that did something to others: the interactions and the creations, with the columns of interactions.
CREATE VIEW relations AS
SELECT time_ns, kind, thread, other, text FROM interactions
UNION ALL
SELECT created_ns, 'creates', creator, thread, NULL FROM threads WHERE creator IS NOT NULL;

-- The threads of the program, without roots and shared entries, with the length of their lives.
CREATE VIEW lives AS
SELECT
	thread, stream, id, type, label, creator, created_ns, ended_ns,
	ended_ns - created_ns AS life_ns,    -- nanoseconds; an assumed end counts (ENDING is NULL)
	ending, expected
FROM threads
WHERE created_ns IS NOT NULL;

-- For each thread, the thread that it became in the end: itself if it became none.
CREATE VIEW finals AS
WITH RECURSIVE chain (thread, final) AS (
	SELECT thread, thread FROM threads WHERE became IS NULL
	UNION ALL
	SELECT t.thread, chain.final FROM chain JOIN threads t ON t.became = chain.thread
)
SELECT thread, final FROM chain;

-- For each event in which THREAD began to wait for OTHER: when OTHER, or the thread that OTHER became, was resolved.
CREATE VIEW waits AS
SELECT
	r.interaction, r.thread, r.other, r.time_ns AS start_ns,
	CASE WHEN t.ending IN ('fulfills', 'fails') THEN t.ended_ns END AS end_ns, -- NULL: never resolved in this trace
	CASE WHEN t.ending IN ('fulfills', 'fails') THEN t.ended_ns - r.time_ns END AS wait_ns -- NULL as END_NS
FROM interactions r
JOIN finals f ON f.thread = r.other
JOIN threads t ON t.thread = f.final
WHERE r.kind = 'try_read';

-- For each thread that ran: how often and how long. Roots are there, too: with the times in which nothing ran.
CREATE VIEW running AS
SELECT thread, count(*) AS activations, sum(end_ns - start_ns) AS running_ns
FROM activations
GROUP BY thread;

-- For each counter, its last sample.
CREATE VIEW last_values AS
SELECT c.counter, c.stream, c.name, s.time_ns, s.value
FROM counters c
JOIN samples s ON s.sample = (SELECT max(sample) FROM samples WHERE counter = c.counter);
