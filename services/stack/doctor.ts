/** `rangemaker doctor`: tries what services are configured to use, and prints fixes. */
import type { ServiceCheck, ServiceChecks } from "../../lib/cli/checks/check.ts";
import { createChecks } from "../../lib/cli/checks/create_checks.ts";
import {
  resultLines,
  resultsAsJson,
  resultSummary,
  runChecks,
} from "../../lib/cli/checks/runner.ts";
import {
  type CommandContext,
  type CommandEntry,
  ExitCode,
  reportErrors,
  type RunnableCommand,
  unknownCommand,
} from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import {
  type CommandText,
  type Environment,
  type OptionsOf,
  type OptionTable,
  parseAllOptions,
  type ParsedOptions,
  UsageError,
} from "../../lib/cli/options.ts";
import { configOption, keystoreOptions, loggingOptions } from "../../lib/cli/shared_options.ts";
import { optionsFor, requireKnownVariables } from "../../lib/cli/option_names.ts";
import { configureLogging } from "../../lib/log/logging.ts";

/** A check is abandoned this long after its timeout: a service needs up to 3 s to stop. */
const GRACE_MS = 5_000;

/** Services that can be checked, in the order of the report. Each is loaded on demand. */
const doctorTargets: Readonly<Record<string, () => Promise<{ checks: ServiceChecks }>>> = {
  solver: () => import("../solver/doctor_checks.ts"),
  bridge: () => import("../bridge/doctor_checks.ts"),
  proxy: () => import("../proxy/doctor_checks.ts"),
  oracle: () => import("../oracle/doctor_checks.ts"),
  node: () => import("../node/doctor_checks.ts"),
  backfill: () => import("../backfill/doctor_checks.ts"),
};

export const doctorOptions = optionsFor("doctor", {
  json: {
    kind: kinds.flag,
    description: "print one JSON document instead of lines",
    default: "false",
  },
  running: {
    kind: kinds.flag,
    description: "fail where a service does not run: after a start",
    default: "false",
  },
  timeoutMs: {
    kind: kinds.duration(100, 600_000),
    description: "timeout of each check",
    default: "10000",
  },
  config: configOption,
  ...loggingOptions,
  // The checks report problems themselves.
  logLevel: { ...loggingOptions.logLevel, default: "error" },
});

type DoctorOptions = OptionsOf<typeof doctorOptions>;
type Parsed = ParsedOptions<OptionTable>;

const text: CommandText = {
  name: "doctor",
  description:
    "Tries the keys, permissions, stores, files, ports and URLs that services are configured to use, " +
    "starts each for a moment without its store, and says how to fix failures. It changes " +
    "nothing and shows no secret. Without a service, it checks all services that need no key, and " +
    "those whose key the environment sets. With one service, it also accepts the options of that " +
    "service. The exit code is 1 if anything failed, else 0.",
  operands: "[service...]",
  examples: [
    ["rangemaker doctor", "every service that the environment configures"],
    ["rangemaker doctor solver bridge", "two of them"],
    [
      "rangemaker doctor bridge --port 3001 --database data/bridge.sqlite",
      "one, with the options that it is started with",
    ],
    ["rangemaker doctor --running", "after a start: a service that does not run is a failure"],
    ["rangemaker doctor oracle --json", "for a program"],
  ],
};

const subcommands = Object.fromEntries(
  Object.keys(doctorTargets).map((service): [string, CommandEntry] => [service, {
    summary: `checks what ${service} is configured to use`,
    load: async () => ({ run: doctorFor(await load(service)) }),
  }]),
);

const definition = { ...text, subcommands, options: doctorOptions };

export const run: RunnableCommand = Object.assign(
  (argv: readonly string[], context: CommandContext): Promise<number> => {
    // Names of services precede all options.
    const flagsAt = argv.findIndex((word) => word.startsWith("-"));
    const services = argv.slice(0, flagsAt < 0 ? argv.length : flagsAt);
    return reportErrors(text.name, context, async () => {
      const flags = argv.slice(services.length);
      const [before, last = ""] = flags.slice(-2);
      if (Object.hasOwn(doctorTargets, last) && before !== "--config") {
        throw new UsageError(`Unexpected argument '${last}': name services before options`);
      }
      const names = services.length > 0 ? [...new Set(services)] : Object.keys(doctorTargets);
      const targets = await Promise.all(names.map(load));
      const [first] = targets;
      if (names.length === 1 && first) return await doctorFor(first)(flags, context);
      return await runDoctor(targets, definition, flags, context, services.length > 0);
    });
  },
  { definition, subcommands },
);

