(* A guest with a memory profile: allocates what it says, and writes what Gc.Memprof samples of it as a memtrace stream of version 2.

     profiled serve           offer it on a port of 127.0.0.1, which is printed, to one client at a time, until standard input ends
     profiled connect PORT N  connect to 127.0.0.1 and send that of N slices of work

   For each stream a line says how many words, headers included, each function allocated while it was sampled. *)

let rate = 1e-3

(* ---- work: each function allocates with one call, and counts what that takes ---- *)

let words = Hashtbl.create 8
let count name n = Hashtbl.replace words name (n + try Hashtbl.find words name with Not_found -> 0)
let kept : int array list ref = ref []

let[@inline never] young () =
  for _ = 1 to 2000 do
    ignore (Sys.opaque_identity (Bytes.create 56))
  done;
  count "young" (2000 * 9)

let[@inline never] keep () = Array.make 199 0

let[@inline never] keeping () =
  for _ = 1 to 10 do
    kept := keep () :: !kept
  done;
  count "keep" (10 * 200)

let[@inline never] large () =
  for _ = 1 to 5 do
    ignore (Sys.opaque_identity (Bytes.create 8000))
  done;
  count "large" (5 * 1002)

let rec deep n f = if n = 0 then f () else 1 + deep (n - 1) f

let slice i =
  young ();
  keeping ();
  ignore (deep (i mod 40) (fun () -> large (); 0))

(* ---- the stream ---- *)

let header = 66
let room = 32768

