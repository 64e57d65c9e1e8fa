/** What the maker's page knows of its solver, while it answers and while it does not. */
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { RangemakerError } from "../../../../lib/client/mod.ts";
import { listen } from "../../../../lib/http/listener.ts";
import {
  activityOf,
  MakerWatch,
  termsOf,
} from "../../../../services/console/page/maker/maker_watch.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { OTHER, thesisOf } from "../../support.ts";

const PASS_MS = 1_500;

const INFO = { address: OTHER, pricing: "barrier", dryRun: false };

/** A watch of a solver. @param answer What that answers to `GET /theses`; with another status, to all. */
function sceneOf(client: object, answer: () => Response) {
  const solver = listen("127.0.0.1", 0, (request) => {
    const response = answer();
    const isFigures = response.ok && new URL(request.url).pathname === "/metrics";
    return isFigures ? new Response("up 1\n") : response;
  });
  const clock = new FakeClock();
  const model = {
    client: client as never, // as far as the watch uses it
    maker: { isAway: signal(false) },
    feed: { isAway: signal(false) },
  };
  const watch = new MakerWatch(model, `${solver.url}/`, clock);
  watch.start();
  let passes = 0;
  /** The state after the next pass. */
  const pass = async () => {
    if (passes++ > 0) clock.advance(PASS_MS);
    await clock.untilScheduled();
    return watch.state.value;
  };
  const end = async () => {
    watch.stop();
    await solver[Symbol.asyncDispose]();
  };
  return { model, watch, pass, [Symbol.asyncDispose]: end };
}

Deno.test("MakerWatch: a pass reads all figures; while the solver is away, the old figures keep their time", async () => {
  const exposure = { executing: "7", maxExposure: "100", complete: true };
  let isAway = false;
  let frontStatus = 502;
  const theses = [thesisOf(1)];
  let closed = 0;
  let genesis = "0x1";
  let connection = "live";
  const client = {
    account: () => Promise.resolve({ balance: 5n, locked: 3n }),
    genesisHash: () => Promise.resolve(genesis),
    solverInfo: () =>
      isAway ? Promise.reject(new RangemakerError("AWAY", "away")) : Promise.resolve(INFO),
    theses: () => assert.fail("its address is known"),
    watch: () =>
      Promise.resolve({
        theses: [...theses],
        get state() {
          return connection;
        },
        close: () => closed++,
      }),
  };
  await using scene = sceneOf(
    client,
    () => isAway ? new Response("no upstream", { status: frontStatus }) : Response.json(exposure),
  );
  const { model, watch } = scene;
  const next = async () => await scene.pass() ?? assert.fail();
  const first = await next();
  assert.deepEqual([first.theses, first.account.balance], [theses, 5n]);
  assert.deepEqual([watch.solver.value?.executing, watch.solver.value?.maxExposure], [7n, 100n]);
  assert.equal(watch.solver.value?.metrics.sum("up"), 1);
  assert.equal(watch.solverProblem.value, undefined);
  const same = await next();
  const known = watch.solver.value;

  isAway = true;
  const later = await next();
  assert.equal(watch.solverProblem.value, "the solver cannot be reached");
  assert.equal(model.maker.isAway.value, true, "the header agrees");
  assert.equal(watch.problem.value, undefined, "the node answers");
  model.feed.isAway.value = true;
  assert.equal(watch.problem.value, "no prices arrive", "the header agrees");
  model.feed.isAway.value = false;
  assert.equal(watch.solver.value, known, "with the time at which it was read");
  assert.equal(later.readAtMs, same.readAtMs + PASS_MS);
  frontStatus = 200;
  connection = "reconnecting";
  await next();
  assert.equal(watch.solverProblem.value, "the solver cannot be reached", "but its front");
  assert.equal(watch.problem.value, "reconnecting");
  connection = "live";
  await next();
  assert.equal(watch.problem.value, undefined);

  isAway = false;
  exposure.executing = "0";
  genesis = "0x2";
  await next();
  assert.equal(model.maker.isAway.value, false);
  assert.deepEqual(
    [watch.solver.value?.executing, closed],
    [0n, 1],
    "another chain has other bets",
  );
  assert.equal(watch.solverProblem.value, undefined);
  watch.stop();
  assert.equal(closed, 2);
});

Deno.test("MakerWatch: while the balance cannot be read, one watch stays open", async () => {
  let opened = 0;
  let asked = 0;
  const client = {
    account: () =>
      ++asked < 3
        ? Promise.reject(new RangemakerError("RATE_LIMITED", "slower"))
        : Promise.resolve({ balance: 5n, locked: 3n }),
    genesisHash: () => Promise.resolve("0x1"),
    theses: () => ({ next: () => Promise.resolve({ value: { theses: [thesisOf(1)] } }) }),
    watch: () => {
      opened += 1;
      return Promise.resolve({ theses: [], state: "live", close() {} });
    },
  };
  await using scene = sceneOf(client, () => new Response("", { status: 502 }));
  const states = [await scene.pass(), await scene.pass(), await scene.pass()];
  assert.deepEqual(states.map((state) => state?.account.balance), [undefined, undefined, 5n]);
  assert.deepEqual([asked, opened], [3, 1]);
});

Deno.test("MakerWatch: without the chain, the solver's own figures are known", async () => {
  const client = {
    genesisHash: () => Promise.reject(new RangemakerError("RPC_-32002", "no node; try again")),
    solverInfo: () => Promise.resolve(INFO),
  };
  const exposure = { executing: "0", maxExposure: null, complete: true };
  await using scene = sceneOf(client, () => Response.json(exposure));
  assert.equal(await scene.pass(), undefined);
  const { problem, solver } = scene.watch;
  assert.deepEqual([problem.value, solver.value?.executing], ["the chain cannot be reached", 0n]);
});

Deno.test("activityOf: without the price of any market, a solver that needs prices is not quoting", () => {
  const blind = ["warned", "not quoting: no price"];
  assert.deepEqual(activityOf(["stale", "missing"], "barrier"), blind);
  assert.deepEqual(activityOf(["stale", "missing"], "mock"), ["note", "live, pricing mock"]);
  const live = ["note", "live, pricing barrier"];
  assert.deepEqual(activityOf(["stale", "fresh"], "barrier"), live);
  assert.deepEqual(activityOf(["away", "away"], "barrier"), live, "of this page only");
});

Deno.test("termsOf: the maker sees which bets its settings allow", () => {
  const config = {
    minBetAmount: 1_000_000n,
    maxBetAmount: 5_000_000_000n,
    minDuration: 1_000,
    maxDuration: 86_400_000,
    basePayoutMultiplier: 2,
    maxPayoutRatio: 10,
  };
  const text = "Takes bets of 1.00 to 5,000.00 USDC, for 1 s to 1 d. Each pays at most × 10";
  assert.equal(termsOf({ config }), `${text}.`);
  assert.equal(
    termsOf({ config, maxRisk: 200_000_000n }),
    `${text} and risks at most 200.00 USDC.`,
  );
});
