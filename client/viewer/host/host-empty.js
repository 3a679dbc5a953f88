/* The text of a host without guests: how to trace one. */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";

const code = (text) => make("code", {textContent: text});

/* Ways to trace a guest: [kind of guest, how to do it]. */
const WAYS = [
	[
		"A MirageOS unikernel on Xen",
		[
			"Trace it with mirage-profile: in its ",
			code("config.ml"),
			", give ",
			code("register"),
			" the argument ",
			code("~tracing:(mprof_trace ~size:1000000 ())"),
			". Build it for Xen and start it: it is found by itself.",
		],
	],
	[
		"Any other Xen guest",
		[
			"Grant the pages of a ring to domain 0 and write their references to ",
			code("data/mprof/ring-ref"),
			" in XenStore. libmprof-recorder, a small C library, makes the ring.",
		],
	],
	[
		"A program on this machine",
		[
			"Map its ring to a file named ",
			code("NAME.ctf"),
			" in the directory that ",
			code("mprofd --source dir:DIRECTORY"),
			" watches. ",
			code("mprof-demo-guest --ring DIRECTORY/demo.ctf"),
			" is one to try it with.",
		],
	],
];

/** Return the text. SESSION (session.js) may see some guests only. */
export function empty(session) {
	const {read} = session.identity.scopes;

	if (!session.all("read"))
		return make(
			"section",
			{className: "empty", "aria-labelledby": "empty-title"},
			make("h2", {id: "empty-title", textContent: "No guest that you may see has been traced here yet"}),
			make("p", {
				textContent: read.length
					? `You may see the guests ${read.map((it) => shown(it)).join(" ")}.`
					: "You may see no guest.",
			}),
		);
	return make(
		"section",
		{className: "empty", "aria-labelledby": "empty-title"},
		make("h2", {id: "empty-title", textContent: "No guest has been traced here yet"}),
		make("p", {
			textContent: "A guest appears on this page, by itself, as soon as it shares a trace ring with this host:",
		}),
		make("dl", {}, ...WAYS.flatMap(([what, how]) => [make("dt", {textContent: what}), make("dd", {}, ...how)])),
		make(
			"p",
			{className: "quiet"},
			"A guest that runs and does not appear: see what ",
			code("journalctl -u mprofd"),
			" says of it.",
		),
	);
}
