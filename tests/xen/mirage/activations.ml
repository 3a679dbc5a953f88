(* The only event of a stand-in's guest is a line on standard input. *)

external pending : unit -> bool = "stand_in_pending"

let waiters = Queue.create ()

(* Resolve to the next line; to "" at the end. *)
let line () =
  let promise, waiter = Lwt.wait () in
  Queue.push waiter waiters;
  promise

(* A channel would keep the lines behind the first one from [pending]. *)
let read_line () =
  let byte = Bytes.create 1 and text = Buffer.create 80 in
  let rec read () =
    if Unix.read Unix.stdin byte 0 1 = 1 && Bytes.get byte 0 <> '\n' then begin
      Buffer.add_bytes text byte;
      read ()
    end
  in
  read ();
  Buffer.contents text

let run () = match Queue.take_opt waiters with None -> () | Some waiter -> Lwt.wakeup waiter (read_line ())
let demux_pending () = (not (Queue.is_empty waiters)) && pending ()
