(* Print the events of DIRECTORY/PID.events as OCaml's own reader has them, ring by ring:
   events DIRECTORY PID. The custom events "note" are texts. *)
module E = Runtime_events

type E.User.tag += Tag

let text =
  E.Type.register
    ~encode:(fun bytes s -> Bytes.blit_string s 0 bytes 0 (String.length s); String.length s)
    ~decode:(fun bytes n -> Bytes.sub_string bytes 0 n)

let () =
  let cursor = E.create_cursor (Some (Sys.argv.(1), int_of_string Sys.argv.(2))) in
  ignore (E.User.register "note" Tag text);
  let say ring time what = Printf.printf "%d %Ld %s\n" ring (E.Timestamp.to_int64 time) what in
  let callbacks =
    E.Callbacks.create
      ~runtime_begin:(fun ring time phase -> say ring time ("begin " ^ E.runtime_phase_name phase))
      ~runtime_end:(fun ring time phase -> say ring time ("end " ^ E.runtime_phase_name phase))
      ~runtime_counter:(fun ring time counter value ->
        say ring time (Printf.sprintf "counter %s %d" (E.runtime_counter_name counter) value))
      ~lifecycle:(fun ring time event number ->
        say ring time
          (Printf.sprintf "lifecycle %s %d" (E.lifecycle_name event) (Option.value number ~default:0)))
      ~lost_events:(fun ring words -> Printf.printf "%d lost %d\n" ring words)
      ()
    |> E.Callbacks.add_user_event E.Type.unit (fun ring time event () ->
           say ring time ("unit " ^ E.User.name event))
    |> E.Callbacks.add_user_event E.Type.int (fun ring time event value ->
           say ring time (Printf.sprintf "int %s %d" (E.User.name event) value))
    |> E.Callbacks.add_user_event E.Type.span (fun ring time event value ->
           let what = match value with E.Type.Begin -> "enter " | E.Type.End -> "leave " in
           say ring time (what ^ E.User.name event))
    |> E.Callbacks.add_user_event text (fun ring time event value ->
           say ring time (Printf.sprintf "text %s %s" (E.User.name event) value))
  in
  while E.read_poll cursor callbacks None > 0 do
    ()
  done;
  E.free_cursor cursor
