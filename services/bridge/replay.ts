/** `rangemaker bridge replay`: sends deposits again that a restored node lacks. */
import { type Clock, systemClock } from "../../lib/clock.ts";
import { command, ExitCode } from "../../lib/cli/command.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import {
  type Repair,
  repairCommitted,
  type RepairReport,
} from "../../lib/intents/after_restore.ts";
import type { Intent } from "../../lib/intents/intent.ts";
import type { IntentService } from "../../lib/intents/intent_service.ts";
import { isNodeAway } from "../../lib/net/core_client.ts";
import { formatUsdc } from "../../lib/protocol/price.ts";
import { decodePayload, termsOfDeposit } from "./depositor.ts";
import { bridgeSigner, options as all } from "./options.ts";

const { rpcUrl, privateKey, keystore, keystorePasswordFile, chainId, database } = all;

/** Those of the bridge that it needs, with the same values. */
export const options = {
  ...{ rpcUrl, privateKey, keystore, keystorePasswordFile, chainId, database },
};

/** The options after parsing. */
export type ReplayOptions = OptionsOf<typeof options>;

/**
 * Sends each committed deposit again that the node lacks. The node knows a deposit by its external hash,
 * so none is credited twice, and the command may be repeated.
 *
 * @param print Gets one line for each deposit that was sent or failed.
 */
export async function replayDeposits(
  options: ReplayOptions,
  print: (line: string) => void,
  clock: Clock = systemClock,
): Promise<RepairReport> {
  const signer = await bridgeSigner(options);
  const replay = async (intents: IntentService, intent: Intent): Promise<Repair> => {
    const { node, store, transactions } = intents;
    try {
      const txHash = intent.transaction?.txHash;
      if (txHash !== undefined && await node.getTransaction(txHash) !== null) return "present";
      const transaction = transactions.sign(termsOfDeposit(intent, options.chainId));
      const receipt = await node.sendTransactionText(transaction.text);
      if (receipt.error?.code === "DEPOSIT_ALREADY_PROCESSED") return "present";
      const { status: state, error } = receipt;
      if (state === "failed") return { failed: `${error?.code}: ${error?.message}` };
      const result = { state, transaction, receipt: JSON.stringify(receipt), failure: null };
      await store.replaceCommitted(intent, result, clock.now());
      const { user, amount, nonce } = decodePayload(intent.payload);
      print(`Sent again: ${formatUsdc(amount)} USDC for ${user}, nonce ${nonce}`);
      return "repaired";
    } catch (thrown) {
      if (isNodeAway(thrown) || !(thrown instanceof RangemakerError)) throw thrown;
      return { failed: messageOf(thrown) };
    }
  };
  return await repairCommitted({ ...options, name: "bridge", signer, clock }, replay, print);
}

/** The `bridge replay` subcommand. */
export const run = command({
  name: "bridge replay",
  description:
    "Sends the deposits again that the core node lacks after it was restored from a backup.",
  options,
  examples: [["rangemaker bridge replay", "with the relayer key in BRIDGE_PRIVATE_KEY"]],
  async run(given, { print }) {
    const { repaired, present, failed } = await replayDeposits(given, print);
    print(`${repaired} sent again, ${present} were there, ${failed} failed`);
    return failed === 0 ? ExitCode.ok : ExitCode.failed;
  },
});
