(* A hash table by address. A block moves when a minor collection promotes it, and when the heap is compacted. So the
   blocks that were added since the last minor collection are indexed again after it, and all blocks after a
   compaction. A small block that is allocated for this purpose, the sentinel, has another address after each minor
   collection.

   Places are numbers. A place has a weak pointer to its block, the address under which it is indexed, and the next place
   of its chain, or of the list of free places; -1 ends both. *)

external address : Obj.t -> int = "mprof_ocaml_address" [@@noalloc]

type 'a t = {
  dummy : 'a;
  mutable blocks : Obj.t Weak.t;
  mutable values : 'a array;
  mutable addresses : int array;
  mutable next : int array;
  mutable heads : int array;
  mutable free : int;
  mutable young : int list;
  mutable sentinel : int ref;
  mutable sentinel_at : int;
  mutable compactions : int;
}

let first_size = 1024

let create dummy =
  {
    dummy;
    blocks = Weak.create first_size;
    values = Array.make first_size dummy;
    addresses = Array.make first_size 0;
    next = Array.init first_size (fun i -> if i + 1 < first_size then i + 1 else -1);
    heads = Array.make first_size (-1);
    free = 0;
    young = [];
    sentinel = ref 0;
    sentinel_at = 0;
    compactions = 0;
  }

let chain t a = (a lsr 2) * 0x9e3779b97f4a7c lsr 20 land (Array.length t.heads - 1)

let link t i =
  let h = chain t t.addresses.(i) in
  t.next.(i) <- t.heads.(h);
  t.heads.(h) <- i

let unlink t i =
  let h = chain t t.addresses.(i) in
  if t.heads.(h) = i then t.heads.(h) <- t.next.(i)
  else begin
    let before = ref t.heads.(h) in
    while t.next.(!before) <> i do
      before := t.next.(!before)
    done;
    t.next.(!before) <- t.next.(i)
  end

let release t i =
  t.values.(i) <- t.dummy;
  t.addresses.(i) <- 0;
  t.next.(i) <- t.free;
  t.free <- i

(* Index the block of place I under its present address, or free the place if the block is gone. *)
let index_again t i =
  if t.addresses.(i) <> 0 then begin
    unlink t i;
    match Weak.get t.blocks i with
    | None -> release t i
    | Some block ->
        t.addresses.(i) <- address block;
        link t i
  end

let index_all t =
  for i = 0 to Array.length t.addresses - 1 do
    index_again t i
  done

let rec sync t =
  if address (Obj.repr t.sentinel) <> t.sentinel_at then begin
    t.sentinel <- ref (Sys.opaque_identity 0);
    t.sentinel_at <- address (Obj.repr t.sentinel);
    let young = t.young and compactions = (Gc.quick_stat ()).Gc.compactions in
    t.young <- [];
    if compactions <> t.compactions then begin
      t.compactions <- compactions;
      index_all t
    end
    else List.iter (index_again t) young;
    sync t
  end

let rec find_place t block =
  sync t;
  let a = address block in
  let rec walk i =
    if i < 0 then -1
    else if t.addresses.(i) = a && match Weak.get t.blocks i with Some b -> b == block | None -> false then i
    else walk t.next.(i)
  in
  let i = walk t.heads.(chain t a) in
  (* A collection between the two first steps moved the block: look again. *)
  if i < 0 && address (Obj.repr t.sentinel) <> t.sentinel_at then find_place t block else i

let find t block =
  let i = find_place t (Obj.repr block) in
  if i < 0 then None else Some t.values.(i)

(* Free the places of blocks that are gone. If few were, double the table. *)
let make_room t =
  let size = Array.length t.addresses in
  sync t;
  let freed = ref 0 in
  for i = 0 to size - 1 do
    if not (Weak.check t.blocks i) && t.addresses.(i) <> 0 then begin
      unlink t i;
      release t i;
      incr freed
    end
  done;
  if !freed < size / 2 then begin
    let larger = 2 * size in
    let extend array fill = Array.append array (Array.make size fill) in
    let blocks = Weak.create larger in
    Weak.blit t.blocks 0 blocks 0 size;
    t.blocks <- blocks;
    t.values <- extend t.values t.dummy;
    t.addresses <- extend t.addresses 0;
    t.next <- extend t.next (-1);
    t.heads <- Array.make larger (-1);
    for i = size to larger - 1 do
      t.next.(i) <- t.free;
      t.free <- i
    done;
    for i = 0 to size - 1 do
      if t.addresses.(i) <> 0 then link t i
    done
  end

let add t block value =
  let block = Obj.repr block in
  if t.free < 0 then make_room t;
  sync t;
  let i = t.free in
  t.free <- t.next.(i);
  t.values.(i) <- value;
  Weak.set t.blocks i (Some block);
  (* The block may be promoted here; then the sentinel moves, too, and the place is indexed again. *)
  t.young <- i :: t.young;
  t.addresses.(i) <- address block;
  link t i
