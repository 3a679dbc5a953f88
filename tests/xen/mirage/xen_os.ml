module Xs = Store

module Main = struct
  external block_domain : int64 -> unit = "mirage_xen_evtchn_block_domain" [@@noalloc]
  external now : unit -> int64 = "stand_in_now"

  let sleeping = ref []

  (* Wake who has slept enough. Return when the next sleeper wants to wake. *)
  let restart_sleepers () =
    let all = Mirage_sleep.new_sleepers () @ !sleeping in
    let due, others = List.partition (fun s -> s.Mirage_sleep.time <= now ()) (List.filter (fun s -> not s.Mirage_sleep.canceled) all) in
    sleeping := others;
    List.iter (fun s -> Lwt.wakeup s.Mirage_sleep.thread ()) due;
    let day = Int64.add (now ()) 86_400_000_000_000L in
    List.fold_left (fun first s -> min first s.Mirage_sleep.time) day others

  let rec run promise =
    Lwt.wakeup_paused ();
    ignore (restart_sleepers ());
    match Lwt.poll promise with
    | Some () -> ()
    | None ->
        if Activations.demux_pending () then Activations.run ()
        else begin
          let next = restart_sleepers () in
          block_domain (if Lwt.paused_count () > 0 then 0L else next)
        end;
        run promise

  let () =
    at_exit (fun () ->
        Lwt.abandon_wakeups ();
        run (Mirage_runtime.run_exit_hooks ()))
end

module Eventchn = struct
  type handle = int
  type t = int

  external alloc_unbound : handle -> int -> int = "mirage_xen_evtchn_alloc_unbound"
  external notify : handle -> int -> unit = "mirage_xen_evtchn_notify" [@@noalloc]
  external unbind : handle -> int -> unit = "mirage_xen_evtchn_unbind"

  let to_int port = port
  let of_int port = port
  let init () = 0
  let close _ = 0
  let bind_unbound_port = alloc_unbound
end

module Xen = struct
  module Gntref = struct
    type t = int

    let of_string text = match int_of_string_opt text with Some n -> Ok n | None -> Error (`Msg text)
    let to_string = string_of_int
    let to_int32 = Int32.of_int
    let of_int32 = Int32.to_int
  end

  module Export = struct
    external grant : Gntref.t -> Io_page.t -> int -> bool -> unit = "mirage_xen_gnttab_grant_access"
    external end_access : Gntref.t -> bool = "mirage_xen_gnttab_end_access"

    (* $STAND_IN_GRANTS is the number of free entries. *)
    let free =
      let entries = match Sys.getenv_opt "STAND_IN_GRANTS" with Some n -> int_of_string n | None -> 2040 in
      Queue.of_seq (Seq.map (fun i -> i + 8) (List.to_seq (List.init entries Fun.id)))

    let exports : Io_page.t option array = Array.make 2048 None
    let put reference = Queue.push reference free
    let num_free_grants () = Queue.length free
    let get_nonblock () = Queue.take_opt free

    let get_n_nonblock n =
      if Queue.length free < n then []
      else List.init n (fun _ -> Queue.pop free)

    let grant_access ~domid ~writable reference page =
      if exports.(reference) <> None then invalid_arg "the grant is in use";
      exports.(reference) <- Some page;
      grant reference page domid writable

    let try_end_access ~release_ref reference =
      if end_access reference then begin
        exports.(reference) <- None;
        if release_ref then put reference;
        Ok ()
      end
      else Error `Busy
  end
end

module Stand_in = struct
  let line = Activations.line
end
