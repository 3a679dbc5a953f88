/*
 * The selection on the host's page: the guests and captures whose box is ticked. They can be shown
 * on one time line. If two are ticked, they can also be compared.
 */
import {format} from "../page/address.js";
import {make} from "../page/make.js";
import {MEMBERS_MAX} from "../compare/multi-guest.js";
import {count} from "../page/times.js";

export class HostSelection {
	constructor() {
		this.members = new Map(); /* name in the address -> {view, name, time, box} */
		this.says = make("span", {role: "status"});
		this.together = make("a", {className: "button", textContent: "On one time line"});
		this.compare = make("a", {className: "button", textContent: "Compare"});
		this.element = make(
			"div",
			{className: "chosen", role: "group", "aria-label": "Ticked guests and captures", hidden: true},
			this.says,
			this.together,
			this.compare,
			make("button", {type: "button", textContent: "Clear", onclick: () => this.clear()}),
		);
	}

	/** Return a check box. describe() assigns it to a guest or capture. */
	box() {
		const box = make("input", {type: "checkbox", className: "choose"});

		box.onchange = () => this.set(box.member, box.checked);
		return box;
	}

	/**
	 * Assign BOX to MEMBER, a guest or capture: {key: name in the address, view, name: for
	 * people, time: of a capture}.
	 */
	describe(box, member) {
		if (box.member?.key === member.key) return;
		box.member = {...member, box};
		box.checked = this.members.has(member.key);
		box.setAttribute("aria-label", `Tick ${member.name}, to show it beside others`);
	}

	set(member, on) {
		if (on && this.members.size < MEMBERS_MAX) this.members.set(member.key, member);
		else this.members.delete(member.key);
		member.box.checked = this.members.has(member.key);
		this.show();
	}

	clear() {
		for (const {box} of this.members.values()) box.checked = false;
		this.members.clear();
		this.show();
	}

	show() {
		const list = [...this.members.values()];

		this.element.hidden = !list.length;
		if (!list.length) return;
		this.says.textContent = `${count(list.length, "is", "are")} ticked: ${list.map((it) => it.name).join(", ")}.`;
		this.together.hidden = list.length < 2;
		this.together.href = format({together: list.map((it) => it.key)});
		this.compare.hidden = list.length !== 2;
		if (list.length === 2) this.compare.href = format(pair(list));
		if (list.length === 1) this.says.textContent += " Tick another one to see both on one time line, or compared.";
	}
}

/** Return the view that compares the two members of LIST. The later one is above. */
function pair(list) {
	const [older, newer] = list[0].time && list[1].time && list[0].time > list[1].time ? [list[1], list[0]] : list;

	return {...newer.view, against: older.key};
}
