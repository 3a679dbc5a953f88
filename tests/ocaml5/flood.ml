(* Write numbered user events at full speed, far more than the ring holds: flood NUMBER. *)
module E = Runtime_events

type E.User.tag += Tag

let number = E.User.register "number" Tag E.Type.int

let () =
  for i = 1 to int_of_string Sys.argv.(1) do
    E.User.write number i
  done
