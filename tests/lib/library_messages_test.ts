/** Messages that no test of their users provokes in all their forms. */
import assert from "node:assert/strict";
import { Socket } from "node:net";
// @ts-types="@types/pg"
import pg from "pg";
import { z } from "zod";
import * as mini from "zod/mini";
import { DEFAULT_MESSAGE, NOT_SENT } from "../../lib/library_messages.ts";
import { NEEDS_POSTGRES, POSTGRES_URL } from "../support/postgres.ts";

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

Deno.test({
  name: `NOT_SENT: pg's error on a connection that was closed or lost${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  async fn() {
    const connectionString = POSTGRES_URL ?? assert.fail();
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
  },
});
