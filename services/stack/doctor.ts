/** `rangemaker doctor`: tries what services are configured to use, and prints fixes. */
import {
  type CommandContext,
  type CommandEntry,
  ExitCode,
  loadCommand,
  reportErrors,
  type RunnableCommand,
  withTaskNames,
} from "../../lib/cli/command.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import {
  type Environment,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  UsageError,
} from "../../lib/cli/options.ts";
import { optionsFor, requireKnownVariables } from "../../lib/cli/option_names.ts";
import { type CheckOutcome, failure, type ServiceChecks } from "../../lib/cli/service_checks.ts";
import { keystoreOptions } from "../../lib/cli/key_options.ts";
import { configOption, loggingOptions } from "../../lib/cli/shared_options.ts";
import { configureLogging } from "../../lib/log/logging.ts";
import { redact } from "../../lib/redact.ts";
import { type CheckResult, checkService } from "./check_service.ts";

/** Services that can be checked, in the order of the report. Each is loaded on demand. */
const TARGETS: Readonly<Record<string, () => Promise<{ checks: ServiceChecks }>>> = {
  solver: () => import("../solver/doctor_checks.ts"),
  bridge: () => import("../bridge/doctor_checks.ts"),
  proxy: () => import("../proxy/doctor_checks.ts"),
  oracle: () => import("../oracle/doctor_checks.ts"),
  node: () => import("../node/doctor_checks.ts"),
  backfill: () => import("../backfill/doctor_checks.ts"),
};

export const doctorOptions = optionsFor("doctor", {
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

const subcommands = Object.fromEntries(
  Object.entries(TARGETS).map(([service, load]): [string, CommandEntry] => [service, {
    summary: `checks what ${service} is configured to use`,
    load: async () => ({ run: createDoctor((await load()).checks) }),
  }]),
);

const definition = {
  name: "doctor",
  description:
    "Tries the keys, permissions, stores and URLs that services are configured to use, starts each " +
    "for a moment without its store, and says how to fix failures. It changes nothing and shows no " +
    "secret. Without a service, it checks all services that need no key, and those whose key the " +
    "environment sets. With a service, it also accepts the options of that service. The exit code " +
    "is 1 if anything failed, else 0.",
  examples: [
    ["rangemaker doctor", "every service that the environment configures"],
    [
      "rangemaker doctor bridge --database data/bridge.sqlite",
      "one, with the options that it is started with",
    ],
  ],
  subcommands,
  options: doctorOptions,
} satisfies RunnableCommand["definition"];

export const run: RunnableCommand = Object.assign(
  (argv: readonly string[], context: CommandContext): Promise<number> =>
    reportErrors(definition.name, context, async () => {
      const [first = "-", ...rest] = argv;
      if (!first.startsWith("-")) {
        return await (await loadCommand(subcommands, first))(rest, context);
      }
      const { env, columns } = context;
      const settings = parseOptions(definition, doctorOptions, argv, readable(env), columns);
      const reports: Report[] = [];
      for (const load of Object.values(TARGETS)) {
        const report = createReport((await load()).checks, argv, context);
        if (report !== undefined) reports.push(report);
      }
      return await printReports(reports, settings, context);
    }),
  { definition, subcommands },
);

/** The doctor of one service, which accepts its options too. */
function createDoctor(target: ServiceChecks): RunnableCommand {
  const definition = createDefinition(target);
  const run = (argv: readonly string[], context: CommandContext) =>
    reportErrors(definition.name, context, async () => {
      const { env, columns, clock } = context;
      const options = parseOptions(definition, definition.options, argv, readable(env), columns);
      const results = checkService(target, options, { ...options, clock });
      return await printReports([{ service: target.service, results }], options, context);
    });
  return Object.assign(run, { definition, subcommands: {} });
}

function createDefinition({ service, options }: ServiceChecks) {
  return {
    name: `doctor ${service}`,
    target: service,
    description: `Tries everything that ${service} is configured to use, and says how to fix ` +
      `failures. Accepts the options of ${service} and of the doctor.`,
    options: { ...options, ...doctorOptions },
    examples: [[
      `rangemaker doctor ${service}`,
      `as configured by the environment; add the options that ${service} is started with`,
    ]],
  } satisfies RunnableCommand["definition"];
}

/** The checks of one service. They run as their results are asked for. */
interface Report {
  service: string;
  results: AsyncIterable<CheckResult> | Iterable<CheckResult>;
}

/** The checks of a service as environment and settings file configure it; undefined without a key. */
function createReport(
  target: ServiceChecks,
  argv: readonly string[],
  { clock, env }: CommandContext,
): Report | undefined {
  const { service } = target;
  const definition = createDefinition(target);
  try {
    const options = parseOptions(definition, definition.options, argv, readable(env));
    if (target.openSigner !== undefined && !hasKey(options)) return undefined;
    return { service, results: checkService(target, options, { ...options, clock }) };
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    const outcome = failure(thrown.message, `Correct it; see rangemaker ${service} --help`);
    return { service, results: [{ subject: "option", ...outcome }] };
  }
}

function hasKey(options: OptionsOf<OptionTable>): boolean {
  const keys = ["privateKey", ...Object.keys(keystoreOptions), "signerUrl"];
  return keys.some((key) => options[key] !== undefined);
}

/** Treats variables without read permission as unset: the check of the permissions reports them. */
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

const COLORS: Readonly<Record<CheckOutcome["level"], number>> = { ok: 32, warn: 33, fail: 31 };

/** Length of the longest subject. */
const SUBJECT_WIDTH = "permissions".length;

/** Prints one line for each result, and one with its fix. @returns The exit code. */
async function printReports(
  reports: readonly Report[],
  { jsonLogs, logLevel }: DoctorOptions,
  context: CommandContext,
): Promise<number> {
  const { variables, print, progress, color, printsColor } = context;
  requireKnownVariables(variables(), definition, doctorOptions);
  await configureLogging({ jsonLogs, logLevel, color });
  const width = Math.max(...reports.map(({ service }) => service.length));
  let failed = 0;
  for (const { service, results } of reports) {
    progress(`Checking ${service} …`);
    for await (const { subject, level, text, remedy } of results) {
      progress("");
      const word = level.padEnd(4);
      const shown = printsColor ? `\x1b[${COLORS[level]}m${word}\x1b[0m` : word;
      const where = `${service.padEnd(width)}  ${subject.padEnd(SUBJECT_WIDTH)}`;
      print(`${shown}  ${where}  ${redact(text)}`);
      if (remedy !== undefined) print(`      fix: ${withTaskNames(redact(remedy), context)}`);
      if (level === "fail") failed += 1;
      progress(`Checking ${service} …`);
    }
  }
  progress("");
  print(failed === 0 ? "Nothing failed" : `${failed} failed`);
  return failed === 0 ? ExitCode.ok : ExitCode.failed;
}
