/** `rangemaker stack`: its ports, its data and its output. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { systemClock } from "../../lib/clock.ts";
import { exampleEstimate } from "../../services/solver/operations.ts";
import { run } from "../../services/stack/mod.ts";
import { playBet, waitForQuotes } from "../../services/stack/bet.ts";
import {
  FREE_PORTS,
  PORT_OFFSET_MAX,
  portsAt,
  requireFreePorts,
} from "../../services/stack/ports.ts";
import {
  greetingOf,
  type RunningStack,
  type StackUrls,
  startStack,
} from "../../services/stack/stack.ts";
import { recordedContext, runHere } from "../support/command_context.ts";
import { withFolder } from "../support/files.ts";
import { assertFailure, post, resultOf, withAnswer } from "../support/http_answers.ts";

/** Runs `stack` until its output is complete, and ends it. @param whenUp Called before its end. */
async function runStack(args: readonly string[], whenUp = () => Promise.resolve()) {
  const { context, printed, errors } = recordedContext();
  const ended = Promise.withResolvers<void>();
  const print = (line: string) => {
    context.print(line);
    if (line.startsWith("Stop it")) ended.resolve(whenUp());
  };
  const code = await run(["--log-level", "error", ...args], {
    ...context,
    print,
    untilSignal: () => ended.promise,
  });
  return { code, printed, errors };
}

Deno.test("waitForQuotes: after its limit, it returns what the solver lacks", () => {
  const refusal = {
    success: false,
    error: "No price yet",
    code: "PRICE_UNAVAILABLE",
    retry: "later",
  };
  let nowMs = 0;
  const clock = { now: () => nowMs += 6_000, after: systemClock.after };
  return withAnswer(() => Response.json(refusal, { status: 503 }), async (url) => {
    const [oracle, node, nodeRead, proxy, proxyWs, bridge, solver] = Array(7).fill(url);
    const urls = { oracle, node, nodeRead, proxy, proxyWs, bridge, solver };
    assert.equal(await waitForQuotes(urls, clock), refusal.error);
  });
});

async function freeOffset(): Promise<number> {
  for (let offset = 20_000; offset < PORT_OFFSET_MAX; offset += 1_000) {
    const isFree = await requireFreePorts("127.0.0.1", portsAt(offset)).then(
      () => true,
      () => false,
    );
    if (isFree) return offset;
  }
  throw new Error("No offset is free");
}

Deno.test("stack --port-offset, --host: moves every port, prices bets once it is up, and prints the accounts with keys and a warning", async () => {
  const offset = await freeOffset();
  const { solver } = portsAt(offset);
  const quoted = async () => {
    const startTime = Date.now();
    const window = { startTime, endTime: startTime + 10_000 };
    const outside = { ...exampleEstimate, lowerPrice: "1", upperPrice: "2", ...window };
    const estimate = post(`http://localhost:${solver}/estimate`, outside);
    await assertFailure(estimate, 400, /^OUTSIDE_RANGE: /);
  };
  const { code, printed } = await runStack(
    ["--host", "localhost", "--port-offset", String(offset)],
    quoted,
  );
  assert.equal(code, 0);
  const text = printed.join("\n");
  for (const port of Object.values(portsAt(offset))) assert(text.includes(`:${port}`), text);
  for (const [name, { address, privateKey }] of Object.entries(DEV_ACCOUNTS)) {
    assert.match(text, new RegExp(`^  ${name} +${address} ${privateKey}$`, "m"));
  }
  assert.match(text, /^Accounts with their private keys\. Everyone knows these keys: /m);
  assert.match(text, /^For tests, call at the proxy: core_faucet gives USDC, core_snapshot and$/m);
  const backfill =
    `backfill --private-key ${DEV_ACCOUNTS.admin.privateKey} \\\n    --rpc-url http:`;
  assert(text.includes(backfill), text);
});

async function namesOwnersOfPorts({ urls }: RunningStack): Promise<void> {
  await using other = Deno.serve({ port: 0, onListen() {} }, () => new Response("hello"));
  const portOf = (url: string) => Number(new URL(url).port);
  const taken = {
    exchanges: portOf(urls.exchanges ?? ""),
    oracle: portOf(urls.oracle),
    node: portOf(urls.node),
    nodeRead: portOf(urls.nodeRead),
    proxy: portOf(urls.proxy),
    bridge: portOf(urls.bridge),
    solver: other.addr.port,
  };
  await assert.rejects(requireFreePorts("127.0.0.1", taken), (thrown) => {
    assert(thrown instanceof Error);
    for (const name of ["exchanges", "oracle", "node", "proxy", "bridge"] as const) {
      const owner = `${taken[name]} of ${name} by a running rangemaker ${name}`;
      assert(thrown.message.includes(owner), thrown.message);
    }
    assert(
      thrown.message.includes(`${taken.nodeRead} of read-node by a running rangemaker read-node`),
    );
    assert(thrown.message.includes(`${taken.solver} of solver by another program`));
    assert.match(thrown.message, /with --port-offset, such as --port-offset 100$/);
    return true;
  });
}

