/** Draws the console from /api/v1. Everything a server says goes in as text, never as HTML. */

const REFRESH_MS = 3000;
const SHOWN_DECISIONS = 20;
const KINDS = [
  ["tools", "Tools"],
  ["prompts", "Prompts"],
  ["resources", "Resources"],
  ["resourceTemplates", "Resource templates"],
];
const STATE_CLASS = {
  ready: "good",
  idle: "good",
  starting: "warn",
  needs_sign_in: "warn",
  backoff: "bad",
  stopped: "bad",
};

const at = (id) => document.getElementById(id);

/** An element with children; a string becomes a text node. */
function element(tag, { className, title } = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (title) made.title = title;
  made.append(...children);
  return made;
}

const number = (value) => element("td", { className: "number" }, String(value ?? "–"));
const grouped = (value) => (value ?? 0).toLocaleString("en-US");
const text = (value) => element("td", {}, String(value ?? ""));
const nothing = (columns, words) => {
  const cell = element("td", { className: "nothing" }, words);
  cell.colSpan = columns;
  return element("tr", {}, cell);
};

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** The admin token, where one is needed, lives as long as this tab and is sent by nobody but this script. */
const TOKEN = "cardea-admin-token";

class TokenNeeded extends Error {}

async function page(name) {
  const token = sessionStorage.getItem(TOKEN);
  // What could not stand in a header is not the token.
  if (token && !/^[!-~]+$/.test(token)) throw new TokenNeeded();
  const headers = { accept: "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`/api/v1/${name}`, { headers });
  if (response.status === 401) throw new TokenNeeded();
  if (!response.ok) throw new Error(`/api/v1/${name} answered ${response.status}`);
  return response.json();
}

/** Does something; `body` is JSON. @returns what the gateway answers */
async function act(path, body) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (response.status === 401 && token) throw new TokenNeeded();
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `/api/v1/${path} answered ${response.status}`);
  return answer;
}

/** A button that does something about signing in, and says on the page what went wrong. */
function actionButton(words, title, work) {
  const button = element("button", { title }, words);
  button.type = "button";
  button.addEventListener("click", () => {
    button.disabled = true;
    work()
      .then(() => at("sign-in-trouble").replaceChildren())
      .catch((error) => {
        if (error instanceof TokenNeeded) drawDoor(true);
        else at("sign-in-trouble").replaceChildren(error.message);
      })
      .finally(() => {
        button.disabled = false;
      });
  });
  return button;
}

/** The page of a sign-in opens in a tab of its own, which must be opened before anything is waited for. */
function signIn(server, as) {
  const tab = window.open("about:blank", "_blank");
  return act(`logins/${encodeURIComponent(server)}`, { as }).then(
    ({ url }) => {
      if (!tab || !/^https?:/.test(url)) throw new Error("the browser opened no tab for the sign-in");
      tab.opener = null;
      tab.location = url;
    },
    (error) => {
      tab?.close();
      throw error;
    },
  );
}

function drawLogins(servers, logins) {
  const signedIn = new Set(logins.map(({ server }) => server));
  const wanting = servers
    .filter(({ name, state }) => state === "needs_sign_in" && !signedIn.has(name))
    .map(({ name }) => ({ server: name, principal: "anonymous", state: "needs_sign_in", scopes: [] }));
  const rows = [...wanting, ...logins].map(
    ({ server, principal, state, issuer, scopes, expiresAt, isRenewed }) => {
      const isIn = state === "signed_in";
      const id = encodeURIComponent(principal);
      const badge = element(
        "span",
        { className: `badge ${isIn ? "good" : "warn"}` },
        isIn ? "signed in" : "needs sign-in",
      );
      const until = isRenewed ? "renews itself" : expiresAt ? new Date(expiresAt).toLocaleString() : "–";
      const name = element("th", {}, server);
      name.scope = "row";
      return element(
        "tr",
        {},
        name,
        text(principal),
        element("td", {}, badge),
        text(issuer ?? "–"),
        text(scopes.join(" ") || "–"),
        text(isIn ? until : "–"),
        element(
          "td",
          {},
          isIn
            ? actionButton("Sign out", `End the sign-in of ${principal} at ${server}`, () =>
                act(`logins/${encodeURIComponent(server)}/${id}/sign-out`, {}),
              )
            : actionButton("Sign in", `Sign in to ${server} for ${principal}`, () =>
                signIn(server, principal),
              ),
        ),
      );
    },
  );
  at("sign-ins").hidden = rows.length === 0;
  draw("logins", ...rows);
}

