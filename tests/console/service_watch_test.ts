/** What the operator's page learns from a service that answers, half answers or is away. */
import assert from "node:assert/strict";
import { listen } from "../../lib/http/listener.ts";
import { Poll } from "../../services/console/page/data/http.ts";
import { ProvidersWatch } from "../../services/console/page/data/providers.ts";
import {
  type ServiceName,
  type ServiceState,
  ServiceWatch,
} from "../../services/console/page/data/service_watch.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";

const PASS_MS = 1_500;

/** Answers by path, as text, later, or with a status; null closes the connection. */
type Answers = Record<string, string | Promise<string> | [status: number, text: string] | null>;

/** Runs a test with a service whose answers the test changes. */
async function withService(
  run: (scene: { url: string; answers: Answers; asked: string[] }) => Promise<void>,
): Promise<void> {
  const scene = { url: "", answers: {} as Answers, asked: [] as string[] };
  await using listener = listen("127.0.0.1", 0, async (request) => {
    const { pathname } = new URL(request.url);
    scene.asked.push(pathname);
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
  isUp: true,
  isSilent: false,
  isLate: false,
  isRefused: false,
  checkedMs: new FakeClock().now(),
  awayAgoMs: Infinity,
  isForbidden: false,
  reason: "",
  health: "healthy",
  isHealthy: true,
  isReady: true,
  complaints: [],
};

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
      const watch = new ServiceWatch("bridge", `${url}//`, clock);
      assert.deepEqual([watch.state.value.isUp, watch.state.value.url], [undefined, url]);
      watch.poll.start();
      await eventually("a pass", () => watch.state.value.isUp);
      const { name: _, url: __, history, ...state } = watch.state.value;
      assert.deepEqual(state, { ...GOOD, ...expected }, what);
      assert.equal(history.latest.sum("up"), 1);
      watch.poll.stop();
    }
    assert.deepEqual(new Set(asked), new Set(["/health", "/ready", "/metrics"]));
  }));

Deno.test("ServiceWatch: asks only proxy and solver for /ready", () =>
  withService(async ({ url, answers, asked }) => {
    const { "/ready": _, ...others } = WELL;
    Object.assign(answers, others);
    for (const name of ["exchanges", "oracle", "node", "proxy", "solver"] satisfies ServiceName[]) {
      asked.length = 0;
      const watch = new ServiceWatch(name, url, new FakeClock());
      watch.poll.start();
      await eventually("a pass", () => watch.state.value.isUp);
      watch.poll.stop();
      const asksReady = name === "proxy" || name === "solver";
      assert.equal(asked.includes("/ready"), asksReady, name);
      assert.equal(watch.state.value.isReady, asksReady ? false : undefined);
    }
  }));

Deno.test("ServiceWatch: a service without an answer to /ready only is up, but not ready", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL, { "/ready": null });
    const watch = new ServiceWatch("solver", url, new FakeClock());
    watch.poll.start();
    await eventually("a pass", () => watch.state.value.isUp !== undefined || undefined);
    watch.poll.stop();
    const { isUp, isReady, complaints } = watch.state.value;
    assert.deepEqual([isUp, isReady], [true, false]);
    assert.match(complaints[0] ?? "", /\/ready cannot be reached/);
  }));

Deno.test("ServiceWatch: after one missing answer the service is asked again at once, and stays up", () =>
  withService(async ({ url, answers, asked }) => {
    Object.assign(answers, WELL, { "/health": null });
    const watch = new ServiceWatch("node", url, new FakeClock());
    const seen = new Set<unknown>();
    watch.state.subscribe(({ isUp, isSilent }) => {
      seen.add(`${isUp} ${isSilent}`);
      if (isSilent) Object.assign(answers, WELL);
    });
    watch.poll.start();
    await eventually("an answer", () => watch.state.value.isUp);
    watch.poll.stop();
    assert.deepEqual([...seen], ["undefined false", "undefined true", "true false"]);
    assert.equal(asked.filter((path) => path === "/health").length, 2);
  }));

Deno.test("ServiceWatch: a service that does not answer for 1.5 s is silent, and up again with its answer", () =>
  withService(async ({ url, answers, asked }) => {
    const late = Promise.withResolvers<string>();
    Object.assign(answers, WELL);
    const clock = new FakeClock();
    const watch = new ServiceWatch("node", url, clock);
    watch.poll.start();
    await eventually("an answer", () => watch.state.value.isUp);
    await eventually("the pass is over", () => clock.pending === 1 || undefined);
    answers["/health"] = late.promise;
    clock.advance(PASS_MS);
    const { isUp, isLate, awayAgoMs } = await eventually("silence", () => {
      const state = watch.state.value;
      return state.isSilent ? state : undefined;
    });
    assert.deepEqual([isUp, isLate, awayAgoMs], [true, true, Infinity], "it is not away");
    late.resolve('{"status":"healthy"}');
    await eventually("its answer", () => !watch.state.value.isSilent || undefined);
    assert.equal(watch.state.value.isLate, false);
    assert.equal(asked.filter((path) => path === "/health").length, 2, "it was not asked again");
    watch.poll.stop();
  }));

