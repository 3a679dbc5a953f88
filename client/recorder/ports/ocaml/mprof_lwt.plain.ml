(* Wrappers of Lwt that record threads: open this module before the code that uses Lwt. The types are Lwt's own, so
   wrapped code and other libraries call each other freely.

   A promise, condition, mutex, stream or mailbox gets the number of a thread when it is made here, or when it is first seen
   here. A promise of another library is known from the moment when somebody waits for it. Only promises that are not
   resolved are threads.

   A promise is closed when its resolution was recorded. The result of a bind that waits for another promise becomes that
   promise, and is closed then. *)

module Real = Lwt
module Trace = MProf.Trace

type thread = {
  id : int;
  mutable closed : bool;
  mutable becomes : thread option;
  mutable name : string option;
  mutable waiters : int; (* of an object: the threads that wait for it *)
}

let table = Mprof_table.create { id = -1; closed = true; becomes = None; name = None; waiters = 0 }

let new_thread ty =
  let id = Trace.new_id () in
  Trace.note_created id ty;
  { id; closed = false; becomes = None; name = None; waiters = 0 }

let rec last thread = match thread.becomes with Some other -> last other | None -> thread

let close ?ex thread =
  let thread = last thread in
  if not thread.closed then begin
    thread.closed <- true;
    Trace.note_resolved thread.id ~ex
  end

let set_name thread name =
  thread.name <- Some name;
  Trace.note_label thread.id name

let pending p = match Real.state p with Real.Sleep -> true | Real.Return _ | Real.Fail _ -> false

(* Record when P is resolved, whoever does it, unless a function that waits for P records it first. *)
let attach p thread =
  Mprof_table.add table p thread;
  Real.on_any p (fun _ -> close thread) (fun ex -> close ~ex thread)

(* The thread of the pending promise P. *)
let thread_of p =
  match Mprof_table.find table p with
  | Some thread -> thread
  | None ->
      let thread = new_thread Trace.Task in
      attach p thread;
      thread

(* Record that the pending promise P is a thread of type TY with a label. *)
let named ?(ty = Trace.Task) name p =
  if Trace.enabled () && pending p then begin
    match Mprof_table.find table p with
    | Some thread -> set_name thread name
    | None ->
        let thread = new_thread ty in
        set_name thread name;
        attach p thread
  end;
  p

(* The result of a function Q of the thread: the thread is resolved too, or becomes Q. *)
let settle thread q =
  (match Real.state q with
  | Real.Return _ -> close thread
  | Real.Fail ex -> close ~ex thread
  | Real.Sleep ->
      let other = thread_of q in
      if (not thread.closed) && last other != thread then begin
        thread.closed <- true;
        thread.becomes <- Some other;
        Trace.note_becomes thread.id other.id
      end);
  q

(* Wait for the pending promise P as a new thread, then go on with one of the functions. *)
let wait_for ty p on_value on_error =
  let source = thread_of p in
  let thread = new_thread ty in
  Trace.note_try_read ~reader:thread.id source.id;
  let go_on ?ex f x =
    close ?ex source;
    Trace.note_read ~reader:thread.id source.id;
    match f x with
    | q -> settle thread q
    | exception ex ->
        close ~ex thread;
        raise ex
  in
  let result = Real.try_bind (fun () -> p) (go_on on_value) (fun ex -> go_on ~ex on_error ex) in
  Mprof_table.add table result thread;
  result

let traced p = Trace.enabled () && pending p

(* Wait for several promises as a new thread: MAKE makes the promise of the result. *)
type any = Any : 'a Real.t -> any

