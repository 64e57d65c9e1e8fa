/** JSON-RPC of development chains (docs/protocol.md, "Development methods of the node"). */
import type { Market } from "../../../lib/protocol/markets.ts";
import { developmentMethods } from "../../../lib/protocol/methods/development.ts";
import { bindMethods, invalidParams, type Method } from "../rpc/method.ts";
import { type DevChain, DevelopmentOnlyError, type PricePaths } from "./dev_chain.ts";

/** The methods of a development chain. If off, their error says how to enable them. */
export function devMethods(dev: DevChain | undefined): [name: string, method: Method][] {
  if (dev === undefined) return Object.keys(developmentMethods).map(disabledMethod);
  const methods = bindMethods(developmentMethods, {
    core_faucet: ({ address, amount }) => dev.faucet(address, amount),
    core_snapshot: () => dev.snapshot(),
    core_revert: ({ id }) => dev.revert(id),
    core_advance: ({ jump: { ms, prices } }) => dev.advance(ms, pathsOf(prices, dev.markets)),
  });
  if (dev.isInMemory) return methods;
  // On a chain on disk, only the faucet works, so no other method is listed.
  return methods.map(([name, { definition, ...method }]) =>
    name === "core_faucet" ? [name, { definition, ...method }] : [name, method]
  );
}

function disabledMethod(name: string): [name: string, method: Method] {
  const call = () => {
    throw new DevelopmentOnlyError(`${name} is off: start the node with --dev to use it`);
  };
  return [name, { access: "write", isCostly: true, call }];
}

function pathsOf(prices: Record<string, bigint[]>, markets: readonly Market[]): PricePaths {
  const paths = Object.entries(prices).map(([symbol, path]) => {
    const market = markets.find((market) => market.symbol === symbol);
    if (market !== undefined) return [market, path] as const;
    const known = markets.map((market) => market.symbol).join(", ");
    throw invalidParams(`no market has the symbol ${symbol}: there are ${known}`);
  });
  return new Map(paths);
}
