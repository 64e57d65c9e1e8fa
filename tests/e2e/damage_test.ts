/**
 * Flips single bits in the databases of bridge and solver while work is pending, and starts the service
 * against a live node: nothing wrong is sent, nothing is lost silently, and damage is named.
 * `FLIPS=600 deno task test tests/e2e/damage_test.ts` flips more bits.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { RandomSource } from "../../lib/clock.ts";
import { StoreError } from "../../lib/intents/intent.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import { execution, solver, SOLVER_BALANCE, startTestSolver, user } from "../solver/support.ts";
import { post } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { ConnectionLost, FakeNode } from "../support/fake_node.ts";
import { withSeed } from "../support/random.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { withFolder } from "../support/with_folder.ts";

/** Bits to flip in the files of each service. */
const FLIPS = Number(Deno.env.get("FLIPS") ?? 12);

/** Intents that are finished, and such that the node has not answered yet. */
const FINISHED = 8;
const PENDING = 4;

/** How long a service may take to finish what is pending, or to name the damage. */
const SETTLED_MS = 10_000;

/** Events that name damage, and of a store that cannot be used. */
const NAMED = new Set(["store_damaged", "store_failed", "store_log_torn", "store_upkeep_failed"]);

interface Scene {
  name: string;
  start(node: FakeNode, database: string): Promise<RunningService>;
  /** Submits one intent; the node may leave it without an answer. */
  submit(url: string, index: number): Promise<unknown>;
}

const SCENES: Scene[] = [
  {
    name: "bridge",
    start: (node, database) => startTestBridge(node.url, { database }),
    submit: (url, index) => {
      const deadline = Date.now() + 3_600_000;
      return post(`${url}/deposit`, signedRequest({ nonce: BigInt(index), deadline }));
    },
  },
  {
    name: "solver",
    start: (node, database) => startTestSolver(node, { database }),
    async submit(url, index) {
      const deadline = Date.now() + 300_000;
      const terms = { betAmount: `${10_000_000 + index}`, deadline };
      return await post(`${url}/execute`, await execution(url, terms));
    },
  },
];

/** What a transaction does, without when it was signed. */
function termsOf(text: string): string {
  const { timestamp: _, signature: __, ...terms } = JSON.parse(text);
  return JSON.stringify(terms);
}

function startNode(): FakeNode {
  const node = FakeNode.start();
  for (const { address } of [solver, user]) node.credited.set(address, SOLVER_BALANCE);
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  node.methods.set("core_getThesis", () => null);
  return node;
}

/** The rows of a database that nothing has opened, without what an attempt changes. */
function rowsOf(database: string): Map<string, string> {
  const db = new DatabaseSync(database);
  const columns = "key, subject, payload, state, receipt, expires_at_ms, created_at_ms, reserved";
  const rows: unknown[] = db.prepare(`SELECT ${columns} FROM intents`).all();
  db.close();
  const values = rows.map((row) => Object.values(Object(row)));
  return new Map(values.map((columns) => [String(columns[0]), JSON.stringify(columns)]));
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
  node.behaviour = () => {
    throw new ConnectionLost("The node is away");
  };
  for (let index = 0; index < PENDING; index += 1) await scene.submit(service.url, 200 + index);
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
        node.received.length = 0;
        node.behaviour = (apply) => apply();
        const outcome = await startDamaged(scene, node, database, image, what);
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        for (const text of node.received) assert(terms.has(termsOf(text)), `${what}: sent ${text}`);
      }
      assert.equal(outcomes.silent ?? 0, 0);
      console.log(`${FLIPS} flips, ${scene.name}: ${JSON.stringify(outcomes)}`);
    } finally {
      await node.stop();
    }
  });
}

/** @returns How the damage showed: `none` if everything is as it should be. */
async function startDamaged(
  scene: Scene,
  node: FakeNode,
  database: string,
  image: string,
  what: string,
): Promise<string> {
  let outcome = "refused";
  await withLogs("info", async (records) => {
    const named = () => records.find(({ properties: { event } }) => NAMED.has(String(event)));
    try {
      const service = await scene.start(node, database);
      await eventually(`an end after ${what}`, () => {
        const done = records.filter(({ properties: { event } }) =>
          /^(deposit|execution)_(committed|failed)$/.test(String(event))
        );
        return done.length >= PENDING || named() !== undefined || undefined;
      }, SETTLED_MS);
      await eventually("the first look at all rows", async () => {
        const { status } = await (await fetch(`${service.url}/health`)).json();
        return status !== undefined || undefined;
      });
      outcome = String(named()?.properties.event ?? "none");
      await service.stop();
    } catch (thrown) {
      if (!(thrown instanceof StoreError)) throw thrown;
    }
  });
  if (outcome !== "none") return outcome;
  const [before, after] = [rowsOf(await copyOf(image)), rowsOf(database)];
  for (const [key, row] of before) {
    const [was, is] = [row, after.get(key)];
    const isDone = /"(committed|failed)"/.test(was);
    assert(isDone ? is === was : is?.includes('"committed"'), `${what}: silently ${was} → ${is}`);
  }
  return "none";
}

for (const scene of SCENES) {
  Deno.test(`Damage: ${scene.name} with flipped bits sends nothing wrong and loses nothing silently`, () =>
    withSeed((random) => flipAll(scene, random)));
}
