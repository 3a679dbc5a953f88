(* mirage-profile's functions over the recorder in C. *)

module Trace = struct
  type hiatus_reason = Wait_for_work | Suspend | Hibernate

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

  type log_buffer = (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t
  type timestamper = Monotonic

  external start_recorder : log_buffer -> unit = "mprof_ocaml_start"
  external stop_recorder : unit -> unit = "mprof_ocaml_stop"
  external current : unit -> int = "mprof_ocaml_current" [@@noalloc]
  external dropped : unit -> int = "mprof_ocaml_dropped" [@@noalloc]

  (* A constant constructor is passed as its number, which is the type's id in the trace. *)
  external creates : int -> thread_type -> unit = "mprof_ocaml_creates" [@@noalloc]
  external read : int -> int -> unit = "mprof_ocaml_read" [@@noalloc]
  external read_later : int -> int -> unit = "mprof_ocaml_read_later" [@@noalloc]
  external try_read : int -> int -> unit = "mprof_ocaml_try_read" [@@noalloc]
  external becomes : int -> int -> unit = "mprof_ocaml_becomes" [@@noalloc]
  external signal : int -> int -> unit = "mprof_ocaml_signal" [@@noalloc]
  external fulfills : int -> unit = "mprof_ocaml_fulfills" [@@noalloc]
  external fails : int -> string -> unit = "mprof_ocaml_fails" [@@noalloc]
  external label_thread : int -> string -> unit = "mprof_ocaml_label" [@@noalloc]
  external increase : int -> string -> unit = "mprof_ocaml_increase" [@@noalloc]
  external counter : int -> string -> unit = "mprof_ocaml_counter" [@@noalloc]
  external switch : int -> unit = "mprof_ocaml_switch" [@@noalloc]
  external hiatus : unit -> unit = "mprof_ocaml_hiatus" [@@noalloc]
  external resume : unit -> unit = "mprof_ocaml_resume" [@@noalloc]

  let monotonic = Monotonic
  let on = ref false
  let enabled () = !on
  let last_id = Atomic.make 0
  let new_id () = Atomic.fetch_and_add last_id 1 + 1

  let note_created thread ty = if !on then creates thread ty
  let note_read ~reader source = if !on then read reader source
  let note_read_later ~reader source = if !on then read_later reader source
  let note_try_read ~reader source = if !on then try_read reader source
  let note_becomes thread other = if !on then becomes thread other
  let note_label thread text = if !on then label_thread thread text
  let note_switch thread = if !on then switch thread
  let note_signal ~receiver sender = if !on then signal receiver sender
  let note_should_resolve thread = note_label thread "__should_resolve"

  let note_resolved thread ~ex =
    if !on then match ex with None -> fulfills thread | Some e -> fails thread (Printexc.to_string e)

  let label text = if !on then label_thread (current ()) text
  let note_increase name amount = if !on then increase amount name
  let note_counter_value name value = if !on then counter value name

  let note_hiatus _reason = if !on then hiatus ()
  let note_resume () = if !on then resume ()

  module Control = struct
    type t = log_buffer

    let make buffer Monotonic = buffer

    let start buffer =
      start_recorder buffer;
      on := true;
      creates 0 Task;
      label_thread 0 "main";
      switch 0

    let stop _buffer =
      stop_recorder ();
      on := false
  end
end

module Counter = struct
  type t = { name : string; mutable value : int }

  let create ?(init = 0) ~name () = { name; value = init }
  let make ~name = create ~name ()

  let set_value counter value =
    counter.value <- value;
    Trace.note_counter_value counter.name value

  let increase counter amount = set_value counter (counter.value + amount)
  let value counter = counter.value
end
