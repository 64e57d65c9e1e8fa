/** The shared part of `bridge replay` and `solver reconcile`, for a node that was restored. */
import { messageOf, RangemakerError } from "../errors.ts";
import { requireSameChain } from "./chain_guard.ts";
import { type Intent, type IntentOutcome, isFinal } from "./intent.ts";
import { type IntentResources, openIntentResources } from "./intent_resources.ts";
import { inspectStore } from "./open_store.ts";
import type { IntentStore } from "./store.ts";
import { isNodeAway } from "../net/core_reader.ts";
import { redactUrls } from "../redact.ts";
import {
  type CommandContext,
  createCommand,
  ExitCode,
  type RunnableCommand,
} from "../cli/command.ts";
import { openTransactionSigner, type RemoteKeyOptions } from "../cli/keystore.ts";
import type { keyKind, keystoreOptions, remoteSignerOptions } from "../cli/key_options.ts";
import * as kinds from "../cli/option_kinds.ts";
import { type CommandText, type OptionsOf, type OptionSpec, UsageError } from "../cli/options.ts";
import type { chainIdOption, databaseOption, rpcUrlOption } from "../cli/shared_options.ts";

const REPAIRED_PER_PAGE = 500;

const dryRun = {
  flags: "--dry-run",
  kind: kinds.flag,
  description: "change and send nothing: show what is missing, exit code 1 if anything is",
  default: "false",
} as const satisfies OptionSpec;

/** The options of a service that its repair needs. */
type RepairTable = typeof keystoreOptions & {
  rpcUrl: typeof rpcUrlOption;
  privateKey: OptionSpec<typeof keyKind>;
  chainId: typeof chainIdOption;
  database: ReturnType<typeof databaseOption>;
  dryRun: typeof dryRun;
};

/** A command that reconciles a service's store with a restored node. */
interface RepairCommand extends Pick<CommandText, "name" | "description" | "examples"> {
  service: string;
  options: Omit<RepairTable, "dryRun"> & Partial<typeof remoteSignerOptions>;
  /** The command's words for a repaired intent, such as `sent again`. */
  repairedWords: string;
  /** Binds no database: that is for the service, which may have another key. */
  storeKey: "compare" | "ignore";
  /**
   * Repairs an intent of which the node has no committed receipt: one that is committed, or one that
   * a service was about to finish when its database was replaced. It may run repeatedly.
   *
   * @param options With `dryRun`, nothing may be sent.
   * @returns The new result of the intent and a line for the operator; `present` if nothing is
   *   missing, or a line alone if nothing can be repaired.
   * @throws {RangemakerError} If it failed.
   */
  repair(
    resources: IntentResources,
    intent: Intent,
    options: { chainId: number; dryRun: boolean },
  ): Promise<
    { result?: IntentOutcome & Pick<Intent, "transaction">; line: string } | "present"
  >;
}

/**
 * Goes through the intents of a store that have not failed, oldest first. If the repair of none
 * failed, the store accepts the node's chain as it is now, and its service submits again.
 */
export function createRepairCommand(definition: RepairCommand): RunnableCommand {
  const { rpcUrl, privateKey, keystore, keystorePasswordFile, chainId, database } =
    definition.options;
  const { signerUrl, signerAddress, signerMethod } = definition.options;
  // Only the bridge has the options of a remote signer.
  const options: RepairTable = {
    rpcUrl,
    privateKey,
    keystore,
    keystorePasswordFile,
    chainId,
    database,
    dryRun,
    ...(signerUrl && signerAddress && signerMethod && { signerUrl, signerAddress, signerMethod }),
  };
  const { name, description, examples, repairedWords } = definition;
  return createCommand({
    name,
    description,
    examples,
    options,
    async run(given, context) {
      await requireNotEmpty(given.database, definition.service);
      const counts = await repairAll(definition, given, context);
      const { present, failed, unfinished } = counts;
      const rest = unfinished === 0 ? "" : `, ${unfinished} unfinished`;
      context.print(
        `${counts.repaired} ${
          given.dryRun ? "missing" : repairedWords
        }, ${present} already present, ${failed} failed${rest}`,
      );
      const left = counts.failed + (given.dryRun ? counts.repaired : 0);
      return left === 0 ? ExitCode.ok : ExitCode.failed;
    },
  });
}

/** @throws {UsageError} If the database is new: its name is wrong, with nothing to repair. */
async function requireNotEmpty(database: string, service: string): Promise<void> {
  if (typeof await inspectStore(database, service, 0) === "object") return;
  throw new UsageError(
    `Database ${redactUrls(database)} is empty: expected the database that the ${service} used`,
  );
}

async function repairAll(
  { service, options: table, storeKey, repair }: RepairCommand,
  options: OptionsOf<RepairTable> & RemoteKeyOptions,
  { clock, print }: CommandContext,
) {
  const signer = await openTransactionSigner(options, table);
  const source = { ...options, name: service, clock, signer, storeKey };
  const resources = await openIntentResources(source);
  const { store, node } = resources;
  const counts = { present: 0, repaired: 0, failed: 0, unfinished: 0 };

  async function repairOne(intent: Intent): Promise<keyof typeof counts> {
    const txHash = intent.transaction?.txHash;
    const receipt = txHash === undefined ? null : await node.getTransaction(txHash);
    if (receipt?.status === "committed") return "present";
    const outcome = await repair(resources, intent, options);
    if (outcome === "present") return outcome;
    const { result, line } = outcome;
    if (result === undefined) {
      print(line);
      return "unfinished";
    }
    if (!options.dryRun && !await store.replaceResult(intent, result, clock.now())) {
      if (!isFinal(intent.state)) return "present"; // its running service has finished it
      print(
        `${intent.key} was changed by another process meanwhile: stop that process and run this again`,
      );
      return "failed";
    }
    print(line);
    return "repaired";
  }

  try {
    await requireSameChain(resources);
    for await (const intent of readIntents(store)) {
      if (intent.state === "failed") continue;
      const verdict = await repairOne(intent).catch((thrown) => {
        if (isNodeAway(thrown) || !(thrown instanceof RangemakerError)) throw thrown;
        print(`${intent.key} failed: ${messageOf(thrown)}`);
        return "failed" as const;
      });
      counts[verdict] += 1;
    }
    counts.failed += store.damaged.size;
    if (counts.failed === 0 && !options.dryRun) {
      await requireSameChain(resources);
      await store.records.update({ resetBlock: (await node.getHead()).number });
    }
    return counts;
  } finally {
    await store.close();
  }
}

/** All intents of a store, oldest first. */
async function* readIntents(store: IntentStore): AsyncGenerator<Intent, void> {
  let after = 0;
  do {
    const { intents, last } = await store.readPage(after, REPAIRED_PER_PAGE);
    yield* intents;
    after = last;
  } while (after > 0);
}
