(** Record a unikernel of MirageOS on Xen, and publish its ring to domain 0.

    {[
      let () = Mprof_mirage.start ()
    ]}

    The library [mprof-mirage.auto] does this for a unikernel that links it.

    Each option has an argument of the boot command line, which wins: [--mprof-pages=N], [--mprof-name=NAME],
    [--mprof-crash]. *)

val start : ?pages:int -> ?name:string -> ?crash:bool -> unit -> unit
(** Record from now on, as {!MProf.Trace.Control.start} does, and publish the ring when {!Xen_os.Main.run} runs.

    [pages] is the ring's size in pages of 4,096 bytes: 1 to 65,536, by default 64. Each takes an entry of the grant
    table, which the network and other devices use, too; if few are free, the ring has fewer pages, and the console
    says so. [name] is the stream's name for people, up to 64 bytes; by default it has none.

    While the unikernel waits for an event, no thread runs. An uncaught exception, an exception that [Lwt.async]'s
    hook turns into [exit], any other [exit] with a status that is not 0, and Solo5's abort make thread 0 fail in the
    trace, with the exception's text. The unikernel then ends as it would have. With [crash] it ends by Solo5's
    abort instead, so Xen sees a crash where it would see a power-off.

    Do nothing if the unikernel records already. Raise nothing: what goes wrong is a sentence on the console, and the
    unikernel goes on. *)

val stop : unit -> unit Lwt.t
(** Stop recording and withdraw the ring: mprofd takes the last events as a capture of the kind [ended]. It resolves
    when domain 0 has unmapped the ring, after 1.2 to 5.2 seconds. It never fails. *)
