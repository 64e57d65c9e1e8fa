import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../../lib/errors.ts";
import type { StrategyFactory } from "../pricing/strategy.ts";
import { BacktestError } from "./bars.ts";

/**
 * Loads the strategy that a TypeScript or JavaScript file exports by default.
 *
 * @throws {BacktestError} If the file cannot be loaded or exports no strategy.
 */
export async function loadStrategy(path: string): Promise<StrategyFactory> {
  let module: { default?: unknown };
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (thrown) {
    throw new BacktestError(`Strategy ${path} cannot be loaded: ${messageOf(thrown)}`);
  }
  if (typeof module.default !== "function") {
    throw new BacktestError(
      `Strategy ${path} cannot be used: expected a StrategyFactory as default export`,
    );
  }
  // A function's parameters cannot be checked at run time: the factory checks the version it is given.
  return module.default as StrategyFactory;
}
