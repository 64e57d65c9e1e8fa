/**
 * The runbooks of docs/operating.md and docs/runbooks.md: a shell runs their commands against
 * services in separate processes.
 */
import assert from "node:assert/strict";
import { relayer } from "../bridge/support.ts";
import { deposit, hashOf } from "../node/support/actors.ts";
import { type DocumentedCommand, passagesOf } from "../ship/documents.ts";
import { askQuote, user } from "../solver/support.ts";
import type { Answer } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/files.ts";
import { addMigration, NEEDS_POSTGRES, POSTGRES_URL, runSql } from "../support/postgres.ts";
import { hasProgram } from "../support/process.ts";
import { Machine, OTHER_ADMIN, OTHER_RELAYER, PostgresDatabases, UNITS } from "./machine.ts";

function blocksOf(heading: string, count: number): DocumentedCommand[][] {
  const found = ["docs/operating.md", "docs/runbooks.md"].flatMap(passagesOf)
    .filter(({ chapter }) => new RegExp(`^##+ ${heading}\n`).test(chapter))
    .map(({ commands }) => commands);
  assert.equal(found.length, count, heading);
  return found;
}

/** A new version that migrates its database and then does not start. */
const BROKEN_VERSION = `
import { DatabaseSync } from "node:sqlite";
const [name] = Deno.args;
if (name !== "node") new DatabaseSync(\`data/\${name}.sqlite\`).exec("PRAGMA user_version = 99");
console.error("The upgrade failed");
Deno.exit(1);
`;

/** A quote that does not expire while this runs. */
function longQuote(machine: Machine) {
  const now = Date.now();
  const window = { endTime: now + 7_200_000, deadline: now + 7_000_000 };
  return askQuote(machine.urlOf("solver"), window);
}

function outcomeOf({ body }: Answer): unknown {
  const { status, error } = Object(body.result);
  return body.code ?? Object(error).code ?? status;
}

async function takesDepositsAndBets(machine: Machine): Promise<void> {
  await machine.deposit();
  await eventually("a committed bet", async () => {
    // A node that has just started has no prices yet.
    const outcome = outcomeOf(await machine.execute(await longQuote(machine)));
    return outcome === "committed";
  });
}

async function loseMachine(machine: Machine): Promise<void> {
  const [copy] = blocksOf("Backups", 1);
  const [start] = blocksOf("Lost machine", 1);
  const restores = blocksOf("Restore", 3);
  await machine.play(copy);
  await takesDepositsAndBets(machine);
  await machine.play(copy); // as on the next night
  const copies = await machine.shell("readlink /var/backups/rangemaker/latest");
  await machine.shell("mv solver.database elsewhere");
  await assert.rejects(machine.play(copy)); // the copies before stay
  assert.equal(await machine.shell("readlink /var/backups/rangemaker/latest"), copies);
  const latest = "/var/backups/rangemaker/latest/";
  await machine.shell("mv elsewhere solver.database");
  const modes = await machine.shell(`stat -c %a /var/backups/rangemaker ${latest} ${latest}*`);
  assert.equal(modes, "700\n700\n600\n600\n600");
  const money = await machine.money();
  await machine.deposit(); // after the copy of the bridge: nobody has it then
  const [undo] = blocksOf("Undo a restore", 1);
  for (const alone of restores.slice(1)) {
    const before = await machine.deposits();
    await machine.play(alone);
    if (alone === restores[1]) {
      assert.notDeepEqual(await machine.deposits(), before);
      await machine.play(undo);
      assert.deepEqual(await machine.deposits(), before);
    }
    await takesDepositsAndBets(machine);
  }
  await refuseWhileRunning(machine);
  await restoreWithoutCopy(machine, restores);
  await machine.play(`systemctl stop ${UNITS}`);
  await machine.shell("rm -rf /var/lib/rangemaker /var/backups/rangemaker/replaced-*");
  await machine.databases?.empty();
  for (const each of restores) await machine.play(each);
  // The users of the units have to reach their folders.
  assert.match(await machine.shell("stat -c %a /var/lib/rangemaker"), /5$/);
  await machine.play(start);
  assert.deepEqual(await machine.money(), money);
  await takesDepositsAndBets(machine);
}

