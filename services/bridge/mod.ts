/** The deposit bridge: signed deposit requests become deposit transactions, each exactly once. */
import config from "../../deno.json" with { type: "json" };
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/core_client.ts";
import { serviceCommand } from "../../lib/service/command.ts";
import { createRegistry } from "../../lib/service/metrics.ts";
import {
  chainIdOption,
  hostOption,
  httpUrlSchema,
  portSchema,
  privateKeySchema,
} from "../../lib/service/option_types.ts";
import type { OptionsOf, OptionTable } from "../../lib/service/options.ts";
import { type RunningService, startService } from "../../lib/service/service.ts";
import { databaseOption, openIntentStore } from "../../lib/store/open.ts";
import { isFinal } from "../../lib/store/intent.ts";
import { Submitter } from "../../lib/submitter.ts";
import { createBridgeApi } from "./api.ts";
import { Depositor } from "./depositor.ts";
import { BridgeMetrics } from "./metrics.ts";

/** How long the node may take to answer; below the deadline of a stop. */
const NODE_TIMEOUT_MS = 4_000;

/** How long a look at the node may take when health is asked for. */
const PROBE_TIMEOUT_MS = 1_000;

/** Options of the bridge (spec: deposit bridge, "Bridge configuration"). */
export const options = {
  port: {
    flags: "-p, --port <port>",
    description: "HTTP port; 0 takes a free one",
    schema: portSchema,
    default: "3000",
  },
  host: hostOption,
  rpcUrl: {
    flags: "-r, --rpc-url <url>",
    env: "KAIZEN_RPC_URL",
    description: "core node RPC URL",
    schema: httpUrlSchema,
    default: "http://localhost:8545",
  },
  privateKey: {
    flags: "-k, --private-key <key>",
    env: "BRIDGE_PRIVATE_KEY",
    description: "relayer private key: 0x and 64 hex digits",
    schema: privateKeySchema,
    secret: true,
  },
  chainId: chainIdOption,
  database: databaseOption("BRIDGE_DATABASE", "data/bridge.sqlite"),
} satisfies OptionTable;

/** Options of {@link startBridge}. */
export type BridgeOptions = OptionsOf<typeof options>;

/** A running bridge. */
export type RunningBridge = RunningService;

/**
 * Starts the bridge and takes up what its last run left unfinished.
 *
 * @throws {StoreError} If the database cannot be used.
 * @throws {ListenError} If the port cannot be had.
 */
export async function startBridge(options: BridgeOptions): Promise<RunningBridge> {
  const { host, port, rpcUrl, chainId, privateKey: signer, database } = options;
  const clock = systemClock;
  const registry = createRegistry(clock.now());
  const metrics = new BridgeMetrics(registry);
  const node = new CoreClient({ url: rpcUrl, timeoutMs: NODE_TIMEOUT_MS });
  const probe = new CoreClient({ url: rpcUrl, timeoutMs: PROBE_TIMEOUT_MS });
  const probeNode = () => probe.chainId();
  const store = await openIntentStore(database);
  const submitter: Submitter = new Submitter({
    store,
    node,
    clock,
    random: Math.random,
    sign: (intent) => Promise.resolve(depositor.resign(intent)),
    observe(event, { state }) {
      if (event === "final" && isFinal(state)) metrics.depositEnded(state);
    },
  });
  const depositor = new Depositor({ store, submitter, probeNode, signer, chainId, clock });
  const app = createBridgeApi({
    depositor,
    bridge: signer.address,
    rpcUrl,
    version: config.version,
    chainId,
  });
  const health = async () =>
    Response.json({
      status: "healthy",
      rpc: await probeNode().then(() => true, () => false),
      bridge: signer.address,
      timestamp: clock.now(),
    });
  const close = async () => {
    await submitter.stop();
    await store.close();
  };
  try {
    const service = startService({ name: "bridge", host, port, app, health, registry, close });
    submitter.start();
    return service;
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The `bridge` subcommand. */
export const run = serviceCommand({
  name: "bridge",
  description: "Turns signed deposit requests into deposit transactions, each exactly once.",
  options,
  examples: [
    ["rangemaker bridge --port 3001", "with the relayer key in BRIDGE_PRIVATE_KEY"],
    ["rangemaker bridge --database :memory:", "keeps no nonces: for tests only"],
  ],
}, startBridge);
