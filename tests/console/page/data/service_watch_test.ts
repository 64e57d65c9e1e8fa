/** What the operator's page learns from a service that answers, half answers or is away. */
import assert from "node:assert/strict";
import { listen } from "../../../../lib/http/listener.ts";
import { Poll } from "../../../../services/console/page/data/http.ts";
import {
  isAway,
  type Presence,
  type ServiceName,
  type ServiceState,
  ServiceWatch,
  unknownService,
} from "../../../../services/console/page/data/service_watch.ts";
import { nextTurn } from "../../../support/eventually.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const PASS_MS = 1_500;

/** Answers by path, as text, later, or with a status; null closes the connection. */
type Answers = Record<string, string | Promise<string> | [status: number, text: string] | null>;

/** Runs a test with a service whose answers the test changes. */
async function withService(
  run: (scene: { url: string; answers: Answers; asked: string[] }) => Promise<void>,
): Promise<void> {
  const scene = { url: "", answers: {} as Answers, asked: [] as string[] };
  await using listener = listen("127.0.0.1", 0, async (request) => {
    const { pathname, search } = new URL(request.url);
    scene.asked.push(pathname + search);
    const answer = scene.answers[pathname] === undefined
      ? [404, ""] as const
      : scene.answers[pathname];
    if (answer === null) {
      return new Response(new ReadableStream({ pull: (body) => body.error(new Error("reset")) }));
    }
    const [status, text] = typeof answer === "string" || answer instanceof Promise
      ? [200, await answer]
      : answer;
    return new Response(text, { status });
  });
  scene.url = listener.url;
  await run(scene);
}

const WELL: Answers = {
  "/health": '{"status":"healthy"}',
  "/ready": "{}",
  "/metrics": "up 1\n",
};
const GOOD = {
  presence: "answers",
  hasMissed: false,
  reason: "",
  health: "healthy",
  isHealthy: true,
  isReady: true,
  complaints: [],
};

/** A watch of one service. */
function watchOf(name: ServiceName, url: string) {
  const clock = new FakeClock();
  const watch = new ServiceWatch([unknownService(name, url)], clock);
  const state = () => watch.states.value[0] ?? assert.fail();
  /** The state after the first pass. */
  const start = async () => {
    watch.poll.start();
    await clock.untilScheduled();
    return state();
  };
  /** The state after some more passes. */
  const next = async (passes = 1) => {
    for (let pass = 0; pass < passes; pass++) {
      clock.advance(PASS_MS);
      await clock.untilScheduled();
    }
    return state();
  };
  return { clock, watch, state, start, next };
}

const CASES: [what: string, answers: Answers, expected: Partial<ServiceState>][] = [
  ["all is well", {}, {}],
  ["health is one word", { "/health": " OK\n" }, { health: "OK" }],
  ["health has no word", { "/health": "{}" }, { health: "" }],
  ["it is degraded", { "/health": '{"status":"degraded"}' }, {
    health: "degraded",
    isHealthy: false,
  }],
  ["it has failed", { "/health": '{"status":"failed","reason":"disk full"}' }, {
    health: "failed",
    isHealthy: false,
    complaints: ["disk full"],
  }],
  ["health is 503", { "/health": [503, '{"status":"ok","error":"no store"}'] }, {
    health: "ok",
    isHealthy: false,
    complaints: ["no store"],
  }],
  ["health is broken JSON", { "/health": "{" }, { health: "unreadable" }],
  ["it is not ready", { "/ready": [503, '{"problems":["no node","no key"]}'] }, {
    isReady: false,
    complaints: ["no node", "no key"],
  }],
  ["health and readiness name the same problem", {
    "/health": '{"status":"failed","reason":"disk full"}',
    "/ready": [503, '{"problems":["disk full","no node"]}'],
  }, { health: "failed", isHealthy: false, isReady: false, complaints: ["disk full", "no node"] }],
  ["it is not ready, in a word", { "/ready": [503, "Shutting down"] }, {
    isReady: false,
    complaints: ["Shutting down"],
  }],
];

Deno.test("ServiceWatch: health, readiness and complaints are taken from the service's answers", () =>
  withService(async ({ url, answers, asked }) => {
    for (const [what, given, expected] of CASES) {
      Object.assign(answers, WELL, given);
      const { watch, start, state } = watchOf("bridge", `${url}//`);
      assert.deepEqual([state().presence, state().url], ["unknown", url]);
      const { name: _, url: __, history, ...known } = await start();
      assert.deepEqual(known, { ...GOOD, ...expected }, what);
      assert.equal(history.latest.sum("up"), 1);
      watch.poll.stop();
    }
    assert.deepEqual(new Set(asked), new Set(["/health", "/ready", "/metrics"]));
  }));

Deno.test("ServiceWatch: the query of a URL, such as a key, stays behind the path", () =>
  withService(async ({ url, answers, asked }) => {
    Object.assign(answers, WELL);
    const { watch, start } = watchOf("oracle", `${url}/?key=a`);
    assert.equal((await start()).presence, "answers");
    watch.poll.stop();
    const paths = ["/health", "/metrics", "/providers", "/ready"];
    assert.deepEqual(asked.sort(), paths.map((path) => `${path}?key=a`));
  }));

