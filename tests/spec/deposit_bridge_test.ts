/** Part B of the proxy and bridge document, against a whole stack: every row of the deposit bridge. */
import assert from "node:assert/strict";
import { hashTypedData } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import config from "../../deno.json" with { type: "json" };
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import {
  DOMAIN,
  fundedWallet,
  get,
  newWallet,
  rpc,
  sharedStack,
  signedDeposit,
  typedData,
  wire,
} from "./support.ts";

const stack = sharedStack();
const relayer = privateKeyToAccount(DEV_ACCOUNTS.relayer.privateKey);

/** The type strings of the document. */
const REQUEST_TYPE = "Core:Deposit(address user,uint256 amount,uint256 nonce,uint256 deadline)";
const TRANSACTION_TYPE =
  "Core:Deposit(uint64 timestamp,address from,address user,uint64 amount,bytes32 externalTxHash)";

const answerSchema = z.strictObject({ success: wire.success, txHash: wire.hash });

async function balanceOf({ address }: PrivateKeyAccount): Promise<string> {
  return Object((await rpc(stack.urls.nodeRead, "core_getAccount", [address])).result).balance;
}

/** Signs a request, changes it, sends it. */
async function send(
  wallet: PrivateKeyAccount,
  given: Parameters<typeof signedDeposit>[2] = {},
  changed: Record<string, unknown> = {},
) {
  const request = await signedDeposit(stack.urls.bridge, wallet, given);
  return await post(`${stack.urls.bridge}/deposit`, { ...request, ...changed });
}

const ADDRESSES = ["0x01", "1".repeat(42), `0x${"g".repeat(40)}`, 1, null];
const INTEGERS = ["", "1.5", "-1", "0x10", "1e3", 1, null];
const FIELDS: Record<string, unknown[]> = {
  user: ADDRESSES,
  amount: [...INTEGERS, "0", "18446744073709551616"],
  nonce: [...INTEGERS, (2n ** 256n).toString()],
  deadline: ["1700000000000", 1.5, -1, null],
  signature: ["nothing", "0xzz", 1, null],
};
for (const [field, wrong] of Object.entries(FIELDS)) {
  Deno.test(`deposit bridge, Deposit request, ${field}: required, and of its type`, async () => {
    const wallet = newWallet();
    const request = await signedDeposit(stack.urls.bridge, wallet);
    for (const value of [undefined, ...wrong]) {
      const answer = post(`${stack.urls.bridge}/deposit`, { ...request, [field]: value });
      await assertFailure(answer, 400, new RegExp(`^INVALID_REQUEST: ${field}: `));
    }
    assert.equal(await balanceOf(wallet), "0");
  });
}

Deno.test("deposit bridge, Deposit request, signature: 65 bytes, neither more nor less", async () => {
  const wallet = newWallet();
  const { signature } = await signedDeposit(stack.urls.bridge, wallet);
  for (const wrong of [signature.slice(0, -2), `${signature}1b`, "0x"]) {
    await assertFailure(send(wallet, {}, { signature: wrong }), 401, /signature/i);
  }
  assert.equal(await balanceOf(wallet), "0");
});

for (const amount of ["1", "18446744073709551615"]) {
  Deno.test(`deposit bridge, Deposit request, amount ${amount}: credited exactly`, async () => {
    const wallet = newWallet();
    answerSchema.parse((await send(wallet, { amount })).body);
    assert.equal(await balanceOf(wallet), amount);
  });
}

const TYPED_DATA: [field: string, value: unknown][] = [
  ["domain", DOMAIN],
  ["types", typedData(REQUEST_TYPE).types],
  ["primaryType", "Core:Deposit"],
];
for (const [field, value] of TYPED_DATA) {
  Deno.test(`deposit bridge, Typed-data description, ${field}: as the document has it`, async () => {
    const described = await get(
      `${stack.urls.bridge}/typed-data`,
      z.strictObject({ domain: z.unknown(), types: z.unknown(), primaryType: z.unknown() }),
    );
    assert.deepEqual(Object(described)[field], value);
  });
}

