(* Test the table by identity of the OCaml port, while blocks move and die. *)

let dummy = -1
let blocks = 5000

let check table live =
  Array.iteri (fun i block -> match block with Some b -> assert (Mprof_table.find table b = Some i) | None -> ()) live

let round table live collect =
  for i = 0 to blocks - 1 do
    if live.(i) = None then begin
      let b = ref i in
      assert (Mprof_table.find table b = None);
      Mprof_table.add table b i;
      live.(i) <- Some b
    end
  done;
  check table live;
  collect ();
  check table live;
  (* Some blocks die, and others are allocated at their addresses. *)
  Array.iteri (fun i _ -> if Random.int 3 = 0 then live.(i) <- None) live;
  collect ();
  check table live;
  for _ = 1 to 2000 do
    assert (Mprof_table.find table (ref 0) = None)
  done

let () =
  Random.init 7;
  let table = Mprof_table.create dummy and live = Array.make blocks None in
  List.iter
    (fun collect ->
      for _ = 1 to 5 do
        round table live collect
      done)
    [ ignore; Gc.minor; Gc.full_major; Gc.compact; (fun () -> ignore (Sys.opaque_identity (Array.make 100000 0))) ];
  print_endline "ok"
