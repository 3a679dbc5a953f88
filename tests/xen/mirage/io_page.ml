type t = (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t

external allocate : int -> t = "stand_in_pages"

let page_size = 4096
let get pages = if pages < 1 then raise Out_of_memory else allocate pages
let to_pages block = List.init (Bigarray.Array1.dim block / page_size) (fun i -> Bigarray.Array1.sub block (i * page_size) page_size)
