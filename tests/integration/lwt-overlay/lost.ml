(* The lost ARP reply in a library that was not changed: lost good|bad [FILE]. Without a file nothing is recorded.

   In the bad run the answer comes before the acknowledgement, so it is handled before anybody waits for it. *)

open Mprof_lwt
open Asker

let rec turns n =
  if n > 0 then begin
    Lwt.wakeup_paused ();
    turns (n - 1)
  end

let run order =
  let packets, push = Lwt_stream.create () in
  let asker = make packets (MProf.Trace.named_condition "ARP response") in
  Lwt.async (fun () ->
      MProf.Trace.label "network";
      serve asker);
  let connection = Lwt.map print_endline (ask asker) in
  MProf.Trace.should_resolve (MProf.Trace.named_thread "TCP connect" connection);
  List.iter
    (fun packet ->
      push (Some packet);
      turns 5)
    order;
  push None;
  turns 5;
  let served = Lwt.poll (Lwt_mvar.take asker.served) in
  Printf.printf "served: %d\n" (Option.value served ~default:0)

let () =
  if Array.length Sys.argv > 2 then begin
    let buffer = MProf_unix.mmap_buffer ~size:262144 Sys.argv.(2) in
    MProf.Trace.Control.(start (make buffer MProf_unix.timestamper))
  end;
  let answer = Answer "00:16:3e:00:00:0a" in
  run (if Sys.argv.(1) = "bad" then [ answer; Acknowledgement ] else [ Acknowledgement; answer ]);
  if MProf.Trace.dropped () > 0 then failwith "events were dropped"
