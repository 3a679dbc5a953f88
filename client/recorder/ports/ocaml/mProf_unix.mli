(** Rings in files. *)

val mmap_buffer : size:int -> string -> MProf.Trace.log_buffer
(** [mmap_buffer ~size path] makes a file of [size] bytes, and maps it. An existing file is replaced. The mapping
    stays until the process ends. Raise [Failure] with the reason if the file cannot be made. *)

val timestamper : MProf.Trace.timestamper
(** CLOCK_MONOTONIC. *)
