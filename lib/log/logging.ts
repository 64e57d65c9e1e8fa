import {
  configure,
  getAnsiColorFormatter,
  getConsoleSink,
  getJsonLinesFormatter,
  getLogger,
  getTextFormatter,
  type Logger,
  type LogRecord,
} from "@logtape/logtape";
import { redactUrls } from "../redact.ts";

/** First part of every log category; the second is the service. */
export const LOG_ROOT = "rangemaker";

export const serviceLog = (service: string): Logger => getLogger([LOG_ROOT, service]);

/** Log levels, most verbose first. */
export const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;

export interface LoggingOptions {
  jsonLogs: boolean;
  logLevel: (typeof LOG_LEVELS)[number];
  /** Colours the text: for a terminal, unless `NO_COLOR` is set. */
  color: boolean;
}

/** Sends all logs to standard error; standard output is for results. */
export async function configureLogging(options: LoggingOptions): Promise<void> {
  const text = options.color ? getAnsiColorFormatter : getTextFormatter;
  const format = options.jsonLogs ? formatJson : text({ value: renderValue });
  const sink = getConsoleSink({
    // Any error may quote a URL, and a URL may contain a password or an API key.
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

/** An error that ends a process, as one JSON line like those of the log. */
export function jsonErrorLine(service: string, message: string, timestamp: number): string {
  const record: LogRecord = {
    category: [LOG_ROOT, service],
    level: "error",
    message: [message],
    rawMessage: message,
    timestamp,
    properties: { event: "failed" },
  };
  return redactUrls(formatJson(record)).trimEnd();
}

const jsonLines = getJsonLinesFormatter({ properties: "flatten" });

/** One JSON object, with the fields of the record besides level and message. */
function formatJson(record: LogRecord): string {
  const message = record.message.map((part) => {
    if (typeof part === "string") return part; // JSON escapes it; quotes around it would be noise
    if (part instanceof Error) return part.message;
    return typeof part === "object" ? JSON.stringify(part) : String(part);
  }).join("");
  return jsonLines({ ...record, message: [message] });
}

/** Printable ASCII is logged as it is; other values are escaped, so they cannot break a line. */
function renderValue(value: unknown, inspect: (value: unknown) => string): string {
  return typeof value === "string" && /^[ -~]*$/.test(value) ? value : inspect(value);
}
