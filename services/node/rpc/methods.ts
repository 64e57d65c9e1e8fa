import { toWire } from "../../../lib/protocol/wire.ts";
import type { z } from "zod";
import config from "../../../deno.json" with { type: "json" };
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { describeInput } from "../../../lib/protocol/scalars.ts";
import type { Clock } from "../../../lib/clock.ts";
import { toEthereumBlock } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { OraclePoller } from "../oracle/oracle_poller.ts";
import { type Description, openRpcDocument } from "./open_rpc.ts";
import { pageOfPrices, pageOfTheses } from "./pages.ts";
import {
  addressParams,
  blockParams,
  hashParams,
  historyParams,
  noParams,
  subscribeParams,
  subscriptionIdParams,
  thesesParams,
  thesisIdParams,
  transactionParams,
} from "./params.ts";
import type { Subscriber } from "./subscriptions.ts";

/** Parts of the node that the methods use. */
export interface MethodContext {
  chain: Chain;
  clock: Clock;
  oracle: OraclePoller;
}

/** One JSON-RPC method. */
export interface Method {
  /** Changes the chain. The read port refuses it. */
  isWrite?: boolean;
  /** Takes long, as it checks signatures or reads much: runs through the queue, one at a time. */
  isCostly?: boolean;
  /** Its entry in the OpenRPC document, where that is not the document's own. */
  description?: Description | undefined;
  /**
   * @param params As received.
   * @param client The caller's subscriptions; undefined over HTTP.
   * @returns The result, ready for JSON.
   */
  call(params: unknown, client: Subscriber | undefined): unknown;
}

/**
 * All methods of the node by name (protocol, "JSON-RPC of the core node").
 *
 * @param others Methods besides the node's own; `rpc.discover` lists those with a description.
 */
export function nodeMethods(
  context: MethodContext,
  others: ReadonlyMap<string, Method> = new Map(),
): ReadonlyMap<string, Method> {
  return new Map(Object.entries({
    ...writeMethods(context),
    ...readMethods(context),
    ...ethereumMethods(context),
    ...subscriptionMethods(),
    ...discoveryMethods(others),
    ...Object.fromEntries(others),
  }));
}

function writeMethods({ chain }: MethodContext): Record<string, Method> {
  return {
    core_sendTransaction: {
      isWrite: true,
      isCostly: true,
      call: (params) => chain.submit(parse(transactionParams, params).transaction),
    },
    core_settleThesis: {
      isWrite: true,
      isCostly: true,
      call: (params) => toWire(chain.settle(parse(thesisIdParams, params).id)),
    },
  };
}

function readMethods({ chain, clock, oracle }: MethodContext): Record<string, Method> {
  return {
    core_simulateTransaction: {
      isCostly: true,
      call: (params) => chain.simulate(parse(transactionParams, params).transaction),
    },
    core_getAccount: {
      call(params) {
        const { address } = parse(addressParams, params);
        const account = chain.state.ledger.account(address);
        const { balance, locked } = account;
        return { ...account, balance: balance.toString(), locked: locked.toString() };
      },
    },
    core_getTransaction: {
      call: (params) => chain.receipt(parse(hashParams, params).hash) ?? null,
    },
    core_getThesis: {
      call(params) {
        const thesis = chain.thesis(parse(thesisIdParams, params).id);
        return thesis === undefined ? null : toWire(thesis);
      },
    },
    core_getTheses: {
      isCostly: true,
      call(params) {
        const { filter } = parse(thesesParams, params);
        const { theses, nextCursor } = pageOfTheses(chain.state.ledger, chain.archive, filter);
        return { theses: theses.map((thesis) => toWire(thesis)), nextCursor };
      },
    },
    core_getPrices: {
      call(params) {
        parse(noParams, params);
        return pricesToWire(chain, clock.now());
      },
    },
    core_getPriceHistory: {
      isCostly: true,
      call: (params) => pricesPage(chain, parse(historyParams, params).query),
    },
    core_getOracleStatus: {
      call(params) {
        parse(noParams, params);
        return oracle.describe(clock.now());
      },
    },
  };
}

function ethereumMethods({ chain }: MethodContext): Record<string, Method> {
  return {
    eth_chainId: { call: () => `0x${chain.chainId.toString(16)}` },
    net_version: { call: () => chain.chainId.toString() },
    web3_clientVersion: { call: () => `rangemaker/${config.version}` },
    eth_blockNumber: { call: () => `0x${chain.head.number.toString(16)}` },
    eth_getBlockByNumber: {
      call(params) {
        const { block: which } = parse(blockParams, params);
        const block = which.startsWith("0x")
          ? chain.blocks.block(Number(which))
          : which === "earliest"
          ? chain.blocks.block(0)
          : chain.head;
        return block === undefined ? null : toEthereumBlock(block);
      },
    },
  };
}

function discoveryMethods(others: ReadonlyMap<string, Method>): Record<string, Method> {
  let document: ReturnType<typeof openRpcDocument> | undefined;
  // Built on the first request, because it takes long.
  return { "rpc.discover": { isCostly: true, call: () => document ??= openRpcDocument(others) } };
}

function subscriptionMethods(): Record<string, Method> {
  return {
    eth_subscribe: {
      call(params, client) {
        const { kind, filter } = parse(subscribeParams, params);
        return overWebSocket(client).subscribe(kind, filter);
      },
    },
    eth_unsubscribe: {
      call: (params, client) =>
        overWebSocket(client).unsubscribe(parse(subscriptionIdParams, params).id),
    },
  };
}

/** The prices of all markets by symbol, as JSON carries them. */
export function pricesToWire(chain: Chain, nowMs: number) {
  const prices = Object.entries(chain.oraclePrices.view(nowMs));
  return Object.fromEntries(
    prices.map(([symbol, entry]) => [symbol, { ...entry, price: entry.price.toString() }]),
  );
}

function pricesPage(chain: Chain, query: z.output<typeof historyParams>["query"]) {
  const market = chain.state.marketOf(query);
  const history = market && chain.state.histories.get(market);
  if (history === undefined) {
    throw invalidParams(
      `no market has base ${query.base} and quote ${query.quote}: core_getPrices lists the markets`,
    );
  }
  return pageOfPrices(history, query);
}

function overWebSocket(client: Subscriber | undefined): Subscriber {
  if (client !== undefined) return client;
  throw new RpcError(
    RpcCode.methodNotFound,
    "Subscriptions need a WebSocket connection: received the request over HTTP",
  );
}

/** Parses the parameters of a call, by name. @throws {RpcError} If they do not fit. */
export function parse<S extends z.ZodObject>(schema: S, params: unknown): z.output<S> {
  const names = Object.keys(schema.shape);
  const given = params ?? [];
  if (!Array.isArray(given) || given.length > names.length) {
    const expected = names.length === 0 ? "no parameters" : `[${names.join(", ")}]`;
    const received = Array.isArray(given) ? `an array of ${given.length}` : "an object";
    throw invalidParams(`Expected ${expected}: received ${received}`);
  }
  const byName = Object.fromEntries(names.map((name, index) => [name, given[index]]));
  const parsed = schema.safeParse(byName);
  if (parsed.success) return parsed.data;
  throw invalidParams(describeInput(parsed.error, byName));
}

function invalidParams(problem: string): RpcError {
  return new RpcError(RpcCode.invalidParams, `Invalid params: ${problem}`);
}
