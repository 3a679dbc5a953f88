(* Fork a child, which collects and ends; then execute this program anew, which collects and ends. *)
module E = Runtime_events

type E.User.tag += Tag

let who = E.User.register "who" Tag E.Type.int

let () =
  if Array.length Sys.argv > 1 then begin
    E.User.write who 3;
    Gc.full_major ()
  end
  else begin
    E.User.write who 1;
    match Unix.fork () with
    | 0 ->
        E.User.write who 2;
        Gc.full_major ();
        exit 0
    | child ->
        ignore (Unix.waitpid [] child);
        Printf.printf "%d\n%!" child;
        Unix.execv Sys.executable_name [| Sys.executable_name; "again" |]
  end
