import type { Hono } from "hono";
import { RpcCode } from "../../lib/protocol/jsonrpc.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { startService } from "../../lib/http/service.ts";
import {
  StoreConnectionLostError,
  StoreDamagedError,
  StoreError,
} from "../../lib/intents/errors.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { listen } from "../../lib/http/listener.ts";
import type { SolverOptions } from "../../services/solver/mod.ts";
import {
  exampleEstimate,
  exampleExecution,
  exampleQuote,
} from "../../services/solver/operations.ts";
import { solverApp } from "../openapi/support/apps.ts";
import { eventually } from "../support/eventually.ts";
import { withField } from "../support/http_answers.ts";
import type { FakeNode } from "../support/fake_node.ts";
import { CHAIN_ID, execution, quoteRequest, solver, user, withSolver } from "../solver/support.ts";
import { refuseByModel } from "./model_refusals.ts";
import { BET_RULES } from "./request_rules.ts";
import { type Expected, type Refusals, type Refused, says } from "./support.ts";

/** A key, pasted into a field by mistake. */
const KEY = `0x${"5e".repeat(32)}`;

/** Errors of any POST, whatever its route: body, origin and content type. */
export function brokenPosts(path: string): Refused[] {
  const noJson = (body: string): Refused => ({
    path,
    body,
    ...says("400 INVALID_REQUEST", "Body", JSON.stringify(body), "send a JSON object"),
  });
  const page = "https://evil.example";
  return [
    noJson("{oops"),
    noJson(""),
    { path, body: `key=${KEY}`, ...says("400 INVALID_REQUEST", 'received "key=…"', "send a JSON") },
    { path, body: [], ...says("400 INVALID_REQUEST", "an empty array", "Expected an object") },
    {
      path,
      body: { x: "y".repeat(70_000) },
      ...says("413 BODY_TOO_LARGE", "Body is over 65536 bytes", "send a smaller one"),
    },
    {
      path,
      body: "{}",
      headers: { origin: page },
      ...says("403 ORIGIN_NOT_ALLOWED", page, "--cors-origins"),
    },
    {
      path,
      body: "{}",
      headers: { "content-type": "text/plain" },
      ...says("415 UNSUPPORTED_MEDIA_TYPE", "text/plain", "application/json"),
    },
    {
      path,
      body: "{}",
      headers: { "content-encoding": "gzip" },
      ...says("415 UNSUPPORTED_MEDIA_TYPE", '"gzip"', "send the body uncompressed"),
    },
  ];
}

const requestsRefused: Refused[] = [
  { path: "/nothing", ...says("404 NOT_FOUND", "GET /nothing", "GET /") },
  { path: "/quote", ...says("405 METHOD_NOT_ALLOWED", "/quote", "POST", "GET") },
  ...["0", "1001", '"x"'].map((received) => ({
    path: `/theses?limit=${received.replaceAll('"', "")}`,
    ...says("400 INVALID_REQUEST", "limit: ", received, "Expected 1 to 1000"),
  })),
  ...["x", "-1"].map((cursor) => ({
    path: `/theses?cursor=${cursor}`,
    ...says("400 INVALID_REQUEST", "cursor: ", `"${cursor}"`, "Expected the nextCursor"),
  })),
  ...["/quote", "/estimate", "/execute"].flatMap(brokenPosts),
  {
    path: "/quote",
    body: quoteRequest({ user: KEY }),
    ...says("400 INVALID_REQUEST", "user: ", '"…"', "Expected an address"),
  },
];

async function refuseBets(refusals: Refusals, url: string): Promise<void> {
  const { user: _, ...terms } = quoteRequest();
  for (const [path, good] of [["/quote", quoteRequest()], ["/estimate", terms]] as const) {
    await refusals.askFields(url, path, good);
    for (const [bad, code, words, accepted] of BET_RULES) {
      await refusals.ask(url, {
        path,
        body: { ...good, ...bad },
        ...says(`400 ${code}`, ...words),
      });
      if (accepted !== undefined) await refusals.expect(url, 200, path, { ...good, ...accepted });
    }
  }
}

