import assert from "node:assert/strict";
import { Socket } from "node:net";
import { Wallet } from "@ethereumjs/wallet";
import { Command } from "commander";
// @ts-types="@types/pg"
import pg from "pg";
import { z } from "zod";
import * as mini from "zod/mini";
import {
  DEFAULT_MESSAGE,
  EXCESS_ARGUMENTS,
  NEEDS_ALL_ACCESS,
  NOT_SENT,
  REFUSED_PARAMETER,
  UNKNOWN_OPTION,
  WRONG_PASSWORD,
} from "../../lib/library_messages.ts";
import { NEEDS_PGBOUNCER, withPgbouncer } from "../support/postgres_cluster.ts";

Deno.test("NEEDS_ALL_ACCESS: Deno's error for a path of the system", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-read", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const program = 'try { Deno.statSync("/proc") } catch ({ message }) { console.log(message) }';
  await new Blob([program]).stream().pipeTo(child.stdin);
  const { stdout } = await child.output();
  assert.equal(NEEDS_ALL_ACCESS.exec(new TextDecoder().decode(stdout).trim())?.[1], '"/proc"');
});

Deno.test("EXCESS_ARGUMENTS, UNKNOWN_OPTION: commander's errors for wrong arguments", () => {
  const messageFor = (...argv: string[]) => {
    const parser = new Command().allowExcessArguments(false).exitOverride();
    parser.configureOutput({ writeErr: () => {} });
    try {
      parser.parse(argv, { from: "user" });
    } catch (thrown) {
      return String(thrown instanceof Error ? thrown.message : thrown);
    }
    assert.fail("It parses");
  };
  assert.equal(EXCESS_ARGUMENTS.exec(messageFor("one", "two"))?.[1], "one, two");
  assert.equal(UNKNOWN_OPTION.exec(messageFor("--unknown=secret"))?.[1], "--unknown");
});

Deno.test("DEFAULT_MESSAGE: zod's messages, and not those of a schema", () => {
  const messageFor = (schema: z.core.$ZodType, value: unknown) =>
    z.safeParse(schema, value).error?.issues[0]?.message ?? assert.fail("It fits");
  const cases: [z.core.$ZodType, unknown][] = [
    [z.string(), 1],
    [z.enum(["a", "b"]), "c"],
    [z.literal(1), 2],
    [z.string().regex(/a/), "b"],
    [z.number().min(2), 1],
    [z.array(z.string()).max(1), ["a", "b"]],
    [mini.string(), 1],
    [mini.enum(["a", "b"]), "c"],
  ];
  for (const [schema, value] of cases) assert.match(messageFor(schema, value), DEFAULT_MESSAGE);
  assert.doesNotMatch(messageFor(z.string("Expected a name"), 1), DEFAULT_MESSAGE);
});

Deno.test("WRONG_PASSWORD: the wallet library's error for a keystore", async () => {
  const wallet = Wallet.fromPrivateKey(new Uint8Array(32).fill(1));
  const text = await wallet.toV3String("right", { n: 2 });
  await assert.rejects(() => Wallet.fromV3(text, "wrong"), { message: WRONG_PASSWORD });
});

Deno.test({
  name: `NOT_SENT: pg's error on a connection that was closed or lost${NEEDS_PGBOUNCER}`,
  ignore: NEEDS_PGBOUNCER !== "",
  fn: () =>
    withPgbouncer(async (connectionString) => {
      const closed = new pg.Client({ connectionString });
      await closed.end();
      await assert.rejects(() => closed.query("SELECT 1"), { message: NOT_SENT });

      const socket = new Socket();
      const lost = new pg.Client({ connectionString, stream: () => socket });
      await lost.connect();
      const ended = new Promise<void>((resolve) => lost.on("end", resolve));
      lost.on("error", () => {});
      socket.destroy(new Error("lost"));
      await ended;
      await assert.rejects(() => lost.query("SELECT 1"), { message: NOT_SENT });
    }),
});

Deno.test({
  name: `REFUSED_PARAMETER: pgbouncer's error for a parameter of the session${NEEDS_PGBOUNCER}`,
  ignore: NEEDS_PGBOUNCER !== "",
  fn: () =>
    withPgbouncer(async (connectionString) => {
      const client = new pg.Client({ connectionString, statement_timeout: 1_000 });
      await assert.rejects(() => client.connect(), { message: REFUSED_PARAMETER });
    }),
});
