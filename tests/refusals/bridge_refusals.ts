import type { TransactionErrorCode } from "../../lib/protocol/receipt.ts";
import { RpcCode } from "../../lib/protocol/jsonrpc.ts";
import { signedRequest, user, withBridge } from "../bridge/support.ts";
import { bridgeApp } from "../openapi/support/apps.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import type { FakeNode } from "../support/fake_node.ts";
import { brokenPosts, refuseByStore } from "./solver_refusals.ts";
import { type Expected, type Refusals, type Refused, says } from "./support.ts";

const NONCE = "Expected a decimal integer";

const WRONG_READS: [path: string, field: string, received: string, advice: string][] = [
  ["/deposits/me", "user", '"me"', "Expected an address"],
  [`/deposits/${user.address}/x`, "nonce", '"x"', NONCE],
  [`/deposits/${user.address}/-1`, "nonce", '"-1"', NONCE],
  [`/deposits/${user.address}/${2n ** 256n}`, "nonce", '"…', "256 bits"],
  [`/deposits/${user.address}?limit=0`, "limit", "0", "Expected 1 to 100"],
  [`/deposits/${user.address}?limit=101`, "limit", "101", "Expected 1 to 100"],
  [`/deposits/${user.address}?cursor=x`, "cursor", '"x"', "Expected the nextCursor"],
];

function requestsRefused(): Refused[] {
  const good = signedRequest();
  const deposit = (body: unknown, ...expected: Parameters<typeof says>): Refused => ({
    path: "/deposit",
    body,
    ...says(...expected),
  });
  const late = signedRequest({ deadline: 1 });
  const elsewhere = signedRequest({}, { chainId: 31_337 });
  const expected = `expected ${user.address}`;
  return [
    { path: "/nothing", ...says("404 NOT_FOUND", "GET /nothing", "GET /") },
    ...WRONG_READS.map(([path, field, ...words]) => ({
      path,
      ...says("400 INVALID_REQUEST", `${field}: `, ...words),
    })),
    {
      path: `/deposits/${user.address}/7`,
      ...says("404 NOT_FOUND", `No deposit of ${user.address} has nonce 7`, "GET /deposits/"),
    },
    ...brokenPosts("/deposit"),
    deposit({ ...good, amount: "1" }, "401 INVALID_SIGNATURE", "of other data: ", expected),
    deposit(elsewhere, "401 WRONG_CHAIN", "is for chain 31337", "GET /typed-data"),
    deposit({ ...good, signature: "0x1234" }, "401 INVALID_SIGNATURE", "2 bytes", "expected 65"),
    deposit(
      late,
      "400 DEADLINE_PASSED",
      "its deadline 1 (Unix milliseconds) passed",
      "a later deadline",
    ),
    // Of several broken rules the first is reported: shape, amount, deadline, signature, nonce.
    deposit({ ...late, signature: "0x" }, "400 DEADLINE_PASSED", "expired", "a later deadline"),
    deposit({ ...late, amount: "0" }, "400 INVALID_REQUEST", "amount: ", "of at least 1"),
    deposit({ ...good, user: "0x", amount: "0" }, "400 INVALID_REQUEST", "user: ", "an address"),
  ];
}

const FAILED: [refusal: TransactionErrorCode, expected: Expected][] = [
  ["PERMISSION_DENIED", says("503 PERMISSION_DENIED", "Refused by the test", "do as it says")],
  ["ORACLE_STALE", says("503 TRANSACTION_FAILED", "ORACLE_STALE", "send a new request")],
];

/** States of the node in which nothing is recorded; the bridge learns of it within a second. */
const AWAY: [change: (node: FakeNode) => void, expected: Expected][] = [
  [
    (node) => node.paused = true,
    says("503 NODE_UNREACHABLE", "Node has paused", "try again"),
  ],
  [
    (node) => node.refusesAllWith = RpcCode.invalidParams,
    says("503 NODE_REFUSED", "Refused by the test", "compare chain ids and clocks"),
  ],
  [(node) => node.down = true, says("503 NODE_UNREACHABLE", "Core node at", "try again")],
  [
    (node) => node.rewind(),
    says("503 CHAIN_REWOUND", "does not have transaction", "run bridge replay"),
  ],
  [
    (node) => node.genesis = `0x${"77".repeat(32)}`,
    says("503 CHAIN_MISMATCH", "0x7777", "set --rpc-url"),
  ],
];

async function refuseWhileAway(refusals: Refusals): Promise<void> {
  await withBridge(async ({ url }, node) => {
    const path = "/deposit";
    let nonce = 0n;
    await post(url + path, signedRequest({ nonce }));
    for (const [change, expected] of AWAY) {
      change(node);
      await eventually(expected.answer, async () => {
        const { body } = await post(url + path, signedRequest({ nonce: nonce += 1n }));
        return expected.answer.endsWith(` ${body.code}`);
      });
      await refusals.ask(url, { path, body: signedRequest({ nonce: nonce += 1n }), ...expected });
      if (node.paused) await refusals.expectSoon(url, 503, "/ready");
      Object.assign(node, { paused: false, down: false, refusesAllWith: undefined });
    }
    await refusals.expectSoon(url, 503, "/health");
  });
}

const PATHS = [`/deposits/${user.address}`, `/deposits/${user.address}/1`];

/** Routes of the bridge that answer anybody. */
const READS = ["/", "/openapi.json", "/health", "/ready", "/metrics", "/info", "/typed-data"];

export async function refuseAtBridge(refusals: Refusals): Promise<void> {
  await withBridge(async ({ url }, node) => {
    const slow = refusals.askSlowly(url, ["/deposit"]);
    for (const path of READS) await refusals.expect(url, 200, path);
    await refusals.askUnderWrongNames(url);
    for (const refused of requestsRefused()) await refusals.ask(url, refused);
    const path = "/deposit";
    await refusals.askFields(url, path, signedRequest());
    await refusals.expect(url, 200, path, signedRequest());
    for (const path of PATHS) await refusals.expect(url, 200, path);
    const ask = (nonce: bigint, expected: Expected) =>
      refusals.ask(url, { path, body: signedRequest({ nonce }), ...expected });
    await ask(1n, says("409 NONCE_USED", `Nonce 1 of ${user.address}`, "sign another nonce"));
    const unsigned = says("401 INVALID_SIGNATURE", "0 bytes", "expected 65");
    await refusals.ask(url, { path, body: { ...signedRequest(), signature: "0x" }, ...unsigned });
    let nonce = 1n;
    for (const [refusal, expected] of FAILED) {
      node.refusal = refusal;
      await ask(nonce += 1n, expected);
    }
    node.refusal = undefined;
    node.loseTransactions();
    await ask(9n, says("504 OUTCOME_UNKNOWN", "transaction 0x", "same request may be sent again"));
    await slow;
  }, { corsOrigins: [] });
  await withBridge(async ({ url }) => {
    await refusals.askTooOften(url, { path: "/deposit", body: {} });
    for (const path of PATHS) await refusals.askTooOften(url, { path });
    await refusals.expect(url, 200, "/health");
  }, { rateLimit: 1 });
  await refuseWhileAway(refusals);
  await refuseByStore(refusals, "bridge", bridgeApp, PATHS.map((path) => ({ path })));
}