/** Whether a service has a key, or options that specify one; true if it needs none. */
function hasKey({ options }: ServiceChecks, { values, errors }: Parsed): boolean {
  const [key] = Object.entries(options).find(([, { kind }]) => kind.role === "key") ?? [];
  const isGiven = (name: string) => values[name] !== undefined || errors.has(name);
  return key === undefined || [key, ...Object.keys(keystoreOptions), "signerUrl"].some(isGiven);
}

async function load(service: string): Promise<ServiceChecks> {
  const target = Object.hasOwn(doctorTargets, service) ? doctorTargets[service] : undefined;
  if (target === undefined) throw unknownCommand(service, Object.keys(doctorTargets));
  return (await target()).checks;
}

function doctorFor(target: ServiceChecks): RunnableCommand {
  const { service, options } = target;
  const definition = {
    name: `doctor ${service}`,
    target: service,
    description: `Tries everything that ${service} is configured to use, and says how to fix ` +
      `failures. Accepts the options of ${service} and of the doctor.`,
    options: { ...options, ...doctorOptions },
    examples: [[
      `rangemaker doctor ${service}`,
      `as configured by the environment; add the options that ${service} is started with`,
    ]] as const,
  };
  const run = (argv: readonly string[], context: CommandContext) =>
    reportErrors(definition.name, context, () => runDoctor([target], definition, argv, context));
  return Object.assign(run, { definition, subcommands: {} });
}

/**
 * Parses the options, then runs the checks of all targets that have a key or need none.
 *
 * @param isNamed The user has named the targets, so they are also checked without a key.
 * @returns The exit code.
 */
async function runDoctor(
  targets: readonly ServiceChecks[],
  definition: RunnableCommand["definition"],
  argv: readonly string[],
  context: CommandContext,
  isNamed = true,
): Promise<number> {
  const env = readable(context.env);
  const parsed = parseAllOptions(definition, definition.options, argv, env);
  for (const key of Object.keys(doctorOptions)) {
    const error = parsed.errors.get(key);
    if (error !== undefined) throw error;
  }
  requireKnownVariables(context.variables(), { ...text, subcommands }, doctorOptions);
  // Both definitions contain the doctor's own options, which have just been checked.
  const settings = parsed.values as unknown as DoctorOptions;
  const file = settings.config === undefined ? [] : ["--config", settings.config];
  const checks = targets.flatMap((target) => {
    // With several services, their options come from environment and file, not the command line.
    const options = targets.length === 1 ? parsed : parseAllOptions(
      { ...text, target: target.service },
      { ...target.options, config: configOption },
      file,
      env,
    );
    if (!isNamed && !hasKey(target, options)) return [];
    const { timeoutMs, running: mustRun } = settings;
    return createChecks(target, options, { clock: context.clock, timeoutMs, mustRun });
  });
  return await runAndReport(checks, settings, context);
}

/** Treats variables without read permission as unset: the permissions check reports them. */
function readable(env: Environment): Environment {
  return (name) => {
    try {
      return env(name);
    } catch (thrown) {
      if (thrown instanceof Deno.errors.NotCapable) return undefined;
      throw thrown;
    }
  };
}

/** Runs checks and prints their results. @returns The exit code. */
async function runAndReport(
  checks: readonly ServiceCheck[],
  { json, timeoutMs, jsonLogs, logLevel }: DoctorOptions,
  { clock, print, progress, color, printsColor }: CommandContext,
): Promise<number> {
  await configureLogging({ jsonLogs, logLevel, color });
  const widthOf = (key: "service" | "subject") =>
    Math.max(...checks.map((check) => check[key].length));
  const widths = { service: widthOf("service"), subject: widthOf("subject") };
  const results = await runChecks(checks, {
    clock,
    deadlineMs: timeoutMs + GRACE_MS,
    onResult(result) {
      if (!json) resultLines(result, widths, printsColor).forEach(print);
    },
    onWaiting(waiting) {
      const names = waiting.map(({ service, subject }) => `${service} ${subject}`).join(", ");
      progress(waiting.length === 0 ? "" : `Waiting for ${waiting.length}: ${names}`);
    },
  });
  print(json ? resultsAsJson(results) : resultSummary(results));
  return results.some(({ level }) => level === "fail") ? ExitCode.failed : ExitCode.ok;
}
