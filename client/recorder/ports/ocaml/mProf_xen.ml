external make : int -> MProf.Trace.log_buffer = "mprof_ocaml_xen_make"
external share : string -> MProf.Trace.log_buffer -> unit = "mprof_ocaml_xen_share"
external has_ring : unit -> bool = "mprof_ocaml_xen_has_ring"
external release : unit -> unit = "mprof_ocaml_xen_withdraw"

let shared = ref None
let timestamper = MProf.Trace.monotonic

let make_shared_buffer ~size =
  let buffer = make size in
  shared := Some buffer;
  buffer

let withdraw () =
  match !shared with
  | Some buffer when has_ring () ->
      MProf.Trace.Control.(stop (make buffer timestamper));
      release ();
      shared := None
  | _ -> ()

let share_with ~name buffer =
  share name buffer;
  at_exit (fun () -> try withdraw () with Failure _ | Invalid_argument _ -> ())
