(* A stand-in for io-page 3.0.0: the functions that mprof-mirage uses. *)

type t = private (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t

val page_size : int
val get : int -> t
val to_pages : t -> t list
