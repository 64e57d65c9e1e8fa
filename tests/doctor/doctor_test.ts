/** `rangemaker doctor` against running services and every problem it reports. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { CommandContext } from "../../lib/cli/command.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { options as bridgeOptions, startBridge } from "../../services/bridge/mod.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { doctorOptions, run } from "../../services/stack/doctor.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { withNode } from "../node/support/running_node.ts";
import { startFakeCandles } from "../solver/market/fake_candles.ts";
import { recordedContext } from "../support/command_context.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withFolder } from "../support/files.ts";
import { freePort } from "../support/ports.ts";

const keyOf = (digit: string) => `0x${digit.repeat(64)}` as const;
const keys = { solver: keyOf("1"), relayer: keyOf("2"), admin: keyOf("3") };
const solver = new LocalSigner(keys.solver).address;
const relayer = new LocalSigner(keys.relayer).address;
const admin = new LocalSigner(keys.admin).address;

/** Genesis options of the node, for the doctor. */
const genesisArgs = ["--relayers", relayer, "--admins", admin, "--balances", `${solver}=1000000`];

/** Starts everything that services use, with unknown keys. */
async function withServices(
  test: (
    urls: Record<"exchanges" | "oracle" | "node" | "nodeWs", string>,
    providers: string[],
  ) => Promise<void>,
): Promise<void> {
  await using exchanges = await startExchanges(
    withDefaults(exchangesOptions, { port: 0, rate: 50 }),
  );
  const { providerUrls } = exchanges;
  await using oracle = await startOracle(withDefaults(oracleOptions, { port: 0, providerUrls }));
  await using node = await startNode(withDefaults(nodeOptions, {
    port: 0,
    readPort: 0,
    oracleUrl: oracle.url,
    relayers: [relayer],
    admins: [admin],
    balances: new Map([[solver, 1_000_000n]]),
    dataDir: ":memory:",
  }));
  await eventually("prices of every pair", async () => {
    const { prices } = await (await fetch(`${oracle.url}/prices`)).json();
    return Object.keys(prices).length === 3 || undefined;
  });
  const urls = { exchanges: exchanges.url, oracle: oracle.url };
  const providers = Object.entries(providerUrls)
    .flatMap(([name, url]) => ["--provider-url", `${name}=${url}`]);
  await test({ ...urls, node: node.url, nodeWs: node.wsUrl }, providers);
}

/** A URL at which nothing listens. */
function deadUrl(scheme: "http" | "ws" = "http"): string {
  return `${scheme}://127.0.0.1:${freePort()}`;
}

/** Services that work answer within this, however busy the machine is. */
const BUSY_MS = 20_000;

Deno.test("doctor: all checks pass with correct settings, exit code 0", () =>
  withServices((urls, providers) =>
    withFolder(async (folder) => {
      const database = ["--port", "0", "--database", `${folder}/new/store.sqlite`];
      const chain = ["--read-port", "0", "--data-dir", `${folder}/node`, ...genesisArgs];
      const oracle = ["--oracle-url", urls.oracle, "--oracle-timeout-ms", "90"];
      const env = {
        SOLVER_PRIVATE_KEY: keys.solver,
        BRIDGE_PRIVATE_KEY: keys.relayer,
        RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
        RANGEMAKER_BACKFILL_HISTORY_URL: urls.exchanges,
        WRITE_NODE_URL: urls.node,
        READ_NODE_URL: urls.node,
        KAIZEN_RPC_URL: urls.node,
      };
      const asked = [
        ["solver", "-w", urls.nodeWs, ...database],
        ["bridge", ...database],
        ["proxy", "--port", "0", "--ws-port", "0"],
        ["oracle", "-P", "0", "-m", "4", ...providers],
        ["node", "-p", "0", ...chain, ...oracle],
        ["backfill"],
      ];
      for (const argv of asked) {
        await eventually(`${argv[0]} is ok`, async () => {
          const { code, checks, printed } = await diagnose(argv, env, BUSY_MS);
          assert.equal(code, 0, printed);
          for (const key of Object.values(keys)) assert(!printed.includes(key.slice(2)));
          const complaints = checks.filter(({ level }) => level !== "ok");
          // On a busy machine the oracle may take longer than the 90 ms.
          if (complaints.some(({ text }) => text.includes("took longer"))) return undefined;
          assert.deepEqual(complaints, []);
          return true;
        });
      }
      // The doctor leaves no files.
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    })
  ));

