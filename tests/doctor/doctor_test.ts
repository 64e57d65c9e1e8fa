/** `rangemaker doctor` against running services. */
import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { READY_TIMEOUT_MS } from "../../lib/cli/start_check.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { doctorOptions, run } from "../../services/stack/doctor.ts";
import { startTestBridge } from "../bridge/support.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { withNode } from "../node/support/running_node.ts";
import { withOracle } from "../openapi/support/apps.ts";
import { runHere } from "../support/command_context.ts";
import { FakeNode } from "../support/fake_node.ts";
import { withFolder } from "../support/files.ts";
import {
  admin,
  bridgeKey,
  deadUrl,
  diagnose,
  keys,
  relayer,
  runDoctor,
  solver,
} from "./support.ts";

const privateKey = new LocalSigner(keys.relayer);

/** Starts everything that services use, with unknown keys. */
async function withServices(
  test: (
    urls: Record<"exchanges" | "oracle" | "node" | "nodeWs", string>,
    providerUrls: string,
  ) => Promise<void>,
): Promise<void> {
  await withOracle(async (oracle, exchanges) => {
    await using node = await startNode(withDefaults(nodeOptions, {
      port: 0,
      readPort: 0,
      oracleUrl: oracle.url,
      relayers: [relayer],
      admins: [admin],
      balances: new Map([[solver, 1_000_000n]]),
      dataDir: ":memory:",
    }));
    const urls = { exchanges: exchanges.url, oracle: oracle.url };
    const providers = Object.entries(exchanges.providerUrls).map((pair) => pair.join("="));
    await test({ ...urls, node: node.url, nodeWs: node.wsUrl }, providers.join(","));
  });
}

/** Services that work answer within this, however busy the machine is. */
const BUSY_MS = 20_000;

Deno.test("doctor: all checks pass with correct settings, exit code 0", () =>
  withServices((urls, providerUrls) =>
    withFolder(async (folder) => {
      const env = {
        SOLVER_PRIVATE_KEY: keys.solver,
        BRIDGE_PRIVATE_KEY: keys.relayer,
        WRITE_NODE_URL: urls.node,
        READ_NODE_URL: urls.node,
        KAIZEN_RPC_URL: urls.node,
        KAIZEN_WS_URL: urls.nodeWs,
        RANGEMAKER_SOLVER_DATABASE: `${folder}/new/solver.sqlite`,
        RANGEMAKER_SOLVER_HEDGE_URL: urls.exchanges,
        RANGEMAKER_BRIDGE_DATABASE: `${folder}/new/bridge.sqlite`,
        RANGEMAKER_ORACLE_MIN_SOURCES: "4",
        RANGEMAKER_ORACLE_PROVIDER_URL: providerUrls,
        RANGEMAKER_NODE_ORACLE_URL: urls.oracle,
        RANGEMAKER_NODE_DATA_DIR: `${folder}/node`,
        RANGEMAKER_NODE_RELAYERS: relayer,
        RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
        RANGEMAKER_BACKFILL_HISTORY_URL: urls.exchanges,
      };
      const { code, checks, printed } = await diagnose([], env, BUSY_MS);
      assert.equal(code, 0, printed);
      for (const key of Object.values(keys)) assert(!printed.includes(key.slice(2)));
      // Nothing tells a first start from a lost chain.
      const others = checks.filter(({ level }) => level !== "ok");
      assert.deepEqual(others.map(({ level, text, remedy }) => [level, text, remedy]), [[
        "warn",
        `${folder}/node is empty: a start creates a new chain`,
        "If it should have one, restore that first",
      ]]);
      const started = checks.filter(({ subject }) => subject === "start");
      assert.deepEqual(started.map(({ service }) => service), [
        ...["solver", "bridge", "proxy", "oracle", "node"],
      ]);
      // The doctor leaves no files.
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    })
  ));

Deno.test("--check: prints that a service is ready, or each problem, and touches nothing of a running one", () =>
  withFolder(async (folder) => {
    await using node = FakeNode.start();
    const database = `${folder}/a.sqlite`;
    const bridge = await startTestBridge(node.url, { database, privateKey });
    const args = ["bridge", "--check", "--port", new URL(bridge.url).port, "--rpc-url", node.url];
    const check = async (database: string, clock?: Clock) => {
      const command = [...args, "--database", database, "--log-level", "error"];
      const { code, stdout } = await runHere(command, { ...bridgeKey }, clock);
      return `${code} ${stdout}`;
    };
    assert.equal(await check(database), "0 bridge is ready");
    await bridge.stop();
    const files = [...Deno.readDirSync(folder)];
    assert.equal(await check(`${folder}/new.sqlite`), "0 bridge is ready");
    assert.deepEqual([...Deno.readDirSync(folder)], files);
    node.permissions = [];
    let nowMs = 0;
    const hasty = { now: () => nowMs += READY_TIMEOUT_MS, after: systemClock.after };
    assert.match(await check(database, hasty), /^1 Core node at .* the relayer permission/);
    assert.deepEqual(node.received, []);
  }));

