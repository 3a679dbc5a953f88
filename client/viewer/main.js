// The viewer begins here.
