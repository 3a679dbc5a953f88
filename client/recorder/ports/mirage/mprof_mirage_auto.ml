(* A unikernel that links this library records from its start, without a line of code. *)
let () = Mprof_mirage.start ()