Deno.test("doctor: several services can be checked at once, with options from the environment", async () => {
  const url = deadUrl();
  const env = {
    WRITE_NODE_URL: url,
    READ_NODE_URL: url,
    KAIZEN_RPC_URL: url,
    RANGEMAKER_BACKFILL_HISTORY_URL: url,
  };
  const { code, checks } = await diagnose(["proxy", "backfill"], env);
  assert.equal(code, 1);
  assert.deepEqual([...new Set(checks.map(({ service }) => service))], ["proxy", "backfill"]);
  const nodes = checks.filter(({ text }) => text.startsWith(url)).map(({ subject }) => subject);
  assert.deepEqual(nodes, ["write node", "read node", "node", "history"]);
});

Deno.test("doctor: a missing exchange history is a warning, since the solver starts without it", async () => {
  const exchange = startFakeCandles();
  const history = async () => {
    const argv = ["solver", "--history-url", exchange.url];
    const { level, text } = (await diagnose(argv, { SOLVER_PRIVATE_KEY: keys.solver })).of(
      "history",
    );
    return [level, text.slice(exchange.url.length)];
  };
  assert.deepEqual(await history(), ["ok", " serves candles"]);
  exchange.failures = [new Response("no", { status: 403 })];
  const [level, text] = await history();
  assert.equal(level, "warn");
  assert.match(String(text), /403.*starts without an exchange's history$/);
  await exchange.stop();
});

Deno.test("doctor: a service named twice is checked once", async () => {
  const once = await diagnose(["proxy", "--write-node-url", deadUrl()]);
  const twice = await diagnose(["proxy", "proxy", "--write-node-url", deadUrl()]);
  const subjects = ({ checks }: typeof once) => checks.map(({ subject }) => subject);
  assert.deepEqual(subjects(twice), subjects(once));
});

Deno.test("doctor: an exchange that sends no price of a market is reported with the market", async () => {
  await using exchanges = await startExchanges(withDefaults(exchangesOptions, {
    port: 0,
    faults: [{ provider: "provider_d", fault: "mute", afterMs: 0 }],
  }));
  const url = exchanges.providerUrls.provider_d;
  const { of } = await diagnose(["oracle", "-p", "okx", "--provider-url", `okx=${url}`]);
  assert.match(of("okx").text, /prices of [01] of 3 pairs: no price of .*SOL\/USDT in 2000 ms$/);
  assert.equal(of("sources").level, "fail");
});

Deno.test("doctor: without arguments it checks every service that needs no key or has one", async () => {
  const env = {
    RANGEMAKER_ORACLE_PROVIDERS: "okx",
    RANGEMAKER_ORACLE_PROVIDER_URL: `okx=${deadUrl("ws")}`,
    RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
  };
  const checked = async (keys: Record<string, string>) => {
    const { checks } = await diagnose([], { ...env, ...keys });
    return { checks, services: [...new Set(checks.map(({ service }) => service))] };
  };
  const some = await checked({ BRIDGE_PRIVATE_KEY: "" });
  assert.deepEqual(some.services, ["proxy", "oracle", "node", "backfill"]);
  const all = await checked({ SOLVER_PRIVATE_KEY: keys.solver, BRIDGE_PRIVATE_KEY: keys.relayer });
  assert.deepEqual(all.services, ["solver", "bridge", "proxy", "oracle", "node", "backfill"]);
  const claimed = all.checks.find(({ text }) => text.includes("is also configured"));
  assert.equal(claimed?.service, "bridge");
  assert.match(claimed?.text ?? "", /^127\.0\.0\.1:3000 is also configured for solver$/);
});

/** A problem, the check that finds it, and what the doctor reports. */
interface Problem {
  argv: string[];
  env?: Record<string, string>;
  subject: string;
  level: "warn" | "fail";
  text: RegExp;
  remedy: RegExp;
}

const bridgeKey = { BRIDGE_PRIVATE_KEY: keys.relayer };

const problems: Record<string, Problem> = {
  "a node that is down": {
    argv: ["bridge", "--rpc-url", deadUrl()],
    env: bridgeKey,
    subject: "node",
    level: "fail",
    text: /^http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*[Cc]onnection refused/,
    remedy: /--rpc-url or KAIZEN_RPC_URL$/,
  },
  "the account on a node that is down": {
    argv: ["bridge", "--rpc-url", deadUrl()],
    env: bridgeKey,
    subject: "relayer",
    level: "warn",
    text: /^Unknown: the node did not answer$/,
    remedy: /^Fix the node first$/,
  },
  "no key": {
    argv: ["bridge"],
    subject: "key",
    level: "fail",
    text: /^Missing key: /,
    remedy: /^Give one key: --private-key or BRIDGE_PRIVATE_KEY, or --keystore with /,
  },
  "the balance of an account whose key is missing": {
    argv: ["solver"],
    subject: "balance",
    level: "warn",
    text: /^Unknown: there is no key$/,
    remedy: /^Fix the key first$/,
  },
  "an invalid key": {
    argv: ["solver"],
    env: { SOLVER_PRIVATE_KEY: "0x12ab" },
    subject: "option",
    level: "fail",
    text: /^Invalid SOLVER_PRIVATE_KEY: Expected 0x and 64 hex digits$/,
    remedy: /^Correct --private-key or SOLVER_PRIVATE_KEY; see /,
  },
  "a publicly known key": {
    argv: ["solver"],
    env: { SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey },
    subject: "key",
    level: "warn",
    text: /^Signs as 0x3C44.*, the development account solver: its key is publicly known$/,
    remedy: /^Use a key of your own/,
  },
  "a missing keystore": {
    argv: ["bridge", "--keystore", "none.json", "--keystore-password-file", "none.txt"],
    subject: "key",
    level: "fail",
    text: /^File none\.txt cannot be read: it does not exist$/,
    remedy: /^Fix the keystore or its password file$/,
  },
  "a host that is not this machine": {
    argv: ["proxy", "--host", "192.0.2.1"],
    subject: "port",
    level: "fail",
    text: /^192\.0\.2\.1:8546 cannot be listened on: /,
    remedy: /--host or RANGEMAKER_HOST$/,
  },
  "a WebSocket that is down": {
    argv: ["solver", "--ws-url", deadUrl("ws")],
    subject: "websocket",
    level: "fail",
    text: /^ws:\/\/127\.0\.0\.1:\d+: /,
    remedy: /--ws-url or KAIZEN_WS_URL$/,
  },
  "a provider that is down": {
    argv: ["oracle", "-p", "okx", "--provider-url", `okx=${deadUrl("ws")}`],
    subject: "okx",
    level: "warn",
    text: /prices of 0 of 3 pairs: /,
    remedy: /--provider-url okx=/,
  },
  "too few sources": {
    argv: ["oracle", "-p", "okx", "--provider-url", `okx=${deadUrl("ws")}`],
    subject: "sources",
    level: "fail",
    text: /^BTC\/USDT: 0 of 1 sources; ETH/,
    remedy: /^Fix the providers above$/,
  },
  "an oracle that is down": {
    argv: ["node", "--oracle-url", deadUrl()],
    subject: "oracle",
    level: "fail",
    text: /[Cc]onnection refused/,
    remedy: /--oracle-url or RANGEMAKER_NODE_ORACLE_URL$/,
  },
  "development accounts": {
    argv: ["node", "--oracle-url", deadUrl()],
    subject: "genesis",
    level: "warn",
    text: /development accounts/,
    remedy: /--relayers/,
  },
  "a chain that nobody can fund": {
    argv: ["node", "--oracle-url", deadUrl(), "--admins", admin],
    subject: "genesis",
    level: "warn",
    text: /0 relayers, 1 admin, .*nobody can deposit/,
    remedy: /--relayers/,
  },
  "a data directory below a file": {
    argv: ["node", "--oracle-url", deadUrl(), "--data-dir", "deno.json/node"],
    subject: "data dir",
    level: "fail",
    text: /^deno\.json is not a folder$/,
    remedy: /--data-dir or RANGEMAKER_NODE_DATA_DIR$/,
  },
  "a store in memory": {
    argv: ["bridge", "--database", ":memory:"],
    env: bridgeKey,
    subject: "store",
    level: "warn",
    text: /is lost with the process/,
    remedy: /--database or RANGEMAKER_BRIDGE_DATABASE$/,
  },
};

for (const [name, { argv, env, subject, level, text, remedy }] of Object.entries(problems)) {
  Deno.test(`doctor: reports ${name}`, async () => {
    const { code, of, counts } = await diagnose(argv, env);
    const found = of(subject);
    assert.equal(found.level, level, found.text);
    assert.match(found.text, text);
    assert.match(found.remedy ?? "", remedy);
    assert.equal(code, counts.fail === 0 ? 0 : 1);
  });
}

Deno.test("doctor: a URL for writes that is a node's read port fails, for every service that writes", () =>
  withNode(async ({ node }) => {
    const url = node.readUrl;
    const env = {
      ...bridgeKey,
      SOLVER_PRIVATE_KEY: keys.solver,
      RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
    };
    const asked = [
      ["solver", "-r", url],
      ["bridge", "-r", url],
      ["backfill", "-r", url],
      ["proxy", "--write-node-url", url, "--read-node-url", url],
    ];
    for (const argv of asked) {
      const { level, text, remedy } = (await diagnose(argv, env)).of("writes");
      assert.equal(level, "fail", text);
      assert.match(text, /^http:\S+ accepts no transactions: it is a read port/);
      assert.match(remedy ?? "", /--rpc-url|--write-node-url/);
    }
    const { of } = await diagnose(["bridge", "-r", node.url], env);
    assert.equal(of("writes").level, "ok");
  }));

Deno.test("doctor: URLs derived from other options are checked too", async () => {
  const [url, wsUrl] = [deadUrl(), deadUrl("ws")];
  const proxy = ["proxy", "--write-node-url", url, "--read-node-url", url];
  assert((await diagnose(proxy)).of("websocket").text.startsWith(url.replace("http", "ws")));
  const { of } = await diagnose([...proxy, "--read-node-ws-url", wsUrl]);
  assert(of("websocket").text.startsWith(wsUrl));
});

Deno.test("doctor: default addresses are included in the required permissions", async () => {
  const netOf = async (...argv: string[]) => (await diagnose(argv)).of("permissions").text;
  assert.match(await netOf("node"), /net 127\.0\.0\.1:8545, 127\.0\.0\.1:8547, localhost:8550;/);
  const okx = deadUrl("ws");
  const oracle = await netOf("oracle", "-p", "okx", "--provider-url", `okx=${okx}`);
  assert(oracle.includes(`net 127.0.0.1:8550, ${new URL(okx).host};`), oracle);
});

Deno.test("doctor: reports a node with another chain, and two nodes with different chains", async () => {
  await using other = FakeNode.start(7);
  await using node = FakeNode.start();
  const { of } = await diagnose(["bridge", "-r", other.url], bridgeKey);
  assert.equal(of("node").level, "fail");
  assert.match(of("node").text, /has chain 7: expected 1337$/);
  assert.match(of("node").remedy ?? "", /^Use --chain-id 7, or /);
  const proxy = ["proxy", "--write-node-url", node.url, "--read-node-url", other.url];
  const { level, text } = (await diagnose(proxy)).of("chains");
  assert.deepEqual([level, text], ["fail", "The write node has chain 1337, a read node chain 7"]);
});

Deno.test("doctor: reports an account without the relayer permission, and a solver without money", async () => {
  await using node = FakeNode.start();
  node.permissions = [];
  const bridge = (await diagnose(["bridge", "-r", node.url], bridgeKey)).of("relayer");
  assert.equal(bridge.level, "fail");
  assert.match(bridge.text, new RegExp(`^${relayer} lacks the relayer permission on the node`));
  const env = { SOLVER_PRIVATE_KEY: keys.solver };
  const balance = (await diagnose(["solver", "-r", node.url], env)).of("balance");
  assert.equal(balance.level, "warn");
  assert.match(balance.text, new RegExp(`^${solver} has 0 USDC`));
});

Deno.test("doctor: reports a wrong clock, and fails if the node would refuse transactions for it", async () => {
  await using node = FakeNode.start();
  const clockWhen = async (ageMs: number) => {
    const head = () => ({ number: "0x1", timestampMs: Date.now() - ageMs });
    node.methods.set("eth_getBlockByNumber", head);
    return (await diagnose(["bridge", "-r", node.url], bridgeKey)).of("clock");
  };
  assert.equal((await clockWhen(0)).level, "ok");
  assert.equal((await clockWhen(10_000)).level, "warn");
  assert.equal((await clockWhen(100_000)).level, "fail");
  const behind = await clockWhen(-100_000);
  assert.equal(behind.level, "fail");
  assert.match(behind.text, /^The clock of this machine is behind: .* ms in the future$/);
});

Deno.test("doctor: a WebSocket that opens and never answers fails after the timeout", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      return Deno.upgradeWebSocket(request).response;
    },
  );
  const url = `ws://127.0.0.1:${server.addr.port}`;
  const { level, text } = (await diagnose(["solver", "-w", url], {}, 200)).of("websocket");
  assert.equal(level, "fail");
  assert.equal(text, `${url}: did not accept a subscription within 200 ms`);
});

