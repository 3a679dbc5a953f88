(* A unikernel that starts and stops the recorder by itself. *)
let start () =
  Mprof_mirage.start ~pages:16 ~name:"main ring" ();
  Mprof_mirage.start ~pages:8 ()

let () =
  start ();
  Unikernel.main ~start ~stop:Mprof_mirage.stop