/** Nothing is replaced under a service that runs. */
async function refuseWhileRunning(machine: Machine): Promise<void> {
  const before = await machine.deposits();
  for (const name of ["node", "bridge", "solver"]) {
    const command = `sh /opt/rangemaker/docs/deployment/restore ${name}`;
    const refusal = new RegExp(`The data of the ${name} are in use by .*: stop rangemaker-one`);
    await assert.rejects(machine.play(command), refusal);
  }
  assert.deepEqual(await machine.deposits(), before);
}

/** Nothing is changed or started unless the copies are there and complete. */
async function restoreWithoutCopy(
  machine: Machine,
  restores: readonly DocumentedCommand[][],
): Promise<void> {
  const copies = "/var/backups/rangemaker";
  const damages = [
    ["mv latest away", "mv away latest"],
    [
      "mkdir whole && cp latest/* whole/ && truncate -s -5000 latest/*",
      "cp whole/* latest/ && rm -r whole",
    ],
  ];
  const money = await machine.money();
  for (const [damage, repair] of damages) {
    await machine.shell(`cd ${copies} && ${damage}`);
    for (const each of restores) await assert.rejects(machine.play(each), /ended with/);
    await machine.shell(`cd ${copies} && ${repair}`);
  }
  await machine.play(`systemctl start ${UNITS}`);
  assert.deepEqual(await machine.money(), money);
  await takesDepositsAndBets(machine);
}

/** The bridge goes to a machine that has its settings and key, and no data. */
async function moveBridge(machine: Machine): Promise<void> {
  const [, old, [mkdir, ...rest] = []] = blocksOf("Another machine", 3);
  const before = await machine.deposits();
  await machine.play(old);
  await machine.shell("mv /var/lib/rangemaker/bridge /var/lib/old-bridge");
  const copy = mkdir?.text.replace("scp -rp old:", "cp -r ") ?? assert.fail("No copy");
  await machine.play([{ text: copy }, ...rest]);
  assert.deepEqual(await machine.deposits(), before);
  await machine.deposit();
  await machine.play("systemctl start backup-rangemaker");
  const copies = await machine.shell("ls /var/backups/rangemaker/latest/");
  assert.equal(copies, "bridge.sqlite");
  await machine.shell(
    "rm backup.env && echo /var/lib/old-bridge/data/bridge.sqlite > bridge.database-old",
  );
  const replayed = await machine.play("sh /opt/rangemaker/docs/deployment/replay");
  assert.match(
    replayed,
    /Database of bridge\.database-old\n0 sent again, [1-9]\d* already present/,
  );
  assert.match(replayed, /\nThe node has the deposits of all databases above \(2\)$/);
}

async function rotateRelayer(machine: Machine): Promise<void> {
  const [prepare, change, remove] = blocksOf("New key of the relayer", 3);
  await machine.play(prepare);
  await machine.deposit(); // with the old key
  await machine.play(change);
  await machine.depositAgain();
  await machine.deposit(); // with the new key
  await machine.play(remove);
  await machine.deposit(); // without the old key
  const { address } = await machine.key("bridge");
  assert.deepEqual(await machine.settings("relayers"), [address, OTHER_RELAYER]);
  const tx = { timestamp: Date.now(), user: user.address, amount: 1n, externalTxHash: hashOf(1) };
  const { error } = await machine.client.sendTransaction(deposit({ ...tx, by: relayer }));
  assert.equal(error?.code, "PERMISSION_DENIED");
}