let wait_for_many ty promises make =
  if not (Trace.enabled ()) then make ()
  else begin
    let sources = List.filter_map (fun (Any p) -> if pending p then Some (Any p, thread_of p) else None) promises in
    let result = make () in
    if pending result && Mprof_table.find table result = None then begin
      let thread = new_thread ty in
      List.iter (fun (_, source) -> Trace.note_try_read ~reader:thread.id source.id) sources;
      let finish ex =
        List.iter
          (fun (Any p, source) ->
            match Real.state p with
            | Real.Sleep -> ()
            | Real.Return _ ->
                close source;
                Trace.note_read ~reader:thread.id source.id
            | Real.Fail ex ->
                close ~ex source;
                Trace.note_read ~reader:thread.id source.id)
          sources;
        close ?ex thread
      in
      Mprof_table.add table result thread;
      Real.on_any result (fun _ -> finish None) (fun ex -> finish (Some ex))
    end;
    result
  end

(* The thread of a condition or another object that threads wait for. *)
let thread_of_object ty x =
  match Mprof_table.find table x with
  | Some thread -> thread
  | None ->
      let thread = new_thread ty in
      Mprof_table.add table x thread;
      thread

(* Record X, which was just made. THREAD is the function that gives an object its thread. *)
let recorded thread x =
  if Trace.enabled () then ignore (thread x);
  x

(* P is the promise of a wait for THREAD, an object: if it is pending it is a thread that the object made. *)
let wait_for_object thread p =
  if pending p && Mprof_table.find table p = None then begin
    let before = Trace.current () in
    Trace.note_switch thread.id;
    let wait = new_thread Trace.Task in
    Option.iter (set_name wait) thread.name;
    attach p wait;
    thread.waiters <- thread.waiters + 1;
    let gone () = thread.waiters <- thread.waiters - 1 in
    Real.on_termination p gone;
    Trace.note_switch before
  end;
  p

(* The running thread wakes threads that wait for THREAD, an object, by F. ALWAYS: the signal is recorded also if nobody
   waits, because then it is lost; objects that keep a value or a state lose nothing. *)
let wake ?(always = false) thread f =
  let before = Trace.current () in
  if always || thread.waiters > 0 then Trace.note_signal ~receiver:thread.id before;
  let result = f () in
  Trace.note_switch before;
  result

