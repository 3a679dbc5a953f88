(* A table from blocks to values, which finds a block by its identity and does not keep it alive. *)

type 'a t

val create : 'a -> 'a t
(** [create dummy] is an empty table; [dummy] fills unused places. *)

val find : 'a t -> 'b -> 'a option
(** The value of a block. *)

val add : 'a t -> 'b -> 'a -> unit
(** Add a block that the table does not have. The block is not an immediate value. *)
