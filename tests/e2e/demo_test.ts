/**
 * `rangemaker demo`: the bet that it plays, the line that it draws meanwhile, and what solver and
 * bridge log of a bet, one line for each event; their fields: the tests of the logs.
 */
import assert from "node:assert/strict";
import type { LogRecord } from "@logtape/logtape";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { NetworkError, RangemakerClient, ServiceError, type Thesis } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { listen } from "../../lib/http/listener.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { TAPE_HEADER } from "../../lib/prices/tape.ts";
import { playBet, waitForPrices, waitForSettlement } from "../../services/stack/bet.ts";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { drawWhile, rangeLine } from "../../services/stack/range_line.ts";
import { startStack } from "../../services/stack/stack.ts";
import { thesisOf } from "../solver/support.ts";
import { runHere } from "../support/command_context.ts";
import { eventually, settled } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { withFile, withFolder } from "../support/files.ts";
import { fromSource, lineOf } from "../support/process.ts";
import { lacksTerminal, NEEDS_TERMINAL, Terminal } from "../support/terminal.ts";

function assertNoKeys(text: string): void {
  for (const { privateKey } of Object.values(DEV_ACCOUNTS)) {
    assert(!text.toLowerCase().includes(privateKey.slice(2)));
  }
}

Deno.test({
  name:
    `demo --tape --keep: plays one bet on recorded trades, shows its progress, prints its six steps and the URLs, and stays until Ctrl-C${NEEDS_TERMINAL}`,
  ignore: lacksTerminal,
  async fn() {
    const rows = Array.from({ length: 300 }, (_, index) => {
      // The simulation starts elsewhere than at 1,600.
      return `${1_700_000_000_000 + 100 * index},${index},buy,${1_600 + Math.sin(index) / 10},1`;
    });
    await withFile([TAPE_HEADER, ...rows].join("\n"), async (tape) => {
      const line = `exec ${lineOf(fromSource)} demo --keep --tape ${tape} --log-level debug`;
      const terminal = new Terminal(line, { NO_COLOR: "1" });
      await terminal.untilShown("Stop it with Ctrl-C.");
      const urls = terminal.stdout.match(/(?<=^ {2}\S.* )http:\S+$/gm) ?? [];
      assert.equal(urls.length, 7, terminal.stdout);
      for (const url of urls) {
        const answer = await fetch(new URL("/health", url));
        await answer.body?.cancel();
        assert.equal(answer.status, 200, url);
      }
      await terminal.type("\x03"); // Ctrl-C
      const { code, stdout: output } = await terminal.finished();
      assert.equal(code, 0, output);
      const [bet = "", addresses] = output.split("rangemaker stack is up:\r\n");
      assert.match(addresses ?? output, /^ {2}exchanges /);
      // The progress was cleared before each line of results.
      const steps = [...bet.matchAll(/ \r(\d)\/6 \w+ +[\d.]+ s {2}.*$/gm)];
      assert.equal(steps.map(([, count]) => count).join(), "1,2,3,4,5,6", output);
      assert.match(steps[0]?.[0] ?? "", / ETH\/USDT (1599|1600)\./);
      assert.match(bet, /^Bet (won|lost) by the user, end to end in \d+\.\d s$/m);
      for (const text of ["\rStarting everything …", "\r1/6 prices …", "\r6/6 settle …"]) {
        assert(output.includes(text), `${text}: ${JSON.stringify(output)}`);
      }
      // While the bet runs, the price moves inside its range.
      assert.match(output, /\r6\/6 settle … [\d.]+ ├─*●─*┤ [\d.]+ {2}at [\d.]+, \d\.\d s left/);
      assert.match(output, /Development keys only/);
      assertNoKeys(bet);
    });
  },
});

Deno.test("demo: a tape that cannot be read is one clear line, exit code 1", async () => {
  const { code, stderr } = await runHere(["demo", "--tape", "no-such-tape.csv"]);
  assert.equal(code, 1);
  assert.match(stderr, /no-such-tape\.csv/);
  assert.equal(stderr.trim().split("\n").length, 1, stderr);
});

Deno.test("playBet: rejects with the reason of the step that failed", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const lines: string[] = [];
  // A bridge that is no bridge: the oracle knows no deposits.
  const urls = { ...stack.urls, bridge: stack.urls.oracle };
  await assert.rejects(
    playBet(urls, systemClock, (line) => lines.push(line)),
    (thrown) => thrown instanceof ServiceError && thrown.code === "NOT_FOUND",
  );
  assert.equal(lines.length, 1);
});

Deno.test("playBet: shows the newer quote that it executes after the price moved", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  let refusals = 0;
  await using solver = listen("127.0.0.1", 0, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/execute" && refusals++ === 0) {
      const refusal = { success: false, code: "PRICE_MOVED", error: "x", retry: "new_quote" };
      return Response.json(refusal, { status: 400 });
    }
    return fetch(new Request(stack.urls.solver + pathname, request));
  });
  const lines: string[] = [];
  await playBet(
    { ...stack.urls, solver: solver.url },
    systemClock,
    (line) => lines.push(line),
  );
  const [, , , , executed = ""] = lines;
  assert.match(executed, / committed, at a newer quote: 100 pays [\d.]+ if the price stays in /);
});

