(* A stand-in for the library mirage-xen 9.0.0, module Xen_os: the modules that mprof-mirage and a unikernel's main module
   use, with the same signatures, for programs in a guest of tests/xen/sim.

   Sources of the facts, read in November 2026:

   - Xen_os, its modules and their C functions: mirage-xen 9.0.0 (5 February 2025), lib/xen_os.mli, lib/main.ml, lib/xen.ml,
     lib/eventchn.ml, lib/bindings/*.c. get_n_nonblock gives [] if the table is too full; grant_access raises
     Invalid_argument for a reference in use; the table has 2,048 entries, of which 8 are reserved;
     mirage_xen_evtchn_notify aborts if Xen refuses; main.ml runs the loop again in at_exit;
     mirage_xen_evtchn_block_domain takes a deadline in ns and is no wait if it has passed;
     mirage_xen_get_cmdline returns Solo5's command line
   - Xs: xenstore 2.4.0, client_lwt/xs_client_lwt.mli (xs_client_lwt.ml here)
   - Io_page: io-page 3.0.0 (5 March 2025), lib/io_page.mli
   - Mirage_sleep: mirage-sleep 4.1.0 (1 February 2025), src/mirage_sleep.mli
   - Mirage_runtime: mirage-runtime 4.11.1 (July 2026), lib_runtime/mirage_runtime.mli; register_arg exists since 4.8.0
   - solo5_clock_monotonic, solo5_console_write, solo5_abort: Solo5 0.12 (16 August 2026), include/solo5.h
   - exit calls solo5_exit, and abort calls solo5_abort: ocaml-solo5 (22 July 2026), nolibc/sysdeps_solo5.c *)

module Main : sig
  val run : unit Lwt.t -> unit
end

module Xs : sig
  include Xs_client_lwt.S
end

module Eventchn : sig
  type handle
  type t

  val to_int : t -> int
  val of_int : int -> t
  val init : unit -> handle
  val close : handle -> int
  val notify : handle -> t -> unit
  val bind_unbound_port : handle -> int -> t
  val unbind : handle -> t -> unit
end

module Xen : sig
  module Gntref : sig
    type t

    val of_string : string -> (t, [> `Msg of string ]) result
    val to_string : t -> string
    val to_int32 : t -> Int32.t
    val of_int32 : Int32.t -> t
  end

  module Export : sig
    val put : Gntref.t -> unit
    val get_nonblock : unit -> Gntref.t option
    val get_n_nonblock : int -> Gntref.t list
    val num_free_grants : unit -> int
    val grant_access : domid:int -> writable:bool -> Gntref.t -> Io_page.t -> unit
    val try_end_access : release_ref:bool -> Gntref.t -> (unit, [> `Busy ]) result
  end
end

(** mirage-xen has nothing of this. *)
module Stand_in : sig
  val line : unit -> string Lwt.t
  (** Wait for the next line on standard input. *)
end
