// The dashboard: a snapshot of all sessions, kept fresh by one stream of events.
//
// Whatever comes from a session (titles, paths, prompts, tool input) may be hostile. It reaches the
// page through textContent and setAttribute of inert attributes only, never as markup.

const element = (id) => document.getElementById(id);

/** Writes only what differs, so that nothing is laid out or announced for nothing. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

const pause = (milliseconds) => new Promise((resume) => setTimeout(resume, milliseconds));

// The hub's door.

const TOKEN = "cld-token";
const SCOPE = "cld-scope";

/** A page that was opened with --read-only has nothing to press. */
const mayControl = () => sessionStorage.getItem(SCOPE) !== "read";

/** The hub's clock minus ours, in milliseconds: phones are often minutes off. */
let clockOffset = 0;
const now = () => Date.now() + clockOffset;

/** Resolved when a request was let in; replaced when one was turned away. */
const login = { why: "This page has no token yet.", wake: null };

async function spendTicket() {
  const ticket = /^#t=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (!ticket) return;
  // First of all the ticket leaves the address, so that neither history nor a bookmark keeps it.
  history.replaceState(null, "", "/#/");
  const response = await fetch("/auth/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ticket }),
    credentials: "omit",
  }).catch(() => null);
  if (response?.ok) {
    const { token, scope } = await response.json();
    sessionStorage.setItem(TOKEN, token);
    sessionStorage.setItem(SCOPE, scope);
    login.wake?.();
  } else {
    login.why = "That ticket was used already or is too old.";
  }
}

function request(method, path, { body, signal, headers = {} } = {}) {
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
}

async function read(path) {
  const response = await request("GET", path);
  noteAccess(response);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (date && Math.abs(date - Date.now()) > 2000) clockOffset = date - Date.now();
  return response.json();
}

