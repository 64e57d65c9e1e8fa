/** Builds a service's checks from the kinds of its options. */
import { z } from "zod";
import { messageOf, RangemakerError } from "../../errors.ts";
import {
  describePortOwner,
  ListenError,
  reachableUrl,
  requireFreePort,
  SILENT_OWNER,
} from "../../http/listener.ts";
import { tryParseJson } from "../../json.ts";
import { NetworkError, request } from "../../net/http_request.ts";
import { DEV_ACCOUNTS } from "../../protocol/dev_accounts.ts";
import type { Address } from "../../protocol/scalars.ts";
import { KeystoreError } from "../keystore.ts";
import { readMarkets } from "../markets_file.ts";
import * as kinds from "../option_kinds.ts";
import { VARIABLE_PREFIX } from "../option_names.ts";
import {
  optionLabel,
  type OptionSpec,
  type OptionTable,
  type ParsedOptions,
  UsageError,
} from "../options.ts";
import {
  type ProcessPermission,
  type RequiredPermissions,
  requiredPermissions,
} from "../permissions.ts";
import { configOption, loggingOptions } from "../shared_options.ts";
import { problemsOfStart, readinessAt } from "../start_check.ts";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  failure,
  passed,
  type ServiceCheck,
  type ServiceChecks,
  warning,
} from "./check.ts";

/** All checks of a service: by the kinds of its options, its own ones, and a start. */
export function createChecks(
  target: ServiceChecks,
  { values, errors }: ParsedOptions<ServiceChecks["options"]>,
  settings: Omit<CheckContext, "signer">,
): ServiceCheck[] {
  const { service, options, start, checkStore } = target;
  const withRole = <S extends z.core.$ZodType>({ role }: kinds.OptionKind<S>) =>
    Object.entries(options)
      .filter(([key, option]) => option.kind.role === role && values[key] !== undefined)
      // The schemas of kinds with one role have one type.
      .map(([key, option]) => ({ key, option, value: values[key] as z.output<S> }));
  let opened: Promise<{ address: Address }> | undefined;
  const openSigner = async () =>
    await target.openSigner?.(values) ?? Promise.reject(new UsageError("Missing key"));
  // Opened once for all checks: opening a keystore is slow on purpose.
  const context = { ...settings, signer: () => opened ??= openSigner() };
  const optionErrors = [...errors].map(([key, { message }]) => {
    const label = optionLabel(options[key] ?? configOption);
    const outcome = failure(message, `Correct ${label}; see rangemaker ${service} --help`);
    return { subject: "option", run: () => outcome };
  });
  const checks: Check[] = [
    ...optionErrors,
    {
      subject: "permissions",
      run: () => checkPermissions(options, values, target.permissions?.(values)),
    },
    ...Object.entries(options).filter(([key, { kind }]) => kind.role === "key" && key in values)
      .map(([, option]) => ({
        subject: "key",
        blocksEventLoop: true,
        run: () => checkKey(context.signer, option),
      })),
    ...withRole(kinds.marketsFile).map(({ option, value }) => ({
      subject: "markets",
      run: () => checkMarkets(value, option),
    })),
    ...withRole(kinds.serviceUrl).map(({ key, option, value }) => ({
      subject: spacedWords(key.replace(/Url$/, "")),
      run: () => checkService(value, option, context),
    })),
    ...withRole(kinds.database).flatMap(({ option, value }) =>
      checkStore === undefined
        ? []
        : [{ subject: "store", run: () => checkStore(value, option, context) }]
    ),
    ...withRole(kinds.host).flatMap(({ value: host }) =>
      withRole(kinds.port).map(({ key, option, value: port }) => ({
        subject: spacedWords(key),
        ...(port !== 0 && { exclusiveResource: `${host}:${port}` }),
        run: () => checkPort({ service, host, port, option }, context),
      }))
    ),
  ];
  // These need all options.
  if (errors.size === 0) {
    checks.push(...target.customChecks?.(values, context) ?? []);
    if (start !== undefined) {
      const run = () => checkStart({ service, options, start }, values, context);
      checks.push({ subject: "start", run });
    }
  }
  return checks.map((each) => ({ ...each, service }));
}

