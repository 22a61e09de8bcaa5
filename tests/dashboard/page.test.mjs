// What a person sees on the page, in a real browser, with the real hub, hooks and tmux.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";
import { World, axeSource, until } from "./world.mjs";

const PICTURES = process.env.CLD_PICTURES;
const world = new World();
const pages = [];

before(async () => {
  fs.mkdirSync(PICTURES, { recursive: true });
  await world.startHub();
  await world.launchBrowser();
});

after(() => world.close());

afterEach(async (context) => {
  const name = context.name.replace(/\W+/g, "-");
  for (const page of pages.splice(0)) {
    if (!page.isClosed()) await page.screenshot({ path: path.join(PICTURES, `after-${name}.png`) }).catch(() => {});
    assert.deepEqual(page.troubles, [], "the page ran into trouble");
    await page.context().close();
  }
});

async function open(options) {
  const page = await world.open(options);
  pages.push(page);
  return page;
}

const card = (page, session) => page.locator(".card", { has: page.locator(`a[href="#/session/${session.id}"]`) });
const inGroup = (page, group, session) => page.locator(`#${group} .card`, { has: page.locator(`a[href="#/session/${session.id}"]`) });

test("without a token the page says what to run", async () => {
  for (const [name, width, colorScheme] of [["phone", 320, "dark"], ["desktop", 1280, "light"]]) {
    const context = await world.browser.newContext({ viewport: { width, height: 640 }, colorScheme });
    const page = await context.newPage();
    await page.goto(world.url);
    await page.getByRole("heading", { name: "Not logged in" }).waitFor();
    assert.match(await page.locator("#login").innerText(), /cld hub open/);
    assert.equal(await page.locator("#overview").isVisible(), false);
    assert.equal(await page.locator("#stale").isVisible(), false);
    await page.evaluate(axeSource);
    await check(page, "not logged in");
    await page.screenshot({ path: path.join(PICTURES, `login-${name}.png`) });
    await context.close();
  }
});

test("a ticket works once and leaves the address at once", async () => {
  const address = world.cld("hub", "open", "--print");
  const first = await world.browser.newPage();
  await first.goto(address);
  await first.getByText("Live", { exact: true }).waitFor();
  assert.equal(await first.evaluate(() => location.hash), "#/");
  const second = await world.browser.newContext().then((context) => context.newPage());
  await second.goto(address);
  await second.getByText("That ticket was used already or is too old.").waitFor();
  await first.close();
  await second.context().close();
});

test("a session appears, turns red, is answered and leaves, without a reload", async () => {
  const page = await open();
  const session = world.newSession();
  session.start("Fix the parser");
  await inGroup(page, "idle", session).waitFor();
  session.prompt("go");
  await inGroup(page, "running", session).waitFor();
  session.use("Bash", { command: "rm -rf build" });
  session.asks("Bash", { command: "rm -rf build" });
  await inGroup(page, "waiting", session).waitFor();
  const text = await card(page, session).innerText();
  assert.match(text, /Fix the parser/);
  assert.match(text, /asks for permission/);
  assert.match(text, /Bash: rm -rf build/);
  assert.match(text, /work:\d+\.\d+/);
  await until("the title counts", async () => (await page.title()) === "(1) cld");
  assert.match(decodeURIComponent(await page.locator("#favicon").getAttribute("href")), />1<\/text>/);
  session.used("Bash", { command: "rm -rf build" });
  await inGroup(page, "running", session).waitFor();
  session.stops("All done.");
  await inGroup(page, "waiting", session).waitFor();
  assert.match(await card(page, session).innerText(), /is done[\s\S]*All done\./);
  session.ends();
  await inGroup(page, "ended", session).waitFor({ state: "attached" });
  assert.equal(await inGroup(page, "ended", session).isVisible(), false, "ended ones are folded away");
  await until("nothing is counted", async () => (await page.title()) === "cld");
  world.tmux("kill-pane", "-t", session.pane);
});

test("an answer that fires no event shows by itself", async () => {
  const page = await open();
  const session = world.newSession();
  session.start("Goes away");
  session.stops("bye");
  await inGroup(page, "waiting", session).waitFor();
  world.tmux("kill-pane", "-t", session.pane);
  await card(page, session).waitFor({ state: "detached" });
});