async function rotateSolver(machine: Machine): Promise<void> {
  const [commands] = blocksOf("New key of the solver", 1);
  const old = await longQuote(machine);
  await machine.play(commands);
  assert.equal((await machine.execute(old)).status, 401);
  const { address } = await machine.key("solver");
  assert.equal((await longQuote(machine)).solver, address);
  await takesDepositsAndBets(machine);
}

async function upgrade(machine: Machine): Promise<void> {
  const [forward = [], back, start, replay] = blocksOf("Upgrade", 4);
  const goBack = async (attempts = 1) => {
    const [node, bridge, solver] = blocksOf("Restore", 3);
    const bridges = Array.from({ length: attempts }, () => bridge);
    for (const block of [back, node, ...bridges, solver, start]) await machine.play(block);
  };
  const stored = async () => ({
    ...await machine.money(),
    deposits: await machine.deposits(),
  });
  await takesDepositsAndBets(machine);
  const before = await stored();
  const firstQuestion = forward.findIndex(({ text }) => text.startsWith("curl"));
  await machine.release(BROKEN_VERSION);
  await machine.play(forward.slice(0, firstQuestion));
  await machine.play("systemctl start rangemaker-one@bridge");
  const databases = ["bridge", "solver"].flatMap((name) => machine.databases?.url(name) ?? []);
  for (const url of databases) await addMigration(url);
  // The old version alone is not enough.
  await machine.shell("ln -sfn rangemaker-1 /opt/rangemaker");
  await machine.play([
    { text: "systemctl restart rangemaker-one@bridge" },
    {
      text: "journalctl -u rangemaker-one@bridge -n 1",
      answer: "…Database has version …, made by a newer program…",
    },
  ]);
  await goBack(2); // as an operator whose first attempt has failed later on
  assert.deepEqual(await stored(), before);
  for (const url of databases) {
    const [tables] = await runSql(url, "SELECT to_regclass('added_later') AS added");
    assert.equal(tables?.added, null, "a table that the new version has added is gone");
  }
  // This version cannot read what the new one has left, and says so.
  await assert.rejects(machine.play(replay), /made by a newer program[^]*Failed:.*replaced-/);
  await machine.shell(
    "rm -r $(ls -d /var/lib/rangemaker/bridge/data/replaced-* " +
      "/var/backups/rangemaker/replaced-*-bridge.dump) || true",
  );
  await takesDepositsAndBets(machine);
  await machine.release(undefined);
  for (const again of machine.databases === undefined ? [false] : [false, true]) {
    const later = await stored();
    await machine.play(forward);
    await machine.shell(
      "ls /usr/local/bin/rangemaker /etc/systemd/system/rangemaker-one@.service",
    );
    if (again) await machine.deposit();
    else await takesDepositsAndBets(machine);
    await goBack(); // to the copies of this upgrade
    assert.deepEqual(await stored(), later);
    const printed = await machine.play(replay); // the deposit that the new version has accepted
    // And the bet: its hedge is open.
    assert.match(printed, /replaced-.*: hedges of bets [^]*\nGone: thesis .*: undo its hedge\n/);
    assert.equal((await machine.money()).balance, later.balance + 500_000_000n);
  }
  await takesDepositsAndBets(machine);
}

async function fillDisk(machine: Machine): Promise<void> {
  const [full, free] = blocksOf("Full disk", 2);
  // So that its log has no room of its own left.
  await machine.play("systemctl restart rangemaker-one@node");
  await machine.shell(
    "mkdir -p /var/backups/rangemaker/new && " +
      "! dd if=/dev/zero of=/var/backups/rangemaker/new/solver.dump bs=4k",
  );
  await machine.play(full);
  await machine.deposit("STORE_UNAVAILABLE");
  await machine.play(free);
  await takesDepositsAndBets(machine);
}

