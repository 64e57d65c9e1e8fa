import assert from "node:assert/strict";
import {
  NetworkError,
  RangemakerError,
  type Retry,
  WalletError,
} from "../../../../lib/client/mod.ts";
import {
  type BetSize,
  explain,
  explainDeposit,
  EXPLAINED_CODES,
} from "../../../../services/console/page/data/explain.ts";
import { REFUSAL_TEXTS } from "../../../../services/console/page/maker/answers.ts";

Deno.test("explain: every code with an explanation is in the documents", () => {
  const documents = ["reference", "protocol", "client"]
    .map((name) => Deno.readTextFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url)));
  for (const code of [...EXPLAINED_CODES, ...Object.keys(REFUSAL_TEXTS)]) {
    assert(documents.some((text) => text.includes(`\`${code}\``)), code);
  }
});

Deno.test("explain: without an explanation, the error's own message is shown", () => {
  assert.deepEqual(explain(new TypeError("odd")), { code: "UNEXPECTED", text: "odd" });
  for (const message of ["Too odd", "See http://a answered 400: odd"]) {
    assert.equal(explain(new RangemakerError("OTHER", message)).text, message);
  }
  assert.match(explain(new RangemakerError("DRY_RUN", "no")).text, /^This maker quotes only/);
});

Deno.test("explain: a maker at its limit takes a bet that fits, cut to cents, and none below its smallest", () => {
  const size = { betAmount: 20_000_000n, minBetAmount: 1_000_000n };
  const textOf = (details: Record<string, string>, given: BetSize | undefined = size) =>
    explain(new RangemakerError("EXPOSURE_TOO_LARGE", "full", { details }), given).text;
  // 20 USDC add 30 to 281.55: 18.45 are free, for 12.30 USDC.
  const full = { exposure: "311550000", maxExposure: "300000000", risk: "30000000" };
  assert.equal(textOf(full), "The maker takes at most 12.30 USDC on this box now.");
  const { most } = explain(
    new RangemakerError("EXPOSURE_TOO_LARGE", "full", { details: full }),
    size,
  );
  assert.equal(most, 12_300_000n);
  assert.equal(
    textOf({ ...full, exposure: "311550001" }),
    "The maker takes at most 12.29 USDC on this box now.",
  );
  const none = "The maker is full now: later, or another box.";
  for (const exposure of ["328600000", "330000000", "340000000"]) {
    assert.equal(textOf({ ...full, exposure }), none);
  }
  assert.equal(textOf({ ...full, exposure: "329999999" }, { ...size, minBetAmount: 0n }), none);
  for (const details of [{}, { ...full, risk: "0" }]) assert.match(textOf(details), /no more risk/);
  assert.match(explain(new RangemakerError("EXPOSURE_TOO_LARGE", "full")).text, /no more risk/);
});

Deno.test("explain: a service's message is shown without the URL that was called", () => {
  const message = "http://127.0.0.1:3000/estimate answered 400: BET_TOO_LARGE: Bet 2 is above 1";
  assert.deepEqual(explain(new RangemakerError("BET_TOO_LARGE", message)), {
    code: "BET_TOO_LARGE",
    text: "Bet 2 is above 1",
  });
  const page = new RangemakerError("INVALID_ANSWER", "https://a answered 500: No page");
  assert.equal(explain(page).text, "No page");
});

Deno.test("explain: says once to try again, as soon as the error says", () => {
  const textOf = (retry: Retry) =>
    explain(new NetworkError("SERVICE_UNREACHABLE", "no", undefined, retry)).text;
  assert.equal(textOf("same"), "No answer from the service. Try again.");
  assert.equal(textOf("later"), "No answer from the service. Try again in a moment.");
});

Deno.test("explainDeposit: says of a late signature, another chain and a lost answer what to do, and nothing of quotes", () => {
  const late = "It was signed too late. Try again, and sign within a minute.";
  assert.equal(explainDeposit(new RangemakerError("DEADLINE_PASSED", "late")), late);
  const other = "The wallet is on another chain. Switch it, and try again.";
  assert.equal(explainDeposit(new WalletError("WRONG_CHAIN", "1")), other);
  const used = new RangemakerError("NONCE_USED", "used");
  for (const lost of [used, new NetworkError("SERVICE_TIMEOUT", "late")]) {
    assert.match(explainDeposit(lost), /the money arrives once/);
  }
});