Deno.test("doctor: a port used by another program fails; used by the service itself, its health decides", async () => {
  let answer = () => new Response("hello");
  await using stranger = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => answer(),
  );
  await using bridge = await startBridge(withDefaults(bridgeOptions, {
    port: 0,
    rpcUrl: deadUrl(),
    privateKey: new LocalSigner(keys.relayer),
    database: ":memory:",
  }));
  const portOf = async (service: string, port: string | number) =>
    (await diagnose([service, "--port", String(port)], bridgeKey)).of("port");
  const taken = await portOf("bridge", stranger.addr.port);
  assert.equal(taken.level, "fail");
  assert.match(taken.text, /is used by another program, which answers \/health with "hello"$/);
  assert.match(taken.remedy ?? "", /--port or RANGEMAKER_BRIDGE_PORT$/);
  const own = await portOf("bridge", new URL(bridge.url).port);
  assert.equal(own.level, "ok");
  assert.match(own.text, /is used by this service, which is running: healthy$/);
  const { level, text, remedy } = (await diagnose(
    ["bridge", "--port", new URL(bridge.url).port],
    { BRIDGE_PRIVATE_KEY: keys.admin },
  )).of("port");
  assert.equal(level, "fail");
  assert.match(text, new RegExp(`is used by another service of this kind, of ${relayer}$`));
  assert.match(remedy ?? "", /^Stop it .*--port or RANGEMAKER_BRIDGE_PORT$/);
  answer = () =>
    Response.json({ status: "failed", rpc: true, bridge: relayer, reason: "No space" }, {
      status: 503,
    });
  const failed = await portOf("bridge", stranger.addr.port);
  assert.match(`${failed.level} ${failed.text}`, /^fail .* which is running: failed$/);
  assert.equal(failed.remedy, 'It answers: "No space"');
  // A bridge is not a solver.
  const other = await portOf("solver", new URL(bridge.url).port);
  assert.equal(other.level, "fail");
});

