(* A stand-in for mirage-sleep 4.1.0: its whole interface. *)

val ns : int64 -> unit Lwt.t

type t = { time : int64; mutable canceled : bool; thread : unit Lwt.u }

val new_sleepers : unit -> t list
