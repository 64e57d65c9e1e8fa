import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { usdcText } from "../../../lib/protocol/price.ts";
import type { PricingStrategy, StrategyContext, StrategyFactory } from "./strategy.ts";

/** The file of a strategy cannot be used; the message has its name and the reason. */
export class StrategyError extends RangemakerError {
  constructor(message: string) {
    super("STRATEGY", message);
  }
}

/**
 * Loads the strategy that a TypeScript or JavaScript file exports by default.
 *
 * @returns A factory that checks the result of the file's own factory.
 * @throws {StrategyError} If the file cannot be loaded or exports no function.
 */
export async function loadStrategy(path: string): Promise<StrategyFactory> {
  let module: { default?: unknown };
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (thrown) {
    throw new StrategyError(`Strategy ${path} cannot be loaded: ${messageOf(thrown)}`);
  }
  const { default: factory } = module;
  if (typeof factory !== "function") {
    throw new StrategyError(
      `Strategy ${path} cannot be used: expected a StrategyFactory as default export`,
    );
  }
  return (context) => createChecked(path, factory, context);
}

// The type of a function cannot be checked in advance, so its result is checked.
function createChecked(
  path: string,
  // deno-lint-ignore ban-types -- its type is unknown
  factory: Function,
  context: StrategyContext,
): PricingStrategy {
  let strategy: unknown;
  try {
    strategy = Reflect.apply(factory, undefined, [context]);
  } catch (thrown) {
    throw new StrategyError(`Strategy ${path} cannot be created: ${messageOf(thrown)}`);
  }
  const fields: Record<string, unknown> = Object(strategy);
  const missing = [
    ...(typeof fields.name === "string" ? [] : ["name: string"]),
    ...["price", "recheck"].filter((name) => typeof fields[name] !== "function")
      .map((name) => `${name}()`),
  ];
  if (missing.length > 0) {
    throw new StrategyError(
      `Strategy ${path} cannot be used: the result of its factory lacks ${missing.join(", ")}`,
    );
  }
  const checked = strategy as PricingStrategy; // its members were just checked
  return {
    name: checked.name,
    price(bet) {
      const price = requireSync(path, "price", checked.price(bet));
      if (typeof price?.payout !== "bigint") {
        throw new StrategyError(`Strategy ${path} gave no payout: expected { payout: bigint }`);
      }
      if (price.payout > bet.betAmount) return price;
      return context.refuse(
        "PAYOUT_TOO_LOW",
        `A bet of ${
          usdcText(bet.betAmount)
        } would pay no more than its stake: choose another range or window`,
      );
    },
    holdMs: (bet, payout) => requireSync(path, "holdMs", checked.holdMs?.(bet, payout)) ?? 0,
    recheck: (bet, payout, options) =>
      requireSync(path, "recheck", checked.recheck(bet, payout, options)),
  };
}

/** Nobody waits for a promise: its refusal would come too late, and end this process. */
function requireSync<T>(path: string, member: string, answer: T): T {
  // Also of other libraries.
  if (typeof Object(answer).then !== "function") return answer;
  Promise.resolve(answer).catch(() => {});
  throw new StrategyError(
    `Strategy ${path} is asynchronous: expected ${member}() without a promise`,
  );
}
