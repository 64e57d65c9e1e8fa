/** `rangemaker solver reconcile`: ends the bets that a restored node lacks. */
import { repairCommand } from "../../../lib/cli/repair_command.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { RECEIPTS_KEPT_MS_MIN } from "../../../lib/protocol/constants.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { formatUnits, usdcText } from "../../../lib/protocol/price.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { options } from "../options.ts";
import { committedThesis, decodeExecution } from "./execution.ts";

/**
 * Whether the node has the thesis of a committed execution, although it has no receipt. Without a
 * reservation the thesis was settled, and the node may have dropped it by now. Another thesis under
 * its id means that it is gone.
 */
export async function isBetOnChain(
  node: Pick<CoreClient, "getThesis">,
  intent: Intent,
  nowMs: number,
): Promise<boolean> {
  const thesis = await committedThesis(node, intent);
  if (thesis !== null) return thesis.quoteHash === intent.key;
  return !intent.reserved && nowMs - intent.updatedAtMs > RECEIPTS_KEPT_MS_MIN;
}

/** The `solver reconcile` subcommand: ends such bets, and releases their reservations. */
export const run = repairCommand({
  name: "solver reconcile",
  description: "Ends the bets that the core node lacks after it was restored from a backup.",
  examples: [["rangemaker solver reconcile", "with the solver's key in SOLVER_PRIVATE_KEY"]],
  service: "solver",
  options,
  repaired: "gone",
  async repair({ node }, intent, _chainId, clock) {
    if (await isBetOnChain(node, intent, clock.now())) return "present";
    const { thesisId } = receiptSchema.parse(JSON.parse(intent.receipt ?? "null"));
    const message = `Thesis ${thesisId} is gone: the core node was restored from a backup`;
    const failure = { code: "CHAIN_REWOUND", message, details: { thesisId } };
    const { user, betAmount, payout } = decodeExecution(intent.payload).quote;
    return {
      result: { state: "failed", transaction: intent.transaction, receipt: null, failure },
      line: `Gone: thesis ${thesisId} of ${user}, ${usdcText(betAmount)} that might have ` +
        `become ${formatUnits(payout)}, quote ${intent.key}: undo its hedge`,
    };
  },
});