test("who has waited longest comes first", async () => {
  const page = await open();
  const sessions = ["one", "two", "three"].map((title) => {
    const session = world.newSession();
    session.start(title);
    return session;
  });
  for (const index of [1, 2, 0]) {
    sessions[index].stops("waiting");
    const moment = Date.now();
    await until("the next second", () => Math.floor(Date.now() / 1000) > Math.floor(moment / 1000));
  }
  await until("the order is right", async () => {
    const titles = await page.locator("#waiting h3").allInnerTexts();
    return titles.join() === "two,three,one";
  });
  for (const session of sessions) world.tmux("kill-pane", "-t", session.pane);
});

test("the page says that it is disconnected, and comes back by itself after the hub does", async () => {
  const page = await open();
  const before = world.newSession();
  before.start("Before the restart");
  await card(page, before).waitFor();
  await world.stopHub();
  await page.getByText("Disconnected, trying again").waitFor();
  await page.getByText("The hub is gone. What stands here was true").waitFor();
  await page.evaluate(axeSource);
  await check(page, "disconnected");
  await page.screenshot({ path: path.join(PICTURES, "disconnected-desktop.png") });
  await world.startHub();
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 30_000 });
  assert.equal(await page.locator("#stale").isVisible(), false);
  const session = world.newSession();
  session.start("After the restart");
  await card(page, session).waitFor();
  for (const { pane } of [before, session]) world.tmux("kill-pane", "-t", pane);
});

test("the events of a session are there after the hub was started again, and go on", async () => {
  const session = world.newSession();
  session.start("Outlives the hub");
  for (const number of [1, 2, 3, 4]) session.prompt(`before ${number}`);
  const page = await open({ path: `#/session/${session.id}` });
  await page.locator(".event", { hasText: "before 4" }).waitFor();
  await world.stopHub();
  await world.startHub();
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 30_000 });
  session.prompt("after");
  await page.locator(".event", { hasText: "after" }).waitFor();
  const other = await open({ path: `#/session/${session.id}` });
  await other.locator(".event", { hasText: "after" }).waitFor();
  const rows = await other.locator(".event:visible .said").allInnerTexts();
  assert.deepEqual(rows.sort(), ["after", "before 1", "before 2", "before 3", "before 4", "startup"]);
  world.tmux("kill-pane", "-t", session.pane);
});

test("an event that was too large is missing in plain sight", async () => {
  const session = world.newSession();
  session.start("Prints too much");
  const page = await open({ path: `#/session/${session.id}` });
  await page.locator(".event", { hasText: "startup" }).waitFor();
  const { CLAUDE_HUB_COLLECTOR_URL: url, CLAUDE_HUB_COLLECTOR_TOKEN: token } = world.collector;
  const answer = await fetch(`${url}/events/oversize`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ session_id: session.id, hook_event_name: "PostToolUse", bytes: 70 * 2 ** 20 }),
  });
  assert.equal(answer.status, 202);
  const row = "PostToolUse of 70 MiB";
  await page.locator(".event", { hasText: row }).waitFor();
  const other = await open({ path: `#/session/${session.id}` });
  await other.locator(".event", { hasText: row }).waitFor();
  await other.locator(".event", { hasText: row }).click();
  await other.locator("#raw pre", { hasText: '"type": "oversize"' }).waitFor();
  world.tmux("kill-pane", "-t", session.pane);
});

test("a session that sends the hub nothing has a page that says so", async () => {
  const session = world.newSession({ collector: {} });
  session.start("Keeps to itself");
  const page = await open({ path: `#/session/${session.id}` });
  await page.getByText("This session has sent the hub no event.").waitFor();
  Object.assign(session, { collector: world.collector });
  session.prompt("now it does");
  await page.locator(".event", { hasText: "now it does" }).waitFor();
  assert.equal(await page.getByText("This session has sent the hub no event.").isVisible(), false);
  world.tmux("kill-pane", "-t", session.pane);
});

test("the pane's address can be copied as a command", async () => {
  const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const session = world.newSession();
  session.start("Copy me");
  await card(page, session).getByRole("button").click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `cld jump ${session.id.slice(0, 8)}`);
  world.tmux("kill-pane", "-t", session.pane);
});

const HOSTILE = [
  "<script>window.hurt=1</script>",
  "<img src=x onerror=window.hurt=1>",
  "\"><svg/onload=window.hurt=1>",
  "javascript:window.hurt=1",
  "</title><script>window.hurt=1</script>",
  "{{constructor.constructor('window.hurt=1')()}}",
  "<iframe srcdoc='<script>parent.hurt=1</script>'>",
  "<a href=javascript:window.hurt=1 id=overview>x</a>",
  "<style>@import 'http://evil.test/x'</style>",
  "\u202Eevil\u0000\u001b]0;x\u0007",
];

