/** Builds a service's checks from the kinds of its options. */
import type { z } from "zod";
import { messageOf, RangemakerError } from "../../errors.ts";
import { DEV_ACCOUNTS } from "../../protocol/dev_accounts.ts";
import type { Address } from "../../protocol/scalars.ts";
import { inspectStore } from "../../intents/open_store.ts";
import { StoreError } from "../../intents/intent.ts";
import { KeystoreError } from "../keystore.ts";
import { readMarkets } from "../markets_file.ts";
import * as kinds from "../option_kinds.ts";
import { optionLabel, type OptionSpec, type ParsedOptions, UsageError } from "../options.ts";
import {
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionalCheck,
  type ServiceCheck,
  type ServiceChecks,
  warn,
} from "./check.ts";
import { checkNode, checkNodeClock, checkWebSocket, checkWrites } from "./node.ts";
import { checkPermissions } from "./permissions.ts";
import { portCheck } from "./port.ts";

/** An intent that is unfinished for longer will not finish without help. */
const STUCK_AFTER_MS = 300_000;

/** All checks of a service: one per option, by the option's kind, and the service's own checks. */
export function buildChecks(
  target: ServiceChecks,
  { values: parsed, errors }: ParsedOptions<ServiceChecks["options"]>,
  { clock, timeoutMs }: Omit<CheckContext, "signer">,
): ServiceCheck[] {
  const { service, options, health } = target;
  const values = target.resolve?.(parsed) ?? parsed;
  const withRole = <S extends z.core.$ZodType>({ role }: kinds.OptionKind<S>) =>
    Object.entries(options)
      .filter(([key, option]) => option.kind.role === role && values[key] !== undefined)
      // The schemas of kinds with one role have one type.
      .map(([key, option]) => ({ key, option, value: values[key] as z.output<S> }));
  let opened: Promise<{ address: Address }> | undefined;
  const openSigner = async () =>
    await target.openSigner?.(values) ?? withRole(kinds.key)[0]?.value ??
      Promise.reject(new UsageError("Missing key"));
  // Opened once for all checks: opening a keystore is slow on purpose.
  const context = { clock, timeoutMs, signer: () => opened ??= openSigner() };
  /** The options that contain URLs: one entry per URL. */
  const urlsOf = (kind: kinds.OptionKind<z.core.$ZodType<string>>) =>
    withRole(kind).flatMap((each) =>
      kinds.itemsOf(each.value).map((value) => ({ ...each, value }))
    );
  const nodes = urlsOf(kinds.nodeUrl);
  const signs = Object.values(options).some(({ kind }) => kind.role === "key");
  const [chain] = withRole(kinds.chainId);
  const [host] = withRole(kinds.host);
  const optionErrors = Object.entries(options).map(([key, option]) =>
    optionalCheck(
      "option",
      errors.get(key),
      ({ message }) =>
        fail(message, `Correct ${optionLabel(option)}; see rangemaker ${service} --help`),
    )
  );
  const permissions = optionalCheck(
    "permissions",
    target.permissions?.(values) ?? {},
    (more) => checkPermissions(options, values, more),
  );
  const keys = Object.entries(options)
    .filter(([key, { kind }]) => kind.role === "key" && key in values)
    .map(([, option]) => ({
      subject: "key",
      blocksEventLoop: true,
      run: () => checkKey(context.signer, option),
    }));
  const markets = withRole(kinds.marketsFile).map(({ option, value }) =>
    optionalCheck("markets", value, (path) => checkMarkets(path, option))
  );
  const nodeAnswers = nodes.map(({ key, option, value }) =>
    optionalCheck(
      nodes.length === 1 ? "node" : spacedWords(key.replace(/Url$/, "")),
      value,
      (url) => checkNode(url, option, context, chain?.value),
    )
  );
  // A service that signs transactions needs the write port of its node, and a clock that agrees with it.
  const writes = (signs ? nodes : []).flatMap(({ option, value }) => [
    optionalCheck("writes", value, (url) => checkWrites(url, option, context)),
    optionalCheck("clock", value, (url) => checkNodeClock(url, context)),
  ]);
  const webSockets = urlsOf(kinds.wsUrl).map(({ option, value }) =>
    optionalCheck("websocket", value, (url) => checkWebSocket(url, option, context))
  );
  const stores = withRole(kinds.database).map(({ option, value }) =>
    optionalCheck("store", value, (database) => checkStore(database, service, option, context))
  );
  const ports = host === undefined || health === undefined ? [] : withRole(kinds.port).map(
    ({ key, option, value: port }) =>
      portCheck(spacedWords(key), { host: host.value, port, option, health }, context),
  );
  const custom = target.customChecks?.(values, context) ?? [];
  return [
    ...optionErrors,
    permissions,
    ...keys,
    ...markets,
    ...nodeAnswers,
    ...writes,
    ...custom,
    ...webSockets,
    ...stores,
    ...ports,
  ].filter((each) => each !== undefined).map((each) => ({ ...each, service }));
}

async function checkMarkets(path: string, option: OptionSpec): Promise<Finding> {
  try {
    const { symbols } = await readMarkets(path);
    return ok(`${path} has ${symbols.length}: ${symbols.join(", ")}`);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    return fail(thrown.message, `Fix the file, or use another one: ${optionLabel(option)}`);
  }
}

/** `readPort` as `read port`. */
function spacedWords(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Checks that the service's key opens and is not publicly known. Only its address is shown. */
async function checkKey(signer: CheckContext["signer"], option: OptionSpec): Promise<Finding> {
  let address: Address;
  try {
    ({ address } = await signer());
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    const remedy = thrown instanceof KeystoreError
      ? "Fix the keystore or its password file"
      : `Give one key: ${optionLabel(option)}, or --keystore with --keystore-password-file`;
    return fail(thrown.message, remedy);
  }
  const known = Object.entries(DEV_ACCOUNTS).find(([, account]) => account.address === address);
  if (known === undefined) return ok(`Signs as ${address}`);
  return warn(
    `Signs as ${address}, the development account ${known[0]}: its key is publicly known`,
    "Use a key of your own wherever money is real",
  );
}

/** Checks that the service's database opens, and that no intent in it is stuck. */
async function checkStore(
  database: string,
  service: string,
  option: OptionSpec,
  { clock, timeoutMs }: CheckContext,
): Promise<Finding> {
  try {
    const stuckBeforeMs = clock.now() - STUCK_AFTER_MS;
    const found = await inspectStore(database, service, stuckBeforeMs, timeoutMs);
    if (found === "memory") {
      return warn(
        `${database} is lost with the process, and so is unfinished work`,
        `Use a file: ${optionLabel(option)}`,
      );
    }
    if (found === "new") return ok(`${database} is empty: the first start creates its tables`);
    const { version, latestVersion, unfinished, stuck } = found;
    const text = `${database} has version ${version} of ${latestVersion}, ${unfinished} ` +
      `unfinished intents, ${stuck} of them for over ${STUCK_AFTER_MS / 60_000} minutes`;
    if (stuck === 0) return ok(text);
    return warn(
      text,
      "Start the service, which retries them, and see its log for why they do not finish",
    );
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    return fail(messageOf(thrown), `Fix it, or use another database: ${optionLabel(option)}`);
  }
}
