import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { LogRecord } from "@logtape/logtape";
import type { Registry } from "prom-client";
import { createRegistry } from "../../../lib/http/metrics.ts";
import { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import {
  type IntentResourcesOptions,
  openIntentResources,
} from "../../../lib/intents/intent_resources.ts";
import { IntentService } from "../../../lib/intents/intent_service.ts";
import { StoreError } from "../../../lib/intents/errors.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { Submitter } from "../../../lib/intents/submitter.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeNode } from "../../support/fake_node.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { withFolder } from "../../support/files.ts";
import { newIntent } from "../../support/intents.ts";
import { runSql, testOnPostgres } from "../../support/postgres.ts";

const signer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);
const other = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);

interface World {
  service: IntentService;
  store: IntentStore;
  node: FakeNode;
  clock: FakeClock;
  registry: Registry;
  records: readonly LogRecord[];
}

function openResources(overrides: Partial<IntentResourcesOptions>) {
  return openIntentResources({
    name: "bridge",
    database: ":memory:",
    rpcUrl: "http://127.0.0.1:9",
    storeKey: "bind",
    signer,
    chainId: 1337,
    clock: new FakeClock(),
    ...overrides,
  });
}

/** Events, with their code if any. */
function eventsOf(records: readonly LogRecord[]): unknown[] {
  return records.map(({ properties: { event, code } }) => code ?? event);
}

/** Declares a test of a service with a node and a store of its own. */
const test = (name: string, run: (world: World) => Promise<void>) =>
  Deno.test(`IntentService: ${name}`, () =>
    withLogs("info", async (records) => {
      const node = FakeNode.start();
      const clock = new FakeClock();
      const registry = createRegistry();
      const resources = await openResources({ rpcUrl: node.url, clock });
      const { store } = resources;
      const guard = new ChainGuard({ ...resources, isOnChain: () => Promise.resolve(true) });
      const handler = { termsOf: () => assert.fail("Nothing is submitted") };
      const service = new IntentService({
        resources,
        guard,
        submitter: new Submitter({ ...resources, guard, handler }),
        retainMs: 60_000,
        registry,
      });
      try {
        await run({ service, store, node, clock, registry, records });
      } finally {
        await service.stop();
        await store.close();
        await node.stop();
      }
    }));

test("health fails on a full disk, which is logged once", async ({ service, store, clock, records }) => {
  assert.equal(await service.findProblem(), undefined);
  const { requireWritable } = store;
  const full = new StoreError("Database failed: database or disk is full");
  store.requireWritable = () => Promise.reject(full);
  for (let turn = 0; turn < 3; turn += 1) {
    clock.advance(1_000);
    assert.equal(await service.findProblem(), full);
  }
  store.requireWritable = requireWritable;
  clock.advance(1_000);
  assert.equal(await service.findProblem(), undefined);
  assert.deepEqual(eventsOf(records), ["STORE_UNAVAILABLE", "submitting_works"]);
});

test("a damaged row fails the health", async ({ service, store }) => {
  await store.insert(newIntent("a"));
  await store.db.write("UPDATE intents SET payload = 'damaged'", []);
  await assert.rejects(store.find("a"), { code: "STORE_DAMAGED" });
  assert.equal((await service.findProblem())?.code, "STORE_DAMAGED");
});

test("a node that is away does not fail the health", async ({ service, node, clock }) => {
  assert.equal(await service.findProblem(), undefined);
  node.down = true;
  clock.advance(1_000);
  assert.equal(await service.findProblem(), undefined);
});

test("another chain is a problem until the node says otherwise, also while it is away", async ({ service, node, clock, records }) => {
  assert.equal(await service.findProblem(), undefined);
  const { genesis } = node;
  const codeIn = async (turn: () => void) => {
    turn();
    clock.advance(1_000);
    return (await service.findProblem())?.code;
  };
  assert.equal(await codeIn(() => node.genesis = `0x${"01".repeat(32)}`), "CHAIN_MISMATCH");
  assert.equal(await codeIn(() => node.down = true), "CHAIN_MISMATCH");
  assert.deepEqual(eventsOf(records), ["CHAIN_MISMATCH"]);
  node.down = false;
  assert.equal(await codeIn(() => node.genesis = genesis), undefined);
  assert.deepEqual(eventsOf(records), ["CHAIN_MISMATCH", "submitting_works"]);
});

