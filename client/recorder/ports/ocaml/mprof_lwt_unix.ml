(* Wrappers of Lwt_unix and Lwt_main: open this module behind Mprof_lwt. Waits for the operating system are threads with the
   name of the operation. *)

open Mprof_lwt

module Lwt_unix = struct
  module Real_unix = Lwt_unix
  include Real_unix

  let sleep s = named ~ty:Trace.Wait "sleep" (Real_unix.sleep s)
  let timeout s = named ~ty:Trace.Wait "timeout" (Real_unix.timeout s)
  let with_timeout s f = Lwt.pick [ timeout s; Lwt.catch f Lwt.fail ]

  let auto_pause s =
    let pause = Real_unix.auto_pause s in
    fun () -> named ~ty:Trace.Wait "pause" (pause ())

  let read fd buffer at n = named "read" (Real_unix.read fd buffer at n)
  let write fd buffer at n = named "write" (Real_unix.write fd buffer at n)
  let write_string fd text at n = named "write" (Real_unix.write_string fd text at n)
  let wait_read fd = named "wait_read" (Real_unix.wait_read fd)
  let wait_write fd = named "wait_write" (Real_unix.wait_write fd)
  let accept ?cloexec fd = named "accept" (Real_unix.accept ?cloexec fd)
  let accept_n ?cloexec fd n = named "accept" (Real_unix.accept_n ?cloexec fd n)
  let connect fd address = named "connect" (Real_unix.connect fd address)
  let recv fd buffer at n flags = named "recv" (Real_unix.recv fd buffer at n flags)
  let recvfrom fd buffer at n flags = named "recvfrom" (Real_unix.recvfrom fd buffer at n flags)
  let send fd buffer at n flags = named "send" (Real_unix.send fd buffer at n flags)
  let sendto fd buffer at n flags address = named "sendto" (Real_unix.sendto fd buffer at n flags address)
  let waitpid flags pid = named "waitpid" (Real_unix.waitpid flags pid)
end

module Lwt_main = struct
  module Real_main = Lwt_main
  include Real_main

  let hooked = ref false

  let run p =
    if not !hooked then begin
      hooked := true;
      ignore (Enter_iter_hooks.add_last (fun () -> Trace.note_hiatus Trace.Wait_for_work));
      ignore (Leave_iter_hooks.add_first Trace.note_resume)
    end;
    Real_main.run p
end
