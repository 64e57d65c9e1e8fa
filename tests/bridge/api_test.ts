import assert from "node:assert/strict";
import { Wallet } from "ethers";
import config from "../../deno.json" with { type: "json" };
import { UINT256_MAX, UINT64_MAX } from "../../lib/protocol/scalars.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { assertFailure, post } from "../support/envelope.ts";
import { relayer, signedRequest, user, withBridge } from "./support.ts";

Deno.test("Bridge: health, info and typed data as in the spec's table of endpoints", () =>
  withBridge(async ({ url }, node) => {
    const health = await (await fetch(`${url}/health`)).json();
    assert.ok(Math.abs(Date.now() - health.timestamp) < 5_000);
    assert.deepEqual(health, {
      status: "healthy",
      rpc: true,
      bridge: relayer.address,
      timestamp: health.timestamp,
    });
    assert.deepEqual(await (await fetch(`${url}/info`)).json(), {
      name: "rangemaker bridge",
      version: config.version,
      bridge: relayer.address,
      rpcUrl: node.url,
    });
    assert.deepEqual(await (await fetch(`${url}/typed-data`)).json(), {
      domain: { name: "Core", version: "1", chainId: 1337 },
      types: {
        "Core:Deposit": [
          { name: "user", type: "address" },
          { name: "amount", type: "uint256" },
          { name: "nonce", type: "uint256" },
          { name: "deadline", type: "uint256" },
        ],
      },
      primaryType: "Core:Deposit",
    });
  }));

Deno.test("Bridge: health says that the node is away", () =>
  withBridge(async ({ url }) => {
    const health = await (await fetch(`${url}/health`)).json();
    assert.equal(health.rpc, false);
    assert.equal(health.status, "healthy");
  }, { rpcUrl: "http://127.0.0.1:9" }));

Deno.test("Bridge: a request that a wallet signed by /typed-data is credited once", () =>
  withBridge(async ({ url }, node) => {
    const { domain, types } = await (await fetch(`${url}/typed-data`)).json();
    const wallet = Wallet.createRandom();
    const message = {
      user: wallet.address,
      amount: "5000000",
      nonce: "77",
      deadline: Date.now() + 60_000,
    };
    const signature = await wallet.signTypedData(domain, types, message);
    const answer = await post(`${url}/deposit`, { ...message, signature });
    assert.deepEqual(answer.body, { success: true, txHash: node.committed[0]?.txHash });
    assert.equal(answer.status, 200);
    assert.equal(node.credited.get(wallet.address), 5_000_000n);
    assert.equal(JSON.parse(node.received[0] ?? "").from, relayer.address);
  }));

Deno.test("Bridge: extreme amounts and nonces are admitted", () =>
  withBridge(async ({ url }, node) => {
    for (const [amount, nonce] of [[1n, 0n], [UINT64_MAX, UINT256_MAX]] as const) {
      const { body } = await post(`${url}/deposit`, signedRequest({ amount, nonce }));
      assert.equal(body.success, true);
    }
    assert.equal(node.credited.get(user.address), UINT64_MAX + 1n);
  }));

Deno.test("Bridge: a used nonce is refused, naming the transaction it became", () =>
  withBridge(async ({ url }, node) => {
    const request = signedRequest();
    const { body } = await post(`${url}/deposit`, request);
    const error = await assertFailure(post(`${url}/deposit`, request), 409, String(body.txHash));
    assert.match(error, /Nonce 1 of .* is used by transaction .*: deposit is committed/);
    const other = signedRequest({ amount: 1n });
    await assertFailure(post(`${url}/deposit`, other), 409, String(body.txHash));
    assert.equal(node.committed.length, 1);
  }));

Deno.test("Bridge: two equal requests at once are one deposit and one refusal", () =>
  withBridge(async ({ url }, node) => {
    const request = signedRequest();
    const answers = await Promise.all([1, 2].map(() => post(`${url}/deposit`, request)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    assert.equal(node.credited.get(user.address), 25_000_000n);
  }));

Deno.test("Bridge: deposit rule 3, a deadline that passed is refused and burns no nonce", () =>
  withBridge(async ({ url }) => {
    const late = signedRequest({ deadline: Date.now() - 1_000 });
    await assertFailure(post(`${url}/deposit`, late), 400, /^Deposit request expired: /);
    assert.equal((await post(`${url}/deposit`, signedRequest())).status, 200);
  }));

Deno.test("Bridge: deposit rule 2, a signature by another key names digest and addresses", () =>
  withBridge(async ({ url }, node) => {
    const stranger = new Signer(`0x${"22".repeat(32)}`);
    const forged = signedRequest({}, { signer: stranger });
    const error = await assertFailure(post(`${url}/deposit`, forged), 401, /checked digest 0x/);
    assert.ok(error.includes(`recovered ${stranger.address}`), error);
    assert.ok(error.includes(`expected ${user.address}`), error);
    await assertFailure(
      post(`${url}/deposit`, signedRequest({}, { chainId: 1 })),
      401,
      "is for chain 1: expected",
    );
    assert.equal(node.received.length, 0);
    assert.equal((await post(`${url}/deposit`, signedRequest())).status, 200);
  }));

Deno.test("Bridge: checks come in the order shape, amount, deadline, signature, nonce", () =>
  withBridge(async ({ url }) => {
    await post(`${url}/deposit`, signedRequest());
    const used = signedRequest();
    const unsigned = { ...used, signature: "0x" };
    const late = { ...unsigned, deadline: 1 };
    const noAmount = { ...late, amount: "0" };
    await assertFailure(post(`${url}/deposit`, used), 409, "is used");
    await assertFailure(post(`${url}/deposit`, unsigned), 401, "0 bytes");
    await assertFailure(post(`${url}/deposit`, late), 400, "expired");
    await assertFailure(post(`${url}/deposit`, noAmount), 400, "amount: Expected an amount");
    await assertFailure(post(`${url}/deposit`, { ...noAmount, user: "0x" }), 400, "user: ");
  }));

Deno.test("Bridge: a refusal by the node's rules has its code", () =>
  withBridge(async ({ url }, node) => {
    node.refusal = "PERMISSION_DENIED";
    await assertFailure(post(`${url}/deposit`, signedRequest()), 503, "PERMISSION_DENIED");
    await assertFailure(post(`${url}/deposit`, signedRequest()), 409, "deposit is failed");
  }));
