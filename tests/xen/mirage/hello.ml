(* The unikernel of docs/tutorial-mirage.md, which ends when standard input says so. *)
let () =
  Lwt.async Tutorial.start;
  Unikernel.main ~start:ignore ~stop:(fun () -> Lwt.return_unit)
