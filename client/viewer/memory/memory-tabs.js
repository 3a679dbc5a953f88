/* Tabs. The Tab key reaches only the selected one, and the arrow keys switch. */
import {make} from "../page/make.js";

export class Tabs {
	/** LIST: [name, text, element]. TURNED(name) is called after the user switched. */
	constructor(list, turned) {
		this.turned = turned;
		this.tabs = new Map();
		const bar = make("div", {
			className: "mem-tabs",
			role: "tablist",
			"aria-label": "The profile as",
			onkeydown: (event) => this.key(event),
		});

		for (const [name, text, element] of list) {
			const tab = make("button", {
				type: "button",
				role: "tab",
				id: `mem-tab-${name}`,
				"aria-controls": `mem-panel-${name}`,
				textContent: text,
				onclick: () => this.turn(name),
			});
			const panel = make(
				"div",
				{className: "mem-panel", role: "tabpanel", id: `mem-panel-${name}`, "aria-labelledby": tab.id},
				element,
			);

			this.tabs.set(name, {tab, panel});
			bar.append(tab);
		}
		this.element = make(
			"section",
			{"aria-label": "Profile"},
			bar,
			...[...this.tabs.values()].map((it) => it.panel),
		);
		this.show(list[0][0]);
	}

	show(name) {
		this.name = name;
		for (const [key, {tab, panel}] of this.tabs) {
			tab.setAttribute("aria-selected", String(key === name));
			tab.tabIndex = key === name ? 0 : -1;
			panel.hidden = key !== name;
		}
	}

	turn(name) {
		this.show(name);
		this.turned(name);
	}

	key(event) {
		const names = [...this.tabs.keys()];
		const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];

		if (!by) return;
		const name = names[(names.indexOf(this.name) + by + names.length) % names.length];
		this.turn(name);
		this.tabs.get(name).tab.focus();
		event.preventDefault();
	}
}
