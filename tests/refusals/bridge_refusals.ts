import { createRegistry } from "../../lib/http/metrics.ts";
import { startService } from "../../lib/http/service.ts";
import {
  StoreConnectionLostError,
  StoreDamagedError,
  StoreError,
} from "../../lib/intents/intent.ts";
import type { TransactionErrorCode } from "../../lib/protocol/receipt.ts";
import { signedRequest, user, withBridge } from "../bridge/support.ts";
import { bridgeApp } from "../openapi/support/apps.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { ConnectionLost, type FakeNode } from "../support/fake_node.ts";
import { brokenPosts } from "./solver_refusals.ts";
import type { Expected, Refusals, Refused } from "./support.ts";

const invalid = { status: 400, code: "INVALID_REQUEST" };

/** Each field of a deposit request with a value that does not fit, and how an answer shows it. */
const WRONG_FIELDS: [field: string, value: unknown, received: string, advice: string][] = [
  ["user", "me", '"me"', "Expected an address"],
  ["amount", "0", '"0"', "at least 1"],
  ["amount", 5, "5", "Expected a decimal integer"],
  ["nonce", "0x1", '"0x1"', "Expected a decimal integer"],
  ["deadline", "soon", '"soon"', "Expected a time in Unix milliseconds"],
  ["signature", "hello", '"hello"', "Expected a signature"],
  ["signature", undefined, "nothing", "Expected a signature"],
];

function requestsRefused(): Refused[] {
  const good = signedRequest();
  const deposit = { path: "/deposit" };
  const signature = { ...deposit, status: 401, code: "INVALID_SIGNATURE" };
  const wrong = (path: string, names: string, received: string, advice: string): Refused => {
    return { path, ...invalid, names, received, advice };
  };
  return [
    { path: "/nothing", status: 404, code: "NOT_FOUND", names: "GET /nothing", advice: "GET /" },
    wrong("/deposits/me", "user", '"me"', "Expected an address"),
    wrong(`/deposits/${user.address}/x`, "nonce", '"x"', "Expected a decimal integer"),
    wrong(`/deposits/${user.address}?limit=101`, "limit", "101", "Expected 1 to 100"),
    {
      ...{ path: `/deposits/${user.address}/7`, status: 404, code: "NOT_FOUND" },
      ...{ names: `No deposit of ${user.address} has nonce 7`, advice: "GET /deposits/" },
    },
    ...brokenPosts("/deposit"),
    ...WRONG_FIELDS.map(([field, value, received, advice]) => ({
      ...{ ...deposit, body: { ...good, [field]: value }, ...invalid },
      ...{ names: field, received, advice },
    })),
    {
      ...{ ...signature, body: { ...good, amount: "1" } },
      ...{ names: "Deposit signature is by another key", advice: `expected ${user.address}` },
    },
    {
      ...{ ...signature, code: "WRONG_CHAIN", body: signedRequest({}, { chainId: 31_337 }) },
      ...{ names: "Deposit signature is for chain 31337", advice: "GET /typed-data" },
    },
    {
      ...{ ...signature, body: { ...good, signature: "0x1234" } },
      ...{ names: "Signature has 2 bytes", advice: "expected 65" },
    },
    {
      ...{ ...deposit, body: signedRequest({ deadline: 1 }), status: 400, code: "DEADLINE_PASSED" },
      ...{ names: "its deadline 1 passed", advice: "sign a new one with a later deadline" },
    },
  ];
}

/** What the node's rules refuse, and the answer. */
const FAILED: [refusal: TransactionErrorCode, expected: Expected][] = [
  ["PERMISSION_DENIED", {
    ...{ status: 503, code: "PERMISSION_DENIED", names: "Refused by the test" },
    advice: "do as it says",
  }],
  ["ORACLE_STALE", {
    ...{ status: 503, code: "TRANSACTION_FAILED", names: "ORACLE_STALE" },
    advice: "send a new request",
  }],
];

/** What a store throws, and the answer. */
const THROWN: [thrown: Error, expected: Expected][] = [
  [new StoreError("Disk is full"), {
    ...{ status: 503, code: "STORE_UNAVAILABLE", names: "Disk is full", advice: "try again" },
  }],
  [new StoreDamagedError("Row 1 of the database is damaged"), {
    ...{ status: 503, code: "STORE_DAMAGED", names: "Row 1", advice: "restore the database" },
  }],
  [new StoreConnectionLostError("reset"), {
    ...{ status: 504, code: "STORE_CONNECTION_LOST", names: "Database connection was lost" },
    advice: "may be sent again",
  }],
  [new Error("a bug"), {
    ...{ status: 500, code: "INTERNAL_ERROR", names: "request could not be handled" },
    advice: "see the log",
  }],
];

