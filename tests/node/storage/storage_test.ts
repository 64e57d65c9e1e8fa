import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { genesisBlock } from "../../../services/node/chain/block.ts";
import { resolveSettings } from "../../../services/node/settings.ts";
import { openStorage } from "../../../services/node/storage/storage.ts";

Deno.test("Storage: the log tells a new chain from one that goes on", async () => {
  const told: string[] = [];
  await configure({
    reset: true,
    sinks: { memory: ({ message }: LogRecord) => void told.push(message.join("")) },
    loggers: [
      { category: LOG_ROOT, lowestLevel: "info", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  const folder = await Deno.makeTempDir();
  const path = `${folder}/node`;
  try {
    for (let start = 0; start < 2; start++) {
      const storage = openStorage(resolveSettings({}), path);
      await storage.close(genesisBlock(0));
    }
  } finally {
    await reset();
    await Deno.remove(folder, { recursive: true });
  }
  assert.deepEqual(told, [
    `New chain in ${path}`,
    `Reading the chain in ${path}`,
    "Resumed with 0 theses, 0 of them not settled",
  ]);
});
