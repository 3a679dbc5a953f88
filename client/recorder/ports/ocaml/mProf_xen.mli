(** Rings that Xen's domain 0 reads, for programs in Linux guests.

    {[
      let buffer = MProf_xen.make_shared_buffer ~size:1_000_000 in
      MProf.Trace.Control.(start (make buffer MProf_xen.timestamper));
      MProf_xen.share_with ~name:"web" buffer
    ]}

    The program needs [/dev/xen/gntalloc] (module [xen-gntalloc]) and [/dev/xen/evtchn], which by default root alone
    may open. A process has one such ring. *)

val make_shared_buffer : size:int -> MProf.Trace.log_buffer
(** Make a ring of [size] bytes, rounded up to pages, which domain 0 may read. Raise [Failure] with the reason if this
    is no guest of Xen, the devices may not be opened, or the kernel allows no more grants; [Invalid_argument] if
    [size] is less than 1 or more than 256 MiB, or if the process has a ring. *)

val timestamper : MProf.Trace.timestamper
(** CLOCK_MONOTONIC. *)

val share_with : name:string -> MProf.Trace.log_buffer -> unit
(** Publish the ring, into which this domain of OCaml records, to domain 0, as [NAME.PID ring-00]; [name] has 1 to 39
    bytes. The ring is withdrawn when the program calls [exit]. If the program dies otherwise, mprofd takes the last
    events as a capture when the guest ends, or when another program of the guest that publishes rings begins. Raise
    [Failure] with the reason if XenStore refuses, or if the guest has 64 streams; [Invalid_argument] if [buffer] is not
    that ring, or for the name. *)

val withdraw : unit -> unit
(** Stop recording, withdraw the ring, and free it: mprofd takes the last events as a capture of the kind [ended]. Takes
    1.5 seconds, if the ring is published. Does nothing if there is no ring, and in a forked child. Raise
    [Failure] if XenStore refuses; the ring then stays. *)