type stream = {
  socket : Unix.file_descr;
  events : Buffer.t; (* of the packet that is being made, without its header *)
  places : Buffer.t;
  mutable begun : int; (* microseconds, of the packet's first event; 0 = it has none *)
  mutable last : int;
  mutable first_id : int;
  mutable next_id : int;
  mutable n_places : int;
  told : (int, unit) Hashtbl.t; (* codes that were explained *)
  loc : int array;
  pred : int array;
  mutable stack : int array; (* caller first *)
  mutable probe : int;
  files : (string * string list ref) list ref; (* most recent first *)
}

let now () = int_of_float (Unix.gettimeofday () *. 1e6)

let write_packet s time_begin time_end first last (ix, pred, value) body =
  let b = Buffer.create (header + Buffer.length body) in
  Buffer.add_int32_le b 0xC1FC1FC1l;
  Buffer.add_int32_le b (Int32.of_int ((header + Buffer.length body) * 8));
  Buffer.add_int64_le b (Int64.of_int time_begin);
  Buffer.add_int64_le b (Int64.of_int time_end);
  Buffer.add_int32_le b 0l;
  Buffer.add_int16_le b 2;
  Buffer.add_int64_le b (-1L);
  Buffer.add_int16_le b ix;
  Buffer.add_int16_le b pred;
  Buffer.add_int64_le b (Int64.of_int value);
  Buffer.add_int64_le b (Int64.of_int first);
  Buffer.add_int64_le b (Int64.of_int last);
  Buffer.add_buffer b body;
  let bytes = Buffer.to_bytes b in
  assert (Bytes.length bytes <= room);
  let rec go at =
    if at < Bytes.length bytes then go (at + Unix.write s.socket bytes at (Bytes.length bytes - at))
  in
  go 0;
  Buffer.clear body

let no_check = (0xFFFF, 0, 0)
let event b time id = Buffer.add_int32_le b (Int32.of_int (time land 0x1FFFFFF lor (id lsl 25)))
let text b s = Buffer.add_string b s; Buffer.add_char b '\000'

let vint b n =
  if n >= 0 && n <= 252 then Buffer.add_uint8 b n
  else if n >= 0 && n <= 0xFFFF then (Buffer.add_uint8 b 253; Buffer.add_uint16_le b n)
  else if n >= 0 && n <= 0x7FFFFFFF then (Buffer.add_uint8 b 254; Buffer.add_int32_le b (Int32.of_int n))
  else (Buffer.add_uint8 b 255; Buffer.add_int64_le b (Int64.of_int n))

let flush s =
  if s.n_places > 0 then write_packet s s.begun s.begun s.first_id s.first_id no_check s.places;
  s.n_places <- 0;
  if s.begun > 0 then begin
    let check = if s.first_id = 0 then no_check else (s.probe, s.pred.(s.probe), s.loc.(s.probe)) in
    write_packet s s.begun s.last s.first_id s.next_id check s.events;
    s.probe <- (s.probe + 5413) mod 16384
  end;
  s.begun <- 0;
  s.first_id <- s.next_id

(* The time of an event that is written now, in a packet with room for it. *)
let begin_event s =
  let time = max (now ()) s.last in
  if Buffer.length s.events > room - header - 4196 || s.n_places > 128 || (s.begun > 0 && time - s.begun > 30_000_000)
  then flush s;
  if s.begun = 0 then s.begun <- time;
  s.last <- time;
  time

(* Move to the front: where it was, or 31 = it was not. *)
let rec index name i = function
  | [] -> 31
  | x :: _ when name x -> i
  | _ :: rest -> index name (i + 1) rest

let take n l = List.filteri (fun i _ -> i < n) l

let place s (file, name, line, first, last) =
  let b = s.places in
  let f = index (fun (x, _) -> x = file) 0 !(s.files) in
  let entry = if f < 31 then List.nth !(s.files) f else (file, ref []) in
  s.files := take 31 (entry :: List.filter (fun (x, _) -> x <> file) !(s.files));
  let names = snd entry in
  let d = index (fun x -> x = name) 0 !names in
  names := take 31 (name :: List.filter (fun x -> x <> name) !names);
  let clamp n most = if n < 0 || n > most then most else n in
  let word =
    clamp line 0xFFFFF lor (clamp first 0xFF lsl 20) lor (clamp last 0x3FF lsl 28) lor (f lsl 38) lor (d lsl 43)
  in
  Buffer.add_int32_le b (Int32.of_int (word land 0xFFFFFFFF));
  Buffer.add_uint16_le b (word lsr 32);
  if f = 31 then text b file;
  if d = 31 then text b name

let explain s time (code : Printexc.raw_backtrace_entry) =
  if not (Hashtbl.mem s.told (Obj.magic code)) then begin
    Hashtbl.add s.told (Obj.magic code) ();
    let slots = match Printexc.backtrace_slots_of_raw_entry code with None -> [||] | Some slots -> slots in
    let of_slot slot =
      let name = Option.value (Printexc.Slot.name slot) ~default:"??" in
      match Printexc.Slot.location slot with
      | Some l -> Some (l.filename, name, l.line_number, l.start_char, l.end_char)
      | None -> None
    in
    let places = List.rev (List.filter_map of_slot (Array.to_list slots)) in
    event s.places time 1;
    Buffer.add_int64_le s.places (Int64.of_int (Obj.magic code : int));
    Buffer.add_uint8 s.places (List.length places);
    List.iter (place s) places;
    s.n_places <- s.n_places + 1
  end

let codewords s out from stack =
  let prev = ref 0 and n = ref 0 in
  for i = from to Array.length stack - 1 do
    let code = stack.(i) in
    let bucket = Hashtbl.hash code land 16383 in
    s.pred.(!prev) <- bucket;
    if s.loc.(bucket) = code then Buffer.add_uint16_le out (bucket lsl 2)
    else begin
      Buffer.add_uint16_le out ((bucket lsl 2) lor 3);
      Buffer.add_int64_le out (Int64.of_int code);
      s.loc.(bucket) <- code
    end;
    prev := bucket;
    incr n
  done;
  !n

let alloc s source (info : Gc.Memprof.allocation) =
  let time = begin_event s in
  let entries = Printexc.raw_backtrace_entries info.callstack in
  let deepest = Array.length entries - 1 in
  let stack = Array.init (deepest + 1) (fun i -> (Obj.magic entries.(deepest - i) : int)) in
  Array.iter (explain s time) entries;
  let rec common i = if i < Array.length stack && i < Array.length s.stack && stack.(i) = s.stack.(i) then common (i + 1) else i in
  let prefix = common 0 in
  let coded = Buffer.create 64 in
  let n = codewords s coded prefix stack in
  s.stack <- stack;
  if info.size >= 1 && info.size <= 16 && info.n_samples = 1 && source = 0 && n < 256 then begin
    event s.events time (100 + info.size);
    vint s.events prefix;
    Buffer.add_uint8 s.events n
  end else begin
    event s.events time 2;
    vint s.events info.size;
    vint s.events info.n_samples;
    Buffer.add_uint8 s.events source;
    vint s.events prefix;
    Buffer.add_uint16_le s.events n
  end;
  Buffer.add_buffer s.events coded;
  s.next_id <- s.next_id + 1;
  s.next_id - 1

let later s id what =
  let time = begin_event s in
  event s.events time what;
  vint s.events (s.next_id - 1 - id)

let start socket =
  let s =
    { socket; events = Buffer.create room; places = Buffer.create room; begun = 0; last = now (); first_id = 0; next_id = 0;
      n_places = 0; told = Hashtbl.create 100; loc = Array.make 16384 0; pred = Array.make 16384 0; stack = [||]; probe = 4242;
      files = ref [] }
  in
  let b = Buffer.create 200 in
  event b s.last 0;
  Buffer.add_int64_le b (Int64.bits_of_float rate);
  Buffer.add_uint8 b 64;
  text b "profiled";
  text b "mirage_unikernel";
  text b (Sys.runtime_parameters ());
  Buffer.add_int64_le b (-1L);
  text b "with <b>bold</b> & \"quotes\"";
  write_packet s s.last s.last 0 0 no_check b;
  Hashtbl.reset words;
  Gc.Memprof.start ~sampling_rate:rate
    { alloc_minor = (fun info -> Some (alloc s 0 info));
      alloc_major = (fun info -> Some (alloc s 1 info));
      promote = (fun id -> later s id 3; Some id);
      dealloc_minor = (fun id -> later s id 4);
      dealloc_major = (fun id -> later s id 4) };
  s

let stop s =
  Gc.Memprof.stop ();
  flush s;
  Unix.close s.socket;
  kept := [];
  let entry name = Printf.sprintf "%S: %d" name (try Hashtbl.find words name with Not_found -> 0) in
  Printf.printf "{%s}\n%!" (String.concat ", " (List.map entry [ "young"; "keep"; "large" ]))

(* ---- both ways ---- *)

let readable descriptors wait = match Unix.select descriptors [] [] wait with r, _, _ -> r

(* Work until the client says something or shuts its side; whoever else comes meanwhile is sent away. *)
let record listener client =
  let s = start client in
  let rec go i =
    slice i;
    let ready = readable [ client; listener ] 0.002 in
    if List.mem listener ready then Unix.close (fst (Unix.accept listener));
    if not (List.mem client ready) then go (i + 1)
  in
  go 0;
  ignore (Unix.read client (Bytes.create 1) 0 1);
  stop s

let serve () =
  let listener = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.bind listener (Unix.ADDR_INET (Unix.inet_addr_loopback, 0));
  Unix.listen listener 5;
  (match Unix.getsockname listener with
   | Unix.ADDR_INET (_, port) -> Printf.printf "%d\n%!" port
   | _ -> assert false);
  let rec go () =
    if not (List.mem Unix.stdin (readable [ listener; Unix.stdin ] (-1.))) then begin
      record listener (fst (Unix.accept listener));
      go ()
    end
  in
  go ()

let connect port slices =
  let socket = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.connect socket (Unix.ADDR_INET (Unix.inet_addr_loopback, port));
  let s = start socket in
  for i = 1 to slices do slice i done;
  stop s

let () =
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  match Sys.argv with
  | [| _; "serve" |] -> serve ()
  | [| _; "connect"; port; slices |] -> connect (int_of_string port) (int_of_string slices)
  | _ -> prerr_endline "Usage: profiled serve | connect PORT SLICES"; exit 2
