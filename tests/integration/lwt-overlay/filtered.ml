(* The exceptions that Lwt's filter excludes pass through the functions that catch others: filtered FILE. Lwt has the
   filter since 5.7. *)

let () =
  let buffer = MProf_unix.mmap_buffer ~size:262144 Sys.argv.(1) in
  MProf.Trace.Control.(start (make buffer MProf_unix.timestamper));
  Lwt.Exception_filter.(set handle_all_except_runtime);
  let raises () = raise Out_of_memory in
  let passes f = match f () with _ -> false | exception Out_of_memory -> true in
  assert (passes (fun () -> Lwt.catch raises Lwt.fail));
  assert (passes (fun () -> Lwt.try_bind raises Lwt.return Lwt.fail));
  assert (passes (fun () -> Lwt.finalize raises Lwt.return))
