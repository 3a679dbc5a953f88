(* A stand-in for mirage-runtime 4.11.1: the functions that mprof-mirage, mirage-xen and a unikernel's main module use. *)

val at_exit : (unit -> unit Lwt.t) -> unit
(** The first hook registered is executed last. *)

val run_exit_hooks : unit -> unit Lwt.t
val register_arg : 'a Cmdliner.Term.t -> unit -> 'a
val with_argv : unit Cmdliner.Term.t list -> string -> string array -> unit
val runtime_args : unit -> unit Cmdliner.Term.t list
