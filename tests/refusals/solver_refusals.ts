import { eventually } from "../support/eventually.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { listen } from "../../lib/http/listener.ts";
import { withField } from "../support/http_answers.ts";
import { ConnectionLost, type FakeNode } from "../support/fake_node.ts";
import {
  execution,
  quoteRequest,
  solver,
  startTestSolver,
  user,
  withSolver,
} from "../solver/support.ts";
import type { SolverOptions } from "../../services/solver/mod.ts";
import { refuseByModel } from "./model_refusals.ts";
import type { Expected, Refusals, Refused } from "./support.ts";

/** A key, pasted into a field by mistake. */
const KEY = `0x${"5e".repeat(32)}`;

const invalid = { status: 400, code: "INVALID_REQUEST" };

/** Each field of a quote request with a value that does not fit, and how an answer shows it. */
const WRONG_FIELDS: [field: string, value: unknown, received: string, advice: string][] = [
  ["thesisType", "round", '"round"', 'Expected "box"'],
  ["base", "0x12", '"0x12"', "Expected an address"],
  ["quote", 5, "5", "Expected an address"],
  ["lowerPrice", "-1", '"-1"', "Expected a decimal integer"],
  ["upperPrice", 1.5, "1.5", "Expected a decimal integer"],
  ["betAmount", "1e6", '"1e6"', "Expected a decimal integer"],
  ["betAmount", "9".repeat(30), "999", "Expected an integer of at most 64 bits"],
  ["startTime", "now", '"now"', "Expected a time in Unix milliseconds"],
  ["endTime", -1, "-1", "Expected a time that is not negative"],
  ["deadline", 0.5, "0.5", "Expected a whole number"],
];

/** Rules of a bet: what is changed, and the answer. */
const BROKEN_RULES: [
  change: Record<string, unknown>,
  code: string,
  names: string,
  advice: string,
][] = [
  [{ base: solver.address }, "UNSUPPORTED_PAIR", `Pair ${solver.address}`, "GET /pairs"],
  [{ betAmount: "0" }, "BET_TOO_SMALL", "Bet of 0 USDC is below 0.000001 USDC", "bet more"],
  [
    { betAmount: "1000000000001" },
    "BET_TOO_LARGE",
    "Bet of 1000000.000001 USDC is above",
    "bet less",
  ],
  [{ startTime: 0, endTime: 1 }, "DURATION_TOO_SHORT", "Duration of 1 ms", "longer window"],
  [{ startTime: 0, endTime: 9e7 }, "DURATION_TOO_LONG", "Duration of 90000000", "shorter window"],
  [{ lowerPrice: "1700000000" }, "INVALID_PRICE_RANGE", "1700 is not below", "raise"],
];

/** What is wrong with any POST body. */
const BROKEN_BODIES: [body: unknown, status: number, parts: Omit<Expected, "status">][] = [
  ["{oops", 400, { ...invalid, names: "Body", received: '"{oops"', advice: "send a JSON object" }],
  ["", 400, { ...invalid, names: "Body", received: '""', advice: "send a JSON object" }],
  [[], 400, {
    ...invalid,
    names: "object",
    received: "an empty array",
    advice: "Expected an object",
  }],
  [{ x: "y".repeat(70_000) }, 413, {
    ...{ code: "BODY_TOO_LARGE", names: "Body is over 65536 bytes", advice: "send a smaller one" },
  }],
];

/** What is wrong with any POST, whatever its route: its body, its origin and its content type. */
export function brokenPosts(path: string): Refused[] {
  const foreign = { path, body: "{}" };
  return [
    ...BROKEN_BODIES.map(([body, status, parts]) => ({ path, body, ...parts, status })),
    {
      ...{ ...foreign, headers: { origin: "https://evil.example" } },
      ...{ status: 403, code: "ORIGIN_NOT_ALLOWED", names: "https://evil.example" },
      advice: "--cors-origins",
    },
    {
      ...{ ...foreign, headers: { "content-type": "text/plain" } },
      ...{ status: 415, code: "UNSUPPORTED_MEDIA_TYPE", names: "text/plain" },
      advice: "application/json",
    },
  ];
}

