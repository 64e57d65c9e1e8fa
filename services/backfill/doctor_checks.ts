import { openTransactionSigner } from "../../lib/cli/keystore.ts";
import {
  type CheckContext,
  type CheckOutcome,
  failure,
  passed,
  type ServiceChecks,
} from "../../lib/cli/service_checks.ts";
import { findWriteProblem } from "../../lib/http/readiness.ts";
import { requireChainId } from "../../lib/intents/chain_guard.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { type BackfillOptions, options } from "./mod.ts";

/** What `rangemaker doctor` checks of the backfill besides its options. */
export const checks: ServiceChecks<typeof options> = {
  service: "backfill",
  options,
  openSigner: (values) => openTransactionSigner(values, options),
  customChecks: (values, context) => [{
    subject: "admin",
    remedy: "Start the node, or correct --rpc-url or --chain-id",
    run: () => checkAdmin(values, context),
  }],
};

async function checkAdmin(
  { rpcUrl: url, chainId }: BackfillOptions,
  { address, timeoutMs }: CheckContext,
): Promise<CheckOutcome> {
  const node = new CoreClient({ url, timeoutMs });
  await requireChainId(node, chainId);
  const problem = await findWriteProblem(node);
  if (problem !== undefined) return failure(problem, "Correct --rpc-url");
  const { permissions } = await node.getAccount(address!); // it has a key
  if (permissions.includes("admin")) return passed(`${address} is admin on the node`);
  const text = `${address} lacks the admin permission on the node: its transactions would fail`;
  return failure(text, "Use the key of an admin, or add the account to --admins of the node");
}
