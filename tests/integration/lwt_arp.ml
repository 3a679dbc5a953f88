(* The lost ARP reply, for the tests of the OCaml port: lwt_arp good|bad FILE

   A program asks for a hardware address. When the ring has acknowledged the question, it waits for the answer, on a
   condition. In the bad run the answer comes together with the acknowledgement, and is handled first. *)

open Mprof_lwt
open Mprof_lwt_unix
open Lwt.Infix

type packet = Answer of string | Acknowledgement | End

let response = lazy (MProf.Trace.named_condition "ARP response")
let received = MProf.Counter.create ~name:"packets received" ()

let rec network packets acknowledge =
  Lwt_stream.next packets >>= fun packet ->
  MProf.Counter.increase received 1;
  match packet with
  | End -> Lwt.return_unit
  | Acknowledgement ->
      Lwt.wakeup acknowledge ();
      network packets acknowledge
  | Answer mac ->
      MProf.Trace.label "arp.input";
      Lwt_condition.signal (Lazy.force response) mac;
      network packets acknowledge

let ask written = written >>= fun () -> Lwt_condition.wait (Lazy.force response)

let run bad =
  let packets, push = Lwt_stream.create () in
  let written, acknowledge = MProf.Trace.named_task "ring.write" in
  Lwt.async (fun () ->
      MProf.Trace.label "network";
      network packets acknowledge);
  let connection = ask written >|= fun mac -> print_endline mac in
  MProf.Trace.should_resolve (MProf.Trace.named_thread "TCP connect" connection);
  Lwt_unix.sleep 0.01 >>= fun () ->
  if bad then push (Some (Answer "00:16:3e:00:00:01"));
  Lwt_unix.sleep 0.01 >>= fun () ->
  push (Some Acknowledgement);
  Lwt_unix.sleep 0.01 >>= fun () ->
  if not bad then push (Some (Answer "00:16:3e:00:00:01"));
  push (Some End);
  Lwt_unix.sleep 0.01 >>= fun () -> if bad then Lwt.return_unit else connection

let () =
  let control = MProf.Trace.Control.make (MProf_unix.mmap_buffer ~size:262144 Sys.argv.(2)) MProf_unix.timestamper in
  MProf.Trace.Control.start control;
  Lwt_main.run (run (Sys.argv.(1) = "bad"));
  if MProf.Trace.dropped () > 0 then failwith "events were dropped";
  MProf.Trace.Control.stop control
