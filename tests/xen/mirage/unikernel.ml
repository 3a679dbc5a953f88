(* A unikernel that counts, and ends as standard input says. Its console is standard output. *)

open Lwt.Infix

exception Broken of string

let () = Printexc.register_printer (function Broken text -> Some ("Broken: " ^ text) | _ -> None)

external solo5_abort : unit -> unit = "stand_in_abort"

let say format = Printf.printf (format ^^ "\n%!")
let served = MProf.Counter.create ~name:"served" ()
let free () = Xen_os.Xen.Export.num_free_grants ()

let serve count =
  for _ = 1 to count do
    MProf.Counter.increase served 1
  done

(* [stop] withdraws the ring, and [start] makes another one. *)
let rec obey ~start ~stop =
  say "ready %d" (free ());
  Xen_os.Stand_in.line () >>= fun line ->
  match String.split_on_char ' ' line with
  | [ "serve"; count ] ->
      serve (int_of_string count);
      obey ~start ~stop
  | [ "stop" ] -> stop () >>= fun () -> obey ~start ~stop
  | [ "start" ] ->
      start ();
      Lwt.pause () >>= fun () -> obey ~start ~stop
  | [ "return" ] | [ "" ] -> Lwt.return_unit
  | [ "exit"; status ] -> exit (int_of_string status)
  | [ "raise" ] -> raise (Broken "a pipe")
  | [ "nul" ] -> failwith "a\000b"
  | [ "async" ] ->
      Lwt.async (fun () -> Lwt.pause () >>= fun () -> Lwt.fail (Broken "a promise"));
      fst (Lwt.wait ())
  | [ "harmless" ] ->
      (* A hook of the unikernel's own that goes on. *)
      let earlier = !Lwt.async_exception_hook in
      Lwt.async_exception_hook := ignore;
      Lwt.async (fun () -> Lwt.fail (Broken "nothing"));
      Lwt.async_exception_hook := earlier;
      obey ~start ~stop
  | [ "abort" ] ->
      solo5_abort ();
      Lwt.return_unit
  | _ -> failwith line

(* As mirage's generated main module does. *)
let main ~start ~stop =
  let words = String.split_on_char ' ' (Option.value (Sys.getenv_opt "STAND_IN_COMMAND_LINE") ~default:"") in
  let argv = Array.of_list ("unikernel" :: List.filter (( <> ) "") words) in
  Mirage_runtime.with_argv (Mirage_runtime.runtime_args ()) "unikernel" argv;
  Xen_os.Main.run (obey ~start ~stop);
  exit 0