/** A deposit transaction as a relayer without our bridge would send it. */
async function sendTransaction(
  sender: PrivateKeyAccount,
  fields: { user: string; amount: string; externalTxHash: string },
) {
  const message = { timestamp: Date.now(), from: sender.address, ...fields };
  const typed = { ...typedData(TRANSACTION_TYPE), message };
  const signature = await sender.signTypedData(typed);
  const tx = { type: "Deposit", ...message, signature };
  return {
    ...await rpc(stack.urls.node, "core_sendTransaction", [tx]),
    hash: hashTypedData(typed),
  };
}

function randomHash(): string {
  return `0x${crypto.getRandomValues(new Uint8Array(32)).toHex()}`;
}

Deno.test(
  "deposit bridge, Deposit transaction, type string: its digest is the transaction hash",
  async () => {
    const { address: user } = newWallet();
    const sent = await sendTransaction(relayer, {
      user,
      amount: "5",
      externalTxHash: randomHash(),
    });
    assert.deepEqual(
      [Object(sent.result).status, Object(sent.result).txHash],
      ["committed", sent.hash],
    );
  },
);

Deno.test("deposit bridge, Deposit transaction, permission: relayer only", async () => {
  const stranger = newWallet();
  const fields = { user: stranger.address, amount: "5", externalTxHash: randomHash() };
  const { result } = await sendTransaction(stranger, fields);
  assert.equal(Object(result).error.code, "PERMISSION_DENIED");
  assert.equal(await balanceOf(stranger), "0");
});

const TRANSACTION_FIELDS: [field: string, given: Record<string, string>][] = [
  ["user", { user: "0x0000000000000000000000000000000000000000ff" }],
  ["amount", { amount: "18446744073709551616" }],
  ["externalTxHash", { externalTxHash: "0x11" }],
];
for (const [field, given] of TRANSACTION_FIELDS) {
  Deno.test(
    `deposit bridge, Deposit transaction, ${field}: a value of another type is refused`,
    async () => {
      const fields = { user: newWallet().address, amount: "5", externalTxHash: randomHash() };
      const tx = {
        type: "Deposit",
        timestamp: Date.now(),
        from: relayer.address,
        ...fields,
        ...given,
        signature: `0x${"11".repeat(65)}`,
      };
      const { error } = await rpc(stack.urls.node, "core_sendTransaction", [tx]);
      assert.equal(error?.code, -32602);
      assert.match(error.message, new RegExp(field));
    },
  );
}

Deno.test("deposit bridge, external_tx_hash: a mock of 32 bytes, taken once by the node", async () => {
  const wallet = await fundedWallet(stack.urls);
  const deposit = Object(
    (await get(`${stack.urls.bridge}/deposits/${wallet.address}/1`, z.looseObject({}))).deposit,
  );
  wire.hash.parse(deposit.externalTxHash);
  const again = { user: wallet.address, amount: "1", externalTxHash: deposit.externalTxHash };
  const { result } = await sendTransaction(relayer, again);
  assert.equal(Object(result).error.code, "DEPOSIT_ALREADY_PROCESSED");
  assert.equal(await balanceOf(wallet), "1000000000");
});

const HEALTH = z.strictObject({
  status: z.literal("healthy"),
  rpc: z.literal(true),
  bridge: z.literal(relayer.address),
  timestamp: wire.timeMs,
});
for (const field of Object.keys(HEALTH.shape)) {
  Deno.test(`deposit bridge, GET /health, ${field}: present, of its type, and right`, async () => {
    const before = Date.now();
    const health = await get(`${stack.urls.bridge}/health`, HEALTH);
    assert.ok(field in health);
    assert.ok(health.timestamp >= before && health.timestamp <= Date.now());
  });
}

