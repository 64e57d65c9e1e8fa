/** JSON-RPC of development chains (docs/protocol.md, "Development methods of the node"). */
import { z } from "zod";
import { BACKFILL_SLOTS_MAX } from "../../../lib/protocol/constants.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  addressSchema,
  positiveUint64Schema,
  timestampSchema,
} from "../../../lib/protocol/scalars.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { type Method, parse } from "../rpc/methods.ts";
import { type Description, ON_WRITE_PORT } from "../rpc/open_rpc.ts";
import { noParams } from "../rpc/params.ts";
import { type DevChain, DevelopmentOnlyError, type PricePaths } from "./dev_chain.ts";

/** The longest jump, so that filling its slots takes no longer than a second or two. */
export const ADVANCE_MAX_MS = 86_400_000;

const faucetParams = z.object({
  address: addressSchema,
  amount: positiveUint64Schema("Expected an amount of at least 1"),
});

const priceSchema = positiveUint64Schema("Expected a price above 0");

/** One price for the whole jump, or several for equal parts of it. */
const pathSchema = z.union([
  priceSchema.transform((price) => [price]),
  z.array(priceSchema).min(1).max(BACKFILL_SLOTS_MAX),
], { error: "Expected a price or a list of prices, as decimal text" });

const advanceParams = z.object({
  jump: z.strictObject({
    ms: z.number().int().min(1).max(ADVANCE_MAX_MS),
    prices: z.record(z.string(), pathSchema).default({}),
  }),
});

const snapshotIdSchema = z.number().int().positive("Expected the id of a snapshot");
const snapshotIdParams = z.object({ id: snapshotIdSchema });

const momentSchema = z.object({ now: timestampSchema, blockNumber: z.number().int() });

/** In the OpenRPC document of a chain that has them. */
const DESCRIPTIONS: Record<string, Description> = {
  core_faucet: {
    summary: `Deposits USDC as the development relayer; ${ON_WRITE_PORT}`,
    params: faucetParams,
    result: receiptSchema,
  },
  core_snapshot: {
    summary: `Takes a snapshot of the chain and gives its id; ${ON_WRITE_PORT}`,
    result: snapshotIdSchema,
  },
  core_revert: {
    summary: `Goes back to a snapshot: ledger, blocks, prices and clock; ${ON_WRITE_PORT}`,
    params: snapshotIdParams,
    result: momentSchema,
  },
  core_advance: {
    summary: `Moves the clock of the chain forwards and settles what ends; ${ON_WRITE_PORT}`,
    params: advanceParams,
    result: momentSchema,
  },
};

/**
 * The methods of a development chain. They write, so the read port refuses them; while they are off,
 * their errors say how to turn them on.
 */
export function devMethods(dev: DevChain | undefined): ReadonlyMap<string, Method> {
  const on = (method: string): DevChain => {
    if (dev !== undefined) return dev;
    throw new DevelopmentOnlyError(`${method} is off: start the node with --dev to use it`);
  };
  const calls: Record<string, Method["call"]> = {
    core_faucet(params) {
      const chain = on("core_faucet");
      const { address, amount } = parse(faucetParams, params);
      return chain.faucet(address, amount);
    },
    core_snapshot(params) {
      parse(noParams, params);
      return on("core_snapshot").snapshot();
    },
    core_revert(params) {
      const chain = on("core_revert");
      return chain.revert(parse(snapshotIdParams, params).id);
    },
    core_advance(params) {
      const chain = on("core_advance");
      const { ms, prices } = parse(advanceParams, params).jump;
      return chain.advance(ms, pathsOf(prices, chain.markets));
    },
  };
  return new Map(
    Object.entries(calls).map(([name, call]) => {
      const isOn = dev !== undefined && (dev.isInMemory || name === "core_faucet");
      const description = isOn ? DESCRIPTIONS[name] : undefined;
      return [name, { isWrite: true, isCostly: true, description, call }];
    }),
  );
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