test("a problem is in the metrics until it ends, even if its code is a new one", async ({ service, store, clock, registry }) => {
  const shown = async () => {
    clock.advance(1_000);
    await service.findProblem();
    return (await registry.metrics()).match(/(?<=^bridge_problem\{.*code=")\w+(?=".* 1$)/gm);
  };
  const { requireWritable } = store;
  for (const code of ["STORE_UNAVAILABLE", "NEW_PROBLEM"]) {
    const problem = new StoreError("test", undefined, code);
    store.requireWritable = () => Promise.reject(problem);
    assert.deepEqual(await shown(), [code]);
  }
  store.requireWritable = requireWritable;
  assert.equal(await shown(), null);
});

test("a failure is logged without a health request; the store is checked once a second", async ({ service, store, clock, records }) => {
  service.start();
  await Promise.all([service.findProblem(), service.findProblem()]);
  let checks = 0;
  store.requireWritable = () => {
    checks += 1;
    return Promise.reject(new StoreError("disk I/O error"));
  };
  while (clock.pending < 3) await setImmediate();
  clock.advance(5_000);
  while (records.length === 0) await setImmediate();
  await Promise.all([service.findProblem(), service.findProblem()]);
  assert.equal(checks, 1);
  assert.deepEqual(eventsOf(records), ["STORE_UNAVAILABLE"]);
});

test("once submitting has stopped, no retry begins", async ({ service, store, clock }) => {
  let looks = 0;
  store.listUnfinished = () => Promise.resolve((looks += 1, []));
  service.start();
  while (clock.pending < 3) await setImmediate();
  const before = looks;
  service.stopSubmitting();
  clock.advance(2_000);
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  assert.deepEqual([before, looks], [1, 1]);
});

Deno.test("openIntentResources: a database is bound to the first key that binds it, and refused for others with both addresses", () =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    const openAndClose = async (overrides: Partial<IntentResourcesOptions>) =>
      await (await openResources({ database, ...overrides })).store.close();
    await openAndClose({ signer: other, storeKey: "compare" }); // which binds none
    await openAndClose({ storeKey: "bind" });
    await openAndClose({ storeKey: "compare" });
    const message = new RegExp(`key of ${signer.address}, but this one signs as ${other.address}`);
    for (const storeKey of ["bind", "compare"] as const) {
      await assert.rejects(openAndClose({ signer: other, storeKey }), {
        name: "StoreError",
        message,
      });
    }
    await openAndClose({ signer: other, storeKey: "ignore" });
    await openAndClose({ storeKey: "bind" });
  }));

Deno.test("openIntentResources: a locked file is tried again for 30 s, which one line says", () =>
  withFolder((folder) =>
    withLogs("warning", async (records) => {
      const database = `${folder}/bridge.sqlite`;
      await (await openResources({ database })).store.close();
      const ending = new DatabaseSync(database);
      const clock = new FakeClock();
      const open = () => openResources({ database, clock });
      ending.exec("BEGIN IMMEDIATE");
      const opened = open();
      while (clock.pending === 0) await setImmediate();
      ending.exec("COMMIT");
      clock.advance(500);
      await (await opened).store.close();
      assert.deepEqual(eventsOf(records), ["store_starting"]);
      ending.exec("BEGIN IMMEDIATE");
      const refused = assert.rejects(open(), /cannot be opened: database is locked$/);
      while (clock.pending === 0) await setImmediate();
      clock.advance(30_000);
      await refused;
      ending.close();
    })
  ));

testOnPostgres(
  "openIntentResources: a database that is lost once it is open is tried again",
  (database) =>
    withLogs("warning", async (records) => {
      await (await openResources({ database, storeKey: "ignore" })).store.close();
      await runSql(
        database,
        `CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE SQLSTATE '57P01'; END $$`,
        "CREATE TRIGGER stop BEFORE INSERT ON services EXECUTE FUNCTION stop()",
      );
      const clock = new FakeClock();
      const opened = openResources({ database, clock });
      await eventually("the second attempt is scheduled", () => clock.pending);
      await runSql(database, "DROP TRIGGER stop ON services");
      clock.advance(500);
      await (await opened).store.close();
      assert.deepEqual(eventsOf(records), ["store_starting"]);
    }),
);

testOnPostgres(
  "openIntentResources: while one server is away and the other a standby, in either order, a start tries again",
  async (url) => {
    const { host } = new URL(url);
    for (const hosts of [`127.0.0.1:9,${host}`, `${host},127.0.0.1:9`]) {
      const database = `${url.replace(host, hosts)}&default_transaction_read_only=on`;
      const clock = new FakeClock();
      const refused = assert.rejects(openResources({ database, clock }), /is a standby/);
      await eventually("the second attempt is scheduled", () => clock.pending);
      clock.advance(30_000);
      await refused;
    }
  },
);
