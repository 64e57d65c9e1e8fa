/** The deposit bridge: turns each signed deposit request into one deposit transaction. */
import type { Context } from "hono";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { openIntentResources } from "../../lib/intents/intent_resources.ts";
import { IntentService } from "../../lib/intents/intent_service.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import { redactUrls } from "../../lib/redact.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { createServiceCommand } from "../../lib/cli/command.ts";
import { openTransactionSigner } from "../../lib/cli/keystore.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { documentedHandler } from "../../lib/http/openapi.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { createBridgeApi } from "./api.ts";
import {
  Depositor,
  isDepositOnChain,
  requireDepositTerms,
  wasCreditedBefore,
} from "./depositor.ts";
import { depositLog, logStart } from "./deposit_log.ts";
import { BridgeMetrics, registerPermission } from "./metrics.ts";
import { operations } from "./operations.ts";
import { type BridgeOptions, options as optionTable } from "./options.ts";
import { createBridgeReadiness } from "./readiness.ts";

export { type BridgeOptions, optionTable as options };

const NAME = "bridge";

/**
 * Starts the bridge, and resumes the deposits that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with.
 * @throws {StoreError} If the database cannot be used.
 * @throws {ListenError} If the port is not available.
 */
export function startBridge(
  options: BridgeOptions,
  clock: Clock = systemClock,
): Promise<RunningService> {
  return startOrClose((cleanup) => startWith(options, clock, cleanup));
}

async function startWith(
  options: BridgeOptions,
  clock: Clock,
  cleanup: AsyncDisposableStack,
): Promise<RunningService> {
  const { chainId } = options;
  const rpcUrl = redactUrls(options.rpcUrl);
  const signer = await openTransactionSigner(options, optionTable);
  const bridge = signer.address;
  const registry = createRegistry();
  const storeKey = "ignore";
  const resources = await openIntentResources({ ...options, name: NAME, signer, storeKey, clock });
  const { store, shortTimeoutNode: node, transactions } = resources;
  cleanup.defer(() => store.close());
  const metrics = new BridgeMetrics(registry, () => store.countUnfinished());
  const guard = new ChainGuard({
    ...resources,
    node,
    isOnChain: (intent) => isDepositOnChain(resources, intent, chainId),
  });
  const submitter = new Submitter({
    ...resources,
    guard,
    handler: {
      termsOf: (intent) => requireDepositTerms(intent, chainId),
      wasDoneBefore: wasCreditedBefore,
      onRetry: () => metrics.countRetry(),
      onFinishedByUs(intent) {
        metrics.countFinished(intent);
        depositLog.finished(intent);
      },
    },
  });
  const { retain: retainMs } = options;
  const intents = new IntentService({ resources, guard, submitter, retainMs, registry });
  cleanup.defer(() => intents.stop());
  const limiter = new RequestLimiter(options, registry);
  cleanup.defer(() => limiter.stop());
  const readiness = createBridgeReadiness(clock, {
    node,
    findProblem: intents.findProblem,
    relayer: bridge,
  });
  registerPermission(registry, readiness.isRelayer);
  cleanup.defer(() => readiness.stop());
  const depositor = new Depositor({
    store,
    submitter,
    guard,
    findNodeRefusal: readiness.findRefusal,
    transactions,
    chainId,
    clock,
    onRefused: depositLog.refused,
  });
  const app = createBridgeApi({
    depositor,
    store,
    metrics,
    limiter: limiter.handle,
    checkReadiness: readiness.check,
    corsOrigins: options.corsOrigins,
    bridge,
    rpcUrl,
    chainId,
  });
  const service = startService({
    ...options,
    name: NAME,
    app,
    health: createHealthRoute(intents, node, bridge, clock),
    registry,
    drain: intents.stopSubmitting,
    close: () => cleanup.disposeAsync(),
  });
  intents.start();
  // The balance, if the node answers: otherwise the readiness has the reason.
  const report = node.getAccount(bridge).catch(() => undefined).then((account) => {
    logStart(options, bridge, account);
    readiness.start();
  });
  // A stop waits until the start is logged.
  cleanup.defer(() => report);
  return service;
}

function createHealthRoute(
  { findProblem }: IntentService,
  node: Pick<CoreClient, "getChainId">,
  bridge: Address,
  clock: Clock,
) {
  const nodeAnswers = createCachedCall(
    () => node.getChainId().then(() => true, () => false),
    NODE_ANSWER_CACHED_MS,
    clock,
  );
  return documentedHandler(operations.health, async (c: Context) => {
    const [found, rpc] = await Promise.all([findProblem(), nodeAnswers()]);
    const about = { rpc, bridge, timestamp: clock.now() };
    if (found === undefined) return c.json({ status: "healthy", ...about });
    const { code, message: reason } = found;
    return c.json({ status: "failed", code, reason, ...about }, 503);
  });
}

export const run = createServiceCommand({
  name: NAME,
  description: "Turns signed deposit requests into deposit transactions, each exactly once.",
  options: optionTable,
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
  subcommands: {
    replay: {
      summary: "resends the deposits that a restored core node lacks",
      load: () => import("./replay.ts"),
    },
  },
}, (options) => startBridge(options));
