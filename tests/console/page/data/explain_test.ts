import assert from "node:assert/strict";
import { z } from "zod";
import {
  NetworkError,
  RangemakerError,
  type Retry,
  RpcError,
  WalletError,
} from "../../../../lib/client/mod.ts";
import { callJson } from "../../../../lib/net/call_json.ts";
import {
  explain,
  explainDeposit,
  EXPLANATIONS,
} from "../../../../services/console/page/data/explain.ts";
import { REFUSAL_TEXTS } from "../../../../services/console/page/maker/answers.ts";

Deno.test("explain: every code with an explanation is in the documents", () => {
  const documents = ["reference", "protocol", "client"]
    .map((name) => Deno.readTextFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url)));
  for (const code of [...EXPLANATIONS.keys(), ...REFUSAL_TEXTS.keys()]) {
    assert(documents.some((text) => text.includes(`\`${code}\``)), code);
  }
});

Deno.test("explain: without an explanation, the error's own message is shown", () => {
  assert.deepEqual(explain(new TypeError("odd")), { code: "UNEXPECTED", text: "odd" });
  for (const message of ["Too odd", "See http://a answered 400: odd"]) {
    assert.equal(explain(new RangemakerError("OTHER", message)).text, message);
  }
  for (const code of ["constructor", "__proto__", "toString"]) { // each object has these
    const odd = new RangemakerError(code, "odd");
    assert.deepEqual([explain(odd).text, explainDeposit(odd)], ["odd", "odd"]);
  }
  assert.match(explain(new RangemakerError("DRY_RUN", "no")).text, /^This maker quotes only/);
});

Deno.test("explain: what only an operator can repair is not explained by options and databases", () => {
  const message = "the database belongs to another chain: set --rpc-url to a node of that chain";
  for (
    const code of [
      "CHAIN_MISMATCH",
      "CHAIN_REWOUND",
      "STORE_DAMAGED",
      "PERMISSION_DENIED",
      "NODE_REFUSED",
    ]
  ) {
    const { text } = explain(new RangemakerError(code, message));
    assert.equal(text, "The service is out of order until its operator repairs it.");
  }
  for (const code of ["STORE_UNAVAILABLE", "CLOCKS_DIFFER"]) {
    const { text } = explain(new RangemakerError(code, "of this machine", { retry: "later" }));
    assert.equal(text, "The service is out of order. Try again in a moment.");
  }
});

Deno.test("explain: shows neither the page nor the URL of something that answers in place of a service", async () => {
  const body = "data:application/json,<html>Sign in</html>";
  const thrown = await callJson(body, z.object({})).catch((thrown: unknown) => thrown);
  assert.match(String(thrown), /<html>/);
  assert.deepEqual(explain(thrown), {
    code: "INVALID_ANSWER",
    text: "Something else answers in place of the service. Try again later.",
  });
});

Deno.test("explain: says once to try again, as soon as the error says", () => {
  const textOf = (retry: Retry) =>
    explain(new NetworkError("SERVICE_UNREACHABLE", "no", undefined, retry)).text;
  assert.equal(textOf("same"), "No answer from the service. Try again.");
  assert.equal(textOf("later"), "No answer from the service. Try again in a moment.");
  const { text } = explain(new RpcError(-32002, "The read node cannot be reached: ECONNREFUSED"));
  assert.equal(text, "The chain does not answer. Try again in a moment.");
});

Deno.test("explainDeposit: gives advice on a late signature, another chain and a lost answer, without mentioning quotes", () => {
  const late = "It was signed too late. Try again, and sign within a minute.";
  assert.equal(explainDeposit(new RangemakerError("DEADLINE_PASSED", "late")), late);
  const other = "The wallet is on another chain. Switch it, and try again.";
  assert.equal(explainDeposit(new WalletError("WRONG_CHAIN", "1")), other);
  const used = new RangemakerError("NONCE_USED", "used");
  for (const lost of [used, new NetworkError("SERVICE_TIMEOUT", "late")]) {
    assert.match(explainDeposit(lost), /the money arrives once/);
  }
});
