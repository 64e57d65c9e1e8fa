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
import { eventually } from "../../../support/eventually.ts";
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
const watchOf = (name: ServiceName, url: string, clock: FakeClock) =>
  new ServiceWatch([unknownService(name, url)], clock);

const stateOf = ({ states: { value: [state = assert.fail()] } }: ServiceWatch) => state;

/** The state of a service, as soon as it has this presence. */
const becomes = (watch: ServiceWatch, presence: Presence) =>
  eventually(`it is "${presence}"`, () => {
    const state = stateOf(watch);
    return state.presence === presence ? state : undefined;
  });

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
      const clock = new FakeClock();
      const watch = watchOf("bridge", `${url}//`, clock);
      assert.deepEqual([stateOf(watch).presence, stateOf(watch).url], ["unknown", url]);
      watch.poll.start();
      const { name: _, url: __, history, ...state } = await becomes(watch, "answers");
      assert.deepEqual(state, { ...GOOD, ...expected }, what);
      assert.equal(history.latest.sum("up"), 1);
      watch.poll.stop();
    }
    assert.deepEqual(new Set(asked), new Set(["/health", "/ready", "/metrics"]));
  }));

Deno.test("ServiceWatch: the query of a URL, such as a key, stays behind the path", () =>
  withService(async ({ url, answers, asked }) => {
    Object.assign(answers, WELL);
    const watch = watchOf("oracle", `${url}/?key=a`, new FakeClock());
    watch.poll.start();
    await becomes(watch, "answers");
    watch.poll.stop();
    const paths = ["/health", "/metrics", "/providers", "/ready"];
    assert.deepEqual(asked.sort(), paths.map((path) => `${path}?key=a`));
  }));

Deno.test("ServiceWatch: all but the exchanges are asked for /ready; without an answer they are up, not ready", () =>
  withService(async ({ url, answers, asked }) => {
    Object.assign(answers, WELL, { "/ready": null });
    for (const name of ["exchanges", "oracle", "node", "proxy", "solver"] satisfies ServiceName[]) {
      asked.length = 0;
      const watch = watchOf(name, url, new FakeClock());
      watch.poll.start();
      const { isReady, complaints } = await becomes(watch, "answers");
      watch.poll.stop();
      const asksReady = name !== "exchanges";
      assert.equal(asked.includes("/ready"), asksReady, name);
      assert.equal(isReady, asksReady ? false : undefined);
      if (asksReady) assert.match(complaints[0] ?? "", /\/ready cannot be reached/);
    }
  }));

Deno.test("ServiceWatch: one missing answer proves nothing, two in a row do", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    const clock = new FakeClock();
    const watch = watchOf("node", url, clock);
    const next = async (answer: string | null) => {
      answers["/metrics"] = answer;
      await eventually("the pass is over", () => clock.pending === 1);
      clock.advance(PASS_MS);
      await eventually("the pass is over", () => clock.pending === 1);
      return [stateOf(watch).presence, stateOf(watch).hasMissed];
    };
    watch.poll.start();
    await becomes(watch, "answers");
    assert.deepEqual(await next(null), ["answers", true]);
    assert.deepEqual(await next("up 1"), ["answers", false]);
    assert.deepEqual(await next(""), ["answers", true]);
    assert.deepEqual(await next(""), ["gone", true]);
    watch.forget();
    assert.deepEqual([stateOf(watch).presence, stateOf(watch).hasMissed], ["unknown", false]);
    assert.equal(clock.pending, 0);
  }));

Deno.test("ServiceWatch: a service that goes away has a reason, and keeps its last figures and answer", async () => {
  const clock = new FakeClock();
  let watch: ServiceWatch | undefined;
  const isOver = () => clock.pending === 1;
  /** The state after so many passes. */
  const next = async (presence: Presence, passes = 2) => {
    assert(watch !== undefined);
    for (let pass = 0; pass < passes; pass++) {
      await eventually("the pass is over", isOver);
      clock.advance(PASS_MS);
    }
    await eventually("the pass is over", isOver);
    const state = stateOf(watch);
    assert.equal(state.presence, presence);
    assert.equal(isAway(state), presence !== "answers");
    return state;
  };
  await withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    watch = watchOf("oracle", url, clock);
    watch.poll.start();
    await becomes(watch, "answers");
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
  watch?.poll.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("Poll: a pass that was stopped changes nothing, and a second start replaces the first", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    const clock = new FakeClock();
    const watch = watchOf("oracle", url, clock);
    watch.poll.start();
    watch.poll.stop();
    const other = watchOf("oracle", url, new FakeClock());
    other.poll.start();
    await becomes(other, "answers");
    other.poll.stop();
    assert.equal(stateOf(watch).presence, "unknown");
    watch.poll.start();
    watch.poll.start();
    await becomes(watch, "answers");
    await eventually("the pass is over", () => clock.pending > 0);
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
  await eventually("the pass is over", () => reported.length > 0);
  clock.advance(PASS_MS);
  assert.deepEqual([passes, reported], [2, [mistake]]);
  await eventually("the pass is over", () => clock.pending === 1);
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
    const clock = new FakeClock();
    const watch = watchOf("oracle", url, clock);
    watch.poll.start();
    const providers = await eventually("the sources", () => watch.providers.value);
    assert.deepEqual(providers, {
      ...body,
      pairSources: {
        "A/B": { outliers: [], price: 7n, sourcePrices: { a: 7n } },
        "C/D": { outliers: [], sourcePrices: { a: 7n } },
      },
    });
    for (const wrong of ["{}", "no JSON", JSON.stringify(body).replaceAll('"7"', '"x7"')]) {
      answers["/providers"] = wrong;
      await eventually("it is known no more", () => {
        clock.advance(PASS_MS);
        return watch.providers.value === undefined;
      });
      answers["/providers"] = JSON.stringify(body);
      await eventually("it is back", () => {
        clock.advance(PASS_MS);
        return watch.providers.value;
      });
    }
    watch.forget();
    assert.equal(watch.providers.value, undefined, "what it knew may be out of date");
  }));