/** Draws a part of the page anew, unless text in it is selected: a redraw would drop the selection. */
function draw(id, ...children) {
  const selection = document.getSelection?.();
  const isSelected = selection && !selection.isCollapsed && selection.containsNode(at(id), true);
  if (!isSelected) at(id).replaceChildren(...children);
  return !isSelected;
}

/** States of servers that calls can reach. */
const WORKING = ["ready", "idle"];

function drawHealth(status, servers) {
  const health = at("health");
  const up = servers.filter((server) => WORKING.includes(server.state)).length;
  const isWhole = up === servers.length;
  health.className = `badge ${!status.ready ? "bad" : isWhole ? "good" : "warn"}`;
  const words = status.ready ? "ready" : "not ready";
  health.textContent = isWhole ? words : `${words}, ${up} of ${servers.length} servers`;
  const parts = [`version ${status.version}`, `Node ${status.node}`, `up ${span(status.uptimeSeconds)}`];
  if (status.url) parts.unshift(status.url);
  if (status.config) parts.push(status.config);
  draw("about", parts.join(" · "));
  drawReasons(status.reasons ?? []);
}

function drawReasons(reasons) {
  at("reasons").hidden = reasons.length === 0;
  draw("reasons", ...reasons.map((reason) => element("li", {}, String(reason))));
}

function drawNumbers(servers, catalog, sessions) {
  const up = servers.filter((server) => server.state === "ready").length;
  const tokens = servers.reduce((total, server) => total + (server.tokens ?? 0), 0);
  const tokensLabel = `Tools, ${grouped(tokens)} tokens`;
  const numbers = [
    ["Servers ready", `${up} / ${servers.length}`],
    ...KINDS.map(([kind, label]) => [kind === "tools" ? tokensLabel : label, catalog[kind].length]),
    ["Sessions", sessions.length],
    ["In flight", servers.reduce((total, server) => total + (server.inFlight ?? 0), 0)],
  ];
  draw(
    "numbers",
    ...numbers.map(([label, value]) =>
      element(
        "div",
        {},
        element("strong", {}, String(value)),
        element("span", { className: "quiet" }, label),
      ),
    ),
  );
}

function drawServers(servers, catalog) {
  const count = (kind, server) => catalog[kind].filter((row) => row.server === server.name).length;
  const rows = servers.map((server) => {
    const name = element("th", {}, server.name);
    name.scope = "row";
    const said = server.serverInfo;
    if (said)
      name.append(
        element("div", { className: "quiet" }, [said.name, said.version].filter(Boolean).join(" ")),
      );
    const words = [server.state];
    if (server.circuit && server.circuit !== "closed")
      words.push(`circuit ${server.circuit.replace("_", " ")}`);
    if (server.required) words.push("required");
    const state = element(
      "span",
      { className: `badge ${STATE_CLASS[server.state] ?? ""}` },
      words.join(", "),
    );
    const flight = server.waiting ? `${server.inFlight} + ${server.waiting}` : server.inFlight;
    return element(
      "tr",
      {},
      name,
      element("td", {}, state),
      text(server.transport),
      number(count("tools", server)),
      number(grouped(server.tokens)),
      number(count("prompts", server)),
      number(count("resources", server) + count("resourceTemplates", server)),
      number(flight),
      element(
        "td",
        {},
        element("div", { className: "error" }, ...(server.lastError ? [server.lastError] : [])),
      ),
    );
  });
  draw("servers", ...(rows.length > 0 ? rows : [nothing(9, "No server is configured.")]));
}

function drawSessions(sessions) {
  const rows = sessions.map((session) =>
    element(
      "tr",
      {},
      text(session.client ?? "unnamed"),
      text(session.principal),
      text(session.era),
      text(session.scope === "" ? "all" : session.scope),
      number(span(session.ageSeconds)),
      number(span(session.idleSeconds)),
    ),
  );
  draw("sessions", ...(rows.length > 0 ? rows : [nothing(6, "No host is connected.")]));
}

