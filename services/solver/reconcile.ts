/** `rangemaker solver reconcile`: ends the bets that a restored node lacks. */
import { createRepairCommand } from "../../lib/intents/repair_command.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { readPages } from "../../lib/net/core_reader.ts";
import { type Intent, isFinal } from "../../lib/intents/intent.ts";
import { THESES_PAGE_MAX } from "../../lib/protocol/methods/reads.ts";
import { formatUnits, usdcText } from "../../lib/protocol/price.ts";
import { receiptSchema } from "../../lib/protocol/receipt.ts";
import { options } from "./options.ts";
import { checkThesis, decodeExecution } from "./execution/execution.ts";

/** The `solver reconcile` subcommand: ends such bets, and releases their reservations. */
export const run = createRepairCommand({
  name: "solver reconcile",
  description: "Ends the bets that the core node lacks after it was restored from a backup.",
  examples: [["rangemaker solver reconcile", "with the solver's key in SOLVER_PRIVATE_KEY"]],
  service: "solver",
  options,
  repairedWords: "gone",
  storeKey: "compare",
  async repair({ node, clock }, intent) {
    const { user, betAmount, payout } = decodeExecution(intent.payload).quote;
    if (!isFinal(intent.state)) {
      if (await wasRepeated(node, intent)) return "present";
      const bet = `${usdcText(betAmount)} of ${user}, quote ${intent.key}`;
      return { line: `Unfinished: ${bet}: undo its hedge, if this database was replaced` };
    }
    const { outcome } = await checkThesis(node, intent, clock.now());
    // The restored node lacks it, unless this solver knows that it was settled or pruned before.
    if (outcome === "found" || (outcome === "pruned" && !intent.reserved)) return "present";
    const { thesisId } = receiptSchema.parse(JSON.parse(intent.receipt ?? "null"));
    // A database that was replaced does not learn of settlements, nor one whose solver was down.
    const what = outcome === "pruned" ? "Gone, or settled and dropped since" : "Gone";
    const message = `Thesis ${thesisId} is gone: the core node was restored from a backup`;
    const failure = { code: "CHAIN_REWOUND", message, details: { thesisId } };
    return {
      result: { state: "failed", transaction: intent.transaction, receipt: null, failure },
      line: `${what}: thesis ${thesisId} of ${user}, ${usdcText(betAmount)} that might have ` +
        `become ${formatUnits(payout)}, quote ${intent.key}: undo its hedge`,
    };
  },
});

/** Whether the chain has the bet of an intent that this database left unfinished. */
async function wasRepeated(
  node: Pick<CoreClient, "getTheses">,
  { key, payload }: Intent,
): Promise<boolean> {
  const { user, solver } = decodeExecution(payload).quote;
  const filter = { user, solver, limit: THESES_PAGE_MAX };
  for await (const { theses } of readPages((cursor) => node.getTheses({ ...filter, cursor }))) {
    if (theses.some(({ quoteHash }) => quoteHash === key)) return true;
  }
  return false;
}