async function executionsRefused(url: string): Promise<Refused[]> {
  const good = await execution(url);
  const { quote, userSignature } = good;
  const [byUser, bySolver] = ["User signature", "Quote signature"];
  const refused = (body: unknown, ...expected: Parameters<typeof says>): Refused => ({
    path: "/execute",
    body,
    ...says(...expected),
  });
  const signed = (userSignature: string, ...expected: Parameters<typeof says>) =>
    refused({ quote, userSignature }, ...expected);
  const stranger = new LocalSigner(`0x${"22".repeat(32)}`);
  const foreign = { ...quote, solver: stranger.address };
  const foreignHash = hashQuote(quoteSchema.parse(foreign), CHAIN_ID);
  const onMainnet = user.sign(hashQuote(quoteSchema.parse(quote), 1));
  const expected = `expected ${user.address}`;
  return [
    signed(onMainnet, "401 WRONG_CHAIN", `${byUser} is for chain 1`, "GET /typed-data"),
    signed(quote.signature, "401 INVALID_SIGNATURE", byUser, "checked digest", expected),
    signed(userSignature.slice(0, -2), "401 INVALID_SIGNATURE", byUser, "64 bytes: expected 65"),
    signed(`${userSignature}1b`, "401 INVALID_SIGNATURE", byUser, "66 bytes: expected 65"),
    refused(
      withField(good, "quote.payout", "99999999"),
      ...["401 INVALID_SIGNATURE", bySolver, `expected ${solver.address}`] as const,
    ),
    // Another solver's quote, signed by that solver.
    refused(
      { quote: { ...foreign, signature: stranger.sign(foreignHash) }, userSignature },
      ...["401 INVALID_SIGNATURE", bySolver, `expected ${solver.address}`] as const,
    ),
    refused(
      await execution(url, { deadline: 1 }),
      ...[
        "400 DEADLINE_PASSED",
        "Quote deadline 1 (Unix milliseconds) passed",
        "request a new quote",
      ] as const,
    ),
  ];
}

async function knowsOpenBets(url: string): Promise<true | undefined> {
  return (await (await fetch(`${url}/theses`)).json()).complete;
}

interface ExecutionScene {
  expected: Expected;
  given?: Partial<SolverOptions>;
  prepare?: (node: FakeNode) => void;
  /** What the solver has to know before it is asked. */
  until?: (url: string) => Promise<true | undefined>;
  change?: (node: FakeNode) => void;
  /** What answers 503 by then. */
  unavailable?: string;
}

const hedger = () => listen("127.0.0.1", 0, () => Response.json({ hedged: false, reason: "full" }));

const SCENES: ExecutionScene[] = [
  {
    expected: says("503 DRY_RUN", "dry-run mode", "without --dry-run"),
    given: { dryRun: true },
  },
  {
    expected: says("503 PRICE_STALE", "ETH/USDT", "try again later"),
    change: (node) => node.priceState = "stale",
  },
  {
    expected: says("400 INSUFFICIENT_BALANCE", user.address, "deposit first"),
    change: (node) => node.credited.set(user.address, 0n),
  },
  {
    expected: says("503 BALANCE_TOO_LOW", "Solver balance of 0 USDC", "bet less"),
    change: (node) => node.credited.set(solver.address, 0n),
  },
  {
    expected: says("503 EXPOSURE_TOO_LARGE", "--max-exposure 0.000001", "wait for settlements"),
    given: { maxExposure: 1n },
    until: knowsOpenBets,
  },
  {
    expected: says("503 EXPOSURE_UNKNOWN", "Exposure is unknown", "retry"),
    given: { maxExposure: 10n ** 12n },
    prepare: (node) => node.methods.clear(),
  },
  {
    expected: says("503 NODE_UNREACHABLE", "Node has paused", "try again"),
    change: (node) => node.paused = true,
    unavailable: "/ready",
  },
  {
    expected: says("503 NODE_REFUSED", "Refused by the test", "compare chain ids and clocks"),
    change: (node) => node.refusesAllWith = RpcCode.invalidParams,
    unavailable: "/ready",
  },
  {
    expected: says("503 NODE_UNREACHABLE", "Core node at http://127.0.0.1:9", "try again"),
    given: { rpcUrl: "http://127.0.0.1:9" },
  },
  {
    expected: says("503 CHAIN_MISMATCH", "Core node at", "set --rpc-url"),
    change: (node) => node.genesis = `0x${"77".repeat(32)}`,
    unavailable: "/health",
  },
  {
    expected: says("504 OUTCOME_UNKNOWN", "transaction 0x", "may be sent again"),
    change: (node) => node.loseTransactions(),
  },
  {
    expected: says("400 RISK_TOO_LARGE", "above 0.00001 USDC", "bet less"),
    given: { maxRisk: 10n },
  },
];

