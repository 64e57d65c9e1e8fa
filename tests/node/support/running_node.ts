import { CoreClient } from "../../../lib/net/core_client.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { withDefaults } from "../../../lib/cli/options.ts";
import {
  type NodeOptions,
  options,
  type RunningNode,
  startNode,
} from "../../../services/node/mod.ts";
import { actors } from "./actors.ts";
import { startFakeOracle } from "./fake_oracle.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { SOLVER_BALANCE } from "./chain_in_memory.ts";

/** A node over real HTTP with an oracle of its own. */
export interface NodeUnderTest {
  node: RunningNode;
  client: CoreClient;
  oracle: ReturnType<typeof startFakeOracle>;
}

/** Options of a node on free ports, with the actors of these tests. */
export function testOptions(given: Partial<NodeOptions>): NodeOptions {
  return withDefaults(options, {
    port: 0,
    readPort: 0,
    dataDir: ":memory:",
    oracleTimeoutMs: 90,
    relayers: [actors.relayer.address],
    admins: [actors.admin.address],
    balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
    ...given,
  });
}

/** Runs a test against a node that has prices, and stops everything after it. */
export async function withNode(
  test: (parts: NodeUnderTest) => Promise<void>,
  given: Partial<NodeOptions> = {},
): Promise<void> {
  await using oracle = startFakeOracle();
  await using node = await startNode(testOptions({ oracleUrl: oracle.url, ...given }));
  await hasPrices(node);
  await test({ node, client: new CoreClient({ url: node.url }), oracle });
}

/** Resolves once the node has a fresh price of every market. */
export async function hasPrices(node: RunningNode): Promise<void> {
  await using socket = await RpcSocket.open(node.wsUrl);
  const subscription = await socket.subscribe("prices");
  await socket.waitFor(({ params }) =>
    params?.subscription === subscription &&
    MARKETS.every(({ symbol }) => Object(params.result[symbol]).state === "fresh")
  );
}