function noteAccess(response) {
  const refused = response.status === 401;
  if (refused && sessionStorage.getItem(TOKEN)) {
    sessionStorage.removeItem(TOKEN);
    login.why = "The hub no longer accepts this page's token: it was restarted, or the token is too old.";
  }
  show(element("login"), refused);
  setText(element("login-why"), login.why);
  if (refused) {
    show(element("overview"), false);
    show(element("detail"), false);
    show(element("create"), false);
  }
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// The stream.

/** Puts server-sent events together from pieces of text of any size. */
class Frames {
  #pieces = [];
  #data = [];
  #event = "message";
  #id = null;

  push(text, emit) {
    if (!text.includes("\n")) {
      this.#pieces.push(text);
      return;
    }
    const lines = (this.#pieces.join("") + text).split("\n");
    this.#pieces = [lines.pop()];
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line, emit);
  }

  #line(line, emit) {
    if (line === "") {
      if (this.#data.length > 0) emit(this.#event, this.#id, this.#data.join("\n"));
      this.#data = [];
      this.#event = "message";
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
  }
}

/** The hub speaks at least every 15 s; a stream that is silent for longer is dead. */
const SILENCE = 45_000;

const stream = { lastId: null, heard: 0, abort: null };

function showLink(state, text) {
  element("link").dataset.state = state;
  setText(element("link"), text);
  showStale();
}

/** Without the hub the page shows the past, and says how far back. */
function showStale() {
  const stale = element("link").dataset.state === "disconnected" && snapshot.last > 0 && element("login").hidden;
  document.body.classList.toggle("stale", stale);
  if (stale) setText(element("stale"), `The hub is gone. What stands here was true ${ago((snapshot.last + clockOffset) / 1000)}.`);
  show(element("stale"), stale);
}

async function followEvents() {
  for (let failures = 0; ; failures += 1) {
    let refused = false;
    try {
      refused = await readStream(() => { failures = 0; });
    } catch {
      // Whatever broke the stream, the answer is the same: say so and connect again.
    }
    if (refused) {
      showLink("disconnected", "Not logged in");
      await new Promise((resume) => { login.wake = resume; });
      failures = 0;
      continue;
    }
    const delay = Math.min(10_000, 500 * 2 ** failures) * (0.75 + Math.random() / 2);
    showLink("disconnected", "Disconnected, trying again");
    await pause(delay);
  }
}

/** Reads until the stream ends. True when the hub refused it. */
async function readStream(connected) {
  stream.abort = new AbortController();
  const headers = stream.lastId ? { "Last-Event-ID": stream.lastId } : {};
  const response = await request("GET", "/events", { signal: stream.abort.signal, headers });
  noteAccess(response);
  if (response.status === 401) return true;
  if (response.status === 400) stream.lastId = null;
  if (!response.ok) return false;
  connected();
  stream.heard = Date.now();
  showLink("connected", "Live");
  refreshSoon(0);
  const frames = new Frames();
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await pieces.read();
    if (done) return false;
    stream.heard = Date.now();
    frames.push(value, takeEvent);
  }
}

function takeEvent(event, id, data) {
  if (id) stream.lastId = id;
  const payload = parse(data);
  if (!payload) return;
  if (event === "hub") {
    if (payload.type === "gap") timeline.missed(payload.count);
    if (payload.type === "oversize") timeline.takeLive(id, tooLarge(payload));
    if (payload.type !== "ping") refreshSoon(200);
    return;
  }
  timeline.takeLive(id, payload);
  const matters = CHANGES_STATE.has(payload.hook_event_name);
  refreshSoon(matters ? 200 : 1000);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

setInterval(() => {
  if (stream.heard && Date.now() - stream.heard > SILENCE) stream.abort?.abort();
}, 5000);

// The snapshot.

const CHANGES_STATE = new Set([
  "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure",
  "PermissionRequest", "Notification", "Elicitation", "ElicitationResult",
]);

const AT_MOST_EVERY = 400;

/** `last` is when the hub was asked last, and answered. */
const snapshot = { home: "", sessions: [], timer: null, due: Infinity, last: 0, tried: 0, busy: false };

function refreshSoon(delay) {
  const due = Math.max(Date.now() + delay, snapshot.tried + AT_MOST_EVERY);
  if (due >= snapshot.due) return;
  snapshot.due = due;
  clearTimeout(snapshot.timer);
  snapshot.timer = setTimeout(refresh, due - Date.now());
}

async function refresh() {
  snapshot.due = Infinity;
  if (snapshot.busy) return refreshSoon(AT_MOST_EVERY);
  snapshot.busy = true;
  try {
    const [all, { queue }] = await Promise.all([read("/sessions"), read("/queue")]);
    const place = new Map(queue.map((session, index) => [session.session_id, index]));
    snapshot.home = all.home ?? "";
    snapshot.sessions = all.sessions.map((session) => view(session, place));
    snapshot.last = Date.now();
    render();
  } catch {
    // The stream notices a hub that is gone, and says so.
  } finally {
    snapshot.busy = false;
    snapshot.tried = Date.now();
  }
}

/** A session as the page needs it. */
function view(session, queue) {
  const id = session.session_id;
  const directory = session.directory ?? session.cwd ?? "";
  const group = groupOf(session);
  return {
    id,
    short: id.slice(0, 8),
    title: session.title || directory.split("/").pop() || id.slice(0, 8),
    directory,
    group,
    waiting: session.waiting ?? null,
    place: queue.get(id) ?? Infinity,
    since: session.waiting?.since ?? session.latest_hook_time ?? session.since ?? 0,
    background: session.background ?? 0,
    pane: session.pane ?? null,
    managed: session.managed === true,
    aliases: session.aliases ?? [],
    latest: session.latest_hook_event ?? null,
  };
}

function groupOf(session) {
  if (session.state === "ended" || session.alive === false) return "ended";
  if (session.waiting) return "waiting";
  return session.state === "running" || session.state === "starting" ? "running" : "idle";
}

const KINDS = {
  permission: "asks for permission",
  question: "has a question",
  plan: "has a plan to approve",
  input: "needs your input",
  done: "is done",
  error: "stopped with an error",
};

const GROUPS = ["waiting", "running", "idle", "ended"];

function stateOf(session) {
  const age = ago(session.since);
  if (session.group === "waiting") return `${KINDS[session.waiting.kind] ?? "waits"}, ${age}`;
  const work = session.background > 0 ? `, ${session.background} in the background` : "";
  const word = { running: "running", idle: "idle", ended: "ended" }[session.group];
  return session.since ? `${word}${work}, ${age}` : `${word}${work}`;
}

function ago(seconds) {
  const passed = Math.max(0, Math.round(now() / 1000 - seconds));
  return passed < 5 ? "just now" : `${span(passed)} ago`;
}

function span(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** A directory below the home directory as people write it. */
function shortened(directory) {
  const { home } = snapshot;
  const isBelow = home !== "" && (directory === home || directory.startsWith(`${home}/`));
  return isBelow ? `~${directory.slice(home.length)}` : directory;
}

function addressOf(pane) {
  return pane ? `${pane.session}:${pane.window_index}.${pane.pane_index}` : "";
}

// The overview.

function render() {
  const groups = Object.groupBy
    ? Object.groupBy(snapshot.sessions, (session) => session.group)
    : groupBy(snapshot.sessions);
  groups.waiting?.sort((one, other) => one.place - other.place || one.since - other.since);
  for (const group of GROUPS.slice(1)) groups[group]?.sort((one, other) => other.since - one.since);
  renderCounts(groups.waiting?.length ?? 0, groups.running?.length ?? 0);
  const shown = route();
  show(element("create"), mayControl());
  show(element("overview"), !shown);
  show(element("detail"), Boolean(shown));
  if (shown) return renderDetail(shown);
  show(element("nothing"), snapshot.sessions.length === 0);
  for (const group of GROUPS) renderGroup(element(group), groups[group] ?? []);
}

function groupBy(sessions) {
  const groups = {};
  for (const session of sessions) (groups[session.group] ??= []).push(session);
  return groups;
}

function renderCounts(waiting, running) {
  const needs = waiting === 1 ? "1 needs you" : `${waiting} need you`;
  setText(element("counts"), `${needs}, ${running} running`);
  const title = waiting > 0 ? `(${waiting}) cld` : "cld";
  if (document.title !== title) document.title = title;
  const colour = waiting > 0 ? "#ec5f67" : running > 0 ? "#6699cc" : "#cdd3de";
  const number = waiting > 0 ? `<text x="16" y="23" font-size="20" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="#16232b">${waiting > 9 ? "9+" : Number(waiting)}</text>` : "";
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${colour}"/>${number}</svg>`;
  const href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  if (element("favicon").getAttribute("href") !== href) element("favicon").setAttribute("href", href);
}

function renderGroup(section, sessions) {
  show(section, sessions.length > 0);
  setText(section.querySelector(".number"), String(sessions.length));
  const list = section.querySelector(".cards");
  const known = new Map([...list.children].map((card) => [card.dataset.key, card]));
  sessions.forEach((session, index) => {
    const key = `${session.id} ${session.pane?.server ?? ""} ${session.pane?.id ?? ""}`;
    const card = known.get(key) ?? newCard(key);
    known.delete(key);
    renderCard(card, session);
    if (list.children[index] !== card) list.insertBefore(card, list.children[index] ?? null);
  });
  for (const card of known.values()) card.remove();
}

function newCard(key) {
  const card = element("card").content.firstElementChild.cloneNode(true);
  card.dataset.key = key;
  card.querySelector(".copy").addEventListener("click", (event) => copyJump(event.currentTarget));
  return card;
}

function renderCard(card, session) {
  if (card.dataset.state !== session.group) card.dataset.state = session.group;
  const link = card.querySelector("a");
  setText(link, session.title);
  const href = `#/session/${encodeURIComponent(session.id)}`;
  if (link.getAttribute("href") !== href) link.setAttribute("href", href);
  setText(card.querySelector(".state"), stateOf(session));
  const asked = card.querySelector(".asked");
  setText(asked, session.waiting?.context ?? "");
  show(asked, Boolean(session.waiting?.context));
  setText(card.querySelector(".project"), shortened(session.directory));
  setText(card.querySelector(".address"), addressOf(session.pane));
  show(card.querySelector(".pane"), session.pane !== null);
  const copy = card.querySelector(".copy");
  if (copy.dataset.command !== `cld jump ${session.short}`) {
    copy.dataset.command = `cld jump ${session.short}`;
    copy.setAttribute("aria-label", `Copy cld jump ${session.short}`);
    setText(copy, copy.dataset.command);
  }
}

async function copyJump(button) {
  const { command } = button.dataset;
  const copied = await copyText(command);
  setText(button, copied ? "copied" : "select and copy");
  await pause(1500);
  setText(button, command);
}

/** The clipboard is for secure contexts only, and a page on a phone may not be one. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}

// One session.

/** The id in the address, if the address names a session. */
function route() {
  const match = /^#\/session\/([^/]+)$/.exec(location.hash);
  return match ? decodeURIComponent(match[1]) : null;
}

function findSession(id) {
  return snapshot.sessions.find((session) => session.id === id || session.aliases.includes(id));
}

function renderDetail(id) {
  const session = findSession(id);
  timeline.open(id, session?.aliases ?? []);
  setText(element("detail-title"), session?.title ?? id);
  const state = element("detail-state");
  state.dataset.state = session?.group ?? "ended";
  setText(state, session ? stateOf(session) : "This session is not known to the hub any more.");
  renderFacts(session ? [
    ["id", session.id],
    ["directory", shortened(session.directory)],
    ["pane", addressOf(session.pane)],
    ["jump", session.pane ? `cld jump ${session.short}` : ""],
    ["resume", session.group === "ended" ? `cld resume ${session.short}` : ""],
    ["last event", session.latest ?? ""],
  ] : []);
  const asked = session?.waiting?.context ?? "";
  setText(element("detail-asked"), asked);
  show(element("detail-asked"), asked !== "");
  show(element("actions"), mayControl() && Boolean(session?.managed) && session.group !== "ended");
}

function renderFacts(facts) {
  const list = element("detail-facts");
  const wanted = facts.filter(([, value]) => value !== "");
  while (list.children.length > 2 * wanted.length) list.lastElementChild.remove();
  wanted.forEach(([name, value], index) => {
    const term = list.children[2 * index] ?? list.appendChild(document.createElement("dt"));
    const text = list.children[2 * index + 1] ?? list.appendChild(document.createElement("dd"));
    setText(term, name);
    setText(text, value);
  });
}

// The timeline.

const FILTERS = ["all", "prompts", "tools", "waits", "stops", "other"];

/** What a row of the timeline says of an event. */
function describe(payload) {
  const name = payload.hook_event_name ?? "unknown";
  switch (name) {
    case "UserPromptSubmit":
      return { kind: "prompts", label: "prompt", text: payload.prompt };
    case "PreToolUse":
      return { kind: "tools", label: payload.tool_name, text: inputOf(payload.tool_input) };
    case "PermissionRequest":
      return { kind: "waits", label: "asks", text: `${payload.tool_name}: ${inputOf(payload.tool_input)}` };
    case "Elicitation":
      return { kind: "waits", label: "asks", text: payload.message };
    case "Notification":
      return { kind: "waits", label: "notice", text: payload.message };
    case "Stop":
      return { kind: "stops", label: "done", text: payload.last_assistant_message };
    case "StopFailure":
      return { kind: "stops", label: "error", text: payload.error };
    case "SessionStart":
      return { kind: "other", label: "start", text: payload.source };
    case "SessionEnd":
      return { kind: "stops", label: "end", text: payload.reason };
    default:
      return { kind: "other", label: name, text: payload.tool_name ?? payload.agent_type ?? payload.message ?? "" };
  }
}

/** What stands in the place of an event that the hub could not take; it is none itself. */
function tooLarge({ session_id, hook_event_name, bytes }) {
  const message = `${hook_event_name ?? "An event"} of ${Math.round(bytes / 2 ** 20)} MiB`;
  return { session_id, hook_event_name: "too large", message };
}

/** The part of a tool's input that tells the most. */
function inputOf(input) {
  if (typeof input !== "object" || input === null) return String(input ?? "");
  const telling = input.command ?? input.file_path ?? input.pattern ?? input.url ?? input.query
    ?? input.questions?.[0]?.question ?? input.plan ?? input.description;
  return typeof telling === "string" ? telling : JSON.stringify(input);
}

/** What the session is doing from this event on; null when the event does not tell. */
function activityAfter(payload) {
  switch (payload.hook_event_name) {
    case "UserPromptSubmit": case "PreToolUse": case "PostToolUse": case "PostToolUseFailure":
      return "running";
    case "PermissionRequest": case "Elicitation": case "Stop": case "StopFailure":
      return "waiting";
    case "Notification":
      return /^(permission_prompt|elicitation_dialog|agent_needs_input)$/.test(payload.notification_type) ? "waiting" : null;
    case "SessionStart":
      return payload.source === "compact" ? null : "idle";
    case "SessionEnd":
      return "idle";
    default:
      return null;
  }
}

const LONGEST_TEXT = 300;
const MOST_EVENTS = 20_000;

class Timeline {
  #id = null;
  #aliases = new Set();
  #rows = [];
  #shown = [];
  #calls = new Map();
  #waits = new Map();
  #activity = [];
  #filter = "all";
  #selected = -1;
  #nodes = [];
  #newest = null;
  #missed = 0;
  #early = null;
  #drawing = false;
  #rowHeight = 0;

  constructor() {
    this.#measure();
    const view = element("timeline");
    view.addEventListener("scroll", () => this.#draw(), { passive: true });
    view.addEventListener("click", async (event) => {
      const row = event.target.closest(".event");
      if (!row) return;
      await this.#select(Number(row.dataset.index));
      element("raw").scrollIntoView({ block: "nearest" });
    });
    view.addEventListener("keydown", (event) => this.#key(event));
    for (const filter of FILTERS) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = filter;
      button.setAttribute("aria-pressed", String(filter === this.#filter));
      button.addEventListener("click", () => this.#choose(filter));
      element("filters").append(button);
    }
    addEventListener("resize", () => {
      this.#measure();
      this.#draw();
    });
  }

  /** On a narrow screen a row has two lines. */
  #measure() {
    const height = getComputedStyle(element("timeline")).getPropertyValue("--row");
    this.#rowHeight = parseFloat(height) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    for (const node of this.#nodes) delete node.dataset.index;
  }

  open(id, aliases) {
    this.#aliases = new Set([id, ...aliases]);
    if (this.#id === id) return;
    this.close();
    this.#id = id;
    this.#load(id);
  }

  close() {
    this.#id = null;
    this.#rows = [];
    this.#shown = [];
    this.#calls.clear();
    this.#waits.clear();
    this.#activity = [];
    this.#selected = -1;
    this.#newest = null;
    this.#missed = 0;
    this.#early = null;
    show(element("gaps"), false);
    show(element("raw"), false);
    show(element("silent"), false);
    this.#drawSoon();
  }

  /** An event from the stream, while this session is shown. */
  takeLive(id, payload) {
    if (!this.#id || !this.#aliases.has(payload.session_id)) return;
    const event = { id, at: now(), payload };
    if (this.#early) this.#early.push(event);
    else this.#take(event);
  }

  missed(count) {
    if (!this.#id) return;
    this.#missed += count ?? 0;
    setText(element("gaps"), `Up to ${this.#missed} events are missing here: they came while this page was disconnected, and the hub no longer keeps them.`);
    show(element("gaps"), this.#missed > 0);
  }

  /** The events so far, page by page; those that arrive meanwhile wait their turn. */
  async #load(id) {
    this.#early = [];
    let after = "";
    try {
      for (;;) {
        const page = await read(`/sessions/${encodeURIComponent(id)}/history?limit=500${after}`);
        if (this.#id !== id) return;
        if (page.events.length === 0) break;
        if (page.missing > 0) this.missed(page.missing);
        for (const { id: event, at, event: kind, data } of page.events) {
          if (kind === "hook") this.#take({ id: event, at, payload: data });
          else if (data.type === "oversize") this.#take({ id: event, at, payload: tooLarge(data) });
        }
        after = `&after=${encodeURIComponent(page.next)}`;
      }
    } catch {
      // The hub is gone, which the page says, or the session is.
    }
    const early = this.#early ?? [];
    if (this.#id !== id) return;
    this.#early = null;
    for (const event of early) this.#take(event);
    this.#drawSoon();
  }

  #take({ id, at, payload }) {
    if (!isLater(id, this.#newest)) return;
    this.#newest = id;
    const activity = activityAfter(payload);
    if (activity && this.#activity.at(-1)?.activity !== activity) this.#activity.push({ at, activity });
    if (!this.#finishes(id, at, payload)) this.#add(id, at, payload);
    this.#drawSoon();
  }

  /** The end of a tool call completes the row of its beginning instead of making one. */
  #finishes(id, at, payload) {
    const name = payload.hook_event_name;
    const ended = name === "PostToolUse" || name === "PostToolUseFailure";
    if (ended || name === "UserPromptSubmit" || name === "Stop" || name === "SessionEnd") {
      for (const [key, row] of this.#waits) {
        if (ended && key !== callOf(payload)) continue;
        row.took = at - row.at;
        this.#waits.delete(key);
      }
    }
    const row = ended ? this.#calls.get(payload.tool_use_id) : undefined;
    if (!row) return false;
    this.#calls.delete(payload.tool_use_id);
    row.took = at - row.at;
    row.failed = name === "PostToolUseFailure";
    row.ids.push(id);
    return true;
  }

  #add(id, at, payload) {
    const { kind, label, text } = describe(payload);
    const row = { ids: [id], at, kind, label: String(label ?? ""), text: oneLine(text), took: null, failed: false };
    if (payload.hook_event_name === "PreToolUse" && payload.tool_use_id) this.#calls.set(payload.tool_use_id, row);
    if (payload.hook_event_name === "PermissionRequest") this.#waits.set(callOf(payload), row);
    this.#rows.push(row);
    if (this.#rows.length > MOST_EVENTS) this.#forgetOldest();
    else if (this.#wanted(row)) this.#shown.push(row);
  }

  #forgetOldest() {
    this.#rows.splice(0, MOST_EVENTS / 10);
    this.#shown = this.#rows.filter((row) => this.#wanted(row));
    this.#selected = -1;
  }

  #wanted(row) {
    return this.#filter === "all" || row.kind === this.#filter;
  }

  #choose(filter) {
    this.#filter = filter;
    for (const button of element("filters").children) {
      button.setAttribute("aria-pressed", String(button.textContent === filter));
    }
    this.#shown = this.#rows.filter((row) => this.#wanted(row));
    this.#selected = -1;
    show(element("raw"), false);
    this.#draw();
  }

  #drawSoon() {
    if (this.#drawing) return;
    this.#drawing = true;
    setTimeout(() => {
      this.#drawing = false;
      const view = element("timeline");
      const atEnd = view.scrollHeight - view.scrollTop - view.clientHeight < 2 * this.#rowHeight;
      this.#draw();
      if (atEnd && this.#selected < 0) view.scrollTop = view.scrollHeight;
      this.#drawChart();
    }, 200);
  }

  /** Only the rows in sight exist. */
  #draw() {
    const view = element("timeline");
    const runway = element("runway");
    const height = `${this.#shown.length * this.#rowHeight}px`;
    if (runway.style.height !== height) {
      runway.style.height = height;
      // With its border; the style sheet says how high it may become.
      view.style.height = `calc(${height} + 2px)`;
    }
    show(element("silent"), this.#id !== null && this.#early === null && this.#rows.length === 0);
    const first = Math.max(0, Math.floor(view.scrollTop / this.#rowHeight) - 4);
    const count = Math.ceil(view.clientHeight / this.#rowHeight) + 8;
    while (this.#nodes.length < count) this.#nodes.push(runway.appendChild(newRow()));
    for (let step = 0; step < this.#nodes.length; step += 1) {
      const index = first + step;
      const node = this.#nodes[index % this.#nodes.length];
      const row = step < count ? this.#shown[index] : undefined;
      show(node, row !== undefined);
      if (row) this.#drawRow(node, row, index);
    }
    const active = this.#selected >= 0 ? `event-${this.#selected}` : null;
    if (active && document.getElementById(active)) view.setAttribute("aria-activedescendant", active);
    else view.removeAttribute("aria-activedescendant");
  }

  #drawRow(node, row, index) {
    if (node.dataset.index !== String(index)) {
      node.dataset.index = index;
      node.id = `event-${index}`;
      node.style.transform = `translateY(${index * this.#rowHeight}px)`;
    }
    node.dataset.kind = row.kind;
    node.setAttribute("aria-selected", String(index === this.#selected));
    node.setAttribute("aria-posinset", String(index + 1));
    node.setAttribute("aria-setsize", String(this.#shown.length));
    const [time, kind, text, took] = node.children;
    setText(time, clockTime(row.at));
    setText(kind, row.label);
    setText(text, row.text);
    setText(took, tookOf(row));
  }

  #key(event) {
    const page = Math.max(1, Math.floor(element("timeline").clientHeight / this.#rowHeight) - 1);
    const last = this.#shown.length - 1;
    const from = this.#selected < 0 ? last + 1 : this.#selected;
    if (event.key === "Enter" && this.#selected >= 0) element("raw").querySelector("pre").focus();
    const to = {
      ArrowDown: this.#selected + 1,
      ArrowUp: from - 1,
      PageDown: this.#selected + page,
      PageUp: from - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.#select(Math.min(last, Math.max(0, to)));
  }

  #select(index) {
    this.#selected = index;
    const view = element("timeline");
    const top = index * this.#rowHeight;
    if (top < view.scrollTop) view.scrollTop = top;
    const lowest = top + this.#rowHeight - view.clientHeight;
    if (lowest > view.scrollTop) view.scrollTop = lowest;
    this.#draw();
    return this.#showRaw(this.#shown[index]);
  }

  /** Payloads can be megabytes, so the page keeps none and asks for the one that is looked at. */
  async #showRaw(row) {
    const pre = element("raw").querySelector("pre");
    show(element("raw"), true);
    const texts = await Promise.all(row.ids.map((id) => payloadText(this.#id, id)));
    if (this.#shown[this.#selected] === row) setText(pre, texts.join("\n\n"));
  }

  #drawChart() {
    const end = this.#activity.at(-1)?.activity === "idle" ? this.#activity.at(-1).at : now();
    const spans = this.#activity.map(({ at, activity }, index) => ({ from: at, to: this.#activity[index + 1]?.at ?? end, activity }));
    drawChart(element("chart"), element("chart-text"), spans);
  }
}

function newRow() {
  const row = document.createElement("div");
  row.className = "event";
  row.setAttribute("role", "option");
  for (const name of ["time", "span", "span", "span"]) row.append(document.createElement(name));
  row.children[1].className = "kind";
  row.children[2].className = "said";
  row.children[3].className = "took";
  return row;
}

function oneLine(text) {
  return String(text ?? "").slice(0, LONGEST_TEXT).replace(/\s+/g, " ");
}

function clockTime(milliseconds) {
  return new Date(milliseconds - clockOffset).toTimeString().slice(0, 8);
}

function tookOf(row) {
  if (row.took === null) return "";
  const time = row.took < 10_000 ? `${(row.took / 1000).toFixed(1)} s` : span(row.took / 1000);
  return row.failed ? `failed, ${time}` : time;
}

/** The call a permission was asked for; the request does not name it by id. */
function callOf(payload) {
  return JSON.stringify([payload.agent_id ?? "", payload.tool_name, payload.tool_input]);
}

function sequenceOf(id) {
  return Number(id.slice(id.lastIndexOf("-") + 1));
}

/** Ids begin with the start of the hub that gave them, and every start counts from one. */
function isLater(id, other) {
  if (other === null) return true;
  const [boot, otherBoot] = [id, other].map((one) => one.slice(0, one.lastIndexOf("-")));
  return boot === otherBoot ? sequenceOf(id) > sequenceOf(other) : boot > otherBoot;
}

/** The history after the event before this one begins with this one. */
async function payloadText(session, id) {
  const cut = id.lastIndexOf("-") + 1;
  const before = `${id.slice(0, cut)}${sequenceOf(id) - 1}`;
  try {
    const page = await read(`/sessions/${encodeURIComponent(session)}/history?limit=1&after=${encodeURIComponent(before)}`);
    const event = page.events.find((found) => found.id === id);
    if (event) return JSON.stringify(event.data, null, 2);
  } catch {
    // Said below.
  }
  return "The hub no longer keeps this payload.";
}

/** Running against waiting over time. At most one piece a column, however many events there are. */
function drawChart(chart, caption, spans) {
  const COLUMNS = 1000;
  const start = spans[0]?.from ?? 0;
  const length = Math.max(1, (spans.at(-1)?.to ?? 0) - start);
  const total = { running: 0, waiting: 0, idle: 0 };
  const pieces = [];
  for (const { from, to, activity } of spans) {
    total[activity] += to - from;
    const left = Math.floor(((from - start) / length) * COLUMNS);
    const right = Math.max(left + 1, Math.ceil(((to - start) / length) * COLUMNS));
    const last = pieces.at(-1);
    if (last && (last.activity === activity || right - last.left <= 1)) last.right = right;
    else pieces.push({ left, right, activity });
  }
  while (chart.children.length > pieces.length) chart.lastElementChild.remove();
  pieces.forEach((piece, index) => {
    const box = chart.children[index] ?? chart.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
    box.setAttribute("class", piece.activity);
    box.setAttribute("x", piece.left);
    box.setAttribute("width", piece.right - piece.left);
    box.setAttribute("height", 20);
  });
  const text = spans.length === 0
    ? "No event yet."
    : `Running ${span(total.running / 1000)}, waiting for you ${span(total.waiting / 1000)}.`;
  setText(caption, text);
}

const timeline = new Timeline();

// Actions.

/** What became of a message, in the words of the hub's answer and no better. */
const OUTCOMES = {
  submitted: "Submitted: Claude has taken it.",
  queued: "Queued: Claude is busy and takes it when this turn is done.",
  awaiting_user: "Refused: a dialog is open in the session. Answer it in its pane first.",
  not_ready: "Refused: the session is still starting.",
  session_ended: "Refused: the session has ended.",
  queue_full: "Refused: too many messages wait already.",
  unconfirmed: "Unconfirmed: it was typed, but Claude did not say that it took it. Look at the pane. Sending the same text again asks once more and types nothing.",
};

/** The id of the text in the box: sending the same text again after a doubtful end is no second message. */
const draft = { text: "", id: "" };

async function sendMessage(event) {
  event.preventDefault();
  if (event.target.querySelector("button[type=submit]").disabled) return;
  const text = element("text").value;
  if (draft.text !== text) Object.assign(draft, { text, id: randomId() });
  const outcome = element("outcome");
  const button = event.target.querySelector("button[type=submit]");
  button.disabled = true;
  setText(outcome, "Sending");
  try {
    const response = await request("POST", `/sessions/${encodeURIComponent(route())}/message`, { body: { text, message_id: draft.id } });
    const answer = await response.json();
    const word = answer.state ?? answer.code;
    setText(outcome, OUTCOMES[word] ?? `Refused: ${answer.detail ?? answer.title ?? response.status}`);
    if (response.ok) {
      // What was typed meanwhile is the next message.
      if (element("text").value === text) element("text").value = "";
      draft.text = "";
    }
  } catch {
    setText(outcome, "Unconfirmed: the hub did not answer. Sending the same text again is safe.");
  } finally {
    button.disabled = false;
  }
}

async function stopSession() {
  const id = route();
  setText(element("stopping-what"), findSession(id)?.title ?? id);
  if (await ask(element("stopping")) !== "stop") return;
  const outcome = element("outcome");
  setText(outcome, "Stopping");
  try {
    const response = await request("DELETE", `/sessions/${encodeURIComponent(id)}`);
    const answer = await response.json();
    setText(outcome, response.ok ? "Stopped." : `Not stopped: ${answer.detail ?? answer.title}`);
  } catch {
    setText(outcome, "The hub did not answer; whether it stopped is not known.");
  }
  refreshSoon(0);
}

async function createSession() {
  const known = new Set(snapshot.sessions.map((session) => session.directory).filter(Boolean));
  element("directories").replaceChildren(...[...known].sort().map((directory) => new Option("", directory)));
  setText(element("creating-problem"), "");
  while (await ask(element("creating")) === "create") {
    const id = randomId();
    const body = { session_id: id, cwd: element("cwd").value };
    if (element("prompt").value.trim()) body.prompt = element("prompt").value;
    try {
      const response = await request("POST", "/sessions", { body });
      const answer = await response.json();
      if (response.ok) {
        element("prompt").value = "";
        location.hash = `#/session/${id}`;
        return refreshSoon(0);
      }
      setText(element("creating-problem"), answer.detail ?? answer.title);
    } catch {
      setText(element("creating-problem"), "The hub did not answer.");
    }
  }
}

/** Opens a dialog and tells which button closed it. */
function ask(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resume) => {
    dialog.addEventListener("close", () => resume(dialog.returnValue), { once: true });
  });
}

// Start.

element("message").addEventListener("submit", sendMessage);
element("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  element("message").requestSubmit();
});
element("stop").addEventListener("click", stopSession);
element("create").addEventListener("click", createSession);
addEventListener("hashchange", async () => {
  await spendTicket();
  if (!route()) timeline.close();
  setText(element("outcome"), "");
  render();
  if (route()) element("detail-title").focus();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refreshSoon(0);
});
setInterval(() => {
  if (document.hidden || !snapshot.last) return;
  render();
  showStale();
}, 10_000);

await spendTicket();
followEvents();