async function setClockBack(machine: Machine): Promise<void> {
  const [ofNode, ofBridge, right] = blocksOf("Wrong clock", 3);
  const quote = await longQuote(machine);
  await machine.setClock("SIGUSR1");
  await machine.play(ofNode);
  assert.equal(outcomeOf(await machine.execute(quote)), "ORACLE_STALE");
  await machine.setClock("SIGUSR2", ["node", "solver"]);
  const { balance } = await machine.money();
  await machine.deposit("submitted");
  await machine.play(ofBridge);
  await machine.play(right);
  assert.equal((await machine.money()).balance, balance + 500_000_000n);
  await takesDepositsAndBets(machine);
}

/** Whether a file system can be mounted in a namespace of its own. */
const { success: hasDisk } = await new Deno.Command("unshare", {
  args: ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"],
  stdout: "null",
  stderr: "null",
}).output().catch(() => ({ success: false }));

const LEFT_OUT = hasDisk ? "" : " (left out: no file system can be mounted here)";

/** Runs a test with a machine of its own, whose services run. */
function testMachine(
  name: string,
  test: (machine: Machine, t: Deno.TestContext) => Promise<unknown>,
  databases?: PostgresDatabases,
): void {
  Deno.test(
    `Runbooks: ${name}${LEFT_OUT}${databases === undefined ? "" : NEEDS_POSTGRES}`,
    { ignore: !hasDisk || databases && POSTGRES_URL === undefined, timeout: 600_000 },
    (t) =>
      withFolder(async (folder) => {
        await databases?.create();
        const machine = await Machine.open(folder, databases);
        try {
          await machine.play(`systemctl start ${UNITS}`);
          await test(machine, t);
        } finally {
          await machine.close();
          await databases?.drop();
        }
      }),
  );
}

/** Changes a key twice: nothing opens an account whose keystore was overwritten. */
async function rotateTwice(machine: Machine, name: "bridge" | "solver" | "admin"): Promise<void> {
  const rotate = { bridge: rotateRelayer, solver: rotateSolver, admin: rotateAdmin }[name];
  const replaced: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    replaced.push((await machine.key(name)).address);
    await rotate(machine);
  }
  assert.deepEqual(await machine.oldAccounts(name), replaced);
}

async function rotateAdmin(machine: Machine): Promise<void> {
  const [commands] = blocksOf("New key of the admin", 1);
  await machine.play(commands);
  const { address } = await machine.key("admin");
  assert.deepEqual(await machine.settings("admins"), [OTHER_ADMIN, address]);
}

testMachine(
  "with PostgreSQL: undoing a failed upgrade, restoring a lost machine, a new key",
  async (machine, t) => {
    await t.step("a failed upgrade, then a successful one", () => upgrade(machine));
    await t.step("a lost machine", () => loseMachine(machine));
    // The only key that has a database of its own.
    await t.step("solver", () => rotateTwice(machine, "solver"));
  },
  new PostgresDatabases(),
);

/** The gap of a restart is filled, by the command of the document. */
async function backfillGap(machine: Machine): Promise<void> {
  const [commands] = blocksOf("After a restart of the node", 1);
  const now = Date.now();
  machine.history.trades = Array.from({ length: 1_000 }, (_, index) => ({
    time: now - (1_000 - index) * 1_000,
    price: 1_650_000_000n,
  }));
  await machine.play(commands);
}

testMachine("with SQLite: every chapter", async (machine, t) => {
  if (hasProgram("sqlite3")) {
    await t.step("a failed upgrade, then a successful one", () => upgrade(machine));
  }
  await t.step("full disk", () => fillDisk(machine));
  await t.step("clock set back", () => setClockBack(machine));
  if (hasProgram("sqlite3")) {
    await t.step("a lost machine", () => loseMachine(machine));
    await t.step("a bridge moves to another machine", () => moveBridge(machine));
  }
  for (const name of ["bridge", "admin"] as const) {
    await t.step(name, () => rotateTwice(machine, name));
  }
  await t.step("backfill of the gap", () => backfillGap(machine));
});