function drawQuestions(questions) {
  const rows = questions.map(({ server, kind, principal, since }) =>
    element(
      "tr",
      {},
      text(server),
      text(kind),
      text(principal),
      number(span(Math.round((Date.now() - Date.parse(since)) / 1000))),
    ),
  );
  draw("questions", ...(rows.length > 0 ? rows : [nothing(4, "No open questions.")]));
}

const EFFECT_CLASS = {
  allow: "good",
  deny: "bad",
  hide: "bad",
  approve: "warn",
  decline: "bad",
  redact: "warn",
};

function drawDecisions(decisions) {
  const rows = decisions.slice(0, SHOWN_DECISIONS).map((decision) => {
    const effect = element(
      "span",
      { className: `badge ${EFFECT_CLASS[decision.effect] ?? ""}` },
      decision.effect,
    );
    return element(
      "tr",
      {},
      text(new Date(decision.time).toLocaleTimeString()),
      element("td", {}, effect),
      text(decision.failed ? `${decision.rule} (could not be answered)` : decision.rule),
      element("td", {}, element("code", {}, decision.target)),
      text(decision.principal),
      text(decision.on === "call" ? decision.method : `${decision.on} asked by ${decision.server}`),
    );
  });
  draw("decisions", ...(rows.length > 0 ? rows : [nothing(6, "No rule has decided anything yet.")]));
}

let shown = "";
let latest;

function drawCatalog() {
  const wanted = at("filter").value.toLowerCase();
  // Drawn again only when it changed: a list that is redrawn every few seconds cannot be selected or unfolded.
  const key = wanted + JSON.stringify(latest);
  if (key === shown) return;
  const open = new Set(
    [...document.querySelectorAll("details[open]")].map((details) => details.dataset.kind),
  );
  const isDrawn = draw(
    "catalog",
    ...KINDS.map(([kind, label]) => {
      const found = latest[kind].filter((row) => row.name.toLowerCase().includes(wanted));
      const items = found.map((row) =>
        element("li", { title: row.title ?? row.server }, element("code", {}, row.name)),
      );
      const details = element(
        "details",
        {},
        element("summary", {}, `${label} `, element("span", { className: "quiet" }, String(found.length))),
        element("ul", {}, ...items),
      );
      details.dataset.kind = kind;
      details.open = open.has(kind) || (wanted !== "" && found.length > 0);
      return details;
    }),
  );
  if (isDrawn) shown = key;
}

async function refresh() {
  try {
    const [status, servers, catalog, sessions, questions, decisions, logins] = await Promise.all(
      ["status", "servers", "catalog", "sessions", "questions", "decisions", "logins"].map(page),
    );
    latest = catalog;
    drawHealth(status, servers);
    drawNumbers(servers, catalog, sessions);
    drawServers(servers, catalog);
    drawLogins(servers, logins);
    drawSessions(sessions);
    drawQuestions(questions);
    drawDecisions(decisions);
    drawCatalog();
    at("when").textContent = `as of ${new Date().toLocaleTimeString()}`;
    drawDoor(false);
  } catch (error) {
    // Nothing is asked again until there is another token to try.
    if (error instanceof TokenNeeded) return drawDoor(true);
    at("health").className = "badge bad";
    at("health").textContent = "unreachable";
    drawReasons([error.message]);
  }
  setTimeout(look, REFRESH_MS);
}

/** Never fails: what goes wrong is on the page. */
function look() {
  refresh().catch(() => {});
}

/** The door is shut: a token is asked for, and nothing else is shown. */
function drawDoor(shut) {
  at("door").hidden = !shut;
  at("rooms").hidden = shut;
  // Links are followed without the token.
  at("pages").hidden = shut || sessionStorage.getItem(TOKEN) !== null;
  if (!shut) return;
  at("health").className = "badge warn";
  at("health").textContent = "locked";
  at("wrong").hidden = sessionStorage.getItem(TOKEN) === null;
  sessionStorage.removeItem(TOKEN);
  at("token").focus();
}

at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, at("token").value.trim());
  at("token").value = "";
  look();
});

at("filter").addEventListener("input", () => latest && drawCatalog());
look();
