(** Record what a program does into a trace ring, under mirage-profile's names.

    {[
      let buffer = MProf_unix.mmap_buffer ~size:1_000_000 "/run/rings/web" in
      let control = MProf.Trace.Control.make buffer MProf_unix.timestamper in
      MProf.Trace.Control.start control
    ]}

    Recording costs nothing but a test before [start] and after [stop]. With Lwt, [open Mprof_lwt] records
    threads; that module's [MProf.Trace] also has the functions that need Lwt.

    Under OCaml 5 the domain that called [start] records. Other domains may call these functions; their events are
    not recorded. *)

module Trace : sig
  type hiatus_reason = Wait_for_work | Suspend | Hibernate

  val note_hiatus : hiatus_reason -> unit
  (** The program is about to wait: no thread runs. *)

  val note_resume : unit -> unit
  (** The program goes on with the thread that ran before the last [note_hiatus]. *)

  val label : string -> unit
  (** Label the running thread. A text with a NUL is dropped. *)

  val note_increase : string -> int -> unit
  (** [note_increase counter amount] adds [amount] to [counter]. *)

  val note_counter_value : string -> int -> unit
  (** [note_counter_value counter value] sets [counter]. *)

  type log_buffer = (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t
  (** The memory of a ring, 1 KiB to 256 MiB. *)

  type timestamper
  (** A clock. *)

  module Control : sig
    type t

    val make : log_buffer -> timestamper -> t

    val start : t -> unit
    (** Make a ring in the buffer, and record into it. Thread 0 runs, with the label "main". A recorder that
        was started before is stopped. Raise [Invalid_argument] if the buffer is too small or too large, or if
        another domain of OCaml 5 records. *)

    val stop : t -> unit
    (** Stop recording. The ring stays as it is. Raise [Invalid_argument] if another domain records. *)
  end

  (** {2 For libraries of threads}

      Threads have ids that the library takes from [new_id]. Each function records one event; before [start] it
      does nothing. *)

  type thread_type =
    | Wait
    | Task
    | Bind
    | Try
    | Choose
    | Pick
    | Join
    | Map
    | Condition
    | On_success
    | On_failure
    | On_termination
    | On_any
    | Ignore_result
    | Async
    | Promise
    | Semaphore
    | Switch
    | Stream
    | Mutex

  val enabled : unit -> bool
  val new_id : unit -> int

  val current : unit -> int
  (** The thread that runs; -1: none. *)

  val dropped : unit -> int
  (** The number of events that were dropped since [start]. *)

  val note_created : int -> thread_type -> unit
  (** The running thread created a thread. *)

  val note_read : reader:int -> int -> unit
  (** [reader] runs, and gets the value of a resolved thread. *)

  val note_read_later : reader:int -> int -> unit
  (** As [note_read], but the thread that runs goes on. *)

  val note_try_read : reader:int -> int -> unit
  (** [reader] waits for a thread that is not resolved. *)

  val note_resolved : int -> ex:exn option -> unit
  (** The running thread resolved a thread, with a value or an exception. *)

  val note_becomes : int -> int -> unit
  (** [note_becomes thread other]: [other] continues in the place of [thread]. *)

  val note_label : int -> string -> unit
  val note_switch : int -> unit

  val note_signal : receiver:int -> int -> unit
  (** A thread signals [receiver], which runs now. *)

  val note_should_resolve : int -> unit
  (** Viewers show the thread if it never resolves. *)

  (**/**)

  val monotonic : timestamper
end

module Counter : sig
  type t

  val create : ?init:int -> name:string -> unit -> t
  (** A counter, at first [init], by default 0. *)

  val make : name:string -> t
  val increase : t -> int -> unit
  val set_value : t -> int -> unit
  val value : t -> int
end
