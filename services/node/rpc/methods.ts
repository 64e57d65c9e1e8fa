import type { Clock } from "../../../lib/clock.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { nodeMethods } from "../../../lib/protocol/methods/all.ts";
import { toQuantity } from "../../../lib/protocol/scalars.ts";
import { toWire } from "../../../lib/json.ts";
import config from "../../../deno.json" with { type: "json" };
import { toEthereumBlock } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { OraclePoller } from "../oracle/oracle_poller.ts";
import { bindMethods, type Handlers, invalidParams, type Method } from "./method.ts";
import { createOpenRpcDocument } from "./open_rpc.ts";
import { pageOfPrices, pageOfTheses, type PricesQuery } from "./query_pages.ts";
import type { ClientSubscriptions } from "./subscriptions.ts";

/** Parts of the node that the methods use. */
interface MethodContext {
  chain: Chain;
  clock: Clock;
  oracle: OraclePoller;
  /** Whether transactions can be stored. */
  isWritable(): boolean;
}

/** All methods of the node by name (protocol, "JSON-RPC of the core node"), and others. */
export function createMethods(
  { chain, clock, oracle, isWritable }: MethodContext,
  others: readonly [name: string, method: Method][] = [],
): ReadonlyMap<string, Method> {
  let document: ReturnType<typeof createOpenRpcDocument> | undefined;
  const handlers: Handlers<typeof nodeMethods> = {
    core_sendTransaction: ({ transaction }) => chain.submit(transaction),
    core_settleThesis: ({ id }) => toWire(chain.settle(id)),
    core_simulateTransaction: ({ transaction }) => chain.simulate(transaction),
    core_getTransaction: ({ hash }) => chain.findReceipt(hash) ?? null,
    core_getAccount: ({ address }) =>
      toWire({ ...chain.state.ledger.account(address), ...(!isWritable() && { frozen: true }) }),
    core_getThesis: ({ id }) => toWire(chain.findThesis(id) ?? null),
    core_getTheses: ({ filter }) => toWire(pageOfTheses(chain.state.ledger, filter)),
    core_getPrices: () => toWire(chain.oraclePrices.view(clock.now())),
    core_getPriceHistory: ({ query }) => toWire(pricesPage(chain, query)),
    core_getLimits: () => toWire(chain.limits),
    core_getOracleStatus: () => oracle.viewStatus(clock.now()),
    eth_chainId: () => toQuantity(chain.chainId),
    net_version: () => chain.chainId.toString(),
    web3_clientVersion: () => `rangemaker/${config.version}`,
    eth_blockNumber: () => toQuantity(chain.head.number),
    eth_getBlockByNumber({ block: which }) {
      const named = which === "earliest" ? 0 : chain.head.number;
      const block = chain.blocks.findBlock(which.startsWith("0x") ? Number(which) : named);
      return block === undefined ? null : toEthereumBlock(block);
    },
    eth_subscribe: ({ kind, filter }, subscriptions) =>
      requireWebSocket(subscriptions).subscribe(kind, filter),
    eth_unsubscribe: ({ id }, subscriptions) => requireWebSocket(subscriptions).unsubscribe(id),
    // Built on the first request, because it takes long.
    "rpc.discover": () => document ??= createOpenRpcDocument(methods),
  };
  const methods = new Map([...bindMethods(nodeMethods, handlers), ...others]);
  return methods;
}

function pricesPage(chain: Chain, query: PricesQuery) {
  const market = chain.state.marketOf(query);
  const history = market && chain.state.histories.get(market);
  if (history !== undefined) return pageOfPrices(history, query);
  throw invalidParams(
    `no market has base ${query.base} and quote ${query.quote}: core_getPrices lists the markets`,
  );
}

function requireWebSocket(subscriptions: ClientSubscriptions | undefined): ClientSubscriptions {
  if (subscriptions !== undefined) return subscriptions;
  throw new RpcError(
    RpcCode.methodNotFound,
    "Subscriptions need a WebSocket connection: received the request over HTTP",
  );
}
