(* Mprof_lwt where mprof-mirage-lwt laid its overlay over Lwt: Lwt itself records, and this module only names it. *)

module Trace = MProf.Trace
module MProf = Lwt_recorded.MProf
module Lwt = Lwt
module Lwt_condition = Lwt_condition
module Lwt_mutex = Lwt_mutex
module Lwt_mvar = Lwt_mvar
module Lwt_stream = Lwt_stream

let named = Lwt_recorded.named
