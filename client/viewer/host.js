/* The host's page: what runs here, what is gone, and what was kept of it. */
export class HostPage {
	static async open(element) {
		element.textContent = "mprofd";
		return new HostPage();
	}

	go() {
		return true;
	}

	close() {}
}