Deno.test("doctor: an exchange that sends no price of a market is reported with the market", async () => {
  await using exchanges = await startExchanges(withDefaults(exchangesOptions, {
    port: 0,
    rate: 50,
    faults: [{ provider: "provider_d", fault: "stall", afterMs: 0 }],
  }));
  const { provider_a, provider_d } = exchanges.providerUrls;
  const urls = ["--provider-url", `binance=${provider_a}`, "--provider-url", `okx=${provider_d}`];
  const { of } = await diagnose(["oracle", "-p", "binance,okx", ...urls], {}, 3_000);
  assert.match(of("okx").text, /: No price: okx: not_acknowledged: .*SOL\/USDT: no answer in /);
  assert.deepEqual(["okx", "binance", "start"].map((subject) => of(subject).level), [
    ...["warn", "ok", "ok"],
  ]);
});

Deno.test("doctor: without arguments it checks every service that needs no key or has one", async () => {
  const url = deadUrl();
  const env = {
    RANGEMAKER_ORACLE_PROVIDERS: "okx",
    RANGEMAKER_ORACLE_PROVIDER_URL: `okx=${deadUrl("ws")}`,
    RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
    RANGEMAKER_BACKFILL_HISTORY_URL: url,
    WRITE_NODE_URL: url,
    READ_NODE_URL: url,
    KAIZEN_RPC_URL: url,
  };
  const checked = async (keys: Record<string, string>) => {
    const { code, checks } = await diagnose([], { ...env, ...keys });
    assert.equal(code, 1);
    return { checks, services: [...new Set(checks.map(({ service }) => service))] };
  };
  const some = await checked({ BRIDGE_PRIVATE_KEY: "" });
  assert.deepEqual(some.services, ["proxy", "oracle", "node", "backfill"]);
  const failed = some.checks.filter(({ level }) => level === "fail");
  assert.deepEqual(failed.map(({ subject }) => subject), [
    ...["nodes", "start", "start", "start", "history", "admin"],
  ]);
  const all = await checked({ SOLVER_PRIVATE_KEY: "0x12ab", BRIDGE_PRIVATE_KEY: keys.relayer });
  assert.deepEqual(all.services, ["solver", "bridge", "proxy", "oracle", "node", "backfill"]);
  assert.deepEqual(all.checks[0], {
    service: "solver",
    subject: "option",
    level: "fail",
    text: "Invalid SOLVER_PRIVATE_KEY: Expected 0x and 64 hex digits",
    remedy: "Correct it; see rangemaker solver --help",
  });
});

Deno.test("doctor: a URL for writes that is a node's read port fails, for every service that writes", () =>
  withNode(async ({ node }) => {
    const url = node.readUrl;
    const env = {
      ...bridgeKey,
      SOLVER_PRIVATE_KEY: keys.solver,
      RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
    };
    const urls = { KAIZEN_RPC_URL: url, WRITE_NODE_URL: url, READ_NODE_URL: url };
    const found: string[] = [];
    for (const service of ["solver", "bridge", "proxy", "backfill"]) {
      const { checks } = await diagnose([service], { ...env, ...urls });
      const failed = checks.filter(({ level, text }) =>
        level === "fail" &&
        /^Core node at \S+ accepts no transactions: it is a read port/.test(text)
      );
      found.push(...failed.map(({ subject }) => subject));
    }
    assert.deepEqual(found, ["start", "start", "nodes", "admin"]);
  }));

Deno.test("doctor: a backfill fails without the key of an admin, and with a node of another chain", async () => {
  await using node = FakeNode.start();
  const check = async (...argv: string[]) => {
    const env = { RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin };
    return (await diagnose(["backfill", "--rpc-url", node.url, ...argv], env)).of("admin");
  };
  const { level, text, remedy } = await check();
  assert.equal(level, "fail");
  assert(text.startsWith(`${admin} lacks the admin permission on the node`), text);
  assert.match(remedy ?? "", /--admins of the node$/);
  assert.match((await check("--chain-id", "7")).text, /has chain id 1337: expected 7/);
});

Deno.test("doctor: default addresses are included in the required permissions", async () => {
  const netOf = async (...argv: string[]) => (await diagnose(argv)).of("permissions").text;
  assert.match(await netOf("node"), /net 127\.0\.0\.1:8545, 127\.0\.0\.1:8547, localhost:8550;/);
  const okx = deadUrl("ws");
  const oracle = await netOf("oracle", "-p", "okx", "--provider-url", `okx=${okx}`);
  assert(oracle.includes(`net 127.0.0.1:8550, ${new URL(okx).host};`), oracle);
});

Deno.test("doctor: reports nodes of a proxy with different chains", async () => {
  await using other = FakeNode.start(7);
  await using node = FakeNode.start();
  const proxy = ["proxy", "--write-node-url", node.url, "--read-node-url", other.url];
  const { level, text } = (await diagnose(proxy)).of("nodes");
  assert.equal(level, "fail");
  assert.match(text, /has chain id 7: expected 1337, as the write node has$/);
});

