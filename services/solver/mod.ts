/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import { serviceCommand } from "../../lib/cli/command.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type RunningService, startOrClose } from "../../lib/http/service.ts";
import { options, type SolverOptions } from "./options.ts";
import { openSolver } from "./solver.ts";

export { options, type SolverOptions };

/**
 * Starts the solver, and finishes the executions that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with. @throws {KeystoreError} If it cannot be
 *   read.
 * @throws {StoreError} If the database cannot be used.
 * @throws {StrategyError} If the pricing strategy cannot be used.
 * @throws {ListenError} If the port cannot be listened on.
 */
export function startSolver(
  options: SolverOptions,
  clock: Clock = systemClock,
): Promise<RunningService> {
  return startOrClose((opened) => openSolver(options, clock, opened));
}

/** The `solver` subcommand. */
export const run = serviceCommand({
  name: "solver",
  description: "Signs quotes for range bets, and submits the quotes that users sign too.",
  options,
  examples: [
    ["rangemaker solver", "with the solver's key in SOLVER_PRIVATE_KEY"],
    [
      "rangemaker solver --keystore solver.json --keystore-password-file password",
      "with the key from an encrypted keystore",
    ],
    ["rangemaker solver --dry-run", "quotes and estimates only"],
    [
      "rangemaker solver backtest --tape trades.csv",
      "what mock and barrier earn on recorded trades",
    ],
    ["rangemaker solver --pricing barrier --margin 0.05", "prices by a model of the market"],
  ],
  subcommands: {
    backtest: {
      summary: "what mock and barrier would have earned on recorded trades",
      open: () => import("./backtest/command.ts"),
    },
    deposit: {
      summary: "USDC for the account of the solver's key, by the bridge",
      open: () => import("./deposit.ts"),
    },
    reconcile: {
      summary: "ends the bets that a restored core node lacks",
      open: () => import("./execution/reconcile.ts"),
    },
  },
}, (options) => startSolver(options));
