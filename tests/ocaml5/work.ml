(* Two domains beside the main one, collections of all kinds, and user events of all types. With the
   argument "hold" the program says so in the middle and waits for a line. *)
module E = Runtime_events

type E.User.tag += Tag

let text =
  E.Type.register
    ~encode:(fun bytes s -> Bytes.blit_string s 0 bytes 0 (String.length s); String.length s)
    ~decode:(fun bytes n -> Bytes.sub_string bytes 0 n)

let begun = E.User.register "begun" Tag E.Type.unit
let round = E.User.register "round" Tag E.Type.int
let step = E.User.register "step" Tag E.Type.span
let note = E.User.register "note" Tag text

type tree = Leaf | Node of tree * int * tree

let rec build n = if n = 0 then Leaf else Node (build (n - 1), n, build (n - 1))
let rec sum = function Leaf -> 0 | Node (l, n, r) -> sum l + n + sum r
let kept = Atomic.make Leaf

let work ~rounds name () =
  E.User.write begun ();
  for i = 1 to rounds do
    E.User.write round i;
    E.User.write step E.Type.Begin;
    let tree = build 12 in
    Atomic.set kept tree;
    ignore (Sys.opaque_identity (sum (build 11)));
    ignore (Sys.opaque_identity (Array.make 4000 tree));
    E.User.write step E.Type.End;
    if i mod 4 = 0 then Gc.minor ();
    if i mod 7 = 0 then ignore (Gc.major_slice 0)
  done;
  E.User.write note (name ^ " is done")

let hold () =
  if Array.length Sys.argv > 1 && Sys.argv.(1) = "hold" then begin
    E.User.write note "holding";
    print_endline "holding";
    ignore (read_line ())
  end

let () =
  let one = Domain.spawn (work ~rounds:20 "one") in
  let two = Domain.spawn (work ~rounds:12 "two") in
  work ~rounds:8 "main" ();
  Domain.join one;
  Gc.full_major ();
  hold ();
  Domain.join two;
  let three = Domain.spawn (work ~rounds:4 "three") in
  Domain.join three;
  Gc.compact ();
  E.User.write note "end"
