// A machine of its own for the browser tests: HOME, tmux server, hub and browser, none of them the user's.

import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const require = createRequire(path.join(process.env.CLD_BROWSER_TOOLS, "package.json"));
export const { chromium } = require("playwright-core");
export const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const BROWSER = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
  // A name that an attacker's name server would point at this machine.
  "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

export const until = async (what, check, deadline = 15_000) => {
  const end = Date.now() + deadline;
  let last;
  for (;;) {
    try {
      const result = await check();
      if (result) return result;
      last = result;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`never came true: ${what} (last: ${last})`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
};

export class World {
  #sessions = 0;

  constructor() {
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "cld-page-"));
    this.socket = path.join(this.home, "tmux.sock");
    this.bin = process.env.CLD_BIN;
    this.env = {
      PATH: `${path.join(this.home, "bin")}:${process.env.PATH}`,
      HOME: this.home,
      LANG: "C.UTF-8",
      TMPDIR: this.home,
      XDG_STATE_HOME: path.join(this.home, "state"),
      XDG_RUNTIME_DIR: path.join(this.home, "run"),
      XDG_CONFIG_HOME: path.join(this.home, "config"),
      CLD_PATIENCE: "20",
    };
    fs.mkdirSync(this.env.XDG_RUNTIME_DIR, { mode: 0o700 });
    fs.mkdirSync(path.join(this.home, "bin"));
    fs.mkdirSync(path.join(this.home, ".claude"));
    // What the fake Claude does is said by a file, so that it can be another for each session.
    this.script("claude", `FAKE_CLAUDE=$(cat "$HOME/mode" 2>/dev/null) exec '${process.env.CLD_FAKE_CLAUDE}' "$@"`);
    this.tmux("-f", "/dev/null", "new-session", "-d", "-s", "work", "-x", "200", "-y", "50", "sleep 100000");
    this.env.TMUX = `${this.socket},${this.tmux("display-message", "-p", "#{pid}")},0`;
  }

  script(name, text) {
    fs.writeFileSync(path.join(this.home, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  tmux(...words) {
    const done = spawnSync("tmux", ["-S", this.socket, ...words], { env: this.env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`tmux ${words.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  }

  cld(...words) {
    const done = spawnSync(this.bin, words, { env: this.env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`cld ${words.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  }

  /** A pane in which a session lives, as far as hooks tell. */
  newSession({ cwd = this.home, collector } = {}) {
    this.#sessions += 1;
    const id = `${String(this.#sessions).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const pane = this.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", "sleep 100000");
    return new Session(this, id, pane, cwd, collector);
  }

  /** The port stays the same over restarts, as it would for a user. */
  async startHub() {
    this.hub = spawn(this.bin, ["hub", "--listen", `127.0.0.1:${this.port ?? 0}`], { env: this.env, stdio: ["ignore", "ignore", "pipe"] });
    this.hub.log = "";
    this.hub.stderr.on("data", (piece) => { this.hub.log += piece; });
    const status = await until("the hub answers", () => JSON.parse(this.cld("hub", "status", "--json")));
    this.url = status.url;
    this.port = Number(new URL(this.url).port);
    this.collector = {
      CLAUDE_HUB_COLLECTOR_URL: this.url,
      CLAUDE_HUB_COLLECTOR_TOKEN: this.cld("hub", "token", "--scope", "collect"),
    };
  }

  async stopHub() {
    const gone = new Promise((resume) => this.hub.once("exit", resume));
    this.hub.kill("SIGTERM");
    await gone;
  }

  /** What the hub itself says about what it has let in. */
  async metric(name) {
    const answer = await fetch(`${this.url}/metrics`, { headers: { Authorization: `Bearer ${this.cld("hub", "token")}` } });
    const line = (await answer.text()).split("\n").find((found) => found.startsWith(`${name} `) || found.startsWith(`${name}{`));
    return line ? Number(line.split(" ").at(-1)) : 0;
  }

  /** A page that is logged in, in a profile of its own. */
  async open({ path: where = "", readOnly = false, ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.troubles = [];
    page.on("pageerror", (error) => page.troubles.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { page.troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => {
      if (!request.url().startsWith(this.url) && !request.url().startsWith("data:")) page.troubles.push(`request: ${request.url()}`);
    });
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    page.on("console", (message) => { if (message.text().startsWith("policy:")) page.troubles.push(message.text()); });
    await page.goto(this.cld("hub", "open", "--print", ...(readOnly ? ["--read-only"] : [])));
    await page.getByText("Live", { exact: true }).waitFor();
    if (where) await page.goto(`${this.url}/${where}`);
    return page;
  }

  async close() {
    await this.browser?.close();
    if (this.hub && this.hub.exitCode === null) await this.stopHub();
    spawnSync("tmux", ["-S", this.socket, "kill-server"]);
    fs.rmSync(this.home, { recursive: true, force: true });
  }

  async launchBrowser(headless = true) {
    this.browser = await chromium.launch({ executablePath: process.env.CLD_CHROMIUM ?? "/usr/bin/chromium", args: BROWSER, headless });
    return this.browser;
  }
}

/** Fires the events that Claude Code would, through the same program. */
export class Session {
  constructor(world, id, pane, cwd, collector) {
    Object.assign(this, { world, id, pane, cwd, collector });
  }

  fire(hook_event_name, fields = {}) {
    const payload = { session_id: this.id, transcript_path: `${this.cwd}/${this.id}.jsonl`, cwd: this.cwd, hook_event_name, ...fields };
    const done = spawnSync(this.world.bin, ["hook"], {
      input: JSON.stringify(payload),
      env: { ...this.world.env, TMUX_PANE: this.pane, ...(this.collector ?? this.world.collector) },
    });
    if (done.status !== 0) throw new Error(`cld hook: ${done.status}`);
  }

  start(title) { this.fire("SessionStart", { source: "startup", session_title: title }); }
  prompt(prompt) { this.fire("UserPromptSubmit", { prompt }); }
  use(tool_name, tool_input, tool_use_id = "toolu_1") { this.fire("PreToolUse", { tool_name, tool_input, tool_use_id }); }
  asks(tool_name, tool_input) { this.fire("PermissionRequest", { tool_name, tool_input }); }
  used(tool_name, tool_input, tool_use_id = "toolu_1") { this.fire("PostToolUse", { tool_name, tool_input, tool_use_id, tool_response: {} }); }
  stops(last_assistant_message) { this.fire("Stop", { last_assistant_message, stop_hook_active: false }); }
  ends(reason = "prompt_input_exit") { this.fire("SessionEnd", { reason }); }
}
