/** Starts the console on its page. */
import { render } from "preact";
import { App } from "./app.js";
import { startKeyboard } from "./keyboard.js";
import { startCalls } from "./state/calls.js";
import { startPolling } from "./state/gateway.js";
import { applyTheme } from "./state/theme.js";

const root = document.getElementById("console");
if (root === null) throw new Error("the page has no place for the console");
applyTheme();
startKeyboard();
render(<App />, root);
startPolling();
startCalls();
