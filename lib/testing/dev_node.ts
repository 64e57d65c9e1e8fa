import { CoreReader } from "../net/core_reader.ts";
import { RangemakerError } from "../errors.ts";
import { developmentMethods } from "../protocol/methods/development.ts";
import type { Address } from "../protocol/scalars.ts";

/** Prices during a jump by symbol: one, or several for equal parts of it. */
export type PricePaths = Readonly<Record<string, bigint | readonly bigint[]>>;

/** The methods of development chains (docs/protocol.md, "Development methods of the node"). */
export class DevNode extends CoreReader {
  async faucet(address: Address, amount: bigint): Promise<void> {
    const params = { address, amount: amount.toString() };
    const { error } = await this.call(developmentMethods, "core_faucet", params);
    if (error !== undefined) throw new RangemakerError(error.code, error.message);
  }

  snapshot(): Promise<number> {
    return this.call(developmentMethods, "core_snapshot", {});
  }

  /** @returns The time of the chain. */
  async revert(id: number): Promise<number> {
    return (await this.call(developmentMethods, "core_revert", { id })).now;
  }

  /** @returns The time of the chain. */
  async advance(ms: number, paths: PricePaths): Promise<number> {
    const prices = Object.fromEntries(
      Object.entries(paths).map(([symbol, path]) => [
        symbol,
        typeof path === "bigint" ? path.toString() : path.map(String),
      ]),
    );
    return (await this.call(developmentMethods, "core_advance", { jump: { ms, prices } })).now;
  }
}
