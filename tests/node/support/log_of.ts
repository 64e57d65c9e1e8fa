import { withLogs } from "../../support/recorded_logs.ts";

/** The lines that the log got while this ran, development notices apart. */
export async function logOf(run: () => Promise<void>): Promise<string[]> {
  let lines: string[] = [];
  await withLogs("info", async (records) => {
    await run();
    lines = records.map(({ message }) => message.join(""));
  });
  return lines;
}
