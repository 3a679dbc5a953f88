external file : string -> int -> MProf.Trace.log_buffer = "mprof_ocaml_file"

let mmap_buffer ~size path = file path size
let timestamper = MProf.Trace.monotonic
