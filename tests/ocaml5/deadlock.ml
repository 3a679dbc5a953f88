(* Two domains lock two mutexes in opposite orders, and wait for each other for ever. *)
module E = Runtime_events

type E.User.tag += Tag

let takes = E.User.register "takes the second" Tag E.Type.unit
let left = Mutex.create ()
let right = Mutex.create ()
let begun = Atomic.make 0

let work first second () =
  Mutex.lock first;
  Atomic.incr begun;
  while Atomic.get begun < 2 do
    Unix.sleepf 0.001
  done;
  E.User.write takes ();
  Mutex.lock second

let () =
  let other = Domain.spawn (work left right) in
  work right left ();
  Domain.join other
