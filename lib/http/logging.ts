import {
  configure,
  getAnsiColorFormatter,
  getConsoleSink,
  getTextFormatter,
  jsonLinesFormatter,
  type LogRecord,
} from "@logtape/logtape";
import { z } from "zod";
import { redactUrls } from "../redact.ts";
import { switchSchema } from "../cli/option_types.ts";
import type { OptionSpec, OptionTable } from "../cli/options.ts";

/** First part of every log category; the second is the service. */
export const LOG_ROOT = "rangemaker";

/** Log levels from the most to the least talkative. */
export const logLevelSchema = z.enum(["debug", "info", "warning", "error"], {
  error: "Expected debug, info, warning or error",
});

/** The logging options that every command takes. */
export const loggingOptions = {
  jsonLogs: {
    flags: "--json-logs",
    env: "JSON_LOGS",
    description: "log JSON lines instead of text",
    schema: switchSchema,
    default: "false",
  },
  logLevel: {
    flags: "--log-level <level>",
    env: "LOG_LEVEL",
    description: "debug, info, warning or error",
    schema: logLevelSchema,
    default: "info",
  } satisfies OptionSpec<typeof logLevelSchema>,
} satisfies OptionTable;

/** How this process logs. */
export interface LoggingOptions {
  jsonLogs: boolean;
  logLevel: z.output<typeof logLevelSchema>;
  /** Colours the text: for a terminal whose user did not set `NO_COLOR`. */
  color: boolean;
}

/** Sends all logs to standard error, so that standard output stays for results. */
export async function configureLogging(options: LoggingOptions): Promise<void> {
  const text = options.color ? getAnsiColorFormatter : getTextFormatter;
  const format = options.jsonLogs ? jsonLinesFormatter : text({ value: renderValue });
  const sink = getConsoleSink({
    // URLs come with errors of every kind, and some carry a password or a provider's key.
    formatter: (record: LogRecord) => redactUrls(format(record)),
    levelMap: {
      trace: "error",
      debug: "error",
      info: "error",
      warning: "error",
      error: "error",
      fatal: "error",
    },
  });
  await configure({
    reset: true,
    sinks: { stderr: sink },
    loggers: [
      { category: LOG_ROOT, lowestLevel: options.logLevel, sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["stderr"] },
    ],
  });
}

/** Plain text stays bare; anything that could break a line or a terminal is quoted and escaped. */
function renderValue(value: unknown, inspect: (value: unknown) => string): string {
  return typeof value === "string" && /^[ -~]*$/.test(value) ? value : inspect(value);
}
