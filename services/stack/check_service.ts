/** Checks one service for the doctor: by the kinds of its options, its own checks, and a start. */
import { optionLabel, type OptionsOf, type OptionTable } from "../../lib/cli/options.ts";
import { VARIABLE_PREFIX } from "../../lib/cli/option_names.ts";
import {
  type ProcessPermission,
  type RequiredPermissions,
  requiredPermissions,
} from "../../lib/cli/permissions.ts";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  failure,
  passed,
  type ServiceChecks,
  warning,
} from "../../lib/cli/service_checks.ts";
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { checkStart } from "../../lib/cli/start_check.ts";
import { messageOf } from "../../lib/errors.ts";
import { request } from "../../lib/net/http_request.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import type { Address } from "../../lib/protocol/scalars.ts";

export interface CheckResult extends CheckOutcome {
  subject: string;
}

type Options = OptionsOf<OptionTable>;

/**
 * Checks a service with valid options. Without a permission or its key it ends there: all else
 * would fail for the same reason.
 */
export async function* checkService(
  target: ServiceChecks,
  options: Options,
  { clock, timeoutMs }: Omit<CheckContext, "address">,
): AsyncGenerator<CheckResult> {
  const { service, options: table } = target;
  const granted = checkPermissions(table, options, target.permissions?.(options));
  yield { subject: "permissions", ...granted };
  if (granted.level === "fail") return;
  let address: Address | undefined;
  // Opened alone: opening a keystore blocks everything else.
  if (target.openSigner !== undefined) {
    try {
      ({ address } = await target.openSigner(options));
    } catch (thrown) {
      const remedy = `Correct its options; see rangemaker ${service} --help`;
      return yield { subject: "key", ...failure(messageOf(thrown), remedy) };
    }
    yield { subject: "key", ...keyOutcome(address) };
  }
  const context = { clock, timeoutMs, address };
  const checks = [
    ...urlChecks(table, options, timeoutMs),
    ...target.customChecks?.(options, context) ?? [],
    ...startChecks(target, options, context),
  ];
  const running = checks.map(async ({ subject, remedy, run }) => {
    try {
      return { subject, ...await run() };
    } catch (thrown) {
      return { subject, ...failure(messageOf(thrown), remedy) };
    }
  });
  const reported: string[] = [];
  for (const each of running) {
    const result = await each;
    // A start fails for reasons that a line above it has already.
    const news = result.text.split("; ").filter((part) =>
      result.subject !== "start" || !reported.some((text) => text.endsWith(part))
    );
    reported.push(result.text);
    yield { ...result, text: news.join("; ") || "For the reasons above" };
  }
}

const PERMISSIONS = ["net", "read", "write", "env"] as const satisfies ProcessPermission[];

/** Checks that this process has the permissions that a service with these options needs. */
export function checkPermissions(
  table: OptionTable,
  options: Options,
  more: RequiredPermissions = {},
): CheckOutcome {
  const host = typeof options.host === "string" ? options.host : undefined;
  const env = Object.values({ ...table, ...loggingOptions })
    .flatMap(({ env }: OptionTable[string]) => env === undefined ? [] : [env]);
  const required = [
    { env: [`${VARIABLE_PREFIX}*`, ...env] },
    ...Object.entries(table).map(([key, { kind }]) =>
      requiredPermissions(kind.access, options[key], host)
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
  return passed(`Granted: net ${all("net").join(", ")}; files ${files.join(", ") || "none"}`);
}

function isGranted(permission: ProcessPermission, name: string): boolean {
  return Deno.permissions.querySync(descriptorOf(permission, name)).state === "granted";
}

function descriptorOf(permission: ProcessPermission, name: string): Deno.PermissionDescriptor {
  if (permission === "net") return { name: permission, host: name };
  if (permission === "env") return { name: permission, variable: name };
  return { name: permission, path: name };
}

/** Only the key's address is shown. */
function keyOutcome(address: Address): CheckOutcome {
  const known = Object.entries(DEV_ACCOUNTS).find(([, account]) => account.address === address);
  if (known === undefined) return passed(`Signs as ${address}`);
  return warning(
    `Signs as ${address}, the development account ${known[0]}: its key is publicly known`,
    "Use a key of your own wherever money is real",
  );
}

/** Any answer will do: only its use shows whether the service at a URL does its work. */
function urlChecks(table: OptionTable, options: Options, timeoutMs: number): Check[] {
  return Object.entries(table).flatMap(([key, option]) => {
    const url = options[key];
    if (option.kind.role !== "service" || typeof url !== "string") return [];
    return [{
      subject: key.replace(/Url$/, ""),
      remedy: `Start that service, or correct its URL: ${optionLabel(option)}`,
      async run() {
        const { status } = await request(url, { timeoutMs });
        return passed(`${url} answers HTTP, a GET with status ${status}`);
      },
    }];
  });
}

/** Starts the service as `--check` does. */
function startChecks(
  { options: table, start }: ServiceChecks,
  options: Options,
  { clock, timeoutMs }: CheckContext,
): Check[] {
  if (start === undefined) return [];
  const remedy = "Remove the cause, and run the doctor again";
  return [{
    subject: "start",
    remedy,
    async run() {
      const problems = await checkStart({ table, options, start, clock, timeoutMs });
      if (problems.length > 0) return failure(problems.join("; "), remedy);
      return passed("It starts and gets ready");
    },
  }];
}
