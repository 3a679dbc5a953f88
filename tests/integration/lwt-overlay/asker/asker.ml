(* A library that asks for a hardware address. It knows Lwt and nothing of the recorder. *)

open Lwt.Infix

type packet = Answer of string | Acknowledgement | End

type t = {
  packets : packet Lwt_stream.t;
  response : string Lwt_condition.t;
  written : unit Lwt.t;
  acknowledge : unit Lwt.u;
  served : int Lwt_mvar.t;
  lock : Lwt_mutex.t;
}

let make packets response =
  let written, acknowledge = Lwt.task () in
  { packets; response; written; acknowledge; served = Lwt_mvar.create_empty (); lock = Lwt_mutex.create () }

let handle t = function
  | End -> ()
  | Acknowledgement -> Lwt.wakeup t.acknowledge ()
  | Answer mac -> Lwt_condition.signal t.response mac

let serve t =
  Lwt_stream.iter_s
    (fun packet ->
      Lwt_mutex.with_lock t.lock (fun () ->
          handle t packet;
          Lwt.pause ()))
    t.packets
  >>= fun () -> Lwt_mvar.put t.served 1

let ask t =
  Lwt.catch
    (fun () -> t.written >>= fun () -> Lwt_condition.wait t.response >|= String.uppercase_ascii)
    (fun ex -> Lwt.return (Printexc.to_string ex))