module Lwt = struct
  include Real

  (* Lwt represents a resolver by its promise. If it did not, the resolver would be in the table, too. *)
  let made ty ((p, u) as result) =
    if Trace.enabled () then begin
      let thread = new_thread ty in
      attach p thread;
      if Mprof_table.find table u = None then Mprof_table.add table u thread
    end;
    result

  let wait () = made Trace.Wait (Real.wait ())
  let task () = made Trace.Task (Real.task ())

  (* Resolve the promise of U by F. The functions that wait for it may run in F. *)
  let resolving ?ex u f =
    if not (Trace.enabled ()) then f ()
    else begin
      let before = Trace.current () in
      Option.iter (close ?ex) (Mprof_table.find table u);
      f ();
      Trace.note_switch before
    end

  let error = function Ok _ -> None | Error ex -> Some ex
  let wakeup u v = resolving u (fun () -> Real.wakeup u v)
  let wakeup_later u v = resolving u (fun () -> Real.wakeup_later u v)
  let wakeup_exn u ex = resolving ~ex u (fun () -> Real.wakeup_exn u ex)
  let wakeup_later_exn u ex = resolving ~ex u (fun () -> Real.wakeup_later_exn u ex)
  let wakeup_result u r = resolving ?ex:(error r) u (fun () -> Real.wakeup_result u r)
  let wakeup_later_result u r = resolving ?ex:(error r) u (fun () -> Real.wakeup_later_result u r)
  let bind p f = if traced p then wait_for Trace.Bind p f Real.fail else Real.bind p f
  let map f p = if traced p then wait_for Trace.Map p (fun v -> Real.return (f v)) Real.fail else Real.map f p

  (* Lwt.apply leaves alone the exceptions that Lwt's filter excludes, as Lwt.catch does. *)
  let catch f h =
    if not (Trace.enabled ()) then Real.catch f h
    else
      let p = Real.apply f () in
      if pending p then wait_for Trace.Try p Real.return h else Real.catch (fun () -> p) h

  let try_bind f on_value on_error =
    if not (Trace.enabled ()) then Real.try_bind f on_value on_error
    else
      let p = Real.apply f () in
      if pending p then wait_for Trace.Try p on_value on_error else Real.try_bind (fun () -> p) on_value on_error

  let finalize f g =
    if not (Trace.enabled ()) then Real.finalize f g
    else try_bind f (fun v -> bind (g ()) (fun () -> Real.return v)) (fun ex -> bind (g ()) (fun () -> Real.fail ex))

  let backtrace_bind _add p f = bind p f
  let backtrace_catch _add f h = catch f h
  let backtrace_finalize _add f g = finalize f g
  let backtrace_try_bind _add f v e = try_bind f v e
  let list ps = List.map (fun p -> Any p) ps
  let join ps = wait_for_many Trace.Join (list ps) (fun () -> Real.join ps)
  let all ps = wait_for_many Trace.Join (list ps) (fun () -> Real.all ps)
  let both p q = wait_for_many Trace.Join [ Any p; Any q ] (fun () -> Real.both p q)
  let choose ps = wait_for_many Trace.Choose (list ps) (fun () -> Real.choose ps)
  let nchoose ps = wait_for_many Trace.Choose (list ps) (fun () -> Real.nchoose ps)
  let nchoose_split ps = wait_for_many Trace.Choose (list ps) (fun () -> Real.nchoose_split ps)
  let pick ps = wait_for_many Trace.Pick (list ps) (fun () -> Real.pick ps)
  let npick ps = wait_for_many Trace.Pick (list ps) (fun () -> Real.npick ps)
  let pause () = named ~ty:Trace.Wait "pause" (Real.pause ())

  (* Run F as a thread of its own, which is resolved when F is. *)
  let alone run f =
    if not (Trace.enabled ()) then run f
    else begin
      let before = Trace.current () in
      let thread = new_thread Trace.Async in
      Trace.note_switch thread.id;
      run (fun () ->
          let p = f () in
          Real.on_any p (fun _ -> close thread) (fun ex -> close ~ex thread);
          p);
      Trace.note_switch before
    end

  let async f = alone Real.async f
  let dont_wait f h = alone (fun f -> Real.dont_wait f h) f
  let ( >>= ) = bind
  let ( =<< ) f p = bind p f
  let ( >|= ) p f = map f p
  let ( =|< ) = map
  let ( <&> ) p q = join [ p; q ]
  let ( <?> ) p q = choose [ p; q ]

  module Infix = struct
    let ( >>= ) = bind
    let ( =<< ) f p = bind p f
    let ( >|= ) p f = map f p
    let ( =|< ) = map
    let ( <&> ) p q = join [ p; q ]
    let ( <?> ) p q = choose [ p; q ]

    module Let_syntax = struct
      let return = Real.return
      let map p ~f = map f p
      let bind p ~f = bind p f
      let both = both

      module Open_on_rhs = struct end
    end
  end

  module Let_syntax = struct
    module Let_syntax = Infix.Let_syntax
    include Infix.Let_syntax
  end

  module Syntax = struct
    let ( let* ) = bind
    let ( and* ) = both
    let ( let+ ) p f = map f p
    let ( and+ ) = both
  end
end

module Lwt_condition = struct
  module Real_condition = Lwt_condition
  include Real_condition

  let thread c = thread_of_object Trace.Condition c

  let create () = recorded thread (Real_condition.create ())

  (* The waiting thread signals the condition, which makes the thread to wait for: so viewers know a wait. *)
  let wait ?mutex c =
    let p = Real_condition.wait ?mutex c in
    if Trace.enabled () && pending p then begin
      let before = Trace.current () in
      Trace.note_signal ~receiver:(thread c).id before;
      ignore (wait_for_object (thread c) p);
      Trace.note_switch before
    end;
    p

  let wake c f = if Trace.enabled () then wake ~always:true (thread c) f else f ()
  let signal c v = wake c (fun () -> Real_condition.signal c v)
  let broadcast c v = wake c (fun () -> Real_condition.broadcast c v)
  let broadcast_exn c ex = wake c (fun () -> Real_condition.broadcast_exn c ex)
end

module Lwt_mutex = struct
  module Real_mutex = Lwt_mutex
  include Real_mutex

  let thread m = thread_of_object Trace.Mutex m

  let create () = recorded thread (Real_mutex.create ())

  let lock m =
    let p = Real_mutex.lock m in
    if not (Trace.enabled ()) then p
    else if pending p then wait_for_object (thread m) p
    else begin
      Trace.note_read_later ~reader:(Trace.current ()) (thread m).id;
      p
    end

  let unlock m = if Trace.enabled () then wake (thread m) (fun () -> Real_mutex.unlock m) else Real_mutex.unlock m

  let with_lock m f =
    Lwt.bind (lock m) (fun () ->
        Lwt.finalize f (fun () ->
            unlock m;
            Real.return_unit))
end

module Lwt_mvar = struct
  module Real_mvar = Lwt_mvar
  include Real_mvar

  let thread m = thread_of_object Trace.Condition m

  let create v = recorded thread (Real_mvar.create v)
  let create_empty () = recorded thread (Real_mvar.create_empty ())

  let using m f =
    if not (Trace.enabled ()) then f () else wait_for_object (thread m) (wake (thread m) f)

  let put m v = using m (fun () -> Real_mvar.put m v)
  let take m = using m (fun () -> Real_mvar.take m)
end

module Lwt_stream = struct
  module Real_stream = Lwt_stream
  include Real_stream

  let thread s = thread_of_object Trace.Stream s

  let create () =
    let s, push = Real_stream.create () in
    (* PUSH must not keep the stream: Lwt closes a stream that nobody can read. So it has the thread alone. *)
    if not (Trace.enabled ()) then (s, push)
    else begin
      let thread = thread s in
      (s, fun x -> wake thread (fun () -> push x))
    end

  let using s f = if Trace.enabled () then wait_for_object (thread s) (f s) else f s
  let get s = using s Real_stream.get
  let peek s = using s Real_stream.peek
  let next s = using s Real_stream.next
  let junk s = using s Real_stream.junk
  let nget n s = using s (Real_stream.nget n)
  let npeek n s = using s (Real_stream.npeek n)

  let rec fold_s f s acc =
    Lwt.bind (get s) (function None -> Real.return acc | Some x -> Lwt.bind (f x acc) (fun acc -> fold_s f s acc))

  let fold f s acc = fold_s (fun x acc -> Real.return (f x acc)) s acc
  let iter_s f s = fold_s (fun x () -> f x) s ()
  let iter f s = fold_s (fun x () -> Real.return (f x)) s ()
end

module MProf = struct
  module Counter = MProf.Counter

  (** mirage-profile's functions that need Lwt, with the others. *)
  module Trace = struct
    include MProf.Trace

    let name x thread label =
      if enabled () then set_name (thread x) label;
      x

    let named_wait label =
      let ((p, _) as result) = Lwt.wait () in
      ignore (name p thread_of label);
      result

    let named_task label =
      let ((p, _) as result) = Lwt.task () in
      ignore (name p thread_of label);
      result

    let named_condition label = name (Lwt_condition.create ()) Lwt_condition.thread label
    let named_mvar label v = name (Lwt_mvar.create v) Lwt_mvar.thread label
    let named_mvar_empty label = name (Lwt_mvar.create_empty ()) Lwt_mvar.thread label

    let should_resolve p = if enabled () && pending p then note_should_resolve (thread_of p).id
    let named_thread label p = named label p
  end
end