Deno.test("playBet: a machine too busy to record the prices of the bet is named as the reason", async () => {
  const thesis = thesisOf(7, { status: "open" });
  const states: Thesis[] = [thesis, { ...thesis, status: "needs_backfill" }];
  const watch = {
    until: (matches: (thesis: Thesis) => boolean) =>
      Promise.resolve(states.find(matches) ?? assert.fail("The watch times out")),
  };
  const quote = { payout: thesis.payout };
  await assert.rejects(
    waitForSettlement(watch, 7, { quote }),
    /^RangemakerError: Thesis 7 has no outcome: this machine was too busy .* run the demo again$/,
  );
});

Deno.test("startStack: if one service cannot start, none is left running", () =>
  withFolder(async (dataDir) => {
    await Deno.mkdir(`${dataDir}/solver.sqlite`);
    await assert.rejects(startStack({ ports: FREE_PORTS, seed: 1, dataDir }), /solver\.sqlite/);
  }));

const bet = {
  lowerPrice: 2_985_000_000n,
  upperPrice: 3_015_000_000n,
  startTime: 10_000,
  endTime: 13_000,
};

Deno.test("rangeLine: shows the price inside the range and the time left", () => {
  const lines = ([
    [2_985_000_000n, 9_400],
    [3_000_000_000n, 10_600],
    [3_015_000_000n, 12_999],
    [3_000_000_000n, 13_000],
  ] as const).map(([price, nowMs]) => rangeLine(price, bet, nowMs));
  assert.deepEqual(lines, [
    `2985.00 ├●${"─".repeat(18)}┤ 3015.00  at 2985.00, starts in 0.6 s`,
    `2985.00 ├${"─".repeat(9)}●${"─".repeat(9)}┤ 3015.00  at 3000.00, 2.4 s left`,
    `2985.00 ├${"─".repeat(18)}●┤ 3015.00  at 3015.00, 0.0 s left`,
    `2985.00 ├${"─".repeat(9)}●${"─".repeat(9)}┤ 3015.00  at 3000.00, settling`,
  ]);
});

Deno.test("rangeLine: a price outside the range is a cross at that end", () => {
  const below = rangeLine(2_984_999_999n, bet, 11_000);
  const above = rangeLine(9_000_000_000n, bet, 11_000);
  assert(below.includes(`├✗${"─".repeat(18)}┤`), below);
  assert(above.includes(`├${"─".repeat(18)}✗┤`), above);
});

Deno.test("rangeLine: fits into 80 columns together with the demo's step", () => {
  assert("6/6 settle … ".length + rangeLine(3_000_000_000n, bet, 9_000).length < 80);
});

Deno.test("drawWhile: redraws ten times a second until the outcome is there; failures draw nothing", async () => {
  const clock = new FakeClock();
  const drawn: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  let reads = 0;
  const read = () => {
    reads += 1;
    return reads === 2
      ? Promise.reject(new NetworkError("NO_ANSWER", "no answer", undefined))
      : Promise.resolve(`line ${reads}`);
  };
  const done = drawWhile(promise, clock, (line) => drawn.push(line), read);
  for (let step = 0; step < 3; step++) {
    // The pass that was begun ends before the next one is due.
    await settled();
    clock.advance(100);
  }
  resolve("won");
  assert.equal(await done, "won");
  assert.equal(clock.pending, 0);
  assert.deepEqual(drawn.slice(0, 2), ["line 1", "line 3"]);
});

function eventsIn(records: readonly LogRecord[]): string[] {
  return records.filter(({ category }) => ["solver", "bridge"].includes(category[1] ?? ""))
    .map(({ level, category, properties }) => `${level} ${category[1]} ${properties.event}`);
}

Deno.test("Logs: a whole bet logs one line for each of its events, and nothing else", async () => {
  await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  const { urls } = stack;
  const wallet = privateKeyToAccount(generatePrivateKey());
  const client = new RangemakerClient({ urls, chainId: 1337, wallet });
  const { price } = await waitForPrices(urls, client, systemClock);
  const bet = (amount: bigint) => ({
    symbol: "ETH/USDT",
    lowerPrice: price / 2n,
    upperPrice: price * 2n,
    betAmount: amount,
    startTime: systemClock.now(),
    endTime: systemClock.now() + 3_000,
  });
  await withLogs("debug", async (records) => {
    await client.deposit(5_000_000n, 7n);
    await assert.rejects(client.deposit(5_000_000n, 7n), { code: "NONCE_USED" });
    const tooLarge = await client.quote(bet(6_000_000n));
    await assert.rejects(client.execute(tooLarge), { code: "INSUFFICIENT_BALANCE" });
    const offer = await client.quote(bet(1_000_000n));
    const { thesisId } = await client.execute(offer);
    await client.settled(thesisId, 10_000);
    await eventually(
      "the settlement is logged",
      () => eventsIn(records).some((event) => event.endsWith("settled")),
    );
    assert.deepEqual(eventsIn(records), [
      "info bridge deposit_committed",
      "info bridge deposit_refused",
      "debug solver quoted",
      "info solver execution_refused",
      "debug solver quoted",
      "info solver execution_accepted",
      "info solver execution_hedged",
      "info solver execution_committed",
      "info solver thesis_settled",
    ]);
  });
});
