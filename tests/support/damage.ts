/** Bridge and solver with finished and pending work, started again on a database that was damaged. */
import assert from "node:assert/strict";
import type { RunningService } from "../../lib/http/service.ts";
import { StoreError } from "../../lib/intents/errors.ts";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import { execution, solver, SOLVER_BALANCE, startTestSolver, user } from "../solver/support.ts";
import { post } from "./http_answers.ts";
import { eventually } from "./eventually.ts";
import { ConnectionLost, FakeNode } from "./fake_node.ts";
import { withLogs } from "./recorded_logs.ts";

/** Intents that are finished, and such that the node has not answered yet. */
export const FINISHED = 8;
export const PENDING = 4;

/** How long a service may take to finish pending work, or to report the damage. */
const SETTLED_MS = 10_000;

/** Events that name damage, and of a store that cannot be used. */
const NAMED = new Set([
  "store_damaged",
  "store_failed",
  "submitting_failed",
  "store_log_torn",
  "store_upkeep_failed",
]);

/** The columns of a row that an attempt does not change. */
export const COLUMNS =
  'service, key, "user", payload, state, receipt, expires_at_ms, created_at_ms, reserved';

/** Rows as {@link COLUMNS}, by their key. */
export type Rows = Map<string, string>;

/** One service, and how it gets its work. */
export interface Scene {
  name: string;
  start(node: FakeNode, database: string): Promise<RunningService>;
  /** Submits one intent; the node may leave it without an answer. */
  submit(url: string, index: number): Promise<unknown>;
}

/** The services that have a store. */
export const SCENES: readonly Scene[] = [
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
export function termsOf(text: string): string {
  const { timestamp: _, signature: __, ...terms } = JSON.parse(text);
  return JSON.stringify(terms);
}

/** A node on which solver and user have money. */
export function startNode(): FakeNode {
  const node = FakeNode.start();
  for (const { address } of [solver, user]) node.credited.set(address, SOLVER_BALANCE);
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  node.methods.set("core_getThesis", () => null);
  return node;
}

/** Gives a service work that the node leaves without an answer. */
export async function leavePending(scene: Scene, node: FakeNode, url: string): Promise<void> {
  node.behaviour = () => {
    throw new ConnectionLost("The node is away");
  };
  for (let index = 0; index < PENDING; index += 1) await scene.submit(url, 200 + index);
}

/** Rows from a driver, as {@link Rows}. */
export function rowsByKey(rows: readonly unknown[]): Rows {
  return new Map(
    rows.map((row) => [String(Object(row).key), JSON.stringify(Object.values(Object(row)), text)]),
  );
}

/** One database returns some integers as text. */
function text(_key: string, value: unknown): unknown {
  return typeof value === "number" ? String(value) : value;
}

/** Starts a service on a damaged database. @returns How the damage was reported, or `none`. */
export async function startDamaged(
  scene: Scene,
  node: FakeNode,
  database: string,
  what: string,
): Promise<string> {
  node.received.length = 0;
  node.behaviour = (apply) => apply();
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
  return outcome;
}

/** Unreported damage is harmless: finished rows are unchanged, the others are committed. */
export function requireUnharmed(before: Rows, after: Rows, what: string): void {
  for (const [key, was] of before) {
    const is = after.get(key);
    const isDone = /"(committed|failed)"/.test(was);
    assert(isDone ? is === was : is?.includes('"committed"'), `${what}: silently ${was} → ${is}`);
  }
}
