type t = { time : int64; mutable canceled : bool; thread : unit Lwt.u }

external now : unit -> int64 = "stand_in_now"

let sleepers = ref []

let ns duration =
  let promise, thread = Lwt.task () in
  let sleeper = { time = Int64.add (now ()) duration; canceled = false; thread } in
  Lwt.on_cancel promise (fun () -> sleeper.canceled <- true);
  sleepers := sleeper :: !sleepers;
  promise

let new_sleepers () =
  let found = !sleepers in
  sleepers := [];
  found
