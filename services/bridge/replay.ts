/** `rangemaker bridge replay`: sends deposits again that a restored node lacks. */
import { repairCommand } from "../../lib/cli/repair_command.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { formatUsdc } from "../../lib/protocol/price.ts";
import { decodePayload, termsOfDeposit } from "./depositor.ts";
import { options } from "./options.ts";

/**
 * The `bridge replay` subcommand. The node knows a deposit by its external hash, so none is credited
 * twice, and the command may be repeated.
 */
export const run = repairCommand({
  name: "bridge replay",
  description:
    "Sends the deposits again that the core node lacks after it was restored from a backup.",
  examples: [["rangemaker bridge replay", "with the relayer key in BRIDGE_PRIVATE_KEY"]],
  service: "bridge",
  options,
  repaired: "sent again",
  async repair({ node, transactions }, intent, chainId) {
    const transaction = await transactions.sign(termsOfDeposit(intent, chainId));
    const receipt = await node.sendTransactionText(transaction.text);
    const { status: state, error } = receipt;
    if (error?.code === "DEPOSIT_ALREADY_PROCESSED") return "present";
    if (state === "failed") throw new RangemakerError(`${error?.code}`, `${error?.message}`);
    const { user, amount, nonce } = decodePayload(intent.payload);
    return {
      result: { state, transaction, receipt: JSON.stringify(receipt), failure: null },
      line: `Sent again: ${formatUsdc(amount)} USDC for ${user}, nonce ${nonce}`,
    };
  },
});