test("markup in titles, prompts, paths and tool input is text", async () => {
  const page = await open();
  const sessions = HOSTILE.map((text, index) => {
    const cwd = path.join(world.home, `dir ${index} ${text.replaceAll("/", "").replaceAll("\0", "").slice(0, 60)}`);
    fs.mkdirSync(cwd, { recursive: true });
    const session = world.newSession({ cwd });
    session.start(text);
    session.prompt(text);
    session.use("Bash", { command: text, description: text }, text);
    session.asks("Bash", { command: text, description: text });
    return session;
  });
  for (const session of sessions) {
    await inGroup(page, "waiting", session).waitFor();
    await page.goto(`${world.url}/#/session/${session.id}`);
    await page.locator(".event").nth(2).waitFor();
    await page.locator(".event").nth(2).click();
    await page.locator("#raw pre", { hasText: "tool_input" }).waitFor();
    await page.goto(`${world.url}/#/`);
  }
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.equal(await page.locator(".card img, .card svg, .card script, .card iframe, .event img, .event svg").count(), 0);
  for (const session of sessions) world.tmux("kill-pane", "-t", session.pane);
});

test("ten thousand events are a list of which only what is in sight exists", async () => {
  const session = world.newSession();
  session.start("A long day");
  await postEvents(session, 10_000);
  const page = await open({ path: `#/session/${session.id}` });
  const timeline = page.getByRole("listbox", { name: "Events" });
  await page.locator("#event-5000[aria-setsize='5001']").waitFor({ timeout: 60_000 });
  assert.ok(await page.locator(".event").count() < 100, "rows out of sight exist");
  await timeline.focus();
  await page.keyboard.press("Home");
  await page.locator("#event-0[aria-selected=true]").waitFor();
  await page.getByRole("button", { name: "stops" }).click();
  await until("only stops are left", async () => (await page.locator(".event:visible .kind").allInnerTexts()).every((kind) => kind === "done" || kind === "end"));
  await page.getByRole("button", { name: "all", exact: true }).click();
  await timeline.focus();
  await page.keyboard.press("End");
  await page.locator("#raw pre", { hasText: "PreToolUse" }).waitFor();
  await page.locator("#raw pre", { hasText: "PostToolUse" }).waitFor();
  assert.match(await page.locator("#chart-text").innerText(), /Running .+, waiting for you /);
  world.tmux("kill-pane", "-t", session.pane);
});

/** Events of tool calls, straight to the collector, as a hook elsewhere would send them. */
async function postEvents(session, count) {
  const headers = { Authorization: `Bearer ${world.collector.CLAUDE_HUB_COLLECTOR_TOKEN}`, "Content-Type": "application/json" };
  for (let index = 0; index < count; index += 2) {
    for (const hook_event_name of ["PreToolUse", "PostToolUse"]) {
      const body = JSON.stringify({
        session_id: session.id, hook_event_name, cwd: session.cwd, transcript_path: "/x",
        tool_name: "Bash", tool_use_id: `toolu_${index}`, tool_input: { command: `step ${index}` },
      });
      const answer = await fetch(`${world.url}/events`, { method: "POST", headers, body });
      assert.equal(answer.status, 202, await answer.text());
    }
  }
}

test("everything can be reached with the keyboard", async () => {
  const page = await open();
  const session = world.newSession();
  session.start("By keyboard");
  session.stops("look at me");
  await inGroup(page, "waiting", session).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  for (let presses = 0; ; presses += 1) {
    assert.ok(presses < 20, "the session's link is never reached");
    await page.keyboard.press("Tab");
    if (await page.evaluate((id) => document.activeElement.getAttribute("href") === `#/session/${id}`, session.id)) break;
  }
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "By keyboard" }).waitFor();
  await until("the heading has the focus", () => page.evaluate(() => document.activeElement.id === "detail-title"));
  world.tmux("kill-pane", "-t", session.pane);
});

