(* The ring's life, as schema/xenstore.md says: grant its pages read-only, write the keys, the commit key last; withdraw
   the ring. *)

open Lwt.Infix
module Export = Xen_os.Xen.Export
module Gntref = Xen_os.Xen.Gntref
module Eventchn = Xen_os.Eventchn
module Xs = Xen_os.Xs

external console : string -> unit = "mprof_mirage_console"
external command_line : unit -> string = "mirage_xen_get_cmdline"

(* Kick this event channel when the recorder has finished a packet; 0: none. *)
external kick : int -> unit = "mprof_mirage_kick"

(* End by a crash where the status is not 0. *)
external set_crash : bool -> unit = "mprof_mirage_set_crash"

(* If the unikernel ends now with a status that is not 0, this is the reason; "": none is known. *)
external set_reason : string -> unit = "mprof_mirage_set_reason"

let dom0 = 0
let default_pages = 64
let most_pages = 65536

(* Entries of the grant table that stay for the unikernel's devices, if it has twice as many. *)
let for_devices = 512
let refs_in_directory = 1023

(* XenStore's default quota for a value is 2,048 bytes. *)
let most_value = 1000
let unmap_ns = 1_200_000_000L (* the collector unmaps a withdrawn ring within a second *)
let attempt_ns = 200_000_000L
let attempts = 20
let publish_ns = 2_000_000_000L
let say format = Printf.ksprintf (fun text -> console ("mprof: " ^ text ^ "\n")) format

(* ---- arguments of the boot command line *)

(* MirageOS parses the command line when the unikernel starts its devices, and refuses arguments that nobody registered.
   The ring is older, so [argument] reads the command line itself. *)
let () =
  let open Cmdliner in
  let number = Arg.(value & opt (some int) None & info [ "mprof-pages" ] ~docv:"PAGES" ~doc:"Pages of the trace ring.") in
  let text = Arg.(value & opt (some string) None & info [ "mprof-name" ] ~docv:"NAME" ~doc:"Name of the trace ring.") in
  let flag = Arg.(value & flag & info [ "mprof-crash" ] ~doc:"Crash where the unikernel would exit with an error.") in
  let (_ : unit -> int option) = Mirage_runtime.register_arg number in
  let (_ : unit -> string option) = Mirage_runtime.register_arg text in
  let (_ : unit -> bool) = Mirage_runtime.register_arg flag in
  ()

let words () = List.filter (( <> ) "") (String.split_on_char ' ' (command_line ()))

(* Return the value of --NAME, in one word or in two. *)
let argument name =
  let option = "--mprof-" ^ name in
  let prefix = option ^ "=" in
  let n = String.length prefix in
  let rec find = function
    | word :: value :: _ when word = option -> Some value
    | word :: _ when String.length word >= n && String.sub word 0 n = prefix -> Some (String.sub word n (String.length word - n))
    | _ :: rest -> find rest
    | [] -> None
  in
  find (words ())

let pages_wanted pages =
  let wanted =
    match argument "pages" with
    | None -> Option.value pages ~default:default_pages
    | Some text -> (
        match int_of_string_opt text with
        | Some number -> number
        | None ->
            say "--mprof-pages=%s is no number. The ring gets %d pages." text default_pages;
            default_pages)
  in
  max 1 (min most_pages wanted)

let name_wanted name =
  match match argument "name" with None -> name | wanted -> wanted with
  | None | Some "" -> None
  | Some text -> Some (String.sub text 0 (min 64 (String.length text)))

(* ---- the ring's memory and its grants *)

type ring = {
  buffer : MProf.Trace.log_buffer;
  refs : Gntref.t list; (* of the ring's pages *)
  directory_refs : Gntref.t list;
  base : string; (* path of the stream's keys *)
  name : string option;
  mutable channel : Eventchn.t option;
  mutable written : bool; (* XenStore has the commit key *)
  mutable published : unit Lwt.t; (* resolves when XenStore has the keys, or refused *)
}

let ring = ref None
let events = Eventchn.init ()
let control ring = MProf.Trace.Control.make ring.buffer MProf.Trace.monotonic
let value_of refs = String.concat "," (List.map Gntref.to_string refs)

(* Return the first N elements of a list, and the others. *)
let rec split n = function
  | x :: rest when n > 0 ->
      let first, others = split (n - 1) rest in
      (x :: first, others)
  | others -> ([], others)

let directories pages = (pages + refs_in_directory - 1) / refs_in_directory

(* Take the memory and the references for PAGES pages and their directory, or for fewer. None: there is none. *)
let rec take pages =
  let free = Export.num_free_grants () in
  let usable = max (free - for_devices) (free / 2) in
  if pages < 1 || usable < 2 then None
  else if pages + directories pages > usable then take (min (pages - 1) (usable - directories usable))
  else
    match Io_page.get pages with
    | exception Out_of_memory -> take (pages / 2)
    | block -> (
        match Export.get_n_nonblock (pages + directories pages) with
        | [] -> take (pages / 2)
        | refs -> Some (pages, block, refs))

(* Write the references to directory pages, the last one first because each has the reference of the next one. Grant
   them. *)
let grant_directory refs directory_refs =
  let rec grant refs = function
    | [] -> 0l
    | reference :: others ->
        let mine, rest = split refs_in_directory refs in
        let next = grant rest others in
        let page = Io_page.get 1 in
        let bytes = (page :> MProf.Trace.log_buffer) in
        let put index number =
          for i = 0 to 3 do
            let byte = Int32.to_int (Int32.shift_right_logical number (8 * i)) land 255 in
            Bigarray.Array1.set bytes ((4 * index) + i) (Char.unsafe_chr byte)
          done
        in
        List.iteri (fun index reference -> put index (Gntref.to_int32 reference)) mine;
        put refs_in_directory next;
        Export.grant_access ~domid:dom0 ~writable:false reference page;
        Gntref.to_int32 reference
  in
  ignore (grant refs directory_refs)

(* Make a ring, record into it, and grant it. The grant comes last because every packet that domain 0 can see must be
   valid. *)
let make wanted name =
  match take wanted with
  | None ->
      say "the grant table has no free entry for a ring. Nothing is recorded.";
      None
  | Some (pages, block, refs) ->
      if pages < wanted then
        say "a ring of %d pages was wanted. The ring has %d pages, because no more memory or entries of the grant table are free." wanted
          pages;
      let refs, rest = split pages refs in
      let short = String.length (value_of refs) <= most_value in
      if short then List.iter Export.put rest;
      let base = if name = None then "data/mprof" else "data/mprof/stream/1" in
      let directory_refs = if short then [] else rest and buffer = (block :> MProf.Trace.log_buffer) in
      let made = { buffer; refs; directory_refs; base; name; channel = None; written = false; published = Lwt.return_unit } in
      MProf.Trace.Control.start (control made);
      (try
         List.iter2 (Export.grant_access ~domid:dom0 ~writable:false) refs (Io_page.to_pages block);
         grant_directory refs directory_refs
       with e ->
         MProf.Trace.Control.stop (control made);
         raise e);
      Some made

(* ---- keys *)

let key ring name = ring.base ^ "/" ^ name
let commit_key ring = key ring (if ring.directory_refs = [] then "ring-ref" else "directory-ref")
let commit_value ring = match ring.directory_refs with [] -> value_of ring.refs | first :: _ -> Gntref.to_string first

let bind ring =
  match Eventchn.bind_unbound_port events dom0 with
  | port -> ring.channel <- Some port
  | exception _ -> say "Xen refuses an event channel. mprofd polls the ring without it."

let publish ring =
  bind ring;
  let optional = match ring.name with None -> [] | Some name -> [ (key ring "name", name) ] in
  let optional =
    match ring.channel with
    | None -> optional
    | Some port -> (key ring "event-channel", string_of_int (Eventchn.to_int port)) :: optional
  in
  Xs.make () >>= fun client ->
  Xs.transaction client (fun h ->
      Lwt_list.iter_s (fun (path, value) -> Xs.write h path value) (optional @ [ (commit_key ring, commit_value ring) ]))
  >|= fun () ->
  ring.written <- true;
  Option.iter (fun port -> kick (Eventchn.to_int port)) ring.channel

(* Remove the commit key; with it the others, which are of no use. *)
let remove ring =
  let paths = if ring.name = None then [ commit_key ring; key ring "event-channel" ] else [ ring.base ] in
  let paths = if ring.channel = None && ring.name = None then [ commit_key ring ] else paths in
  Xs.make () >>= fun client -> Xs.transaction client (fun h -> Lwt_list.iter_s (Xs.rm h) paths)

(* ---- the end *)

(* End the grants of REFS. Return those that domain 0 still maps. *)
let end_grants refs =
  List.filter (fun reference -> Export.try_end_access ~release_ref:true reference = Error `Busy) refs

let rec end_all attempts refs =
  match end_grants refs with
  | [] -> Lwt.return_unit
  | busy when attempts > 1 -> Mirage_sleep.ns attempt_ns >>= fun () -> end_all (attempts - 1) busy
  | busy ->
      say "domain 0 still maps %d pages of the ring. They stay granted." (List.length busy);
      Lwt.return_unit

let withdraw ring =
  ring.published >>= fun () ->
  kick 0;
  Lwt.catch
    (fun () ->
      if not ring.written then Lwt.return_unit
      else
        remove ring >>= fun () ->
        Mirage_sleep.ns unmap_ns >>= fun () ->
        Option.iter (Eventchn.unbind events) ring.channel;
        end_all attempts (ring.refs @ ring.directory_refs))
    (fun e ->
      say "the ring was not withdrawn: %s." (Printexc.to_string e);
      Lwt.return_unit)

let stop () =
  match !ring with
  | None -> Lwt.return_unit
  | Some made ->
      ring := None;
      MProf.Trace.Control.stop (control made);
      withdraw made

(* A failed Lwt.async ends the unikernel only if the hook calls exit. *)
let watch_async () =
  let earlier = !Lwt.async_exception_hook in
  Lwt.async_exception_hook :=
    fun e ->
      set_reason (Printexc.to_string e);
      Fun.protect ~finally:(fun () -> set_reason "") (fun () -> earlier e)

(* Run once, however often the unikernel starts to record. *)
let prepare =
  lazy
    (Callback.register "mprof_mirage_exception" Printexc.to_string;
     watch_async ();
     (* A unikernel that ends at once is published, too. *)
     Mirage_runtime.at_exit (fun () ->
         match !ring with
         | Some made -> Lwt.choose [ made.published; Mirage_sleep.ns publish_ns ]
         | None -> Lwt.return_unit))

(* A ring that nobody can find is given up. *)
let give_up made e =
  say "XenStore refuses the ring's keys: %s. Nothing is recorded." (Printexc.to_string e);
  kick 0;
  (match !ring with
  | Some current when current == made ->
      ring := None;
      MProf.Trace.Control.stop (control made)
  | _ -> ());
  Option.iter (Eventchn.unbind events) made.channel;
  made.channel <- None;
  end_all attempts (made.refs @ made.directory_refs)

let begin_publishing made =
  made.published <-
    Lwt.catch
      (fun () -> Lwt.catch (fun () -> Lwt.pause () >>= fun () -> publish made) (give_up made))
      (fun e ->
        say "the ring's grants do not end: %s." (Printexc.to_string e);
        Lwt.return_unit)

let start ?pages ?name ?(crash = false) () =
  try
    if !ring = None then begin
      Lazy.force prepare;
      set_crash (crash || List.mem "--mprof-crash" (words ()));
      ring := make (pages_wanted pages) (name_wanted name);
      Option.iter begin_publishing !ring
    end
  with e -> say "the unikernel is not recorded: %s." (Printexc.to_string e)
