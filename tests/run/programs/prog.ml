(* Exceptions, a stack that overflows, the collector and closures. With the argument `on` it
   computes until a byte comes on its standard input. *)
exception Found of int

let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

let find_in list wanted =
  try List.iter (fun x -> if x = wanted then raise (Found x)) list; -1 with Found x -> x

let rec deep n = 1 + deep (n + 1)

let overflow () = try deep 0 with Stack_overflow -> -1

type tree = Leaf | Node of tree list

let trees depth =
  let rec make n = if n = 0 then Leaf else Node [ make (n - 1); make (n - 1) ]
  and count = function Leaf -> 1 | Node l -> List.fold_left (fun sum t -> sum + count t) 0 l in
  count (make depth)

let round () =
  let found = find_in (List.init 1000 (fun i -> i)) 777 in
  let leaves = trees 12 in
  let sum = fib 20 in
  Gc.full_major ();
  (found, leaves, sum)

let () =
  assert (overflow () = -1);
  assert (round () = (777, 4096, 6765));
  if Array.length Sys.argv > 1 then begin
    print_endline "ready";
    let rec until_end () =
      assert (round () = (777, 4096, 6765));
      match Unix.select [ Unix.stdin ] [] [] 0.0 with [], _, _ -> until_end () | _ -> ()
    in
    until_end ()
  end;
  assert (overflow () = -1);
  print_endline "right"
