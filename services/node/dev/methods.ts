/** JSON-RPC of development chains (docs/protocol.md, "Development methods of the node"). */
import { z } from "zod";
import { BACKFILL_SLOTS_MAX } from "../../../lib/protocol/constants.ts";
import { addressSchema, positiveUint64Schema } from "../../../lib/protocol/scalars.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { type Method, parse } from "../rpc/methods.ts";
import { type DevChain, DevelopmentOnlyError, type PricePaths } from "./dev_chain.ts";

/** The longest jump, so that filling its slots takes no longer than a second or two. */
export const ADVANCE_MAX_MS = 86_400_000;

const faucetParams = z.tuple([
  addressSchema,
  positiveUint64Schema("Expected an amount of at least 1"),
]);

const priceSchema = positiveUint64Schema("Expected a price above 0");

/** One price for the whole jump, or several for equal parts of it. */
const pathSchema = z.union([
  priceSchema.transform((price) => [price]),
  z.array(priceSchema).min(1).max(BACKFILL_SLOTS_MAX),
], { error: "Expected a price or a list of prices, as decimal text" });

const advanceParams = z.tuple([z.strictObject({
  ms: z.number().int().min(1).max(ADVANCE_MAX_MS),
  prices: z.record(z.string(), pathSchema).default({}),
})]);

const snapshotIdParams = z.tuple([z.number().int().positive("Expected the id of a snapshot")]);

/**
 * The methods of a development chain. They write, so the read port refuses them; while they are off,
 * their errors say how to turn them on.
 */
export function devMethods(dev: DevChain | undefined): ReadonlyMap<string, Method> {
  const on = (method: string): DevChain => {
    if (dev !== undefined) return dev;
    throw new DevelopmentOnlyError(`${method} is off: start the node with --dev to use it`);
  };
  const method = (call: (params: unknown) => unknown): Method => {
    return { isWrite: true, isCostly: true, call };
  };
  return new Map(Object.entries({
    core_faucet: method((params) => on("core_faucet").faucet(...parse(faucetParams, params))),
    core_snapshot: method((params) => {
      parse(z.tuple([]), params);
      return on("core_snapshot").snapshot();
    }),
    core_revert: method((params) => on("core_revert").revert(...parse(snapshotIdParams, params))),
    core_advance: method((params) => {
      const chain = on("core_advance");
      const [{ ms, prices }] = parse(advanceParams, params);
      return chain.advance(ms, pathsOf(prices, chain.markets));
    }),
  }));
}

function pathsOf(prices: Record<string, bigint[]>, markets: readonly Market[]): PricePaths {
  const paths = Object.entries(prices).map(([symbol, path]) => {
    const market = markets.find((market) => market.symbol === symbol);
    if (market !== undefined) return [market, path] as const;
    const known = markets.map((market) => market.symbol).join(", ");
    throw new RpcError(
      RpcCode.invalidParams,
      `Invalid params: no market has the symbol ${symbol}: there are ${known}`,
    );
  });
  return new Map(paths);
}
