/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import { createServiceCommand } from "../../lib/cli/command.ts";
import { options, type SolverOptions } from "./options.ts";
import { startSolver } from "./solver.ts";

export { options, type SolverOptions, startSolver };

/** The `solver` subcommand. */
export const run = createServiceCommand({
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
      load: () => import("./backtest/command.ts"),
    },
    deposit: {
      summary: "USDC for the account of the solver's key, by the bridge",
      load: () => import("./deposit.ts"),
    },
    reconcile: {
      summary: "ends the bets that a restored core node lacks",
      load: () => import("./reconcile.ts"),
    },
  },
}, (options) => startSolver(options));
