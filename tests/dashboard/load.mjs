// 200 sessions and 50 events a second, and what the page costs the browser meanwhile.

import { World, until } from "./world.mjs";

const SESSIONS = 200;
const EVENTS_PER_SECOND = 50;
/** In percent of a core, in MB, and in nodes of the page: a memory that is flat may breathe. */
const [BUSY, GROWTH, NODES] = [20, 2, 500];
const at = process.argv.indexOf("--seconds");
const seconds = at > 0 ? Number(process.argv[at + 1]) : 300;

const world = new World();
try {
  await world.startHub();
  await world.launchBrowser();
  const sessions = Array.from({ length: SESSIONS }, (_, index) => {
    const session = world.newSession();
    session.start(`Session ${index}`);
    if (index % 4 === 0) session.stops(`Done with ${index}`);
    else session.prompt("go");
    return session;
  });
  const page = await world.open();
  await until("all sessions are shown", async () => (await page.locator(".card").count()) >= SESSIONS, 60_000);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const read = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { metrics } = await devtools.send("Performance.getMetrics");
    const value = (name) => metrics.find((metric) => metric.name === name).value;
    return { time: Date.now() / 1000, busy: value("TaskDuration"), heap: value("JSHeapUsedSize") / 1e6, nodes: value("Nodes") };
  };
  const begin = await read();
  let last = begin;
  let sent = 0;
  while (last.time - begin.time < seconds) {
    const end = Date.now() + Math.min(30, seconds) * 1000;
    while (Date.now() < end) {
      const behind = (Date.now() / 1000 - begin.time) * EVENTS_PER_SECOND - sent;
      for (let count = 0; count < behind; count += 1) sent += await post(sessions[Math.floor(Math.random() * SESSIONS)], sent);
      await new Promise((resume) => setTimeout(resume, 10));
    }
    const now = await read();
    const share = ((now.busy - last.busy) / (now.time - last.time)) * 100;
    console.log(`${(now.time - begin.time).toFixed(0).padStart(4)} s  main thread ${share.toFixed(1)} %  heap ${now.heap.toFixed(1)} MB  nodes ${now.nodes}  events ${sent}`);
    last = now;
  }
  const share = ((last.busy - begin.busy) / (last.time - begin.time)) * 100;
  console.log(`main thread ${share.toFixed(1)} % of a core on average (at most 20), heap ${begin.heap.toFixed(1)} MB before and ${last.heap.toFixed(1)} MB after ${sent} events (at most ${GROWTH} more)`);
  console.log(`\n| what | ratio | target |\n|---|---|---|\n| main thread of the page, of a core | ${(share / 100).toFixed(2)} | ${BUSY / 100} |`);
  if (share > BUSY || last.heap > begin.heap + GROWTH || last.nodes > begin.nodes + NODES) {
    console.error("a limit is exceeded");
    process.exitCode = 1;
  }
} finally {
  await world.close();
}

/** One tool event of 2 kB, and now and then a turn that ends or begins. */
async function post(session, number) {
  if (number % 100 === 0) {
    if (number % 200 === 0) session.stops(`Step ${number}`);
    else session.prompt(`Go on ${number}`);
    return 1;
  }
  const body = JSON.stringify({
    session_id: session.id, hook_event_name: number % 2 ? "PreToolUse" : "PostToolUse", cwd: session.cwd, transcript_path: "/x",
    tool_name: "Bash", tool_use_id: `toolu_${number}`, tool_input: { command: "x".repeat(1800) },
  });
  const headers = { Authorization: `Bearer ${world.collector.CLAUDE_HUB_COLLECTOR_TOKEN}`, "Content-Type": "application/json" };
  const answer = await fetch(`${world.url}/events`, { method: "POST", headers, body });
  if (answer.status !== 202) throw new Error(`the hub answered ${answer.status}`);
  return 1;
}
