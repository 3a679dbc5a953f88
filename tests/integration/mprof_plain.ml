(* Record without Lwt, for the tests of the OCaml port: mprof_plain FILE *)

let counter = MProf.Counter.create ~init:5 ~name:"jobs" ()

let refused f =
  match f () with () -> failwith "not refused" | exception (Invalid_argument _ | Failure _) -> ()

let record path =
  let control = MProf.Trace.Control.make (MProf_unix.mmap_buffer ~size:65536 path) MProf_unix.timestamper in
  MProf.Trace.label "before the start";
  MProf.Trace.Control.start control;
  MProf.Trace.label "begin";
  MProf.Counter.increase counter 2;
  MProf.Trace.note_increase "steps" (-3);
  Gc.full_major ();
  MProf.Trace.note_hiatus MProf.Trace.Wait_for_work;
  MProf.Trace.note_resume ();
  (match Unix.fork () with
  | 0 ->
      MProf.Trace.label "in the child";
      Unix._exit 0
  | pid -> ignore (Unix.waitpid [] pid));
  let id = MProf.Trace.new_id () in
  MProf.Trace.note_created id MProf.Trace.Mutex;
  MProf.Trace.note_resolved id ~ex:(Some (Failure "late"));
  MProf.Trace.label "a\000b";
  assert (MProf.Trace.dropped () = 1);
  MProf.Trace.label "end";
  MProf.Trace.Control.stop control;
  MProf.Trace.label "behind the end"

let () =
  refused (fun () -> ignore (MProf_unix.mmap_buffer ~size:65536 "/nonexistent/ring"));
  refused (fun () ->
      MProf.Trace.Control.(start (make (Bigarray.Array1.create Bigarray.char Bigarray.c_layout 100) MProf_unix.timestamper)));
  record Sys.argv.(1);
  record Sys.argv.(2);
  assert (MProf.Counter.value counter = 9)