/** States of the node in which nothing is recorded; the bridge learns of it within a second. */
const AWAY: [change: (node: FakeNode) => void, expected: Omit<Expected, "status">][] = [
  [(node) => node.paused = true, {
    ...{ code: "NODE_REFUSED", names: "Node has paused", advice: "whether the node has paused" },
  }],
  [(node) => node.down = true, {
    ...{ code: "NODE_UNREACHABLE", names: "Core node at", advice: "try again" },
  }],
  [(node) => node.rewind(), {
    ...{ code: "CHAIN_REWOUND", names: "does not have transaction", advice: "run bridge replay" },
  }],
  [(node) => node.genesis = `0x${"77".repeat(32)}`, {
    ...{ code: "CHAIN_MISMATCH", names: "0x7777", advice: "set --rpc-url" },
  }],
];

async function refuseWhileAway(refusals: Refusals): Promise<void> {
  await withBridge(async ({ url }, node) => {
    const path = "/deposit";
    let nonce = 0n;
    await post(url + path, signedRequest({ nonce }));
    for (const [change, expected] of AWAY) {
      change(node);
      const body = await eventually(expected.code, async () => {
        const request = signedRequest({ nonce: nonce += 1n });
        const answer = await post(url + path, request);
        return answer.body.code === expected.code
          ? signedRequest({ nonce: nonce += 1n })
          : undefined;
      });
      await refusals.ask(url, { path, body, status: 503, ...expected });
      if (node.paused) await refusals.expectSoon(url, 503, "/ready");
      Object.assign(node, { paused: false, down: false });
    }
    await refusals.expectSoon(url, 503, "/health");
  });
}

/** Where deposits are looked up. */
const PATHS = [`/deposits/${user.address}`, `/deposits/${user.address}/1`];

async function refuseByStore(refusals: Refusals, thrown: Error, expected: Expected) {
  const app = bridgeApp(() => Promise.reject(thrown));
  const parts = { name: "bridge", host: "127.0.0.1", port: 0, health: () => new Response() };
  const service = startService({ ...parts, app, registry: createRegistry() });
  for (const path of PATHS) await refusals.ask(service.url, { path, ...expected });
  await service.stop();
}

/** Routes of the bridge that answer anybody. */
const READS = ["/", "/openapi.json", "/health", "/ready", "/metrics", "/info", "/typed-data"];

/** Everything that the bridge refuses, and its other answers. */
export async function refuseAtBridge(refusals: Refusals): Promise<void> {
  await withBridge(async ({ url }, node) => {
    for (const path of READS) await refusals.expect(url, 200, path);
    for (const refused of requestsRefused()) await refusals.ask(url, refused);
    const path = "/deposit";
    await refusals.expect(url, 200, path, signedRequest());
    for (const path of PATHS) await refusals.expect(url, 200, path);
    await refusals.ask(url, {
      ...{ path, body: signedRequest(), status: 409, code: "NONCE_USED" },
      ...{ names: `Nonce 1 of ${user.address}`, advice: "sign another nonce" },
    });
    let nonce = 1n;
    for (const [refusal, expected] of FAILED) {
      node.refusal = refusal;
      await refusals.ask(url, { path, body: signedRequest({ nonce: nonce += 1n }), ...expected });
    }
    node.refusal = undefined;
    node.behaviour = () => {
      throw new ConnectionLost("Node died");
    };
    await refusals.ask(url, {
      ...{ path, body: signedRequest({ nonce: 9n }), status: 504, code: "OUTCOME_UNKNOWN" },
      ...{ names: "transaction 0x", advice: "the same request may be sent again" },
    });
  }, { corsOrigins: [] });
  await withBridge(async ({ url }) => {
    await refusals.askTooOften(url, { path: "/deposit", body: {} });
    for (const path of PATHS) await refusals.askTooOften(url, { path });
  }, { rateLimit: 1 });
  await refuseWhileAway(refusals);
  for (const [thrown, expected] of THROWN) await refuseByStore(refusals, thrown, expected);
}
