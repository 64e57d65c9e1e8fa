/**
 * Part B of the proxy and bridge document, against a whole stack: every row of the deposit bridge.
 * `tests/refusals` sends the requests that it has to refuse.
 */
import assert from "node:assert/strict";
import { hashTypedData } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { post } from "../support/http_answers.ts";
import {
  DEPOSIT_REQUEST_TYPE,
  get,
  newWallet,
  rpc,
  signedDeposit,
  stack,
  typedData,
  wire,
} from "./support.ts";

const relayer = privateKeyToAccount(DEV_ACCOUNTS.relayer.privateKey);

const TRANSACTION_TYPE =
  "Core:Deposit(uint64 timestamp,address from,address user,uint64 amount,bytes32 externalTxHash)";

const answerSchema = z.strictObject({ success: wire.success, txHash: wire.hash });

async function balanceOf({ address }: PrivateKeyAccount): Promise<string> {
  return Object((await rpc(stack.urls.nodeRead, "core_getAccount", [address])).result).balance;
}

async function send(
  wallet: PrivateKeyAccount,
  overrides: Parameters<typeof signedDeposit>[1] = {},
) {
  const request = await signedDeposit(wallet, overrides);
  return await post(`${stack.urls.bridge}/deposit`, request);
}

Deno.test("deposit bridge, Deposit request: the smallest and the largest amounts and nonces are credited", async () => {
  for (const [amount, nonce] of [["1", "0"], [`${2n ** 64n - 1n}`, `${2n ** 256n - 1n}`]]) {
    const wallet = newWallet();
    answerSchema.parse((await send(wallet, { amount: amount!, nonce: nonce! })).body); // both given
    assert.equal(await balanceOf(wallet), amount);
  }
});

Deno.test("deposit bridge, Typed-data description: domain, types and primaryType are those of the document", async () => {
  const described = await get(`${stack.urls.bridge}/typed-data`, z.unknown());
  assert.deepEqual(described, typedData(DEPOSIT_REQUEST_TYPE));
});

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
  "deposit bridge, Deposit transaction, type string: the digest of this type is the transaction hash",
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

Deno.test("deposit bridge, GET /health and GET /info: exactly the documented fields, with correct values", async () => {
  const before = Date.now();
  const { timestamp, ...health } = await get(
    `${stack.urls.bridge}/health`,
    z.looseObject({ timestamp: wire.timeMs }),
  );
  assert.deepEqual(health, { status: "healthy", rpc: true, bridge: relayer.address });
  assert.ok(timestamp >= before && timestamp <= Date.now());
  assert.deepEqual(await get(`${stack.urls.bridge}/info`, z.unknown()), {
    name: "rangemaker bridge",
    version: config.version,
    bridge: relayer.address,
    rpcUrl: stack.urls.node,
  });
});

Deno.test(
  "deposit bridge, Deposit rules, 1 to 4: a signed request becomes a committed transaction",
  async () => {
    const wallet = newWallet();
    const message = { user: wallet.address, amount: "7", nonce: "9", deadline: Date.now() + 9_000 };
    const signature = await wallet.signTypedData({ ...typedData(DEPOSIT_REQUEST_TYPE), message });
    const { status, body } = await post(`${stack.urls.bridge}/deposit`, { ...message, signature });
    const { txHash } = answerSchema.parse(body);
    const { result } = await rpc(stack.urls.nodeRead, "core_getTransaction", [txHash]);
    assert.deepEqual([status, Object(result).status], [200, "committed"]);
    assert.equal(Object(result).txHash, txHash);
    assert.equal(await balanceOf(wallet), "7");
  },
);
