import { configure, type LogLevel, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../lib/log/logging.ts";

/** Runs a test while everything that is logged from a level on is recorded. */
export async function withLogs(
  lowestLevel: LogLevel,
  test: (records: readonly LogRecord[]) => void | Promise<void>,
): Promise<void> {
  const records: LogRecord[] = [];
  await configure({
    reset: true,
    sinks: { memory: (record) => records.push(record) },
    loggers: [
      { category: LOG_ROOT, lowestLevel, sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  try {
    await test(records);
  } finally {
    await reset();
  }
}

/** The lines that the log got while this ran, development notices apart. */
export async function logOf(run: () => Promise<void>): Promise<string[]> {
  let lines: string[] = [];
  await withLogs("info", async (records) => {
    await run();
    lines = records.map(({ message }) => message.join(""));
  });
  return lines;
}
