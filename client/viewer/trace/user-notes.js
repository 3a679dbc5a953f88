/*
 * The user's notes on a trace. A note marks a moment or a range of time with words. Notes are in the
 * panel "notes", in the picture (overlay.js), and in a saved picture. The URL has them; those of a
 * capture can be kept with the capture, and the URL then has the others only.
 */
import {shown} from "../page/guest-text.js";
import {button, make, short} from "../page/make.js";
import {NOTES_MAX, NOTE_LETTERS} from "../page/address.js";
import {span} from "../page/times.js";

export class UserNotes {
	/**
	 * STATE, CAMERA and SELECTION are those of the time line.
	 *
	 * hooks:
	 * - changed(): draw the notes, show the panel again if it is open, and write the URL;
	 * - show(from, to): move the camera to these times, ns;
	 * - announce(sentence): tell the sentence to screen readers;
	 * - failed(error): report an error.
	 */
	constructor({api, state, camera, selection}, hooks) {
		Object.assign(this, {api, state, camera, selection, hooks});
		this.list = []; /* [{from, to: ns, text}], by time; of a moment FROM and TO are equal */
		this.kept = []; /* the notes that the capture has, in the same form */
		this.time = null; /* the moment of the next note, ns; null: the middle of the window */
	}

	/** Take LIST as the notes that are shown. */
	set(list) {
		this.list = [...list].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
	}

	/** Show LIST, the notes of a URL, and those that the capture has. */
	read(list) {
		this.set(united(this.kept, list));
	}

	/** The notes for the URL: those that the capture does not have. */
	get unkept() {
		return this.list.filter((it) => !this.kept.some((other) => same(it, other)));
	}

	/** Take MARKS, the notes of the capture in the form of the API, and show them too. */
	load(marks) {
		const before = this.kept;

		this.kept = marks.map(({from, to, text}) => ({from: BigInt(from), to: BigInt(to), text}));
		this.set(
			united(
				this.kept,
				this.list.filter((it) => !before.some((other) => same(it, other))),
			),
		);
	}

	/**
	 * True if the source is a capture that one may change, and its notes differ from the ones that
	 * are shown.
	 */
	get differs() {
		const {session} = this.state;

		return Boolean(
			session?.source.mayKeep &&
			(this.unkept.length || this.kept.some((it) => !this.list.some((other) => same(it, other)))),
		);
	}

	/**
	 * Keep the notes with the capture. If somebody else has changed the capture's notes since they
	 * were read, keep nothing: show theirs beside the user's, and say so.
	 */
	async keep() {
		const {source} = this.state.session;

		try {
			const answer = await this.api.ask(source.path);
			const {marks} = await answer.json();
			const written = (list) => JSON.stringify(list.map(({from, to, text}) => [String(from), String(to), text]));

			if (written(marks) !== written(this.kept)) {
				const mine = this.list;

				this.load(marks);
				this.set(united(this.kept, mine));
				this.hooks.changed();
				throw new Error(
					"Somebody else has changed the notes of this capture; both are shown now. Keep them again",
				);
			}
			const next = this.list.map(({from, to, text}) => ({from: String(from), to: String(to), text}));
			await this.api.change("PATCH", source.path, {marks: next}, answer.headers.get("ETag"));
			this.kept = this.list;
			this.hooks.announce("The notes are kept with the capture.");
			this.hooks.changed();
		} catch (error) {
			this.hooks.failed(error);
		}
	}

	/** The place {from, to} of the next note: the selected range, or a moment. */
	get place() {
		const {camera, selection, time} = this;
		const at = time ?? camera.timeAt(camera.width / 2);

		return selection.range ?? {from: at, to: at};
	}

	/** Add a note with TEXT at the present place. Without a letter in TEXT do nothing. */
	add(text) {
		const words = text.trim().slice(0, NOTE_LETTERS);

		if (!words) return;
		if (this.list.length >= NOTES_MAX) {
			this.hooks.announce(`There are ${NOTES_MAX} notes, and no more are kept; delete one first.`);
			return;
		}
		const {from, to} = this.place;
		this.set([...this.list, {from, to, text: words}]);
		this.time = null;
		this.hooks.announce("The note is on the picture.");
		this.hooks.changed();
	}

	/** Delete NOTE, one of the list. */
	remove(note) {
		this.set(this.list.filter((it) => it !== note));
		this.hooks.announce("The note is deleted.");
		this.hooks.changed();
	}

	/** Return the place {from, to} as text. */
	written({from, to}) {
		const {clock} = this.state;

		return from === to ? clock.at(from) : `${clock.at(from)} to ${clock.at(to)}, ${span(to - from)}`;
	}

	/** Move the camera to NOTE. A moment comes into the middle; the length of the window stays. */
	go({from, to}) {
		const length = to - from;
		const half = this.camera.span / 2n;

		if (length) this.hooks.show(from - length / 8n, to + length / 8n);
		else this.hooks.show(from - half, from + half);
	}

	/** Return the form that adds a note. */
	form() {
		const input = make("input", {
			type: "text",
			maxLength: NOTE_LETTERS,
			className: "tl-note-text",
			placeholder: "Your words",
			"aria-label": "Text of the note",
		});

		return make(
			"form",
			{
				className: "tl-note-form",
				onsubmit: (event) => {
					event.preventDefault();
					this.add(input.value);
				},
			},
			make("label", {textContent: `At ${this.written(this.place)}:`}),
			input,
			make("button", {type: "submit", textContent: "Add"}),
		);
	}

	/** Return the content of the panel "notes". */
	nodes() {
		const item = (note) =>
			make(
				"li",
				{},
				make("button", {
					type: "button",
					className: "tl-link",
					textContent: this.written(note),
					onclick: () => this.go(note),
				}),
				" ",
				button("✕", `Delete the note “${short(shown(note.text), 30)}”`, () => this.remove(note)),
				make("div", {textContent: shown(note.text, NOTE_LETTERS)}),
			);

		return [
			this.form(),
			make("p", {
				className: "tl-quiet",
				textContent:
					"A note marks the selected range, or the moment where you pressed e. Notes are in the address of this page, " +
					"so whoever gets the address sees them, and in a saved picture.",
			}),
			this.differs
				? make(
						"p",
						{},
						make("button", {
							type: "button",
							textContent: "Keep with the capture",
							onclick: () => this.keep(),
						}),
					)
				: null,
			make("ol", {className: "tl-notes"}, ...this.list.map(item)),
		].filter(Boolean);
	}
}

const same = (a, b) => a.from === b.from && a.to === b.to && a.text === b.text;

/** Return the notes of LIST and those of OTHERS, each once, NOTES_MAX at most. */
function united(list, others) {
	return [...list, ...others.filter((it) => !list.some((other) => same(it, other)))].slice(0, NOTES_MAX);
}
