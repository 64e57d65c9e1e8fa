/**
 * What the conformance tests share. They treat the program as a stranger would: URLs, viem for
 * wallets and digests, the type strings of the documents, and JSON as it comes.
 */
import assert from "node:assert/strict";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { FREE_PORTS } from "../../services/stack/ports.ts";
import { type RunningStack, type StackUrls, startStack } from "../../services/stack/stack.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";

const SEED = 7;

/** The signing domain of the documents' messages (docs/protocol.md, "Signatures"). */
const DOMAIN = { name: "Core", version: "1", chainId: 1337 };

/** The supported pairs as the documents list them. */
export const PAIRS = [
  { symbol: "BTC/USDT", base: "0x0000000000000000000000000000000000000001" },
  { symbol: "ETH/USDT", base: "0x0000000000000000000000000000000000000002" },
  { symbol: "SOL/USDT", base: "0x0000000000000000000000000000000000000003" },
].map((pair) => ({ ...pair, quote: "0x0000000000000000000000000000000000000100" }));

/** The common types of the documents, as JSON carries them. */
export const wire = {
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  hash: z.string().regex(/^0x[0-9a-f]{64}$/),
  signature: z.string().regex(/^0x[0-9a-f]{130}$/),
  decimal: z.string().regex(/^(0|[1-9]\d*)$/),
  timeMs: z.int().positive(),
  success: z.literal(true),
} as const;

let running: RunningStack | undefined;

/**
 * The stack that starts before the first test of the isolate, with prices, and stops after the
 * last. It keeps running during each test, so the sanitizers would report its sockets and timers.
 */
export const stack = {
  get urls(): StackUrls {
    return running?.urls ?? assert.fail("The stack runs from the first test to the last");
  },
};

Deno.test.sanitizer({ ops: false, resources: false });
Deno.test.beforeAll(async () => {
  running = await startStack({ ports: FREE_PORTS, seed: SEED });
  await untilPriced(running.urls.node);
});
Deno.test.afterAll(async () => await running?.stop());

/** Resolves once the node takes theses on every market. */
export async function untilPriced(nodeUrl: string): Promise<void> {
  await eventually("fresh prices on the node", async () => {
    const { result } = await rpc(nodeUrl, "core_getOracleStatus");
    return Object(result).state === "fresh" ? true : undefined;
  });
}

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export async function rpc(
  url: string,
  method: string,
  params: unknown[] = [],
): Promise<z.output<typeof answerSchema>> {
  const { body } = await post(url, { jsonrpc: "2.0", id: 1, method, params });
  return answerSchema.parse(body);
}

export async function get<S extends z.ZodType>(url: string, schema: S): Promise<z.output<S>> {
  const response = await fetch(url);
  const body: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return schema.parse(body);
}

export function newWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}

/** A type string of the documents as a wallet takes it. */
export function typedData(typeString: string) {
  const [primaryType = "", members = ""] = typeString.slice(0, -1).split("(");
  const fields = members.split(",").map((member) => {
    const [type = "", name = ""] = member.split(" ");
    return { name, type };
  });
  return { domain: DOMAIN, types: { [primaryType]: fields }, primaryType };
}

export const DEPOSIT_REQUEST_TYPE =
  "Core:Deposit(address user,uint256 amount,uint256 nonce,uint256 deadline)";

export async function signedDeposit(
  wallet: PrivateKeyAccount,
  overrides: Partial<{ amount: string; nonce: string; deadline: number }> = {},
) {
  const message = {
    user: wallet.address,
    amount: "1000000000",
    nonce: "1",
    deadline: Date.now() + 30_000,
    ...overrides,
  };
  const signature = await wallet.signTypedData({ ...typedData(DEPOSIT_REQUEST_TYPE), message });
  return { ...message, signature };
}

export async function fundedWallet(urls: StackUrls): Promise<PrivateKeyAccount> {
  const wallet = newWallet();
  const { status, body } = await post(
    `${urls.bridge}/deposit`,
    await signedDeposit(wallet),
  );
  assert.equal(status, 200, JSON.stringify(body));
  return wallet;
}
