(* Binds as Lwt 6's lwt_ppx makes them, with the file and the line of each: located FILE. It is compiled with such an Lwt
   alone. *)

let add ex = ex
let print result = print_endline (match result with Ok text -> text | Error ex -> Printexc.to_string ex)

let () =
  let buffer = MProf_unix.mmap_buffer ~size:262144 Sys.argv.(1) in
  MProf.Trace.Control.(start (make buffer MProf_unix.timestamper));
  let p, u = Lwt.wait () in
  let never, _ = Lwt.wait () in
  let bound = Lwt.backtrace_bind "shop.ml" 12 add p (fun x -> Lwt.return (x ^ "!")) in
  let caught =
    Lwt.backtrace_catch "shop.ml" 17 add
      (fun () -> Lwt.backtrace_bind "shop.ml" 18 add bound (fun _ -> failwith "sold out"))
      (fun ex -> Lwt.return (Printexc.to_string ex))
  in
  let final = Lwt.backtrace_finalize "shop.ml" 23 add (fun () -> caught) (fun () -> Lwt.return_unit) in
  let tried =
    Lwt.backtrace_try_bind "shop.ml" 27 add (fun () -> final) (fun x -> Lwt.fail_with x) (fun ex -> Lwt.fail ex)
  in
  let hangs = Lwt.backtrace_bind "shop.ml" 31 add never Lwt.return in
  (* Only a thread that the bind makes is named after it: this promise is another's. *)
  let named = Mprof_lwt.MProf.Trace.named_thread "user's" (fst (Lwt.wait ())) in
  let same = Lwt.backtrace_catch "shop.ml" 35 add (fun () -> Lwt.fail Exit) (fun _ -> named) in
  Mprof_lwt.MProf.Trace.should_resolve hangs;
  Lwt.wakeup u "one";
  print (match Lwt.state tried with Lwt.Return () -> Ok "?" | Lwt.Fail ex -> Error ex | Lwt.Sleep -> Ok "asleep");
  assert (Lwt.state same = Lwt.Sleep)
