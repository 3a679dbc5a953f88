-- The trace archive, migration 3: marks of a capture. Forward only: a released migration is never edited.
--
-- Marks are what people noted in the picture of a capture: a JSON array of {"from": "NS", "to": "NS", "text": "WORDS"} as in the API, times
-- in ns of the guest's clock. The version counts the changes of pinned, note and marks; a client names it to change what it has read.
ALTER TABLE captures ADD COLUMN marks TEXT NOT NULL DEFAULT '[]';
ALTER TABLE captures ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
