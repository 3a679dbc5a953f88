(* An echo server and its clients, for the tests of the OCaml port: lwt_echo FILE SOCKET

   The server echoes lines and counts them under a mutex. Each client sends two lines and reads them; the last client
   forgets the end of its second line, so it and the server wait for each other. *)

open Mprof_lwt
open Mprof_lwt_unix
open Lwt.Syntax

let clients = 3
let served = MProf.Counter.create ~name:"lines served" ()

let rec write_all fd text at =
  if at = String.length text then Lwt.return_unit
  else
    let* n = Lwt_unix.write_string fd text at (String.length text - at) in
    write_all fd text (at + n)

(* Read a line of FD, byte by byte. *)
let read_line fd =
  let line = Buffer.create 80 and byte = Bytes.create 1 in
  let rec go () =
    let* n = Lwt_unix.read fd byte 0 1 in
    if n = 0 then Lwt.fail End_of_file
    else if Bytes.get byte 0 = '\n' then Lwt.return (Buffer.contents line)
    else begin
      Buffer.add_char line (Bytes.get byte 0);
      go ()
    end
  in
  go ()

let serve lock fd =
  let rec go () =
    let* line = read_line fd in
    let* () =
      Lwt_mutex.with_lock lock (fun () ->
          MProf.Counter.increase served 1;
          Lwt_unix.sleep 0.002)
    in
    let* () = write_all fd (line ^ "\n") 0 in
    go ()
  in
  Lwt.catch go (function End_of_file -> Lwt_unix.close fd | ex -> Lwt.fail ex)

let rec accept_all lock socket =
  let* fd, _ = Lwt_unix.accept socket in
  Lwt.async (fun () ->
      MProf.Trace.label "connection";
      serve lock fd);
  accept_all lock socket

let client address i =
  let fd = Lwt_unix.socket Unix.PF_UNIX Unix.SOCK_STREAM 0 in
  let* () = Lwt_unix.connect fd address in
  let exchange text ending =
    let* () = write_all fd (text ^ ending) 0 in
    let+ answer = read_line fd in
    assert (answer = text)
  in
  let* () = exchange (Printf.sprintf "hello %d" i) "\n" in
  let* () = exchange (Printf.sprintf "bye %d" i) (if i = clients then "" else "\n") in
  Lwt_unix.close fd

let run path =
  let address = Unix.ADDR_UNIX path in
  let socket = Lwt_unix.socket Unix.PF_UNIX Unix.SOCK_STREAM 0 in
  let lock = Lwt_mutex.create () in
  let* () = Lwt_unix.bind socket address in
  Lwt_unix.listen socket 5;
  Lwt.async (fun () ->
      MProf.Trace.label "server";
      accept_all lock socket);
  let all =
    List.init clients (fun i ->
        let p = MProf.Trace.named_thread (Printf.sprintf "client %d" (i + 1)) (client address (i + 1)) in
        MProf.Trace.should_resolve p;
        p)
  in
  let* () = Lwt.join (List.filteri (fun i _ -> i + 1 < clients) all) in
  Lwt_unix.sleep 0.05

let () =
  let control = MProf.Trace.Control.make (MProf_unix.mmap_buffer ~size:1048576 Sys.argv.(1)) MProf_unix.timestamper in
  MProf.Trace.Control.start control;
  Lwt_main.run (run Sys.argv.(2));
  if MProf.Trace.dropped () > 0 then failwith "events were dropped";
  MProf.Trace.Control.stop control
