/** `rangemaker doctor`: tries everything that services are told to use, and says what to mend. */
import { fail, optionLabel } from "../../lib/cli/checks/check.ts";
import { jsonOf, linesOf, summaryOf } from "../../lib/cli/checks/report.ts";
import { runChecks, type ServiceCheck } from "../../lib/cli/checks/runner.ts";
import { systemClock } from "../../lib/clock.ts";
import {
  type CommandContext,
  type CommandEntry,
  ExitCode,
  type RunnableCommand,
  told,
} from "../../lib/cli/command.ts";
import { configureLogging, loggingOptions } from "../../lib/http/logging.ts";
import { integerSchema, switchSchema } from "../../lib/cli/option_types.ts";
import {
  type CommandText,
  type Environment,
  type OptionReading,
  type OptionsOf,
  type OptionTable,
  parseOptions,
  readOptions,
} from "../../lib/cli/options.ts";
import { unknownCommand } from "../../lib/cli/unknown_command.ts";
import { doctorTargets, type Patient } from "./patients.ts";

/** A check that does not end by itself in its time is left behind this much later. */
const GRACE_MS = 500;

/** Options of the doctor itself, whatever it looks at. */
export const doctorOptions = {
  json: {
    flags: "--json",
    description: "print one JSON document instead of lines",
    schema: switchSchema,
    default: "false",
  },
  timeoutMs: {
    flags: "--timeout-ms <ms>",
    description: "how long each check may take",
    schema: integerSchema(100, 600_000),
    default: "10000",
  },
  ...loggingOptions,
  // What goes wrong is what the checks are about.
  logLevel: { ...loggingOptions.logLevel, default: "error" },
} satisfies OptionTable;

type DoctorOptions = OptionsOf<typeof doctorOptions>;

const text: CommandText = {
  name: "doctor",
  description:
    "Tries every URL, key, permission, store, file and port that services are told to use, and " +
    "says what to mend. Nothing is changed, and no secret is shown. Without a service it looks at " +
    "all, as the environment sets them; with one, it also takes that service's own options. Exit " +
    "code 0 if nothing failed, 1 if something did.",
  operands: "[service...]",
  examples: [
    ["rangemaker doctor", "all services, with the options that the environment gives"],
    ["rangemaker doctor solver bridge", "two of them"],
    [
      "rangemaker doctor bridge --port 3001 --database data/bridge.sqlite",
      "one, with the options that it is started with",
    ],
    ["rangemaker doctor oracle --json", "for a program"],
  ],
};

const subcommands = Object.fromEntries(
  Object.entries(doctorTargets).map(([service, load]): [string, CommandEntry] => [service, {
    summary: `what ${service} is told to use`,
    open: async () => ({ run: doctorFor(await load()) }),
  }]),
);

/** The `doctor` subcommand. */
export const run: RunnableCommand = Object.assign(
  (argv: readonly string[], context: CommandContext): Promise<number> => {
    const { words: services, flags } = wordsAndFlags(argv);
    return told(text.name, context, async () => {
      const asked = services.length > 0 ? [...new Set(services)] : Object.keys(doctorTargets);
      const patients = await Promise.all(asked.map(load));
      const [first] = patients;
      if (services.length === 1 && first) return await doctorFor(first)(flags, context);
      const env = readable(context.env);
      const own = parseOptions({ ...text, subcommands }, doctorOptions, flags, env);
      const readings = patients.map((patient) => readOptions(text, patient.options, [], env));
      return await examine(patients, readings, own, context);
    });
  },
  { definition: { ...text, subcommands, options: doctorOptions }, subcommands },
);

/** Services stand before all options. */
function wordsAndFlags(argv: readonly string[]) {
  const flagsAt = argv.findIndex((word) => word.startsWith("-"));
  const count = flagsAt < 0 ? argv.length : flagsAt;
  return { words: argv.slice(0, count), flags: argv.slice(count) };
}

function load(service: string): Promise<Patient> {
  const patient = Object.hasOwn(doctorTargets, service) ? doctorTargets[service] : undefined;
  if (patient === undefined) throw unknownCommand(service, Object.keys(doctorTargets));
  return patient();
}

/** `doctor <service>`: takes the options of the service beside its own. */
function doctorFor(patient: Patient): RunnableCommand {
  const { service } = patient;
  const definition = {
    name: `doctor ${service}`,
    description: `Tries everything that ${service} is told to use, and says what to mend. Takes ` +
      `the options of ${service}, and those of the doctor.`,
    options: { ...patient.options, ...doctorOptions },
    examples: [[
      `rangemaker doctor ${service}`,
      `with the options that the environment gives; add those that ${service} is started with`,
    ]] as const,
  };
  const run = (argv: readonly string[], context: CommandContext) =>
    told(definition.name, context, async () => {
      const reading = readOptions(definition, definition.options, argv, readable(context.env));
      for (const key of Object.keys(doctorOptions)) {
        const problem = reading.problems.get(key);
        if (problem !== undefined) throw problem;
      }
      // The doctor's own options have just been seen to be without a problem.
      const own = reading.values as unknown as DoctorOptions;
      return await examine([patient], [reading], own, context);
    });
  return Object.assign(run, { definition, subcommands: {} });
}

/** A variable that this process may not read counts as not given: the permissions tell of it. */
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

/** @param readings What came of reading the options of each patient. */
async function examine(
  patients: readonly Patient[],
  readings: readonly OptionReading<OptionTable>[],
  { json, timeoutMs, jsonLogs, logLevel }: DoctorOptions,
  { print, progress, color, printsColor }: CommandContext,
): Promise<number> {
  await configureLogging({ jsonLogs, logLevel, color });
  const checks = patients.flatMap((patient, index) => checksOf(patient, readings[index]!, timeoutMs) // there is one for each
  );
  const widthOf = (key: "service" | "subject") =>
    Math.max(...checks.map((check) => check[key].length));
  const widths = { service: widthOf("service"), subject: widthOf("subject") };
  const results = await runChecks(checks, {
    clock: systemClock,
    deadlineMs: timeoutMs + GRACE_MS,
    onResult(result) {
      if (!json) linesOf(result, widths, printsColor).forEach(print);
    },
    onWaiting(waiting) {
      const names = waiting.map(({ service, subject }) => `${service} ${subject}`).join(", ");
      progress(waiting.length === 0 ? "" : `Waiting for ${waiting.length}: ${names}`);
    },
  });
  print(json ? jsonOf(results) : summaryOf(results));
  return results.some(({ level }) => level === "fail") ? ExitCode.failed : ExitCode.ok;
}

function checksOf(
  patient: Patient,
  { values, problems }: OptionReading<OptionTable>,
  timeoutMs: number,
): ServiceCheck[] {
  const { service, options } = patient;
  const wrong = Object.entries(options).flatMap(([key, spec]): ServiceCheck[] => {
    const problem = problems.get(key);
    if (problem === undefined) return [];
    const remedy = `Give ${optionLabel(spec)} as rangemaker ${service} --help says`;
    return [{
      service,
      subject: "option",
      run: () => Promise.resolve(fail(problem.message, remedy)),
    }];
  });
  return [...wrong, ...patient.checks(values, { clock: systemClock, timeoutMs })];
}