const PERMISSIONS = ["net", "read", "write", "env"] as const satisfies ProcessPermission[];

/** Checks that this process has the permissions that a service with these options needs. */
export function checkPermissions(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  more: RequiredPermissions = {},
): CheckOutcome {
  const host = typeof values.host === "string" ? values.host : undefined;
  const env = Object.values({ ...table, ...loggingOptions })
    .flatMap(({ env }: OptionSpec) => env === undefined ? [] : [env]);
  const required = [
    { env: [`${VARIABLE_PREFIX}*`, ...env] },
    ...Object.entries(table).map(([key, { kind: { access } }]) =>
      requiredPermissions(access, values[key], host)
    ),
    more,
  ];
  const all = (permission: ProcessPermission) => [
    ...new Set(required.flatMap((each) => each[permission] ?? [])),
  ];
  const missing = PERMISSIONS.flatMap((permission) => {
    const names = all(permission).filter((name) => !isGranted(permission, name));
    return names.length === 0 ? [] : [`--allow-${permission}=${names.join(",")}`];
  });
  if (missing.length > 0) {
    return failure("This process lacks permissions", `Start it with ${missing.join(" ")}`);
  }
  const files = [...new Set([...all("read"), ...all("write")])];
  const granted = [
    ...(all("net").length > 0 ? [`net ${all("net").join(", ")}`] : []),
    ...(files.length > 0 ? [`files ${files.join(", ")}`] : []),
    `${all("env").length} variables`,
  ];
  return passed(`Granted: ${granted.join("; ")}`);
}

function isGranted(permission: ProcessPermission, name: string): boolean {
  return Deno.permissions.querySync(descriptorOf(permission, name)).state === "granted";
}

function descriptorOf(permission: ProcessPermission, name: string): Deno.PermissionDescriptor {
  if (permission === "net") return { name: permission, host: name };
  if (permission === "env") return { name: permission, variable: name };
  return { name: permission, path: name };
}

async function checkMarkets(path: string, option: OptionSpec): Promise<CheckOutcome> {
  try {
    const { symbols } = await readMarkets(path);
    return passed(`${path} has ${symbols.length}: ${symbols.join(", ")}`);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    return failure(thrown.message, `Fix the file, or use another one: ${optionLabel(option)}`);
  }
}