Deno.test("doctor: reports stuck intents", () =>
  withFolder(async (folder) => {
    const database = `${folder}/bridge.sqlite`;
    const store = await openIntentStore(database, "bridge");
    for (const [key, ageMs] of [["old", 600_000], ["new", 1_000]] as const) {
      const createdAtMs = Date.now() - ageMs;
      const times = { createdAtMs, expiresAtMs: createdAtMs + 60_000 };
      await store.insert({ key, user: "user", payload: "{}", transaction: null, ...times });
    }
    await store.close();
    const args = ["bridge", "--database", database, "--rpc-url", deadUrl()];
    const { level, text, remedy } = (await diagnose(args, bridgeKey)).of("store");
    assert.equal(level, "warn");
    assert.match(
      text,
      / 2 unfinished intents, 1 of them for over 5 minutes; none is committed, so a node/,
    );
    assert.match(remedy ?? "", /^Start the service, .* see its log/);
  }));

Deno.test("doctor: reports a solver's database of another key; a bridge's belongs to none", () =>
  withFolder(async (folder) => {
    const databaseOf = async (service: string) => {
      const database = `${folder}/${service}.sqlite`;
      await using store = await openIntentStore(database, service);
      await store.records.update({ signer: admin });
      return database;
    };
    const storeOf = async (service: string, key: Record<string, string>) => {
      const args = [service, "--database", await databaseOf(service), "--rpc-url", deadUrl()];
      return (await diagnose(args, key)).of("store");
    };
    const { level, text, remedy } = await storeOf("solver", { SOLVER_PRIVATE_KEY: keys.solver });
    assert.equal(level, "fail");
    assert(
      text.endsWith(` belongs to the solver with the key of ${admin}, not of ${solver}`),
      text,
    );
    assert.match(remedy ?? "", /^Use that key, or another database: --database/);
    assert.equal((await storeOf("bridge", bridgeKey)).level, "ok");
    assert.equal((await storeOf("solver", { SOLVER_PRIVATE_KEY: keys.admin })).level, "ok");
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

Deno.test("doctor: every service is checked as the settings file configures it", () =>
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
  assert.match(of("nodes").text, / http:\/\/…@127\.0\.0\.1:\d+\/v3\/…\?… /);
  for (const secret of ["somebody", "hunter2", "0123456789abcdef", "geheim"]) {
    assert(!printed.includes(secret), printed);
  }
});

Deno.test("doctor: prints a line for each check, and one with the fix below a failed check", async () => {
  const { code, printed } = await runDoctor(["backfill", "-r", deadUrl()], {
    RANGEMAKER_BACKFILL_PRIVATE_KEY: keys.admin,
    RANGEMAKER_BACKFILL_HISTORY_URL: deadUrl(),
  });
  assert.equal(code, 1);
  const lines = printed.split("\n");
  assert.match(lines[0] ?? "", /^ok {4}backfill {2}permissions {2}Granted: /);
  assert.match(lines[2] ?? "", /^fail {2}backfill {2}history {6}http:/);
  assert.match(lines[3] ?? "", /^ {6}fix: Start that service, or /);
  assert.equal(lines.at(-1), "2 failed");
});

Deno.test("doctor: on a terminal it shows which service it checks and coloured levels, in a file neither", async () => {
  const argv = ["backfill", "-r", deadUrl()];
  assert(!(await runDoctor(argv)).printed.includes("\x1b["));
  const shown: string[] = [];
  const progress = (text: string) => shown.push(text);
  const { printed } = await runDoctor(argv, {}, { printsColor: true, progress });
  assert(printed.includes("\n\x1b[31mfail\x1b[0m  backfill"), printed);
  assert.equal(shown[0], "Checking backfill …");
  assert.equal(shown.at(-1), "");
});

Deno.test("doctor: its help has the width of the terminal", async () => {
  for (const argv of [["--help"], ["proxy", "--help"]]) {
    const { printed } = await runDoctor(argv, {}, { columns: 80 });
    const [, options = ""] = printed.split(/^(?:Options|Commands|Without).*$/m);
    const widest = Math.max(...options.split("\n").map(({ length }) => length));
    assert(widest > 75 && widest <= 80, options);
  }
});

const misuses: [argv: string[], line: RegExp][] = [
  [
    ["brigde"],
    /^Unknown command 'brigde' \(did you mean bridge\?\)\. See rangemaker doctor --help$/,
  ],
  [["bridge", "--prot", "1"], /^Unknown option '--prot' \(did you mean --port\?\)/],
  [["solver", "bridge"], /^Unexpected argument 'bridge'/],
  [["--timeout-ms", "500", "bridge"], /^Unexpected argument 'bridge'/],
  [["bridge", "--private-key", "0x12ab"], /^Invalid --private-key: /],
  [["--port", "1"], /^Unknown option '--port'/],
  [["--config", "none.toml"], /^Settings file none\.toml cannot be read/],
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
