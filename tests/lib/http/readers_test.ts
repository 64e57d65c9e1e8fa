import assert from "node:assert/strict";
import { Hono } from "hono";
import { allowReadsFrom } from "../../../lib/http/json_api.ts";

const PAGE = "http://127.0.0.1:8600";

async function allowedOrigin(
  corsOrigins: readonly string[] | undefined,
  origin: string,
  method = "GET",
): Promise<string | null> {
  const app = new Hono();
  allowReadsFrom(app, corsOrigins);
  app.all("/metrics", (c) => c.text(""));
  const answer = await app.request("/metrics", { method, headers: { origin } });
  return answer.headers.get("access-control-allow-origin");
}

Deno.test("allowReadsFrom: only the given origins may read, and only with GET", async () => {
  assert.equal(await allowedOrigin([PAGE], PAGE), PAGE);
  assert.equal(await allowedOrigin([PAGE], "https://other.example"), null);
  assert.equal(await allowedOrigin([PAGE], PAGE, "POST"), null);
  assert.equal(await allowedOrigin(["*"], PAGE), "*");
});

Deno.test("allowReadsFrom: without origins, no page may read", async () => {
  assert.equal(await allowedOrigin(undefined, PAGE), null);
});