for (const scheme of ["light", "dark"]) {
  for (const [name, width, height] of [["phone", 320, 640], ["desktop", 1280, 800], ["4k", 3840, 2160]]) {
    test(`axe finds nothing wrong on a ${name} in ${scheme}, and nothing is cut off`, async () => {
      const sessions = exampleSessions();
      const page = await open({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" });
      await inGroup(page, "waiting", sessions[0]).waitFor();
      await page.evaluate(axeSource);
      await check(page, "overview");
      await page.screenshot({ path: path.join(PICTURES, `overview-${name}-${scheme}.png`) });
      await page.getByRole("button", { name: "New session" }).click();
      await check(page, "new session");
      await page.getByRole("button", { name: "Cancel" }).click();
      await card(page, sessions[0]).getByRole("link").click();
      await page.locator(".event").first().waitFor();
      await page.getByRole("listbox").focus();
      await page.keyboard.press("End");
      await check(page, "session");
      const said = await page.locator(".event .said").first().boundingBox();
      assert.ok(said.width > 0.6 * Math.min(width, 640), `what an event says has ${said.width} px`);
      await page.locator("#raw pre", { hasText: "tool_input" }).waitFor();
      await page.locator(".event").first().click();
      await until("the payload is in sight", () => page.locator("#raw").evaluate((raw) => raw.getBoundingClientRect().top < innerHeight - 50));
      await page.screenshot({ path: path.join(PICTURES, `session-${name}-${scheme}.png`) });
      for (const session of sessions) world.tmux("kill-pane", "-t", session.pane);
    });
  }
}

async function check(page, where) {
  const { violations } = await page.evaluate(() => window.axe.run());
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(found, [], where);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(overflow, 0, `${where} scrolls sideways`);
}

function exampleSessions() {
  const make = (name, title) => {
    const cwd = path.join(world.home, "src", name);
    fs.mkdirSync(cwd, { recursive: true });
    const session = world.newSession({ cwd });
    session.start(title);
    session.prompt(title);
    return session;
  };
  const [asks, question, done, running, idle] = [
    make("shop", "Move the checkout to the new API"), make("parser", "Why does the parser lose comments?"),
    make("site", "Write the release notes"), make("engine", "Make the index build in parallel"), make("notes", "Sort the notes"),
  ];
  asks.use("Bash", { command: "cargo test --workspace" }, "toolu_a");
  asks.used("Bash", { command: "cargo test --workspace" }, "toolu_a");
  asks.use("Bash", { command: "rm -rf target/generated && make generate" }, "toolu_b");
  asks.asks("Bash", { command: "rm -rf target/generated && make generate" });
  question.asks("AskUserQuestion", { questions: [{ question: "Keep comments on the node before, or on the one after?", header: "Where", options: [{ label: "Before" }, { label: "After" }], multiSelect: false }] });
  done.stops("The notes are written. Two entries have no author; I left them out.");
  running.use("Edit", { file_path: "src/index.rs" });
  idle.fire("Notification", { notification_type: "idle_prompt", message: "Claude is waiting for your input" });
  return [asks, question, done, running, idle];
}

/** Creates a session through the page, with a fake Claude in the given mode; its id. */
async function create(page, mode = "") {
  fs.writeFileSync(path.join(world.home, "mode"), mode);
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByLabel("Directory").fill(world.home);
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator("#actions").waitFor();
  return page.url().split("/").pop();
}

async function send(page, text) {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("#message button[type=submit]:enabled").waitFor();
}

test("what is typed while a message is on its way is not lost", async () => {
  const page = await open();
  await create(page, "slow-start=1500");
  await page.getByLabel("Message").fill("first");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByLabel("Message").fill("second");
  await page.getByText("Submitted: Claude has taken it.").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "second");
});

test("a session is created, written to and stopped, and the page says what really happened", async () => {
  const page = await open();
  const id = await create(page);
  await page.locator(".event .kind", { hasText: "start" }).waitFor();
  await send(page, "hello");
  await page.getByText("Submitted: Claude has taken it.").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "", "what was taken is gone from the box");
  await page.getByLabel("Message").fill("work");
  await page.keyboard.press("Control+Enter");
  await page.locator(".event", { hasText: "work" }).first().waitFor();
  await page.locator("#message button[type=submit]:enabled").waitFor();
  await send(page, "one more thing");
  await page.getByText("Queued: Claude is busy and takes it when this turn is done.").waitFor();
  await send(page, "rest");
  await page.locator(".event .kind", { hasText: "done" }).first().waitFor();
  await send(page, "ask");
  await page.locator("#detail-state", { hasText: "asks for permission" }).waitFor();
  await send(page, "yes");
  await page.getByText("Refused: a dialog is open in the session.").waitFor();
  assert.equal(await page.getByLabel("Message").inputValue(), "yes", "what was refused is still there");
  await page.getByRole("button", { name: "Stop session" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator("#actions").isVisible(), true);
  await page.getByRole("button", { name: "Stop session" }).click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator(".event .kind", { hasText: "end" }).waitFor();
  await page.locator("#detail-state", { hasText: "ended" }).waitFor();
  assert.equal(await page.locator("#actions").isVisible(), false);
  assert.ok(!world.tmux("list-sessions", "-F", "#{session_name}").includes(`claude-${id.slice(0, 8)}`));
});

test("a message that nobody confirmed is called unconfirmed", async () => {
  const page = await open();
  await create(page, "deaf");
  await send(page, "hello?");
  await page.getByText("Unconfirmed: it was typed").waitFor({ timeout: 30_000 });
});

test("a directory that does not exist is refused with the reason", async () => {
  const page = await open();
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByLabel("Directory").fill("/nowhere/at/all");
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator("#creating-problem", { hasText: "/nowhere/at/all" }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
});

test("a page that may only read has nothing to press", async () => {
  const page = await open({ readOnly: true });
  const session = world.newSession();
  session.start("Only to look at");
  await card(page, session).getByRole("link").click();
  await page.getByRole("heading", { name: "Only to look at" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "New session" }).isVisible(), false);
  assert.equal(await page.locator("#actions").isVisible(), false);
  world.tmux("kill-pane", "-t", session.pane);
});

test("pages of other sites reach nothing", async () => {
  const paths = [];
  const site = http.createServer((request, response) => {
    paths.push(request.url);
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>other</title><body></body>");
  });
  await new Promise((resume) => site.listen(0, "127.0.0.1", resume));
  const before = await known();
  assert.ok(before.events > 0, "the counter of events counts");
  const page = await world.browser.newPage();
  for (const origin of [`http://127.0.0.1:${site.address().port}`, `http://evil.test:${site.address().port}`]) {
    await page.goto(origin);
    const read = await page.evaluate(attack, { hub: world.url, token: "guessed" });
    assert.deepEqual(read, [], `read from ${origin}`);
  }
  const rebound = await page.goto(`http://evil.test:${world.port}/`);
  assert.equal(rebound.status(), 403, "a foreign name for this machine");
  const inside = await page.evaluate(async () => {
    const answers = await Promise.all(["/sessions", "/events", "/healthz", "/auth/session"].map((path) => fetch(path).then((answer) => answer.status)));
    return answers;
  });
  assert.deepEqual(inside, [403, 403, 403, 403]);
  await page.close();
  site.close();
  const after = await known();
  assert.equal(after.events, before.events, "an event got in");
  assert.deepEqual(after.sessions.filter((id) => !before.sessions.includes(id)), [], "a session was started");
});

/** All that a page can try against a hub on the same machine; returns what it could read. */
async function attack({ hub, token }) {
  const read = [];
  const note = (what) => async (answer) => { if (answer.type !== "opaque" && answer.ok) read.push(`${what}: ${await answer.text()}`); };
  const event = JSON.stringify({ session_id: "attack", hook_event_name: "Stop" });
  const create = JSON.stringify({ session_id: "5e1f0000-0000-4000-8000-000000000000", cwd: "/" });
  const tries = [
    ["read", "/sessions", {}], ["read with a token", "/sessions", { headers: { Authorization: `Bearer ${token}` } }],
    ["no-cors read", "/sessions", { mode: "no-cors" }], ["stream", "/events", { mode: "no-cors" }],
    ["event", "/events", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: event }],
    ["event as json", "/events", { method: "POST", headers: { "Content-Type": "application/json" }, body: event }],
    ["create", "/sessions", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: create }],
    ["create with cookies", "/sessions", { method: "POST", mode: "no-cors", credentials: "include", body: create }],
  ];
  await Promise.all(tries.map(([what, path, options]) => fetch(hub + path, options).then(note(what), () => {})));
  await new Promise((resume) => { const image = new Image(); image.onload = image.onerror = resume; image.src = `${hub}/sessions`; });
  const frame = document.createElement("iframe");
  frame.name = "target";
  document.body.append(frame);
  for (const path of ["/events", "/sessions"]) {
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: hub + path, target: "target", enctype: "text/plain" });
    const field = document.createElement("input");
    Object.assign(field, { name: '{"session_id":"attack","hook_event_name":"Stop","x":"', value: '"}' });
    form.append(field);
    document.body.append(form);
    const loaded = new Promise((resume) => { frame.onload = resume; });
    form.submit();
    await loaded;
  }
  await new Promise((resume) => {
    const socket = new WebSocket(`${hub.replace("http", "ws")}/events`);
    socket.onopen = () => { read.push("a web socket opened"); resume(); };
    socket.onerror = resume;
  });
  return read;
}

async function known() {
  const headers = { Authorization: `Bearer ${world.cld("hub", "token")}` };
  const { sessions } = await fetch(`${world.url}/sessions`, { headers }).then((answer) => answer.json());
  return { sessions: sessions.map((session) => session.session_id), events: await world.metric("cld_hub_events_total") };
}
