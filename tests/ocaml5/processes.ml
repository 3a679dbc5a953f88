(* Fork a child, which collects and ends; then execute the program PATH, which does the same under another name: processes PATH. *)
module E = Runtime_events

type E.User.tag += Tag

let who = E.User.register "who" Tag E.Type.int

let () =
  match Sys.argv with
  | [| _ |] ->
      E.User.write who 3;
      Gc.full_major ()
  | _ -> (
      E.User.write who 1;
      match Unix.fork () with
      | 0 ->
          E.User.write who 2;
          Gc.full_major ();
          exit 0
      | child ->
          ignore (Unix.waitpid [] child);
          Printf.printf "%d\n%!" child;
          Unix.execv Sys.argv.(1) [| Sys.argv.(1) |])