Deno.test("ServiceWatch: a service that goes away is down with the reason, and keeps its last figures", async () => {
  const clock = new FakeClock();
  let watch: ServiceWatch | undefined;
  const next = async (isUp: boolean) => {
    await eventually("the pass is over", () => clock.pending === 1 || undefined);
    clock.advance(PASS_MS - 1);
    assert.equal(clock.pending, 1);
    clock.advance(1);
    return await eventually("the next state", () => {
      const state = watch?.state.value;
      return state?.isUp === isUp ? state : undefined;
    });
  };
  await withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    watch = new ServiceWatch("oracle", url, clock);
    watch.poll.start();
    await eventually("a pass", () => watch?.state.value.isUp);
    answers["/health"] = "fine";
    await next(true);
    await eventually("its health", () => watch?.state.value.health === "fine" || undefined);
    assert.ok(watch.state.value.history.spanMs >= PASS_MS);
    const { history } = watch.state.value;
    answers["/metrics"] = [503, "no upstream"];
    const { reason, ...away } = await next(false);
    assert.match(reason, /\/metrics answered with status 503$/);
    assert.equal(away.history, history, "its figures are the last that came");
    assert.equal(away.isForbidden, false, "something else answers in its place");
    assert.equal(away.isRefused, false);
    assert.equal(away.lastAnswerMs, history.latestMs);
    const isOver = () => clock.pending === 1 || undefined;
    await eventually("the pass is over", isOver);
    clock.advance(200_000);
    await eventually("the pass is over", isOver);
    assert.equal(watch.state.value.lastAnswerMs, history.latestMs, "it was away all the time");
    answers["/metrics"] = "up 1\n";
    assert.equal((await next(true)).awayAgoMs, PASS_MS);
    clock.advance(20_000);
    await eventually(
      "a pass",
      () => watch?.state.value.awayAgoMs === PASS_MS + 20_000 || undefined,
    );
    answers["/health"] = null;
    assert.ok((await next(false)).isForbidden);
    answers["/health"] = "fine";
    assert.ok((await next(true)).awayAgoMs > 20_000, "it was not away");
  });
  await eventually("the pass is over", () => clock.pending === 1 || undefined);
  clock.advance(120_001);
  const { reason, isForbidden, isRefused, lastAnswerMs } = await next(false);
  assert.deepEqual([isForbidden, lastAnswerMs], [false, undefined], "it was not asked for long");
  assert(isRefused);
  assert.match(reason, /^http:\/\/127\.0\.0\.1:\d+\/\w* cannot be reached: /);
  await eventually("the pass is over", () => clock.pending === 1 || undefined);
  watch?.poll.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("Poll: a pass that was stopped changes nothing, and a second start replaces the first", () =>
  withService(async ({ url, answers }) => {
    Object.assign(answers, WELL);
    const clock = new FakeClock();
    const watch = new ServiceWatch("oracle", url, clock);
    watch.poll.start();
    watch.poll.stop();
    const other = new ServiceWatch("oracle", url, new FakeClock());
    other.poll.start();
    await eventually("the pass of another", () => other.state.value.isUp);
    other.poll.stop();
    assert.equal(watch.state.value.isUp, undefined);
    watch.poll.start();
    watch.poll.start();
    await eventually("a pass", () => watch.state.value.isUp);
    await eventually("the pass is over", () => clock.pending > 0 || undefined);
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
  await eventually("the pass is over", () => reported.length > 0 || undefined);
  clock.advance(PASS_MS);
  assert.deepEqual([passes, reported], [2, [mistake]]);
  await eventually("the pass is over", () => clock.pending === 1 || undefined);
  poll.stop();
  removeEventListener("unhandledrejection", report);
});

Deno.test("Poll: start can set the pause between passes, until the next start", async () => {
  const clock = new FakeClock();
  let passes = 0;
  const poll = new Poll(clock, () => Promise.resolve(void (passes += 1)));
  const passesAfter = async (ms: number) => {
    await eventually("a pass is over", () => clock.pending === 1 || undefined);
    clock.advance(ms);
    return passes;
  };
  poll.start(6_000);
  assert.equal(await passesAfter(5_999), 1);
  assert.equal(await passesAfter(1), 2);
  assert.equal(await passesAfter(5_999), 2);
  poll.start();
  assert.equal(await passesAfter(PASS_MS - 1), 3);
  assert.equal(await passesAfter(1), 4);
  poll.stop();
});

Deno.test("ProvidersWatch: lists the sources of each market, or none if the oracle's answer is not valid", () =>
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
    const watch = new ProvidersWatch(`${url}//`, clock);
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
        return watch.providers.value === undefined || undefined;
      });
      answers["/providers"] = JSON.stringify(body);
      await eventually("it is back", () => {
        clock.advance(PASS_MS);
        return watch.providers.value;
      });
    }
    watch.poll.stop();
  }));