function requestsRefused(): Refused[] {
  const { user: _, ...terms } = quoteRequest();
  const list: Refused[] = [
    { path: "/nothing", status: 404, code: "NOT_FOUND", names: "GET /nothing", advice: "GET /" },
    { path: "/quote", status: 404, code: "NOT_FOUND", names: "GET /quote", advice: "GET /" },
    {
      ...{ path: "/theses?limit=0", ...invalid, names: "limit" },
      ...{ received: "0", advice: "Expected 1 to" },
    },
    {
      ...{ path: "/theses?cursor=x", ...invalid, names: "cursor" },
      ...{ received: '"x"', advice: "Expected the nextCursor" },
    },
    ...["/quote", "/estimate", "/execute"].flatMap(brokenPosts),
    {
      ...{ path: "/quote", body: quoteRequest({ user: KEY }), ...invalid },
      ...{ names: "user", received: '"…"', advice: "Expected an address" },
    },
  ];
  for (const [path, good] of [["/quote", quoteRequest()], ["/estimate", terms]] as const) {
    for (const [field, value, received, advice] of WRONG_FIELDS) {
      const body = { ...good, [field]: value };
      list.push({ path, body, ...invalid, names: field, received, advice });
    }
    const { endTime: _, ...without } = good;
    const missing = { names: "endTime", received: "nothing", advice: "Expected a time" };
    list.push({ path, body: without, ...invalid, ...missing });
    for (const [change, code, names, advice] of BROKEN_RULES) {
      list.push({ path, body: { ...good, ...change }, status: 400, code, names, advice });
    }
  }
  return list;
}

/** Wrong fields of `POST /execute`. */
async function executionsRefused(url: string): Promise<Refused[]> {
  const good = await execution(url);
  const onMainnet = user.sign(hashQuote(quoteSchema.parse(good.quote), 1));
  const stranger = { ...good, userSignature: good.quote.signature };
  const path = "/execute";
  const wrong = (field: string, value: unknown, received: string, advice: string): Refused => {
    const body = withField(good, field, value);
    return { path, body, ...invalid, names: field, received, advice };
  };
  const signature = { path, status: 401, code: "INVALID_SIGNATURE" };
  return [
    wrong("quote.payout", "x", '"x"', "Expected a decimal integer"),
    wrong("quote.priceRange.lower", undefined, "nothing", "Expected a decimal integer"),
    wrong("quote.oraclePair.base", "0x", '"0x"', "Expected an address"),
    wrong("userSignature", "hello", '"hello"', "Expected a signature: 0x and hex digits"),
    {
      ...{ ...signature, code: "WRONG_CHAIN", body: { ...good, userSignature: onMainnet } },
      ...{ names: "User signature is for chain 1", advice: "GET /typed-data" },
    },
    { ...signature, body: stranger, names: "User signature", advice: `expected ${user.address}` },
    {
      ...{ ...signature, body: { ...good, userSignature: good.userSignature.slice(0, -2) } },
      ...{ names: "User signature", advice: "expected 65" },
    },
    {
      ...{ ...signature, body: withField(good, "quote.payout", "99999999") },
      ...{ names: "signature", advice: `expected ${solver.address}` },
    },
    {
      ...{
        path,
        body: await execution(url, { deadline: 1 }),
        status: 400,
        code: "DEADLINE_PASSED",
      },
      ...{ names: "Quote deadline 1 passed", advice: "request a new quote" },
    },
  ];
}

async function knowsOpenBets(url: string): Promise<true | undefined> {
  return (await (await fetch(`${url}/theses`)).json()).complete || undefined;
}

/** One state in which an execution is refused. */
interface ExecutionScene extends Omit<Expected, "status"> {
  status?: number;
  given?: Partial<SolverOptions>;
  /** Before the solver starts. */
  prepare?: (node: FakeNode) => void;
  /** What the solver has to know before it is asked. */
  until?: (url: string) => Promise<true | undefined>;
  /** Once there is a quote. */
  change?: (node: FakeNode) => void;
  /** What answers 503 by then. */
  unavailable?: string;
}

const lost = () => {
  throw new ConnectionLost("Node died");
};

/** A service that hedges nothing. */
const hedger = () => listen("127.0.0.1", 0, () => Response.json({ hedged: false, reason: "full" }));

