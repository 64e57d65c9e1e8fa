import { toWire } from "../../../lib/protocol/wire.ts";
import type { z } from "zod";
import config from "../../../deno.json" with { type: "json" };
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { describeInput } from "../../../lib/protocol/scalars.ts";
import type { Clock } from "../../../lib/clock.ts";
import { toEthereumBlock } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { OraclePoller } from "../oracle/oracle_poller.ts";
import { openRpcDocument } from "./open_rpc.ts";
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
  /**
   * @param params As received.
   * @param client The caller's subscriptions; undefined over HTTP.
   * @returns The result, ready for JSON.
   */
  call(params: unknown, client: Subscriber | undefined): unknown;
}

/** All methods of the node by name (protocol, "JSON-RPC of the core node"). */
export function nodeMethods(context: MethodContext): ReadonlyMap<string, Method> {
  return new Map(Object.entries({
    ...writeMethods(context),
    ...readMethods(context),
    ...ethereumMethods(context),
    ...subscriptionMethods(),
    ...discoveryMethods(),
  }));
}

function writeMethods({ chain }: MethodContext): Record<string, Method> {
  return {
    core_sendTransaction: {
      isWrite: true,
      isCostly: true,
      call: (params) => chain.submit(...parse(transactionParams, params)),
    },
    core_settleThesis: {
      isWrite: true,
      isCostly: true,
      call: (params) => toWire(chain.settle(...parse(thesisIdParams, params))),
    },
  };
}

function readMethods({ chain, clock, oracle }: MethodContext): Record<string, Method> {
  return {
    core_simulateTransaction: {
      isCostly: true,
      call: (params) => chain.simulate(...parse(transactionParams, params)),
    },
    core_getAccount: {
      call(params) {
        const account = chain.state.ledger.account(...parse(addressParams, params));
        const { balance, locked } = account;
        return { ...account, balance: balance.toString(), locked: locked.toString() };
      },
    },
    core_getTransaction: {
      call: (params) => chain.receipt(...parse(hashParams, params)) ?? null,
    },
    core_getThesis: {
      call(params) {
        const thesis = chain.thesis(...parse(thesisIdParams, params));
        return thesis === undefined ? null : toWire(thesis);
      },
    },
    core_getTheses: {
      isCostly: true,
      call(params) {
        const [filter] = parse(thesesParams, params);
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
      call: (params) => pricesPage(chain, ...parse(historyParams, params)),
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
        const [which] = parse(blockParams, params);
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

function discoveryMethods(): Record<string, Method> {
  let document: ReturnType<typeof openRpcDocument> | undefined;
  // Built on the first request, because it takes long.
  return { "rpc.discover": { isCostly: true, call: () => document ??= openRpcDocument() } };
}

function subscriptionMethods(): Record<string, Method> {
  return {
    eth_subscribe: {
      call(params, client) {
        const [kind, filter] = parse(subscribeParams, params);
        return overWebSocket(client).subscribe(kind, filter);
      },
    },
    eth_unsubscribe: {
      call: (params, client) =>
        overWebSocket(client).unsubscribe(...parse(subscriptionIdParams, params)),
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

function pricesPage(chain: Chain, query: z.output<typeof historyParams>[0]) {
  const market = chain.state.marketOf(query);
  const history = market && chain.state.histories.get(market);
  if (history === undefined) {
    throw new RpcError(
      RpcCode.invalidParams,
      `Invalid params: no market has base ${query.base} and quote ${query.quote}: ` +
        "core_getPrices lists the markets",
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

/** Parses the parameters of a call. @throws {RpcError} If they do not fit. */
export function parse<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const given = params ?? [];
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problem = describeInput(parsed.error, given);
  throw new RpcError(RpcCode.invalidParams, `Invalid params: ${problem}`);
}