Deno.test("doctor: a --pricing file is loaded as the solver loads it", () =>
  withFolder(async (folder) => {
    const pricingOf = async (path: string) => {
      const { level, text, remedy } = (await diagnose(["solver", "--pricing", path])).of("pricing");
      return { level, text, remedy };
    };
    assert.deepEqual(await pricingOf("docs/examples/strategy.ts"), {
      level: "ok",
      text: "docs/examples/strategy.ts is the strategy nearer-bound",
      remedy: undefined,
    });
    const missing = await pricingOf(`${folder}/mine.ts`);
    assert.equal(missing.level, "fail");
    assert.match(missing.text, /^Strategy .*mine\.ts cannot be loaded: /);
    assert.match(missing.remedy ?? "", /--pricing or RANGEMAKER_SOLVER_PRICING$/);
    const path = `${folder}/incomplete.ts`;
    await Deno.writeTextFile(path, "export default () => ({ name: 'x', price() {} });");
    const incomplete = await pricingOf(path);
    assert.equal(incomplete.level, "fail");
    assert.match(incomplete.text, /lacks recheck\(\)$/);
    const { checks } = await diagnose(["solver", "--pricing", "barrier"]);
    assert(!checks.some(({ subject }) => subject === "pricing"));
  }));

Deno.test("doctor: a --hedge-url passes with any HTTP answer, and fails if it cannot be reached", async () => {
  await using service = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("no such path", { status: 404 }),
  );
  const hedgeAt = async (url: string) =>
    (await diagnose(["solver", "--hedge-url", `${url}/hedge`])).of("hedge");
  const found = await hedgeAt(`http://127.0.0.1:${service.addr.port}`);
  assert.equal(found.level, "ok");
  assert.match(found.text, /\/hedge answers HTTP, a GET with status 404$/);
  const { level, text, remedy } = await hedgeAt(deadUrl());
  assert.equal(level, "fail");
  assert.match(text, /\/hedge cannot be reached: .*[Cc]onnection refused/);
  assert.match(remedy ?? "", /--hedge-url or RANGEMAKER_SOLVER_HEDGE_URL$/);
});

