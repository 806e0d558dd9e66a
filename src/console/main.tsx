/** Starts the console on its page. */
import { render } from "preact";
import { App } from "./app.js";
import { startKeyboard } from "./keyboard.js";
import { startCalls } from "./state/calls.js";
import { startPolling } from "./state/gateway.js";
import { finishSignIn } from "./state/sign-in.js";
import { applyTheme } from "./state/theme.js";
import { useLinks } from "./state/unlock.js";

const root = document.getElementById("console");
if (root === null) throw new Error("the page has no place for the console");
applyTheme();
startKeyboard();
// The address bar loses its code before anything is shown; the pages are read once the code is used.
const linksUsed = useLinks();
render(<App />, root);
await linksUsed;
await finishSignIn();
startPolling();
startCalls();
