/** Remote keys: signers with ethers and viem replace services that sign typed data. */
import assert from "node:assert/strict";
import {
  RemoteSigner,
  RemoteSignerError,
  SIGNER_METHODS,
  type SignerMethod,
} from "../../../lib/net/remote_signer.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { LocalSigner, requireSigner } from "../../../lib/protocol/signature.ts";
import {
  hashTransaction,
  signTransactionBy,
  type UnsignedTransaction,
} from "../../../lib/protocol/transaction.ts";
import { runHere } from "../../support/command_context.ts";
import { type SignerCall, SIGNERS, withSignerService } from "../../support/signer_service.ts";
import { signTransaction } from "../../support/signing.ts";

const CHAIN_ID = 1337;
const { address, privateKey } = DEV_ACCOUNTS.relayer;
const account = `0x${"ab".repeat(20)}` as Address;

const envelope = { timestamp: 1_700_000_000_123, from: address };
const transactions: UnsignedTransaction[] = [
  {
    ...envelope,
    type: "Deposit",
    user: account,
    amount: 2n ** 64n - 1n,
    externalTxHash: `0x${"cd".repeat(32)}`,
  },
  {
    ...envelope,
    type: "BackfillOracle",
    base: account,
    quote: address,
    startTime: 1_700_000_000_100,
    prices: [1n, 2n ** 63n, 3n],
  },
];

function withSigner(
  answer: (call: SignerCall) => Promise<unknown>,
  test: (signer: (method?: SignerMethod, timeoutMs?: number) => RemoteSigner) => Promise<void>,
): Promise<void> {
  return withSignerService(
    answer,
    (url) =>
      test((method = "eth_signTypedData", timeoutMs = 5_000) =>
        new RemoteSigner({ url, address, method, timeoutMs })
      ),
  );
}

for (const [library, sign] of Object.entries(SIGNERS)) {
  for (const method of SIGNER_METHODS) {
    Deno.test(`RemoteSigner: a signer with ${library} and ${method} signs as a local key does`, () =>
      withSigner(async (call) => ({ result: await sign(privateKey, call) }), async (signer) => {
        for (const tx of transactions) {
          const { tx: signed } = await signTransactionBy(tx, signer(method), CHAIN_ID);
          assert.deepEqual(signed, signTransaction(tx, new LocalSigner(privateKey), CHAIN_ID).tx);
        }
      }));
  }
}

const [deposit] = transactions as [UnsignedTransaction];
const digest = hashTransaction(deposit, CHAIN_ID);

async function refusal(answer: (call: SignerCall) => Promise<unknown>) {
  let refused: unknown;
  await withSigner(answer, async (signer) => {
    refused = await signer().sign(digest, deposit, CHAIN_ID)
      .catch((thrown: unknown) => thrown);
  });
  assert(refused instanceof RemoteSignerError, String(refused));
  assert.equal(refused.retry, "later");
  assert.equal(refused.code, "SIGNER_UNAVAILABLE");
  return refused.message;
}

Deno.test("RemoteSigner: a signature by another key or of another message is refused", async () => {
  const byAnother = new LocalSigner(DEV_ACCOUNTS.solver.privateKey).sign(digest);
  const ofAnother = new LocalSigner(privateKey).sign(`0x${"11".repeat(32)}`);
  for (const result of [byAnother, ofAnother]) {
    assert.match(await refusal(() => Promise.resolve({ result })), /is by another key/);
  }
});

Deno.test("RemoteSigner: the error of a refusal, an unexpected answer or a timeout has the reason", async () => {
  const error = { code: -32_000, message: "Request denied" };
  assert.match(await refusal(() => Promise.resolve({ error })), /refused .*-32000: Request denied/);
  assert.match(await refusal(() => Promise.resolve({ result: "0x12" })), /gave no signature/);
  const result = `0x${"ff".repeat(64)}1b`;
  assert.match(await refusal(() => Promise.resolve({ result })), /out of range/);
  const { promise: silence, resolve: release } = Promise.withResolvers<unknown>();
  await withSigner(() => silence, async (signer) => {
    const late = signer("eth_signTypedData", 1).sign(digest, deposit, CHAIN_ID);
    await assert.rejects(late, RemoteSignerError);
    release({});
  });
});

Deno.test("RemoteSigner: more than 32 requests at a time are refused at once", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  const sign = SIGNERS.viem;
  await withSigner(
    async (call) => (await held, { result: await sign(privateKey, call) }),
    async (signer) => {
      const one = signer();
      const open = Array.from({ length: 32 }, () => one.sign(digest, deposit, CHAIN_ID));
      await assert.rejects(one.sign(digest, deposit, CHAIN_ID), /is busy/);
      release();
      for (const signature of await Promise.all(open)) {
        requireSigner("It", digest, signature, address);
      }
      await one.sign(digest, deposit, CHAIN_ID);
    },
  );
});

Deno.test("bridge: --signer-url without --signer-address, or together with a key, is a usage error", async () => {
  const url = ["--signer-url", "http://127.0.0.1:1"];
  const bridge = ["bridge", "--port", "0", "--database", ":memory:", ...url];
  const missing = await runHere(bridge);
  assert.deepEqual([missing.code, missing.stderr.split(":")[0]], [2, "Missing --signer-address"]);
  const both = await runHere([...bridge, "--signer-address", address], {
    BRIDGE_PRIVATE_KEY: privateKey,
  });
  assert.deepEqual([both.code, both.stderr.split(":")[0]], [2, "Two keys"]);
});
