-- The trace archive, migration 11: captures that wait for the reader. Forward only: a released migration is never edited.
--
-- A capture of the kind `unread` is of a run whose end Xen calls orderly, of a guest of which only crashes are kept. The reader of
-- mprofd-http decides what becomes of it: the kind `crash`, also as the reason of its run, if the main thread failed; else the capture
-- goes, with the packets that were copied for it alone. If somebody has changed it, it stays, with the reason of its run as its kind.
-- mprofd deletes a capture that nobody has read for too long. The outbox never has one of this kind.
CREATE INDEX captures_unread ON captures (kind) WHERE kind = 'unread';