const SCENES: ExecutionScene[] = [
  { code: "DRY_RUN", names: "dry-run mode", advice: "without --dry-run", given: { dryRun: true } },
  {
    ...{ code: "PRICE_STALE", names: "ETH/USDT", advice: "try again later" },
    change: (node) => node.priceState = "stale",
  },
  {
    ...{ code: "INSUFFICIENT_BALANCE", status: 400, names: user.address, advice: "deposit first" },
    change: (node) => node.credited.set(user.address, 0n),
  },
  {
    ...{ code: "BALANCE_TOO_LOW", names: "Solver balance of 0 USDC", advice: "bet less" },
    change: (node) => node.credited.set(solver.address, 0n),
  },
  {
    ...{
      code: "EXPOSURE_TOO_LARGE",
      names: "--max-exposure 0.000001 USDC",
      advice: "wait for settlements",
    },
    ...{ given: { maxExposure: 1n }, until: knowsOpenBets },
  },
  {
    ...{ code: "EXPOSURE_UNKNOWN", names: "Exposure is unknown", advice: "retry" },
    ...{ given: { maxExposure: 10n ** 12n }, prepare: (node) => node.methods.clear() },
  },
  {
    ...{
      code: "NODE_REFUSED",
      names: "Node has paused",
      advice: "see whether the node has paused",
    },
    ...{ change: (node) => node.paused = true, unavailable: "/ready" },
  },
  {
    ...{ code: "NODE_UNREACHABLE", names: "Core node at http://127.0.0.1:9", advice: "try again" },
    given: { rpcUrl: "http://127.0.0.1:9" },
  },
  {
    ...{ code: "CHAIN_MISMATCH", names: "Core node at", advice: "set --rpc-url" },
    ...{ change: (node) => node.genesis = `0x${"77".repeat(32)}`, unavailable: "/health" },
  },
  {
    ...{
      code: "OUTCOME_UNKNOWN",
      status: 504,
      names: "transaction 0x",
      advice: "may be sent again",
    },
    change: (node) => node.behaviour = lost,
  },
];

async function refuseExecution(refusals: Refusals, scene: ExecutionScene): Promise<void> {
  const { given, prepare, change, until, unavailable, ...expected } = scene;
  await withSolver(
    async ({ url }, node) => {
      const body = await execution(url);
      change?.(node);
      if (until !== undefined) await eventually(`the cause of ${scene.code}`, () => until(url));
      if (unavailable !== undefined) await refusals.expectSoon(url, 503, unavailable);
      await refusals.ask(url, { path: "/execute", body, status: 503, ...expected });
    },
    given,
    prepare,
  );
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

/** Everything that the solver refuses, and its other answers. */
export async function refuseAtSolver(refusals: Refusals): Promise<void> {
  await withSolver(async ({ url }, node) => {
    for (const path of READS) await refusals.expect(url, 200, path);
    await refusals.expectSoon(url, 200, "/ready");
    for (const path of ["/quote", "/estimate"]) {
      await refusals.expect(url, 200, path, quoteRequest());
    }
    await refusals.expect(url, 200, "/execute", await execution(url));
    for (const refused of requestsRefused()) await refusals.ask(url, refused);
    for (const refused of await executionsRefused(url)) await refusals.ask(url, refused);
    const careful = await startTestSolver(node, { maxRisk: 10n });
    const body = await execution(url);
    const risk = {
      status: 400,
      code: "RISK_TOO_LARGE",
      names: "above 0.00001 USDC",
      advice: "bet less",
    };
    await refusals.ask(careful.url, { path: "/execute", body, ...risk });
    await careful.stop();
  }, { corsOrigins: [] });
  for (const scene of SCENES) await refuseExecution(refusals, scene);
  const hedging = hedger();
  const refused = { code: "HEDGE_REFUSED", names: "full", advice: "request a new quote" };
  await refuseExecution(refusals, { ...refused, given: { hedgeUrl: hedging.url } });
  await hedging.stop();
  await withSolver(async ({ url }) => {
    await refusals.askTooOften(url, { path: "/theses" });
    for (const path of ["/quote", "/estimate", "/execute"]) {
      await refusals.askTooOften(url, { path, body: {} });
    }
  }, { rateLimit: 1 });
  await refuseByModel(refusals);
}
