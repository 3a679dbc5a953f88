(* ocaml_shop BYTES COUNT: a program that publishes a ring of its own to domain 0, for publish.py. It counts orders, says `ready`
   and reads what to do: a number of orders to count; `again`, to withdraw the ring and make another one; `end`. *)

let orders = MProf.Counter.create ~name:"orders" ()

let refused f =
  match f () with () -> failwith "not refused" | exception Invalid_argument _ -> ()

let share bytes =
  let buffer = MProf_xen.make_shared_buffer ~size:bytes in
  refused (fun () -> MProf_xen.share_with ~name:"shop" buffer);
  MProf.Trace.Control.(start (make buffer MProf_xen.timestamper));
  refused (fun () -> MProf_xen.share_with ~name:"" buffer);
  refused (fun () -> MProf_xen.share_with ~name:"shop" (Bigarray.Array1.create Bigarray.char Bigarray.c_layout 4096));
  refused (fun () -> ignore (MProf_xen.make_shared_buffer ~size:bytes));
  MProf_xen.share_with ~name:"shop" buffer

let count_orders count =
  for i = 1 to count do
    MProf.Counter.set_value orders i
  done

let rec obey bytes =
  Printf.printf "ready %d\n%!" (MProf.Trace.dropped ());
  match read_line () with
  | "end" -> ()
  | "again" ->
      MProf_xen.withdraw ();
      MProf_xen.withdraw ();
      MProf.Trace.label "nowhere";
      share bytes;
      MProf.Trace.label "again";
      obey bytes
  | count ->
      count_orders (int_of_string count);
      obey bytes

let () =
  let bytes = int_of_string Sys.argv.(1) and count = int_of_string Sys.argv.(2) in
  refused (fun () -> ignore (MProf_xen.make_shared_buffer ~size:0));
  refused (fun () -> ignore (MProf_xen.make_shared_buffer ~size:((256 * 1024 * 1024) + 1)));
  share bytes;
  count_orders count;
  (* A child records nothing, and its end withdraws nothing. *)
  (match Unix.fork () with
  | 0 ->
      MProf.Trace.label "child";
      MProf_xen.withdraw ();
      exit 0
  | pid -> assert (Unix.waitpid [] pid = (pid, Unix.WEXITED 0)));
  obey bytes
