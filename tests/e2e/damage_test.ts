/**
 * Flips single bits in the databases of bridge and solver while work is pending, and starts the
 * service against a live node: nothing wrong is sent, nothing is lost silently, and damage is
 * named. `FLIPS=600 deno task test tests/e2e/damage_test.ts` flips more bits.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { RandomSource } from "../../lib/random.ts";
import {
  COLUMNS,
  FINISHED,
  leavePending,
  PENDING,
  requireUnharmed,
  type Rows,
  rowsByKey,
  type Scene,
  SCENES,
  startDamaged,
  startNode,
  termsOf,
} from "../support/damage.ts";
import { withSeed } from "../support/random.ts";
import { withFolder } from "../support/files.ts";

/** Bits to flip in the files of each service. */
const FLIPS = Number(Deno.env.get("FLIPS") ?? 12);

/** The rows of a database that nothing has opened. */
function rowsOf(database: string): Rows {
  const db = new DatabaseSync(database);
  const rows: unknown[] = db.prepare(`SELECT ${COLUMNS} FROM intents`).all();
  db.close();
  return rowsByKey(rows);
}

/** Opening a file writes its log into it. */
async function copyOf(database: string): Promise<string> {
  const copy = `${database}-copy`;
  for (const end of ["", "-wal"]) await Deno.copyFile(database + end, copy + end);
  return copy;
}

async function flip(path: string, random: RandomSource): Promise<string> {
  const bytes = await Deno.readFile(path);
  const at = Math.floor(random() * bytes.length);
  const bit = Math.floor(random() * 8);
  bytes[at] = bytes[at]! ^ 1 << bit; // inside the file
  await Deno.writeFile(path, bytes);
  return `bit ${bit} of byte ${at} of ${path.replace(/.*\//, "")}`;
}

/** Makes files as a killed service leaves them. @returns The node, the terms of all transactions. */
async function prepare(scene: Scene, database: string, image: string) {
  const node = startNode();
  const service = await scene.start(node, database);
  for (let index = 0; index < FINISHED; index += 1) await scene.submit(service.url, index);
  // The first rows are in the file, the others in the log.
  const other = new DatabaseSync(database);
  other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  other.close();
  for (let index = 0; index < FINISHED; index += 1) await scene.submit(service.url, 100 + index);
  await leavePending(scene, node, service.url);
  for (const end of ["", "-wal"]) await Deno.copyFile(database + end, image + end);
  const terms = new Set(node.received.map(termsOf));
  assert.equal(terms.size, 2 * FINISHED + PENDING);
  await service.stop();
  return { node, terms };
}

async function flipAll(scene: Scene, random: RandomSource): Promise<void> {
  await withFolder(async (folder) => {
    const image = `${folder}/image.sqlite`;
    const { node, terms } = await prepare(scene, `${folder}/first.sqlite`, image);
    const outcomes: Record<string, number> = {};
    try {
      for (let index = 0; index < FLIPS; index += 1) {
        const database = `${folder}/${index}.sqlite`;
        for (const end of ["", "-wal"]) await Deno.copyFile(image + end, database + end);
        const what = await flip(database + (random() < 0.5 ? "" : "-wal"), random);
        const outcome = await startDamaged(scene, node, database, what);
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (outcome === "none") {
          requireUnharmed(rowsOf(await copyOf(image)), rowsOf(database), what);
        }
        for (const text of node.received) assert(terms.has(termsOf(text)), `${what}: sent ${text}`);
      }
      console.log(`${FLIPS} flips, ${scene.name}: ${JSON.stringify(outcomes)}`);
    } finally {
      await node.stop();
    }
  });
}

for (const scene of SCENES) {
  Deno.test(`Damage: with flipped bits ${scene.name} sends nothing wrong, and reports every loss`, () =>
    withSeed((random) => flipAll(scene, random)));
}
