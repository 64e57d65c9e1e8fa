/** `rangemaker bridge replay`: resends the deposits that a restored node lacks. */
import { createRepairCommand } from "../../lib/intents/repair_command.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { isFinal } from "../../lib/intents/intent.ts";
import { usdcText } from "../../lib/protocol/price.ts";
import {
  decodeDeposit,
  isDepositOnChain,
  requireDepositTerms,
  wasCreditedBefore,
} from "./depositor.ts";
import { options } from "./options.ts";

/**
 * The `bridge replay` subcommand. The node credits each external hash once, from any relayer. So
 * the command may be repeated, and may use a database that the bridge had before. It also sends the
 * deposits that the bridge had recorded and not yet finished, until their deadlines: nobody else
 * finishes those of a database that was replaced.
 */
export const run = createRepairCommand({
  name: "bridge replay",
  description: "Resends the deposits that the core node lacks after it was restored from a backup.",
  examples: [
    ["rangemaker bridge replay", "with the relayer key in BRIDGE_PRIVATE_KEY"],
    ["rangemaker bridge replay --dry-run", "only shows what the node lacks"],
    [
      "rangemaker bridge replay --database data/bridge-old.sqlite",
      "with a database that the bridge had before",
    ],
  ],
  service: "bridge",
  options,
  repairedWords: "sent again",
  storeKey: "ignore",
  async repair({ node, transactions, clock }, intent, { chainId, dryRun }) {
    const { user, amount, nonce } = decodeDeposit(intent.payload);
    const deposit = `${usdcText(amount)} for ${user}, nonce ${nonce}`;
    // The user's signature allows no credit after the deadline: a late deposit is looked up, not sent.
    const isLate = !isFinal(intent.state) && clock.now() > intent.expiresAtMs;
    if (dryRun || isLate) {
      if (await isDepositOnChain({ node, transactions }, intent, chainId)) return "present";
      if (isLate) return { line: `Not sent, its deadline has passed: ${deposit}` };
      return { result: { ...intent, state: "committed" }, line: `Missing: ${deposit}` };
    }
    const transaction = await transactions.sign(requireDepositTerms(intent, chainId));
    const receipt = await node.sendTransactionText(transaction.text, transaction.txHash);
    if (wasCreditedBefore(receipt)) return "present";
    const { status: state, error } = receipt;
    if (state === "failed") throw new RangemakerError(`${error?.code}`, `${error?.message}`);
    return {
      result: { state, transaction, receipt: JSON.stringify(receipt), failure: null },
      line: `Sent again: ${deposit}`,
    };
  },
});
