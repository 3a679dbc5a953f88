(* Twenty domains at the same time, which collect and write user events. *)
module E = Runtime_events

type E.User.tag += Tag

let round = E.User.register "round" Tag E.Type.int
let waiting = Atomic.make 20

let work i () =
  Atomic.decr waiting;
  while Atomic.get waiting > 0 do
    Unix.sleepf 0.001
  done;
  for k = 1 to 3 do
    E.User.write round ((100 * i) + k);
    ignore (Sys.opaque_identity (List.init 1000 (fun x -> ref x)));
    Gc.minor ()
  done

let () = List.iter Domain.join (List.init 20 (fun i -> Domain.spawn (work (i + 1))))
