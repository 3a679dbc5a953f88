(* A unikernel without a line about the recorder. *)
let () = Unikernel.main ~start:ignore ~stop:(fun () -> Lwt.return_unit)