async function refuseExecution(refusals: Refusals, scene: ExecutionScene): Promise<void> {
  const { given, prepare, change, until, unavailable, expected } = scene;
  await withSolver(async ({ url }, node) => {
    const body = await execution(url);
    change?.(node);
    if (until !== undefined) await eventually(expected.answer, () => until(url));
    if (unavailable !== undefined) await refusals.expectSoon(url, 503, unavailable);
    await refusals.ask(url, { path: "/execute", body, ...expected });
    if (expected.answer.endsWith("DRY_RUN")) {
      await refusals.expect(url, 200, "/estimate", exampleEstimate);
      await refusals.ask(url, { path: "/execute", body: "{", ...expected });
    }
  }, { ...given, prepare });
}

const THROWN: [thrown: Error, expected: Expected][] = [
  [new StoreError("Disk is full"), says("503 STORE_UNAVAILABLE", "Disk is full", "try again")],
  [
    new StoreDamagedError("Row 1 of the database is damaged"),
    says("503 STORE_DAMAGED", "Row 1", "restore the database"),
  ],
  [
    new StoreConnectionLostError("reset"),
    says("504 STORE_CONNECTION_LOST", "Database connection was lost", "may be sent again"),
  ],
  [new Error("a bug"), says("500 INTERNAL_ERROR", "could not be handled", "see the log")],
];

export async function refuseByStore(
  refusals: Refusals,
  name: "bridge" | "solver",
  appOf: (fail: () => Promise<never>) => Hono,
  requests: readonly { path: string; body?: unknown }[],
): Promise<void> {
  for (const [thrown, expected] of THROWN) {
    const app = appOf(() => Promise.reject(thrown));
    const definition = { name, host: "127.0.0.1", port: 0, health: () => new Response() };
    const service = startService({ ...definition, app, registry: createRegistry() });
    for (const request of requests) await refusals.ask(service.url, { ...request, ...expected });
    await service.stop();
  }
}

/** Routes of the solver that answer anybody. */
const READS = [
  "/",
  "/openapi.json",
  "/health",
  "/metrics",
  "/info",
  "/pairs",
  "/typed-data",
  "/theses",
];

export async function refuseAtSolver(refusals: Refusals): Promise<void> {
  await withSolver(async ({ url }) => {
    const slow = refusals.askSlowly(url, ["/quote", "/estimate", "/execute"]);
    for (const path of READS) await refusals.expect(url, 200, path);
    await refusals.askUnderWrongNames(url);
    await refusals.expectSoon(url, 200, "/ready");
    for (const refused of requestsRefused) await refusals.ask(url, refused);
    // The documents' own examples, on any day until they end.
    await refusals.expect(url, 200, "/quote", exampleQuote);
    await refusals.expect(url, 200, "/estimate", exampleEstimate);
    await refuseBets(refusals, url);
    await refusals.askFields(url, "/execute", await execution(url));
    for (const refused of await executionsRefused(url)) await refusals.ask(url, refused);
    await slow;
  }, { corsOrigins: [] });
  for (const scene of SCENES) await refuseExecution(refusals, scene);
  const hedging = hedger();
  const expected = says("503 HEDGE_REFUSED", "full", "request a new quote");
  await refuseExecution(refusals, { expected, given: { hedgeUrl: hedging.url } });
  await hedging.stop();
  await withSolver(async ({ url }) => {
    await refusals.askTooOften(url, { path: "/theses" });
    for (const path of ["/quote", "/estimate", "/execute"]) {
      await refusals.askTooOften(url, { path, body: {} });
    }
    await refusals.expect(url, 200, "/health");
  }, { rateLimit: 1 });
  await refuseByModel(refusals);
  const request = { path: "/execute", body: exampleExecution };
  await refuseByStore(refusals, "solver", solverApp, [request]);
}
