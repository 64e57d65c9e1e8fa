import { configure, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/log/logging.ts";

/** The lines that the log got while this ran, development notices apart. */
export async function logOf(run: () => Promise<void>): Promise<string[]> {
  const lines: string[] = [];
  await configure({
    reset: true,
    sinks: { memory: ({ message }: LogRecord) => void lines.push(message.join("")) },
    loggers: [
      { category: LOG_ROOT, lowestLevel: "info", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  try {
    await run();
  } finally {
    await reset();
  }
  return lines;
}
