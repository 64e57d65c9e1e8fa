/** The deposit bridge: turns signed deposit requests into deposit transactions, each exactly once. */
import type { Context } from "hono";
import config from "../../deno.json" with { type: "json" };
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { faultPointsAt, withFaultPoints } from "../../lib/fault_points.ts";
import { openIntentStore } from "../../lib/intents/open.ts";
import { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { retentionLoop } from "../../lib/intents/retention.ts";
import { problemFields, StoreHealth } from "../../lib/intents/store_health.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import { redactUrls } from "../../lib/redact.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { serviceCommand } from "../../lib/cli/command.ts";
import { signerFrom } from "../../lib/cli/keystore.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { documented } from "../../lib/http/openapi.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import { createBridgeApi } from "./api.ts";
import { Depositor } from "./depositor.ts";
import { DepositLog } from "./deposit_log.ts";
import { DepositBook } from "./deposits.ts";
import { BridgeMetrics } from "./metrics.ts";
import { operations } from "./operations.ts";
import { type BridgeOptions, options } from "./options.ts";
import { checkReadiness } from "./readiness.ts";

export { type BridgeOptions, options };

/** Timeout of calls to the node; below the deadline of a stop. */
const NODE_TIMEOUT_MS = 4_000;

/** Timeout of the call to the node that `GET /health` makes. */
const PROBE_TIMEOUT_MS = 1_000;

/**
 * Starts the bridge, and resumes the deposits that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with.
 * @throws {StoreError} If the database cannot be used.
 * @throws {ListenError} If the port is not available.
 */
export async function startBridge(
  options: BridgeOptions,
  clock: Clock = systemClock,
): Promise<RunningService> {
  const { host, port, rpcUrl, chainId } = options;
  const signer = await signerFrom(options, "--private-key or BRIDGE_PRIVATE_KEY");
  const faults = faultPointsAt(options.faultPoint);
  const node = withFaultPoints(
    "node",
    new CoreClient({ url: rpcUrl, timeoutMs: NODE_TIMEOUT_MS }),
    faults,
  );
  const probe = new CoreClient({ url: rpcUrl, timeoutMs: PROBE_TIMEOUT_MS });
  const store = withFaultPoints("store", await openIntentStore(options.database, "bridge"), faults);
  const registry = createRegistry(clock.now());
  const metrics = new BridgeMetrics(registry, () => store.countUnfinished());
  const depositLog = new DepositLog(rpcUrl);
  const log = serviceLog("bridge");
  const guard = new ChainGuard({ store, node: probe, clock });
  const storeHealth = new StoreHealth({ store, guard, clock, log });
  const retention = retentionLoop({ store, retainMs: options.retain, clock, log });
  const submitter: Submitter = new Submitter({
    store,
    node,
    clock,
    random: Math.random,
    log,
    receiptsKeptMs: options.retain,
    requireChain: guard.require,
    sign: (intent) => Promise.resolve(depositor.resign(intent)),
    observe(event, intent) {
      depositLog.attempted(submitter.nodeLost);
      if (event === "retry") return metrics.retried();
      metrics.ended(intent);
      depositLog.ended(intent);
    },
  });
  const depositor = new Depositor({
    store,
    submitter,
    requireChain: guard.require,
    signer,
    chainId,
    clock,
    onRefused: DepositLog.refused,
  });
  const limiter = new RequestLimiter(options, registry);
  const readiness = () =>
    checkReadiness({ store, guard, node: probe, relayer: signer.address, chainId });
  const app = createBridgeApi({
    depositor,
    deposits: new DepositBook(store),
    metrics,
    limiter: limiter.handle,
    checkReadiness: cached(readiness, NODE_ANSWER_MS, clock),
    corsOrigins: options.corsOrigins,
    bridge: signer.address,
    rpcUrl: redactUrls(rpcUrl),
    version: config.version,
    chainId,
  });
  const nodeAnswers = cached(
    () => probe.chainId().then(() => true, () => false),
    NODE_ANSWER_MS,
    clock,
  );
  const health = documented(operations.health, async (c: Context) => {
    const [problem, rpc] = await Promise.all([storeHealth.problem(), nodeAnswers()]);
    const about = { rpc, bridge: signer.address, timestamp: clock.now() };
    if (problem === undefined) return c.json({ status: "healthy", ...about });
    return c.json({ status: "failed", ...problemFields(problem), ...about }, 503);
  });
  let firstLook: Promise<void> = Promise.resolve();
  // Stop submitting first: open requests finish, and no new work starts.
  const drain = () => void submitter.stop();
  const close = async () => {
    await Promise.all([
      submitter.stop(),
      storeHealth.stop(),
      retention.stop(),
      limiter.stop(),
      firstLook,
    ]);
    await store.close();
  };
  try {
    const service = startService({
      name: "bridge",
      host,
      port,
      app,
      health,
      registry,
      drain,
      close,
    });
    submitter.start();
    storeHealth.start();
    retention.start();
    firstLook = logProblems(readiness);
    return service;
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Logs at start every problem that will keep deposits from being committed. */
async function logProblems(readiness: () => ReturnType<typeof checkReadiness>): Promise<void> {
  const log = serviceLog("bridge");
  for (const problem of (await readiness()).problems) log.warn("Not ready: {problem}", { problem });
}

/** The `bridge` subcommand. */
export const run = serviceCommand({
  name: "bridge",
  description: "Turns signed deposit requests into deposit transactions, each exactly once.",
  options,
  examples: [
    ["rangemaker bridge --port 3001", "with the relayer key in BRIDGE_PRIVATE_KEY"],
    [
      "rangemaker bridge --keystore data/relayer.json --keystore-password-file data/password",
      "with the key from an encrypted keystore",
    ],
    [
      "rangemaker bridge --database postgres://bridge@db.internal/bridge",
      "one of several bridges behind one address",
    ],
    ["rangemaker bridge --database :memory:", "forgets used nonces at exit: for tests only"],
  ],
}, (given) => startBridge(given));
