(* domains FIRST SECOND: record with MProf under OCaml 5. The main domain records into the ring file FIRST, while four others call
   the same functions; then another domain records into SECOND. The output is what each ring has to hold, line by line. *)

module Trace = MProf.Trace

let turns = 3000

let refused f =
  match f () with () -> failwith "not refused" | exception Invalid_argument _ -> ()

let control path = Trace.Control.make (MProf_unix.mmap_buffer ~size:4_000_000 path) MProf_unix.timestamper

(* Let the collectors of all domains work. *)
let garbage = Array.make 8 []
let allocate slot i = garbage.(slot) <- (if i mod 100 = 0 then [] else String.make 50 'x' :: garbage.(slot))

let begun = Atomic.make 0
let ended = Atomic.make false

(* A domain that does not record, and may call everything, for as long as another one records. *)
let bystander slot () =
  let mine = MProf.Counter.create ~name:"bystander" () in
  let i = ref 0 in
  Atomic.incr begun;
  while !i < turns || not (Atomic.get ended) do
    incr i;
    let i = !i in
    let id = Trace.new_id () in
    Trace.note_created id Trace.Bind;
    Trace.label "bystander";
    Trace.note_hiatus Trace.Wait_for_work;
    Trace.note_resume ();
    Trace.note_switch id;
    MProf.Counter.increase mine i;
    Trace.note_resolved id ~ex:(Some Exit);
    allocate slot i;
    assert (Trace.current () = -1);
    if i mod 500 = 0 then refused (fun () -> Trace.Control.stop (Obj.magic ()))
  done;
  assert (MProf.Counter.value mine = !i * (!i + 1) / 2)

(* Record, and print what was recorded. *)
let record ring name =
  let say format = Printf.ksprintf (fun line -> Printf.printf "%s %s\n" ring line) format in
  say "creates -1 0 Task";
  say "label 0 main";
  say "switch 0";
  let ids = Hashtbl.create turns in
  let jobs = MProf.Counter.create ~init:5 ~name () in
  for i = 1 to turns do
    let id = Trace.new_id () in
    assert (not (Hashtbl.mem ids id));
    Hashtbl.add ids id ();
    Trace.note_created id Trace.Map;
    say "creates 0 %d Map" id;
    MProf.Counter.increase jobs 2;
    say "counter 0 %d %s" (5 + (2 * i)) name;
    Trace.note_increase "steps" (-i);
    say "increase 0 %d steps" (-i);
    Trace.note_hiatus Trace.Wait_for_work;
    say "switch -1";
    Trace.note_resume ();
    say "switch 0";
    allocate 7 i;
    if i mod 2 = 0 then begin
      Trace.note_resolved id ~ex:None;
      say "fulfills 0 %d" id
    end
    else begin
      Trace.note_resolved id ~ex:(Some (Failure name));
      say "fails 0 %d Failure(%S)" id name
    end
  done;
  Gc.full_major ();
  assert (Trace.dropped () = 0)

let () =
  let first = control Sys.argv.(1) in
  Trace.Control.start first;
  let others = List.init 4 (fun slot -> Domain.spawn (bystander slot)) in
  while Atomic.get begun < 4 do
    Domain.cpu_relax ()
  done;
  record "first" "jobs";
  Atomic.set ended true;
  List.iter Domain.join others;
  refused (fun () -> Domain.join (Domain.spawn (fun () -> Trace.Control.start (control "refused.ctf"))));
  Trace.Control.stop first;
  Trace.label "nowhere";
  let second = control Sys.argv.(2) in
  Domain.join
    (Domain.spawn (fun () ->
         Trace.Control.start second;
         record "second" "other jobs";
         Trace.Control.stop second))