Deno.test("doctor: reports stuck intents", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlite`;
    const store = await openIntentStore(database, "bridge");
    for (const [key, ageMs] of [["old", 600_000], ["new", 1_000]] as const) {
      const createdAtMs = Date.now() - ageMs;
      const times = { createdAtMs, expiresAtMs: createdAtMs + 60_000 };
      await store.insert({ key, subject: "user", payload: "{}", transaction: null, ...times });
    }
    await store.close();
    const args = ["bridge", "--database", database, "--rpc-url", deadUrl()];
    const { level, text, remedy } = (await diagnose(args, bridgeKey)).of("store");
    assert.equal(level, "warn");
    assert.match(text, / 2 unfinished intents, 1 of them for over 5 minutes$/);
    assert.match(remedy ?? "", /^Start the service, .* see its log/);
  }));

Deno.test("doctor: reports a data directory of another chain", () =>
  withFolder(async (folder) => {
    const node = ["node", "--oracle-url", deadUrl()];
    const running = await startNode(withDefaults(nodeOptions, {
      port: 0,
      readPort: 0,
      oracleUrl: deadUrl(),
      dataDir: `${folder}/node`,
    }));
    const same = await diagnose([...node, "--data-dir", `${folder}/node`]);
    assert.match(same.of("data dir").text, /bytes; a running node has it open$/);
    await running.stop();
    const other = await diagnose([...node, "--data-dir", `${folder}/node`, "--chain-id", "7"]);
    assert.equal(other.of("data dir").level, "fail");
    assert.match(other.of("data dir").text, /another genesis or chain id/);
  }));

Deno.test("doctor: several services are checked as the settings file configures them", () =>
  withFolder(async (folder) => {
    const path = `${folder}/settings.toml`;
    const text = `rpc_url = "${deadUrl()}"\n[bridge]\nprivate_key = "${keys.relayer}"\n[solver]\n`;
    await Deno.writeTextFile(path, text);
    const { checks } = await diagnose(["--config", path]);
    const named = new Set(checks.map(({ service }) => service));
    assert(named.has("bridge") && !named.has("solver"), [...named].join());
    await Deno.writeTextFile(path, "[node]\nportt = 1\n");
    const wrong = await runDoctor(["node", "--config", path], {});
    assert.equal(wrong.code, 2);
  }));

Deno.test("doctor: no user, password, query or key of a node's URL is printed", async () => {
  const url = deadUrl().replace("127", "somebody:hunter2@127");
  const secrets = `${url}/v3/0123456789abcdef0123456789abcdef?key=geheim`;
  const { printed, of } = await diagnose(["proxy", "--write-node-url", secrets]);
  assert.match(of("write node").text, /^http:\/\/…@127\.0\.0\.1:\d+\/v3\/…\?… /);
  for (const secret of ["somebody", "hunter2", "0123456789abcdef", "geheim"]) {
    assert(!printed.includes(secret), printed);
  }
});

Deno.test("doctor: lines show what was tried, how long it took, and how to fix it", async () => {
  const { code, printed } = await runDoctor(["backfill", "-r", deadUrl()], {
    RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
    RANGEMAKER_BACKFILL_HISTORY_URL: deadUrl(),
  });
  assert.equal(code, 1);
  const lines = printed.split("\n");
  assert.match(lines[0] ?? "", /^ok {4}backfill {2}permissions {2}Granted: .* \(\d+ ms\)$/);
  assert.match(lines[2] ?? "", /^fail {2}backfill {2}node {9}http:.* \(\d+ ms\)$/);
  assert.match(lines[3] ?? "", /^ {6}fix: Start the node, or /);
  assert.equal(lines.at(-1), "7 checks: 2 ok, 3 warnings, 2 failed");
});

Deno.test("doctor: on a terminal it shows unfinished checks and coloured levels, in a file neither", async () => {
  const argv = ["backfill", "-r", deadUrl()];
  const env = { RANGEMAKER_BACKFILL_HISTORY_URL: deadUrl() };
  assert(!(await runDoctor(argv, env)).printed.includes("\x1b["));
  const shown: string[] = [];
  const progress = (text: string) => shown.push(text);
  const { printed } = await runDoctor(argv, env, { printsColor: true, progress });
  assert(printed.includes("\n\x1b[31mfail\x1b[0m  backfill"), printed);
  assert.match(shown[0] ?? "", /^Waiting for \d: backfill /);
  assert.equal(shown.at(-1), "");
});

const misuses: [argv: string[], line: RegExp][] = [
  [
    ["brigde"],
    /^Unknown command 'brigde' \(did you mean bridge\?\)\. See rangemaker doctor --help$/,
  ],
  [["bridge", "--prot", "1"], /^Unknown option '--prot' \(did you mean --port\?\)/],
  [["solver", "bridge", "--port", "1"], /^Unknown option '--port'/],
  [["bridge", "--timeout-ms", "5"], /^Invalid --timeout-ms: /],
  [["--timeout-ms", "5"], /^Invalid --timeout-ms: /],
];

for (const [argv, line] of misuses) {
  Deno.test(`doctor ${argv.join(" ")}: is one clear line, exit code 2`, async () => {
    const { code, errors } = await runDoctor(argv);
    assert.equal(code, 2);
    assert.equal(errors.split("\n").length, 1);
    assert.match(errors, line);
  });
}

Deno.test("doctor: no service has an option with the name of a doctor option", () => {
  const own = Object.values(doctorOptions).map(({ flags }) => /--[\w-]+/.exec(flags)?.[0]);
  for (const service of Object.keys(run.subcommands)) {
    for (const { flags } of Object.values(OPTION_TABLES[service] ?? {})) {
      assert(!own.includes(/--[\w-]+/.exec(flags)?.[0]), `${service} ${flags}`);
    }
  }
});

const reportSchema = z.object({
  ok: z.boolean(),
  counts: z.record(z.string(), z.number()),
  checks: z.array(z.strictObject({
    service: z.string(),
    subject: z.string(),
    level: z.enum(["ok", "warn", "fail"]),
    text: z.string(),
    remedy: z.string().optional(),
    tookMs: z.number(),
  })),
});

/** The JSON report of the doctor. */
export interface Diagnosis extends z.output<typeof reportSchema> {
  code: number;
  /** The result of the check of a subject. */
  of(subject: string): z.output<typeof reportSchema>["checks"][number];
  /** Everything printed. */
  printed: string;
}

/** Runs the doctor in this process and records its output. */
export async function runDoctor(
  argv: readonly string[],
  env: Record<string, string> = {},
  context: Partial<CommandContext> = {},
): Promise<{ code: number; printed: string; errors: string }> {
  const recorded = recordedContext(env);
  const code = await run(argv, { ...recorded.context, ...context });
  return {
    code,
    printed: recorded.printed.join("\n"),
    errors: recorded.errors.join("\n"),
  };
}

/** Runs the doctor with a short timeout and parses its report. */
export async function diagnose(
  argv: readonly string[],
  env: Record<string, string> = {},
  timeoutMs = 2_000,
): Promise<Diagnosis> {
  const args = [...argv, "--json", "--timeout-ms", String(timeoutMs)];
  const { code, printed } = await runDoctor(args, env);
  const report = reportSchema.parse(JSON.parse(printed));
  const of = (subject: string) => {
    const found = report.checks.find((check) => check.subject === subject);
    if (found === undefined) throw new Error(`No check of ${subject}: ${printed}`);
    return found;
  };
  return { ...report, code, of, printed };
}
