/** `rangemaker solver reconcile`: ends bets that a restored node lacks. */
import { type Clock, systemClock } from "../../../lib/clock.ts";
import { command, ExitCode } from "../../../lib/cli/command.ts";
import { signerFrom } from "../../../lib/cli/keystore.ts";
import { optionLabel, type OptionsOf } from "../../../lib/cli/options.ts";
import {
  type Repair,
  repairCommitted,
  type RepairReport,
} from "../../../lib/intents/after_restore.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { IntentService } from "../../../lib/intents/intent_service.ts";
import { RECEIPTS_KEPT_MS_MIN } from "../../../lib/intents/submitter_options.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { formatUsdc } from "../../../lib/protocol/price.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { options as all } from "../options.ts";
import { decodeExecution } from "./execution.ts";

const { rpcUrl, privateKey, keystore, keystorePasswordFile, chainId, database } = all;

/** Those of the solver that it needs, with the same values. */
export const options = {
  ...{ rpcUrl, privateKey, keystore, keystorePasswordFile, chainId, database },
};

/** The options after parsing. */
export type ReconcileOptions = OptionsOf<typeof options>;

/**
 * Whether the node has the thesis of a committed execution of which it has no receipt. It may have dropped
 * a settled thesis; a reserved one is open, and another thesis with its number means that it is gone.
 */
export async function isBetOnChain(
  node: Pick<CoreClient, "getThesis">,
  { key, receipt, reserved, updatedAtMs }: Intent,
  nowMs: number,
): Promise<boolean> {
  const { thesisId } = receiptSchema.parse(JSON.parse(receipt ?? "null"));
  const thesis = thesisId === undefined ? null : await node.getThesis(thesisId);
  if (thesis !== null) return thesis.quoteHash === key;
  return !reserved && nowMs - updatedAtMs > RECEIPTS_KEPT_MS_MIN;
}

/** Ends each committed execution that the node lacks, and releases its reservation. */
export async function reconcileBets(
  options: ReconcileOptions,
  print: (line: string) => void,
  clock: Clock = systemClock,
): Promise<RepairReport> {
  const signer = await signerFrom(options, optionLabel(all.privateKey));
  const reconcile = async (intents: IntentService, intent: Intent): Promise<Repair> => {
    const { node, store } = intents;
    const { transaction } = intent;
    if (transaction !== null && await node.getTransaction(transaction.txHash) !== null) {
      return "present";
    }
    if (await isBetOnChain(node, intent, clock.now())) return "present";
    const { thesisId } = receiptSchema.parse(JSON.parse(intent.receipt ?? "null"));
    const message = `Thesis ${thesisId} is gone: the core node was restored from a backup`;
    const failure = { code: "CHAIN_REWOUND", message };
    const result = { state: "failed" as const, transaction, receipt: null, failure };
    await store.replaceCommitted(intent, result, clock.now());
    const { user, betAmount, payout } = decodeExecution(intent.payload).quote;
    print(
      `Gone: thesis ${thesisId} of ${user}, ${formatUsdc(betAmount)} USDC that might have become ` +
        `${formatUsdc(payout)}, quote ${intent.key}: undo its hedge`,
    );
    return "repaired";
  };
  return await repairCommitted({ ...options, name: "solver", signer, clock }, reconcile, print);
}

/** The `solver reconcile` subcommand. */
export const run = command({
  name: "solver reconcile",
  description: "Ends the bets that the core node lacks after it was restored from a backup.",
  options,
  examples: [["rangemaker solver reconcile", "with the solver's key in SOLVER_PRIVATE_KEY"]],
  async run(given, { print }) {
    const { repaired, present, failed } = await reconcileBets(given, print);
    print(`${repaired} gone, ${present} were there, ${failed} failed`);
    return failed === 0 ? ExitCode.ok : ExitCode.failed;
  },
});