Deno.test("ServiceWatch: all but the exchanges are asked for /ready; without an answer they are up, not ready", () =>
  withService(async ({ url, answers, asked }) => {
    Object.assign(answers, WELL, { "/ready": null });
    for (const name of ["exchanges", "oracle", "node", "proxy", "solver"] satisfies ServiceName[]) {
      asked.length = 0;
      const { watch, start } = watchOf(name, url);
      const { presence, isReady, complaints } = await start();
      watch.poll.stop();
      assert.equal(presence, "answers");
      const asksReady = name !== "exchanges";
      assert.equal(asked.includes("/ready"), asksReady, name);
      assert.equal(isReady, asksReady ? false : undefined);
      if (asksReady) assert.match(complaints[0] ?? "", /\/ready cannot be reached/);
    }
  }));

Deno.test("ServiceWatch: one missing answer proves nothing, two in a row do", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    const { watch, clock, start, state, next } = watchOf("node", url);
    const after = async (answer: string | null) => {
      answers["/metrics"] = answer;
      const { presence, hasMissed } = await next();
      return [presence, hasMissed];
    };
    assert.equal((await start()).presence, "answers");
    assert.deepEqual(await after(null), ["answers", true]);
    assert.deepEqual(await after("up 1"), ["answers", false]);
    assert.deepEqual(await after(""), ["answers", true]);
    assert.deepEqual(await after(""), ["gone", true]);
    watch.forget();
    assert.deepEqual([state().presence, state().hasMissed], ["unknown", false]);
    assert.equal(clock.pending, 0);
  }));

Deno.test("ServiceWatch: a service that goes away has a reason, and keeps its last figures and answer", async () => {
  let watched: ReturnType<typeof watchOf> | undefined;
  /** The state after so many passes. */
  const next = async (presence: Presence, passes = 2) => {
    const state = await watched?.next(passes) ?? assert.fail();
    assert.equal(state.presence, presence);
    assert.equal(isAway(state), presence !== "answers");
    return state;
  };
  await withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    watched = watchOf("oracle", url);
    await watched.start();
    const { history } = await next("answers");
    assert.ok(history.spanMs >= PASS_MS);
    answers["/metrics"] = [503, "no upstream"];
    const { reason, ...away } = await next("gone");
    assert.match(reason, /\/metrics answered with status 503$/);
    assert.equal(away.history, history, "its figures are the last that came");
    answers["/metrics"] = "<html>\nLog in\n</html>";
    assert.match(
      (await next("gone", 1)).reason,
      /\/metrics answered without figures$/,
      "a front did",
    );
    answers["/metrics"] = "up 1\n";
    await next("answers", 1);
    answers["/health"] = null;
    await next("forbidden");
    answers["/health"] = "fine";
    await next("answers", 1);
  });
  const { reason } = await next("gone");
  assert.match(reason, /^http:\/\/127\.0\.0\.1:\d+\/\w* cannot be reached: /);
  watched?.watch.poll.stop();
  assert.equal(watched?.clock.pending, 0);
});

Deno.test("Poll: a pass that was stopped changes nothing, and a second start replaces the first", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    const { watch, clock, start, state } = watchOf("oracle", url);
    watch.poll.start();
    watch.poll.stop();
    const other = watchOf("oracle", url);
    assert.equal((await other.start()).presence, "answers");
    other.watch.poll.stop();
    assert.equal(state().presence, "unknown");
    watch.poll.start();
    assert.equal((await start()).presence, "answers");
    assert.equal(clock.pending, 1);
    watch.poll.stop();
  }));

Deno.test("Poll: an unexpected error in a pass does not end the polling", async () => {
  const clock = new FakeClock();
  let passes = 0;
  const reported: unknown[] = [];
  const report = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    reported.push(event.reason);
  };
  addEventListener("unhandledrejection", report);
  const mistake = new TypeError("a bug");
  const poll = new Poll(clock, () => ++passes === 1 ? Promise.reject(mistake) : Promise.resolve());
  poll.start();
  await clock.untilScheduled();
  await nextTurn(); // it is reported
  clock.advance(PASS_MS);
  assert.deepEqual([passes, reported], [2, [mistake]]);
  await clock.untilScheduled();
  poll.stop();
  removeEventListener("unhandledrejection", report);
});

Deno.test("ServiceWatch: lists the oracle's sources of each market, or none if the oracle's answer is not valid", () =>
  withService(async ({ url, answers }) => {
    const provider = {
      name: "a",
      exchange: "A",
      ready: true,
      reconnects: 2,
      lastError: null,
      lastErrorTime: 5,
    };
    const pair = { sourcePrices: { a: "7" }, outliers: [] };
    const body = {
      providers: [{ ...provider, streams: { "A/B": { lastTradeAgeMs: 5 } } }],
      pairSources: { "A/B": { ...pair, price: "7" }, "C/D": pair },
    };
    answers["/providers"] = JSON.stringify(body);
    const { watch, start, next } = watchOf("oracle", url);
    await start();
    assert.deepEqual(watch.providers.value, {
      ...body,
      pairSources: {
        "A/B": { outliers: [], price: 7n, sourcePrices: { a: 7n } },
        "C/D": { outliers: [], sourcePrices: { a: 7n } },
      },
    });
    for (const wrong of ["{}", "no JSON", JSON.stringify(body).replaceAll('"7"', '"x7"')]) {
      answers["/providers"] = wrong;
      await next();
      assert.equal(watch.providers.value, undefined, "it is known no more");
      answers["/providers"] = JSON.stringify(body);
      await next();
      assert.notEqual(watch.providers.value, undefined, "it is back");
    }
    watch.forget();
    assert.equal(watch.providers.value, undefined, "what it knew may be out of date");
  }));
