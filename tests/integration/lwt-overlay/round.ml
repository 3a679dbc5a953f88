(* One round of wait, bind, map and wakeup, many times: round ROUNDS [FILE]. Print the processor time of a round in
   nanoseconds, and the sum of all rounds. *)

let round i =
  let p, u = Lwt.wait () in
  let q = Lwt.map (fun x -> x + 1) (Lwt.bind p (fun x -> Lwt.return (x + i))) in
  Lwt.wakeup u 1;
  match Lwt.state q with Lwt.Return x -> x | Lwt.Fail _ | Lwt.Sleep -> -1

let () =
  let rounds = int_of_string Sys.argv.(1) in
  if Array.length Sys.argv > 2 then begin
    let buffer = MProf_unix.mmap_buffer ~size:1_000_000 Sys.argv.(2) in
    MProf.Trace.Control.(start (make buffer MProf_unix.timestamper))
  end;
  let began = Sys.time () in
  let sum = ref 0 in
  for i = 1 to rounds do
    sum := !sum + round i
  done;
  Printf.printf "%.1f %d\n" ((Sys.time () -. began) /. float_of_int rounds *. 1e9) !sum
