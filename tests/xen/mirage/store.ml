(* XenStore's protocol over the socket $XENSTORED_PATH, as Xs_client_lwt.S. Each request waits for its answer, and takes a
   turn of the main loop. *)

open Lwt.Infix

type client = Unix.file_descr
type handle = { client : client; transaction : int32 }

exception Refused of string

let read_type, begin_type, end_type, write_type, rm_type, error_type = (2l, 6l, 7l, 11l, 13l, 16l)

let connection =
  lazy
    (let fd = Unix.socket Unix.PF_UNIX Unix.SOCK_STREAM 0 in
     Unix.connect fd (Unix.ADDR_UNIX (Unix.getenv "XENSTORED_PATH"));
     fd)

let make () = Lwt.pause () >|= fun () -> Lazy.force connection

let rec receive fd bytes at =
  if at < Bytes.length bytes then
    match Unix.read fd bytes at (Bytes.length bytes - at) with
    | 0 -> raise (Refused "closed")
    | n -> receive fd bytes (at + n)

let request handle kind body =
  Lwt.pause () >|= fun () ->
  let head = Bytes.create 16 in
  let put at number = Bytes.set_int32_le head at number in
  put 0 kind;
  put 4 1l;
  put 8 handle.transaction;
  put 12 (Int32.of_int (String.length body));
  let message = Bytes.to_string head ^ body in
  ignore (Unix.write_substring handle.client message 0 (String.length message));
  receive handle.client head 0;
  let answer = Bytes.create (Int32.to_int (Bytes.get_int32_le head 12)) in
  receive handle.client answer 0;
  let text = Bytes.to_string answer in
  if Bytes.get_int32_le head 0 = error_type then raise (Refused (String.sub text 0 (String.length text - 1))) else text

let read handle path = request handle read_type (path ^ "\000")
let write handle path value = request handle write_type (path ^ "\000" ^ value) >|= ignore
let rm handle path = request handle rm_type (path ^ "\000") >|= ignore
let immediate client f = f { client; transaction = 0l }

let rec transaction client f =
  request { client; transaction = 0l } begin_type "\000" >>= fun number ->
  let handle = { client; transaction = Int32.of_string (String.sub number 0 (String.length number - 1)) } in
  let finish answer = request handle end_type (answer ^ "\000") in
  Lwt.try_bind
    (fun () -> f handle)
    (fun result ->
      Lwt.catch
        (fun () -> finish "T" >|= fun _ -> Some result)
        (function Refused "EAGAIN" -> Lwt.return_none | e -> Lwt.fail e)
      >>= function
      | Some result -> Lwt.return result
      | None -> transaction client f)
    (fun e -> finish "F" >>= fun _ -> Lwt.fail e)
