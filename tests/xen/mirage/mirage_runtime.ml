let hooks = ref []
let at_exit hook = hooks := hook :: !hooks
let run_exit_hooks () = Lwt_list.iter_s (fun hook -> Lwt.catch hook (fun _ -> Lwt.return_unit)) !hooks
let arguments = ref []
let parsed = ref false

let register_arg term =
  if !parsed then invalid_arg "register_arg: too late";
  let value = ref None in
  arguments := Cmdliner.Term.(const (fun v -> value := Some v) $ term) :: !arguments;
  fun () -> match !value with None -> invalid_arg "an argument is read too early" | Some v -> v

let runtime_args () = !arguments

let with_argv terms name argv =
  let open Cmdliner in
  let all = List.fold_right (fun term rest -> Term.(const (fun () () -> ()) $ term $ rest)) terms (Term.const ()) in
  match Cmd.eval_value ~argv (Cmd.v (Cmd.info name) all) with
  | Ok (`Ok ()) -> parsed := true
  | Ok (`Help | `Version) -> exit 63
  | Error _ -> exit 64
