import assert from "node:assert/strict";
import { Cors } from "../../../lib/http/cors.ts";

const [GOOD, BAD] = ["https://good.example", "https://bad.example"];

Deno.test("Cors: only allowed origins may call, and get CORS headers", () => {
  const anyone = new Cors(["*"]);
  const some = new Cors([GOOD]);
  const vary = ["vary", "origin"];
  // A cache must not serve one origin's answer to another, so answers vary by origin.
  const rows: [cors: Cors, origin: string | null, allowed: boolean, headers: string[][]][] = [
    [anyone, null, true, []],
    [anyone, BAD, true, [["access-control-allow-origin", "*"]]],
    [some, null, true, [vary]],
    [some, GOOD, true, [["access-control-allow-origin", GOOD], vary]],
    [some, BAD, false, [vary]],
    [some, "null", false, [vary]],
    [some, `${GOOD}.bad.example`, false, [vary]],
    [new Cors([]), GOOD, false, [vary]],
  ];
  for (const [cors, origin, allowed, headers] of rows) {
    assert.equal(cors.allows(origin), allowed, String(origin));
    assert.deepEqual(cors.headers(origin), headers, String(origin));
  }
});

Deno.test("Cors: a preflight allows POST and the headers asked for, for a day", () => {
  const preflight = (headers: Record<string, string>) =>
    new Cors([GOOD]).preflight(new Request("http://x/", { method: "OPTIONS", headers }));
  const answer = preflight({
    origin: GOOD,
    "access-control-request-headers": "content-type, x-api-key",
  });
  assert.equal(answer.status, 204);
  assert.deepEqual(Object.fromEntries(answer.headers), {
    "access-control-allow-headers": "content-type, x-api-key",
    "access-control-allow-methods": "GET,POST,OPTIONS",
    "access-control-allow-origin": GOOD,
    "access-control-max-age": "86400",
    vary: "origin",
  });
  const refused = preflight({ origin: BAD });
  assert.equal(refused.headers.get("access-control-allow-origin"), null);
  assert.equal(refused.headers.get("access-control-allow-headers"), null);
});