async function namesDocuments({ urls }: RunningStack): Promise<void> {
  const { exchanges = "", oracle, node, nodeRead, proxy, bridge, solver } = urls;
  const named = { exchanges, oracle, node, "read-node": nodeRead, proxy, bridge, solver };
  for (const [name, url] of Object.entries(named)) {
    const answer = await fetch(url);
    assert.equal(answer.status, 200, name);
    const line = await answer.text();
    assert.match(line, new RegExp(`^rangemaker ${name} .*docs/reference\\.md.*\\n$`));
    const openApi = await fetch(`${url}/openapi.json`);
    await openApi.body?.cancel();
    assert.equal(line.includes("/openapi.json"), openApi.ok, name);
  }
}

const PAGE = "http://127.0.0.1:8000";

async function allowsPages({ urls }: RunningStack): Promise<void> {
  const { console = "", proxyWs: _, ...services } = urls;
  const stranger = "https://pages.example";
  for (const origin of [console, console.replace("127.0.0.1", "localhost"), PAGE, stranger]) {
    const called: string[] = [];
    for (const [name, url] of Object.entries(services)) {
      const answer = await fetch(`${url}/health`, { headers: { origin } });
      await answer.body?.cancel();
      const allowed = answer.headers.get("access-control-allow-origin");
      if (allowed === null) continue;
      assert.equal(allowed, origin, name);
      called.push(name);
    }
    const expected = origin === stranger
      ? []
      : origin === PAGE
      ? ["bridge", "proxy", "solver"]
      : Object.keys(services);
    assert.deepEqual(called.toSorted(), expected.toSorted(), origin);
  }
}

Deno.test("stack: names its services, and lets in those that may call them", async (t) => {
  const ports = { ...FREE_PORTS, console: 0 };
  await using stack = await startStack({ ports, seed: 1, corsOrigins: [PAGE] });
  await t.step(
    "a taken port is one line with the service, its owner, and the option",
    () => namesOwnersOfPorts(stack),
  );
  await t.step(
    "GET / of every service names the service and its documents",
    () => namesDocuments(stack),
  );
  await t.step(
    "only the pages of its console and of --cors-origins may call the services",
    () => allowsPages(stack),
  );
});

Deno.test("stack: an unusable file is reported before taken ports, and nothing is started", async () => {
  const other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const solver = (other.addr as Deno.NetAddr).port; // of a TCP listener
  const files = [
    { tape: "/nowhere.csv" },
    { markets: "/nowhere.toml" },
    { pricing: { pricing: "/nowhere.ts" } },
  ];
  for (const file of files) {
    await assert.rejects(
      startStack({ ports: { ...FREE_PORTS, solver }, seed: 1, ...file }),
      /\/nowhere\./,
    );
  }
  other.close();
});

Deno.test("stack --host: an address of another machine is refused in one line", async () => {
  const { code, errors } = await runStack(["--host", "192.0.2.1", "--port-offset", "30000"]);
  assert.equal(code, 1);
  assert.match(errors.join("\n"), /^Cannot listen on --host 192\.0\.2\.1: .*$/);
});

Deno.test("stack --data-dir :memory:, its default, keeps nothing", async () => {
  const { code, printed, errors } = await runStack([
    ...["--data-dir", ":memory:", "--port-offset", String(await freeOffset())],
  ]);
  assert.deepEqual([code, errors], [0, []]);
  assert.match(printed.join("\n"), /core_advance/, "its time can be moved");
  await assert.rejects(Deno.stat(":memory:"), Deno.errors.NotFound);
});

Deno.test("stack --data-dir: balances and bets survive a restart; the printed backfill works", () =>
  withFolder(async (dataDir) => {
    const options = { ports: FREE_PORTS, seed: 1, dataDir: `${dataDir}/new/stack` };
    const balanceOf = async ({ nodeRead }: StackUrls) => {
      const { balance } = await resultOf(nodeRead, "core_getAccount", [
        DEV_ACCOUNTS.solver.address,
      ]);
      return balance;
    };
    const first = await startStack(options);
    const before = await balanceOf(first.urls);
    await playBet(first.urls, systemClock, () => {});
    const after = await balanceOf(first.urls);
    const greeting = greetingOf(first.urls, dataDir).join("\n").replace("\\\n", "")
      .replace("<id>", "1");
    assert.deepEqual(greeting.match(/core_\w+/g), ["core_faucet"], "the others need memory");
    const [, command = ""] = /^ {2}rangemaker (backfill .*)/m.exec(greeting) ?? [];
    const { code, stdout, stderr } = await runHere(command.split(/ +/));
    assert.match(stdout, /^ETH\/USDT: nothing is missing\nThesis 1: (won|lost)$/);
    assert.deepEqual([code, stderr], [0, ""]);
    await first.stop();
    assert.notEqual(after, before);
    await using second = await startStack(options);
    assert.equal(await balanceOf(second.urls), after);
    for (const name of ["bridge.sqlite", "solver.sqlite", "node/chain.sqlite"]) {
      assert((await Deno.stat(`${options.dataDir}/${name}`)).size > 0, name);
    }
  }));