/** `readPort` as `read port`. */
function spacedWords(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Checks that the service's key opens and is not publicly known. Only its address is shown. */
async function checkKey(signer: CheckContext["signer"], option: OptionSpec): Promise<CheckOutcome> {
  let address: Address;
  try {
    ({ address } = await signer());
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    const remedy = thrown instanceof KeystoreError
      ? "Fix the keystore or its password file"
      : `Give one key: ${optionLabel(option)}, or --keystore with --keystore-password-file`;
    return failure(thrown.message, remedy);
  }
  const known = Object.entries(DEV_ACCOUNTS).find(([, account]) => account.address === address);
  if (known === undefined) return passed(`Signs as ${address}`);
  return warning(
    `Signs as ${address}, the development account ${known[0]}: its key is publicly known`,
    "Use a key of your own wherever money is real",
  );
}

/** Any answer will do: only its use shows whether the service does its work. */
async function checkService(
  url: string,
  option: OptionSpec,
  { timeoutMs }: CheckContext,
): Promise<CheckOutcome> {
  try {
    const { status } = await request(url, { timeoutMs });
    return passed(`${url} answers HTTP, a GET with status ${status}`);
  } catch (thrown) {
    if (!(thrown instanceof NetworkError)) throw thrown;
    if (thrown.cause instanceof Deno.errors.NotCapable) throw thrown.cause;
    const remedy = `Start that service, or correct its URL: ${optionLabel(option)}`;
    return failure(thrown.message, remedy);
  }
}

interface PortTarget {
  service: string;
  host: string;
  port: number;
  option: OptionSpec;
}

/** Checks that the port is free or, if the service should run, that it is ready there. */
function checkPort(
  target: PortTarget,
  context: CheckContext,
): CheckOutcome | Promise<CheckOutcome> {
  const { service, host, port, option } = target;
  try {
    requireFreePort(host, port);
    if (port === 0) return passed(`A free port of ${host}`);
    if (!context.mustRun) return passed(`${host}:${port} is free`);
    return failure(
      `${host}:${port} is free: ${service} does not run`,
      "Start it, and read its log",
    );
  } catch (thrown) {
    if (!(thrown instanceof ListenError)) throw thrown;
    if (thrown.isTaken) return checkTakenPort(target, context);
    const { cause } = thrown;
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    const remedy = cause instanceof Deno.errors.PermissionDenied
      ? `Use a port of 1024 or more: ${optionLabel(option)}`
      : "Use an address of this machine: --host or RANGEMAKER_HOST";
    return failure(`${host}:${port} cannot be listened on: ${messageOf(cause)}`, remedy);
  }
}

async function checkTakenPort(
  { service, host, port, option }: PortTarget,
  { timeoutMs, signer }: CheckContext,
): Promise<CheckOutcome> {
  const remedy = `Stop it (ss -ltnp shows it), or use another port: ${optionLabel(option)}`;
  const owner = await describePortOwner(host, port, timeoutMs);
  if (owner === SILENT_OWNER) {
    return failure(
      `${host}:${port} is used by ${owner}`,
      "Try again with a longer --timeout-ms: this machine is busy, or what listens there hangs",
    );
  }
  // The node's other port is that of a read-node.
  if (!owner.endsWith(service)) return failure(`${host}:${port} is used by ${owner}`, remedy);
  const url = reachableUrl(host, port);
  // A service that signs says as whom, under its own name.
  const { text: health } = await request(`${url}/health`, { timeoutMs });
  const { [service]: account } = z.record(z.string(), z.unknown()).safeParse(tryParseJson(health))
    .data ?? {};
  // Without a key, it may be the same account; the check of the key fails.
  const signsAs = typeof account === "string" ? await signer().catch(() => undefined) : undefined;
  if (signsAs !== undefined && signsAs.address !== account) {
    return failure(`${host}:${port} is used by another ${service}, of ${account}`, remedy);
  }
  const { problems } = await readinessAt(url, timeoutMs);
  const text = `${host}:${port} is used by this service, which is running`;
  if (problems.length === 0) return passed(`${text} and ready`);
  return failure(`${text} and not ready: ${problems.join("; ")}`, `See ${url}/ready and its log`);
}

/** Starts the service as `--check` does. */
async function checkStart(
  { service, options: table, start }: Required<
    Pick<ServiceChecks, "service" | "options" | "start">
  >,
  values: Readonly<Record<string, unknown>>,
  { clock, timeoutMs, signer }: CheckContext,
): Promise<CheckOutcome> {
  if (Deno.permissions.querySync({ name: "net", host: "127.0.0.1" }).state !== "granted") {
    const text = "Not tried: this process may not listen on a free port of 127.0.0.1";
    return warning(text, "Start the doctor with --allow-net=127.0.0.1 too");
  }
  try {
    // A keystore that is open already: opening it again would block the other checks.
    const key = values.keystore === undefined
      ? {}
      : { privateKey: await signer(), keystore: undefined, keystorePasswordFile: undefined };
    const options = { ...values, ...key };
    const problems = await problemsOfStart({ table, options, start, clock, timeoutMs });
    if (problems.length === 0) return passed("It starts and gets ready");
    return failure(problems.join("; "), `Fix that, and try again: rangemaker ${service} --check`);
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    return failure(messageOf(thrown), `Correct that option; see rangemaker ${service} --help`);
  }
}
