/* ESLint's recommended rules. A page and its workers have a browser's names, tests those of Node, too. */
import js from "@eslint/js";
import globals from "globals";

const page = {...globals.browser, ...globals.worker};

export default [
	js.configs.recommended,
	{
		languageOptions: {globals: page},
		linterOptions: {reportUnusedDisableDirectives: "error"},
		/* Texts of guests have control and combining characters, and expressions match them on purpose. */
		rules: {"no-control-regex": "off", "no-misleading-character-class": "off"},
	},
	{files: ["checked/tests/**"], languageOptions: {globals: {...page, ...globals.node}}},
];