for (const field of ["name", "version", "bridge", "rpcUrl"] as const) {
  Deno.test(`deposit bridge, GET /info, ${field}: present, of its type, and right`, async () => {
    const info = await get(
      `${stack.urls.bridge}/info`,
      z.strictObject({
        name: z.literal("rangemaker bridge"),
        version: z.literal(config.version),
        bridge: z.literal(relayer.address),
        rpcUrl: z.literal(stack.urls.node),
      }),
    );
    assert.ok(field in info);
  });
}

Deno.test(
  "deposit bridge, POST /deposit, success: success true and the hash of a committed transaction",
  async () => {
    const { status, body } = await send(newWallet());
    const { txHash } = answerSchema.parse(body);
    const { result } = await rpc(stack.urls.node, "core_getTransaction", [txHash]);
    assert.deepEqual([status, Object(result).status], [200, "committed"]);
  },
);

Deno.test(
  "deposit bridge, Deposit rules, 1: a message by the described domain and types is credited",
  async () => {
    const wallet = newWallet();
    const message = { user: wallet.address, amount: "7", nonce: "9", deadline: Date.now() + 9_000 };
    const signature = await wallet.signTypedData({ ...typedData(REQUEST_TYPE), message });
    const { body } = await post(`${stack.urls.bridge}/deposit`, { ...message, signature });
    answerSchema.parse(body);
    assert.equal(await balanceOf(wallet), "7");
  },
);

const TAMPERED: Record<string, Record<string, unknown>> = {
  user: { user: newWallet().address },
  amount: { amount: "2000000000" },
  nonce: { nonce: "2" },
  deadline: { deadline: Date.now() + 60_000 },
};
for (const [field, changed] of Object.entries(TAMPERED)) {
  Deno.test(
    `deposit bridge, Deposit rules, 2: a request whose ${field} was not signed is refused`,
    async () => {
      const wallet = newWallet();
      await assertFailure(send(wallet, {}, changed), 401, /^Deposit signature is by another key/);
      assert.equal(await balanceOf(wallet), "0");
    },
  );
}

Deno.test(
  "deposit bridge, Deposit rules, 3: a passed deadline fails with an expiry message",
  async () => {
    const wallet = newWallet();
    await assertFailure(send(wallet, { deadline: Date.now() - 1 }), 400, /expired/);
    assert.equal(await balanceOf(wallet), "0");
    assert.equal((await send(wallet, { deadline: Date.now() + 5_000 })).status, 200);
  },
);

Deno.test(
  "deposit bridge, Deposit rules, 4: the transaction is submitted, and the answer has its hash",
  async () => {
    const wallet = newWallet();
    const { txHash } = answerSchema.parse((await send(wallet)).body);
    const { result } = await rpc(stack.urls.nodeRead, "core_getTransaction", [txHash]);
    assert.deepEqual([Object(result).txHash, Object(result).status], [txHash, "committed"]);
    assert.equal(await balanceOf(wallet), "1000000000");
  },
);

Deno.test(
  "deposit bridge, Authentication, nonce: a second request with it is refused, a new one is not",
  async () => {
    const wallet = newWallet();
    assert.equal((await send(wallet)).status, 200);
    await assertFailure(send(wallet), 409, /^Nonce 1 /);
    await assertFailure(send(wallet, { amount: "5" }), 409, /^Nonce 1 /);
    assert.equal(await balanceOf(wallet), "1000000000");
    assert.equal((await send(wallet, { nonce: "2" })).status, 200);
    assert.equal(await balanceOf(wallet), "2000000000");
  },
);

Deno.test("deposit bridge, Authentication, nonce: the nonces of two users are independent", async () => {
  for (const wallet of [newWallet(), newWallet()]) {
    assert.equal((await send(wallet, { nonce: "77" })).status, 200);
  }
});

Deno.test(
  "deposit bridge, Errors, failure envelope: success false and error, for no JSON too",
  () => assertFailure(post(`${stack.urls.bridge}/deposit`, "{"), 400, /^INVALID_REQUEST: /).then(),
);
